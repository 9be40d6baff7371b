# States that a file or another process hands over.

saved <- local({
  withr::local_seed(3)
  p <- runif(60)
  probs <- matrix(rexp(180), 60)
  list(p = p, y = rbinom(60, 1, p), w = rexp(60), probs = probs / rowSums(probs), truth = sample.int(3, 60, TRUE))
})

small_state <- function(..., spec = list()) {
  update(do.call(ce_state, utils::modifyList(list(grid = c(5, 10), folds = 2, blocks = 16), spec)), ...)
}

every_state <- function() {
  with(saved, list(
    binary = small_state(p, y), weighted = small_state(p, y, weights = w, cluster = rep(1:12, 5)),
    classes = small_state(probs, truth, spec = list(notion = "class_wise"))
  ))
}

test_that("sums of another size, or that no rows have, are refused by every function of a state", {
  with(saved, {
    state <- small_state(p, y)
    moments <- state$sums[[1]]$moments
    changes <- list(moments[, 0], moments[-1, ], rbind(moments, moments), as.character(moments), NULL, c(moments),
                    replace(moments, 1, NaN), replace(moments, 1:10, -1), replace(moments, 2, 1e18))
    for (change in changes) {
      broken <- state
      broken$sums[[1]]["moments"] <- list(change)
      for (use in list(function(s) update(s, p, y), function(s) c(s, state), function(s) c(state, s), ce_panel,
                       ce_estimate, ce_tune, tidy, glance, function(s) capture.output(print(s)))) {
        expect_error(use(broken), class = "calibrisk_error_core")
      }
    }
    heavy <- small_state(p, y, weights = 1e50 * w / max(w))
    expect_identical(check_state(heavy), heavy)
  })
})

test_that("the sums of a state are of its rows", {
  states <- every_state()
  for (kind in names(states)) {
    state <- states[[kind]]
    expect_identical(check_state(state), state)
    for (n in list(7, 0, -1, 60.5, Inf, NA)) {
      expect_error(print(replace(state, "n", n)), class = "calibrisk_error_core", info = paste(kind, n))
    }
    last <- length(state$sums)
    for (name in setdiff(names(state$sums[[last]]), c("squares", "cross"))) {
      broken <- state
      broken$sums[[last]][[name]] <- 0 * broken$sums[[last]][[name]]
      expect_error(tidy(broken), class = "calibrisk_error_core", info = paste(kind, name))
    }
    expect_error(tidy(replace(state, "sums", list(state$sums[-1]))), class = "calibrisk_error_core", info = kind)
  }
  # rows without sums
  expect_error(update(replace(ce_state(), "n", 7), saved$p, saved$y), class = "calibrisk_error_core")
})

test_that("scores are squares of weights and residuals", {
  for (state in every_state()[2:3]) {
    scores <- state$sums[[1]]$scores
    broken <- state
    broken$sums[[1]]$scores <- -scores
    expect_error(tidy(broken), "below 0", class = "calibrisk_error_core")
  }
  weighted <- every_state()$weighted
  scores <- weighted$sums[[1]]$scores
  last <- nrow(scores) - length(score_sums) * 0:15
  for (values in list(scores[last, 1] * 1e6, 0)) {
    broken <- weighted
    broken$sums[[1]]$scores[last, 1] <- values
    expect_error(ce_estimate(broken), "`scores` has", class = "calibrisk_error_core")
  }
  squares <- weighted$sums[[1]]$squares
  weighted$sums[[1]]$squares[] <- replace(0 * squares, 1, sum(squares))
  expect_error(tidy(weighted), "of the same rows", class = "calibrisk_error_state")
})

test_that("sums of another spec are refused", {
  with(saved, {
    state <- small_state(p, y)
    changes <- list(folds = 1005, n_bins = 16, knots = 0.123, grid = 7, edges = rev(state$spec$edges), inner = NULL,
                    fine = rep(state$spec$fine, 2), bins = c(0, 0.123, 1))
    for (i in seq_along(changes)) {
      broken <- state
      broken$spec[names(changes)[i]] <- changes[i]
      expect_error(update(broken, p, y), class = "calibrisk_error", info = names(changes)[i])
    }
    broken <- small_state(p, y, weights = w)
    broken$spec$blocks <- 32
    expect_error(update(broken, p, y, weights = w), "`moments` has another size", class = "calibrisk_error_core")
    other <- small_state(p, y, spec = list(knots = 0.123))
    other$sums <- state$sums
    expect_error(ce_estimate(other), class = "calibrisk_error_core")
  })
})

test_that("the core refuses sums, parts and edges that do not fit", {
  sums <- matrix(0, 4 * 2 * 3, 2)
  add <- function(sums, part = 0L, y = 1L, m = 4L, x = 0.5) cpp_add_moments(sums, c(0, 0.3, 0.7, 1), m, x, y, part, 1)
  expect_identical(add(sums)[(1 * 2 + 1) * 4 + 1, 1], 1)
  for (broken in list(quote(add(sums, 1L)), quote(add(sums, -1L)), quote(add(sums, NA)), quote(add(sums, y = 2L)),
                      quote(add(sums[, 1, drop = FALSE])), quote(add(sums, m = 0L)), quote(add(sums, x = numeric())),
                      quote(cpp_add_sums(sums, sums[-1, ])), quote(cpp_add_products(sums, diag(3), 1L)),
                      quote(cpp_add_scores(sums, 0.5, 1L, 9L, 1)),
                      quote(cpp_group_rows(1, 2, 1, 2, numeric(), 4L, 2L)))) {
    expect_error(eval(broken), class = "calibrisk_error_core")
  }
})
