#' Fit one calibration estimation function
#'
#' Fits one method with one hyperparameter. The result is a function \eqn{h(p, p')} that
#' estimates the inner product of the calibration gaps at \eqn{p} and \eqn{p'}; evaluate it
#' with `predict()`, its risk on other rows with [ce_risk()].
#'
#' @inheritParams ce_args
#' @inheritParams ece
#' @param method A method with a single value of its hyperparameter; see [ce_methods].
#' @return A `ce_fit`; for grouped data a [ce_grouped] list of them.
#' @section Definition:
#' A calibration estimation function \eqn{h} targets
#' \eqn{h^*(p, p') = \langle \Delta(p), \Delta(p') \rangle}, \eqn{\Delta(p) = p - P(Y \mid p)}
#' (Gruber & Bach 2025, Eqs. 12, 13), so \eqn{CE^2 = E\, h^*(f(X), f(X))}. Every method is a pair form \eqn{h(p, p') =
#' \phi(p)' M \phi(p')}.
#' @section Cost:
#' The cost of the method. Under a [future::plan()] of several workers the classes of a class-wise fit are fitted there,
#' with the same digits (unless a function of [method_function()] draws random numbers).
#' @seealso [ce_tune()] to choose the method and its hyperparameter.
#' @references `r ref_gruber_bach`
#' @export
#' @examples
#' set.seed(1)
#' confidence <- runif(300)
#' correct <- runif(300) < confidence^1.5
#' fit <- ce_fit(confidence[1:200], correct[1:200], method = method_bins(10))
#' fit
#' predict(fit, c(0.2, 0.9), type = "gap")
#' ce_risk(fit, confidence[201:300], correct[201:300])
ce_fit <- function(x, truth, ..., notion = NULL, method, .by = NULL, event_level = "first", weights = NULL,
                   cluster = NULL, horizon = NULL) {
  if (!missing(x)) check_has_rows(x)
  notion <- check_notion(notion)
  stop_if(missing(method), "{.arg method} must be given.", "x" = "It is missing.",
          "i" = "{.fn ce_tune} chooses among several.", class = "method", arg = "method")
  check_method(method)
  check_bins_notion(list(method), notion)
  fit_groups(x, rows_input(), function(predictions) {
    # groups share no factors: a context each
    with_bar("Fitting", function(progress) {
      fit_predictions(predictions, notion, method, new_context(progress))
    })
  })
}

# fit(predictions) of the complete predictions: an object, or one per group.
fit_groups <- function(x, input, fit) {
  force(input) # errors are not those of a group
  objects_by_groups(x, input$by, function(part) {
    predictions <- predictions_of(part, input)
    with_read(fit(predictions), predictions)
  })
}

fit_predictions <- function(predictions, notion, method, context) {
  notion <- notion %||% default_notion(predictions)
  grid <- method_grid(method, notion, n_obs(predictions))
  stop_if(nrow(grid) != 1, "{.arg method} must have a single value of {.arg {method$parameter}}.",
          "x" = "It has a grid of {nrow(grid)}.", "i" = "{.fn ce_tune} chooses among several.", class = "method",
          arg = "method")
  problems <- notion_problems(predictions, notion)
  k <- length(problems)
  point <- grid_point(grid, 1)
  jobs <- Map(function(problem, j) list(problem = problem, j = j), problems, seq_len(k))
  forms <- over_some_workers(jobs, function(job) {
    fit_form(method, job$problem, point, part_of(context, (job$j - 1) / k, job$j / k))
  }, sealed(function(job) fit_form(method, job$problem, point, new_context()), method = method, point = point))
  # `forms`: one per problem (class-wise: one per class). `label` says in print what was fitted; `fingerprint`
  # identifies its data.
  structure(
    list(forms = forms, notion = notion, method = method$name, parameter = method$parameter %||% NA_character_,
         value = grid$value, label = format(method), histogram = tune_histogram(problems, notion),
         fingerprint = fit_fingerprint(predictions, problems), n = n_obs(predictions),
         counted = design_sentence(list(predictions$design)), levels = predictions$levels,
         event = predictions$event, scalar = is.null(predictions$probs)),
    class = c("ce_fit", "ce_result")
  )
}

#' Tables of a fit
#'
#' @param x A `ce_fit`.
#' @param ... Not used.
#' @return `tidy()`: one row per fitted function (class-wise: per class) with `method, parameter, value`
#'   and, class-wise, `class`.
#'   `glance()`: one row with `notion, method, parameter, value, n, n_classes`.
#' @name ce_fit_tables
#' @export
#' @examples
#' fit <- ce_fit(vehicle_predictions, truth, method = method_ukkr(0.1))
#' tidy(fit)
#' glance(fit)
tidy.ce_fit <- function(x, ...) {
  out <- vctrs::vec_rep(columns_frame(!!!x[c("method", "parameter", "value")]), length(x$forms))
  if (x$notion == "class_wise") out$class <- x$levels
  out
}

#' @rdname ce_fit_tables
#' @export
glance.ce_fit <- function(x, ...) {
  columns_frame(!!!x[c("notion", "method", "parameter", "value", "n")], n_classes = length(x$levels))
}

# For a fit or a tune.
notion_label <- function(x) {
  n_classes <- length(x$levels)
  switch(x$notion,
    top_label = "top-label (confidence against correctness)",
    class_wise = paste0("class-wise (sum over ", n_classes, " classes)"),
    canonical = paste0("canonical (whole vector, ", n_classes, " classes)"),
    binary = paste0("binary (", probability_of(x), ", p - y)")
  )
}

