spread <- function(n = 400) {
  withr::with_seed(2, {
    mu <- sort(rexp(n))
    data.frame(mu, y = rnorm(n, mu, 1 + mu), region = rep(c("a", "b"), length.out = n))
  })
}

test_that("the curve is a local linear fit of the covered rows over the ranks", {
  d <- spread(120)
  found <- tidy(ce_coverage(d, y, pred_normal(mu, 1), level = .8, over = mu), type = "curve")
  hit <- as.numeric(abs(d$y - d$mu) <= qnorm(.9))
  u <- 1:120 / 121
  at <- approx(d$mu, u, found$place)$y
  local <- function(h, at) {
    vapply(at, function(one) coef(lm(hit ~ I(u - one), weights = dnorm((u - one) / h)))[[1]], 0)
  }
  # the bandwidth that fits at one place fits at all
  h <- optimize(function(h) (local(h, at[20]) - found$coverage[20])^2, c(.02, 1), tol = 1e-9)$minimum
  expect_equal(found$coverage, pmin(pmax(local(h, at), 0), 1), tolerance = 1e-4)
  expect_equal(range(found$nominal), c(.8, .8), tolerance = 1e-9)
  expect_true(all(found$place >= d$mu[5] & found$place <= d$mu[116]))
  # the nominal coverage has the same fit
  nominal <- plogis(d$mu)
  smooth <- vapply(at, function(one) coef(lm(nominal ~ I(u - one), weights = dnorm((u - one) / h)))[[1]], 0)
  expect_equal(cpp_local_line(u, nominal, rep(1, 120), at, h), smooth, tolerance = 1e-8)
})

test_that("its band holds the true curve, and shows where intervals are too short", {
  d <- spread(2000)
  truth <- function(mu) 2 * pnorm(qnorm(.95) / (1 + mu)) - 1
  found <- tidy(ce_coverage(d, y, pred_normal(mu, 1), level = .9, over = mu), type = "curve")
  expect_true(all(found$band.low <= truth(found$place) & truth(found$place) <= found$band.high))
  expect_true(all(found$band.high[found$place > 1] < .9))
  right <- tidy(ce_coverage(d, y, pred_normal(mu, 1 + mu), .by = region), type = "curve")
  expect_identical(names(right)[1:4], c("region", "level", "place", "nominal"))
  expect_true(all(right$band.low <= right$nominal & right$nominal <= right$band.high))
  # counts: the nominal coverage is a curve
  counts <- withr::with_seed(1, rpois(2000, d$mu))
  of <- tidy(ce_coverage(pred_poisson(d$mu), counts, level = .5, over = d$mu), type = "curve")
  expect_true(all(of$nominal >= .5 & abs(of$nominal - of$coverage) < .1))
})

test_that("weights, clusters, missing places and other input", {
  d <- spread(60)
  d$w <- rep(1:2, 30)
  d$centre <- rep(1:20, each = 3)
  of <- function(...) tidy(ce_coverage(d, y, pred_normal(mu, 1), level = .8, ...), type = "curve")
  expect_equal(of(weights = w)$coverage, tidy(ce_coverage(d[rep(1:60, d$w), ], y, pred_normal(mu, 1), level = .8),
                                              type = "curve")$coverage)
  expect_true(all(is.finite(of(cluster = centre)$band.low)))
  d$x <- replace(d$mu, 7, NA)
  expect_equal(of(over = x), tidy(ce_coverage(d[-7, ], y, pred_normal(mu, 1), level = .8), type = "curve"))
  d$x <- NA_real_
  expect_error(of(over = x), class = "calibrisk_error_rows")
  d$x <- 1
  expect_error(of(over = x), "1 is distinct", class = "calibrisk_error_distinct")
  d$x <- ifelse(d$region == "a", 1, d$mu)
  expect_error(of(over = x, .by = region), "region = a", class = "calibrisk_error_group")
  expect_true(all(diff(of(over = mu)$place) > 1e-6))
  d$x <- replace(d$mu, 7, Inf)
  expect_error(of(over = x), "Row 7", class = "calibrisk_error_columns")
  expect_error(of(over = region), class = "calibrisk_error_columns")
  expect_error(ce_coverage(d$y, d$y, level = .8, over = 1:3))
  expect_error(tidy(ce_coverage(d, y, pred_normal(mu, 1)), type = "band"), class = "calibrisk_error_argument")
  skip_if_not_installed("ggplot2")
  two <- ce_coverage(d, y, pred_normal(mu, 1), pred_normal(mu, 2), over = mu)
  expect_s3_class(ggplot2::ggplot_build(plot(two, type = "curve")), "ggplot_built")
  expect_identical(plot(two, type = "curve")$labels$x, "mu")
})

test_that("ce_models() have coverage, and its curve over the values of all rows", {
  d <- spread(60)
  d$y[4] <- NA
  m <- ce_models(d, y, one = pred_normal(mu, 1), two = pred_normal(mu, 2), .by = region)
  found <- ce_coverage(m, over = d$mu)
  expect_identical(names(found$levels)[1:2], c("model", "region"))
  of <- ce_coverage(d, y, one = pred_normal(mu, 1), two = pred_normal(mu, 2), over = mu, .by = region)
  at <- vctrs::vec_match(found$levels[names(of$levels)], of$levels)
  expect_identical(sort(at), 1:8)
  curves <- list(tidy(found, type = "curve"), tidy(of, type = "curve")[names(tidy(found, type = "curve"))])
  ordered <- lapply(curves, function(one) one[do.call(order, unname(as.list(one[1:4]))), ])
  expect_equal(ordered[[1]], ordered[[2]])
  expect_error(ce_coverage(ce_models(list(a = c(.1, .2), b = c(.2, .3)), 0:1)), "class probabilities")
})
