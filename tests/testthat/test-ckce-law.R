mean5 <- c(0, .5, -1, 1.2, 2)
sd5 <- c(1, .7, 1.5, .5, 1)
y5 <- c(.3, -.4, -1.8, 1.9, 1.1)
law5 <- function() pred_normal(mean5, sd5)
w2 <- function() kernel_wasserstein(1, power = 2)
value5 <- function(kernel = w2(), target_kernel = kernel_gaussian(1), ...) {
  ckce(law5(), y5, kernel = kernel, target_kernel = target_kernel, ridge = .1, ...)$.estimate
}

test_that("normal predictions have the published values under every kernel", {
  expect_equal(value5(), .670981771518, tolerance = 1e-10)
  expect_equal(value5(kernel_mmd(.5, kernel_gaussian(1))), .713177109402, tolerance = 1e-10)
  expect_equal(value5(w2() + kernel_embedding(kernel_gaussian(1))), .679291011199, tolerance = 1e-10)
  expect_equal(value5(target_kernel = kernel_matern(.5, 1)), .962894935687, tolerance = 1e-10)
  expect_equal(value5(target_kernel = kernel_matern(1.5, 1)), .801437590063, tolerance = 1e-10)
  expect_equal(value5(target_kernel = kernel_matern(2.5, 1)), .756733210945, tolerance = 1e-10)
})

test_that("draws give the V form and, with different draws on the diagonal, the U form", {
  draws <- pred_draws(rbind(c(-.5, .8), c(.2, 1.1), c(-2.3, .4), c(1, 1.6), c(1.5, 3.1)))
  distance <- as.matrix(dist(cbind(mean5, sd5)))
  # the published value takes the Wasserstein kernel of the normals with sampled residuals
  laws <- list(law = draws, y = matrix(y5), n = 5)
  target <- bind_target(kernel_gaussian(1), laws, 2, 1L)
  weights <- cpp_ckce_weights(exp(-distance^2 / 2), .1, 1L)$weights
  g <- function(diagonal) residual_gram(target$spec, 5, list(draws_diagonal = diagonal), 1L)
  expect_equal(sum(weights * g("all")), .759561168051, tolerance = 1e-10)
  expect_equal(sum(weights * g("different")), .254384009935, tolerance = 1e-10)
  fit <- function(...) ckce(draws, y5, kernel = w2(), target_kernel = kernel_gaussian(1), ridge = .1, ...)$.estimate
  expect_gt(fit(), fit(draws_diagonal = "different"))
})

test_that("debiasing, ridges, groups and data frames follow the same matrices", {
  gram <- exp(-as.matrix(dist(cbind(mean5, sd5)))^2 / 2)
  laws <- list(law = law5(), y = matrix(y5), n = 5)
  g <- cpp_target_matrix(bind_target(kernel_gaussian(1), laws, 2, 1L)$spec, FALSE, 1L)
  expect_equal(value5(debias = TRUE), oracle_ckce(gram, g, .1)$off_diagonal, tolerance = 1e-10)
  path <- ckce(law5(), y5, kernel = w2(), target_kernel = kernel_gaussian(1), ridge = c(1, 1e8))
  expect_equal(path$.estimate * c(1, 1e16), c(oracle_ckce(gram, g, 1)$estimate, oracle_jkce(gram, g)$biased),
               tolerance = 1e-7)
  a <- c("u", "v", "u", "v", "u")
  same <- outer(a, a, `==`)
  own <- ckce(law5(), y5, kernel = w2(), target_kernel = kernel_gaussian(1), ridge = .1, group = a)
  expect_equal(own$.estimate, oracle_ckce(gram * same, g, .1)$estimate, tolerance = 1e-10)
  expect_equal(sum(own$groups[[1]]$estimate), own$.estimate)
  expect_equal(value5(group = a, group_kernel = "shared"), oracle_ckce(gram * (1 + same), g, .1)$estimate,
               tolerance = 1e-10)
  data <- data.frame(m = mean5, s = sd5, y = y5, a = a)
  frame <- ckce(data, y, pred_normal(m, s), kernel = w2(), target_kernel = kernel_gaussian(1), ridge = .1, group = a)
  expect_equal(frame$.estimate, own$.estimate)
  expect_identical(frame$.estimator, "normal")
  data$y[2] <- NA
  expect_identical(ckce(data, y, pred_normal(m, s), group = a)$groups[[1]]$n, c(3L, 1L))
  expect_identical(ckce(data, y, pred_normal(m, s), na_rm = FALSE)$.estimate, NA_real_)
})

