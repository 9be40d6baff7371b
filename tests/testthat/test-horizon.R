# Times with ties, for which the weights are known by hand.
surv_outcomes <- function(time, status) structure(cbind(time = time, status = status), type = "right", class = "Surv")

censoring_weights <- function(time, event, count, horizon) {
  rows <- list(time = time, event = event, count = count)
  cpp_follow_up_weights(rows, rep(1L, length(rows$time)), NULL, horizon, FALSE)$weights
}

# A result without the sentence on its rows.
unsaid <- function(x) {
  attr(x, "design") <- attr(x, "event") <- x$n <- NULL
  x
}

# Predictions, outcomes and what they are at .8.
censored_rows <- function(n, seed) {
  withr::with_seed(seed, {
    event <- stats::rexp(n)
    stop <- stats::rexp(n, .4)
    prob <- stats::plogis(stats::rnorm(n))
  })
  s <- surv_outcomes(pmin(event, stop), as.numeric(event <= stop))
  list(prob = prob, s = s, y = as.numeric(s[, "time"] <= .8),
       w = censoring_weights(s[, "time"], s[, "status"] == 1, rep(1, n), .8))
}

# Follow-up in which times, censored ones too, are at the horizon.
boundary_cases <- function() {
  withr::with_seed(11, {
    p <- stats::runif(300, .05, .6)
    event <- stats::rexp(300, -log(1 - p) / 5)
    stop <- stats::rexp(300, .1)
    site <- rep(c(TRUE, FALSE), 150)
    entry <- 2000 + round(stats::runif(300), 1)
  })
  surv <- function(stop, time = event) surv_outcomes(pmin(time, stop), as.numeric(time <= stop))
  list(p = p, s = list(
    cut = surv(rep(5, 300)), cut_after_dropout = surv(pmin(stop, 5)), one_centre = surv(pmin(stop, ifelse(site, 5, 9))),
    whole_years = surv(ceiling(pmin(stop, 5)), ceiling(event)), whole_years_on = surv(ceiling(stop), ceiling(event)),
    months = surv(ceiling(12 * pmin(stop, 5)) / 12, ceiling(12 * event) / 12),
    events_at_end = surv(pmin(stop, 6), pmin(ceiling(event), 6)),
    dates = surv((entry + 5) - entry, (entry + event) - entry)
  ))
}

test_that("weights and outcomes at the horizon are those of rttright()", {
  skip_if_not_installed("survival")
  cases <- boundary_cases()
  for (name in names(cases$s)) {
    s <- cases$s[[name]]
    data <- tibble::tibble(p = cases$p, s = survival::Surv(s[, 1], s[, 2]))
    peer <- survival::rttright(s ~ 1, data, times = 5)
    found <- suppressMessages(outcomes_at(rlang::quo(s), data, as_horizon(5)))
    w <- found$censoring$weights
    expect_equal(w / sum(w), as.vector(peer) / sum(peer), info = name)
    used <- w > 0
    y <- as.numeric(s[, 2] == 1 & s[, 1] <= 5 + 1e-9)
    expect_identical(found$values[used], y[used])
    at <- function(verb, ...) suppressMessages(verb(data, s, p, horizon = 5, ...))
    known <- function(verb, ...) verb(cases$p[used], y[used], weights = w[used], ...)
    for (number in list(function(...) cox_calibration(...)$.estimate, function(...) ce_estimate(...)$conf.high,
                        function(...) tidy(ce_curve(..., type = curve_binned(5)))$observed,
                        function(...) tidy(ce_decision(..., recalibration = "platt"))$net_benefit,
                        function(...) ce_score(...)$.estimate, function(...) ce_gain(..., after = "platt")$gain)) {
      expect_equal(at(number), known(number), info = name)
    }
  }
  # all outcomes of five-year data are known
  expect_identical(unsaid(rbs(cases$p, cases$s$cut, horizon = 5)), unsaid(rbs(cases$p, cases$s$cut[, 2])))
})

