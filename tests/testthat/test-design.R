test_that("weights of metrics have no scale, one value of them is none, and rows of weight 0 are not there", {
  for (metric in c(design_metrics, design_tables)) expect_weights(of_vectors(metric), repeats = FALSE)
})

test_that("estimates with whole importance weights are those of repeated rows where they are means over rows", {
  data <- design_rows_frame()
  data$whole <- as.numeric(data$copies)
  repeated <- data[rep(seq_len(nrow(data)), data$copies), ]
  # copies are pairs, and left out one by one, only where they are rows
  unbiased <- c("debiased", "mmce_unbiased", "dirichlet")
  for (metric in design_metrics[setdiff(names(design_metrics), unbiased)]) {
    expect_message(weighted <- metric(data, y, prob, weights = whole), class = "calibrisk_message_weights")
    expect_equal(weighted$.estimate, metric(repeated, y, prob)$.estimate)
    # one row that stands for several is less than several rows
    expect_true(!isTRUE(weighted$std.error < metric(repeated, y, prob)$std.error))
  }
})

test_that("clusters of one row are none but for Student's quantile", {
  data <- design_rows_frame()
  data$own <- seq_len(nrow(data))
  for (metric in design_metrics) {
    alone <- metric(data, y, prob, cluster = own)
    plain <- metric(data, y, prob)
    expect_equal(alone$.estimate, plain$.estimate)
    expect_equal(alone$std.error, plain$std.error)
  }
  # of 12 clusters
  few <- ce_score(data, y, prob, cluster = centre)
  df <- cluster_df(data$centre)
  expect_equal(log(few$conf.high / few$.estimate), stats::qt(.975, df) * few$std.error / few$.estimate)
})

test_that("weights and clusters are checked and named", {
  expect_match(design_sentence(list(new_design(1049, 1049:1 / 7))), "size 787 of 1,049")
  data <- design_rows_frame()
  data$bad <- -data$share
  data$text <- "a"
  expect_error(ece(data, y, prob, weights = bad), class = "calibrisk_error_weights")
  expect_error(ece(data, y, prob, weights = text), class = "calibrisk_error_weights")
  expect_error(ece(data, y, prob, weights = wieghts), class = "calibrisk_error_columns")
  expect_error(ece(data, y, prob, weights = c(share, copies)), class = "calibrisk_error_columns")
  expect_error(ece(data, y, prob, weights = data$share), "the name of a column", class = "calibrisk_error_columns")
  expect_error(ece(data$prob, data$y, weights = 1:3), class = "calibrisk_error_length")
  data$none <- 0
  expect_error(ece(data, y, prob, weights = none), class = "calibrisk_error_empty")
  data$share[3] <- NA
  expect_identical(ece(data, y, prob, weights = share)$n, 119L)
  expect_true(is.na(ece(data, y, prob, weights = share, na_rm = FALSE)$.estimate))
  # as the classes of hardhat say
  frequency <- structure(data$copies, class = c("hardhat_frequency_weights", "hardhat_case_weights"))
  expect_identical(ece(data$prob, data$y, weights = frequency), ece(data$prob, data$y, weights = data$copies))
})

test_that("intervals of clustered rows cover, where those that take rows as independent do not", {
  skip_on_cran()
  # predictions right on average, a random effect of 50 clusters of 20 rows: intra-cluster correlation .1
  found <- withr::with_seed(7, vapply(1:400, function(i) {
    centre <- rep(1:50, each = 20)
    p <- rep(stats::runif(50, .3, .7), each = 20)
    # a beta effect with this correlation around .5 + (p - .5) / 2
    mean <- .5 + (p - .5) / 2
    effect <- stats::rbeta(50, 9 * mean[20 * 1:50], 9 * (1 - mean[20 * 1:50]))[centre]
    y <- stats::rbinom(1000, 1, effect)
    # E (p - eta)^2 + E eta (1 - eta), p uniform on (.3, .7)
    brier <- function(...) {
      out <- rbs(p, y, ...)
      out$conf.low^2 <= .25 && .25 <= out$conf.high^2
    }
    c(clustered = brier(cluster = centre), plain = brier())
  }, c(NA, NA)))
  expect_lt(abs(mean(found[1, ]) - .95), .025)
  expect_lt(mean(found[2, ]), .85)
})

