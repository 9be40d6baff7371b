#' @rdname pred
#' @export
pred_mvnormal <- function(mean, cov) {
  mean <- check_parameter(mean, "mean")
  stop_if(!is.matrix(mean), "{.arg mean} must be a matrix, one row per observation.", "x" = "It is {describe(mean)}.",
          "i" = "For one dimension use {.fn pred_normal}.", class = "distribution")
  n <- nrow(mean)
  d <- ncol(mean)
  cov <- check_parameter(cov, "cov")
  if (is.null(dim(cov)) || identical(dim(cov), c(n, d)) && !(n == d && isSymmetric(unname(cov)))) {
    # variances: of all coordinates, or one for each
    cov <- check_parameter(cov, "cov", lower = 0)
    if (is.null(dim(cov))) {
      stop_if(!length(cov) %in% c(1L, n), "{.arg cov} must have one variance per observation.",
              "x" = "It has {length(cov)}, {.arg mean} has {n} rows.", class = "distribution")
      cov <- matrix(cov, n, d)
    }
    return(new_distribution(list(mean = mean, var = cov), "mvnormal_diagonal", d))
  }
  size <- dim(cov)
  stop_if(!(length(size) %in% 2:3 && all(size[1:2] == d) && (length(size) == 2 || size[3] %in% c(1, n))),
          "{.arg cov} must be {d} x {d} (or {d} x {d} x {n}), as {.arg mean} has {d} columns.",
          "x" = "It is {paste(size, collapse = ' x ')}.", class = "distribution")
  packed <- matrix(cov, nrow = d * d)
  packed <- t(packed[, rep_len(seq_len(ncol(packed)), n), drop = FALSE])
  check_covariances(packed, d)
  new_distribution(list(mean = mean, cov = packed), "mvnormal", d)
}

check_covariances <- function(packed, d) {
  faults <- cpp_covariance_faults(packed, d)
  bad <- which(faults[, 1] > 1e-8)
  stop_if(length(bad) > 0, "Covariances must be symmetric.",
          "x" = "Observation {bad[1]} has another one; {length(bad)} of {nrow(packed)} do.", class = "distribution")
  bad <- which(faults[, 2] < -1e-8)
  stop_if(length(bad) > 0, "Covariances must be positive semidefinite.",
          "x" = "Observation {bad[1]} has a negative eigenvalue; {length(bad)} of {nrow(packed)} do.",
          class = "distribution")
}

mvnormal_text <- function(law, number) paste0("MVN((", row_text(vctrs::field(law, "mean"), number), "))")

full_normal_form <- function(law, weight) {
  list(kind = "full_normal", weight = weight, mean = par_of(law, "mean"), covariance = par_of(law, "cov"))
}

# Features where the covariances commute, else distances.
mvnormal_wasserstein <- function(law) {
  features <- root_features(law)
  d <- dimension_of(law)
  if (cpp_covariances_commute(par_of(law, "cov"), d)) return(features)
  roots <- features[, d + seq_len(d * d), drop = FALSE]
  list(distance = sqrt(cpp_bures(par_of(law, "mean"), roots, thread_count())), valid = FALSE)
}

# n x d^2 covariances, for any storage.
full_covariance <- function(law) {
  if ("cov" %in% vctrs::fields(law)) return(par_of(law, "cov"))
  d <- dimension_of(law)
  out <- matrix(0, length(law), d * d)
  out[, seq(1, d * d, by = d + 1)] <- par_of(law, "var")
  out
}

draw_mvnormal <- function(mean, roots, pick, d) {
  noise <- matrix(stats::rnorm(length(pick) * d), ncol = d)
  array(cpp_normal_draws(mean, roots, as.integer(pick), noise), c(dim(pick), d))
}

mvnormal_affinity <- function(law) {
  out <- cpp_normal_affinity(par_of(law, "mean"), full_covariance(law), thread_count())
  stop_if(anyNA(out), "The Hellinger distance needs covariances of full rank.", "x" = "Some are singular.",
          class = "kernel", arg = "kernel")
  out
}