test_that("a horizon makes 0/1 outcomes with weights, in frames and beside vectors", {
  rows <- censored_rows(150, 1)
  n <- 150
  prob <- rows$prob
  s <- rows$s
  w <- rows$w
  y <- rows$y
  data <- tibble::tibble(prob, site = rep(c("a", "b"), n / 2), copies = rep(0:2, n / 3), s)
  used <- w > 0
  for (metric in design_metrics) {
    found <- suppressMessages(metric(prob, s, horizon = .8))
    expect_equal(unsaid(found), unsaid(metric(prob[used], y[used], weights = w[used])))
    expect_true(all(found$n == n))
    expect_equal(suppressMessages(metric(data, s, prob, horizon = .8)), found)
  }
  again <- rep(seq_len(n), data$copies)
  expect_equal(rbs(data, s, prob, horizon = .8, weights = copies),
               rbs(prob[again], surv_outcomes(s[again, 1], s[again, 2]), horizon = .8))
  strata <- rbs(data, s, prob, horizon = ce_horizon(.8, strata = site))
  by_hand <- stats::ave(seq_len(n), data$site, FUN = function(i) {
    censoring_weights(s[i, 1], s[i, 2] == 1, rep(1, length(i)), .8)
  })
  expect_equal(strata$power, sum(by_hand * (prob - y)^2) / sum(by_hand))
})

test_that("weighted errors are those without censoring, on average", {
  skip_on_cran()
  found <- withr::with_seed(2, vapply(1:200, function(i) {
    n <- 300
    risk <- stats::runif(n)
    event <- -1 / log(1 - risk) * stats::rexp(n) # P(T <= 1) = 1 - exp(log(1 - risk))
    stop <- stats::rexp(n, .5)
    prob <- risk^1.5
    s <- surv_outcomes(pmin(event, stop), as.numeric(event <= stop))
    c(weighted = suppressMessages(rbs(prob, s, horizon = 1))$power, known = rbs(prob, event <= 1)$power,
      left_out = rbs(prob[s[, 2] == 1 | s[, 1] > 1], (s[, 1] <= 1)[s[, 2] == 1 | s[, 1] > 1])$power)
  }, c(0, 0, 0)))
  difference <- found["weighted", ] - found["known", ]
  expect_lt(abs(mean(difference)), 3.5 * stats::sd(difference) / sqrt(200))
  biased <- found["left_out", ] - found["known", ]
  expect_gt(abs(mean(biased)), 5 * stats::sd(biased) / sqrt(200))
})

test_that("outcomes that are not followed to the horizon are classed errors", {
  s <- surv_outcomes(c(1, 2, 3, 4), c(1, 0, 1, 0))
  p <- c(.2, .4, .6, .8)
  expect_error(rbs(p, s), class = "calibrisk_error_survival")
  expect_error(rbs(p, s, horizon = 9), class = "calibrisk_error_horizon")
  expect_error(rbs(p, c(0, 1, 1, 0), horizon = 2), class = "calibrisk_error_horizon")
  # no event comes by time 0, which is none
  for (horizon in c(0, -1)) {
    expect_error(rbs(p, s, horizon = horizon), "`horizon` must be", class = "calibrisk_error_argument")
    expect_error(ce_horizon(horizon), "`time` must be", class = "calibrisk_error_argument")
  }
  expect_error(rbs(p, missing_outcomes, horizon = 2), class = "calibrisk_error_horizon")
  left <- structure(s, type = "left")
  expect_error(rbs(p, left, horizon = 2), class = "calibrisk_error_horizon")
  # a missing time is an incomplete row
  s[2, 1] <- NA
  expect_identical(suppressMessages(rbs(p, s, horizon = 2.5))$n, 3L)
  expect_output(print(ce_horizon(3)), "<ce_horizon> 3")
})

test_that("fits, risks, tunes, gains and comparisons take a horizon", {
  rows <- censored_rows(200, 3)
  d <- tibble::tibble(p = rows$prob, q = rows$prob^2, y = rows$y, w = rows$w, s = rows$s)
  known <- d[d$w > 0, ]
  fit <- ce_fit(known, y, p, weights = w, method = method_bins(5))
  verbs <- list(
    function(...) list(ce_fit(..., p, method = method_bins(5))$forms), function(...) ce_risk(fit, ..., p)["risk"],
    function(...) withr::with_seed(1, glance(ce_tune(..., p, methods = method_bins(c(2, 5))))),
    function(data, ...) ce_gain(data, transform(data, p = q), ..., p, injective = TRUE),
    function(...) ce_compare(..., p, q, metric = rbs)["difference"],
    function(...) tidy(ce_decision(..., p, q, thresholds = c(.2, .5)))[c("net_benefit", "loss")]
  )
  of <- function(...) lapply(unsaid(suppressMessages(verb(...))), c)
  for (verb in verbs) expect_equal(of(d, s, horizon = .8), of(known, y, weights = w))
  both <- function(...) suppressMessages(ce_compare(..., metric = rbs, horizon = .8))
  expect_equal(both(list(p = d$p, q = d$q), d$s), both(d, s, p, q))
})

