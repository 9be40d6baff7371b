difference_data <- function(n = 240) {
  withr::with_seed(1, {
    a <- stats::rbeta(n, 1, 2)
    data.frame(y = stats::rbinom(n, 1, a), a = a, b = sqrt(a), site = rep(c("x", "y"), n / 2), w = stats::rexp(n),
               centre = rep(1:30, length.out = n))
  })
}
at <- c(0.1, 0.3, 0.6)
pairs_of <- function(...) tidy(withr::with_seed(1, ce_decision(..., thresholds = at)), type = "differences")

test_that("a difference is that of the rows' net benefits, plain, weighted and clustered", {
  d <- difference_data()
  rows <- function(p, c) (p >= c) * (d$y - c) / (1 - c)
  for (kind in list(list(), list(weights = rlang::quo(w)), list(cluster = rlang::quo(centre)))) {
    found <- rlang::inject(pairs_of(d, y, a, b, !!!kind))
    expect_identical(unique(paste(found$a, found$b)), "a b")
    design <- new_design(240, if (length(kind$weights) > 0) d$w, if (length(kind$cluster) > 0) d$centre)
    for (k in seq_along(at)) {
      change <- rows(d$a, at[k]) - rows(d$b, at[k])
      expect_equal(found$difference[k], row_mean(change, design))
      # at least that of outcomes which happen as often as the threshold says
      least <- sum((((d$a >= at[k]) != (d$b >= at[k])) * row_shares(design)^2)) * at[k] / (1 - at[k])
      expect_equal(found$std.error[k], sqrt(max(cpp_row_std_error(change, design)^2, least)))
    }
    expect_true(all(found$band.low <= found$conf.low & found$band.high >= found$conf.high))
  }
})

test_that("a difference is that of the two curves, and changes its sign with the models", {
  d <- difference_data()
  d$c <- d$a
  both <- withr::with_seed(1, ce_decision(d, y, a, b, c, thresholds = at))
  curve <- tidy(both)
  benefit <- function(m) curve$net_benefit[curve$model == m]
  found <- tidy(both, type = "differences")
  expect_identical(unique(found$a), c("a", "b"))
  expect_equal(found$difference, c(benefit("a") - benefit("b"), benefit("a") - benefit("c"), benefit("b") - benefit("c")))
  expect_true(all(found[found$b == "c" & found$a == "a", c("std.error", "band.low", "band.high")] == 0))
  # 0 of 60 changed decisions are compatible with the share of Wilson's limit
  near <- tidy(ce_decision(list(a = 1:60 / 61, b = 1:60 / 61.1), rep(0:1, 30), thresholds = 0.7), "differences")
  expect_equal(c(near$difference, near$conf.high), c(0, 7 / 3 * qnorm(0.975)^2 / (60 + qnorm(0.975)^2)))
  reversed <- pairs_of(d, y, b, a)
  expect_equal(reversed$difference, -found$difference[1:3])
  expect_equal(reversed$std.error, found$std.error[1:3])
  expect_output(print(both), "a against c: the same decisions", fixed = TRUE)
})

test_that("pairs have the same rows: of lists where they do, not elsewhere", {
  d <- difference_data()
  expect_equal(pairs_of(list(a = d$a, b = d$b), d$y)$difference, pairs_of(d, y, a, b)$difference)
  apart <- ce_decision(list(a = d$a, b = replace(d$b, 1:5, NA)), d$y, thresholds = at)
  expect_error(tidy(apart, type = "differences"), "same rows", class = "calibrisk_error_argument")
  alone <- ce_decision(d, y, a, thresholds = at)
  expect_error(tidy(alone, type = "differences"), class = "calibrisk_error_argument")
  skip_if_not_installed("ggplot2")
  expect_error(ggplot2::autoplot(alone, type = "differences"), class = "calibrisk_error_argument")
})

test_that("the figure has a panel per pair, and per group beside it", {
  skip_if_not_installed("ggplot2")
  d <- difference_data()
  panels <- function(x) nrow(ggplot2::ggplot_build(ggplot2::autoplot(x, type = "differences"))$layout$layout)
  expect_identical(panels(ce_decision(d, y, a, b, thresholds = at)), 1L)
  d$c <- d$a^2
  expect_identical(panels(ce_decision(d, y, a, b, c, .by = site, thresholds = at)), 6L)
})