# `name`: the field of the covariances.
temper_mvnormal <- function(name) {
  each <- function(law, of) {
    cov <- full_covariance(law)
    vapply(seq_len(nrow(cov)), function(i) of(matrix(cov[i, ], dimension_of(law)), i), 0)
  }
  list(
    order = function(law) dimension_of(law) / 2,
    exponents = function(law, y) {
      gap <- y - par_of(law, "mean")
      each(law, function(s, i) sum(backsolve(chol(s), gap[i, ], transpose = TRUE)^2)) / 2
    },
    volume = function(law) sqrt(pmax(each(law, function(s, i) det(s)), 0)),
    constant = function(law) dimension_of(law) / 2 * log(2 * pi),
    apply = function(law, temperature) {
      vctrs::field(law, name) <- vctrs::field(law, name) * temperature
      law
    },
    variance_power = 1
  )
}

family_mvnormal <- new_record(
  "mvnormal", support = "real",
  moments = function(law) list(mean = par_of(law, "mean"), cov = par_of(law, "cov")),
  prepare = function(law) cpp_covariance_roots(par_of(law, "cov"), dimension_of(law)),
  draw = function(law, size, roots) {
    draw_mvnormal(par_of(law, "mean"), roots, matrix(1L, length(law), size), dimension_of(law))
  },
  features = root_features,
  format = mvnormal_text,
  mixed = list(family = "mixture_mvnormal", fields = c(mean = "mean", cov = "cov")),
  temper = temper_mvnormal("cov"),
  reads = list(mvnorm = function(par) {
    pred_mvnormal(do.call(rbind, lapply(par$mu, as.vector)), simplify2array(lapply(par$sigma, as.matrix)))
  }),
  closed_forms = list(
    gaussian = function(law) full_normal_form(law, matrix(1, length(law), 1)),
    wasserstein = mvnormal_wasserstein, affinity = mvnormal_affinity
  )
)

# Independent coordinates.
family_mvnormal_diagonal <- new_record(
  "mvnormal_diagonal", support = "real",
  moments = function(law) list(mean = par_of(law, "mean"), cov = full_covariance(law)),
  draw = function(law, size, roots) {
    noise <- array(stats::rnorm(length(law) * size * dimension_of(law)), c(length(law), size, dimension_of(law)))
    every_draw <- function(v) as.vector(v[, rep(seq_len(ncol(v)), each = size)])
    every_draw(par_of(law, "mean")) + every_draw(sqrt(par_of(law, "var"))) * noise
  },
  features = function(law) cbind(par_of(law, "mean"), sqrt(par_of(law, "var"))),
  format = mvnormal_text,
  mixed = family_mvnormal$mixed,
  temper = temper_mvnormal("var"),
  closed_forms = list(
    gaussian = function(law) {
      list(kind = "diagonal_normal", mean = par_of(law, "mean"), variance = par_of(law, "var"))
    },
    wasserstein = function(law) cbind(par_of(law, "mean"), sqrt(par_of(law, "var"))),
    affinity = mvnormal_affinity
  )
)

family_mixture_mvnormal <- new_record(
  "mixture_mvnormal", support = "real",
  moments = function(law) {
    mixture_moments(par_of(law, "weight"), par_of(law, "mean"), par_of(law, "cov"), dimension_of(law))
  },
  prepare = family_mvnormal$prepare,
  draw = function(law, size, roots) {
    draw_mvnormal(par_of(law, "mean"), roots, draw_components(par_of(law, "weight"), size), dimension_of(law))
  },
  features = root_features, kernel = function(law) kernel_mmd("median"), format = mixture_text,
  closed_forms = list(
    gaussian = function(law) full_normal_form(law, par_of(law, "weight")),
    wasserstein = mixture_distances
  )
)