test_that("follow-up that is given takes the place of that of the rows", {
  rows <- censored_rows(200, 5)
  follow_up <- data.frame(time = rows$s[, 1], status = rows$s[, 2])
  whole <- suppressMessages(rbs(rows$prob, rows$s, horizon = .8))
  for (given in list(follow_up, rows$s)) {
    expect_identical(rbs(rows$prob, rows$s, horizon = ce_horizon(.8, censoring = given)), whole)
  }
  # of a part of the rows
  part <- 1:60
  used <- part[rows$w[part] > 0]
  s <- surv_outcomes(rows$s[part, 1], rows$s[part, 2])
  expect_equal(unsaid(rbs(rows$prob[part], s, horizon = ce_horizon(.8, censoring = follow_up))),
               unsaid(rbs(rows$prob[used], rows$y[used], weights = rows$w[used])))
  # by strata, of rows that count unequally
  site <- rep(c("a", "b"), 100)
  follow_up <- data.frame(follow_up, strata = site, count = rep(1:4, 50))
  data <- tibble::tibble(p = rows$prob, site, k = rep(1:4, 50), s = rows$s)
  expect_equal(rbs(data, s, p, weights = k, horizon = ce_horizon(.8, site, follow_up)),
               rbs(data, s, p, weights = k, horizon = ce_horizon(.8, site)))
  expect_error(rbs(data, s, p, horizon = ce_horizon(.8, site, follow_up[site == "a", ])), "\"b\"",
               class = "calibrisk_error_horizon")
  for (wrong in list(1, follow_up["time"], follow_up[0, ], transform(follow_up, status = 2),
                     transform(follow_up, time = NA_real_))) {
    expect_error(ce_horizon(.8, censoring = wrong), "`censoring` must", class = "calibrisk_error_horizon")
  }
  expect_error(ce_horizon(.8, site, rows$s), "strata", class = "calibrisk_error_horizon")
  expect_error(rbs(rows$prob, rows$s, horizon = ce_horizon(100, censoring = rows$s)), class = "calibrisk_error_horizon")
})

