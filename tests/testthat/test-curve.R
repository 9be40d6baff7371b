true_rate <- function(p) stats::plogis(0.6 * stats::qlogis(p) - 0.2)
draw_curve <- function(seed, n, type, rate = identity, ..., support = NULL) {
  withr::with_seed(seed, {
    p <- if (is.null(support)) stats::rbeta(n, 1.2, 0.6) else sample(support, n, TRUE)
    y <- stats::rbinom(n, 1, rate(p))
    list(p = p, y = y, curve = with_threads(1, ce_curve(p, y, type = type, ...)))
  })
}
inside <- function(target, low, high) target >= low - 1e-9 & target <= high + 1e-9

test_that("binned curves hold the bins' means and the textbook intervals", {
  f <- draw_curve(1, 200, curve_binned(8))
  out <- tidy(f$curve)
  bin <- ceiling(f$p * 8)
  expect_equal(out$confidence, as.vector(tapply(f$p, bin, mean)))
  expect_equal(out$observed, as.vector(tapply(f$y, bin, mean)))
  expect_equal(sum(out$n), 200)
  successes <- as.vector(tapply(f$y, bin, sum))
  for (i in seq_len(nrow(out))) {
    wilson <- suppressWarnings(stats::prop.test(successes[i], out$n[i], correct = FALSE))$conf.int
    expect_equal(c(out$conf.low[i], out$conf.high[i]), as.vector(wilson), tolerance = 1e-9)
    exact <- stats::binom.test(successes[i], out$n[i], conf.level = 0.95^(1 / nrow(out)))$conf.int
    expect_equal(c(out$band.low[i], out$band.high[i]), as.vector(exact), tolerance = 1e-9)
  }
  mass <- tidy(ce_curve(f$p, f$y, type = curve_binned(bins = "mass", n_bins = 10)))
  expect_equal(mass$n, rep(20, 10))
})

test_that("counts of independent trials have exact quantiles", {
  expect_equal(cpp_poisson_binomial_quantiles(rep(.3, 40), c(.025, .5, .975)), stats::qbinom(c(.025, .5, .975), 40, .3))
  p <- withr::with_seed(1, runif(10))
  # all 2^10 outcomes
  outcomes <- as.matrix(expand.grid(rep(list(0:1), 10)))
  mass <- exp(outcomes %*% log(p) + (1 - outcomes) %*% log1p(-p))
  cdf <- cumsum(tapply(mass, rowSums(outcomes), sum))
  levels <- c(.01, .2, .5, .9, .999)
  expect_equal(cpp_poisson_binomial_quantiles(p, levels), vapply(levels, function(l) unname(which(cdf >= l)[1]) - 1, 0))
  expect_equal(cpp_poisson_binomial_quantiles(c(0, 1, 1), .5), 2)
  # the approximation for very many trials meets the exact one
  big <- withr::with_seed(2, rbeta(3000, 1, 8))
  v <- sum(big * (1 - big))
  skew <- sum(big * (1 - big) * (1 - 2 * big)) / v^1.5
  z <- qnorm(c(.025, .975))
  cornish_fisher <- round(sum(big) + sqrt(v) * (z + skew * (z^2 - 1) / 6))
  expect_lte(max(abs(cornish_fisher - cpp_poisson_binomial_quantiles(big, c(.025, .975)))), 1)
})

test_that("ranks of rows and maxima of columns are those of sorted numbers, with the missing ones last", {
  x <- withr::with_seed(1, matrix(sample(c(rnorm(40), rep(0.5, 10))), 5))
  expect_identical(cpp_row_ranks(x, c(1L, 4L, 4L, 10L)), t(apply(x, 1, sort))[, c(1, 4, 4, 10)])
  expect_identical(cpp_column_maxima(x), apply(x, 2, max))
  x[2, 3] <- NaN
  expect_identical(cpp_row_ranks(x, 9:10)[2, ], c(max(x[2, ], na.rm = TRUE), NaN))
  expect_identical(which(is.na(cpp_column_maxima(x))), 3L)
  expect_identical(row_quantiles(x[-2, ], c(0, .3, 1)), t(apply(x[-2, ], 1, sort))[, c(1, 3, 10)])
  for (ranks in list(0L, 11L, 2:1)) expect_error(cpp_row_ranks(x, ranks), "ascending ranks",
                                             class = "calibrisk_error_core")
})

