decision_data <- function(n = 150, seed = 1) {
  drawn_rows(seed, round(stats::rbeta(n, 1, 2), 2), function(p) plogis(0.5 * qlogis(pmin(pmax(p, 0.01), 0.99)) - 0.3))
}

test_that("the curve is that of loops over the definition", {
  d <- decision_data()
  thresholds <- c(0.05, 0.1, 0.37, 0.5, 0.9)
  found <- withr::with_seed(1, tidy(ce_decision(d$p, d$y, thresholds = thresholds, recalibration = "platt")))
  # out of fold by hand
  fold <- value_folds(matrix(d$p), d$y)
  eta <- numeric(150)
  for (f in unique(fold)) {
    map <- ce_recalibrate(d$p[fold != f], d$y[fold != f], method = "platt")
    eta[fold == f] <- predict(map, d$p[fold == f])
  }
  for (k in seq_along(thresholds)) {
    c <- thresholds[k]
    own <- lost <- numeric(150)
    for (i in 1:150) {
      own[i] <- (d$p[i] >= c) * (d$y[i] - c) / (1 - c)
      lost[i] <- ((eta[i] >= c) - (d$p[i] >= c)) * (d$y[i] - c) / (1 - c)
    }
    expect_equal(found$net_benefit[k], mean(own))
    expect_equal(found$loss[k], mean(lost))
    expect_equal(found$recalibrated[k], mean(own + lost))
    expect_equal(found$treat_all[k], mean((d$y - c) / (1 - c)))
    expect_equal(found$net_benefit.std.error[k], sd(own) / sqrt(150))
    least <- sqrt(sum(lost != 0) * c / (1 - c)) / 150
    expect_equal(found$std.error[k], max(sd(lost) / sqrt(150), least))
    expect_equal(found$conf.low[k], found$loss[k] - qnorm(0.975) * found$std.error[k])
    expect_identical(found$changed[k], sum(lost != 0))
  }
  expect_true(all(found$band.low <= found$conf.low & found$band.high >= found$conf.high))
})

test_that("the area under the loss is the squared calibration error, exactly where the truth is known", {
  # a discrete law: predictions, shares and true probabilities; the loss is constant times a line between thresholds
  p <- c(0.1, 0.2, 0.6, 0.85)
  eta <- c(0.25, 0.2, 0.45, 0.95)
  share <- c(0.3, 0.3, 0.25, 0.15)
  between <- function(c) c > pmin(p, eta) & c <= pmax(p, eta)
  integrand <- Vectorize(function(c) 2 * sum(share * abs(eta - c) * between(c)))
  ends <- sort(unique(c(0, p, eta, 1)))
  area <- sum(mapply(function(a, b) integrate(integrand, a, b, rel.tol = 1e-10)$value, ends[-length(ends)], ends[-1]))
  expect_equal(area, sum(share * (p - eta)^2))
  # rows of that law, each outcome as often as the law says: the mean of l_i is the loss
  rows <- data.frame(p = rep(p, 2), eta = rep(eta, 2), y = rep(1:0, each = 4), w = c(share * eta, share * (1 - eta)))
  problem <- scalar_problem(rows$p, rows$y)
  problem$design <- new_design(8, rows$w)
  thresholds <- c(0.05, 0.15, 0.22, 0.5, 0.9)
  found <- decision_curve(problem, rows$eta, list(thresholds = thresholds, level = 0.95, times = 100))
  expect_equal(found$curve$loss, vapply(thresholds, integrand, 0) / 2 / (1 - thresholds))
  expect_equal(found$summary$area, sum(share * (p - eta)^2))
})

