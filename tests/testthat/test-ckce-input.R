test_that("the kernel errors check the arguments they share", {
  for (metric in list(ckce, jkce)) {
    value <- function(...) metric(toy_probs(), toy_truth(), ...)
    expect_error(value(kernel = kernel_gaussian), class = "calibrisk_error_kernel")
    expect_error(value(target_kernel = 1), class = "calibrisk_error_kernel")
    expect_error(value(computation = "fast"), "computation", class = "calibrisk_error_argument")
    expect_error(value(computation = computation_low_rank(0)), "tolerance", class = "calibrisk_error_argument")
    expect_error(value(computation = computation_low_rank(max_rank = 1.5)), "max_rank",
                 class = "calibrisk_error_argument")
  }
  for (metric in list(ckce, jkce)) {
    value <- function(...) metric(toy_probs(), toy_truth(), ...)
    expect_error(value(computation = computation_rff(n_features = 0)), "n_features", class = "calibrisk_error_argument")
    expect_error(value(draws = 1), "draws", class = "calibrisk_error_argument")
    expect_error(value(level = 1), "level", class = "calibrisk_error_argument")
  }
})

test_that("computations have their own options, and their names the defaults", {
  p <- toy_probs()
  y <- toy_truth()
  refused <- function(expr, text) expect_error(expr, text, class = "calibrisk_error_argument")
  for (metric in list(ckce, jkce)) {
    expect_identical(metric(p, y, computation = computation_low_rank()), metric(p, y, computation = "low_rank"))
  }
  refused(ckce(p, y, computation = "dual", max_rank = 5), "option of .*computation_low_rank\\(\\)`")
  refused(jkce(p, y, computation = "rff", tolerance = .1), "option of .*computation_low_rank\\(\\)`")
  refused(ckce(p, y, ridge = "best"), "\"loo\"")
  refused(ckce(p, y, ridge = computation_rff()), "\"loo\"")
  refused(ridge_loo(c(1, 0)), "values")
  expect_identical(ckce(p, y, ridge = "loo"), ckce(p, y, ridge = ridge_loo()))
  refused(jkce(p, y, computation = "eigen"), "\"eigen\"")
  refused(skce(p, y, block = 2), "\"block\" and \"block_biased\" have it")
  refused(skce(p, y, type = "block", tolerance = .1), "\"unbiased\" and \"biased\" have it")
})
