numbers <- c(".estimate", "std.error", "conf.low", "conf.high")

test_that("scores of a state are those of the rows", {
  d <- inside_sample(3000, 1)
  scores <- c("brier", "log", "spherical")
  one <- ce_score(state_of(d), score = scores)
  expect_close(unlist(one[numbers]), unlist(ce_score(d$x, d$y, score = scores)[numbers]), tol$oracle)
  bound <- ce_score(state_of(d), score = "log", bound = TRUE)
  expect_close(bound$.estimate, ce_score(d$x, d$y, score = "log", bound = TRUE)$.estimate, tol$oracle)
  # below a floor the score is that of the floor
  d$x[1:60] <- 0.001
  floored <- ce_score(state_of(d), score = score_log(0.05))
  expect_close(floored$.estimate, ce_score(d$x, d$y, score = score_log(0.05))$.estimate, 1e-5)
  expect_gt(ce_score(state_of(d), score = "log")$.estimate, floored$.estimate + .001)
  # an outcome that was impossible
  d$x[1:2] <- 0
  d$y[1] <- 1
  expect_identical(ce_score(state_of(d), score = "log")$.estimate, Inf)
})

test_that("the cumulated residual of a state is that of the rows at the edges of its cells", {
  d <- inside_sample(3000, 2)
  d$x <- ceiling(100 * d$x) / 100
  one <- ks_error(state_of(d))
  rows <- ks_error(d$x, d$y)
  shown <- c(numbers, "location", "kuiper", "sigma", "p.value")
  expect_close(unlist(one[shown]), unlist(rows[shown]), tol$oracle)
  expect_identical(one$n, 3000)
  # of single probabilities with a notion, and of the top label of classes
  top <- update(ce_state(), vehicle_predictions, truth)
  whose <- function(table) c(table$notion, table$.estimator)
  expect_identical(whose(ks_error(top)), whose(ks_error(vehicle_predictions, truth)))
})

test_that("what a state cannot tell is an error that says why", {
  d <- inside_sample(100, 4)
  state <- state_of(d)
  classes <- update(ce_state(notion = "class_wise"), vehicle_predictions, truth)
  expect_error(ks_error(classes), "sums of every class", class = "calibrisk_error_unsupported")
  top <- update(ce_state(), vehicle_predictions, truth)
  expect_error(ce_score(top), "all probabilities", class = "calibrisk_error_notion")
  expect_error(ks_error(ce_state()), class = "calibrisk_error_empty")
  expect_error(ce_score(state, score = "crps"), class = "calibrisk_error_score")
  expect_error(ce_score(state, score = function(p1, y1, p2, y2) y1 - y2), class = "calibrisk_error_unsupported")
  cases <- list(truth = list(d$y), times = list(times = 50), notion = list(notion = "top_label"),
                event_level = list(event_level = "second"), weights = list(weights = d$x), na_rm = list(na_rm = FALSE),
                .by = list(.by = quote(g)))
  for (arg in names(cases)) {
    cnd <- expect_error(do.call(ks_error, c(list(state), cases[[arg]])), class = "calibrisk_error_state")
    expect_identical(cnd$arg, arg)
  }
  expect_identical(ks_error(state, notion = "binary"), ks_error(state))
})

test_that("the errors of a state's panel are those of the functions, to the last digit", {
  d <- inside_sample(2000, 9)
  shown <- c(numbers, "p.value")
  columns <- function(table) {
    table <- as.data.frame(table)
    table[setdiff(shown, names(table))] <- NA_real_
    unname(as.matrix(table[shown]))
  }
  states <- list(state_of(d), state_of(d, weights = d$x + .5, cluster = rep(1:200, 10)),
                 state_of(d, ce_state(breaks = c(.1, .333, .5))))
  for (state in states) {
    own <- rbind(columns(rbs(state)), columns(ece(state)), columns(ece(state, p = 2)),
                 columns(ece(state, p = 2, debias = TRUE)), columns(ks_error(state)), columns(cox_calibration(state)),
                 columns(spiegelhalter(state)))
    panel <- ce_panel(state)
    expect_identical(own, columns(panel[!panel$.metric %in% c("brier", "log_loss", "oe_ratio"), ]))
    expect_identical(cox_calibration(state, level = .8)$n, rep(2000, 4))
  }
  # of which the result says how good they are
  expect_match(attr(cox_calibration(states[[1]]), "design"), "^Cox's regression: error of the cells at most 1e-")
  expect_match(attr(ks_error(states[[1]]), "design"), "at most .* more in between[.]$")
  expect_null(attr(rbs(states[[1]]), "design"))
})