test_that("sums over cells are those of all rows, and bands those of normal values with their covariance", {
  d <- decision_data(80)
  thresholds <- c(0.1, 0.2, 0.4, 0.45, 0.8)
  eta <- withr::with_seed(2, stats::runif(80))
  w <- withr::with_seed(3, stats::rexp(80))
  cluster <- rep(1:8, 10)
  settings <- list(thresholds = thresholds, level = .95, times = 20000)
  designs <- list(new_design(80), new_design(80, w), new_design(80, NULL, cluster), new_design(80, w, cluster))
  act <- function(p) outer(p, thresholds, ">=") * outer(d$y, thresholds, "-") / rep(1 - thresholds, each = 80)
  for (design in designs) {
    found <- decision_limits(d$p, cbind(eta, 1), d$y, design, settings, curve = TRUE)
    rows <- list(act(d$p), act(eta), act(eta) - act(d$p), act(rep(1, 80)) - act(d$p))
    for (j in 1:4) {
      expect_equal(found$sums[[j]]$estimate, apply(rows[[j]], 2, row_mean, design))
      error <- apply(rows[[j]], 2, cpp_row_std_error, design)
      if (j < 3) expect_equal(found$sums[[j]]$std.error, error)
      if (j > 2) expect_true(all(found$sums[[j]]$std.error >= error - 1e-12))
    }
    root <- chol(stats::cov2cor(cpp_row_covariance(rows[[2]], design)))
    largest <- apply(abs(withr::with_seed(1, matrix(stats::rnorm(5 * 20000), 20000)) %*% root), 1, max)
    df <- cpp_design_df(design)
    if (is.finite(df)) largest <- largest * withr::with_seed(2, sqrt(df / stats::rchisq(20000, df)))
    factor <- max((found$sums[[2]]$band.high - found$sums[[2]]$estimate) / found$sums[[2]]$std.error)
    expect_equal(factor, stats::quantile(largest, .95, names = FALSE), tolerance = .04)
  }
})

test_that("several models: lists, columns and groups", {
  d <- decision_data()
  frame <- data.frame(y = d$y, a = d$p, b = sqrt(d$p), site = rep(c("x", "y"), 75))
  columns <- ce_decision(frame, y, a, b, thresholds = c(0.2, 0.5))
  list <- ce_decision(list(a = frame$a, b = frame$b), frame$y, thresholds = c(0.2, 0.5))
  expect_identical(tidy(columns)$model, rep(c("a", "b"), each = 2))
  expect_equal(tidy(columns)[c("model", "threshold", "loss")], tidy(list)[c("model", "threshold", "loss")])
  grouped <- ce_decision(frame, y, a, b, thresholds = c(0.2, 0.5), .by = site)
  expect_identical(names(glance(grouped))[1:2], c("model", "site"))
  expect_identical(nrow(tidy(grouped)), 8L)
  expect_snapshot(withr::with_seed(1, print(ce_decision(frame, y, a, b))))
})

test_that("every kind of recalibration leaves the row's fold out", {
  d <- decision_data()
  for (recalibration in list(method_stack(), method_bins(5), method_ukkr(0.1), "isotonic", map_beta())) {
    before <- ce_decision(d$p, d$y, recalibration = recalibration, folds = rep(1:3, 50), thresholds = 0.3)
    expect_true(is.finite(tidy(before)$loss))
    problem <- scalar_problem(d$p, d$y)
    problem$design <- new_design(150)
    choice <- check_recalibration(recalibration)
    eta <- recalibrated_probs(problem, choice, rep(1:3, 50))
    problem$labels[4] <- 1 - d$y[4]
    problem$residuals[4] <- d$p[4] - problem$labels[4]
    changed <- recalibrated_probs(problem, choice, rep(1:3, 50))
    expect_identical(changed[4], eta[4])
    expect_false(identical(changed, eta))
  }
})