test_that("the default kernel separates calibrated from overconfident normal predictions", {
  mu <- withr::with_seed(1, rnorm(150))
  y <- withr::with_seed(2, rnorm(150, mu))
  test <- function(sd) withr::with_seed(3, ckce(pred_normal(mu, sd), y, n_draws = 49))
  calibrated <- test(1)
  over <- test(.4)
  expect_lt(calibrated$.estimate, over$.estimate)
  expect_gt(calibrated$p.value, .05)
  expect_identical(over$p.value, 1 / 50)
  expect_match(calibrated$kernel, "embedding")
  default <- default_ckce_kernel(list(law = law5()), kernel_gaussian(1))
  kernel <- kernel_embedding(kernel_gaussian(1)) + kernel_wasserstein("median", power = 2)
  expect_identical(format(default), format(kernel))
  counts <- ckce(pred_poisson(c(1, 2, 5, 9)), c(0, 2, 4, 12))
  expect_gte(counts$.estimate, 0)
})

test_that("distributions over classes are class probabilities", {
  expect_equal(ckce(pred_categorical(toy_probs()), toy_truth(), kernel = toy_kernel(), ridge = .1)$.estimate,
               0.558838141756, tolerance = 1e-10)
})

test_that("what laws cannot do is a classed error", {
  expect_error(value5(computation = "low_rank"), class = "calibrisk_error_computation")
  expect_error(value5(debias = "null_mean"), class = "calibrisk_error_argument")
  expect_error(ckce(law5(), y5, ridge = "loo"), class = "calibrisk_error_argument")
  expect_error(ckce(law5(), y5[-1]), class = "calibrisk_error_length")
})

test_that("small ridges keep their digits where the kernel has few eigenvalues", {
  m <- withr::with_seed(1, rnorm(20))
  y <- withr::with_seed(2, rnorm(20))
  law <- pred_normal(m, 1)
  laws <- list(law = law, y = matrix(y), n = 20)
  g <- cpp_target_matrix(bind_target(kernel_gaussian(1), laws, 2, 1L)$spec, FALSE, 1L)
  features <- cbind(m, 1)
  for (ridge in 10^-(3:8)) {
    fit <- ckce(law, y, kernel = kernel_linear(), target_kernel = kernel_gaussian(1), ridge = ridge)
    # F (F'F + c)^-1: K has these two features
    weights <- features %*% solve(crossprod(features) + 20 * ridge * diag(2))
    expect_equal(fit$.estimate, sum(tcrossprod(weights) * g), tolerance = 1e-7)
    # influence 2 n c (M G A^-1)_ii
    inverse <- (diag(20) - tcrossprod(weights, features)) / (20 * ridge)
    q <- 20 * ridge * diag(tcrossprod(weights) %*% g %*% inverse)
    expect_equal(fit$std.error, 2 * sqrt(20) * sd(q), tolerance = 1e-5)
  }
  expect_warning(ckce(law, y, kernel = kernel_linear(), ridge = 1e-14), class = "calibrisk_warning_tiny_ridge")
})

test_that("with redrawn outcomes no kernel depends on the observed ones", {
  law <- pred_normal(c(0, 1, 3, 7, 2), c(1, 2, 1, .5, 1))
  fit <- function(y) withr::with_seed(1, ckce(law, y, n_draws = 20))
  one <- fit(c(0, 2, 3, 6, 2))
  two <- fit(c(90, -50, 3, 6, 2))
  expect_equal(one$null_mean, two$null_mean, tolerance = 1e-10)
  expect_identical(one$target_kernel, two$target_kernel)
})
