test_that("the kernel errors check the arguments they share", {
  refused <- function(expr, text) expect_error(expr, text, class = "calibrisk_error_argument")
  for (metric in list(ckce, joint_error)) {
    value <- function(...) metric(toy_probs(), toy_truth(), ...)
    expect_error(value(kernel = kernel_gaussian), class = "calibrisk_error_kernel")
    expect_error(value(target_kernel = 1), class = "calibrisk_error_kernel")
    refused(value(computation = "fast"), "computation")
    refused(value(computation = computation("low_rank", 0)), "tolerance")
    refused(value(computation = computation("low_rank", max_rank = 1.5)), "max_rank")
    refused(value(computation = computation("rff", n_features = 0)), "n_features")
    refused(value(draws = 1), "draws")
    refused(value(level = 1), "level")
  }
})

test_that("computations have their own options, and their names the defaults", {
  p <- toy_probs()
  y <- toy_truth()
  refused <- function(expr, text) expect_error(expr, text, class = "calibrisk_error_argument")
  for (metric in list(ckce, joint_error)) {
    expect_identical(metric(p, y, computation = computation("low_rank")), metric(p, y, computation = "low_rank"))
  }
  refused(ckce(p, y, computation = "dual", max_rank = 5), "max_rank")
  refused(skce(p, y, computation = "rff", tolerance = .1, kernel = "ckce"), "tolerance")
  refused(skce(p, y, computation = "low_rank", type = "block"), "must be \"dual\" for estimators of blocks")
  refused(skce(p, y, computation = "low_rank", kernel = function(p, y, q, z) 1), "must be \"dual\"")
  refused(ckce(p, y, ridge = "best"), "\"loo\"")
  refused(ckce(p, y, ridge = computation("rff")), "\"loo\"")
  refused(ridge_loo(c(1, 0)), "values")
  expect_identical(ckce(p, y, ridge = "loo"), ckce(p, y, ridge = ridge_loo()))
  refused(skce(p, y, computation = "eigen", kernel = "ckce"), "\"eigen\"")
  refused(skce(p, y, block = 2), "\"block\" and \"block_biased\" have it")
  refused(skce(p, y, type = "block", tolerance = .1), "\"unbiased\" and \"biased\" have it")
})