test_that("weighted pairs are those of the formula, those of clusters lie across clusters", {
  data <- design_rows_frame(40)
  d <- data$prob - data$y
  h <- outer(d, d) * exp(-abs(outer(data$prob, data$prob, "-")) / .4)
  w <- data$share
  other <- outer(data$centre, data$centre, "!=")
  naive <- function(pairs) sum(outer(w, w) * h * pairs) / sum(outer(w, w) * pairs)
  unbiased <- function(...) mmce(data, y, prob, type = "unbiased", ...)$power
  expect_equal(mmce(data, y, prob, weights = share)$power, naive(1))
  expect_equal(unbiased(weights = share), naive(1 - diag(40)))
  expect_equal(unbiased(weights = share, cluster = centre), naive(other))
  w <- rep(1, 40)
  expect_equal(unbiased(cluster = centre), naive(other))
  # the influence is the derivative by a row's weight
  problem <- function(w) {
    out <- scalar_problem(data$prob, data$y)
    out$design <- new_design(40, w, match(data$centre, sort(unique(data$centre))))
    out
  }
  value <- mmce_estimate(problem(data$share), .4, "unbiased")
  heavier <- mmce_estimate(problem(replace(data$share, 7, data$share[7] + 1e-6)), .4, "unbiased")$value
  expect_equal((heavier - value$value) / 1e-6 * sum(data$share), value$influence[7], tolerance = 1e-4)
})

test_that("pairs across clusters see no error where there is none but the clusters' effects", {
  skip_on_cran()
  found <- withr::with_seed(8, vapply(1:200, function(i) {
    centre <- rep(1:50, each = 5)
    effect <- stats::rnorm(50)[centre]
    p <- rep(.5, 250)
    y <- stats::rbinom(250, 1, stats::pnorm(effect))
    c(across = mmce(p, y, type = "unbiased", cluster = centre)$power, all = mmce(p, y, type = "unbiased")$power)
  }, c(0, 0)))
  error <- apply(found, 1, stats::sd) / sqrt(200)
  expect_lt(abs(mean(found[1, ])), 3.5 * error[1])
  expect_gt(mean(found[2, ]), 5 * error[2])
})

test_that("weighted quantiles are those of quantile() of repeated values, and do not depend on the order of ties", {
  x <- c(3, 1, 4, 1, 5, 9, 2)
  probs <- c(0, .1, .5, .9, 1)
  expect_equal(weighted_quantile(x, probs, rep(2, 7)), quantile(x, probs, names = FALSE))
  expect_equal(weighted_quantile(x, .5, c(1, .4, 1, 1.6, 1, 1, 1)), weighted_quantile(x, .5, c(1, 1.6, 1, .4, 1, 1, 1)))
  expect_identical(weighted_quantile(4, probs, 2), rep(4, 5))
  w <- c(2, 1, 3, 1, 1, 2, 4)
  expect_identical(weighted_quantile(x, c(probs, 3 / 14), w, type = 1),
                   quantile(rep(x, w), c(probs, 3 / 14), names = FALSE, type = 1))
})

test_that("weights and clusters of predictive distributions", {
  for (verb in design_laws) {
    found <- expect_weights(verb)
    data <- found$data
    plain <- found$plain
    own <- verb(data, cluster = 1:120)
    same <- grepl("estimate|std.error|score|entropy|calibration|sharpness|observed", names(plain))
    expect_equal(own[same], plain[same])
    # importance weights of whole numbers give the numbers of repeated rows but for their errors
    expect_message(whole <- verb(data, weights = as.numeric(data$copies)), class = "calibrisk_message_weights")
    repeated <- verb(data[rep(1:120, data$copies), ])
    value <- intersect(c(".estimate", "mean_score", "entropy", "calibration", "sharpness", "observed"), names(plain))
    expect_equal(whole[value], repeated[value])
  }
})

test_that("weights and clusters of curves", {
  data <- design_rows_frame()
  for (curve in design_curves) {
    plain <- expect_weights(of_vectors(curve))$plain
    own <- curve(data$prob, data$y, cluster = 1:120)
    # the bandwidth of a smooth curve is chosen for fewer rows
    if (is.na(plain[[2]]$bandwidth)) expect_equal(own[[1]]$observed, plain[[1]]$observed)
    expect_lt(mean(abs(own[[1]]$conf.low - plain[[1]]$conf.low)), .02)
    clustered <- curve(data, y, prob, cluster = centre)
    width <- function(out) mean(out[[1]]$conf.high - out[[1]]$conf.low)
    expect_gt(width(clustered), width(plain))
    expect_error(suppressWarnings(curve(data$prob, data$y, cluster = rep(1, 120))), class = "calibrisk_error_rows")
  }
  binned <- ce_curve(data, y, prob, weights = share, type = curve_binned(n_bins = 5))
  bin <- ceiling(data$prob * 5)
  bin[bin == 0] <- 1
  expect_equal(tidy(binned)$observed, unname(c(rowsum(data$share * data$y, bin) / rowsum(data$share, bin))))
  expect_equal(glance(binned)$event_rate, sum(data$share * data$y) / sum(data$share))
  isotonic <- tidy(ce_curve(data, y, prob, weights = share, type = curve_isotonic(times = 20)))
  fit <- cpp_isotonic_rows(data$prob, data$y, data$share)$rows
  expect_equal(isotonic$observed, fit[match(isotonic$confidence, data$prob)])
})

