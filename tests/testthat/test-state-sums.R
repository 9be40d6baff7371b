numbers <- c(".estimate", "std.error", "conf.low", "conf.high")

test_that("scores of a state are those of the rows", {
  d <- inside_sample(3000, 1)
  scores <- c("brier", "log", "spherical")
  one <- ce_score(state_of(d), score = scores)
  expect_close(unlist(one[numbers]), unlist(ce_score(d$x, d$y, score = scores)[numbers]), tol$oracle)
  bound <- ce_score(state_of(d), score = "log", bound = TRUE)
  expect_close(bound$.estimate, ce_score(d$x, d$y, score = "log", bound = TRUE)$.estimate, tol$oracle)
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
  expect_identical(ks_error(top)[c("notion", ".estimator")], ks_error(vehicle_predictions, truth)[c("notion", ".estimator")])
})

test_that("errors of a weighted state are those of its blocks, which it says", {
  d <- inside_sample(3000, 3)
  w <- d$x + .5
  for (one in list(ks_error(state_of(d, weights = w)), ce_score(state_of(d, weights = w)))) {
    expect_match(attr(one, "design"), "errors from .* blocks")
  }
  rows <- ce_score(d$x, d$y, weights = w)
  one <- ce_score(state_of(d, weights = w))
  expect_close(one$.estimate, rows$.estimate, tol$oracle)
  expect_lt(abs(log(one$std.error / rows$std.error)), 0.4)
  expect_identical(one$n, 3000)
})

test_that("what a state cannot tell is an error that says why", {
  d <- inside_sample(100, 4)
  state <- state_of(d)
  classes <- update(ce_state("class_wise"), vehicle_predictions, truth)
  expect_error(ks_error(classes), "sums of every class", class = "calibrisk_error_unsupported")
  expect_error(ce_score(update(ce_state(), vehicle_predictions, truth)), "two classes", class = "calibrisk_error_notion")
  expect_error(ks_error(ce_state()), class = "calibrisk_error_empty")
  expect_error(ce_score(state, score = "crps"), class = "calibrisk_error_score")
  cases <- list(truth = list(d$y), interval = list(interval = "bootstrap"), notion = list(notion = "binary"),
                event_level = list(event_level = "second"), weights = list(weights = d$x), na_rm = list(na_rm = FALSE),
                .by = list(.by = quote(g)))
  for (arg in names(cases)) {
    cnd <- expect_error(do.call(ks_error, c(list(state), cases[[arg]])), class = "calibrisk_error_state")
    expect_identical(cnd$arg, arg)
  }
})
