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
  expect_equal(tidy(ce_curve(f$p, f$y, type = curve_binned(bins = "mass", n_bins = 10)))$n, rep(20, 10))
})

# Limits of simulated curves, and of all of them together, as the help defines them.
naive_band <- function(draws, level) {
  ranked <- function(x, share) apply(x, 1, function(v) sort(v)[max(1, ceiling(length(v) * share))])
  half <- seq_len(ncol(draws) %/% 2)
  shape <- draws[, half, drop = FALSE]
  tail <- (1 - level) / 2
  middle <- ranked(shape, .5)
  spread <- sqrt(rowMeans((shape - rowMeans(shape))^2))
  least <- pmax(spread, .1 * max(spread), 1e-12)
  below <- pmax(middle - ranked(shape, tail), least)
  above <- pmax(ranked(shape, 1 - tail) - middle, least)
  excess <- sort(apply(draws[, -half] - middle, 2, function(gap) max(gap / above, -gap / below)))
  factor <- excess[min(ceiling((length(excess) + 1) * level), length(excess))]
  low <- ranked(draws, tail)
  high <- ranked(draws, 1 - tail)
  list(low = low, high = high, band_low = pmin(low, middle - factor * below),
       band_high = pmax(high, middle + factor * above))
}

test_that("counts of bins have exact quantiles, all bins one tail probability, the largest that the level allows", {
  mass_of <- function(prob) Reduce(function(mass, p) c(mass * (1 - p), 0) + c(0, mass * p), prob, 1)
  prob <- withr::with_seed(1, lapply(1:4, function(b) stats::runif(12, b / 5, (b + 1) / 5)))
  limits_of <- function(p, edges = numeric(), copies = numeric(), level = .95) {
    found <- cpp_binned_curve(p, 0 * p, edges, NULL, copies, level)
    do.call(rbind, unname(c(found$null, found$null_band))) * rep(found$rows, each = 4)
  }
  limits <- limits_of(unlist(prob), 2:4 / 5)
  quantiles <- function(tail) vapply(prob, function(p) {
    vapply(c(tail, 1 - tail), function(v) which(cumsum(mass_of(p)) >= v)[1] - 1, 0)
  }, c(0, 0))
  expect_equal(limits[1:2, ], quantiles(.025))
  inside <- function(counts) prod(vapply(1:4, function(b) sum(mass_of(prob[[b]])[counts[1, b]:counts[2, b] + 1]), 0))
  expect_gte(inside(limits[3:4, ]), .95)
  tails <- seq(.025, .001, by = -1e-5)
  expect_equal(limits[3:4, ], quantiles(tails[which(vapply(tails, function(v) inside(quantiles(v)), 0) >= .95)[1]]))
  # copies are rows; one bin has the pointwise tail; bins of many rows have full tails
  expect_equal(limits_of(c(.3, .6), copies = c(7, 3)), limits_of(rep(c(.3, .6), c(7, 3))))
  many <- limits_of(rep(c(.2, .3, .4), 600), c(.25, .35))
  expect_equal(many[, 2], stats::qbinom(c(.025, .975, .5 - .95^(1 / 3) / 2, .5 + .95^(1 / 3) / 2), 600, .3))
  # rows whose distribution is approximated, with rare events too, whose skewness moves the limits far out
  for (level in c(.95, .9999)) for (p in c(.3, 1e-3)) {
    large <- limits_of(rep(p, 2e5), level = level)
    expect_lte(max(abs(large[1:2] - stats::qbinom((1 + c(-1, 1) * level) / 2, 2e5, p))), 1)
  }
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
  out <- tidy(f$curve)
  y <- f$y[order(f$p)]
  log_lik <- function(p) sum(ifelse(y == 1, log(p), log1p(-p)))
  best <- log_lik(pmin(pmax(stats::isoreg(y)$yf, 1e-15), 1 - 1e-15))
  ratio <- function(theta, k) {
    before <- if (k > 1) pmin(stats::isoreg(y[seq_len(k - 1)])$yf, theta)
    after <- if (k < 80) pmax(stats::isoreg(y[(k + 1):80])$yf, theta)
    2 * (best - log_lik(pmin(pmax(c(before, theta, after), 1e-15), 1 - 1e-15)))
  }
  critical <- .59 * stats::qchisq(.95, 1)
  for (k in c(1, 20, 41, 79)) {
    for (limit in c(out$conf.low[k], out$conf.high[k])) {
      if (limit > 0 && limit < 1) expect_equal(ratio(limit, k), critical, tolerance = 1e-6)
    }
  }
})