test_that("what cannot be is a classed error that says why", {
  d <- decision_data()
  run <- function(...) ce_decision(d$p, d$y, ...)
  expect_error(run(thresholds = c(0.2, 1)), "strictly between 0 and 1", class = "calibrisk_error_argument")
  expect_error(run(thresholds = 0), class = "calibrisk_error_argument")
  expect_error(run(thresholds = 1 - 1e-14), class = "calibrisk_error_argument")
  expect_error(run(thresholds = (1:2000) / 2001), "1,000", class = "calibrisk_error_argument")
  expect_error(run(recalibration = "plat"), class = "calibrisk_error_argument")
  expect_error(run(recalibration = "variance"), class = "calibrisk_error_argument")
  expect_error(run(recalibration = 3), class = "calibrisk_error_method")
  expect_error(run(recalibration = method_bins(c(5, 10))), "single value", class = "calibrisk_error_method")
  expect_error(run(recalibration = method_kkr(0.1)), "gap", class = "calibrisk_error_method")
  expect_error(run(folds = 1), class = "calibrisk_error_argument")
  expect_error(run(threshold = 0.1), "thresholds", class = "calibrisk_error_argument")
  expect_error(ce_decision(vehicle_predictions, truth), "two classes", class = "calibrisk_error_classes")
})

test_that("outcomes of one class, few rows and extreme thresholds", {
  p <- c(0.1, 0.4, 0.2, 0.7, 0.5, 0.35)
  none <- ce_decision(p, rep(0, 6))
  expect_true(all(tidy(none)$net_benefit <= 0))
  expect_output(print(none), "no event")
  expect_output(print(ce_decision(p, rep(1, 6))), "All rows are events")
  one <- ce_decision(0.3, 1, thresholds = 0.2)
  expect_equal(tidy(one)$net_benefit, 1)
  expect_true(is.na(tidy(one)$std.error))
  expect_output(print(one), "Too few rows")
  extreme <- tidy(ce_decision(p, c(0, 1, 0, 1, 1, 0), thresholds = c(1e-9, 1 - 1e-9)))
  expect_true(all(is.finite(extreme$net_benefit) & is.finite(extreme$band.high)))
  expect_equal(extreme$net_benefit, c(0.5, 0))
})

test_that("the lower ends hold for the loss itself, at all thresholds at once", {
  skip_on_cran()
  thresholds <- seq(0.05, 0.9, by = 0.05)
  settings <- list(thresholds = thresholds, level = 0.9, times = 300)
  truth <- function(p) plogis(0.6 * qlogis(p))
  grid <- stats::qbeta(stats::ppoints(20000), 1.2, 3)
  loss <- vapply(thresholds, function(c) {
    eta <- truth(grid)
    mean(abs(eta - c) * (c > pmin(grid, eta) & c <= pmax(grid, eta))) / (1 - c)
  }, 0)
  found <- withr::with_seed(4, vapply(1:120, function(i) {
    p <- stats::rbeta(300, 1.2, 3)
    problem <- scalar_problem(p, stats::rbinom(300, 1, truth(p)))
    problem$design <- new_design(300)
    eta <- recalibrated_probs(problem, map_platt(), rep(1:5, 60))
    curve <- decision_curve(problem, eta, settings)$curve
    # what this recalibration buys, given the predictions
    bought <- colMeans((outer(eta, thresholds, ">=") - outer(p, thresholds, ">=")) *
                         outer(truth(p), thresholds, "-")) / (1 - thresholds)
    c(refuted = any(curve$band.low > loss),
      outside = any(curve$band.low > bought + 1e-12 | curve$band.high < bought - 1e-12), curve$loss - loss)
  }, numeric(20)))
  expect_lt(mean(found[1, ]), 0.1)
  expect_lt(mean(found[2, ]), 0.1 + 2.5 * sqrt(0.09 / 120))
  # a lower bound in expectation
  error <- found[-(1:2), ]
  expect_true(all(rowMeans(error) < 3 * apply(error, 1, sd) / sqrt(120)))
})

