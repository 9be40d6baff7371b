local_forks <- function(env = parent.frame()) {
  skip_on_cran()
  skip_if_not_installed("future.apply")
  skip_if_not(future::supportsMulticore())
  old <- future::plan(future::multicore, workers = 2)
  withr::defer(future::plan(old), env)
}

where <- function(p1, p2) {
  Sys.setenv(CALIBRISK_TEST_WORKER = Sys.getpid())
  outer(p1[, 1], p2[, 1])
}

test_that("ce_tune() has the same digits in the workers of the user's plan", {
  methods <- list(method_bins(c(5, 10)), method_kde(c(.01, .1)), method_kkr(c(.01, 1)), where = method_function(where))
  tuned <- function(notion) {
    withr::with_seed(1, ce_tune(vehicle_predictions, truth, notion = notion, methods = methods[1:3], threads = 1))
  }
  for (notion in c("top_label", "class_wise")) {
    alone <- tuned(notion)
    local({
      local_forks()
      expect_true(has_workers())
      expect_equal(tuned(notion), alone, tolerance = 0)
    })
    expect_false(has_workers())
  }
  # and is not computed here
  local_forks()
  withr::local_envvar(CALIBRISK_TEST_WORKER = "nobody")
  ce_tune(vehicle_predictions, truth, notion = "top_label", methods = methods[c(1, 4)], threads = 1)
  expect_identical(Sys.getenv("CALIBRISK_TEST_WORKER"), "nobody")
})

test_that("ce_rank() has the same digits where each model has a worker", {
  p <- as.matrix(vehicle_predictions[startsWith(names(vehicle_predictions), ".pred_")])
  flat <- sqrt(p) / rowSums(sqrt(p))
  ranked <- function() {
    withr::with_seed(1, ce_rank(list(a = p, b = flat, c = (p + flat) / 2), vehicle_predictions$truth,
                                metric = list("ckce", "ece_canonical", "brier", own = function(p, y) mean(p[, 1])), trials = 5,
                                n_sub = 60, threads = 1))
  }
  alone <- ranked()
  local_forks()
  expect_equal(ranked(), alone, tolerance = 0)
})

test_that("errors of jobs are theirs, and a lost worker is a classed error", {
  local_forks()
  tuned <- function(f) {
    ce_tune(vehicle_predictions, truth, notion = "top_label", methods = list(method_bins(5), method_function(f)),
            threads = 1)
  }
  expect_error(tuned(function(...) stop("own")), "own", class = "calibrisk_error_function")
  cnd <- expect_error(suppressWarnings(tuned(function(...) tools::pskill(Sys.getpid(), 9))),
                      class = "calibrisk_error_worker")
  expect_match(conditionMessage(cnd), "future::plan")
  state <- update(ce_state(), vehicle_predictions, truth)
  was <- unserialize(serialize(state, NULL))
  killer <- function() tools::pskill(Sys.getpid(), 9)
  expect_error(suppressWarnings(update(state, list(ce_source(vehicle_predictions), ce_source(killer)), truth)),
               class = "calibrisk_error_worker")
  expect_identical(state, was)
})
