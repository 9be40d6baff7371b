#' Sums of rows that merge: calibration of any number of rows
#'
#' A state takes rows chunk by chunk and keeps sums only. States of parts of the data (files, machines, days) are added
#' up by `c()`. The sums give the main estimate of [ce_estimate()], a panel of classical errors and the table of
#' [ce_tune()]: rows need not be in one place, nor in memory. The arguments of `ce_state()` fix what
#' is kept; states with the same ones can be merged.
#'
#' @param notion `"binary"`, `"top_label"`, `"class_wise"` (sums per class) or `"canonical"` (for `ce_tune()` alone); by
#'   default `"binary"` for a single probability and for two classes, else `"top_label"`.
#' @param n_bins,breaks The panel's bins: a number of bins of equal width, or the inner edges of the bins. The edges may
#'   be quantiles of the predictions of a first part of the rows (quantiles of all rows give the bins of [ece()] with
#'   `"mass"`).
#' @param knots Values at which the bases of the main estimate may have knots, such as quantiles of the predictions of a
#'   first part of the rows; by default the edges of the cells.
#' @param grid,folds,test For Algorithm 1: numbers of bins, folds, and the share of test rows.
#' @param blocks Number of blocks, for rows that are weighted or clustered, class-wise and canonical.
#' @param event_level With two classes, which level of `truth` is the event.
#' @param landmarks,kernel For canonical states. `landmarks`: a matrix of up to 40 rows of probabilities (a column per
#'   class), or the number of rows to take from the first chunk. `kernel`: the kernel of kkr and ukkr; with bandwidth
#'   `"median"` the median is over the landmarks (or the first chunk).
#' @param object A `ce_state`.
#' @param data,truth,... Of `update()`: as `x`, `truth` and the columns of [ce_estimate()], or for `data` a
#'   [ce_source()] or a list of sources; of `c()`: states.
#'   Incomplete rows are left out and counted.
#' @param weights,cluster See [ece()]; integers repeat rows. In every chunk or in none.
#' @param horizon For outcomes `Surv(time, status)`: [ce_horizon()] with `censoring`, the follow-up of all rows.
#' @param id Identifies a row (a column, or a vector): folds and blocks are those of its hash. By default the hash of
#'   the predictions and the outcome.
#' @param level Confidence level.
#' @return `ce_state()`, `update()` and `c()`: a `ce_state`, the arguments are not changed.
#'   `ce_panel(state)`: the table of [ce_panel()] (class-wise also `class`, `NA` for sums over the classes);
#'   `tidy()` gives it as a plain tibble.
#'   `ce_estimate(state)`: its row, and with the incomplete rows, `dropped`, `glance()`.
#'   `ce_tune(state)`: a [ce_tune()] of bins, kernel ridge and two-step kernel ridge, with tables, figures and
#'   predictions as of rows in memory.
#'
#' @section Definition:
#' The interval from 0 to 1 is cut into cells \eqn{c} (hundredths, the bins' edges, given knots, and halved octaves down
#' to \eqn{2^{-20}} towards both ends). With \eqn{u \in [-1, 1]} the place of a prediction in its cell and Chebyshev's
#' polynomials \eqn{T_k}, a state keeps \eqn{\sum T_k(u_i)}, \eqn{k < 10}, over the rows of every cell, fold and
#' outcome. Gauss's rule turns the sums of a cell into at most five predictions with counts. They are the rows
#' themselves if there are no more distinct ones; otherwise they have the same sum of every polynomial of degree below
#' 10. Results that are defined for repeated rows are computed on them, since residuals and their functions are smooth
#' in the prediction given the outcome. Bins of Algorithm 1, and the paired differences of its methods, have cells of
#' their own (k < 4; in blocks the sums of \eqn{w} and \eqn{w e}), and the log score has its own sums.
#'
#' Knots of the main estimate are the edges that are nearest to the quantiles which [ce_estimate()] takes.
#'
#' @section Weights and clusters:
#' Rows are put into blocks by the hash of their cluster (or `id`, or values), each with its own sums of \eqn{w
#' T_k(u)}, k < 4. The main estimate leaves whole blocks out, as [ce_estimate()] with `cluster = block` does, and the
#' panel's errors are those of the jackknife over blocks; the output says so. Lower limits of binned and cumulated
#' errors hold for calibrated predictions too: the differences in bins and their signs come from blocks in other folds,
#' as in [ece()]. Errors never come from chunks. If many rows show an error clearly, the limits of the main estimate are
#' wider than limits from the rows would be, as with few large clusters: more `blocks` narrow them.
#'
#' `ce_tune()` of blocks keeps them whole in its folds and test rows. A risk is the weighted mean over the pairs of rows
#' in different blocks, as in [ce_tune()] with `weights` and `cluster = block`. Two rows of a cluster are never a pair,
#' nor is a row with itself, so the risk has the same expectation as over all pairs of independent rows. Standard errors
#' of differences are those of the blocks. Without `id` and `cluster` rows of the same values are in one block, and none
#' of their pairs counts: where these are many, a warning asks for an `id`.
#'
#' Class-wise the same blocks are kept of rows without weights and clusters, beside their folds: the error of a sum over
#' classes needs all classes of a row, and a block has them. `ce_estimate()` of such a state leaves out blocks of
#' independent rows, `ce_tune()` has folds of blocks, and the panel ends with the sums over classes, whose errors are
#' the jackknife's.
#'
#' @section Canonical states:
#' The kernel is replaced by that of its landmarks \eqn{z_1, ..., z_r}: \eqn{\phi(p)'\phi(p')} with
#' \eqn{\phi(p) = T^{-1} (k(p, z_1), ..., k(p, z_r))'} and \eqn{T T'} the kernel's matrix of the landmarks, of which
#' those that are combinations of others are left out. For every block, with weights and clusters or without, a state
#' keeps \eqn{\sum w e e'}, \eqn{\sum w \phi e'} and \eqn{\sum w \phi\phi'}. These suffice for kkr and ukkr with their
#' risks of pairs in different blocks. They agree to 1e-10 with the same features in memory (kkr at a ridge
#' \eqn{\lambda} below 1e-9 to about \eqn{10^{-19} / \lambda}). There is no main estimate. Landmarks from a first chunk
#' depend on it; states that are to be merged are given a matrix.
#'
#' @section Invariants:
#' Chunks, their order, and the order and grouping of merging change nothing (1e-12: sums keep twice the digits of a
#' double). With the same knots the numbers agree with those in memory. Bins, their errors, the root Brier score,
#' Spiegelhalter's statistic and the log score agree to rounding; Algorithm 1 with the same folds, its paired
#' differences and their standard errors to 1e-10. The main estimate and Cox's regression agree up to the error of
#' Gauss's rule, about 1e-8 or less. (A knot is the edge next to a quantile; for heavily tied predictions, such as ten
#' levels, it is another one than in memory.) For blocks, bins of Algorithm 1 agree with those in memory to 1e-10, and
#' risks of kernel ridges, with two predictions in a cell of a block, to 1e-6 (relative, for ridges from 1e-5 on). The
#' cumulative error is taken at the edges of cells only, and `detail` says how much larger it may be. Rows with the same
#' values are in the same fold unless `id` tells them apart.
#'
#' @section Cost:
#' Linear in the rows, about 0.3 s of processor time per million on one thread; memory is that of a chunk. A state of
#' independent rows takes 100 to 400 kB saved, for any number of rows, and up to 1.5 MB in blocks; class-wise as much
#' per class. A canonical one of 10 classes has 0.2 MB with 10 landmarks, 0.4 MB with 20 and 1 MB with 40 (it grows with
#' the square of classes and landmarks together), and takes about 1 s of processor time per 100,000 rows.
#'
#' @section Errors:
#' `calibrisk_error_state`: states of different options, types of calibration, classes, landmarks or versions are not
#' merged; also a request for what a state does not hold. `calibrisk_error_weights` and `calibrisk_error_owner` (`id`,
#' `cluster`): given in some chunks only, or of different kinds, such as integers and fractions, numbers and text.
#' `calibrisk_error_folds`: a fold of `ce_tune()` has fewer than two rows, or two blocks with rows. Those of the rows
#' are the ones of [ce_estimate()]. A warning of class `calibrisk_warning_ties` says that many rows are in the block of
#' their values.
#' @seealso [ce_monitor()] to test calibration while rows come in.
#' @order 1
#' @export
#' @examples
#' halves <- split(vehicle_predictions, seq_len(nrow(vehicle_predictions)) %% 2)
#' a <- update(ce_state(), halves[[1]], truth)
#' b <- update(ce_state(), halves[[2]], truth)
#' state <- c(a, b)
#' state
#' ce_panel(state)
#' ce_estimate(state)
#' ce_tune(state)
ce_state <- function(notion = NULL, n_bins = 15, knots = NULL, grid = seq(5, 100, by = 5), folds = 5, test = 0.2,
                     blocks = 64, event_level = "first", landmarks = 20, kernel = kernel_gaussian(1 / sqrt(2)),
                     breaks = NULL) {
  call <- current_env()
  if (is.numeric(notion) || is.data.frame(notion)) stop_rows_as_choice(notion, "ce_state", call)
  check_notion(notion)
  canonical <- identical(notion, "canonical")
  if (canonical) {
    landmarks <- check_landmarks(landmarks, call)
    check_feature_kernel(check_kernel(kernel))
  }
  check_counts(n_bins, "n_bins", upper = 1000, size = 1L)
  check_counts(grid, "grid", upper = 1000)
  check_counts(folds, "folds", lower = 2, upper = 100, size = 1L)
  check_counts(blocks, "blocks", lower = 8, upper = 1000, size = 1L)
  breaks <- check_breaks(breaks, !missing(n_bins), call)
  check_numbers(knots, "knots", lower = 0, upper = 1, null = TRUE)
  knots <- check_many_edges(knots, "knots")
  if (!is_share(test) || test == 0) {
    stop_input(c("{.arg test} must be a share of the rows, above 0 and below 1.",
                 "x" = "It is {describe(test)}."), "argument", arg = "test", value = test)
  }
  # 15L and 15 are one choice, and so are knots in any order
  spec <- list(notion = notion, n_bins = length(breaks) + 1, bins = c(0, breaks, 1),
               grid = sort(unique(as.numeric(grid))), folds = as.numeric(folds), test = test,
               blocks = as.numeric(blocks), event_level = check_choice(event_level, c("first", "second")),
               knots = knots)
  if (is.null(breaks)) spec[c("n_bins", "bins")] <- list(as.numeric(n_bins), (0:n_bins) / n_bins)
  if (canonical) spec[c("landmarks", "kernel")] <- list(landmarks, kernel)
  new_state(state_edges(spec))
}