test_that("isotonic curves are isotonic regression, also with ties", {
  f <- draw_curve(2, 150, curve_isotonic(50))
  out <- tidy(f$curve)
  expect_equal(out$confidence, sort(f$p))
  expect_equal(out$observed, stats::isoreg(f$p, f$y)$yf, tolerance = 1e-12)
  g <- draw_curve(2, 150, curve_isotonic(50), support = c(.2, .5, .7))
  means <- tapply(g$y, g$p, mean)
  expect_equal(tidy(g$curve)$observed, stats::isoreg(rep(means, table(g$p)))$yf[cumsum(table(g$p))], tolerance = 1e-12)
  # many distinct predictions are thinned, the steps kept
  h <- draw_curve(3, 3000, curve_isotonic(50))
  out <- tidy(h$curve)
  fit <- stats::isoreg(h$p, h$y)$yf
  expect_setequal(unique(round(out$observed, 10)), unique(round(fit, 10)))
})

test_that("likelihood ratio limits are where twice the log ratio reaches the critical value", {
  f <- draw_curve(4, 80, curve_isotonic(50))
  at <- order(f$p)
  y <- f$y[at]
  log_lik <- function(p) sum(ifelse(y == 1, log(p), log1p(-p)))
  best <- log_lik(pmin(pmax(stats::isoreg(y)$yf, 1e-15), 1 - 1e-15))
  k <- 41
  ratio <- function(theta) {
    constrained <- c(pmin(stats::isoreg(y[1:(k - 1)])$yf, theta), theta, pmax(stats::isoreg(y[(k + 1):80])$yf, theta))
    2 * (best - log_lik(pmin(pmax(constrained, 1e-15), 1 - 1e-15)))
  }
  limits <- cpp_isotonic_limits(as.numeric(y), rep(1, 80), k - 1L, 2.27, 1L)
  expect_equal(ratio(limits[1]), 2.27, tolerance = 1e-6)
  expect_equal(ratio(limits[2]), 2.27, tolerance = 1e-6)
})

test_that("local weights stay means where a place sees one or two cells, far away in bandwidths", {
  cells <- list(n = c(200, 200, 200), t = stats::qlogis(c(.05, .5, .9)))
  at <- seq(min(cells$t), max(cells$t), length.out = 60)
  for (h in c(2, .5, .3, .1, 1e-3, 1e-6)) {
    for (weights in local_polynomials(at, cells, h)) {
      w <- weights * rep(cells$n, each = length(at))
      expect_equal(rowSums(w), rep(1, length(at)), tolerance = 1e-5)
      expect_lt(max(abs(w)), 1.2)
    }
  }
  withr::with_seed(1, {
    p <- stats::runif(60)
    y <- stats::rbinom(60, 1, p)
    curve <- ce_curve(p, y, type = curve_smooth(bandwidth = 1e-6, times = 40))
  })
  expect_true(all(is.finite(tidy(curve)$conf.high)))
  expect_error(ce_curve(p, y, type = curve_smooth(bandwidth = 1e-300)), "bandwidth", class = "calibrisk_error_argument")
})

test_that("smooth curves reproduce what local regression must", {
  p <- withr::with_seed(1, sort(runif(300))) # cells ascend
  smoother <- new_smoother(p, 0.5)
  w <- smoother$weights[[1]]
  t <- smooth_scale(smoother$x)
  # weights sum to 1 and reproduce linear (quadratic) functions
  for (which in c("linear", "quadratic")) {
    expect_equal(drop(w[[which]] %*% smoother$n), rep(1, length(t)), tolerance = 1e-5)
    expect_equal(drop(w[[which]] %*% (smoother$n * smoother$t)), t, tolerance = 1e-4)
  }
  expect_equal(drop(w$quadratic %*% (smoother$n * smoother$t^2)), t^2, tolerance = 1e-3)
  # leave-one-out scores against refitting without the row
  y <- withr::with_seed(2, rbinom(300, 1, p))
  all <- new_smoother(p, c(0.5, 1))
  counts <- matrix(smooth_sums(all, y))
  brute <- vapply(all$grid, function(h) {
    sum(vapply(seq_along(p), function(i) {
      cells <- list(n = rep(1, 299), t = smooth_scale(p[-i]))
      (y[i] - p[i] - sum(local_polynomials(smooth_scale(p[i]), cells, h)$linear * (y - p)[-i]))^2
    }, 0))
  }, 0)
  expect_equal(choose_bandwidths(all, counts, counts - all$n * all$p), which.min(brute))
})

