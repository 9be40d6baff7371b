expect_panel <- function(panel, expected) {
  for (name in c(".metric", ".estimate", "std.error", "conf.low", "conf.high", "p.value")) {
    column <- unlist(lapply(expected, function(e) e[[name]] %||% rep(NA_real_, nrow(e))))
    expect_equal(panel[[name]], column, info = name)
  }
}

test_that("the panel is its functions, one by one", {
  x <- withr::with_seed(1, round(stats::runif(150, .01, .99), 2))
  y <- withr::with_seed(2, stats::rbinom(150, 1, x^2))
  out <- ce_panel(x, y, n_bins = 12) # Hosmer-Lemeshow keeps its own 10 groups
  quiet <- suppressMessages(hosmer_lemeshow(x, y))
  expected <- list(
    rbs(x, y), ece(x, y, n_bins = 12), ece(x, y, n_bins = 12, type = "mass"), ece(x, y, type = "sweep"),
    ece(x, y, n_bins = 12, p = 2), ece(x, y, n_bins = 12, p = 2, type = "mass", debias = TRUE),
    ks_error(x, y), mmce(x, y), kde_error(x, y, kernel = "triweight"), smooth_ece(x, y), ici(x, y),
    cox_calibration(x, y), spiegelhalter(x, y), quiet
  )
  expect_panel(out, expected)
  expect_equal(nrow(out), 20)
})

test_that("what has no value is NA and says why", {
  out <- ce_panel(c(0, 1, 1, .5), c(0, 1, 1, 0))
  row <- function(metric) out[out$.metric == metric, ]
  expect_true(is.na(row("cox_slope")$.estimate))
  expect_match(row("cox_slope")$detail, "infinite logits")
  expect_true(is.na(row("kde_error")$.estimate))
  expect_match(row("kde_error")$detail, "bandwidth")
  expect_match(row("spiegelhalter")$detail, "not defined")
  expect_equal(row("rbs")$.estimate, .25)
  frame <- data.frame(.pred_1 = c(.2, .6, .7, .3), y = c(0, 1, 0, 1), g = c("a", "a", "b", "b"))
  grouped <- ce_panel(frame, y, .by = g)
  expect_equal(as.vector(table(grouped$g)), c(20, 20))
})

test_that("a panel of chosen metrics has their rows, with weights, clusters, notion and level", {
  data <- withr::with_seed(1, {
    p <- stats::runif(90, .05, .95)
    data.frame(p, y = stats::rbinom(90, 1, p), w = stats::rexp(90), centre = rep(1:15, 6), site = rep(c("u", "v"), 45))
  })
  own <- function(x, truth, weights = NULL) stats::weighted.mean(abs(x - truth), weights %||% rep(1, length(x)))
  metrics <- list(ece, five = ce_metric(ece, n_bins = 5, p = 2), "skce", score_log(), absolute = own, ici,
                  cox_calibration)
  out <- ce_panel(data, y, p, metrics = metrics, level = .9, weights = w, cluster = centre)
  of <- function(fn, ...) fn(data, y, p, ..., level = .9, weights = w, cluster = centre)
  expected <- list(of(ece), of(ece, n_bins = 5, p = 2), of(skce), of(ce_score, score = "log"),
                   data.frame(.metric = "absolute", .estimate = own(data$p, data$y, data$w)), of(ici),
                   of(cox_calibration))
  expected[[2]]$.metric <- "five"
  expect_panel(out, expected)
  expect_identical(out$detail[2:3], c("n_bins = 5, p = 2", ""))
  expect_identical(unique(out$n), 90L)
  grouped <- ce_panel(data, y, p, metrics = "rbs", .by = site)
  expect_equal(grouped$.estimate, rbs(data, y, p, .by = site)$.estimate)
  three <- ce_panel(toy_probs(), toy_truth(), metrics = list(ece, "brier"), notion = "top_label")
  expect_identical(three$notion, c("top_label", "canonical"))
  # nothing stops the panel, but what is no metric
  alone <- ce_panel(.5, 1, metrics = list(skce, rbs))
  expect_identical(is.na(alone$.estimate), c(TRUE, FALSE))
  expect_match(alone$detail[1], "observations")
  expect_match(ce_panel(data, y, p, metrics = list(function(x, truth) x), weights = w)$detail, "argument `weights`")
  expect_match(ce_panel(data, y, p, metrics = list(function(x, truth) x))$detail, "one number")
  expect_error(ce_panel(data, y, p, metrics = "rmse"), class = "calibrisk_error_argument")
  expect_error(ce_panel(data, y, p, metrics = list()), class = "calibrisk_error_argument")
  expect_error(ce_panel(data, y, p, metrics = ece, n_bins = 5), "n_bins", class = "calibrisk_error_argument")
})
