#' @rdname pred
#' @export
pred_draws <- function(draws) {
  size <- dim(draws)
  stop_if(!is.numeric(draws) || !length(size) %in% 2:3,
          "{.arg draws} must be a numeric matrix (observations x draws) or an array \\
           (observations x draws x dimensions).", "x" = "It is {describe(draws)}.", class = "distribution")
  draws <- check_parameter(draws, "draws")
  stop_if(size[2] < 2, "There must be at least two draws of every prediction.", "x" = "There {?is/are} {size[2]}.",
          class = "distribution")
  d <- if (length(size) == 3) size[3] else 1L
  if (d > 1) draws <- aperm(draws, c(1, 3, 2))
  new_distribution(list(draws = matrix(draws, size[1])), "draws", d)
}

redraw_draws <- function(law, size, roots) {
  draws <- par_of(law, "draws")
  n <- length(law)
  d <- dimension_of(law)
  pick <- matrix(sample.int(ncol(draws) / d, n * size, replace = TRUE), n)
  of <- function(column) matrix(draws[cbind(rep(seq_len(n), size), as.vector(column))], n)
  if (d == 1) return(of(pick))
  simplify2array(lapply(seq_len(d), function(k) of((pick - 1) * d + k)))
}

# In one dimension sorted draws over root S: their Euclidean distance is the Wasserstein distance. In more, means and
# standard deviations.
draw_features <- function(law) {
  draws <- par_of(law, "draws")
  d <- dimension_of(law)
  if (d == 1) return(t(apply(draws, 1, sort)) / sqrt(ncol(draws)))
  m <- law_moments(law)
  cbind(m$mean, sqrt(m$cov[, seq(1, d * d, by = d + 1), drop = FALSE]))
}

# An ensemble: the outcome's rank among its members and itself is uniform on 1..S+1 if they are draws from one
# distribution; ties share their ranks. Given the S + 1 values each is the outcome with the same probability: no
# distribution is estimated.
ensemble_pit <- function(draws, y) {
  size <- ncol(draws) + 1
  jumps <- function(rows) cpp_ensemble_jumps(draws[rows, , drop = FALSE], y[rows])
  new_pit(rowSums(draws < y) / size, (rowSums(draws <= y) + 1) / size, jumps, members = size - 1)
}

family_draws <- new_record(
  "draws", support = "real",
  moments = function(law) {
    draws <- par_of(law, "draws")
    d <- dimension_of(law)
    mixture_moments(matrix(d / ncol(draws), nrow(draws), ncol(draws) / d), draws, NULL, d)
  },
  cdf = function(law, y) rowMeans(par_of(law, "draws") <= y),
  draw = redraw_draws,
  # the predictive distribution is the empirical one of the draws
  crps = function(law, y) cpp_crps_draws(par_of(law, "draws"), y),
  features = draw_features,
  points = function(law) par_of(law, "draws"),
  pit = function(law, y) if (dimension_of(law) == 1) ensemble_pit(vctrs::field(law, "draws"), y),
  kernel = function(law) if (dimension_of(law) > 1) kernel_mmd("median") else kernel_wasserstein("median"),
  format = function(law, number) {
    rep(paste0("draws[", ncol(vctrs::field(law, "draws")) / dimension_of(law), "]"), length(law))
  },
  reads = list(sample = function(par) {
    sizes <- range(lengths(par$x))
    stop_if(sizes[1] != sizes[2], "All predictions must have the same number of draws.",
            "x" = "They have {sizes[1]} to {sizes[2]}.", class = "distribution")
    pred_draws(do.call(rbind, lapply(par$x, as.vector)))
  }),
  closed_forms = list(wasserstein = function(law) if (dimension_of(law) == 1) draw_features(law))
)