test_that("intervals and bands have their level, and the curve is rejected exactly where its band leaves the diagonal", {
  skip_on_cran()
  local_no_numbers()
  share <- function(type, rate, seeds = 1:40, n = 250, ...) {
    rowMeans(vapply(seeds, function(seed) {
      f <- draw_curve(seed, n, type, rate, ...)
      out <- tidy(f$curve)
      target <- rate(out$confidence)
      off <- any(out$confidence < out$band.low - 1e-12 | out$confidence > out$band.high + 1e-12)
      facts <- glance(f$curve)
      expect_identical(c(facts$rejected, facts$outside > 0), c(off, off))
      if (type$name == "binned") target <- as.vector(tapply(rate(f$p), ceiling(f$p * 15), mean))
      c(conf = mean(inside(target, out$conf.low, out$conf.high)),
        band = all(inside(target, out$band.low, out$band.high)),
        null = mean(inside(out$observed, out$null.low, out$null.high)), kept = !facts$rejected)
    }, numeric(4)))
  }
  for (type in list(curve_binned(), curve_isotonic(120), curve_smooth(times = 120))) {
    calibrated <- share(type, identity)
    expect_gte(calibrated[["conf"]], 0.9)
    expect_gte(calibrated[["band"]], 0.88)
    expect_gte(calibrated[["null"]], 0.91)
    expect_gte(calibrated[["kept"]], 0.87)
    expect_lte(calibrated[["conf"]], 0.99)
    bent <- share(type, true_rate, 101:120)
    expect_gte(bent[["conf"]], 0.88)
    expect_gte(bent[["band"]], 0.85)
    expect_lte(bent[["kept"]], 0.6)
  }
  few <- share(curve_isotonic(120), identity, support = seq(.05, .95, .1))
  expect_gte(few[["conf"]], 0.91)
  expect_gte(few[["band"]], 0.93)
})

test_that("regression: uniform transforms stay within their bands, others do not", {
  withr::with_seed(1, {
    mu <- rnorm(400)
    y <- rnorm(400, mu, 2)
  })
  right <- moment_columns(mu, 4)
  narrow <- moment_columns(mu, 1)
  for (type in c("pit", "quantile")) {
    expect_false(glance(ce_curve(right, y, type = type))$rejected)
    expect_true(glance(ce_curve(narrow, y, type = type))$rejected)
  }
  out <- tidy(ce_curve(narrow, y, type = "quantile"))
  expect_equal(out$observed[51], mean(y <= mu), tolerance = 1e-12)
  expect_equal(out$observed[c(1, 101)], c(0, 1))
  pit <- tidy(ce_curve(narrow, y, type = curve_pit(n_bins = 10)))
  expect_equal(pit$n, as.vector(table(cut(pnorm(y - mu), (0:10) / 10))))
  expect_equal(mean(pit$observed), 1)
  expect_equal(tidy(ce_curve(pred_normal(mu, 1), y, type = "quantile")), out)
  expect_equal(tidy(ce_curve(tibble::tibble(d = pred_normal(mu, 1), y = y), y, type = "quantile")), out)
  laws <- list(pred_normal(mu, 2), pred_laplace(mu, 1), pred_mixture(pred_normal(mu, 1), pred_normal(mu + 1, 2)),
               pred_draws(matrix(rep(mu, 3), 400) + rep(-1:1, each = 400)))
  for (law in laws) expect_true(all(inside(pit_middle(pit_of(law, y)), 0, 1)))
  expect_error(ce_curve(pred_categorical(cbind(.5, .5)), 1, type = "pit"), class = "calibrisk_error_distribution")
})

