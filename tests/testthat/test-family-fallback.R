test_that("quadrature gives moments and CRPS of known distributions", {
  law <- pred_normal(c(0, 1, -2), c(1, 0.5, 20))
  expect_equal(moments_by_quadrature(law), law_moments(law), tolerance = 1e-9)
  for (y in list(c(0, 0, 0), c(-30, 4, 1), c(1e6, 1, -1))) {
    expect_equal(crps_by_quantiles(law, y), law_crps(law, y), tolerance = 1e-9)
  }
  counts <- pred_poisson(c(0, 0.4, 30))
  expect_equal(moments_by_quadrature(counts), law_moments(counts), tolerance = 1e-12)
  expect_equal(crps_by_counts(counts, c(0, 3, 20)), law_crps(counts, c(0, 3, 20)), tolerance = 1e-10)
})

test_that("counts that span too much are an error", {
  expect_error(count_probs(pred_poisson(c(1, 1e8))), class = "calibrisk_error_distribution")
  window <- count_probs(pred_poisson(c(1, 20)), y = 90)
  expect_equal(range(window$support), c(0, 90))
  expect_equal(rowSums(window$probs), c(1, 1))
})

test_that("quantiles stand for predictions without a closed form", {
  law <- pred_laplace(c(0, 1, -1), c(1, 2, 0.5))
  y <- c(0.3, -1, 1)
  exact <- function(type) skce(law, y, target_kernel = kernel_gaussian(1), type = type)
  # the same distributions as a family that knows no more than its quantiles
  bare <- new_family(
    "bare", c("location", "scale"), moments = NULL,
    cdf = function(y, location, scale) 0.5 + sign(y - location) * -expm1(-abs(y - location) / scale) / 2,
    quantile = function(u, location, scale) location + scale * ifelse(u < 0.5, log(2 * u), -log(2 - 2 * u)),
    draw = NULL, density = NULL, support = "real"
  )
  own <- bare(location = c(0, 1, -1), scale = c(1, 2, 0.5))
  for (type in c("unbiased", "biased")) {
    # few points directly, many by their features
    for (draws in c(100, 2000)) {
      ours <- skce(own, y, kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1), type = type,
                   draws = draws)
      expect_equal(ours$.estimate, skce(law, y, kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1),
                                        type = type)$.estimate, tolerance = 30 / draws)
      expect_match(ours$target_computation, paste0("quantiles (", draws, ")"), fixed = TRUE)
    }
    expect_match(exact(type)$target_computation, "closed form")
  }
  # no random numbers
  one <- skce(own, y, target_kernel = kernel_matern(1.5, 1))$.estimate
  expect_identical(skce(own, y, target_kernel = kernel_matern(1.5, 1))$.estimate, one)
})