# about: list(notion, levels, event, scalar, blocked, weights, owner), and of canonical states landmarks and kernel,
# known from the first rows; follow_up: rows with an event by the horizon, and rows censored before it, which n does
# not count; sums: of every problem
new_state <- function(spec) {
  structure(list(version = state_version, spec = spec, about = NULL, n = 0, dropped = 0,
                 follow_up = c(events = 0, censored = 0), sums = list()), class = "ce_state")
}

# For ce_state(x, truth) and ce_monitor(x, truth).
stop_rows_as_choice <- function(notion, fn, call) {
  typed <- typed_call(call)
  line <- if (!is.null(typed)) line_text(as.call(c(quote(update), call(fn), typed$args)))
  stop_input(c(
    "{.fn {fn}} takes choices; rows are added by {.fn update}.",
    "x" = "{.arg notion} is {describe(notion)}.",
    remedy(paste("Start a", sub("ce_", "", fn), "and add the rows"), line)
  ), "notion", arg = "notion", value = notion, call = call)
}

# Version of a saved state's content.
state_version <- 8L

#' @rdname ce_state
#' @export
c.ce_state <- function(...) {
  states <- list(...)
  call <- current_env()
  Reduce(function(a, b) merge_states(a, b, call), lapply(states, check_state, call))
}