test_that("models, groups and classes come as keys", {
  f <- simulate_classes(200, 3)
  models <- list(a = f$p, b = f$p^2 / rowSums(f$p^2))
  out <- ce_curve(models, f$y, type = "binned")
  expect_setequal(tidy(out)$model, c("a", "b"))
  expect_equal(tidy(out)[tidy(out)$model == "b", -1], tidy(ce_curve(models$b, f$y, type = "binned")))
  classes <- ce_curve(f$p, f$y, notion = "class_wise")
  expect_equal(glance(classes)$class, c("1", "2", "3"))
  frame <- data.frame(.pred_a = f$p[, 1], .pred_b = f$p[, 2], .pred_c = f$p[, 3],
                      y = factor(letters[f$y]), g = rep(1:2, 100))
  groups <- ce_curve(frame, y, .by = g, type = "binned")
  expect_equal(unique(tidy(groups)$g), 1:2)
  expect_equal(tidy(groups)[tidy(groups)$g == 2, -1], tidy(ce_curve(frame[frame$g == 2, ], y, type = "binned")))
})

test_that("edge cases are defined", {
  expect_equal(tidy(ce_curve(rep(.4, 5), c(0, 1, 0, 0, 0)))$observed, .2)
  for (type in c("isotonic", "smooth")) {
    expect_equal(tidy(ce_curve(rep(.4, 5), c(0, 1, 0, 0, 0), type = type))$observed, .2, tolerance = 1e-9)
    for (y in list(rep(0, 30), rep(1, 30))) {
      out <- tidy(ce_curve(seq(0, 1, length.out = 30), y, type = get(paste0("curve_", type))(times = 40)))
      expect_false(anyNA(out[c("observed", band_columns)]))
    }
    expect_equal(nrow(tidy(ce_curve(1, 1, type = get(paste0("curve_", type))(times = 20)))), 1)
  }
  expect_error(ce_curve(.5, 1, notion = "canonical"), class = "calibrisk_error_notion")
  expect_error(ce_curve(1.5, 1), class = "calibrisk_error_probs")
  expect_error(ce_curve(list(), 1), class = "calibrisk_error_argument")
  expect_error(ce_curve(.5, 1, type = "spline"), class = "calibrisk_error_argument")
  expect_error(ce_curve(moment_columns(1, -1), 1, type = "pit"), class = "calibrisk_error_variance")
})

test_that("draws do not depend on threads", {
  f <- draw_curve(5, 300, curve_isotonic(50))
  run <- function(threads) {
    withr::with_seed(9, tidy(with_threads(threads, ce_curve(f$p, f$y, type = curve_isotonic(times = 50)))))
  }
  expect_identical(run(1), run(2))
})

test_that("figures are drawn", {
  skip_if_not_installed("ggplot2")
  f <- simulate_classes(200, 3)
  mu <- rep(0, 50)
  y <- withr::with_seed(1, rnorm(50))
  curves <- list(
    ce_curve(f$p, f$y), ce_curve(f$p, f$y, type = curve_isotonic(times = 40)),
    ce_curve(f$p, f$y, type = curve_smooth(times = 40)), ce_curve(list(a = f$p, b = f$p), f$y),
    ce_curve(f$p, f$y, notion = "class_wise"), ce_curve(moment_columns(mu, 1), y, type = "pit"),
    ce_curve(moment_columns(mu, 1), y, type = "quantile"),
    ce_curve(list(a = moment_columns(mu, 1), b = moment_columns(mu, 2)), y, type = "pit")
  )
  withr::local_pdf(NULL)
  for (curve in curves) {
    # several panels draw what one draws
    for (bands in c("conf", "null", if (nrow(glance(curve)) == 1) "none")) {
      figure <- ggplot2::autoplot(curve, bands = bands, facet = bands == "null")
      expect_s3_class(figure, "ggplot")
      # what draws with its limits draws without
      expect_no_error(if (bands == "conf") print(figure) else ggplot2::ggplot_build(figure))
    }
  }
  expect_s3_class(plot(curves[[1]], bands = "none"), "ggplot")
  expect_error(ggplot2::autoplot(curves[[1]], bands = "all"), class = "calibrisk_error_argument")
})

test_that("printing says what the curve is and whether it leaves the bands", {
  f <- draw_curve(7, 500, "binned", true_rate)
  expect_snapshot(print(f$curve))
})