#' Evaluate a fitted calibration estimation function
#'
#' @param object A `ce_fit`, or a `ce_tune` (then the mean of the folds' functions of one
#'   method).
#' @param new New predictions: a data frame, matrix or vector like the one it was fitted on,
#'   without outcomes.
#' @param ... For a data frame: tidyselect the probability columns, by default those that
#'   start with `.pred_`.
#' @param type `"squared"`: \eqn{h(p, p)} per row, the estimated squared calibration gap (may be negative for kkr and
#'   debiased bins; summed over classes for `notion = "class_wise"`). `"pairs"`: the matrix \eqn{h(p_i, p_j)}. `"gap"`:
#'   the estimated residual \eqn{p - P(Y \mid p)} per row, a vector for scalar types of calibration and a matrix with a
#'   column per class otherwise. It is bounded: \eqn{p} minus the gap is a probability, for `notion = "canonical"` a
#'   probability vector, the nearest one to \eqn{p} minus what was fitted. (\eqn{h} and its risk are bounded for
#'   [method_stack()] only.) It is an error for kkr and debiased bins, whose \eqn{h} is not an inner product of
#'   estimated residuals.
#' @param method For a `ce_tune`: the name of the method, by default the selected one.
#' @return See `type`. Rows with a missing value give `NA`.
#' @export
predict.ce_fit <- function(object, new, ..., type = c("squared", "pairs", "gap")) {
  type <- check_choice(type, c("squared", "pairs", "gap"))
  n <- NROW(new)
  # a matrix of more entries than R's integers count has 17 GB
  stop_if(type == "pairs" && n > sqrt(.Machine$integer.max),
          "{.val pairs} returns a matrix with a row and a column per row of {.arg new}: at most 46,340.",
          "x" = "There are {n} rows.", "i" = "Predict blocks of rows; {.fn ce_risk} needs no matrix.", class = "size",
          arg = "new")
  predictions <- read_new(object, new, column_dots(...))
  features <- lapply(notion_problems(predictions, object$notion), `[[`, "features")
  stop_if(type == "gap" && !have_gaps(object$forms),
          "{.code type = \"gap\"} needs a method that estimates the residuals themselves.",
          "x" = "{.field {method_words(object$method)}} estimates products of residuals only.",
          "i" = "Use {.code type = \"squared\"}, or fit {.fn method_ukkr}, {.fn method_kde} or {.fn method_bins}.",
          class = "method", arg = "type")
  out <- switch(type,
    squared = Reduce(`+`, Map(form_squared, object$forms, features)),
    pairs = Reduce(`+`, Map(form_pairs, object$forms, features, features)),
    gap = do.call(cbind, unname(Map(form_gap, object$forms, features)))
  )
  expand_rows(out, predictions$rows, n, type, object$levels)
}

# Put results back at their rows of the input, NA where a row was incomplete.
expand_rows <- function(out, rows, n, type, levels) {
  if (type == "pairs") {
    full <- matrix(NA_real_, n, n)
    full[rows, rows] <- out
    return(full)
  }
  full <- matrix(NA_real_, n, NCOL(out), dimnames = if (NCOL(out) > 1) list(NULL, levels))
  full[rows, ] <- out
  if (ncol(full) > 1) full else full[, 1]
}

read_new <- function(object, new, dots) {
  if (is.data.frame(new)) {
    new <- read_probs(new, dots, factor(character(), levels = object$levels), integer())
    # their order would say nothing
    stop_if(object$scalar && ncol(new) > 1 && is.null(matched_columns(colnames(new), object$levels)),
            "{.arg new} must have the shape of the data of the fit.",
            "x" = "It has the columns {.field {colnames(new)}}; the fit saw one probability per row.",
            class = "columns", arg = "new")
  }
  predictions <- in_argument(unlabelled_predictions(new, object$levels, object$event), "new")
  predictions <- align_event(predictions, object$levels[object$event])
  stop_if(is.null(predictions$probs) && !object$scalar && object$notion %in% c("canonical", "class_wise"),
          "{.arg new} must have a column for each of the {length(object$levels)} classes.",
          "x" = "It is a single probability.", class = "columns", arg = "new")
  predictions
}

#' @rdname augment.ce_fit
#' @export
augment.ce_tune <- function(x, data, ..., method = NULL) augment(tune_fit(x, method), data, ...)

#' Add estimated residuals to the predictions
#'
#' @param x A `ce_fit` or `ce_tune`.
#' @param data A data frame of predictions.
#' @param ... Tidyselect the probability columns; see [predict.ce_fit()].
#' @inheritParams predict.ce_fit
#' @return `data` with the columns `.squared`, \eqn{h(p,p)}, and, where the method estimates
#'   it, `.gap` (scalar types of calibration) or `.gap_<class>`.
#' @export
augment.ce_fit <- function(x, data, ...) {
  stop_if(missing(data), "{.arg data} must be given: a data frame of predictions.",
          "x" = "It is missing; the result itself keeps none.", arg = "data")
  stop_if(!is.data.frame(data), "{.arg data} must be a data frame.", "x" = "It is {.cls {class(data)[1]}}.",
          "i" = "Use {.fn predict} for a matrix or a vector.", arg = "data")
  out <- tibble::as_tibble(data)
  out$.squared <- in_argument(predict(x, data, ..., type = "squared"), "data", "new")
  if (have_gaps(x$forms)) {
    gap <- predict(x, data, ..., type = "gap")
    if (is.matrix(gap)) {
      colnames(gap) <- paste0(".gap_", x$levels)
      out <- vctrs::vec_cbind(out, tibble::as_tibble(gap))
    } else {
      out$.gap <- gap
    }
  }
  out
}
