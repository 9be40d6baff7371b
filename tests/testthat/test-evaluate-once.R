# How often each of the user's expressions is evaluated.
evaluations <- function(code) {
  times <- c(truth = 0, weights = 0, cluster = 0, group = 0)
  count <- function(arg, value) {
    times[arg] <<- times[arg] + 1
    value
  }
  suppressMessages(suppressWarnings(code(count)))
  times[times > 0]
}

test_that("what stands beside vectors is evaluated once, however many models read it", {
  n <- 60
  p <- stats::plogis(seq(-2, 2, length.out = n))
  models <- list(a = p, b = p^2, c = sqrt(p))
  y <- as.numeric((seq_len(n) * 0.618) %% 1 < p)
  w <- rep(c(1, 2.5), length.out = n)
  centre <- rep(1:20, 3)
  fits <- list(a = ce_fit(p, y, method = method_bins(3)), b = ce_fit(p, y, method = method_bins(5)))
  truth <- quote(count("truth", y))
  design <- rlang::exprs(weights = count("weights", w), cluster = count("cluster", centre))
  calls <- rlang::exprs(
    ce_compare = ce_compare(models, !!truth, metric = rbs, !!!design), fits = ce_compare(fits, p, !!truth, !!!design),
    ce_rank = ce_rank(models, !!truth, metric = rbs, times = 2, !!!design),
    ce_gain = ce_gain(p, p^2, !!truth, !!!design), ce_curve = ce_curve(models, !!truth, type = "binned", !!!design),
    ce_decision = ce_decision(models, !!truth, thresholds = .5, recalibration = method_bins(3), times = 100, !!!design),
    ce_validate = ce_validate(models, !!truth, times = 0, thresholds = .5, group = count("group", centre > 10), !!!design),
    state = update(ce_state(), p, !!truth, !!!design)
  )
  for (name in names(calls)) {
    times <- evaluations(function(count) eval(calls[[name]]))
    expect_true(all(times == 1) && length(times) > 2, label = paste(name, "evaluates once"))
  }
})

test_that("weights that are drawn in the call are one draw", {
  p <- seq(.1, .9, length.out = 40)
  y <- rep(0:1, 20)
  same <- withr::with_seed(1, ce_compare(list(a = p, b = p), y, metric = rbs, weights = stats::rexp(40)))
  expect_identical(same$difference, 0)
  expect_identical(same$p.value, 1)
})

test_that("whole weights of type double are told once for all models", {
  p <- seq(.1, .9, length.out = 40)
  y <- rep(0:1, 20)
  w <- rep(c(1, 2), 20)
  frame <- data.frame(p, y, w, q = p^2)
  messages <- function(code) length(testthat::capture_messages(code))
  expect_identical(messages(ce_compare(list(a = p, b = p^2), y, metric = rbs, weights = w)), 1L)
  expect_identical(messages(ce_compare(frame, y, p, q, metric = rbs, weights = w)), 1L)
  expect_identical(messages(ce_rank(list(a = p, b = p^2), y, metric = rbs, times = 1, weights = w)), 1L)
})