test_that("bands of regression curves have their level", {
  skip_on_cran()
  cover <- withr::with_seed(1, rowMeans(vapply(1:150, function(i) {
    mu <- rnorm(100)
    y <- rnorm(100, mu)
    pit <- ce_curve(pred_normal(mu, 1), y, type = curve_pit(n_bins = 8))
    quantile <- ce_curve(pred_normal(mu, 1), y, type = "quantile")
    c(pit_band = glance(pit)$outside == 0, pit_kept = !glance(pit)$rejected,
      pit_conf = mean(inside(1, tidy(pit)$conf.low, tidy(pit)$conf.high)),
      quantile_band = glance(quantile)$outside == 0, quantile_kept = !glance(quantile)$rejected)
  }, numeric(5))))
  # two standard errors below the level, which the bands hold from above; their pointwise limits hold
  # 81 % and 61 % of these samples
  expect_true(all(cover > .95 - 2 * sqrt(.05 * .95 / 150)))
})

test_that("predictive distributions ask for their own types", {
  expect_error(ce_curve(pred_normal(1:3, 1), 1:3), "pit", class = "calibrisk_error_argument")
  data <- data.frame(mu = 1:3, sd = 1, y = 1:3)
  expect_error(ce_curve(data, y, pred_normal(mu, sd), type = "smooth"), "quantile", class = "calibrisk_error_argument")
  expect_s3_class(ce_curve(data, y, pred_normal(mu, sd), type = "quantile"), "ce_curve")
})

test_that("curves are smooth unless a type is asked for, or there are few predictions", {
  f <- simulate_classes(120, 3)
  models <- list(a = f$p, b = f$p^2 / rowSums(f$p^2))
  expect_identical(ce_curve(models, f$y)$type, "smooth")
  expect_identical(ce_curve(models, f$y, type = "binned")$type, "binned")
  expect_identical(ce_curve(f$p, f$y, notion = "class_wise")$type, "smooth")
  few <- list(a = rep(c(.2, .4), 30), b = rep(c(.3, .5), 30))
  expect_identical(ce_curve(few, rep(0:1, each = 30))$type, "isotonic")
})

test_that("figures have events apart and numbers in the corner", {
  f <- draw_curve(1, 300, "binned", true_rate)
  curve <- ce_curve(f$p, f$y, notion = "binary", type = "binned")
  expect_equal(sum(curve$histogram$events), sum(f$y))
  expect_equal(sum(curve$histogram$n), 300)
  slope <- stats::coef(stats::glm(f$y ~ stats::qlogis(f$p), family = stats::binomial()))[[2]]
  expect_equal(glance(curve)$slope, slope, tolerance = 1e-5)
  expect_equal(glance(curve)$error, ce_estimate(f$p, f$y, notion = "binary")$estimate)
  expect_identical(names(curve_numbers_text(curve$summary)[[1]]), c("calibration error", "slope", "n"))
  withr::local_pdf(NULL)
  skip_if_not_installed("ggplot2")
  expect_no_error(print(plot(curve, numbers = TRUE)))
  pit <- ce_curve(pred_normal(rep(0, 50), 1), seq(-1, 1, length.out = 50), type = "pit")
  for (one in list(curve, pit,
                   ce_curve(list(a = f$p, b = f$p^2), f$y, notion = "binary", type = curve_smooth(times = 20)))) {
    expect_no_error(ggplot2::ggplotGrob(ggplot2::autoplot(one, numbers = TRUE)))
  }
  expect_error(ggplot2::autoplot(curve, numbers = 1), class = "calibrisk_error_argument")
})

test_that("smooth and isotonic curves are drawn to the fifth most extreme prediction on each side", {
  f <- draw_curve(1, 300, "binned", true_rate)
  for (type in c("smooth", "isotonic")) {
    curve <- ce_curve(f$p, f$y, type = get(paste0("curve_", type))(times = 20))
    drawn <- curve_layers(curve, FALSE)$curve$confidence
    expect_gte(min(drawn), sort(f$p)[5])
    expect_lte(max(drawn), sort(f$p)[296])
    expect_lt(min(tidy(curve)$confidence), min(drawn))
  }
  groups <- ce_curve(list(a = f$p, b = sqrt(f$p)), f$y, type = curve_smooth(times = 20))
  rows <- curve_layers(groups, FALSE)$curve
  expect_gte(min(rows$confidence[rows$model == "b"]), sqrt(sort(f$p)[5]))
  few <- ce_curve(f$p[1:15], f$y[1:15], type = curve_smooth(times = 20))
  expect_identical(nrow(curve_layers(few, FALSE)$curve), nrow(tidy(few)))
})

