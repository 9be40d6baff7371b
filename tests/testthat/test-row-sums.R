# Arguments that a function needs beside predictions and outcomes.
more_arguments <- list(
  ce_compare = list(metric = ece), ce_fit = list(method = method_bins(5)), ce_recalibrate = list(method = "platt")
)

# The call of an exported function with `x` as its predictions (and `truth`); NULL of functions that take no data.
call_on <- function(name, x, ..., fit) {
  fn <- get(name, asNamespace("calibrisk"))
  if (!"truth" %in% names(formals(fn)) || name == "score_parts") return(NULL)
  first <- switch(name, ce_risk = list(fit, x), ce_gain = list(x, x), list(x))
  # by its name, which the error says
  function() do.call(name, c(first, list(...), more_arguments[[name]]))
}

# Why a function needs rows, as its error says it. cli takes longer for it than most calls.
reason_text <- function(name) {
  if (!name %in% names(row_reasons)) return("none")
  if (is.null(reason_texts[[name]])) reason_texts[[name]] <- cli::ansi_strip(cli::format_inline(row_reasons[[name]][1]))
  reason_texts[[name]]
}
reason_texts <- new.env()

# What a call gave: "result", "needs rows" where it said why its function does, or the error.
outcome_of <- function(call, name) {
  reason <- reason_text(name)
  tryCatch({
    suppressMessages(suppressWarnings(call()))
    "result"
  }, calibrisk_error = function(cnd) {
    text <- gsub("\\s+", " ", conditionMessage(cnd))
    if (inherits(cnd, "calibrisk_error_unsupported") && grepl(reason, text, fixed = TRUE)) "needs rows" else text
  }, error = function(cnd) paste("no error of calibrisk:", conditionMessage(cnd)))
}

# All others read states and tables.
needs_rows <- setdiff(names(row_reasons), "ece")

test_that("every function with outcomes reads a state, or says why it needs rows", {
  d <- inside_sample(300, 3)
  classes <- vehicle_predictions
  states <- list(
    independent = state_of(d), blocks = state_of(d, weights = d$x, cluster = rep(1:60, 5)),
    classes = update(ce_state(notion = "class_wise"), classes, truth)
  )
  fit <- ce_fit(d$x, d$y, method = method_bins(5))
  exported <- sort(getNamespaceExports("calibrisk"))
  expect_true(all(names(row_reasons) %in% exported))
  for (name in exported) {
    reads <- !name %in% needs_rows
    for (kind in names(states)) {
      call <- call_on(name, states[[kind]], fit = fit)
      if (is.null(call)) next
      found <- outcome_of(call, name)
      if (reads && !grepl("^A class-wise state", found)) expect_identical(found, "result", info = paste(name, kind))
      if (!reads && name != "ce_compare") expect_identical(found, "needs rows", info = paste(name, kind))
      # the outcomes are in the state
      call <- call_on(name, states[[kind]], d$y, fit = fit)
      if (reads) expect_match(outcome_of(call, name), "truth. was given", info = name)
      if (!reads) expect_identical(outcome_of(call, name), "needs rows", info = paste(name, kind))
    }
  }
})

test_that("every function with outcomes reads a table of a database, as its rows in memory", {
  d <- inside_sample(300, 3)
  rows <- data.frame(p = d$x, y = as.integer(d$y))
  table <- write_table(local_database(), "d", rows)
  fit <- ce_fit(d$x, d$y, method = method_bins(5))
  apart <- c("ce_gain", "ce_rank")
  value <- function(call) {
    out <- suppressMessages(suppressWarnings(with_seed_kept(1, call())))
    if (inherits(out, "htest")) out$data.name <- NULL
    out
  }
  for (name in setdiff(sort(getNamespaceExports("calibrisk")), c(apart, "ce_report"))) {
    there <- call_on(name, table, quote(y), quote(p), fit = fit)
    if (is.null(there) || name == "ce_compare") next
    here <- call_on(name, rows, quote(y), quote(p), fit = fit)
    if (outcome_of(here, name) != "result") next
    expect_equal(value(there), value(here), info = name)
  }
  # rows of other predictions are found by their order
  for (verb in list(ce_rank, function(...) ce_compare(..., metric = ece))) {
    expect_error(verb(list(table, table), d$y), "no order", class = "calibrisk_error_unsupported")
  }
  expect_error(ce_gain(table, table, y, p), "no order", class = "calibrisk_error_unsupported")
  local_stand_ins(list(most_table_rows = 100))
  for (name in setdiff(needs_rows,
                       c(apart, "ce_optimism", "ce_compare", "ce_report", "ce_moments", "ce_recalibrate"))) {
    expect_match(outcome_of(call_on(name, table, quote(y), quote(p), fit = fit), name), "at most 100 rows", info = name)
  }
})

test_that("a function that needs rows names the one that does not", {
  d <- inside_sample(300, 3)
  expect_error(ce_test(state_of(d)), "redraws the outcomes of rows.*`ce_estimate\\(\\)` has a test")
})

test_that("a state among models, or after them, is an error that says which", {
  d <- inside_sample(300, 3)
  models <- list(a = d$x, b = state_of(d))
  for (verb in list(ce_rank, function(...) ce_compare(..., metric = ece))) {
    cnd <- expect_error(verb(models, d$y), class = "calibrisk_error_unsupported")
    expect_match(conditionMessage(cnd), "In model .b.")
  }
  cnd <- expect_error(ce_gain(d$x, state_of(d), d$y), class = "calibrisk_error_unsupported")
  expect_identical(cnd$arg, "after")
  expect_error(ce_moments(d$x), class = "calibrisk_error_truth")
})
