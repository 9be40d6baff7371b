# summary() of results that are lists: what print() shows, and the tables behind it.

new_summary <- function(object, tables) {
  structure(list(object = object, tables = tables), class = "ce_summary")
}

#' Summaries of results
#'
#' The printed result, with its tables.
#'
#' @param object A result of [ce_fit()], [ce_curve()], [ce_recalibrate()], [ce_test()], [ce_rank()] or
#'   [ce_decision()], or a [ce_grouped] list of results.
#' @param ... Not used.
#' @return A `ce_summary`, a list of the `object` and the `tables` that are printed. For a fit these are its functions
#'   (`tidy()`) and whether they estimate a calibration gap. For a curve: the summary of each (`glance()`) and the place
#'   where it is farthest from the diagonal, measured in half widths of its interval. For a map: its objectives and its
#'   parameters with standard errors. For a test: its `glance()`. For a ranking: the estimates and the orders that
#'   subsamples gave. For a decision curve: its `glance()` and the threshold where most is lost. For groups: a list of
#'   summaries.
#' @name ce_summary
#' @export
#' @examples
#' summary(ce_fit(vehicle_predictions, truth, method = method_bins(10)))
summary.ce_fit <- function(object, ...) {
  functions <- tidy(object)
  functions$gap <- vapply(object$forms, function(form) isTRUE(form$gap), NA)
  new_summary(object, list("Functions" = functions))
}

#' @rdname ce_tables
#' @export
tidy.ce_summary <- function(x, ...) tidy(x$object)

#' @rdname ce_tables
#' @export
glance.ce_summary <- function(x, ...) glance(x$object)

#' @rdname ce_summary
#' @export
summary.ce_curve <- function(object, ...) {
  curve <- object$curve
  target <- if (object$type == "pit") 1 else curve$confidence
  off <- abs(curve$observed - target) / pmax((curve$conf.high - curve$conf.low) / 2, 1e-12)
  key <- vctrs::vec_group_id(curve[object$keys])
  farthest <- vapply(split(seq_along(off), key), function(rows) rows[which.max(off[rows])][1], 0L)
  columns <- intersect(c(object$keys, "confidence", "observed", "n", "conf.low", "conf.high"), names(curve))
  new_summary(object, list("Curves" = object$summary, "Farthest from calibration" = curve[farthest, columns]))
}

#' @rdname ce_summary
#' @export
summary.ce_recalibration <- function(object, ...) {
  new_summary(object, list("Fit" = glance(object), "Parameters" = tidy(object)))
}

#' @rdname ce_summary
#' @export
summary.ce_test <- function(object, ...) new_summary(object, list("Test" = glance(object)))

#' @rdname ce_summary
#' @export
summary.ce_decision <- function(object, ...) {
  curve <- object$curve
  key <- vctrs::vec_group_id(curve[object$keys])
  most <- vapply(split(seq_along(key), key), function(rows) rows[which.max(curve$loss[rows])][1], 0L)
  columns <- c(object$keys, "threshold", "net_benefit", "treat_all", "loss", "band.low", "band.high")
  new_summary(object, list("Curves" = object$summary, "Largest loss" = curve[most, columns]))
}

#' @rdname ce_summary
#' @export
summary.ce_rank <- function(object, ...) {
  new_summary(object, list("Estimates" = tidy(object), "Orders" = object$orders))
}

#' @rdname ce_summary
#' @export
summary.ce_grouped <- function(object, ...) {
  object$results <- lapply(object$results, summary, ...)
  object
}