test_that("axes end early where events are rare, and bars keep their counts", {
  p <- withr::with_seed(1, stats::rbeta(3000, .5, 50))
  y <- withr::with_seed(2, stats::rbinom(3000, 1, p))
  layers <- curve_layers(ce_curve(p, y, type = curve_isotonic(times = 20)), FALSE)
  expect_lt(layers$top, 1)
  expect_identical(nrow(layers$histogram), 50L)
  within <- p <= layers$top
  expect_equal(colSums(layers$histogram[c("n", "events")]), c(n = sum(within), events = sum(y[within])))
  expect_identical(curve_layers(ce_curve(c(p, .9), c(y, 1), type = "binned"), FALSE)$top, 1)
})

test_that("curves that share a panel are lines with their numbers in the legend; one curve has no legend", {
  skip_if_not_installed("ggplot2")
  f <- draw_curve(1, 200, "binned", true_rate)
  several <- ce_curve(list(first = f$p, second = f$p^2), f$y, type = curve_smooth(times = 20))
  kinds <- function(plot) vapply(plot$layers, function(layer) class(layer$geom)[1], "")
  expect_false("GeomRibbon" %in% kinds(ggplot2::autoplot(several)))
  expect_true("GeomRibbon" %in% kinds(ggplot2::autoplot(several, facet = TRUE)))
  expect_true("GeomRibbon" %in% kinds(ggplot2::autoplot(several, bands = "conf")))
  labels <- legend_labels(curve_layers(several, FALSE)$summary, curve_numbers_text(several$summary),
                          c("first", "second"))
  expect_match(labels, "^(first|second): slope [0-9.]+, CE 0[.][0-9]{3}$")
  expect_true(all(nchar(legend_labels(curve_layers(several, FALSE)$summary, curve_numbers_text(several$summary),
                                      c("first", "second"), width = 20)) <= 20))
  withr::local_pdf(NULL)
  one <- ggplot2::autoplot(ce_curve(f$p, f$y, type = curve_smooth(times = 20))) + ggplot2::theme_minimal()
  expect_false(any(grepl("^guides", vapply(ggplot2::ggplotGrob(one)$grobs, function(g) g$name[1], ""))))
  expect_s3_class(ggplot2::ggplotGrob(ggplot2::autoplot(several, numbers = TRUE)), "gtable")
})

test_that("figures know a decimal comma", {
  f <- draw_curve(1, 100, "binned", true_rate)
  withr::local_options(OutDec = ",")
  expect_identical(count_text(12345), "12.345")
  withr::local_pdf(NULL)
  skip_if_not_installed("ggplot2")
  for (bands in c("conf", "null")) expect_no_warning(print(plot(f$curve, bands = bands, numbers = TRUE)))
  plot <- ggplot2::autoplot(f$curve, numbers = TRUE)
  expect_no_error(ggplot2::ggplotGrob(plot))
})

test_that("no predictions at all are an error that says so", {
  for (verb in list(ce_curve, ce_decision)) {
    expect_error(verb(NULL, c(FALSE, TRUE)), class = "calibrisk_error_probs")
    expect_error(verb(list(a = NULL), c(FALSE, TRUE)), class = "calibrisk_error_probs")
    expect_error(verb(list(), c(FALSE, TRUE)), class = "calibrisk_error_argument")
  }
})

test_that("a print says where the band leaves the diagonal", {
  expect_identical(place_of_diagonal(0, "the diagonal"), "its simultaneous band contains the diagonal")
  expect_identical(place_of_diagonal(.256, "uniformity"),
                   "its simultaneous band excludes uniformity at 26% of the points")
})