merge_states <- function(a, b, call) {
  # edges and inner, fine follow from the others
  choices <- setdiff(names(a$spec), c("edges", "inner", "fine"))
  differ <- choices[!vapply(choices, function(name) same_values(a$spec[[name]], b$spec[[name]]), NA)]
  if (length(differ) > 0) {
    stop_input(c("States that are merged must have the same options.", "x" = "They differ in {.field {differ}}.",
                 "i" = "Start every part from one {.fn ce_state}: {.code empty <- ce_state()}, then \\
                        {.code update(empty, ...)}."),
               "state", call = call)
  }
  check_same_rows(a$about, b$about, call)
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

# Rows of two parts are of the same kind.
check_same_rows <- function(a, b, call) {
  if (is.null(a) || is.null(b) || same_values(a, b)) return(invisible())
  check_same_weights(a$weights, b$weights, call)
  check_same_owners(a$owner, b$owner, call)
  if (!same_values(a$horizon, b$horizon)) {
    stop_input(c(
      "All rows of a state must have one horizon.",
      "x" = "One part has {describe(a$horizon)}, the other {describe(b$horizon)}."
    ), c("state", "horizon"), arg = "horizon", call = call)
  }
  if (same_values(a[names(a) != "landmarks"], b[names(b) != "landmarks"])) {
    stop_input(c(
      "Canonical states that are merged must have the same landmarks.",
      "x" = "They took theirs from different first rows.",
      "i" = "Give {.arg landmarks} in {.fn ce_state}: a matrix of rows of probabilities."
    ), c("state", "landmarks"), call = call)
  }
  stop_input(c(
    "All rows of a state must be of one kind.",
    "x" = "One part is {.val {a$notion}} with the classes {.val {a$levels}}, the other {.val {b$notion}} with \\
           {.val {b$levels}}."
  ), "state", call = call)
}

check_same_weights <- function(a, b, call) {
  if (a == b) return(invisible())
  words <- c(none = "none", frequency = "integers, which repeat rows", importance = "doubles, importance weights")
  stop_input(c(
    "{.arg weights} must be of one kind for all rows of a state.",
    "x" = "One part has {words[[a]]}, the other {words[[b]]}.",
    "i" = if ("none" %in% c(a, b)) {
      "Give them for all rows or for none; weights of 1 count as weights."
    } else {
      "Make them {.fn as.double} (or {.fn hardhat::importance_weights}) in the source, or integers in all parts."
    }
  ), c("state", "weights"), arg = "weights", call = call)
}

# The text "1" and the number 1 have different hashes.
check_same_owners <- function(a, b, call) {
  if (identical(a, b)) return(invisible())
  words <- function(x) if (x[["given"]] == "none") "none of them" else paste(x[["given"]], "as", x[["as"]])
  stop_input(c(
    "{.arg id} or {.arg cluster} must be given for all rows of a state or for none, and be of one type.",
    "x" = "One part has {words(a)}, the other {words(b)}.",
    "i" = if (a[["given"]] == b[["given"]]) {
      "Files may differ in what a column is read as: make it {.fn as.character} in the source."
    } else {
      "Give the same argument for every part."
    }
  ), c("state", "owner"), arg = setdiff(c(a[["given"]], b[["given"]]), "none")[1], call = call)
}

check_state <- function(x, call = caller_env()) {
  if (!inherits(x, "ce_state")) {
    stop_input(c("All that is merged with a state must be a {.cls ce_state}.", "x" = "One is {.cls {class(x)[1]}}.",
                 "i" = "{.code update(state, data, truth)} adds rows."), c("state", "argument"), call = call)
  }
  check_state_version(x, call)
  check_object(x, "state", call)
}

# Before its fields, which other versions have in another way.
check_state_version <- function(x, call) {
  if (!identical(.subset2(x, "version"), state_version)) {
    stop_input(c(
      "The state must be of this version of the package.",
      "x" = "It is of version {describe(.subset2(x, 'version'))}, not {.val {state_version}}.",
      "i" = "Update and merge it with the version that made it, or make it anew."
    ), c("state", "version"), call = call)
  }
}