test_that("limits of clustered curves hold the event frequency, those of independent rows do not", {
  skip_on_cran()
  local_no_numbers()
  found <- withr::with_seed(9, vapply(1:200, function(i) {
    centre <- rep(1:50, each = 20)
    p <- rep(stats::runif(50, .1, .9), each = 20)
    share <- stats::rbeta(50, 5 * p[20 * 1:50], 5 * (1 - p[20 * 1:50]))[centre]
    y <- stats::rbinom(1000, 1, share)
    inside <- function(...) {
      curve <- tidy(ce_curve(p, y, type = curve_binned(n_bins = 3), ...))
      truth <- curve$confidence
      c(mean(curve$conf.low <= truth & truth <= curve$conf.high),
        any(curve$observed < curve$null_band.low | curve$observed > curve$null_band.high))
    }
    # that rows as independent do worse shows in fewer samples
    c(inside(cluster = centre), if (i <= 60) inside() else c(NA, NA))
  }, numeric(4)))
  expect_gt(mean(found[1, ]), .92)
  expect_lt(mean(found[2, ]), .1)
  expect_lt(mean(found[3, ], na.rm = TRUE), .85)
  expect_gt(mean(found[4, ], na.rm = TRUE), .2)
})

test_that("weights and clusters of decision curves", {
  data <- design_rows_frame()
  for (verb in design_decisions) {
    plain <- expect_weights(of_vectors(verb))$plain
    own <- verb(data$prob, data$y, cluster = 1:120)
    same <- c("net_benefit", "treat_all", "net_benefit.std.error")
    expect_equal(own[[1]][same], plain[[1]][same])
    # two clusters: the map of each is the other's
    two <- verb(data$prob, data$y, cluster = rep(1:2, 60))
    expect_true(all(is.finite(two[[1]]$conf.low)))
    expect_error(suppressWarnings(verb(data$prob, data$y, cluster = rep(1, 120))), class = "calibrisk_error_folds")
  }
  c <- .33
  found <- verb(data, y, prob, weights = share)[[1]]
  w <- data$share / sum(data$share)
  expect_equal(found$net_benefit[3], sum(w * (data$prob >= c) * (data$y - c)) / (1 - c))
})

test_that("bins of equal mass hold all rows, however heavy one of them is", {
  data <- design_rows_frame(30)
  data$heavy <- c(1e13, data$share[-1])
  for (metric in list(ce_metric(ece, type = "mass", n_bins = 5), ce_metric(ece, type = "sweep"))) {
    found <- rlang::exec(metric$fn, data$prob, data$y, weights = data$heavy, !!!metric$options)
    expect_equal(found$.estimate, abs(data$prob[1] - data$y[1]), tolerance = 1e-10)
    expect_gte(found$std.error, 0)
  }
})

test_that("a bin that weighs next to nothing beside the others has its own gap", {
  set.seed(17)
  rows <- tibble::tibble(p = round(runif(80), 2), y = rbinom(80, 1, p), w = 10^sample(c(-20, 0, 17), 80, TRUE))
  rows$w[which.min(rows$p)] <- 1e17
  bin <- ceiling(rows$p * 10)
  gap <- vapply(split(rows, bin), function(b) abs(sum(b$w * (b$p - b$y)) / sum(b$w)), 0)
  size <- vapply(split(rows$w, bin), sum, 0)
  error <- function(p) ece(rows, y, p, n_bins = 10, p = p, weights = w, event_level = "second")$.estimate
  expect_equal(error(1), sum(size * gap) / sum(size), tolerance = 1e-12)
  expect_equal(error(Inf), max(gap), tolerance = 1e-12)
})

test_that("frequencies that would make too many rows are an error that says how many", {
  p <- c(.2, .4, .6, .8)
  y <- c(0, 1, 0, 1)
  for (metric in list(function(...) ce_fit(..., method = method_bins(2)), function(...) ckce(..., times = 2))) {
    expect_error(metric(p, y, weights = rep(20000000L, 4)), "They sum to 80,000,000, in 4 rows",
                 class = "calibrisk_error_size")
  }
  expect_error(ckce(p, y, times = 2, weights = rep(20000000L, 4)), "ce_state[(][)]", class = "calibrisk_error_weights")
  expect_identical(suppressMessages(ece(p, y, weights = c(1e8, 2e8, 1e8, 2e8)))$n, 4L)
})

