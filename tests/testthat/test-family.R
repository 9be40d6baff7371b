# A battery that every family of distributions of one number runs through, also one from outside the package.

gumbel <- new_family(
  "gumbel", list(location = c(-Inf, Inf), scale = c(0, Inf)),
  moments = function(location, scale) list(mean = location - digamma(1) * scale, variance = pi^2 * scale^2 / 6),
  cdf = function(y, location, scale) exp(-exp(-(y - location) / scale)),
  quantile = function(u, location, scale) location - scale * log(-log(u)),
  draw = NULL,
  density = function(y, location, scale) exp(-(y - location) / scale - exp(-(y - location) / scale)) / scale,
  support = "real"
)
# nothing but what has to be given
bare <- new_family("bare", c("shape", "rate"), moments = NULL, cdf = stats::pgamma, quantile = stats::qgamma,
                   draw = NULL, density = NULL, support = "positive")
bare_counts <- new_family("bare_counts", c("size", "prob"), moments = NULL, cdf = stats::pnbinom,
                          quantile = stats::qnbinom, draw = NULL, density = stats::dnbinom, support = "count")

family_cases <- list(
  normal = pred_normal(c(0, 1, -2), c(1, 0.5, 2)),
  laplace = pred_laplace(c(0, 1, -2), c(1, 0.5, 2)),
  poisson = pred_poisson(c(0.3, 2.5, 11)),
  mixture_normal = pred_mixture(pred_normal(c(0, 1, 0), 1), pred_normal(3, c(0.5, 1, 2)), weights = c(0.3, 0.7)),
  mixture_laplace = pred_mixture(pred_laplace(c(0, 1, 0), 1), pred_laplace(3, c(0.5, 1, 2)), weights = c(0.3, 0.7)),
  gamma = pred_gamma(c(0.7, 2, 9), c(1, 0.5, 3)),
  negbin = pred_negbin(c(0.4, 3, 20), c(0.7, 2, 9)),
  t = pred_t(c(4, 6, 30), c(0, 1, -2), c(1, 0.5, 2)),
  lognormal = pred_lognormal(c(0, 1, -1), c(1, 0.3, 0.5)),
  beta = pred_beta(c(0.6, 2, 5), c(2, 0.7, 3)),
  quantiles = pred_quantiles(rbind(c(-1, 0, 0.5, 2), c(0, 0, 1, 1.5), c(0.1, 0.3, 0.35, 3)), c(0.1, 0.4, 0.5, 0.8)),
  gumbel = gumbel(location = c(0, 1, -2), scale = c(1, 0.5, 2)),
  bare = bare(shape = c(0.7, 2, 9), rate = c(1, 0.5, 3)),
  bare_counts = bare_counts(size = c(0.7, 2, 9), prob = c(0.3, 0.5, 0.6))
)

cdf_of <- function(law) function(y) record_of(law)$cdf(rep(law, length(y)), y)

# int g(y) dF(y) of one prediction, for g(0) = 0 with derivative `slope`: by parts, from the distribution function alone
expectation <- function(law, slope) {
  cdf <- cdf_of(law)
  if (is_count(law)) {
    k <- 0:2000
    return(sum((1 - cdf(k)) * vapply(k, function(v) stats::integrate(slope, v, v + 1)$value, 0)))
  }
  parts <- c(-Inf, -20, -5, -1, 0, 1, 5, 20, Inf)
  sum(vapply(seq_len(length(parts) - 1), function(i) {
    f <- if (parts[i] < 0) function(y) -cdf(y) * slope(y) else function(y) (1 - cdf(y)) * slope(y)
    stats::integrate(f, parts[i], parts[i + 1], rel.tol = 1e-8, subdivisions = 2000)$value
  }, 0))
}

