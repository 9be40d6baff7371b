test_that("published values of fixtures A and B are met", {
  a <- fixture_a()
  b <- fixture_b()
  value <- function(...) ece(...)$.estimate
  # the paper sums over the classes
  summed <- function(...) value(..., notion = "class_wise", preset = "better-uncertainty-calibration")
  expect_equal(value(a$p, a$y), .09166666667, tolerance = 1e-9)
  expect_equal(value(a$p, a$y, n_bins = 5), .05833333333, tolerance = 1e-9)
  expect_equal(summed(a$p, a$y, p = 2), .2960386611, tolerance = 1e-9)
  discrete <- function(notion) vapply(1:3, function(p) value(a$p, a$y, type = "discrete", p = p, notion = notion), 0)
  expect_equal(discrete("canonical"), c(.4666666667, .378410418, .4104819869), tolerance = 1e-8)
  expect_equal(discrete("class_wise") * 3^(1 / 1:3), c(.4, .2960386611, .2953235727), tolerance = 1e-8)
  expect_equal(discrete("top_label"), c(.09166666667, .1040833, .1142354), tolerance = 1e-6)
  expect_equal(value(b$p, b$y, n_bins = c(5, 10, 15, 100)),
               c(.1320944742, .1659830000, .1829165183, .3405618094), tolerance = 1e-8)
  expect_equal(value(b$p, b$y, n_bins = c(5, 10, 15, 100), p = 2),
               c(.1423909842, .2391593206, .2300987883, .4030236084), tolerance = 1e-8)
  expect_equal(summed(b$p, b$y, n_bins = c(5, 15, 100), p = 2),
               c(.2344226026, .4254054106, .5424162017), tolerance = 1e-8)
  expect_equal(summed(b$p, b$y), .5101329012, tolerance = 1e-8)
  mass <- ece(b$p, b$y, n_bins = 5, type = "mass", p = 2)
  expect_equal(mass$power, .02345527374, tolerance = 1e-8)
  debiased <- ece(b$p, b$y, n_bins = c(5, 3), type = "mass", p = 2, debias = TRUE)
  expect_equal(debiased$power, c(-.0223780596, -.02174387885), tolerance = 1e-8)
  expect_equal(debiased$.estimate, c(0, 0))
  expect_true(all(debiased$conf.high >= 0))
})

test_that("every binning equals its definition on random data with ties", {
  for (seed in 1:12) {
    withr::with_seed(seed, {
      data <- random_classes(sample(8:60, 1), sample(2:5, 1), digits = 1 + seed %% 2)
      n_bins <- sample(1:20, 1)
      p <- sample(c(1, 1.5, 2, 3), 1)
    })
    top <- top_pair(data$p, data$y)
    power <- function(..., notion = "top_label") ece(data$p, data$y, n_bins = n_bins, notion = notion, ...)$power
    oracle <- function(bin, ...) oracle_binned(bin, top$conf, top$cor, ...)
    expect_equal(power(p = p), oracle(oracle_width_bin(top$conf, n_bins), p), tolerance = 1e-10)
    mass <- oracle_mass_bin(top$conf, n_bins)
    expect_equal(power(p = p, type = "mass"), oracle(mass, p), tolerance = 1e-10)
    expect_equal(power(p = 2, type = "mass", debias = TRUE), oracle(mass, 2, TRUE), tolerance = 1e-10)
    discrete <- ece(data$p, data$y, type = "discrete", notion = "top_label", p = p)
    expect_equal(discrete$power, oracle(top$conf, p), tolerance = 1e-10)
    sweep <- ece(data$p, data$y, type = "sweep", notion = "top_label")
    bin <- oracle_mass_bin(top$conf, oracle_sweep(top$conf, top$cor))
    expect_equal(sweep$power, oracle(bin, 1), tolerance = 1e-10)
    expect_equal(sweep$n_bins, length(unique(bin)))
    class_wise <- mean(vapply(seq_len(ncol(data$p)), function(k) {
      x <- data$p[, k]
      oracle_binned(oracle_width_bin(x, n_bins), x, as.numeric(data$y == k), p)
    }, 0))
    expect_equal(power(p = p, notion = "class_wise"), class_wise, tolerance = 1e-10)
  }
})

test_that("the sweep stays exact where bins are nearly separable", {
  x <- seq(0.01, 0.99, length.out = 60)
  y <- as.numeric(x > 0.5)
  y[c(10, 45)] <- c(1, 0)
  expect_equal(ece(x, y, type = "sweep")$n_bins, oracle_sweep(x, y))
  n <- 2e5
  x <- (seq_len(n) - 0.5) / n
  expect_equal(ece(x, x > 0.5, type = "sweep")$n_bins, n)
  y <- x > 0.5
  y[n / 2 + c(0, 1)] <- c(TRUE, FALSE)
  # one pair of rows is out of order, in the middle: as with few rows
  expect_equal(ece(x, y, type = "sweep")$n_bins, n / 2)
})

