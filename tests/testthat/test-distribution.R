test_that("constructors check and recycle", {
  p <- pred_normal(c(0, 1, 2), 1)
  expect_s3_class(p, "ce_distribution")
  expect_length(p, 3)
  expect_equal(format(p)[2], "N(1, 1)")
  expect_equal(par_of(p[2:3], "mean")[, 1], c(1, 2))
  expect_length(c(p, p), 6)
  expect_output(print(p), "N\\(0, 1\\)")
  frame <- tibble::tibble(p = p, y = 1:3)
  expect_equal(format(frame$p[3]), "N(2, 1)")
  expect_output(print(frame), "dist")
  distribution_error <- function(...) expect_error(..., class = "calibrisk_error_distribution")
  distribution_error(pred_normal(1:3, 1:2))
  distribution_error(pred_normal(NA, 1))
  distribution_error(pred_normal("a", 1))
  distribution_error(pred_laplace(0, -1))
  distribution_error(pred_poisson(-1))
  distribution_error(pred_bernoulli(1.5))
  distribution_error(pred_draws(matrix(c(1, NaN, 2, 3), 2)))
  distribution_error(pred_draws(matrix(1, 3, 1)))
  distribution_error(pred_draws(1:3))
  distribution_error(pred_mixture())
  distribution_error(pred_mixture(pred_normal(0, 1), pred_laplace(0, 1)))
  distribution_error(pred_mixture(pred_normal(0, 1), pred_normal(1, 1), weights = c(.5, .6)))
  distribution_error(pred_mixture(pred_normal(0, 1), weights = c(.5, .5)))
  expect_error(pred_categorical(matrix(.4, 2, 2)), class = "calibrisk_error_probs")
})

test_that("covariances", {
  mean <- matrix(0, 3, 2)
  distribution_error <- function(...) expect_error(..., class = "calibrisk_error_distribution")
  distribution_error(pred_mvnormal(mean, matrix(c(1, 2, 2, 1), 2)))
  distribution_error(pred_mvnormal(mean, matrix(c(1, .5, 0, 1), 2)))
  distribution_error(pred_mvnormal(mean, diag(3)))
  distribution_error(pred_mvnormal(mean, c(1, 2)))
  distribution_error(pred_mvnormal(mean, -1))
  distribution_error(pred_mvnormal(1:3, 1))
  expect_equal(family_of(pred_mvnormal(mean, 1)), "mvnormal_diagonal")
  expect_equal(family_of(pred_mvnormal(mean, matrix(1, 3, 2))), "mvnormal_diagonal")
  # square means: a symmetric matrix is one covariance
  expect_equal(family_of(pred_mvnormal(diag(2), diag(2))), "mvnormal")
  expect_equal(full_covariance(pred_mvnormal(mean, 2))[1, ], c(2, 0, 0, 2))
})

test_that("draws of several numbers have their moments", {
  cov <- array(c(1, .3, .3, .5, .6, -.2, -.2, .9), c(2, 2, 2))
  p <- pred_mvnormal(rbind(c(0, 0), c(1, -.5)), cov)
  axes <- pred_mvnormal(rbind(c(0, 0), c(1, -.5)), rbind(c(1, 2), c(.3, .9)))
  for (law in list(p, axes, pred_mixture(p, pred_mvnormal(rbind(c(3, 0), c(1, 1)), 1), weights = c(.2, .8)))) {
    z <- withr::with_seed(1, draw_law(law, 20000))
    m <- law_moments(law)
    expect_equal(colMeans(z[2, , ]), m$mean[2, ], tolerance = .05)
    expect_equal(as.vector(cov(z[2, , ])), m$cov[2, ], tolerance = .06)
  }
  array <- array(withr::with_seed(1, rnorm(2 * 50 * 3)), c(2, 50, 3))
  draws <- pred_draws(array)
  expect_equal(law_moments(draws)$mean[1, ], colMeans(array[1, , ]))
  again <- withr::with_seed(2, draw_law(draws, 4))
  expect_true(all(apply(again[1, , ], 1, function(r) any(colSums(t(array[1, , ]) == r) == 3))))
})

test_that("one vector holds one family, and distributions are joined to distributions and NULL alone", {
  law <- pred_normal(0:1, 1)
  expect_identical(c(law, NULL), law)
  expect_error(c(law, numeric()), class = "calibrisk_error_distribution")
  expect_error(c(pred_normal(0, 1), pred_laplace(0, 1)), class = "calibrisk_error_distribution")
  expect_error(c(pred_mvnormal(diag(2), 1), pred_mvnormal(diag(3), 1)), class = "calibrisk_error_distribution")
  expect_length(c(pred_mvnormal(diag(2), 1), pred_mvnormal(diag(2), 2)), 4)
})

