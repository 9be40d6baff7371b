test_that("the interval of draws is that of quantile(), its probability that of any of the values", {
  withr::local_seed(2)
  for (size in c(2, 9, 19, 20)) for (level in c(.5, .8, .9)) for (counts in c(TRUE, FALSE)) {
    values <- matrix(if (counts) rpois(12 * (size + 1), 3) else rnorm(12 * (size + 1)), 12)
    ends <- function(v) quantile(v, (1 + c(-1, 1) * level) / 2, type = 6, names = FALSE)
    law <- pred_draws(values[, -1])
    q <- law_quantiles(law, (1 + c(-1, 1) * level) / 2)
    expect_equal(q, t(apply(values[, -1], 1, ends)))
    expected <- apply(values, 1, function(v) {
      mean(vapply(seq_along(v), function(j) {
        e <- ends(v[-j])
        v[j] >= e[1] - 1e-12 && v[j] <= e[2] + 1e-12
      }, NA))
    })
    expect_equal(interval_probability(law, values[, 1], q[, 1], q[, 2], level), expected)
  }
})

test_that("quantiles are reached at the smallest outcome, in mixtures and at points too", {
  at <- c(.05, .5, .95)
  mixture <- pred_mixture(pred_normal(c(0, 1, 2), 1), pred_normal(5, c(.1, 0, 2)), weights = c(.3, .7))
  q <- law_quantiles(mixture, at)
  expect_identical(q[2, 2:3], c(5, 5))
  expect_equal(vapply(1:3, function(k) record_of(mixture)$cdf(mixture, q[, k])[c(1, 3)], c(0, 0)),
               matrix(at, 2, 3, byrow = TRUE))
  expect_identical(law_quantiles(pred_mixture(pred_normal(0, 0), pred_normal(3, 0)), at), matrix(c(0, 0, 3), 1))
  expect_identical(law_quantiles(pred_poisson(c(1, 5)), at), cbind(qpois(.05, c(1, 5)), qpois(.5, c(1, 5)),
                                                                   qpois(.95, c(1, 5))))
  # a value that an outcome may equal
  given <- pred_quantiles(cbind(1:2, 3, 7), c(.05, .5, .95))
  expect_identical(law_quantiles(given, (1 + c(-1, 1) * .9) / 2), cbind(c(1, 2), 7))
  expect_error(law_quantiles(pred_mvnormal(matrix(1:3), 1), .5), class = "calibrisk_error_distribution")
})