test_that("edges are right-closed multiples found by one division", {
  # 0.14 * 50 > 7 in double: ceiling() would put 7/50 with 0.15
  expect_equal(ece(c(7 / 50, 0.15), c(1, 0), n_bins = 50)$power, (1 - 7 / 50 + 0.15) / 2)
  # 23 * (1 / 30) < 23 / 30, which would leave its own bin
  expect_equal(ece(c(22.5 / 30, 23 / 30), c(0, 1), n_bins = 30)$power, abs(45.5 / 30 - 1) / 2)
  # 0 in the first bin, 1 in the last
  expect_equal(ece(c(0, 0.1), c(1, 0), n_bins = 5)$power, 0.45)
  expect_equal(ece(c(1, 0.9), c(1, 0), n_bins = 5)$power, 0.45)
})

test_that("bins that are counted in one pass are those of sorted rows, row by row", {
  x <- withr::with_seed(1, c(runif(900), rbeta(600, 4, 1), rep(c(0:15 / 15, 1:7 / 7), each = 4)))
  y <- withr::with_seed(2, as.numeric(runif(length(x)) < x^1.3))
  counted <- scalar_problem(x, y)
  sorted <- c(counted, list(sorted = sort_problem(counted)))
  order <- withr::with_seed(3, sample(length(x)))
  numbers <- function(of) {
    lapply(of$estimates, function(one) {
      list(unclass(one)[c("value", "squares", "noise", "size", "power")], one$honest$value, one$honest$squares)
    })
  }
  for (p in c(1, 2, Inf)) {
    scheme <- plain_scheme(c(1, 7, 15, 1000), "width", p, p == 2, "binary")
    expect_true(is_counted(counted, scheme) && !is_counted(sorted, scheme))
    one <- problem_ece(counted, scheme, TRUE)
    other <- problem_ece(sorted, scheme, TRUE)
    expect_equal(numbers(one), numbers(other), tolerance = 1e-11)
    expect_equal(one$n_bins, other$n_bins)
    for (b in 1:4) {
      rows <- lapply(list(one, other), function(of) {
        cbind(influence_rows(of$estimates[[b]]), influence_rows(of$estimates[[b]]$honest))
      })
      expect_equal(rows[[1]], rows[[2]], tolerance = 1e-11)
    }
    # sums of whole numbers do not depend on the order
    expect_identical(numbers(problem_ece(scalar_problem(x[order], y[order]), scheme, TRUE)), numbers(one))
    expect_equal(numbers(problem_ece(counted, scheme, FALSE)), numbers(problem_ece(sorted, scheme, FALSE)),
                 tolerance = 1e-11)
  }
})

test_that("published top-label errors are met on real networks", {
  skip_if_no_shared("data", "toplabel", "nncal-cifar100-densenet40.rds")
  data <- readRDS(shared_path("data", "toplabel", "nncal-cifar100-densenet40.rds"))
  found <- ece(data$confidence, data$pred == data$label)$.estimate
  expect_equal(round(100 * found, 2), 21.16)
})

test_that("columns, groups, missing values and order", {
  b <- fixture_b()
  frame <- data.frame(.pred_a = b$p[, 1], .pred_b = b$p[, 2], .pred_c = b$p[, 3],
                      truth = factor(letters[b$y]), half = rep(1:2, 10))
  out <- ece(frame, truth, .by = half, n_bins = c(5, 10))
  expect_named(out, c("half", ".metric", ".estimator", ".estimate", "std.error", "conf.low",
                      "conf.high", "power", "n_bins", "n", "notion", "type", "p", "debias", "interval", "level"))
  gone <- ece(replace(b$p, 3, NA), b$y, na_rm = FALSE)
  expect_true(is.na(gone$.estimate))
  expect_equal(gone$p, 1)
  binary <- ece(b$p[, 1], b$y == 1)
  expect_equal(binary$.estimator, "binary")
  two <- cbind(b$p[, 1], 1 - b$p[, 1])
  label <- 2 - (b$y == 1)
  expect_equal(ece(two, label, notion = "binary")$.estimate, binary$.estimate)
  expect_equal(ece(two, label, notion = "binary", event_level = "second")$.estimate,
               ece(1 - b$p[, 1], b$y != 1)$.estimate)
})

test_that("intervals: analytic as the influence function says, bootstrap near it", {
  data <- drawn_rows(2, stats::runif(800), function(x) x^2)
  analytic <- ece(data$p, data$y, p = 2, n_bins = 10)
  boot <- withr::with_seed(3, ece(data$p, data$y, p = 2, n_bins = 10, times = 200))
  expect_equal(boot$std.error / analytic$std.error, 1, tolerance = 0.2)
  expect_equal(boot$interval, "bootstrap")
})