test_that("the figure has the lines of every model, and leaves out what runs away", {
  skip_if_not_installed("ggplot2")
  d <- decision_data()
  frame <- data.frame(y = d$y, a = d$p, b = sqrt(d$p), site = rep(c("x", "y"), 75))
  curve <- ce_decision(frame, y, a, b, .by = site)
  rows <- decision_display(curve, c(0.1, 0.4))
  expect_identical(range(rows$threshold), c(0.1, 0.4))
  expect_identical(levels(rows$group), c("site = x", "site = y"))
  lines <- decision_lines(rows)
  # treating all is one line per group
  expect_identical(sum(lines$line == "treat all"), 62L)
  figure <- ggplot2::autoplot(curve, thresholds = c(0, 0.5))
  expect_s3_class(ggplot2::ggplot_build(figure)$plot, "ggplot")
  expect_s3_class(ggplot2::ggplotGrob(ggplot2::autoplot(curve, recalibrated = TRUE)), "gtable")
  expect_error(ggplot2::autoplot(curve, recalibrated = 1), class = "calibrisk_error_argument")
  expect_error(ggplot2::autoplot(curve, thresholds = c(0.991, 1)), class = "calibrisk_error_argument")
})

test_that("net benefit is that of ce_validate(), and the published one of the ovarian tumours", {
  d <- decision_data()
  utility <- tidy(ce_validate(d$p, d$y, thresholds = c(0.1, 0.3), times = 0))
  utility <- utility[utility$level == "utility", ]
  found <- tidy(ce_decision(d$p, d$y, thresholds = c(0.1, 0.3)))
  expect_equal(found$net_benefit, utility$estimate)
  expect_equal(found$net_benefit.conf.high, utility$conf.high)
  file <- Sys.getenv("CALIBRISK_ADNEX")
  skip_if_not(nzchar(file) && file.exists(file), "CALIBRISK_ADNEX")
  tumours <- utils::read.table(file, header = TRUE)
  found <- tidy(ce_decision(tumours$pmalwo, tumours$Outcome1))
  expect_equal(found$net_benefit[found$threshold == 0.1], 0.4427044, tolerance = 1e-6)
})

test_that("limits of the net benefit know of the rows that might act", {
  set.seed(31)
  p <- c(stats::runif(60, 0, .5), .62, .64, .85)
  y <- c(stats::rbinom(60, 1, p[1:60]), 1, 1, 1)
  found <- tidy(ce_decision(p, y, thresholds = c(.3, .6, .8, .9), recalibration = map_platt(), event_level = "second"))
  # by the limits of both shares
  wilson <- function(x) stats::prop.test(x, 63, correct = FALSE)$conf.int
  by_hand <- vapply(c(.6, .8, .9), function(c) {
    true <- sum(p >= c & y == 1)
    false <- sum(p >= c & y == 0)
    odds <- c / (1 - c)
    up <- c(wilson(true)[2] - true / 63, odds * (false / 63 - wilson(false)[1]))
    down <- c(true / 63 - wilson(true)[1], odds * (wilson(false)[2] - false / 63))
    (true - odds * false) / 63 + c(-sqrt(sum(down^2)), sqrt(sum(up^2)))
  }, c(0, 0))
  expect_equal(rbind(found$net_benefit.conf.low, found$net_benefit.conf.high)[, -1], suppressWarnings(by_hand))
  # none acts
  expect_identical(found$net_benefit[4], 0)
  expect_identical(found$net_benefit.std.error[4], NA_real_)
})

test_that("bands of the net benefit hold it, also where few act", {
  skip_on_cran()
  thresholds <- seq(.1, .9, .1)
  z <- stats::qnorm(stats::ppoints(1e5))
  risk <- stats::plogis(1.2 * z - 2)
  truth <- vapply(thresholds, function(c) mean((risk >= c) * (risk - c)) / (1 - c), 0)
  held <- withr::with_seed(11, vapply(1:30, function(i) {
    p <- sample(risk, 200)
    found <- tidy(ce_decision(p, stats::rbinom(200, 1, p), thresholds = thresholds, recalibration = map_platt(),
                              event_level = "second"))
    all(found$net_benefit.band.low <= truth & truth <= found$net_benefit.band.high)
  }, NA))
  expect_gt(mean(held), .85)
})