test_that("a curve is rejected exactly if its own band leaves the diagonal", {
  agrees <- function(points, target) {
    out <- agreeing_band(points, target)
    off <- target < out$band.low - 1e-12 | target > out$band.high + 1e-12
    expect_identical(any(off), any(leaves_null_band(points) > 1e-12))
    expect_true(all(out$band.low <= out$observed + 1e-10 & out$observed <= out$band.high + 1e-10))
    expect_true(all(out$band.low <= out$conf.low + 1e-10 & out$conf.high <= out$band.high + 1e-10))
    out
  }
  # the null band rejects at the second place and the own one would not; the other way round
  points <- columns_frame(confidence = c(.2, .5, .8), observed = c(.25, .7, .75), conf.low = c(.1, .55, .7),
                          conf.high = c(.4, .8, .85), band.low = c(.05, .45, .6), band.high = c(.5, .9, .9),
                          null_band.low = c(.1, .4, .7), null_band.high = c(.3, .6, .9))
  out <- agrees(points, points$confidence)
  expect_equal(out$band.low, c(.05, .5, .6))
  points$null_band.high <- points$null_band.high + .2
  points$band.low[2] <- .52
  expect_equal(agrees(points, points$confidence)$band.low, c(.05, .5, .6))
  down <- points
  down$observed[2] <- .3
  down[c("conf.low", "conf.high", "band.low", "band.high")] <- list(c(.1, .2, .7), c(.4, .45, .85), c(.05, .1, .6),
                                                                   c(.5, .6, .9))
  down$null_band.low[2] <- .4
  down$band.high[2] <- .48
  expect_equal(agrees(down, down$confidence)$band.high, c(.5, .48, .9))
  down$band.high[2] <- .6
  expect_equal(agrees(down, down$confidence)$band.high, c(.5, .5, .9))
})

test_that("limits are the same in every call and leave the random numbers alone", {
  f <- withr::with_seed(3, {
    p <- stats::runif(150)
    list(p = p, y = stats::rbinom(150, 1, p^2))
  })
  for (type in c("smooth", "isotonic")) {
    withr::with_seed(4, {
      one <- tidy(ce_curve(f$p, f$y, type = get(paste0("curve_", type))(times = 60)))
      after <- stats::runif(1)
    })
    expect_identical(withr::with_seed(5, tidy(ce_curve(f$p, f$y, type = get(paste0("curve_", type))(times = 60)))), one)
    expect_identical(withr::with_seed(4, stats::runif(1)), after)
  }
})

test_that("isotonic null bands stand at places of the predictions, and hold every increasing curve that they hold there", {
  pooled <- list(x = sort(withr::with_seed(1, stats::runif(400))), n = rep(1, 400), end = 1:400)
  expect_identical(isotonic_places(pooled)[c(1, length(isotonic_places(pooled)))], c(1L, 400L))
  fixed <- c(1L, 4L, 9L)
  band <- list(low = c(.1, .05, .4), high = c(.5, .6, .55), band_low = c(0, .1, .2), band_high = c(.7, .6, .9))
  out <- monotone_band(band, fixed, 1:9)
  expect_equal(out$low, c(rep(.1, 8), .4))
  expect_equal(out$high, c(.5, rep(.55, 8)))
  expect_equal(out$band_low, rep(c(0, .1, .2), c(3, 5, 1)))
  expect_equal(out$band_high, c(rep(.6, 4), rep(.9, 5)))
  # data with more than 256 predictions: the ends of steps are shown, and do not reject
  rejected <- withr::with_seed(2, replicate(60, {
    p <- stats::runif(600)
    y <- stats::rbinom(600, 1, p)
    problem <- list(labels = y)
    points <- curve_points(curve_isotonic(times = 200), problem, p, list(times = 200, level = .95), NULL)
    any(leaves_null_band(points) > band_rounding)
  }))
  expect_lte(mean(rejected), .15)
})

test_that("all bins have one tail probability, the largest that the level allows", {
  groups <- withr::with_seed(1, lapply(1:4, function(b) stats::runif(12, b / 5, (b + 1) / 5)))
  inside <- function(tail) {
    prod(vapply(groups, function(prob) {
      mass <- count_mass(prob)
      at_least <- rev(cumsum(rev(mass)))
      sum(mass[cumsum(mass) >= tail & at_least > tail])
    }, 0))
  }
  expect_equal(count_mass(rep(.3, 5)), stats::dbinom(0:5, 5, .3))
  tail <- joint_tail(groups, .95)
  expect_gte(inside(tail), .95)
  expect_lt(inside(tail + 1e-4), .95)
  expect_gt(tail, (1 - .95^(1 / 4)) / 2)
  # one bin has the pointwise tail at most; bins of many rows have full tails
  expect_equal(joint_tail(list(rep(.5, 3)), .95), .025)
  expect_equal(joint_tail(rep(list(rep(.5, 600)), 3), .95), (1 - .95^(1 / 3)) / 2, tolerance = 1e-6)
})