test_that("classical errors of a state are those of the rows", {
  d <- inside_sample(3000, 10)
  same <- function(one, rows, tolerance, shown = intersect(c(numbers, "p.value", "corrected"), names(rows))) {
    expect_close(unlist(one[shown]), unlist(rows[shown]), tolerance)
  }
  state <- state_of(d)
  same(rbs(state), rbs(d$x, d$y), tol$oracle)
  same(spiegelhalter(state), spiegelhalter(d$x, d$y), tol$oracle)
  same(cox_calibration(state), cox_calibration(d$x, d$y), tol$fixture)
  for (p in c(1, 2, Inf)) {
    # folds of lower limits are those of the state
    same(ece(state, n_bins = c(5, 10, 25), p = p), ece(d$x, d$y, n_bins = c(5, 10, 25), p = p), tol$oracle,
         c(".estimate", "std.error", "conf.high", "n_bins"))
  }
  # predictions of 0 and 1 have infinite logits, unless they are raised
  d$x[1:50] <- rep(c(0, 1), 25)
  state <- state_of(d)
  expect_error(cox_calibration(state), "strictly between 0 and 1", class = "calibrisk_error_logit")
  same(cox_calibration(state, floor = .02), cox_calibration(d$x, d$y, floor = .02), tol$fixture)
  slope <- function(validation) tidy(validation)$estimate[tidy(validation)$term == "slope"]
  expect_close(slope(ce_validate(state, floor = .02, times = 0)), slope(ce_validate(d$x, d$y, floor = .02, times = 0)),
               tol$fixture)
})

test_that("what cuts a state's predictions must be an edge of its cells", {
  state <- state_of(inside_sample(300, 11))
  cases <- list(n_bins = function() ece(state, n_bins = c(10, 12)),
                floor = function() cox_calibration(state, floor = 1e-6),
                floor = function() ce_validate(state, floor = .003),
                thresholds = function() ce_validate(state, thresholds = .123))
  for (arg in names(cases)) {
    cnd <- expect_error(cases[[arg]](), "cut at edges of its cells", class = "calibrisk_error_state")
    expect_identical(cnd$arg, arg)
  }
  expect_identical(ece(update(ce_state(n_bins = 12), .5, 1), n_bins = 12)$n_bins, 12)
  expect_error(ece(state, type = "mass"), "types than \"width\"", class = "calibrisk_error_unsupported")
  expect_error(ece(state, preset = "netcal"), class = "calibrisk_error_unsupported")
})

test_that("the validation of a state is that of the rows", {
  d <- inside_sample(6000, 6)
  state <- state_of(d)
  one <- ce_validate(state, times = 40, delta = 0.5)
  rows <- ce_validate(d$x, d$y, times = 40, delta = 0.5)
  terms <- c("oe_ratio", "in_the_large", "intercept", "slope", "joint", "brier", "scaled_brier", "log_loss",
             "net_benefit(0.1)", "net_benefit(0.5)")
  shown <- c("estimate", "std.error", "conf.low", "conf.high", "p.value")
  pick <- function(validation, terms) unlist(tidy(validation)[match(terms, tidy(validation)$term), shown])
  expect_close(pick(one, terms), pick(rows, terms), 1e-6)
  expect_identical(tidy(one)$term, tidy(rows)$term)
  near <- function(term, share) {
    a <- tidy(one)[tidy(one)$term == term, ]
    b <- tidy(rows)[tidy(rows)$term == term, ]
    expect_lt(abs(a$estimate - b$estimate), share * b$std.error)
    expect_lt(abs(log(a$std.error / b$std.error)), 0.5)
  }
  near("auroc", 0.1)
  for (term in c("ici", "eci")) near(term, 0.5)
  error <- ce_estimate(state)
  own <- tidy(one)[tidy(one)$term == "calibration_error", ]
  expect_identical(c(own$estimate, own$conf.low, own$conf.high), c(error$estimate, error$conf.low, error$conf.high))
  expect_equal(glance(one)[c("n", "events")], glance(rows)[c("n", "events")], tolerance = 0)
  expect_output(print(one), "6,000 rows")
  expect_identical(tidy(ce_validate(state, times = 40, delta = 0.5)), tidy(one))
})