test_that("a state of survival outcomes is that of the weighted rows, in chunks of any size", {
  rows <- censored_rows(900, 6)
  rows$prob <- 0.01 + 0.98 * rows$prob
  used <- which(rows$w > 0)
  empty <- ce_state(blocks = 12, folds = 3)
  horizon <- ce_horizon(.8, censoring = rows$s)
  chunks <- split(seq_len(900), rep(1:9, c(1, 99, rep(100, 5), 150, 150)))
  of_chunks <- function(weights = NULL) {
    Reduce(function(state, at) {
      s <- surv_outcomes(rows$s[at, 1], rows$s[at, 2])
      update(state, rows$prob[at], s, weights = weights[at], horizon = horizon)
    }, chunks, empty)
  }
  state <- suppressMessages(of_chunks())
  weighted <- update(empty, rows$prob[used], rows$y[used], weights = rows$w[used])
  expect_same_numbers(unsaid(ce_estimate(state)), unsaid(ce_estimate(weighted)), tol$law)
  expect_same_numbers(unsaid(ce_panel(state)), unsaid(ce_panel(weighted)), tol$law)
  # the verb in memory, whose clusters are the blocks
  block <- block_parts(value_units(list(prob = rows$prob[used], outcome = rows$y[used])), empty$spec)
  blocks <- integer(900)
  blocks[used] <- block
  memory <- suppressMessages(rbs(rows$prob, rows$s, horizon = .8, cluster = blocks))
  expect_equal(ce_panel(state)$.estimate[1], memory$.estimate, tolerance = tol$fixture)
  # who is on the page, as in memory
  n_events <- sum(rows$y[used] == 1)
  n_effective <- round(sum(rows$w[used])^2 / sum(rows$w[used]^2))
  line <- paste0("900 rows, ", n_events, " events by 0.8, ", 900 - length(used), " censored before; effective sample ",
                 "size ", n_effective, ".")
  for (one in list(ce_estimate(state), ce_tune(state), state, c(state, empty))) {
    expect_match(page_text(print(one)), line, fixed = TRUE)
  }
  # censored rows alone make no rows, but are counted
  gone <- rows$w == 0
  alone <- suppressMessages(update(empty, rows$prob[gone], surv_outcomes(rows$s[gone, 1], rows$s[gone, 2]),
                                   horizon = horizon))
  expect_identical(c(alone$n, alone$follow_up[["censored"]]), c(0, sum(gone)))
  expect_identical(c(alone, state)$follow_up, alone$follow_up + state$follow_up)
  # weights times weights, and copies
  double <- rep(c(.5, 1, 2), 300)
  both <- update(empty, rows$prob[used], rows$y[used], weights = (rows$w * double)[used])
  expect_same_numbers(unsaid(ce_estimate(of_chunks(double))), unsaid(ce_estimate(both)), tol$law)
  copies <- rep(0:2, 300)
  again <- rep(used, copies[used])
  repeated <- update(empty, rows$prob[again], rows$y[again], weights = rows$w[again])
  expect_same_numbers(unsaid(ce_estimate(of_chunks(copies))), unsaid(ce_estimate(repeated)), tol$law)
  # in a source
  data <- data.frame(p = rows$prob)
  data$s <- rows$s
  read <- update(empty, ce_source(data, rows = 200), s, p, horizon = horizon)
  expect_same_numbers(ce_estimate(read), ce_estimate(state), tol$law)
  cnd <- expect_error(update(ce_state(), rows$prob, rows$s, horizon = .8), "censoring = all",
                      class = "calibrisk_error_horizon")
  expect_error(update(state, rows$prob, rows$s, horizon = ce_horizon(.5, censoring = rows$s)), "events by",
               class = "calibrisk_error_state")
})

test_that("every result with a horizon says how many rows, events and censored ones there are", {
  rows <- censored_rows(150, 1)
  p <- rows$prob
  s <- rows$s
  left_out <- sum(rows$w == 0)
  w <- rows$w[rows$w > 0]
  fact <- paste0("150 rows, ", sum(rows$y == 1 & rows$w > 0), " events by 0.8, ", left_out,
                 " censored before; effective sample size ", round(sum(w)^2 / sum(w^2)))
  said <- function(x) gsub("[\n# ]+", " ", paste(cli::ansi_strip(utils::capture.output(print(x))), collapse = "\n"))
  at <- function(verb, ...) suppressMessages(verb(p, s, horizon = .8, ...))
  results <- c(
    lapply(list(rbs, ece, ks_error, ici, ce_panel, cox_calibration, skce, ckce, ce_score, ce_estimate, ce_test,
                ce_curve, ce_hierarchy), at),
    list(at(ce_validate, times = 0), at(ce_recalibrate, method = "platt"), at(ce_fit, method = method_bins(5)),
         at(ce_tune, methods = list(method_bins(5))), at(ce_decision),
         suppressMessages(ce_gain(p, p^2, s, horizon = .8, injective = TRUE)),
         suppressMessages(ce_rank(list(a = p, b = p^2), s, metric = rbs, horizon = .8, times = 5)),
         suppressMessages(ce_compare(list(a = p, b = p^2), s, metric = rbs, horizon = .8)))
  )
  for (result in results) {
    text <- said(result)
    expect_match(text, fact, fixed = TRUE)
    expect_length(gregexpr("censored before", text, fixed = TRUE)[[1]], 1)
  }
  # incomplete rows are not counted, those of frequency weights as often as they count
  incomplete <- replace(p, which(rows$w == 0)[1:3], NA)
  expect_match(said(suppressMessages(rbs(incomplete, s, horizon = .8))),
               paste0("147 rows, .*, ", left_out - 3, " cens"))
  twice <- suppressMessages(rbs(p, s, horizon = .8, weights = rep(2L, 150)))
  expect_match(said(twice), paste0("300 rows, .*, ", 2 * left_out, " censored before"))
  # groups; without censoring
  data <- tibble::tibble(p, site = rep(c("a", "b"), c(50, 100)), s)
  expect_match(said(suppressMessages(rbs(data, s, p, horizon = .8, .by = site))), "50 to 100 rows, ")
  expect_match(said(rbs(p, surv_outcomes(s[, 1], 1), horizon = .8)),
               "150 rows, [0-9]+ events by 0.8, none censored before")
  expect_null(attr(rbs(p, rows$y), "design"))
})