test_that("bands of many rows, drawn by cell, are those of outcomes drawn row by row", {
  # rare events, ties, certain predictions, a gap and a heavy atom
  p <- withr::with_seed(1, c(rep(0:1, each = 500), stats::runif(8000)^6, sample(1:20 / 40, 3000, TRUE), rep(.9, 400)))
  out <- withr::with_seed(2, tidy(ce_curve(p, as.numeric(stats::runif(length(p)) < p), type = "isotonic")))
  at <- match(out$confidence, p)
  fits <- withr::with_seed(3, vapply(1:300, function(i) {
    cpp_isotonic_rows(p, as.numeric(stats::runif(length(p)) < p), NULL)$rows[at]
  }, out$confidence))
  naive <- naive_band(fits, .95)
  expect_equal(mean(out$null.high - out$null.low), mean(naive$high - naive$low), tolerance = .06)
  expect_equal(mean(out$null_band.high - out$null_band.low), mean(naive$band_high - naive$band_low), tolerance = .12)
  expect_lt(abs(mean(out$null.high + out$null.low) / 2 - mean(fits)), .002)
})

test_that("smooth curves are local lines of the residuals, their bandwidth the best of leaving one out", {
  p <- withr::with_seed(1, stats::runif(120))
  y <- withr::with_seed(2, stats::rbinom(120, 1, p^2))
  t <- stats::qlogis(p)
  fit <- function(at, h, rows = TRUE) {
    near <- exp(-((t[rows] - at) / h)^2 / 2)
    stats::lm.wfit(cbind(1, t[rows] - at), (y - p)[rows], near)$coefficients[[1]]
  }
  chosen <- ce_curve(p, y, type = curve_smooth(times = 40))
  grid <- diff(range(t)) * exp(seq(log(.04), 0, length.out = 12))
  left_out <- vapply(grid, function(h) sum(vapply(1:120, function(i) (y[i] - p[i] - fit(t[i], h, -i))^2, 0)), 0)
  expect_equal(glance(chosen)$bandwidth, grid[which.min(left_out)], tolerance = 1e-10)
  for (h in c(.5, 2)) {
    curve <- tidy(ce_curve(p, y, type = curve_smooth(bandwidth = h, times = 40)))
    naive <- curve$confidence + vapply(stats::qlogis(curve$confidence), fit, 0, h)
    expect_equal(curve$observed, pmin(pmax(naive, 0), 1), tolerance = 1e-5)
  }
  narrow <- ce_curve(p[1:60], y[1:60], type = curve_smooth(bandwidth = 1e-6, times = 40))
  expect_true(all(is.finite(tidy(narrow)$conf.high)))
  expect_error(ce_curve(p, y, type = curve_smooth(bandwidth = 1e-300)), "bandwidth", class = "calibrisk_error_argument")
})

test_that("intervals and bands have their level, and curves are rejected where their band leaves the diagonal", {
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
  mu <- withr::with_seed(1, rnorm(400))
  y <- withr::with_seed(2, rnorm(400, mu, 2))
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
  expect_error(ce_curve(pred_categorical(cbind(.5, .5)), 1, type = "pit"), class = "calibrisk_error_distribution")
})

test_that("models and classes come as keys, smooth unless a type is asked for or there are few predictions", {
  f <- simulate_classes(200, 3)
  models <- list(a = f$p, b = f$p^2 / rowSums(f$p^2))
  out <- ce_curve(models, f$y, type = "binned")
  expect_setequal(tidy(out)$model, c("a", "b"))
  expect_identical(c(out$type, ce_curve(models, f$y)$type), c("binned", "smooth"))
  expect_equal(tidy(out)[tidy(out)$model == "b", -1], tidy(ce_curve(models$b, f$y, type = "binned")))
  classes <- ce_curve(f$p, f$y, notion = "class_wise")
  expect_equal(glance(classes)$class, c("1", "2", "3"))
  expect_identical(classes$type, "smooth")
  expect_identical(ce_curve(list(a = rep(c(.2, .4), 30), b = rep(c(.3, .5), 30)), rep(0:1, each = 30))$type, "isotonic")
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
  expect_error(ce_curve(moment_columns(1, -1), 1, type = "pit"), class = "calibrisk_error_variance")
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
    for (bands in c("conf", "null", if (nrow(glance(curve)) == 1) "none")) {
      expect_no_error(ggplot2::ggplotGrob(ggplot2::autoplot(curve, bands = bands, facet = bands == "null")))
    }
  }
  expect_error(ggplot2::autoplot(curves[[1]], bands = "all"), class = "calibrisk_error_argument")
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
  expect_gte(min(subset(curve_layers(groups, FALSE)$curve, model == "b")$confidence), sqrt(sort(f$p)[5]))
  few <- ce_curve(f$p[1:15], f$y[1:15], type = curve_smooth(times = 20))
  expect_identical(nrow(curve_layers(few, FALSE)$curve), nrow(tidy(few)))
})

