# Internal validation by the bootstrap: by how much a model looks better on the rows of its fit than on new ones.

#' Optimism of a model on the rows of its fit
#'
#' How much better a model looks on the rows that it was fitted to than on new rows of the same kind, for the numbers of
#' [ce_validate()], by fitting it again to bootstrap samples.
#'
#' @section Definition:
#' In each of `times` samples of the rows, drawn with replacement, `fit` makes a model anew. The optimism of a number is
#' the mean of its value for that model on the rows of the sample (`training`) minus that on all rows (`test`), and
#' `corrected` is `apparent` minus `optimism` (Efron 1983; Harrell, Lee and Mark 1996). Everything that has looked at
#' the outcomes must be in `fit`: choice of variables, tuning, imputation, recalibration. Steps before the call of `fit`
#' are not corrected for.
#'
#' `corrected_632` is the .632+ estimate of Efron and Tibshirani (1997), for the means of losses `brier` and `log_loss`.
#' It weights the apparent loss and the loss of rows outside of the sample. Use it for models that fit their rows almost
#' perfectly, such as forests: there `corrected` remains too good.
#'
#' There are no intervals: those of [ce_validate()] on the rows of the fit belong to `apparent`. Tests,
#' `calibration_error` and the errors of the smooth curve (such as `ici`) are left out: a sample repeats rows, which are
#' not independent, and a curve follows them. Even of a model that is never fitted those errors would be "optimistic".
#' @param fit A function of a data frame that returns a model: one that [ce_predictions()] reads, or a function of a
#'   data frame that returns the probabilities of its rows, as a vector or as columns `.pred_*`.
#' @param data A data frame of the rows of the fit, with the outcomes.
#' @param truth The column of the outcomes, or `Surv(time, status)` of columns with `horizon`.
#' @param ... Arguments of [ce_validate()], such as `thresholds` or `event_level`.
#' @param times Number of bootstrap samples.
#' @param weights A column of weights, as for [ce_validate()]; those of the fit belong in `fit`.
#' @param cluster A column: whole clusters are drawn.
#' @param horizon For survival models: the time by which the event is predicted.
#' @return A tibble with a row per number of [ce_validate()]: `level`, `term`, `apparent`, `optimism`, `corrected`,
#'   `corrected_632`, `training`, `test` and `times`, the number of samples in which it is defined. Samples are drawn by
#'   R's generator; see [set.seed()].
#' @section Errors:
#' Those of [ce_validate()] and [ce_predictions()] for the model of all rows. A sample in which there is no model, or
#' whose model does not predict all rows, is left out and counted above the table. If more than half are, this is an
#' error of class `calibrisk_error_model`.
#' @references Efron (1983) \doi{10.1080/01621459.1983.10477973}. Harrell, Lee and Mark (1996)
#'   \doi{10.1002/(SICI)1097-0258(19960229)15:4<361::AID-SIM168>3.0.CO;2-4}. Efron and Tibshirani (1997)
#'   \doi{10.1080/01621459.1997.10474007}.
#' @concept internal validation
#' @concept bootstrap
#' @concept overfitting
#' @concept optimism
#' @export
#' @examples
#' cars <- transform(mtcars, am = factor(am, labels = c("automatic", "manual")))
#' set.seed(1)
#' logistic <- function(data) suppressWarnings(glm(am ~ wt, binomial, data))
#' ce_optimism(logistic, cars, am, times = 20)
ce_optimism <- function(fit, data, truth, ..., times = 200, weights = NULL, cluster = NULL, horizon = NULL) {
  check_has_rows(fit, "fit")
  stop_if(!is.function(fit), "{.arg fit} must be a function of a data frame that returns a model.",
          "x" = "It is {describe(fit)}.", arg = "fit")
  stop_if(!is.data.frame(data), "{.arg data} must be a data frame.", "x" = "It is {describe(data)}.", arg = "data")
  check_has_rows(data, "data")
  check_count(times, lower = 20)
  validated <- function(model, rows) {
    rows <- if (is.function(model)) {
      found <- user_value(model(rows), "fit", "The function that it returned did.", "model")
      stop_if(vctrs::vec_size(found) != nrow(rows), "The function that {.arg fit} returns must predict each row.",
              "x" = "Of {nrow(rows)} rows it predicts {vctrs::vec_size(found)}.", class = c("model", "length"),
              arg = "fit")
      if (!is.data.frame(found)) found <- columns_frame(.pred_event = as_numbers(found))
      vctrs::vec_cbind(ungroup_frame(rows), found)
    } else {
      ce_predictions(model, rows, horizon = horizon)
    }
    unsaid(ce_validate(rows, {{ truth }}, ..., times = 0, weights = {{ weights }}, horizon = horizon),
           "calibrisk_message")
  }
  units <- design_column(enquo(cluster), data, nrow(data), "cluster")
  units <- split(seq_len(nrow(data)), if (is.null(units)) seq_len(nrow(data)) else vctrs::vec_group_id(units))
  whole <- validated(user_value(fit(data), "fit", "For all rows it failed.", "model"), data)
  progress <- progress_callback("Bootstrap samples")
  samples <- lapply(seq_len(times), function(b) {
    if (!is.null(progress)) progress(b / times)
    drawn <- units[sample(length(units), replace = TRUE)]
    # what is wrong in all of them was said of the fit of all rows
    unsaid(optimism_sample(fit, data, unlist(drawn, use.names = FALSE), validated, whole), "calibrisk_warning")
  })
  failed <- Filter(rlang::is_condition, samples)
  stop_if(length(failed) > times / 2, "{.arg fit} must give a model of most bootstrap samples.",
          "x" = "It has given none in {length(failed)} of {times}.", class = "model", arg = "fit", parent = failed[[1]])
  samples <- Filter(Negate(rlang::is_condition), samples)
  none <- if (length(failed) > 0) paste0(", in ", length(failed), " of which there is no model")
  said <- paste0(count_of(times, "bootstrap sample"), none)
  new_table(optimism_table(whole, samples), c("Internal validation" = said), "ce_optimism")
}

