#' Mergeable summaries for data of any size
#'
#' A state reads rows chunk by chunk and keeps only sums. `c()` merges the states of parts of the data, such as files,
#' machines or days. From these sums come the main estimate of [ce_estimate()], a panel of classical errors, the tables
#' of [ce_tune()] and [ce_validate()], and what *Functions* lists, so the rows need not be in memory or in one place.
#' The arguments of `ce_state()` determine which sums are kept; states with the same arguments can be merged.
#'
#' @param notion `"binary"`, `"top_label"`, `"class_wise"` (sums per class) or `"canonical"` (for `ce_tune()` only). The
#'   default is `"binary"` for a single probability and for two classes, and `"top_label"` otherwise.
#' @param n_bins,breaks Bins of the panel: their number, for bins of equal width, or their inner edges. The edges may be
#'   quantiles of the predictions in a first part of the rows (quantiles of all rows give the bins of [ece()] with `type
#'   = "mass"`).
#' @param knots Values at which the bases of the main estimate may have knots, such as quantiles of the predictions in a
#'   first part of the rows. By default the edges of the cells; see *Definition*.
#' @param grid,folds,test For `ce_tune()`: the numbers of bins to try, the number of folds, and the share of test rows.
#' @param blocks Number of blocks into which rows are grouped if they are weighted or clustered, and for class-wise and
#'   canonical calibration; see *Weights and clusters*.
#' @param event_level For two classes: the level of `truth` that is the event, `"first"` or `"second"`.
#' @param landmarks,kernel For canonical states. `landmarks`: a matrix of up to 40 rows of probabilities (a column per
#'   class), or the number of rows to take from the first chunk. `kernel`: the kernel of [method_kkr()] and
#'   [method_ukkr()]; a bandwidth of `"median"` is the median over the landmarks (or the first chunk).
#' @param object A `ce_state`.
#' @param data,truth,... For `update()`: predictions, outcomes and columns, like `x`, `truth` and `...` of
#'   [ce_estimate()]; `data` may also be a [ce_source()] or a list of sources. Incomplete rows are left out and counted.
#'   For `c()`: states.
#' @param weights,cluster Weights and clusters of the rows, see [ece()]; integer weights are frequencies. Give them in
#'   every chunk or in none.
#' @param horizon For outcomes `Surv(time, status)`: a result of [ce_horizon()] with `censoring`, the follow-up of all
#'   rows.
#' @param id Identifier of each row (a column, or a vector), whose hash determines the fold and the block of the row. By
#'   default the hash of the predictions and the outcome is used.
#' @param level Confidence level.
#' @return `ce_state()`, `update()` and `c()` return a `ce_state`; their arguments do not change. `ce_panel(state)`
#'   returns the table of [ce_panel()], class-wise with the column `class`, `NA` for all classes: binned errors are
#'   averaged, Brier scores summed; `tidy()` returns it as a plain tibble. `ce_estimate(state)` returns a row as for
#'   data in memory; `glance()` adds `dropped`, the number of incomplete rows. `ce_tune(state)` returns a [ce_tune()] of
#'   bins, kernel ridge and two-step kernel ridge, with tables, figures and predictions as for data in memory.
#'
#' @section Functions:
#' [ece()], [rbs()], [ks_error()], [cox_calibration()] and [spiegelhalter()] of a state are rows of its panel, to the
#' last digit. They, [ce_score()] and [ce_validate()] take their own options with the state, but nothing that says how
#' rows are read. `n_bins` of [ece()] (by default the bins of the state), `thresholds` and `floor` must cut at edges of
#' cells. [ce_score()] is for two classes; [rbs()] of several classes needs `notion = "top_label"`. Where a result
#' depends on the cells, the line *Rows* of the printed table says by how much. All other functions need rows, and their
#' error says why.
#'
#' @section Definition:
#' The interval from 0 to 1 is cut into cells \eqn{c} at the hundredths, the edges of the bins, the given knots, and
#' halved octaves down to \eqn{2^{-20}} towards both ends. Let \eqn{u \in [-1, 1]} be the position of a prediction in
#' its cell, and \eqn{T_k} Chebyshev's polynomials. A state keeps \eqn{\sum T_k(u_i)}, \eqn{k < 10}, over the rows of
#' every cell, fold and outcome. Gauss's rule turns the sums of a cell into at most five predictions with counts. If a
#' cell has at most five distinct predictions, these are the rows themselves; otherwise they have the same sum of every
#' polynomial of degree below ten. Results are computed on these predictions as on repeated rows. The error is small,
#' since residuals and their functions are smooth in the prediction given the outcome. `ce_tune()` has cells of its own
#' between the edges of its bins (k < 6; in blocks, for its bins alone, the sums of \eqn{w} and \eqn{w e}), and the log
#' score has its own sums.
#'
#' The knots of the main estimate are the edges nearest to the quantiles that [ce_estimate()] uses.
#'
#' @section Weights and clusters:
#' Rows are grouped into blocks by the hash of their cluster (or `id`, or values). Each block has its own sums of \eqn{w
#' T_k(u)}, k < 4. The main estimate leaves out whole blocks, as [ce_estimate()] does with `cluster = block`, and the
#' standard errors of the panel are those with `cluster = block` too; the printed result says so. Lower limits of
#' binned and cumulative errors are valid for calibrated predictions too, because the differences in bins and their
#' signs come from blocks in other folds, as in [ece()]. Results do not depend on the chunks. If there are many rows and
#' the error is clearly above 0, the limits of the main estimate are wider than limits from the rows would be, as with
#' few large clusters. More `blocks` make them narrower.
#'
#' The p-value and the lower limit of a state in blocks come from flips of the signs of whole blocks, see *Weights and
#' clusters* of [ce_estimate()]. For class-wise calibration the rows themselves have a test of simulated labels, which
#' needs all probabilities of a row together. A state has sums of each class alone. Its test can therefore miss an error
#' that [ce_estimate()] finds on the rows; the printed result says which test it is. Other states have the test of
#' [ce_estimate()] with edges of their cells as knots, so their p-value can differ from that of the rows.
#'
#' With blocks, `ce_tune()` puts whole blocks into folds and test rows. A risk is the weighted mean over the pairs of
#' rows in different blocks, as in [ce_tune()] with `weights` and `cluster = block`. Two rows of a cluster are never a
#' pair, nor is a row with itself, so the risk has the same expectation as over all pairs of independent rows. Standard
#' errors of differences come from the blocks. Without `id` and `cluster`, rows with the same values are in the same
#' block, and pairs of them are not used. If there are many such rows, a warning asks for an `id`.
#'
#' Class-wise states keep blocks also for rows without weights and clusters, in addition to folds. The standard error
#' over all classes needs all classes of a row, and these are in the same block. `ce_estimate()` of such a state
#' leaves out blocks of independent rows, `ce_tune()` has folds of blocks, and the panel ends with the rows of all
#' classes, with standard errors from the blocks.
#'
#' @section Canonical states:
#' The kernel is replaced by its approximation from landmarks \eqn{z_1, ..., z_r}, \eqn{\phi(p)'\phi(p')} with
#' \eqn{\phi(p) = T^{-1} (k(p, z_1), ..., k(p, z_r))'} and \eqn{T T'} the kernel matrix of the landmarks. Landmarks that
#' are combinations of others are left out. For every block, with or without weights and clusters, a state keeps
#' \eqn{\sum w e e'}, \eqn{\sum w \phi e'} and \eqn{\sum w \phi\phi'}. These suffice for kkr, ukkr and their risks over
#' pairs in different blocks. Results agree to 1e-10 with those of the same features in memory (kkr at a ridge
#' \eqn{\lambda} below 1e-9 to about \eqn{10^{-19} / \lambda}). There is no main estimate. Landmarks taken from a first
#' chunk depend on that chunk; to merge states, give all of them the same matrix of landmarks.
#'
#' @section Invariants:
#' The result does not depend on the chunks, their order, or the order and grouping of merges (to 1e-12, since sums keep
#' twice the digits of a double). With the same knots, the numbers agree with those in memory. Bins, their errors, the
#' root Brier score, Spiegelhalter's statistic and the log score agree up to rounding. `ce_tune()` with the same folds,
#' its paired differences and their standard errors agree to 1e-10. The main estimate and Cox's regression agree up to
#' the error of Gauss's rule, about 1e-8 or less. (A knot is the edge next to a quantile. For heavily tied predictions,
#' such as ten levels, it differs from the knot in memory.) With blocks, the bins of `ce_tune()` agree with those in
#' memory to 1e-10. Risks of kernel ridges, with two predictions in a cell of a block, agree to 1e-6 (relative, for
#' ridges from 1e-5 on). The cumulative error is computed at the edges of cells only; `detail` gives a bound for how
#' much larger it may be. Rows with the same values are in the same fold unless they differ in `id`.
#'
#' @section Cost:
#' Time linear in the number of rows, about 0.3 s of processor time per million on one thread; only one chunk is in
#' memory. A saved state of independent rows takes 100 to 550 kB for any number of rows, and up to 1.5 MB with blocks; a
#' class-wise state takes this much per class. A canonical state of 10 classes takes 0.2 MB with 10 landmarks, 0.4 MB
#' with 20 and 1 MB with 40; it grows with the square of the number of classes and landmarks together. It needs about 1
#' s of processor time per 100,000 rows.
#'
#' @section Errors:
#' `calibrisk_error_state` if states that are merged differ in their options, type of calibration, classes, landmarks or
#' version, or if a state does not have what is asked for. `calibrisk_error_weights` and `calibrisk_error_owner` (`id`,
#' `cluster`) if the argument is given in some chunks only, or in different kinds, such as integers and fractions, or
#' numbers and text. `calibrisk_error_folds` if a fold of `ce_tune()` has fewer than two rows, or fewer than two blocks
#' with rows. Errors in the rows are those of [ce_estimate()]. A warning of class `calibrisk_warning_ties` is given if
#' many rows share a block because they have the same values.
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
  if (is.numeric(notion) || is.data.frame(notion)) stop_rows_as_choice(notion, "ce_state")
  check_notion(notion)
  canonical <- identical(notion, "canonical")
  if (canonical) {
    landmarks <- check_landmarks(landmarks)
    check_feature_kernel(check_kernel(kernel))
  }
  check_counts(n_bins, "n_bins", upper = 1000, size = 1L)
  check_counts(grid, "grid", upper = 1000)
  check_counts(folds, "folds", lower = 2, upper = 100, size = 1L)
  check_counts(blocks, "blocks", lower = 8, upper = 1000, size = 1L)
  breaks <- check_breaks(breaks, !missing(n_bins))
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
  if (canonical) spec[c("landmarks", "kernel")] <- list(landmarks, kernel)
  new_state(state_edges(spec))
}