# int (F - 1{x >= y})^2
crps_naive <- function(law, y) {
  cdf <- cdf_of(law)
  if (is_count(law)) return(sum((cdf(0:2000) - (0:2000 >= y))^2))
  lower <- stats::integrate(function(t) cdf(t)^2, -Inf, y, rel.tol = 1e-9, subdivisions = 2000)$value
  lower + stats::integrate(function(t) (1 - cdf(t))^2, y, Inf, rel.tol = 1e-9, subdivisions = 2000)$value
}

outcomes_of <- function(law) if (is_count(law)) c(0, 2, 7) else c(0.2, 0.9, 0.4)

for (name in names(family_cases)) {
  law <- family_cases[[name]]
  record <- record_of(law)
  rows <- seq_along(law)

  test_that(paste0(name, ": moments are those of the distribution function"), {
    m <- law_moments(law)
    mean <- vapply(rows, function(i) expectation(law[i], function(y) rep(1, length(y))), 0)
    second <- vapply(rows, function(i) expectation(law[i], function(y) 2 * y), 0)
    expect_equal(m$mean[, 1], mean, tolerance = 1e-6)
    expect_equal(m$cov[, 1], second - mean^2, tolerance = 1e-5)
    expect_equal(ce_score(law, outcomes_of(law), score = "mse")$.estimate, base::mean((mean - outcomes_of(law))^2),
                 tolerance = 1e-6)
  })

  test_that(paste0(name, ": cdf, quantile and density belong together"), {
    at <- cdf_of(law[1])(seq(-3, 12))
    expect_true(all(diff(at) >= 0) && all(at >= 0 & at <= 1))
    for (u in c(0.01, 0.3, 0.5, 0.9, 0.999)) {
      if (is.null(record$quantile)) next
      q <- record$quantile(law, rep(u, length(law)))
      at <- record$cdf(law, q)
      if (is_count(law)) {
        expect_true(all(at >= u - 1e-12 & record$cdf(law, q - 1) < u))
      } else {
        # at a point of positive probability the distribution function is larger
        expect_true(all(at >= u - 1e-9))
        expect_equal(at[-2], rep(u, 2), tolerance = 1e-9)
        if (name != "quantiles") expect_equal(at[2], u, tolerance = 1e-9)
      }
    }
    # equal quantiles have no density
    if (!is.null(record$density) && name != "quantiles") {
      for (i in rows) {
        density <- function(y) record$density(rep(law[i], length(y)), y)
        to <- if (name == "beta") 0.9 else 3 # its density may be infinite at 1
        gain <- diff(cdf_of(law[i])(c(0.1, to)))
        inside <- if (is_count(law)) sum(density(1:3)) else stats::integrate(density, 0.1, to, rel.tol = 1e-10)$value
        expect_equal(inside, gain, tolerance = 1e-8)
      }
    }
  })

  test_that(paste0(name, ": the CRPS is its integral"), {
    y <- outcomes_of(law)
    naive <- vapply(rows, function(i) crps_naive(law[i], y[i]), 0)
    expect_equal(score_parts("crps", law, y)$value, naive, tolerance = 1e-6)
    # outcomes far off
    far <- if (is_count(law)) rep(60, 3) else rep(25, 3)
    expect_equal(score_parts("crps", law, far)$value, vapply(rows, function(i) crps_naive(law[i], far[i]), 0),
                 tolerance = 1e-6)
  })

  test_that(paste0(name, ": outcomes drawn from the predictions are calibrated, others are not"), {
    withr::local_seed(4)
    many <- rep(law, 150)
    y <- draw_law(many, 1)[, 1]
    # draws have the distribution that the cdf says
    at <- rowMeans(as.data.frame(pit_of(many, y)[c("low", "high")]))
    expect_equal(mean(at), 0.5, tolerance = 0.1)
    for (type in c("pit", "quantile")) {
      expect_false(glance(ce_curve(many, y, type = type, level = 0.999))$rejected)
      expect_true(glance(ce_curve(many, y + 2, type = type))$rejected)
    }
    some <- 1:60
    expect_gt(ce_test(many[some], y[some], test = test_conditional(times = 150))$p.value, 0.001)
    expect_lt(ce_test(many[some], y[some] + 5, test = test_conditional(times = 150))$p.value, 0.01)
    expect_gt(ce_test(many[some], y[some], test = test_cme(times = 150))$p.value, 0.001)
    expect_true(is.finite(ckce(many[some], y[some])$.estimate))
    expect_true(is.finite(skce(many[some], y[some], kernel = "ckce")$.estimate))
    expect_true(is.finite(ucme(many[some], y[some])$.estimate))
    expect_true(all(is.finite(ce_score(many, y, score = c("crps", "mse", "dss"))$.estimate)))
  })

  test_that(paste0(name, ": the kernel calibration error is that of its quadrature"), {
    y <- outcomes_of(law)
    # atoms need more quantiles than densities do
    size <- if (is.null(record$quantile)) 0 else if (is_count(law)) 4000 else 1500
    if (size == 0) {
      # mixtures: through their components, each by its own quantiles
      parts <- components_of(law)
      z <- lapply(rows, function(i) {
        unlist(lapply(1:2, function(k) {
          one <- if (name == "mixture_normal") pred_normal else pred_laplace
          spaced_quantiles(one(parts$location[i, k], parts$scale[i, k]), 3000 * parts$weight[i, k])
        }))
      })
    } else {
      z <- lapply(rows, function(i) spaced_quantiles(law[i], size)[1, ])
    }
    # E exp(-(a - b)^2 / (2 s^2)) is E cos((a - b) w) for w ~ N(0, 1 / s^2): a sum over frequencies of characteristic
    # functions, which has all digits where the period of the sum is beyond all distances
    period <- diff(range(unlist(z), y)) + 20
    w <- seq(0, 9 / 1.3, by = 2 * pi / period)
    weight <- stats::dnorm(w, sd = 1 / 1.3) * c(1, rep(2, length(w) - 1))
    characteristic <- function(a) {
      distinct <- unique(a)
      drop(exp(1i * outer(w, distinct)) %*% (tabulate(match(a, distinct)) / length(a)))
    }
    gap <- lapply(rows, function(i) characteristic(z[[i]]) - characteristic(y[i]))
    l <- function(a, b) sum(weight * Re(a * Conj(b))) / sum(weight)
    h <- kernel_matrix(kernel_laplace(1), law) * outer(rows, rows, Vectorize(function(i, j) l(gap[[i]], gap[[j]])))
    ours <- function(type, draws = 2000) {
      skce(law, y, kernel = kernel_laplace(1), target_kernel = kernel_gaussian(1.3), type = type,
           draws = draws)$.estimate
    }
    expect_equal(ours("unbiased"), mean(h[row(h) != col(h)]), tolerance = 1e-3)
    expect_equal(ours("biased"), mean(h), tolerance = 1e-3)
  })

  test_that(paste0(name, ": vectors print, subset, combine and are columns"), {
    expect_length(format(law), 3)
    expect_identical(c(law[1], law[2:3]), law)
    frame <- tibble::tibble(law = law, y = outcomes_of(law))
    expect_equal(skce(frame, y), skce(law, outcomes_of(law)))
    expect_equal(skce(vctrs::vec_rbind(frame[2:3, ], frame[1, ]), y)$n, 3)
  })
}

