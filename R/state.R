#' Mergeable summaries for data of any size
#'
#' A state reads rows chunk by chunk and keeps only sums, so the rows need not be in memory or in one place. `c()`
#' merges the states of parts of the data, such as files or days.
#'
#' @param x Rows to start with, or `NULL`: `ce_state(x, truth)` is `update(ce_state(), x, truth)`.
#' @param notion `"binary"`, `"top_label"` or `"class_wise"`; see [ce_args].
#' @param n_bins,breaks Bins of the panel: their number, of equal width, or their inner edges.
#' @param knots Values at which the bases of the main estimate may have knots; by default the edges of the cells.
#' @param grid,folds,test For `ce_tune()`: the numbers of bins to try, the number of folds, and the share of test rows.
#' @param blocks Number of blocks into which rows are grouped; see *Weights and clusters*.
#' @param object,level A `ce_state`; confidence level.
#' @param data,truth,... For `update()`: predictions, outcomes and columns as for [ce_estimate()]; `data` may also be a
#'   [ce_source()], a list of sources, or a table of a database. For `c()`: states.
#' @param event_level,weights,cluster See [ce_args]; weights and clusters in every chunk or in none.
#' @param horizon For outcomes `Surv(time, status)`: a [ce_horizon()] with the `censoring` of all rows.
#' @param id Identifier of each row, whose hash determines the fold and the block; by default that of its values.
#' @param in_database Whether a database computes the sums of its table; see [ce_source()].
#' @return A `ce_state`; its results are those of rows, and `glance()` adds `dropped`, the number of incomplete rows.
#'
#' @section Functions:
#' [ece()], [rbs()], [ks_error()], [cox_calibration()], [spiegelhalter()], [ce_score()] (of two classes), [ce_panel()],
#' [ce_estimate()], [ce_validate()] and [ce_tune()] take a state. `n_bins` of [ece()], `thresholds` and `floor` must cut
#' at edges of cells. All other functions need rows, and their error says why.
#' @section Definition:
#' The interval from 0 to 1 is cut into cells at the hundredths, the edges of the bins and the given knots. A state
#' keeps sums of the first ten Chebyshev polynomials of the position in the cell, for every cell, fold and outcome.
#' Gauss's rule turns those of a cell into up to five predictions with counts; *Notation* has what else is kept.
#' @section Weights and clusters:
#' Rows are grouped into blocks by the hash of their cluster (or `id`, or values), and numbers are those of
#' [ce_estimate()] and [ce_tune()] with `cluster = block`. Class-wise states keep blocks also for other rows. The
#' p-value comes from flips of the signs of whole blocks. For class-wise
#' calibration it can miss an error that [ce_estimate()] finds on the rows. Without `id` and `cluster`, rows with the
#' same values are in the same block; if there are many, a warning asks for an `id`.
#' @section Agreement with rows:
#' The result does not depend on the chunks, their order, or the order and grouping of merges (to 1e-12). With the same
#' knots and folds, numbers agree with those in memory to 1e-8 or better, except for the AUROC (about 1e-4, .002 for
#' rare events) and errors of smooth curves (see *Notation*). The cumulative error is computed at edges of cells only;
#' `detail` bounds how much larger it may be.
#' @section Cost:
#' About 0.3 s of processor time per million rows. A saved state takes up to 1.5 MB (class-wise, per class).
#' @order 1
#' @export
#' @examples
#' halves <- split(vehicle_predictions, seq_len(nrow(vehicle_predictions)) %% 2)
#' a <- update(ce_state(), halves[[1]], truth)
#' b <- update(ce_state(), halves[[2]], truth)
#' state <- c(a, b)
#' ce_panel(state)
#' ce_estimate(state)
#' ce_tune(state)
ce_state <- function(x = NULL, ..., notion = NULL, n_bins = 15, knots = NULL, grid = seq(5, 100, by = 5), folds = 5,
                     test = 0.2, blocks = 64, event_level = "first", breaks = NULL) {
  stop_if(rlang::is_string(x), "{.arg notion} must be given by its name.", "x" = "{.arg x} is {describe(x)}.",
          "i" = "As in {.code ce_state(notion = \"class_wise\")}.", class = "notion", arg = "x", value = x)
  check_notion(notion)
  stop_if(identical(notion, "canonical"), "Canonical calibration needs rows, of which a state keeps sums.",
          "i" = "A sample of the rows can be taken.", class = c("unsupported", "notion"), arg = "notion",
          value = notion)
  check_counts(n_bins, "n_bins", upper = 1000, size = 1L)
  check_counts(grid, "grid", upper = 1000)
  check_counts(folds, "folds", lower = 2, upper = 100, size = 1L)
  check_counts(blocks, "blocks", lower = 8, upper = 1000, size = 1L)
  breaks <- check_breaks(breaks, c(n_bins = !missing(n_bins)))
  check_numbers(knots, "knots", lower = 0, upper = 1, null = TRUE)
  knots <- check_many_edges(knots, "knots")
  stop_if(!is_share(test) || test == 0, "{.arg test} must be a share of the rows, above 0 and below 1.",
          "x" = "It is {describe(test)}.", arg = "test", value = test)
  # 15L and 15 are one choice, and so are knots in any order
  spec <- list(notion = notion, n_bins = length(breaks) + 1, bins = c(0, breaks, 1),
               grid = sort(unique(as.numeric(grid))), folds = as.numeric(folds), test = test,
               blocks = as.numeric(blocks), event_level = check_choice(event_level, c("first", "second")),
               knots = knots)
  if (is.null(breaks)) spec[c("n_bins", "bins")] <- list(as.numeric(n_bins), (0:n_bins) / n_bins)
  empty <- new_state(state_edges(spec))
  if (!is.null(x)) return(stats::update(empty, x, ...))
  check_empty(...)
  empty
}

