test_that("the null's mean is the closed form, with and without the diagonal", {
  p <- withr::with_seed(1, draw_dirichlet(60, 4, .3))
  y <- withr::with_seed(2, draw_labels(p))
  problem <- ckce_problem(new_predictions(p, y))
  kernel <- resolve_kernel(kernel_linear() + kernel_gaussian("median"), p)
  for (computation in c("eigen", "low_rank")) {
    numbers <- ckce_numbers(problem, kernel, c(.36, .05),
                            ckce_options(computation, errors = TRUE, times = 4000, seed = 11))
    draws <- numbers$null_estimate
    error <- apply(draws, 2, sd) / sqrt(4000)
    expect_true(all(abs(colMeans(draws) - numbers$values$null_mean) < 4 * error))
    off <- draws - numbers$null_diagonal
    expect_true(all(abs(colMeans(off)) < 4 * apply(off, 2, sd) / sqrt(4000)))
  }
})

test_that("draws do not depend on threads, and p-values separate calibrated from not", {
  p <- withr::with_seed(3, draw_dirichlet(200, 5, .3))
  y <- withr::with_seed(4, draw_labels(p))
  test <- function(q, ...) withr::with_seed(5, ckce(q, y, times = 199, ...))
  one <- with_threads(1, test(p))
  expect_identical(one, with_threads(2, test(p)))
  expect_gt(one$p.value, .02)
  expect_identical(test(temper(p, .4))$p.value, 1 / 200)
  expect_identical(test(temper(p, .4), debias = TRUE)$p.value, 1 / 200)
  expect_identical(test(temper(p, .4), debias = "null_mean")$p.value, 1 / 200)
  for (debias in c("off_diagonal", "null_mean")) {
    expect_lt(abs(test(p, debias = debias)$null_mean), .2 * one$null_mean)
  }
})

test_that("the p-value holds its level", {
  skip_on_cran()
  p <- withr::with_seed(6, draw_dirichlet(30, 3, .5))
  rejected <- withr::with_seed(7, vapply(1:300, function(i) ckce(p, draw_labels(p), times = 39)$p.value <= .1, NA))
  expect_lt(abs(mean(rejected) - .1), 3.5 * sqrt(.09 / 300))
})
