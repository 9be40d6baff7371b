laws_of <- function(law, y) read_laws(law, rlang::quo(y))

test_that("both kernels in factors give the unbiased estimate", {
  data <- withr::with_seed(1, list(m = rnorm(60), s = runif(60, .5, 2), y = rnorm(60), z = matrix(rnorm(120), 60)))
  cases <- list(
    list(pred_normal(data$m, data$s), data$y, kernel_gaussian(1.5)),
    list(pred_normal(data$m, data$s), data$y, 3 * kernel_gaussian(1) + kernel_linear()),
    list(pred_mvnormal(data$z, diag(2)), data$z[60:1, ], kernel_gaussian(2)),
    list(pred_mixture(pred_normal(data$m, 1), pred_normal(data$y, 2)), data$y, kernel_gaussian(2)),
    list(pred_draws(outer(data$m, 1:6 / 3, `+`)), data$y, kernel_gaussian(1))
  )
  for (case in cases) {
    problem <- kernel_problem(laws_of(case[[1]], case[[2]]), NULL, case[[3]])
    value <- withr::with_seed(2, law_redraws(problem, list(times = 3, tolerance = 1e-13)))
    expect_equal(value$statistic, skce_value(problem, "unbiased")$estimate$value, tolerance = 2e-3)
    expect_length(value$null, 3)
    expect_lt(value$neglected, 1e-10)
  }
})

test_that("redraws of factors have the law of redraws of the kernels", {
  data <- withr::with_seed(1, list(m = rnorm(80), y = rnorm(80)))
  problem <- kernel_problem(laws_of(pred_normal(data$m, 1), data$y), NULL, kernel_gaussian(1))
  low <- withr::with_seed(2, law_redraws(problem, list(times = 2000, tolerance = NULL))$null)
  kept <- withr::with_seed(3, redraws_of_kept(problem, 2000))
  expect_gt(suppressWarnings(ks.test(low, kept)$p.value), 1e-3)
})

test_that("any kernel on the predictions has a factor", {
  data <- withr::with_seed(1, list(m = rnorm(40), y = rnorm(40), g = sample(3, 40, TRUE)))
  law <- pred_normal(data$m, 1)
  grouped <- laws_of(law, data$y)
  grouped$group <- ckce_group(data$g, NULL, grouped)
  laws <- list(
    kernel_problem(laws_of(law, data$y), kernel_mmd(), kernel_gaussian(1)),
    kernel_problem(laws_of(law, data$y), 2 * (kernel_hellinger() + kernel_wasserstein(1)), kernel_gaussian(1)),
    kernel_problem(grouped)
  )
  for (problem in laws) {
    k <- cpp_prediction_matrix(problem$prediction, 1L)
    factor <- cpp_source_factor(problem$prediction, 1e-14, 40, 2L, NULL)
    expect_equal(tcrossprod(factor$L), k, tolerance = 1e-10)
    low <- cpp_source_factor(problem$prediction, 0, 7, 1L, NULL)
    expect_equal(dim(low$L), c(40, 7))
    expect_equal(low$residual_trace, mean(diag(k - tcrossprod(low$L))), tolerance = 1e-10)
    expect_equal(cpp_source_diagonal(problem$prediction), diag(k))
  }
})

test_that("counts are labels", {
  data <- withr::with_seed(1, list(rate = exp(rnorm(50)), n = 50))
  data$y <- withr::with_seed(2, rpois(50, data$rate))
  for (target in list(kernel_white(), 2 * kernel_gaussian(1))) {
    problem <- kernel_problem(laws_of(pred_poisson(data$rate), data$y), NULL, target)
    value <- withr::with_seed(3, class_redraws(problem, list(times = 2000, tolerance = 1e-13), FALSE))
    expect_equal(value$statistic, skce_value(problem, "unbiased")$estimate$value, tolerance = 1e-8)
    kept <- withr::with_seed(4, redraws_of_kept(problem, 2000))
    expect_gt(suppressWarnings(ks.test(value$null, kept)$p.value), 1e-3)
  }
})

# a size of .15: counts up to thousands, though hardly any is seen
heavy_counts <- function(n) {
  data <- withr::with_seed(3, list(mean = runif(n, .1, 6), size = rep_len(c(1, .15, 2), n)))
  data$y <- withr::with_seed(4, rnbinom(n, mu = data$mean, size = data$size))
  laws_of(pred_negbin(data$mean, data$size), data$y)
}