test_that("a record is checked, and so are parameters", {
  make <- function(...) {
    parts <- list(name = "a", parameters = "m", moments = NULL, cdf = function(y, m) y, quantile = function(u, m) u,
                  draw = NULL, density = NULL, support = "real")
    do.call(new_family, utils::modifyList(parts, list(...)))
  }
  expect_identical(formals(make()), formals(function(m) NULL))
  expect_error(make(name = 1), class = "calibrisk_error_family")
  expect_error(make(parameters = list(1)), class = "calibrisk_error_family")
  expect_error(make(cdf = 1), class = "calibrisk_error_family")
  expect_error(make(cdf = function(y) y), "m", class = "calibrisk_error_family")
  expect_error(make(crps = function(y) y), class = "calibrisk_error_family")
  expect_error(make(support = "count"), "probabilities", class = "calibrisk_error_family")
  expect_error(make(support = "plane"), class = "calibrisk_error_argument")
  expect_error(make(closed_forms = list(other = identity)), "other", class = "calibrisk_error_family")
  expect_error(gumbel(location = 0, scale = 0), "greater than 0", class = "calibrisk_error_distribution")
  expect_error(gumbel(location = 1:2, scale = 1:3), class = "calibrisk_error_distribution")
  expect_error(gumbel(location = NA, scale = 1), class = "calibrisk_error_distribution")
  expect_identical(gumbel(0:1, 2), gumbel(location = 0:1, scale = 2))
  expect_error(c(gumbel(0, 1), pred_normal(0, 1)), class = "calibrisk_error_distribution")
  expect_error(skce(bare_counts(2, c(.2, .4)), c(1, 1.5)), class = "calibrisk_error_truth")
})