test_that("the null band of a smooth curve is the set where both standardised distances are within their limits", {
  p <- withr::with_seed(1, stats::rbeta(300, .4, .6))
  smoother <- new_smoother(p, NULL)
  null <- function(prob, times, seed) {
    smooth_all(smoother, cpp_count_draws(prob[smoother$order], numeric(), smoother$end, times, seed, 1L))
  }
  error <- null_error(smoother, 5)
  limits <- null_limits(smoother$x, error, 2.4, 3.1)
  for (at in c(1, 40, 90, length(smoother$x))) {
    curve <- seq(0, 1, .001)
    rate <- shrunken_rate(curve, error$n_eff[at])
    distance <- abs(curve - smoother$x[at])
    within <- distance <= 2.4 * error$at_diagonal[at] & distance <= 3.1 * sqrt(rate * (1 - rate) / error$n_eff[at])
    # to a step of the grid
    off <- range(curve[within]) - pmin(pmax(c(limits$low[at], limits$high[at]), 0), 1)
    expect_lte(max(abs(off)), .001)
  }
  # of calibrated curves as many leave the band of their bandwidth as the level says
  draws <- null(p, 300, 1)
  fresh <- null(p, 300, 2)
  bands <- lapply(stats::setNames(nm = unique(fresh$chosen)), function(h) smooth_null(smoother, draws, h, .95))
  left <- vapply(1:300, function(i) {
    band <- bands[[as.character(fresh$chosen[i])]]
    curve <- pmin(pmax(fresh$estimate[, i], 0), 1)
    any(curve > pmin(band$band_high, 1) | curve < pmax(band$band_low, 0))
  }, NA)
  expect_lte(mean(left), .11)
  expect_gte(mean(left), .01)
})

test_that("a time limit ends the curve of many rows soon after it is reached", {
  skip_on_cran()
  d <- withr::with_seed(41, {
    p <- runif(1e6)
    list(p = p, y = as.numeric(runif(1e6) < p))
  })
  on.exit(setTimeLimit())
  # of processor time, the least of three: other jobs slow the processor down as well
  limits <- c(smooth = 0.4, isotonic = 0.2, binned = 0.4)
  beyond <- function(type) {
    started <- sum(proc.time()[1:2])
    setTimeLimit(cpu = limits[[type]])
    expect_error(ce_curve(d$p, d$y, type = type), "time limit")
    setTimeLimit()
    sum(proc.time()[1:2]) - started - limits[[type]]
  }
  for (type in names(limits)) {
    taken <- beyond(type)
    for (again in 1:2) if (taken >= 0.4) taken <- min(taken, beyond(type))
    expect_lt(taken, 0.4)
  }
})

test_that("cells are those of the values, in their order", {
  x <- withr::with_seed(42, sample(c(0.1, 0.25, 0.7), 50, TRUE))
  expect_identical(distinct_values(x, 3, block = 7), c(0.1, 0.25, 0.7))
  expect_null(distinct_values(x, 2, block = 7))
  expect_identical(integer_cells(c(4L, 0L, 4L, 9L)), c(2L, 1L, 2L, 3L))
  expect_identical(split_by_cell(c(5, 6, 7), c(2L, 1L, 2L), 2), list(6, c(5, 7)))
})

test_that("the smooth band holds a bump that is narrower than its bandwidth", {
  skip_on_cran()
  holds <- vapply(1:20, function(seed) {
    withr::with_seed(seed, {
      p <- stats::rbeta(400, 1.2, 3)
      y <- stats::rbinom(400, 1, pmin(p + .25 * exp(-((p - .4) / .07)^2), 1))
    })
    curve <- ce_curve(p, y, type = curve_smooth(times = 100))$curve
    truth <- pmin(curve$confidence + .25 * exp(-((curve$confidence - .4) / .07)^2), 1)
    all(curve$band.low <= truth & truth <= curve$band.high)
  }, NA)
  expect_gte(mean(holds), .85)
})