# about: list(notion, levels, event, scalar, blocked, weights, owner), known from the first rows; canonical states also
# have landmarks and kernel there. follow_up: rows with an event by the horizon, and rows censored before it, which n
# does not count. sums: of every problem
new_state <- function(spec) {
  structure(list(version = state_version, spec = spec, about = NULL, n = 0, dropped = 0,
                 follow_up = c(events = 0, censored = 0), sums = list()), class = "ce_state")
}

# For ce_state(x, truth) and ce_monitor(x, truth).
stop_rows_as_choice <- function(notion, fn) {
  stop_input("{.fn {fn}} takes choices; rows are added by {.fn update}.", "x" = "{.arg notion} is {describe(notion)}.",
             class = "notion", arg = "notion", value = notion)
}

# Version of a saved state's content.
state_version <- 9L

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

# Rows of two parts are of the same kind.
check_same_rows <- function(a, b) {
  if (is.null(a) || is.null(b) || same_values(a, b)) return(invisible())
  check_same_weights(a$weights, b$weights)
  check_same_owners(a$owner, b$owner)
  stop_if(!same_values(a$horizon, b$horizon), "All rows of a state must have one horizon.",
          "x" = "One part has {describe(a$horizon)}, the other {describe(b$horizon)}.", class = c("state", "horizon"),
          arg = "horizon")
  stop_if(same_values(a[names(a) != "landmarks"], b[names(b) != "landmarks"]),
          "Canonical states that are merged must have the same landmarks.",
          "x" = "They took theirs from different first rows.",
          "i" = "Give {.arg landmarks} in {.fn ce_state}: a matrix of rows of probabilities.",
          class = c("state", "landmarks"))
  stop_input(
    "All rows of a state must be of one kind.",
    "x" = "One part is {.val {a$notion}} with the classes {.val {a$levels}}, the other {.val {b$notion}} with \\
           {.val {b$levels}}.", class = "state"
  )
}