test_that("redraws of counts with thousands of values take no matrix between these", {
  laws <- heavy_counts(60)
  for (target in list(kernel_white(), 2 * kernel_laplace(2))) {
    problem <- kernel_problem(laws, NULL, target)
    labels <- ncol(problem$target$probs)
    expect_gt(labels, 1000)
    if (has_few_labels(problem)) expect_identical(target_gram(problem), matrix(1))
    expect_false(has_few_labels(problem, TRUE))
    exact <- skce_value(problem, "unbiased")$estimate$value
    null <- function(resample, times = 500) {
      withr::with_seed(1, redrawn(problem, list(times = times, tolerance = 1e-13), resample, exact))
    }
    expect_equal(null(FALSE)$statistic, exact, tolerance = 1e-9)
    expect_equal(null(TRUE, 5)$null, withr::with_seed(1, redraw_statistics(problem, 5, TRUE)), tolerance = 1e-9)
    kept <- withr::with_seed(2, redraws_of_kept(problem, 500))
    expect_gt(suppressWarnings(ks.test(null(FALSE)$null, kept)$p.value), 1e-3)
    again <- class_redraws(problem, list(times = 1, tolerance = 1e-13), TRUE)
    expect_equal(again$statistic, exact, tolerance = 1e-9)
  }
})

test_that("residuals of counts with thousands of values have as many numbers as there are rows", {
  laws <- heavy_counts(40)
  for (target in list(kernel_white(), 2 * kernel_laplace(2), kernel_linear() + kernel_gaussian(2))) {
    choices <- list(target_kernel = target, kernel = kernel_wasserstein(1), default_kernel = FALSE, times = 0,
                    draws = 2, debias = "null_mean")
    bound <- bind_ckce(laws, choices)
    few <- law_problem(laws, bound, choices, TRUE)
    spec <- bound$target$spec
    gram <- cpp_gram(bound$target$kernel, matrix(as.numeric(spec$support)), matrix(as.numeric(spec$support)), 1L)
    variances <- drop(spec$probs %*% diag(gram)) - rowSums((spec$probs %*% gram) * spec$probs)
    expect_lte(ncol(few$residuals), 40)
    expect_equal(tcrossprod(few$residuals), spec$residuals %*% gram %*% t(spec$residuals), tolerance = 1e-9)
    expect_equal(few$variances, variances, tolerance = 1e-9)
    expect_equal(tcrossprod(few$outcome), cpp_gram(bound$target$kernel, laws$y, laws$y, 1L), tolerance = 1e-9)
  }
})

test_that("the default is the conditional test at every n, and has its power", {
  # from here on by a factor of the kernel
  local_stand_ins(list(pair_rows = 2000L))
  out <- withr::with_seed(1, {
    p <- plogis(2 * rnorm(2400))
    y <- rbinom(2400, 1, plogis(.78 * qlogis(p)))
    list(
      default = ce_test(p, y, kernel = kernel_tv(.3), test = test_conditional(times = 99)),
      block = ce_test(p, y, kernel = kernel_tv(.3), test = "block"),
      law = ce_test(pred_normal(p, 1), rnorm(2400, .3 * p, 1), test = test_conditional(times = 19),
                    kernel = kernel_wasserstein(.3))
    )
  })
  expect_identical(out$default$test, "conditional")
  expect_lte(out$default$p.value, .02)
  expect_gt(out$block$p.value, .05)
  expect_output(print(out$default), "factor of rank [0-9]+, without")
  expect_identical(out$law$p.value, .05)
  # of the factor, as the statistic is
  expect_identical(unname(out$default$estimate), unname(out$default$statistic))
})

test_that("laws above the rows of a kept matrix hold the level", {
  p <- withr::with_seed(3, replicate(50, {
    m <- rnorm(260)
    ce_test(pred_normal(m, 1), rnorm(260, m), test = test_conditional(times = 19),
            kernel = kernel_wasserstein(1))$p.value
  }))
  expect_lt(abs(mean(p <= .1) - .1), 4 * sqrt(.09 / 50))
})

test_that("default locations of the CME test are pivots of the kernel, few, and have power", {
  p <- withr::with_seed(1, plogis(2 * rnorm(500)))
  problem <- kernel_problem(read_laws(p, rlang::quo(rep(0:1, 250))), kernel_tv(.3))
  at <- withr::with_seed(2, cme_locations(problem, 3))
  rows <- cpp_pivoted_cholesky(kernel_tv(.3), problem$prediction$features, 0, 3, 1L)$pivots
  expect_equal(at$columns, cpp_source_columns(problem$prediction, rows))
  power <- function(locations) {
    withr::with_seed(3, mean(replicate(40, {
      p <- plogis(2 * rnorm(300))
      y <- rbinom(300, 1, plogis(.6 * qlogis(p)))
      ce_test(p, y, test = test_cme(locations = locations, times = 39), kernel = kernel_tv(.3))$p.value <= .05
    })))
  }
  expect_gt(power(3), .6)
  expect_lt(power(10), power(3))
  # more locations than distinct predictions
  same <- kernel_problem(read_laws(rep(.5, 9), rlang::quo(rep(0:1, c(4, 5)))))
  expect_equal(ncol(cme_locations(same, 3)$columns), 3)
})