test_that("a horizon in another unit than the times is an error that says so", {
  time <- c(400, 800, 1000, 1084, 1500, 2000, 2500)
  p <- seq(.1, .7, .1)
  for (status in list(c(1, 0, 1, 1, 0, 1, 0), rep(1, 7))) {
    s <- surv_outcomes(time, status)
    expect_error(rbs(p, s, horizon = 5), "median follow-up is 1,084", class = "calibrisk_error_horizon")
    expect_error(rbs(p, s, horizon = 2600), "last time is 2500", class = "calibrisk_error_horizon")
    expect_error(ce_validate(p, s, horizon = 5), "None has by 5", class = "calibrisk_error_horizon")
    expect_identical(suppressMessages(rbs(p, s, horizon = 1200))$n, 7L)
  }
  # of a part of the rows: the follow-up of all
  s <- surv_outcomes(time, rep(1, 7))
  expect_no_error(rbs(p[6:7], surv_outcomes(time[6:7], c(1, 1)), horizon = ce_horizon(900, censoring = s)))
  # a group may have no events, and its rows may end before
  data <- tibble::tibble(p, site = rep(c("a", "b"), c(3, 4)), s)
  expect_identical(rbs(data, s, p, horizon = 1050, .by = site)$n, c(3L, 4L))
  expect_error(rbs(data, s, p, horizon = 5, .by = site), class = "calibrisk_error_horizon")
  expect_error(ce_test(data, s, p, horizon = 5, .by = site), class = "calibrisk_error_horizon")
  data$s <- surv_outcomes(time, c(1, 1, 0, 1, 0, 1, 0))
  expect_warning(found <- suppressMessages(rbs(data, s, p, horizon = 1200, .by = site)), "site = a",
                 class = "calibrisk_warning_group")
  expect_identical(is.na(found$.estimate), c(TRUE, FALSE))
})

test_that("the numbers of a group are the same by `group` and by `.by`", {
  rows <- censored_rows(400, 7)
  data <- data.frame(p = rows$prob, site = rep(c("a", "b"), 200), w = rep(c(1, 3), each = 200))
  # the sites differ in censoring
  time <- rows$s[, 1]
  stop <- withr::with_seed(8, stats::rexp(400, ifelse(data$site == "a", .1, 1)))
  data$s <- surv_outcomes(pmin(time, stop), rows$s[, 2] * (time <= stop))
  for (weights in list(rlang::quo(NULL), rlang::quo(w))) {
    validate <- function(data, ...) {
      suppressMessages(tidy(ce_validate(data, s, p, horizon = .8, times = 0, weights = !!weights, ...)))
    }
    whole <- validate(data, group = site)
    by <- validate(data, .by = site)
    for (site in c("a", "b")) {
      alone <- data[at <- which(data$site == site), ]
      alone$s <- surv_outcomes(data$s[at, 1], data$s[at, 2])
      alone <- validate(alone)
      for (term in c("oe_ratio", "calibration_error")) {
        one <- whole[whole$term == paste0(term, "(site = ", site, ")"), -(1:2)]
        expect_equal(one, by[by$site == site & by$term == term, -(1:3)])
        expect_equal(one, alone[alone$term == term, -(1:2)])
      }
    }
  }
})

test_that("a status that is a factor of one kind of event is that of 0 and 1", {
  skip_if_not_installed("survival")
  d <- withr::with_seed(1, data.frame(time = rexp(80), status = rbinom(80, 1, 0.7), p = runif(80)))
  d$state <- factor(d$status, 0:1, c("alive", "dead"))
  expect_identical(suppressMessages(ce_score(d, survival::Surv(time, state), p, score = "brier", horizon = 0.5)),
                   suppressMessages(ce_score(d, survival::Surv(time, status), p, score = "brier", horizon = 0.5)))
})

