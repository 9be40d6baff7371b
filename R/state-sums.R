# The sums of a state, and the rows that it delivers to functions.

#' @export
by_predictions.ce_state <- function(x, fn, input) {
  rows <- !identical(input$sums, "ladder")
  if (rows && is.null(input$edges)) check_has_rows(x)
  check_state(x)
  check_state_rows(x)
  check_state_input(input, x$about$notion)
  check_state_edges(x, input$edges)
  stop_if(x$about$notion == "class_wise" && rows,
          "A class-wise state has the sums of every class, not of all together.",
          "x" = "One probability per row is read here.",
          "i" = "{.fn ce_panel} has the errors of every class and their sums.",
          class = c("unsupported", "state", "notion"), arg = "x")
  out <- fn(replace(state_predictions(x, if (rows) 1), "kept", TRUE))
  notes <- attr(out, "notes")
  attributes(out)[c("estimates", "notes")] <- NULL
  blocks <- if (in_blocks(x)) paste0(
    if (x$about$blocked) "Weighted or clustered rows" else "Classes of a row together", ": errors from ",
    count_of(used_blocks(x), "block"), "."
  )
  state_table(out, x, blocks, notes)
}

# Numbers of a state as the table of a result, with what is said of its rows.
state_table <- function(out, x, ...) {
  out <- all_rows(metric_table(out), x$follow_up[["censored"]])
  out <- name_event(out, event_label(x$about, horizon = x$about$horizon))
  attr(out, "design") <- c(followed_sentence(x), ...)
  out
}

# Those of the j-th problem; of NULL without one.
state_predictions <- function(x, j) {
  problem <- if (!is.null(j)) panel_cells(x, j)
  predictions <- new_ce_predictions(
    prob = problem$features[, 1], outcome = as.numeric(problem$labels), levels = x$about$levels, event = x$about$event,
    rows = seq_along(problem$labels), dropped = x$dropped, na = FALSE, n_input = x$n + x$dropped
  )
  predictions[c("problem", "notion", "n", "censored", "event_level")] <-
    list(problem, x$about$notion, x$n, x$follow_up[["censored"]], x$spec$event_level)
  if (!is.null(problem)) predictions$design <- problem$design
  predictions$ladder <- function(level) state_ladder(x, level)
  if (is.null(j)) return(predictions)
  predictions$log <- log_estimate(x, j)
  predictions$log$few_events <- cpp_few_events(predictions$outcome, predictions$design)
  of_outcome <- function(sums, dim) sum(sum_array(sums, dim)[1, 2, , ])
  predictions$events <- if (x$about$blocked) {
    of_outcome(x$sums[[j]]$counts, bins_dim(x$spec))
  } else {
    round(of_outcome(x$sums[[j]]$moments, moments_dim(x$spec, FALSE)))
  }
  predictions$bins <- x$spec$bins
  predictions$between <- function(value) between_text(problem, x$spec$edges, value)
  predictions
}

# Its rows were read, and are not resampled.
check_state_input <- function(input, notion) {
  quos <- c(input[c("truth", "by")], input$design[c("weights", "cluster")])
  given <- c(!vapply(quos, function(quo) rlang::quo_is_missing(quo) || rlang::quo_is_null(quo), NA),
             ... = length(input$dots) > 0, notion = !identical(input$notion %||% notion, notion),
             horizon = !is.null(input$design$horizon),
             event_level = !identical(input$event_level, "first"), na_rm = !isTRUE(input$na_rm),
             times = identical(input$interval, "bootstrap"))
  names(given)[names(given) == "by"] <- ".by"
  stop_if(any(given), "A state has read its rows, and keeps none to read or to resample.",
          "x" = "{.arg {names(given)[given]}} {?was/were} given.",
          "i" = "{.fn ce_state} and {.fn update} take what says how rows are read.", class = c("state", "argument"),
          arg = names(given)[given][1])
}

check_state_edges <- function(state, edges) {
  if (length(edges) == 0) return(invisible())
  away <- vapply(edges, function(edge) min(abs(edge - state$spec$edges)) > 1e-12, NA)
  arg <- names(edges)[away][1]
  other <- unique(signif(unname(edges[away]), 12))
  stop_if(any(away), "{.arg {arg}} of a state must cut at edges of its cells.",
          "x" = "{.val {other}} {cli::qty(length(other))}{?is/are} not.",
          "i" = "Every hundredth is one, and so are the {.arg knots}, {.arg breaks} and edges of {.arg n_bins} bins \\
                 that were given to {.fn ce_state}.", class = c("state", "argument"), arg = arg, value = other)
}