test_that("what a record lacks is said", {
  law <- family_cases$gumbel
  y <- c(0.2, 0.9, 0.4)
  expect_error(ce_recalibrate(law, y, method = "temperature"), class = "calibrisk_error_distribution")
  expect_error(skce(law, y, kernel = kernel_hellinger(1)), class = "calibrisk_error_kernel")
  # a distribution of two components, given as such
  two <- new_family(
    "two", c("a", "b"), moments = NULL, cdf = function(y, a, b) (stats::pnorm(y - a) + stats::pnorm(y - b)) / 2,
    quantile = function(u, a, b) a, draw = NULL, density = NULL, support = "real",
    closed_forms = list(normal_components = function(a, b) {
      list(weight = matrix(0.5, length(a), 2), location = cbind(a, b), scale = matrix(1, length(a), 2))
    })
  )
  mixture <- pred_mixture(pred_normal(0:2, 1), pred_normal(c(1, 3, 5), 1))
  kernel <- kernel_gaussian(1)
  for (target in list(kernel_gaussian(1), kernel_laplace(2), kernel_matern(2.5, 1))) {
    a <- cpp_target_matrix(bind_target(target, list(law = two(0:2, c(1, 3, 5)), y = matrix(y), n = 3),
                                       100)$spec, TRUE, 1L)
    b <- cpp_target_matrix(bind_target(target, list(law = mixture, y = matrix(y), n = 3), 100)$spec, TRUE, 1L)
    expect_equal(a, b)
  }
})

test_that("vectors of distributional are read", {
  skip_if_not_installed("distributional")
  pairs <- list(
    list(distributional::dist_gamma(2:3, 3), pred_gamma(2:3, 3)),
    list(distributional::dist_negative_binomial(5:6, 0.4), pred_negbin(5:6 * 0.6 / 0.4, 5:6)),
    list(distributional::dist_student_t(5, 1:2, 2), pred_t(5, 1:2, 2)),
    list(distributional::dist_lognormal(0:1, 1), pred_lognormal(0:1, 1)),
    list(distributional::dist_beta(2, 3:4), pred_beta(2, 3:4))
  )
  for (pair in pairs) {
    read <- as_distribution(pair[[1]])
    expect_equal(read, pair[[2]])
    expect_equal(law_moments(read)$mean[, 1], mean(pair[[1]]))
  }
})

