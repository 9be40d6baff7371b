loans <- function() {
  withr::with_seed(3, {
    d <- data.frame(grade = rep(c("A", "B", "C"), c(300, 200, 100)), year = rep(1:20, 30))
    d$pd <- c(A = .002, B = .05, C = .2)[d$grade]
    d$default <- rbinom(600, 1, c(A = 0, B = .05, C = .4)[d$grade])
    d$copies <- rep(1:2, 300)
    d$w <- rexp(600) + .1
    d
  })
}

test_that("grades have Jeffreys' limits and exact binomial tests", {
  d <- loans()
  found <- ce_grades(d, default, pd, event_level = "second")
  s <- c(tapply(d$default, d$grade, sum))
  n <- c(300, 200, 100)
  expect_equal(found$predicted, c(.002, .05, .2))
  expect_equal(found$n, n)
  expect_equal(found$events, unname(s))
  expect_equal(found$observed, unname(s / n))
  expect_equal(found$conf.low, unname(c(0, qbeta(.025, s + .5, n - s + .5)[-1])))
  expect_equal(found$conf.high, unname(qbeta(.975, s + .5, n - s + .5)))
  exact <- mapply(function(s, n, p) {
    2 * min(binom.test(s, n, p, "less")$p.value, binom.test(s, n, p, "greater")$p.value, .5)
  }, s, n, found$predicted)
  expect_equal(found$p.value, unname(exact))
  expect_equal(found$p.adjusted, p.adjust(found$p.value))
})

test_that("grades of models, copies, weights and clusters", {
  d <- loans()
  of <- function(...) ce_grades(d, default, pd, event_level = "second", ...)
  two <- ce_grades(list(a = d$pd, b = d$pd^2), d$default)
  expect_identical(two$model, rep(c("a", "b"), each = 3))
  expect_equal(of(weights = copies), ce_grades(d[rep(1:600, d$copies), ], default, pd, event_level = "second"),
               ignore_attr = TRUE)
  b <- d$grade == "B"
  weighted <- of(weights = w)
  expect_equal(weighted$observed[2], sum(d$w[b] * d$default[b]) / sum(d$w[b]))
  expect_gt(weighted$conf.high[2] - weighted$conf.low[2], .05)
  expect_true(all(is.finite(of(cluster = year)$conf.low)))
  # a grade that only one year has
  d$year <- ifelse(d$grade == "C", 1, d$year)
  alone <- of(cluster = year)
  expect_identical(is.na(alone$conf.low), c(FALSE, FALSE, TRUE))
  expect_identical(is.na(alone$p.value), c(FALSE, FALSE, TRUE))
  expect_equal(alone$p.adjusted, p.adjust(alone$p.value))
  # one row counts more than all others
  d$w <- replace(rep(1, 600), which(d$grade == "B" & d$default == 0)[1], 1e8 + .5)
  heavy <- of(weights = w)
  expect_true(all(heavy$conf.low <= heavy$observed & heavy$observed <= heavy$conf.high))
  expect_error(ce_grades(seq(.01, .99, length.out = 101), rep(0:1, length.out = 101)),
               class = "calibrisk_error_argument")
  # without noise, whatever the scale of the weights
  of <- function(w, y = 1) ce_grades(rep(.9, 12), rep(y, 12), weights = w, cluster = rep(1:4, 3))
  for (w in lapply(1:9, function(i) exp(cos(i * 1:12)))) expect_equal(of(w)$conf.low, 1 - of(3 * w, 0)$conf.high)
})
