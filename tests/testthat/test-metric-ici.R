test_that("the index is that of a loess fit", {
  x <- withr::with_seed(1, stats::runif(200))
  y <- withr::with_seed(2, stats::rbinom(200, 1, x^2))
  curve <- pmin(pmax(stats::fitted(stats::loess(y ~ x)), 0), 1)
  gap <- abs(x - curve)
  out <- ici(x, y)
  expect_equal(out$.metric, c("ici", "e50", "e90", "emax"))
  expect_equal(out$.estimate, c(mean(gap), stats::median(gap), quantile(gap, .9, names = FALSE), max(gap)),
               tolerance = 1e-8)
  iso <- ici(x, y, smoother = "isotonic")
  expect_equal(iso$.estimate[1], mean(abs(x - cpp_isotonic_rows(x, y, NULL)$rows)))
  boot <- withr::with_seed(2, ici(x, y, times = 20))
  expect_true(all(boot$conf.low <= boot$conf.high))
})

test_that("the loess is cut to frequencies", {
  d <- drawn_rows(2, stats::plogis(stats::rnorm(150, 0, 3)))
  fit <- stats::fitted(stats::loess(d$y ~ d$p))
  expect_true(any(fit < 0 | fit > 1))
  gap <- abs(pmin(pmax(fit, 0), 1) - d$p)
  expect_equal(ici(d$p, d$y)$.estimate, c(mean(gap), stats::quantile(gap, c(.5, .9, 1), names = FALSE)),
               tolerance = 1e-8)
})

test_that("tied predictions that leave no room for a loess have a curve without warnings", {
  saturated <- withr::with_seed(1, ifelse(stats::runif(500) < .9, 1, stats::runif(500)))
  y <- withr::with_seed(2, stats::rbinom(500, 1, saturated^2))
  at <- sort(unique(saturated))
  rows <- as.vector(table(saturated))
  fit <- stats::loess(as.vector(tapply(y, saturated, mean)) ~ at, weights = rows)
  gap <- abs(saturated - pmin(pmax(stats::fitted(fit), 0), 1)[match(saturated, at)])
  expect_silent(out <- ici(saturated, y))
  expect_equal(out$.estimate[c(1, 4)], c(mean(gap), max(gap)), tolerance = 1e-8)
  expect_silent(panel <- ce_panel(saturated, y))
  expect_equal(panel$.estimate[panel$.metric == "ici"], mean(gap), tolerance = 1e-8)

  # so close together that no local fit has full rank: pooled adjacent violators
  close <- (1:40) * 1e-300
  z <- rep(c(0, 0, 1, 0, 1), 8)
  expect_silent(out <- ici(close, z))
  expect_equal(out$.estimate, ici(close, z, smoother = "isotonic")$.estimate)
})

test_that("a span that is too small for a quadratic, or no share of the rows, is an error", {
  p <- (1:40) / 41
  for (span in c(1e-9, .02, 2.9 / 40, 1 + 1e-9, 75)) {
    expect_error(ici(p, p > .4, span = span), "span", class = "calibrisk_error_argument")
  }
  expect_true(all(is.finite(ici(p, p > .4, span = 3 / 40)$.estimate)))
  expect_true(all(is.finite(ici(c(rep(1, 400), p), rep(0:1, 220), span = .01)$.estimate)))
})

test_that("few distinct predictions use their frequencies", {
  out <- ici(c(.2, .2, .8, .8), c(0, 1, 1, 1))
  expect_equal(out$.estimate, c(.25, .25, .3, .3))
  expect_equal(ici(.7, 1)$.estimate[1], .3)
  expect_error(ici(diag(3), 1:3, notion = "class_wise"), class = "calibrisk_error_notion")
})

test_that("bootstrap limits: the noise of redrawn outcomes below, samples above", {
  d <- drawn_rows(5, stats::runif(80), function(x) sqrt(x))
  boot <- withr::with_seed(6, ici(d$p, d$y, times = 40, smoother = "isotonic"))
  four <- function(x, y) {
    gap <- abs(cpp_isotonic_rows(x, y, NULL)$rows - x)
    c(mean(gap), stats::quantile(gap, c(.5, .9), names = FALSE), max(gap))
  }
  withr::with_seed(6, {
    rows <- replicate(40, sample.int(80, 80, TRUE))
    fit <- cpp_isotonic_rows(d$p, d$y, NULL)$rows
    redrawn <- replicate(40, as.integer(stats::runif(80) < fit))
    calibrated <- replicate(40, as.integer(stats::runif(80) < d$p))
  })
  value <- four(d$p, d$y)
  distances <- function(y, from) {
    gap <- abs(cpp_isotonic_rows(d$p, y, NULL)$rows - from)
    c(mean(gap), stats::quantile(gap, c(.5, .9), names = FALSE), max(gap))
  }
  upper <- function(outcomes, from) apply(apply(outcomes, 2, distances, from), 1, stats::quantile, .975, names = FALSE)
  noise <- upper(redrawn, fit)
  samples <- apply(rows, 2, function(i) four(d$p[i], d$y[i]))
  expect_equal(boot$.estimate, value)
  expect_equal(boot$conf.low, pmax(value - pmax(noise, upper(calibrated, d$p)), 0))
  expect_equal(boot$std.error, apply(samples, 1, stats::sd))
  above <- stats::qnorm(.975) * boot$std.error
  above[2] <- max(above[2], noise[2])
  expect_equal(boot$conf.high, value + above)
})