# Two causes with hazards a and b, whose cumulative incidences are known; `step`: length of the intervals of time.
competing_rows <- function(n, step = NULL) {
  a <- 0.006 * exp(0.8 * stats::rnorm(n))
  b <- 0.004 * exp(0.5 * stats::rnorm(n))
  time <- stats::rexp(n, a + b)
  cause <- ifelse(stats::runif(n) < a / (a + b), 1, 2)
  stop <- stats::rexp(n, 0.006)
  if (!is.null(step)) {
    time <- ceiling(time / step) * step
    stop <- ceiling(stop / step) * step
  }
  data.frame(time = pmin(time, stop), p = a / (a + b) * -expm1(-(a + b) * 100), site = rep_len(c("a", "b"), n),
             state = factor(ifelse(time <= stop, cause, 0), 0:2, c("none", "relapse", "death")))
}

test_that("with competing risks the observed share is the estimate of Aalen and Johansen", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  for (step in list(NULL, 20)) {
    d <- withr::with_seed(1, competing_rows(300, step))
    d$s <- Surv(d$time, d$state)
    d$half <- 0.5
    curves <- function(d) survival::survfit(s ~ 1, d)
    share <- function(d) summary(curves(d), times = 100)$pstate[1, 2:3]
    found <- function(...) vapply(c("relapse", "death"), function(cause) {
      found <- suppressMessages(ce_validate(d, s, half, horizon = ce_horizon(100, cause = cause, ...), times = 0))
      glance(found)$prevalence
    }, 0)
    expect_equal(found(), share(d), ignore_attr = TRUE)
    expect_equal(found(censoring = d$s), share(d), ignore_attr = TRUE)
    # of sites with censoring of their own
    sites <- suppressMessages(ce_curve(d, s, half, .by = site, horizon = ce_horizon(100, cause = "death")))
    expect_equal(glance(sites)$event_rate, vapply(split(d, d$site), function(d) share(d)[2], 0), ignore_attr = TRUE)
  }
  # the column of outcomes is none of predictions
  horizon <- ce_horizon(100, cause = "death")
  expect_identical(suppressMessages(rbs(setNames(d[c("p", "s")], c(".pred_event", "s")), s, horizon = horizon)),
                   suppressMessages(rbs(d$p, d$s, horizon = horizon)))
})

test_that("a perfect cumulative incidence is calibrated, and its page names the cause", {
  skip_if_not_installed("survival")
  skip_on_cran()
  Surv <- survival::Surv
  found <- withr::with_seed(2, vapply(1:60, function(i) {
    d <- competing_rows(500)
    at <- ce_horizon(100, cause = "relapse")
    v <- tidy(suppressMessages(ce_validate(d, Surv(time, state), p, horizon = at, times = 0)))
    c(log(v$estimate[v$term == "oe_ratio"]), v$p.value[v$term == "calibration_error"])
  }, c(0, 0)))
  expect_lt(abs(mean(found[1, ])), 3.5 * stats::sd(found[1, ]) / sqrt(60))
  # P(more than 9 of 60) is 0.1% at a level of 5%
  expect_lte(sum(found[2, ] < 0.05), 9)
  d <- withr::with_seed(3, competing_rows(200))
  horizon <- ce_horizon(100, cause = "relapse")
  expect_output(print(horizon), "100, cause \"relapse\"")
  fact <- paste(sum(d$state == "relapse" & d$time <= 100), "events (relapse) by 100")
  at <- function(verb, ...) suppressMessages(verb(d, Surv(time, state), p, horizon = horizon, ...))
  for (result in list(at(ce_validate, times = 0), at(ce_estimate), at(ce_curve), at(ce_decision), at(rbs))) {
    expect_match(page_text(result), fact, fixed = TRUE)
  }
  expect_match(page_text(at(ce_validate, times = 0)), "95%, events (relapse) by time 100", fixed = TRUE)
  error <- function(horizon, truth = quote(Surv(time, state))) {
    expect_error(rbs(d, !!truth, p, horizon = horizon), class = "calibrisk_error_horizon")
  }
  expect_match(conditionMessage(error(100)), "\"relapse\" and \"death\".*ce_horizon\\(100, cause = \"relapse\"\\)")
  expect_match(conditionMessage(error(ce_horizon(100, cause = "x"))), "is \"x\"; the kinds are \"relapse\"")
  expect_match(conditionMessage(error(horizon, quote(Surv(time, state != "none")))), "`truth` has one")
  early <- min(d$time[d$state == "relapse"]) / 2
  expect_match(conditionMessage(error(ce_horizon(early, cause = "relapse"))), "None of \"relapse\" has by")
  expect_error(ce_horizon(100, cause = 1), class = "calibrisk_error_argument")
  # states of two causes are not of one kind
  chunk <- function(cause) {
    horizon <- ce_horizon(100, censoring = Surv(d$time, d$state), cause = cause)
    suppressMessages(update(ce_state(), transform(d, p = order(time) / 1e4), Surv(time, state), p, horizon = horizon))
  }
  expect_match(page_text(ce_estimate(chunk("relapse"))), fact, fixed = TRUE)
  expect_error(c(chunk("relapse"), chunk("death")), "(death) by 100", fixed = TRUE, class = "calibrisk_error_state")
})