test_that("wrong choices are named", {
  for (wrong in list(list(n_bins = 0), list(n_bins = 2.5), list(p = .5), list(debias = TRUE))) {
    expect_error(rlang::exec(ece, c(.2, .3), c(0, 1), !!!wrong), class = "calibrisk_error_argument")
  }
  expect_error(ece(rbind(c(.2, .8)), 1, notion = "canonical", type = "mass"), class = "calibrisk_error_argument")
})

test_that("metrics carry yardstick's class and accept its calls", {
  frame <- data.frame(.pred_a = c(.2, .7, .9), truth = c(0, 1, 1))
  for (metric in list(ece, rbs, ks_error, mmce)) {
    expect_s3_class(metric, c("prob_metric", "metric", "function"), exact = TRUE)
    expect_equal(attr(metric, "direction"), "minimize")
    direct <- metric(frame, truth, .pred_a)
    call <- rlang::call2(metric, !!!rlang::quos(
      data = frame, truth = truth, .pred_a, estimator = NULL, na_rm = TRUE, event_level = "first", case_weights = NULL
    ))
    expect_equal(rlang::eval_tidy(call), direct)
  }
  frame$copies <- c(2L, 1L, 3L)
  expect_equal(ece(frame, truth, .pred_a, case_weights = copies), ece(frame[c(1, 1, 2, 3, 3, 3), ], truth, .pred_a))
  skip_if_not_installed("yardstick")
  # not a declared dependency: it is not in Debian
  set <- getExportedValue("yardstick", "metric_set")(ece, rbs)
  expect_equal(nrow(set(frame, truth, .pred_a)), 2)
})

test_that("the sweep of weighted rows is that of the definition", {
  for (seed in 1:12) {
    data <- withr::with_seed(seed, data.frame(x = round(stats::runif(40), 1 + seed %% 2), w = stats::rexp(40)))
    data$y <- withr::with_seed(seed, stats::rbinom(40, 1, data$x))
    sorted <- sort_values(data$x, data$y, data$w)
    accuracy <- function(b) cpp_bin_table(sorted, mass_ends(sorted, b))$accuracy
    b <- 1
    while (b < 40 && all(diff(accuracy(b + 1)) > -1e-12)) b <- b + 1
    expect_equal(bin_ends(sorted, "sweep"), mass_ends(sorted, b))
    expect_equal(ece(data, y, x, type = "sweep", weights = w)$.estimate,
                 binned_power(cpp_bin_table(sorted, mass_ends(sorted, b)), 1)$power)
  }
})

test_that("an option of other bins is an error that says whose it is", {
  x <- c(.1, .2, .8, .9)
  y <- c(0, 1, 0, 1)
  refused <- function(..., says) expect_error(ece(x, y, ...), says, class = "calibrisk_error_argument")
  refused(type = "discrete", n_bins = 5, says = '`n_bins` is not an option of `type = "discrete"`')
  refused(type = "sweep", n_bins = 5, says = '`type = "width"` or `type = "mass"`')
  refused(type = "mass", min_size = 5, says = '`type = "median_variance"`')
  refused(preset = "uncertainty-calibration", type = "discrete", n_bins = 5, says = "`n_bins`")
  refused(preset = "netcal", min_size = 5, says = "`min_size`")
  refused(preset = "netcal", distance = "tv", says = "`distance` is not an option")
  expect_identical(ece(x, y, type = "discrete"), ce_metric(ece, type = "discrete")$fn(x, y, type = "discrete"))
})

test_that("a root that is 0 up to rounding has no standard error", {
  y <- rep(1:0, c(15, 35))
  for (p in c(1.5, 2, 3)) {
    error <- ece(rep(.3, 50), y, p = p)
    expect_lt(error$.estimate, 1e-15)
    expect_identical(error$std.error, NA_real_)
    expect_gt(error$conf.high, 0)
  }
  # gaps that are small are no rounding
  expect_equal(ece(rep(.3 + 1e-9, 50), y, p = 2)$.estimate, 1e-9, tolerance = 1e-6)
  expect_gt(ece(rep(.3 + 1e-9, 50), y, p = 2)$std.error, 0)
  expect_gt(ece(rep(.3, 50), y)$std.error, 0)
})