test_that("samples of weighted rows in clusters are drawn as the rows that they repeat", {
  d <- withr::with_seed(5, data.frame(x = stats::runif(90), w = stats::rexp(90) + .2, site = rep(1:30, 3)))
  # so tied that samples have no loess of their rows
  d <- rbind(d, data.frame(x = .9, w = .5, site = rep(1:30, 10)))
  for (used in list(1:90, 61:390)) {
    part <- d[used, ]
    part$y <- withr::with_seed(7, stats::rbinom(nrow(part), 1, sqrt(part$x)))
    found <- withr::with_seed(6, ici(part, y, x, weights = w, cluster = site, times = 20))
    curve <- function(s) smooth_frequency(s$x, s$y, "loess", .75, new_design(nrow(s), s$w))
    distances <- function(gap, w) c(sum(w * abs(gap)) / sum(w), weighted_quantile(abs(gap), c(.5, .9, 1), w))
    part$fit <- curve(part)
    drawn <- withr::with_seed(6, replicate(20, sample.int(30, replace = TRUE)))
    samples <- apply(drawn, 2, function(sites) {
      s <- part[unlist(lapply(sites, function(one) which(part$site == one))), ]
      c(distances(curve(s) - s$x, s$w), distances(curve(s) - s$fit, s$w))
    })
    expect_equal(found$std.error, apply(samples[1:4, ], 1, stats::sd))
    # by these the lower limit is at most the estimate less their noise
    z <- qt(.975, cluster_df(part$site, part$w))
    noise <- apply(samples[5:8, ], 1, stats::quantile, pnorm(z), names = FALSE)
    expect_true(all(found$conf.low <= pmax(found$.estimate - noise, 0) + 1e-12))
    expect_equal(found$conf.high[2], min(found$.estimate[2] + max(z * found$std.error[2], noise[2]),
                                         found$conf.high[4]))
  }
})

test_that("intervals of the distances hold those of calibrated predictions, of rows and of clusters", {
  skip_on_cran()
  withr::local_seed(8)
  missed <- function(cluster) {
    rowMeans(replicate(40, {
      site <- rep(1:40, each = 6)
      p <- stats::plogis(stats::rnorm(240) + if (cluster) stats::rnorm(40)[site] else 0)
      shared <- if (cluster) sqrt(.3) * stats::rnorm(40)[site] else 0
      y <- as.integer(stats::pnorm(sqrt(if (cluster) .7 else 1) * stats::rnorm(240) + shared) < p)
      if (!cluster) site <- 1:240
      out <- ici(data.frame(p, y, site), y, p, smoother = "isotonic", times = 40, cluster = site)
      out$conf.low > 0
    }))
  }
  expect_true(all(missed(FALSE) <= .15))
  expect_true(all(missed(TRUE) <= .15))
})

test_that("the core's local regression is loess(), or says that it is nearly singular", {
  control <- stats::loess.control(statistics = "none", trace.hat = "approximate")
  withr::local_seed(1)
  for (n in c(20, 50, 301, 1000)) {
    for (span in c(.3, .75, 1, 1.5)) {
      for (ties in c(FALSE, n > 50)) {
        x <- sort(plogis(rnorm(n, -1, 2)))
        if (ties) x <- round(x, 2)
        y <- as.numeric(runif(n) < x)
        w <- rexp(n)
        found <- cpp_loess(x, y, w, numeric(), span, .2 * span)
        loess <- stats::loess(y ~ x, weights = w, span = span, degree = 2, control = control)
        expect_equal(found, unname(stats::fitted(loess)), tolerance = 1e-10)
      }
    }
  }
  # two values have no quadratic
  expect_length(cpp_loess(rep(c(.1, .2), each = 20), rep(0:1, 20), rep(1, 40), numeric(), .75, .15), 0)
})

test_that("one prediction has one distance, with one interval", {
  y <- withr::with_seed(19, stats::rbinom(100, 1, .3))
  out <- withr::with_seed(1, ici(rep(.3, 100), y, times = 100))
  expect_equal(out$.estimate, rep(abs(.3 - mean(y)), 4))
  expect_equal(out$conf.high, rep(out$conf.high[4], 4))
})