# The terms on the rows of the sample and on all of them, and the losses of the rows outside. The condition where there
# is no model, or it does not predict all rows.
optimism_sample <- function(fit, data, at, validated, whole) {
  tryCatch({
    model <- fit(data[at, , drop = FALSE])
    training <- validated(model, data[at, , drop = FALSE])$table
    test <- validated(model, data)
    stop_if(!identical(sample_rows(test), sample_rows(whole)), "The model must predict all rows.", class = "model")
    places <- match(optimism_key(whole$table), optimism_key(training))
    list(training = training$estimate[places], test = test$table$estimate,
         losses = if (length(test$data$read$problems) == 1) {
           # NA inside of the sample
           problem <- test$data$read$problems[[1]]
           replace(row_losses(problem), problem$about$rows %in% at, NA)
         })
  }, error = identity)
}

optimism_key <- function(table) do.call(paste, c(unclass(table)[setdiff(names(table), numbers_of_terms)], sep = "\r"))
numbers_of_terms <- c("estimate", "std.error", "conf.low", "conf.high", "p.value")

sample_rows <- function(validation) lapply(validation$data$read$problems, function(problem) problem$about$rows)

# In columns.
row_losses <- function(problem) {
  p <- problem$features[, 1]
  event <- problem$labels == 1
  cbind(brier = (event - p)^2, log_loss = -log(ifelse(event, p, 1 - p)))
}

optimism_table <- function(whole, samples) {
  out <- whole$table[setdiff(names(whole$table), numbers_of_terms)]
  # what is 0 except for rounding, by the fit
  rounded <- function(v) ifelse(abs(v) < 1e-8, 0, v)
  values <- function(name) matrix(rounded(vapply(samples, `[[`, whole$table$estimate, name)), nrow(out))
  training <- values("training")
  test <- values("test")
  known <- is.finite(training) & is.finite(test)
  times <- as.integer(rowSums(known))
  mean_of <- function(v) rowSums(ifelse(known, v, 0)) / ifelse(times > 0, times, NA)
  out$apparent <- rounded(whole$table$estimate)
  out$optimism <- mean_of(training - test)
  out$corrected <- out$apparent - out$optimism
  out$corrected_632 <- NA_real_
  if (length(whole$data$read$problems) == 1) {
    plus <- point_632(whole$data$read$problems[[1]], lapply(samples, `[[`, "losses"))
    out$corrected_632[match(names(plus), out$term)] <- plus
  }
  out$training <- mean_of(training)
  out$test <- mean_of(test)
  out$times <- times
  # repeated rows are not independent, and a smooth curve follows them
  out[!number_fact(out$term, "kind") %in% c("test", "ladder", "smooth"), ]
}

# The .632+ estimates of both losses: src/redraws.cpp.
point_632 <- function(problem, losses) {
  p <- problem$features[, 1]
  share <- row_mean(as.numeric(problem$labels), problem$design)
  mean_loss <- function(loss) row_mean(share * loss(p) + (1 - share) * loss(1 - p), problem$design)
  none <- c(brier = mean_loss(function(q) (1 - q)^2), log_loss = mean_loss(function(q) -log(q)))
  none[] <- cpp_point_632(row_losses(problem), none, losses, problem$design$w %||% numeric())
  none
}

#' @export
print.ce_optimism <- function(x, ...) {
  shown <- x[setdiff(names(x), c("level", "training", "test"))]
  class(shown) <- setdiff(class(x), "ce_optimism")
  print(shown, ...)
  invisible(x)
}