test_that("the AUROC of predictions in few cells is that of the rows", {
  values <- function(p, y) {
    unlist(ce_score(state_of(list(x = p, y = y)), score = "auroc")[c(".estimate", "conf.low")]) -
      unlist(ce_score(p, y, score = "auroc")[c(".estimate", "conf.low")])
  }
  withr::with_seed(4, {
    # nodes that are rows, also of one outcome alone
    grades <- sample(c(.111, .113, .115, .117), 100, TRUE)
    expect_lt(max(abs(values(grades, rbinom(100, 1, .4)))), 1e-8)
    expect_lt(max(abs(values(sample(c(.02, .3, .301), 100, TRUE), rbinom(100, 1, .2)))), 1e-8)
    rare <- list(stats::plogis(rnorm(5000, -4, .4)), stats::rbeta(5000, .3, 60), .11 + .009 * stats::rbeta(5000, 2, 1))
    for (p in rare) expect_lt(max(abs(values(p, rbinom(length(p), 1, p)))), .004)
    expect_lt(max(abs(values(rare[[3]], rbinom(5000, 1, .5)))), .004)
    # tied rows among others, in a cell and at its edge
    for (at in c(1 / 3, .2513, .5)) {
      p <- c(stats::runif(2000), rep(at, 500))
      expect_lt(max(abs(values(p, rbinom(2500, 1, pmin(pmax(p, .2), .8))))), .001)
    }
  })
})

test_that("the validation of a state in blocks has errors from blocks", {
  d <- inside_sample(3000, 7)
  w <- d$x + .5
  one <- ce_validate(state_of(d, weights = w, cluster = rep(1:300, 10)), times = 20)
  rows <- ce_validate(d$x, d$y, weights = w, cluster = rep(1:300, 10), times = 0)
  same <- c("oe_ratio", "brier", "net_benefit(0.5)")
  expect_close(tidy(one)$estimate[tidy(one)$term %in% same], tidy(rows)$estimate[tidy(rows)$term %in% same], 1e-9)
  expect_equal(glance(one)$events, sum(d$y))
  expect_close(glance(one)$prevalence, weighted.mean(d$y, w), 1e-9)
  expect_match(one$design, "errors from .* blocks", all = FALSE)
  expect_false(anyNA(tidy(one)$std.error[tidy(one)$term == "ici"]))
})

test_that("what the validation of a state cannot tell is an error or a note that says why", {
  d <- inside_sample(300, 8)
  state <- state_of(d)
  cnd <- expect_error(ce_validate(state, thresholds = c(.1, .123)), class = "calibrisk_error_state")
  expect_match(conditionMessage(cnd), "0.123 is not")
  expect_error(ce_validate(state, group = rep(1:2, 150)), class = "calibrisk_error_unsupported")
  expect_error(validation_curve(ce_validate(state, times = 0)), class = "calibrisk_error_unsupported")
  d$x[1:3] <- c(0, 1, 1)
  d$y[1:3] <- c(0, 1, 1)
  one <- ce_validate(state_of(d), times = 0)
  expect_true(is.na(tidy(one)$estimate[tidy(one)$term == "slope"]))
  expect_output(print(one), "strictly between 0 and 1")
})