test_that("one cluster has no standard error, and a warning says so once", {
  p <- seq(.1, .9, length.out = 40)
  y <- rep(0:1, 20)
  one <- rep("a", 40)
  for (verb in list(ece, rbs, ckce, ce_score, ce_estimate, ks_error)) {
    expect_warning(found <- verb(p, y, cluster = one), "two clusters or more", class = "calibrisk_warning_cluster")
    expect_true(is.na(found$std.error))
  }
  expect_warning(skce(pred_normal(p, 1), p, cluster = rep(1:2, 20)), NA)
  expect_warning(ece(p, y, cluster = rep(1:2, 20)), NA)
  said <- function(code) length(testthat::capture_warnings(code))
  expect_identical(said(ce_compare(list(a = p, b = p^2), y, metric = rbs, cluster = one)), 1L)
  groups <- data.frame(p, y, centre = rep(1:4, 10))
  expect_identical(said(rbs(groups, y, p, cluster = centre, .by = centre)), 1L)
  expect_match(testthat::capture_warnings(ce_decompose(groups, y, p, .by = centre)), "^In group \"centre = 1\": The dec")
  # the clusters of a state come in chunks
  expect_identical(said(update(ce_state(), p, y, cluster = one)), 0L)
})

test_that("every verb that takes outcomes has weights and clusters", {
  exports <- mget(getNamespaceExports("calibrisk"), asNamespace("calibrisk"), mode = "function",
                  ifnotfound = list(NULL))
  exports$update.ce_state <- get("update.ce_state", asNamespace("calibrisk"))
  arguments <- lapply(Filter(is.function, exports), function(fn) names(formals(fn)))
  arguments <- Filter(function(names) "truth" %in% names, arguments)
  lacking <- vapply(arguments, function(names) !all(c("weights", "cluster") %in% names), NA)
  # a pilot, whose study has clusters of its own
  expect_identical(names(arguments)[lacking], "assume_pilot")
})

test_that("weights whose products are no doubles are an error that says so", {
  x <- c(.2, .4, .6, .9)
  for (weight in c(1e200, 1e-200)) {
    cnd <- expect_error(ece(x, c(0, 1, 0, 1), weights = c(1, 2, .5, weight)), class = "calibrisk_error_size")
    expect_match(conditionMessage(cnd), "Row 4 has the weight.*ratios")
    expect_error(update(ce_state(), x, c(0, 1, 0, 1), weights = c(1, 2, .5, weight)), class = "calibrisk_error_weights")
  }
  expect_false(is.na(ce_estimate(x, c(0, 1, 0, 1), weights = c(1e50, 0, 1, 1e-50))$conf.high))
})

test_that("sums over clusters are those of rowsum(), in the order of the clusters", {
  rows <- withr::with_seed(31,
                           list(x = matrix(rnorm(180), 60), w = rexp(60), cluster = sample(rep(1:13, length.out = 60))))
  by_hand <- unname(rowsum(rows$w * rows$x, rows$cluster, reorder = TRUE))
  expect_equal(sum_by_cluster(rows$w * rows$x, rows$cluster), by_hand, tolerance = 1e-14)
  # labels that are none would be written outside of the sums
  expect_error(cpp_cluster_sums(matrix(1:2 / 2), c(1L, 3L), 2L), "labels are 1")
  expect_error(cpp_cluster_sums(matrix(1:2 / 2), c(0L, 1L), 2L), "labels are 1")
  expect_error(cpp_cluster_sums(matrix(1:2 / 2), c(NA, 1L), 2L), "labels are 1")
  expect_error(cpp_cluster_sums(matrix(1:2 / 2), 1L, 2L), "one label per row")
})

test_that("clusters are numbered in the order of their labels, of any kind", {
  labels <- withr::with_seed(32, list(
    gaps = sample(c(3L, 7L, 8L, 40L), 50, TRUE), negative = sample(-9:4, 50, TRUE), one = rep(-5L, 3),
    wide = c(5L, -.Machine$integer.max, .Machine$integer.max, 5L, 0L), edge = c(8L, 1L), beyond = c(9L, 1L),
    factor = factor(sample(c("z", "b", "a"), 50, TRUE), levels = c("z", "unused", "b", "a")),
    text = sample(c("b10", "b9", "A", "a"), 50, TRUE), doubles = sample(c(-.5, 1e9, 2, 1e-300), 50, TRUE),
    logical = c(TRUE, FALSE, TRUE), none = integer()
  ))
  for (kind in names(labels)) {
    expect_identical(cluster_codes(labels[[kind]]), match(labels[[kind]], sort(unique(labels[[kind]]))), info = kind)
  }
})