test_that("bars of a figure count the rows of their cells, with ends in them", {
  p <- withr::with_seed(1, c(0:500 / 500, stats::rbeta(9000, .5, .5)))
  bars <- cpp_curve_bars(p, numeric(), numeric())
  expect_identical(bars$shares$n, tabulate(findInterval(p, 1:499 / 500, left.open = TRUE) + 1, 500))
  expect_identical(bars$logits$n, tabulate(findInterval(p, stats::plogis(-9.4 + 1:93 * .2)) + 1, 94))
  expect_equal(cpp_drawn_ends(p, numeric()), list(from = sort(p)[5], to = sort(p, TRUE)[5]))
})

test_that("no predictions at all are an error that says so", {
  for (verb in list(ce_curve, ce_decision)) {
    for (none in list(NULL, list(a = NULL))) expect_error(verb(none, c(FALSE, TRUE)), class = "calibrisk_error_probs")
    expect_error(verb(list(), c(FALSE, TRUE)), class = "calibrisk_error_argument")
  }
})

test_that("a curve is rejected exactly if its own band leaves the diagonal", {
  agrees <- function(points, target) {
    agreed <- cpp_agreeing_band(points, target)
    out <- agreed$points
    off <- target < out$band.low - 1e-12 | target > out$band.high + 1e-12
    expect_identical(agreed[c("outside", "rejected")], list(outside = mean(off), rejected = any(off)))
    expect_true(all(out$band.low <= out$observed + 1e-10 & out$observed <= out$band.high + 1e-10))
    expect_true(all(out$band.low <= out$conf.low + 1e-10 & out$conf.high <= out$band.high + 1e-10))
    out
  }
  # the null band rejects at the second place and the own one would not; the other way round
  points <- columns_frame(confidence = c(.2, .5, .8), observed = c(.25, .7, .75), conf.low = c(.1, .55, .7),
                          conf.high = c(.4, .8, .85), band.low = c(.05, .45, .6), band.high = c(.5, .9, .9),
                          null_band.low = c(.1, .4, .7), null_band.high = c(.3, .6, .9))
  expect_equal(agrees(points, points$confidence)$band.low, c(.05, .5, .6))
  points$null_band.high <- points$null_band.high + .2
  points$band.low[2] <- .52
  expect_equal(agrees(points, points$confidence)$band.low, c(.05, .5, .6))
})

test_that("isotonic null bands stand at places of the predictions, and are those of increasing curves", {
  rejected <- withr::with_seed(2, replicate(60, {
    p <- stats::runif(600)
    y <- stats::rbinom(600, 1, p)
    # the ends of steps are shown, and do not reject
    curve <- ce_curve(p, y, type = curve_isotonic(times = 200))
    out <- tidy(curve)
    expect_true(all(range(p) == range(out$confidence)))
    for (side in c("null.low", "null.high", "null_band.low", "null_band.high")) expect_false(is.unsorted(out[[side]]))
    glance(curve)$rejected
  }))
  expect_true(mean(rejected) <= .15 && mean(rejected) >= .005)
})

test_that("of calibrated curves as many leave the null band as the level says, of many rows and of weighted ones too", {
  skip_on_cran()
  local_no_numbers()
  left <- function(type, n, weights = function(n) NULL, samples = 100) {
    mean(withr::with_seed(1, replicate(samples, {
      p <- stats::rbeta(n, .4, .6)
      glance(ce_curve(p, stats::rbinom(n, 1, p), type = type, weights = weights(n)))$rejected
    })))
  }
  of <- c(left(curve_smooth(times = 300), 300), left(curve_smooth(times = 200), 12000),
          left(curve_isotonic(times = 200), 12000, samples = 60),
          left(curve_smooth(times = 200), 12000, function(n) stats::rexp(n) + .2, samples = 60))
  expect_true(all(of <= .13 & of >= .005))
})