test_that("rows that all contribute the same leave room for rows of another kind", {
  certain <- ece(rep(1, 100), factor(rep(1, 100), 1:0))
  # the rate of failures that is compatible with none among 100
  unseen <- binom.test(0, 100)$conf.int[2]
  expect_equal(c(certain$conf.low, certain$conf.high), c(0, unseen), tolerance = 1e-12)
  lucky <- ece(rep(0.8, 100), factor(rep(1, 100), 1:0))
  # from below, the variance of calibrated predictions is known
  known <- 2 * stats::qnorm(.975)^2 * (.8 * .2 / 100) / 0.2
  expect_equal(c(lucky$conf.low, lucky$conf.high), 0.2 + c(-known, unseen), tolerance = 1e-12)
  squared <- rbs(rep(0.8, 100), factor(rep(1, 100), 1:0))
  expect_equal(squared$conf.low, 0.2 - unseen, tolerance = 1e-12)
  # ten patients, not a hundred
  clustered <- ece(rep(1, 100), factor(rep(1, 100), 1:0), cluster = rep(1:10, 10))
  expect_equal(clustered$conf.high, binom.test(0, 10)$conf.int[2], tolerance = 1e-12)
})

test_that("limits of debiased errors are those of a mean over pairs", {
  d <- drawn_rows(1, sample(c(.1, .3, .6), 200, TRUE), function(p) p^.7)
  found <- ece(d$p, d$y, p = 2, debias = TRUE, type = "discrete")
  e <- d$p - d$y
  n <- as.numeric(table(d$p)[as.character(d$p)])
  spread <- stats::ave(e, d$p, FUN = stats::var)
  gap <- stats::ave(e, d$p)
  # var^2 / (n (n - 1)) of each bin, as of any two rows
  noise <- 2 * sum((spread / 200)^2 / (n - 1))
  rows <- 2 * gap * (e - gap) + gap^2 - stats::ave(d$y, d$p, FUN = function(y) mean(y) * (1 - mean(y))) / (n - 1)
  known <- stats::ave(d$p, d$p) * (1 - d$p)
  by_hand <- new_estimate(found$power, rows, new_design(200), noise = noise, pairs = list(
    value = found$power, influence = rows, trace = sum(spread / n) / 200,
    known = 2 * sum((known / 200)^2 / (n - 1)), known_trace = sum(known / n) / 200
  ))
  limits <- estimate_limits(by_hand, .95)
  expect_equal(c(found$conf.low, found$conf.high), sqrt(pmax(c(limits$low, limits$high), 0)), tolerance = 1e-6)
})

test_that("own edges of bins are those of cut()", {
  d <- withr::with_seed(49, {
    p <- round(rbeta(400, 0.3, 5), 2)
    data.frame(p, y = rbinom(400, 1, p), w = sample(0:3, 400, TRUE), g = sample(c("a", "b"), 400, TRUE))
  })
  breaks <- c(0, 0.01, 0.05, 0.3, 1)
  error <- function(d, p = 1, w = rep(1, nrow(d))) {
    bin <- cut(d$p, breaks, include.lowest = TRUE)
    size <- tapply(w, bin, sum)
    gap <- tapply(w * (d$p - d$y), bin, sum) / size
    if (is.infinite(p)) max(abs(gap)) else sum(size * abs(gap)^p / sum(w), na.rm = TRUE)^(1 / p)
  }
  found <- ece(d, y, p, breaks = breaks)
  expect_equal(found$.estimate, error(d))
  expect_identical(found[c("n_bins", "type")], tibble::tibble(n_bins = 4L, type = "breaks"), ignore_attr = TRUE)
  expect_identical(ece(d, y, p, breaks = c(0.3, 0.05, 0.01)), found)
  expect_equal(ece(d, y, p, breaks = breaks, p = Inf)$.estimate, error(d, Inf))
  expect_equal(ece(d, y, p, breaks = breaks, p = 2, weights = w)$.estimate, error(d, 2, d$w))
  # intervals are those of bins of equal width at the same edges
  expect_equal(ece(d, y, p, breaks = 1:4 / 5)[4:6], ece(d, y, p, n_bins = 5)[4:6])
  state <- update(ce_state(breaks = breaks), d, y, p)
  expect_equal(ece(state, breaks = breaks)$.estimate, error(d))
  expect_error(ece(update(ce_state(), d, y, p), breaks = 0.123), class = "calibrisk_error")
  fails <- function(code, text) expect_error(code, text, class = "calibrisk_error_argument")
  fails(ece(d, y, p, breaks = breaks, n_bins = 5), "takes the place")
  fails(ece(d, y, p, breaks = breaks, type = "mass"), "takes the place")
  fails(ece(d, y, p, breaks = 2), "between 0 and 1|at most 1")
  fails(ece(d, y, p, breaks = 0:1), "edge of bins")
  fails(ece(d, y, p, breaks = 0.5, preset = "netcal"), "preset")
  fails(ece(d, y, p, breaks = 0.5, notion = "canonical"), "Whole probability vectors")
})