test_that("vectors of the package distributional", {
  skip_if_not_installed("distributional")
  y <- c(.3, 1, -.5)
  mu <- c(0, 1, -1)
  same <- function(theirs, ours, y, ...) {
    expect_equal(skce(theirs, y, ...)$.estimate, skce(ours, y, ...)$.estimate, tolerance = 1e-12)
  }
  same(distributional::dist_normal(mu, 1:3), pred_normal(mu, 1:3), y)
  same(distributional::dist_poisson(1:3), pred_poisson(1:3), c(2, 0, 4))
  same(distributional::dist_bernoulli(c(.2, .5, .9)), pred_bernoulli(c(.2, .5, .9)), c(0, 1, 1))
  draws <- withr::with_seed(1, matrix(rnorm(30), 3))
  same(distributional::dist_sample(lapply(1:3, function(i) draws[i, ])), pred_draws(draws), y)
  mv <- distributional::dist_multivariate_normal(mu = lapply(mu, c, 0), sigma = rep(list(diag(2) + .1), 3))
  same(mv, pred_mvnormal(cbind(mu, 0), diag(2) + .1), cbind(y, y))
  mixture <- distributional::dist_mixture(
    distributional::dist_normal(mu, 1), distributional::dist_normal(mu + 2, .5), weights = c(.4, .6)
  )
  same(mixture, pred_mixture(pred_normal(mu, 1), pred_normal(mu + 2, .5), weights = c(.4, .6)), y)
  expect_error(skce(distributional::dist_weibull(1:3, 1), y), class = "calibrisk_error_distribution")
  frame <- tibble::tibble(p = distributional::dist_normal(mu, 1:3), y = y)
  expect_equal(skce(frame, y, p)$.estimate, skce(pred_normal(mu, 1:3), y)$.estimate)
})

test_that("draws of the package posterior", {
  skip_if_not_installed("posterior")
  y <- c(.3, 1, -.5)
  draws <- withr::with_seed(1, matrix(rnorm(30), 3))
  ours <- skce(pred_draws(draws), y)$.estimate
  expect_equal(skce(posterior::rvar(t(draws)), y)$.estimate, ours)
  expect_equal(skce(posterior::as_draws_matrix(t(draws)), y)$.estimate, ours)
})

test_that("data frames of parameters", {
  d <- data.frame(mu = c(0, 1, -1), sigma = 1:3, y = c(.3, 1, -.5), g = c(1, 1, 2))
  ours <- skce(pred_normal(d$mu, d$sigma), d$y)$.estimate
  expect_equal(skce(d, y, pred_normal(mu, sigma))$.estimate, ours)
  d$law <- pred_normal(d$mu, d$sigma)
  expect_equal(skce(d, y, law)$.estimate, ours)
  expect_equal(skce(tibble::as_tibble(d), y)$.estimate, ours)
  expect_equal(nrow(skce(d, y, law, type = "biased", .by = g)), 2)
  d$y[2] <- NA
  expect_true(is.na(skce(d, y, law, na_rm = FALSE)$.estimate))
})

test_that("outcomes must fit the predictions", {
  p <- pred_normal(1:3, 1)
  expect_error(skce(p, cbind(1:3, 1:3)), class = "calibrisk_error_length")
  expect_error(skce(p, c("a", "b", "c")), class = "calibrisk_error_truth")
  expect_error(skce(p, c(1, Inf, 2)), class = "calibrisk_error_truth")
  expect_error(skce(p[1], 1), class = "calibrisk_error_rows")
  expect_error(skce(p, c(NA_real_, NA, NA)), class = "calibrisk_error_empty")
  # a point mass is a defined value
  expect_true(is.finite(skce(pred_normal(1:3, 0), c(1, 2, 4))$.estimate))
  expect_true(is.finite(skce(pred_laplace(1:3, 0), c(1, 2, 4), target_kernel = kernel_laplace(1))$.estimate))
  expect_equal(skce(pred_normal(0, c(1, 1, 1)), c(0, 0, 0), type = "biased")$n, 3L)
})

test_that("missing predictions are missing rows", {
  skip_if_not_installed("distributional")
  law <- c(distributional::dist_normal(c(0, 2), 1), distributional::dist_missing(1), distributional::dist_normal(1, 2))
  y <- c(.3, 1, 2, 0)
  kept <- pred_normal(c(0, 2, 1), c(1, 1, 2))
  for (metric in list(skce, ckce, joint_error)) {
    expect_equal(metric(law, y), metric(kept, y[-3]))
    expect_identical(metric(law, y, na_rm = FALSE)$.estimate, NA_real_)
    expect_equal(metric(tibble::tibble(law = law, y = y), y), metric(kept, y[-3]))
  }
  expect_equal(ce_curve(law, y, type = "quantile")$curve, ce_curve(kept, y[-3], type = "quantile")$curve)
  expect_error(skce(distributional::dist_missing(4), y), class = "calibrisk_error_empty")
  expect_error(skce(law, y[1:2]), class = "calibrisk_error_length")
})

test_that("full covariances in one dimension raise no warning", {
  law <- pred_mvnormal(matrix(c(0, 1, 2)), array(1:3, c(1, 1, 3)))
  expect_no_warning(k <- kernel_matrix(kernel_wasserstein(1), law))
  expect_equal(k, kernel_matrix(kernel_wasserstein(1), pred_normal(0:2, sqrt(1:3))))
})