test_that("the smooth band holds a bump that is narrower than its bandwidth, and a wave", {
  skip_on_cran()
  rates <- list(function(p) p + .25 * exp(-((p - .4) / .07)^2), function(p) p + .1 * sin(4 * pi * p))
  for (rate in rates) {
    holds <- vapply(1:20, function(seed) {
      f <- drawn_rows(seed, stats::rbeta(400, 1.2, 3), function(p) pmin(pmax(rate(p), 0), 1))
      curve <- tidy(ce_curve(f$p, f$y, type = curve_smooth(times = 100)))
      truth <- pmin(pmax(rate(curve$confidence), 0), 1)
      all(curve$band.low <= truth & truth <= curve$band.high)
    }, NA)
    expect_gte(mean(holds), .85)
  }
})

test_that("many curves have a panel each, with bare names, and no look twice in one panel", {
  skip_if_not_installed("ggplot2")
  p <- (1:80) / 81
  y <- rep(0:1, 40)
  models <- stats::setNames(lapply(1:10, function(k) p^(k / 5)), paste0("network_of_a_long_name_", letters[1:10]))
  curve <- ce_curve(models, y, type = curve_smooth(bandwidth = 1, times = 20))
  figure <- ggplot2::autoplot(curve)
  expect_identical(nrow(ggplot2::ggplot_build(figure)$layout$layout), 10L)
  expect_identical(unname(unlist(figure$facet$params$labeller(data.frame(panel = names(models))))), letters[1:10])
  shared <- ggplot2::ggplot_build(ggplot2::autoplot(curve, facet = FALSE))
  lines <- Find(function(layer) all(c("linetype", "colour", "y") %in% names(layer)) && length(unique(layer$group)) == 10,
                shared$data)
  expect_identical(nrow(unique(lines[c("colour", "linetype")])), 10L)
  expect_identical(shared$plot$theme$legend.position, "right")
  few <- ggplot2::autoplot(ce_curve(models[1:6], y, type = curve_smooth(bandwidth = 1, times = 20)))
  expect_identical(nrow(ggplot2::ggplot_build(few)$layout$layout), 1L)
})

test_that("predictions of rare events are drawn on logit axes, unless another scale is asked for", {
  skip_if_not_installed("ggplot2")
  d <- drawn_rows(1, stats::plogis(stats::rnorm(2000, -4, 2)))
  curve <- ce_curve(d$p, d$y, type = curve_binned(n_bins = 5))
  figure <- ggplot2::autoplot(curve)
  expect_match(figure$labels$caption, "Logit scales")
  built <- ggplot2::ggplot_build(figure)
  points <- built$data[[length(built$data)]]
  x <- built$layout$panel_params[[1]]$x
  # the line through the ticks is the logit
  ticks <- stats::qlogis(as.numeric(x$get_labels()))
  map <- stats::lm.fit(cbind(1, as.numeric(x$get_breaks())), ticks)$coefficients
  expect_equal(map[1] + map[2] * points$x, stats::qlogis(tidy(curve)$confidence), ignore_attr = TRUE)
  expect_no_match(ggplot2::autoplot(curve, scale = "linear")$labels$caption, "Logit")
  expect_no_match(ggplot2::autoplot(ce_curve(sqrt(d$p), d$y))$labels$caption, "Logit")
  expect_match(ggplot2::autoplot(ce_curve(sqrt(d$p), d$y), scale = "logit")$labels$caption, "Logit")
  expect_error(ggplot2::autoplot(curve, scale = "log"), class = "calibrisk_error_argument")
})

test_that("predictions that are all equal have a smooth curve of one place", {
  for (n in c(1, 5)) for (y in 0:1) {
    one <- ce_curve(rep(.3, n), rep(y, n), type = curve_smooth(times = 20))
    expect_false(anyNA(tidy(one)[c("conf.low", "conf.high", "band.low", "band.high")]))
    classes <- ce_curve(cbind(.2, .3, rep(.5, n)), rep(y + 1L, n), type = curve_smooth(times = 20),
                        notion = "class_wise")
    expect_false(anyNA(glance(classes)$outside))
  }
})