test_that("a prediction equal to the threshold is treated, however either was computed", {
  p <- rep(c(1 / 3, 2 / 3, 0.3, 0.7, 1 / 7), each = 20)
  y <- rep(c(1, 0, 0, 1, 0), 20)
  for (thresholds in list(unique(p), seq(0.1, 0.9, by = 0.1), c(1 - 0.7, 0.1 + 0.2))) {
    expected <- vapply(sort(unique(round(thresholds, 12))), function(c) {
      mean((p - c > -1e-9) * (y - (1 - y) * c / (1 - c)))
    }, 0)
    expect_equal(tidy(ce_decision(p, y, thresholds = thresholds, recalibration = "platt"))$net_benefit, expected)
    found <- tidy(ce_validate(p, y, thresholds = sort(unique(thresholds)), times = 0))
    found <- found$estimate[found$level == "utility"]
    expect_equal(found[!duplicated(round(sort(unique(thresholds)), 12))], expected)
  }
})

test_that("folds depend on neither the order of tied weighted rows nor the names of clusters", {
  d <- withr::with_seed(6, {
    p <- round(stats::runif(200), 1)
    list(p = p, y = stats::rbinom(200, 1, p), w = stats::rexp(200) + .1, o = sample(200), names = sample(20))
  })
  codes <- rep(1:20, 10)
  results <- function(o, cluster, ...) {
    p <- d$p[o]
    y <- d$y[o]
    curve <- ce_decision(p, y, thresholds = c(.2, .5), recalibration = "isotonic", times = 100, cluster = cluster, ...)
    c(tidy(curve)$loss, ce_gain(p, "isotonic", y, cluster = cluster, ...)$gain)
  }
  expect_equal(results(1:200, NULL, weights = d$w), results(d$o, NULL, weights = d$w[d$o]))
  expect_equal(results(1:200, codes), results(d$o, d$names[codes][d$o]))
})

test_that("rows with counts give the numbers of repeated rows in given folds", {
  d <- as.data.frame(decision_data())
  d[c("q", "count", "fold")] <- list(round(d$p^1.2, 2), rep(0:4, 30), rep(1:3, 50))
  results <- function(data, ...) {
    out <- ce_decision(data, y, p, q, thresholds = c(.2, .5), recalibration = "platt", folds = data$fold, ...)
    out[c("curve", "summary", "differences")]
  }
  expect_equal(results(d, weights = count), results(d[rep(1:150, d$count), ]))
  d$count <- d$count * 100000L
  expect_identical(ce_decision(d, y, p, weights = count)$summary$n, sum(d$count))
})

test_that("useless risks are shown to be useful in few samples, useful ones in most", {
  shown <- function(informative) {
    mean(vapply(1:60, function(i) {
      p <- stats::rbeta(300, 2, 4)
      y <- as.numeric(stats::runif(300) < if (informative) stats::plogis(1.5 * stats::qlogis(p)) else 1 / 3)
      problem <- list(features = matrix(p), labels = y, design = new_design(300))
      any(decision_curve(problem, p, list(thresholds = (2:14) / 20, level = .95, times = 200))$curve$useful)
    }, NA))
  }
  withr::with_seed(5, expect_true(shown(FALSE) <= .1 && shown(TRUE) >= .8))
})

test_that("clusters are dealt to as many folds as there can be, and one cluster to none", {
  p <- withr::with_seed(2, stats::runif(120))
  y <- withr::with_seed(3, stats::rbinom(120, 1, p))
  one <- suppressWarnings(expect_error(ce_decision(p, y, cluster = rep(1, 120)), class = "calibrisk_error_folds"))
  expect_match(conditionMessage(one), "there is 1 cluster")
  three <- ce_decision(p, y, cluster = rep(1:3, 40), thresholds = .4)
  expect_output(print(three), "in 3 folds")
  for (fn in list(ce_decision, function(...) ce_recalibrate(..., method = "platt"))) {
    expect_error(fn(p, y, cluster = rep(1:3, 40), folds = 5), "3 clusters", class = "calibrisk_error_folds")
  }
  # rows that are all the same have no error, up to rounding
  expect_identical(ce_decision(rep(.01, 100), rep(0, 100), thresholds = .005)$curve$net_benefit.std.error, NA_real_)
})