test_that("Hellinger affinities are their integrals", {
  affinity <- function(f, to) stats::integrate(function(x) sqrt(f(x, 1) * f(x, 2)), 0, to, rel.tol = 1e-9)$value
  of <- function(law, to) {
    density <- function(x, i) record_of(law)$density(rep(law[i], length(x)), x)
    expect_equal(closed_form_of(law, "affinity")(law)[1, 2], affinity(density, to), tolerance = 1e-6)
  }
  of(pred_gamma(c(1, 3), c(2, 0.5)), Inf)
  of(pred_beta(c(1, 3), c(2, 5)), 1)
  of(pred_lognormal(c(1, 0), c(1, 0.5)), Inf)
  counts <- pred_poisson(c(1, 4))
  expect_equal(tcrossprod(sqrt(count_probs(counts)$probs)), closed_form_of(counts, "affinity")(counts))
})

test_that("heavy tails and extreme parameters have values or errors in words", {
  cauchy <- pred_t(c(1, 1), c(0, 2), 1)
  expect_error(ce_score(cauchy, 1:2, score = "mse"), "mean", class = "calibrisk_error_distribution")
  naive <- c(crps_naive(cauchy[1], 1), crps_naive(cauchy[2], 2))
  expect_equal(score_parts("crps", cauchy, 1:2)$value, naive, tolerance = 1e-4)
  y <- withr::with_seed(1, stats::rt(30, 1))
  expect_gt(ce_test(pred_t(rep(1, 30), 0, 1), y, test = test_conditional(times = 50))$p.value, 0)
  expect_equal(score_parts("crps", pred_t(1e8, 0, 1), 0.3)$value, score_parts("crps", pred_normal(0, 1), 0.3)$value,
               tolerance = 1e-6)
  expect_equal(score_parts("crps", pred_negbin(c(2, 400), 1e9), c(3, 380))$value,
               score_parts("crps", pred_poisson(c(2, 400)), c(3, 380))$value, tolerance = 1e-5)
  k <- 0:20000
  below <- stats::pnbinom(k, 0.5, mu = 500)
  expect_equal(cpp_family_crps("negbin", 0, list(500, 0.5)), sum((1 - below)^2), tolerance = 1e-8)
  # mass that lies nearer to 1 than doubles
  expect_no_warning(edge <- families$beta$quantile(pred_beta(1e6, 1e-3), 0.3))
  expect_lt(1 - edge, 1e-15)
  for (make in list(pred_gamma, pred_beta, pred_negbin)) {
    expect_error(make(0, 1), "greater than 0", class = "calibrisk_error_distribution")
    expect_error(make(1:2, 1:3), class = "calibrisk_error_distribution")
  }
  expect_error(pred_t(0, 0, 1), class = "calibrisk_error_distribution")
  expect_error(pred_lognormal(0, -1), class = "calibrisk_error_distribution")
})

test_that("maps are for families that keep their form", {
  law <- pred_gamma(c(1, 2, 3), 2)
  for (method in c("variance", "temperature")) {
    expect_error(ce_recalibrate(law, 1:3, method = method), class = "calibrisk_error_distribution")
  }
  expect_equal(ce_moments(law, 1:3)$estimate[1], mean(c(0.5, 1, 1.5) - 1:3))
  expect_error(ce_moments(pred_bernoulli(c(0.2, 0.4)), 0:1), class = "calibrisk_error_distribution")
})