check_same_weights <- function(a, b) {
  if (a == b) return(invisible())
  words <- c(none = "none", frequency = "integers, which repeat rows", importance = "doubles, importance weights")
  stop_input(
    "{.arg weights} must be of one kind for all rows of a state.",
    "x" = "One part has {words[[a]]}, the other {words[[b]]}.",
    "i" = if ("none" %in% c(a, b)) {
      "Give them for all rows or for none; weights of 1 count as weights."
    } else {
      "Make them {.fn as.double} (or {.fn hardhat::importance_weights}) in the source, or integers in all parts."
    }, class = c("state", "weights"), arg = "weights"
  )
}

# The text "1" and the number 1 have different hashes.
check_same_owners <- function(a, b) {
  if (identical(a, b)) return(invisible())
  words <- function(x) if (x[["given"]] == "none") "none of them" else paste(x[["given"]], "as", x[["as"]])
  stop_input("{.arg id} or {.arg cluster} must be given for all rows of a state or for none, and be of one type.",
             "x" = "One part has {words(a)}, the other {words(b)}.",
             "i" = if (a[["given"]] == b[["given"]]) {
               "Files may differ in what a column is read as: make it {.fn as.character} in the source."
             } else {
               "Give the same argument for every part."
             }, class = c("state", "owner"), arg = setdiff(c(a[["given"]], b[["given"]]), "none")[1])
}

check_state <- function(x) {
  stop_if(!is_state(x), "All that is merged with a state must be a {.cls ce_state}.",
          "x" = "One is {.cls {class(x)[1]}}.", "i" = "{.code update(state, data, truth)} adds rows.",
          class = c("state", "argument"))
  check_state_version(x)
  check_object(x, "state")
}

# Before its fields, which other versions have in another way.
check_state_version <- function(x) {
  stop_if(!identical(.subset2(x, "version"), state_version), "The state must be of this version of the package.",
          "x" = "It is of version {describe(.subset2(x, 'version'))}, not {.val {state_version}}.",
          "i" = "Update and merge it with the version that made it, or make it anew.", class = c("state", "version"))
}
