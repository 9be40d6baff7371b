test_that("published values are met", {
  b <- fixture_b()
  expect_equal(mmce(b$p, b$y)$.estimate, .04094283194, tolerance = 1e-9)
  unbiased <- mmce(b$p, b$y, type = "unbiased")
  expect_equal(unbiased$power, -.006784393851, tolerance = 1e-9)
  expect_equal(unbiased$.estimate, 0)
})

test_that("the recursions equal the double sum", {
  for (seed in 1:6) {
    data <- withr::with_seed(seed, random_classes(40, 4, 1))
    top <- top_pair(data$p, data$y)
    for (bandwidth in c(.01, .4, 10)) for (type in c("biased", "unbiased")) {
      expect_equal(
        mmce(data$p, data$y, bandwidth = bandwidth, type = type)$power,
        oracle_mmce(top$conf, top$conf - top$cor, bandwidth, type)
      )
    }
    classes <- mean(vapply(1:4, function(k) oracle_mmce(data$p[, k], data$p[, k] - (data$y == k), .4, "biased"), 0))
    expect_equal(mmce(data$p, data$y, notion = "class_wise")$power, classes)
  }
})

test_that("zero residuals give 0, one row only the biased form", {
  expect_equal(mmce(c(0, 1, 1), c(0, 1, 1))$.estimate, 0)
  expect_equal(mmce(.75, 1)$.estimate, .25)
  expect_error(mmce(.75, 1, type = "unbiased"), class = "calibrisk_error_argument")
})

test_that("variance at calibration and trace are those of loops over pairs, and of skce() with this kernel", {
  d <- withr::with_seed(2, list(p = round(stats::runif(40), 2), y = stats::rbinom(40, 1, .5), w = stats::rexp(40)))
  site <- rep(1:8, 5)
  k <- exp(-abs(outer(d$p, d$p, "-")) / 0.4)
  naive <- function(type, w, cluster) {
    h <- outer(w * (d$p - d$y), w * (d$p - d$y)) * k
    apart <- outer(cluster, cluster, "!=")
    weight <- if (type == "biased") sum(w)^2 else sum(outer(w, w) * apart)
    together <- rowsum(t(rowsum(h, cluster)), cluster)
    rows <- sum(h[if (type == "biased") !diag(40) else apart]^2)
    clusters <- sum(together^2) - sum(diag(together)^2)
    list(noise = 2 * max(rows, clusters) / weight^2,
         trace = (if (clusters > rows) sum(diag(together)) else sum(diag(h))) / sum(w)^2)
  }
  for (type in c("unbiased", "biased")) for (w in list(rep(1, 40), d$w)) for (cluster in list(seq_len(40), site)) {
    problem <- scalar_problem(d$p, d$y)
    problem$design <- new_design(40, w, if (max(cluster) < 40) cluster)
    found <- mmce_estimate(problem, 0.4, type)
    expected <- naive(type, w, cluster)
    expect_equal(found$noise, expected$noise)
    expect_equal(found$pairs$trace, expected$trace)
  }
  limits <- c("conf.low", "conf.high")
  for (type in c("unbiased", "biased")) for (cluster in list(NULL, site)) {
    expect_equal(unlist(mmce(d$p, d$y, type = type, weights = d$w, cluster = cluster)[limits])^2,
                 unlist(skce(d$p, d$y, kernel = kernel_tv(0.4), type = type, weights = d$w, cluster = cluster)[limits]) / 2,
                 tolerance = 1e-8)
  }
})

test_that("limits of a sum over classes are those of all their pairs", {
  d <- withr::with_seed(3, random_classes(60, 3, 1))
  parts <- lapply(1:3, function(k) mmce_estimate(scalar_problem(d$p[, k], 1 * (d$y == k)), .4, "unbiased"))
  sum <- combine_estimates(parts)
  total <- function(name) sum(vapply(parts, function(part) part$pairs[[name]], 0))
  expect_equal(sum$pairs[c("value", "influence", "trace", "known_trace")],
               list(value = sum$value, influence = sum$influence, trace = total("trace"),
                    known_trace = total("known_trace")))
  # the noise of classes is between that of independent and of equal ones
  expect_gte(sum$pairs$known, total("known"))
  row <- mmce(d$p, d$y, notion = "class_wise", type = "unbiased")
  expect_equal(row$conf.high^2, estimate_limits(sum, .95)$high / 3)
  # a class that nobody predicts or has adds nothing
  none <- mmce_estimate(scalar_problem(rep(0, 60), rep(0, 60)), .4, "unbiased")
  expect_identical(combine_estimates(c(parts, list(none)))$pairs, sum$pairs)
  expect_null(combine_estimates(parts[1:2], c(1, -1))$pairs)
})

test_that("intervals hold the error near calibration, and 0 in as many calibrated samples as they say", {
  withr::local_seed(4)
  sample <- function(slope) {
    p <- stats::plogis(stats::rnorm(100, 0, 1.5))
    unlist(mmce(p, stats::rbinom(100, 1, stats::plogis(slope * stats::qlogis(p))), type = "unbiased")
           [c("conf.low", "conf.high")])
  }
  calibrated <- replicate(400, sample(1))
  expect_gt(mean(calibrated[1, ] == 0), .95)
  # the lower end is not always 0 either
  expect_lt(mean(calibrated[1, ] == 0), 1)
  # of slopes of .6, from the gaps of many rows
  expect_gt(mean(replicate(200, sample(.6))[2, ] >= .0365), .95)
})
