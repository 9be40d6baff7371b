test_that("the kernel errors check the arguments they share", {
  for (metric in list(ckce, jkce, ckce_ridge)) {
    value <- function(...) metric(toy_probs(), toy_truth(), ...)
    expect_error(value(kernel = kernel_gaussian), class = "calibrisk_error_kernel")
    expect_error(value(target_kernel = 1), class = "calibrisk_error_kernel")
    expect_error(value(computation = "fast"), "computation", class = "calibrisk_error_argument")
    expect_error(value(tolerance = 0), "tolerance", class = "calibrisk_error_argument")
    expect_error(value(max_rank = 1.5), "max_rank", class = "calibrisk_error_argument")
  }
  for (metric in list(ckce, jkce)) {
    value <- function(...) metric(toy_probs(), toy_truth(), ...)
    expect_error(value(n_features = 0), "n_features", class = "calibrisk_error_argument")
    expect_error(value(draws = 1), "draws", class = "calibrisk_error_argument")
    expect_error(value(level = 1), "level", class = "calibrisk_error_argument")
  }
})