test_that("the CRPS is accurate over the decades of every family's parameters", {
  crps <- function(law, y) law_crps(law, y)
  # counts: the sum of (F - 1{k >= y})^2
  by_sum <- function(cdf, y, to) {
    k <- seq(0, to)
    sum((cdf(k) - (k >= y))^2)
  }
  for (rate in 10^seq(-6, 6)) {
    y <- floor(rate + sqrt(rate))
    to <- rate + 12 * sqrt(rate) + 40
    expect_equal(crps(pred_poisson(rate), y), by_sum(function(k) stats::ppois(k, rate), y, to), tolerance = 1e-8)
    for (size in c(20, 1e4, 1e12)) {
      cdf <- function(k) stats::pnbinom(k, size, mu = rate)
      if (rate > 1e5 && size < 1e4) next
      expect_equal(crps(pred_negbin(rate, size), y), by_sum(cdf, y, stats::qnbinom(1 - 1e-13, size, mu = rate) + 40),
                   tolerance = 1e-6)
    }
  }
  for (size in 10^seq(-2, 6, 2)) {
    expect_equal(crps(pred_negbin(1e12, size), 5e11) / 1e12, crps(pred_gamma(size, size), 0.5), tolerance = 1e-7)
  }
  # all of a large parameter: the normal limit
  standard <- crps(pred_normal(0, 1), 0.4)
  a <- 1e12
  limits <- list(pred_poisson(a), pred_gamma(a, 1), pred_beta(a, a), pred_t(a, 3, 2), pred_lognormal(0, 1e-6),
                 pred_negbin(a, a), pred_mixture(pred_normal(a, 1e6), pred_normal(a, 1e6)))
  for (law in limits) {
    moments <- law_moments(law)
    sd <- drop(sqrt(moments$cov))
    expect_equal(crps(law, drop(moments$mean) + 0.4 * sd) / sd, standard, tolerance = 2e-6, info = family_of(law))
  }
  # and small ones: E|X - y| - E|X - X'| / 2 from the quantile function
  for (law in list(pred_t(c(0.8, 0.9, 1, 1.5), 0, 1), pred_gamma(c(0.2, 1, 5), 2), pred_beta(c(0.3, 1, 50), 0.4),
                   pred_lognormal(0, c(0.1, 1, 3)), pred_gamma(1e-3, 1), pred_beta(1e-3, 1e3))) {
    for (i in seq_along(law)) {
      cdf <- function(x) record_of(law)$cdf(rep(law[i], length(x)), x)
      square <- function(s, sign) {
        x <- 0.3 + sign * exp(s)
        (cdf(x) - (sign > 0))^2 * exp(s)
      }
      expected <- sum(vapply(c(-1, 1), function(sign) {
        ends <- c(-60, -20, -10, seq(-5, 5, 0.5), 10, 20, 40, 60, 100)
        sum(vapply(seq_along(ends)[-1], function(k) {
          stats::integrate(square, ends[k - 1], ends[k], sign = sign, rel.tol = 1e-10, stop.on.error = FALSE)$value
        }, 0))
      }, 0))
      expect_equal(crps(law[i], 0.3), expected, tolerance = 1e-6, info = paste(family_of(law), i))
    }
  }
  expect_identical(crps(pred_t(c(0.3, 0.5), 0, 1), 1), c(Inf, Inf))
  # draws far from 0
  draws <- c(0.3, 1, 2.5, 7)
  expect_equal(crps(pred_draws(matrix(draws + 2^40, 1)), 2^40 + 2), crps(pred_draws(matrix(draws, 1)), 2),
               tolerance = 1e-4)
})

test_that("log scores are those of densities that are too small for a double", {
  laws <- list(pred_gamma(2, 1), pred_poisson(3), pred_negbin(3, 50), pred_t(1e6, 1, 2), pred_lognormal(1, 0.01),
               pred_beta(400, 2), pred_quantiles(matrix(0:2, 1), c(0.1, 0.5, 0.9)),
               pred_mixture(pred_normal(0, 1), pred_normal(1, 1)))
  y <- c(5000, 5000, 5000, 5000, 5, 1e-3, 5000, 5000)
  expected <- -c(stats::dgamma(5000, 2, log = TRUE), stats::dpois(5000, 3, log = TRUE),
                 stats::dnbinom(5000, 50, mu = 3, log = TRUE), stats::dt(2499.5, 1e6, log = TRUE) - log(2),
                 stats::dlnorm(5, 1, 0.01, log = TRUE), stats::dbeta(1e-3, 400, 2, log = TRUE), log(0.4) - 4998 * 4,
                 stats::dnorm(4999, log = TRUE) - log(2))
  for (i in seq_along(laws)) expect_equal(law_log_score(laws[[i]], y[i]), expected[i], info = family_of(laws[[i]]))
})
