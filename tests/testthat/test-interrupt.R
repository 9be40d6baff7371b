# Somebody who presses the key at a step of the progress bar: the verb ends there, and R and the package go on.

# Runs `code` with a progress callback that is interrupted at step `at` (never: Inf); returns the number of steps.
interrupted_at <- function(at, code) {
  steps <- 0
  callback <- function(fraction) {
    steps <<- steps + 1
    if (steps == at) rlang::interrupt()
  }
  stand_ins <- list(
    with_bar = function(label, fn) fn(callback), progress_callback = function(name, env = NULL) callback
  )
  local_stand_ins(stand_ins)
  outcome <- tryCatch({
    force(code)
    "done"
  }, interrupt = function(cnd) "interrupted")
  list(outcome = outcome, steps = steps)
}

rows <- withr::with_seed(1, {
  probs <- matrix(stats::rexp(900), 300)
  list(p = probs / rowSums(probs), y = sample(3, 300, TRUE))
})

few <- withr::with_seed(3, {
  list(law = pred_normal(stats::rnorm(60), 1), draws = pred_draws(matrix(stats::rnorm(1200), 60)), y = stats::rnorm(60))
})

long_verbs <- list(
  skce = function() skce(rows$p, rows$y),
  test = function() ce_test(rows$p, rows$y, test = test_bootstrap(times = 200)),
  ckce = function() ckce(rows$p, rows$y, ridge = ridge_loo(c(0.1, 1))),
  rank = function() ce_rank(list(a = rows$p, b = (rows$p + 1 / 3) / 2), rows$y, times = 4, n_sub = 100),
  fit = function() ce_fit(rows$p, rows$y, notion = "canonical", method = method_kkr(0.01)),
  tune = function() {
    glance(ce_tune(rows$p, rows$y, notion = "canonical", methods = list(method_kde(c(0.1, 0.2)), method_ukkr(0.1))))
  },
  read = function() update(ce_state(), ce_source(data.frame(p = rows$p[, 1], y = rows$y == 1), rows = 50), y, p),
  blocks = function() skce(rows$p, rows$y, type = "block"),
  pairs = function() skce(rows$p[1:99, ], rows$y[1:99], kernel = "ckce"),
  laws = function() ckce(few$law, few$y, ridge = 0.1, times = 0),
  draws = function() skce(few$draws, few$y, kernel = kernel_mmd(1)),
  redrawn = function() ce_test(few$law, few$y, test = test_conditional(times = 99)),
  redrawn_draws = function() ce_test(few$draws, few$y, test = test_conditional(times = 19)),
  functions = function() {
    h <- method_function(function(p, q) outer(p[, 1], q[, 1]))
    glance(ce_tune(rows$p[, 1], as.numeric(rows$y == 1), methods = list(h)))
  }
)

test_that("an interrupt at a step of the progress ends a verb, and leaves nothing behind", {
  for (name in names(long_verbs)) {
    verb <- function() withr::with_seed(2, long_verbs[[name]]())
    before <- verb()
    whole <- interrupted_at(Inf, verb())
    expect_identical(whole$outcome, "done", info = name)
    expect_gt(whole$steps, 0)
    for (at in unique(c(1, ceiling(whole$steps / 2), whole$steps))) {
      expect_identical(interrupted_at(at, verb()), list(outcome = "interrupted", steps = at), info = name)
    }
    expect_equal(verb(), before, tolerance = tol$law, info = name)
  }
})

test_that("every check, and every call of the core, sees a time limit that has passed", {
  x <- withr::with_seed(5, stats::runif(1e6))
  calls <- list(check_interrupt, function() cpp_pair_risk(diag(2), diag(2), NULL, 1L))
  for (k in 1:4) {
    # R looks at the clock at most every 50 ms
    Sys.sleep(0.06)
    outcome <- tryCatch({
      setTimeLimit(elapsed = 0.001)
      sort(x)
      calls[[1 + k %% 2]]()
      "not stopped"
    }, error = conditionMessage, finally = setTimeLimit())
    expect_match(outcome, "time limit", info = k)
  }
})

test_that("a time limit ends the curve of many rows, and the fit of a map, soon after it is reached", {
  skip_on_cran()
  on.exit(setTimeLimit())
  d <- drawn_rows(41, runif(1e6))
  many <- function(map, times) {
    p <- rows$p[rep(1:300, times), ]
    y <- max.col(p / stats::rexp(length(p)))
    function() ce_recalibrate(p, y, method = map)
  }
  calls <- list(function() ce_curve(d$p, d$y), function() ce_curve(d$p, d$y, type = "isotonic"),
                function() ce_curve(d$p, d$y, type = "binned"), many("vector", 1000), many("diag", 100))
  # of processor time: other jobs slow the processor down as well
  took <- function(call) sum(system.time(call())[1:2])
  for (k in seq_along(calls)) {
    limit <- took(calls[[k]]) / 3
    stopped <- function() {
      setTimeLimit(cpu = limit)
      expect_error(calls[[k]](), "time limit", info = k)
      setTimeLimit()
    }
    expect_lt(min(replicate(2, took(stopped))) - limit, 0.4)
  }
})
