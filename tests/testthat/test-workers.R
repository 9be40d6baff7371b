local_forks <- function(env = parent.frame()) {
  skip_on_cran()
  skip_if_not_installed("future.apply")
  skip_if_not(future::supportsMulticore())
  old <- future::plan(future::multicore, workers = 2)
  withr::defer(future::plan(old), env)
}

some_rows <- vehicle_predictions[seq(1, nrow(vehicle_predictions), 3), ]

where <- function(p1, p2) {
  Sys.setenv(CALIBRISK_TEST_WORKER = Sys.getpid())
  outer(p1[, 1], p2[, 1])
}

test_that("a job in a worker has one thread", {
  skip_if_not_installed("future.apply")
  local_stand_ins(list(has_workers = function() TRUE))
  expect_identical(with_threads(2, over_workers(1:2, function(job) thread_count())), list(1L, 1L))
})

test_that("ce_tune() is computed in the workers of the user's plan, with the same digits", {
  methods <- list(method_bins(c(5, 10)), method_kde(c(.01, .1)), method_kkr(c(.01, 1)), where = method_function(where))
  tuned <- function() {
    withr::local_envvar(CALIBRISK_TEST_WORKER = "nobody")
    out <- withr::with_seed(1, with_threads(1, ce_tune(some_rows, truth, notion = "class_wise", methods = methods)))
    # forms of a user's function hold its environment
    out$forms$where <- NULL
    list(out, here = Sys.getenv("CALIBRISK_TEST_WORKER") != "nobody")
  }
  alone <- tuned()
  expect_true(alone$here)
  local({
    local_forks()
    expect_true(has_workers())
    there <- tuned()
    expect_false(there$here)
    expect_equal(there[[1]], alone[[1]], tolerance = 0)
  })
  expect_false(has_workers())
})

test_that("fits by class, their risks, metrics of models and folds have the same digits in workers", {
  rows <- vehicle_predictions
  y <- as.numeric(rows$truth == levels(rows$truth)[1])
  p <- rows[[grep("^.pred_", names(rows))[1]]]
  columns <- data.frame(y, p, flat = sqrt(p), mid = (p + 0.5) / 2)
  all <- function() {
    methods <- list(method_bins(10), method_kde(0.1), method_ukkr(0.1))
    fits <- lapply(methods, function(method) with_threads(1, ce_fit(some_rows, truth, notion = "class_wise", method = method)))
    metrics <- lapply(list(ece, rbs, skce, ce_estimate), function(metric) {
      withr::with_seed(1, ce_compare(columns, y, p, flat, mid, metric = metric))
    })
    # of random numbers, and without an influence
    random <- lapply(list(ce_metric(ece, times = 20), "ucme"), function(metric) {
      withr::with_seed(1, ce_compare(columns, y, p, flat, mid, times = 20, metric = metric))
    })
    own <- withr::with_seed(1, ce_compare(columns, y, p, flat, mid, times = 20,
                                          metric = function(x, truth) mean(abs(x - truth)) + runif(1)))
    ranked <- withr::with_seed(1, with_threads(1, ce_rank(as.list(columns[-1]), y, times = 5, n_sub = 60, metric =
      list("ckce", "ece_canonical", "brier", own = function(p, y) mean(p)))))
    curve <- function(by) withr::with_seed(1, glance(ce_decision(columns, y, p, recalibration = by, times = 100)))
    list(lapply(fits, predict, some_rows), tibble::as_tibble(with_threads(1, ce_compare(fits, some_rows, truth))), metrics, random, own,
         ranked, curve(method_stack()), curve("platt"))
  }
  alone <- all()
  jobs <- local_copies()
  expect_equal(all(), alone, tolerance = 0)
  expect_gt(jobs(), 0)
})

test_that("classes, fits, models and folds go to the workers, but not what is alone or draws random numbers", {
  jobs <- local_copies()
  fit <- ce_fit(vehicle_predictions, truth, notion = "class_wise", method = method_bins(5))
  expect_identical(jobs(), 4)
  ce_compare(list(a = fit, b = fit), vehicle_predictions, truth)
  expect_identical(jobs(), 2)
  ce_compare(list(a = fit), vehicle_predictions, truth)
  ce_fit(vehicle_predictions, truth, notion = "top_label", method = method_bins(5))
  expect_identical(jobs(), 0)
  columns <- data.frame(y = rep(0:1, 20), a = 0.5, b = (1:40) / 41, c = 0.3)
  # the first model shows here whether its metric draws
  ce_compare(columns, y, a, b, c, metric = ece)
  expect_identical(jobs(), 2)
  withr::with_seed(1, ce_compare(columns, y, a, b, c, metric = "ucme"))
  expect_identical(jobs(), 0)
  withr::with_seed(1, ce_decision(columns, y, b, recalibration = method_bins(3), times = 100))
  expect_identical(jobs(), 5)
  # errors say of which model they are
  expect_error(ce_compare(columns, y, a, b, c, metric = ce_metric(ece, n_bins = 0)), class = "calibrisk_error_model")
})

test_that("errors of jobs are theirs, and a lost worker is a classed error", {
  local_forks()
  tuned <- function(f) {
    with_threads(1, ce_tune(some_rows, truth, notion = "top_label", methods = list(method_bins(5), method_function(f))))
  }
  expect_error(tuned(function(...) stop("own")), "own", class = "calibrisk_error_function")
  state <- update(ce_state(), some_rows, truth)
  was <- unserialize(serialize(state, NULL))
  killer <- function() tools::pskill(Sys.getpid(), 9)
  cnd <- expect_error(suppressWarnings(update(state, list(ce_source(some_rows), ce_source(killer)), truth)),
                      class = "calibrisk_error_worker")
  expect_match(conditionMessage(cnd), "future::plan")
  expect_identical(state, was)
})