# about: list(notion, levels, event, scalar, blocked, weights, owner), known from the first rows. follow_up: rows with
# an event by the horizon, and rows censored before it, which n does not count. sums: of every problem
new_state <- function(spec) {
  structure(list(version = state_version, spec = spec, about = NULL, n = 0, dropped = 0,
                 follow_up = c(events = 0, censored = 0), sums = list()), class = "ce_state")
}

#' @rdname ce_state
#' @export
c.ce_state <- function(...) {
  states <- list(...)
  Reduce(function(a, b) merge_states(a, b), lapply(states, check_state))
}

merge_states <- function(a, b) {
  # edges and inner, fine follow from the others
  choices <- setdiff(names(a$spec), c("edges", "inner", "fine"))
  differ <- choices[!vapply(choices, function(name) same_values(a$spec[[name]], b$spec[[name]]), NA)]
  stop_if(length(differ) > 0, "States that are merged must have the same options.",
          "x" = "They differ in {.field {differ}}.",
          "i" = "Start every part from one {.fn ce_state}: {.code empty <- ce_state()}, then \\
                 {.code update(empty, ...)}.", class = "state")
  check_same_rows(a$about, b$about)
  a$about <- a$about %||% b$about
  a$n <- a$n + b$n
  a$dropped <- a$dropped + b$dropped
  a$follow_up <- a$follow_up + b$follow_up
  a$sums <- if (length(a$sums) == 0) {
    b$sums
  } else if (length(b$sums) == 0) {
    a$sums
  } else {
    Map(function(x, y) Map(cpp_add_sums, x, y[names(x)]), a$sums, b$sums)
  }
  a
}

# Rows of two parts are of the same kind. The text "1" and the number 1 have different hashes.
check_same_rows <- function(a, b) {
  if (is.null(a) || is.null(b) || same_values(a, b)) return(invisible())
  stop_if(!identical(a$in_database, b$in_database), "States that are merged must all have sums of a database, or none.",
          class = "state")
  differs <- Find(function(name) !same_values(a[[name]], b[[name]]), c("weights", "owner", "horizon")) %||% "kind"
  given <- c(a$owner[["given"]], b$owner[["given"]])
  words <- function(x) switch(differs,
    weights = c(none = "none", frequency = "integers, which repeat rows",
                importance = "doubles, importance weights")[[x$weights]],
    owner = if (x$owner[["given"]] == "none") "none of them" else paste(x$owner[["given"]], "as", x$owner[["as"]]),
    horizon = if (is.null(x$horizon)) "no horizon" else paste0("events", horizon_text(x$horizon)),
    kind = paste0(x$notion, " with the classes ", toString(x$levels))
  )
  hint <- switch(differs,
    weights = if (!"none" %in% c(a$weights, b$weights)) "Make them `as.double()` in the source, or integers in all.",
    owner = if (given[1] == given[2]) "Columns may be read in two ways: make them `as.character()` in the source." else
      "Give the same argument for every part."
  )
  arg <- if (differs == "owner") setdiff(given, "none")[1] else if (differs != "kind") differs
  stop_input("All rows of a state must be of one kind, with the same arguments.",
             "x" = "One part has {words(a)}, the other {words(b)}.", "i" = if (!is.null(hint)) "{hint}",
             class = c("state", setdiff(differs, "kind")), arg = arg)
}