test_that("weights of late entry give the shares of the product-limit estimate, and those of censoring without it", {
  skip_if_not_installed("survival")
  d <- withr::with_seed(8, {
    d <- data.frame(entry = round(stats::rexp(900, .5), 1), event = round(stats::rexp(900, .2), 1) + .1,
                    out = round(stats::rexp(900, .05), 1), zone = rep(c("a", "b"), 450), p = stats::runif(900),
                    w = stats::rexp(900) + .1, cause = sample(2, 900, TRUE))
    d$time <- round(pmin(d$event, pmax(d$entry, 1) + d$out), 1)
    d$status <- as.numeric(round(d$event, 1) <= d$time)
    # some are at risk from the start, or early risk sets would be empty
    d$entry[1:60] <- 0
    d[d$entry < d$time - .05, ]
  })
  # the Brier score, and the share of events: that of predictions of 0
  share <- function(data, horizon, weights = NULL, truth = rlang::expr(survival::Surv(time, status))) {
    score <- function(data) ce_score(data, !!truth, p, score = "brier", horizon = horizon, weights = {{ weights }})
    suppressMessages(c(score(data)$.estimate, score(transform(data, p = 0))$.estimate))
  }
  curve <- function(formula, data, t, ...) summary(do.call(survival::survfit, list(formula, data, ...)), times = t)
  for (t in c(2, 4.3, 8)) {
    late <- survival::Surv(entry, time, status) ~ 1
    expect_equal(share(d, ce_horizon(t, entry = entry))[2], 1 - curve(late, d, t)$surv, tolerance = 1e-10)
    expect_equal(share(d, ce_horizon(t, entry = entry), w)[2], 1 - curve(late, d, t, weights = d$w)$surv,
                 tolerance = 1e-10)
    expect_equal(share(transform(d, entry = 0), ce_horizon(t, entry = entry)), share(d, t), tolerance = 1e-10)
  }
  # strata count by their rows; causes
  of <- function(data) 1 - curve(survival::Surv(entry, time, status) ~ 1, data, 4)$surv
  parts <- split(d, d$zone)
  expect_equal(share(d, ce_horizon(4, strata = zone, entry = entry))[2],
               sum(vapply(parts, of, 0) * vapply(parts, nrow, 0L)) / nrow(d), tolerance = 1e-10)
  d$kind <- factor(d$status * d$cause, 0:2, c("none", "a", "b"))
  states <- curve(survival::Surv(entry, time, kind) ~ 1, d, 4, id = seq_along(d$p))
  expect_equal(share(d, ce_horizon(4, cause = "a", entry = entry), truth = rlang::expr(survival::Surv(time, kind)))[2],
               states$pstate[2], tolerance = 1e-10)
  # the share of all, from those that were seen
  everybody <- withr::with_seed(9, data.frame(p = stats::runif(4e4)))
  everybody$event <- withr::with_seed(10, stats::rexp(4e4, -log1p(-everybody$p * .9)))
  everybody$entry <- withr::with_seed(11, stats::rexp(4e4, 2))
  everybody$status <- 1
  seen <- everybody[everybody$entry < everybody$event, ]
  seen$time <- seen$event
  truth <- mean(everybody$event <= 1)
  expect_lt(abs(share(seen, ce_horizon(1, entry = entry))[2] - truth), .015)
  expect_gt(abs(share(seen, 1)[2] - truth), .1)
  expect_error(share(transform(d, entry = time), ce_horizon(4, entry = entry)), "below the times",
               class = "calibrisk_error_horizon")
  expect_error(ce_horizon(4, entry = entry, censoring = d), "all rows are needed", class = "calibrisk_error_argument")
  expect_output(print(ce_horizon(4, entry = entry)), "late entry")
})
