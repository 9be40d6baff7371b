#' Decision curve and the net benefit lost to miscalibration
#'
#' How useful are predictions of a yes/no outcome for decisions at a threshold, and how much is lost because they are
#' miscalibrated? `ce_decision()` estimates the net benefit at every threshold and the gain in net benefit from
#' recalibration, with intervals and simultaneous bands.
#'
#' @section Definition:
#' To treat the rows with \eqn{p \ge c} is to accept \eqn{1/c - 1} false positives for each true positive. Let \eqn{\eta
#' = P(Y = 1 \mid p)}. In true positives per row, let
#' \deqn{NB(c) = \frac{E[1\{p \ge c\}(Y - c)]}{1 - c}, \qquad loss(c) = \frac{E[|\eta - c|\, 1\{c \textrm{ lies between
#' } p \textrm{ and } \eta\}]}{1 - c},}
#' be the net benefit (Vickers and Elkin 2006) and the net benefit lost to miscalibration. `treat_all` is the net
#' benefit of treating all rows; that of treating none is 0. `loss` estimates the gain from a recalibration that was
#' fitted without the row, which is a **lower bound** of the gain from a perfect one. It may be negative. `recalibrated`
#' is \eqn{NB + loss}. \eqn{2\int_0^1 (1 - c)\, loss(c)\, dc} is the squared calibration error. *Notation* has the
#' derivations.
#' @section Intervals:
#' Bands are simultaneous, for all thresholds, from a multiplier bootstrap with a fixed seed. The limits of the net
#' benefit allow for few treated rows at high thresholds; in simulations its 95% intervals covered in 94 to 100% and
#' bands in 96 to 99% of samples. The recalibration is treated as fixed: the limits of `loss` are for the gain from this
#' recalibration, and the lower ones are valid for the loss to miscalibration too. Rely on the lower limits: the lower
#' end of the 95% band was above the loss at some threshold in at most 2% of samples. The band missed the gain from the
#' recalibration at some threshold in 1 to 15%.
#' @inheritParams ece
#' @param x Predictions, see [ce_args]; or a list, one per model.
#' @param ... Probability columns of a data frame: two that are named after the classes are one model; otherwise each
#'   column is a model.
#' @param thresholds Threshold probabilities between 0 and 1, at most 1,000.
#' @param recalibration A method ([ce_methods]) or a map ([ce_maps]) or its name.
#' @param folds Number of folds, the fold of every row, or an rsample `rset`.
#' @param times Number of bootstrap draws for the bands.
#' @param level Confidence level of intervals and bands.
#' @return A `ce_decision`. `tidy()` returns a row per model, group and threshold. Its columns are `model` and the
#'   groups (if there are several), `threshold`, `net_benefit` and `treat_all`. `loss` follows, with its `std.error`,
#'   `conf.low` and `conf.high` (pointwise) and `band.low` and `band.high` (simultaneous). `recalibrated` is the net
#'   benefit after recalibration, and `changed` the number of rows whose decision recalibration changes.
#'   `net_benefit.std.error`, `net_benefit.conf.low` and so on are the same for the net benefit. `tidy(type =
#'   "differences")` returns a row per pair of models, group and threshold: `a`, `b`, groups, `threshold`,
#'   `difference` (of net benefit, a minus b), `std.error`, `conf.low`, `conf.high`, `band.low` and `band.high`.
#'   `glance()` returns a row per model and group: `n`, `event_rate`, `area` with `std.error`, `conf.low` and
#'   `conf.high`, and the threshold `worst` with the largest estimated `loss`. Two columns are shares of thresholds:
#'   `bought` (`band.low` is above 0) and `useful` (the net benefit is shown to be above that of treat all
#'   and treat none: the simultaneous bands of both differences exclude 0).
#' @section Errors:
#' Those of [ce_args], `calibrisk_error_classes` for more than two classes, and `_method` for a recalibration that does
#' not estimate miscalibration.
#' @references Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating prediction
#'   models. *Medical Decision Making* 26, 565-574.
#'
#' Van Calster, B. and Vickers, A. J. (2015). Calibration of risk prediction models: impact on decision-analytic
#'   performance. *Medical Decision Making* 35, 162-169.
#' @seealso [ce_estimate()] for the size of the error, [ce_recalibrate()] to act on it.
#' @concept decision curve
#' @concept net benefit
#' @concept threshold probability
#' @concept clinical utility
#' @concept decision curve analysis
#' @export
#' @examples
#' set.seed(1)
#' p <- rbeta(600, 1, 3)
#' y <- rbinom(600, 1, plogis(0.6 * qlogis(p)))
#' curve <- ce_decision(p, y)
#' curve
#' tidy(curve)
ce_decision <- function(x, truth, ..., thresholds = seq(0.01, 0.99, by = 0.01), recalibration = method_stack(),
                        folds = 5, times = 2000, level = 0.95, event_level = "first", .by = NULL,
                        weights = NULL, cluster = NULL, horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  check_level(level)
  check_counts(times, lower = 100, upper = 1e6, size = 1L)
  settings <- list(thresholds = decision_thresholds(thresholds), level = level, times = times)
  recalibration <- check_recalibration(recalibration)
  default <- missing(folds)
  if (length(folds) == 1) check_counts(folds, lower = 2, upper = 1e6, size = 1L)
  # clusters are dealt by the values of their rows
  input <- evaluate_input_once(rows_input(copies = TRUE, clustered = FALSE), x)
  read <- function(part) {
    # a data frame may have a model in each of several columns; without names there is one
    models <- if (several_models(part, input)) {
      common_rows(column_models(part, input$truth, input$dots, input))
    } else {
      list(predictions_of(part, input))
    }
    with_read(lapply(names(models) %||% list(NULL), function(name) {
      predictions <- if (is.null(name)) models[[1]] else models[[name]]
      check_decision_input(predictions)
      problem <- notion_problems(predictions, "binary")[[1]]
      cluster <- predictions$design$cluster
      # a number of folds: by the rows' values, so that nothing is random
      fold <- given_folds(folds, length(problem$labels), predictions$rows, predictions$n_input, cluster)
      # by default in fewer folds if there are fewer clusters, but not in one
      if (is.null(fold) && (!default || !is.null(cluster))) {
        check_fold_units(predictions$design, if (default) 2 else folds)
      }
      dealt <- if (is.null(fold)) fold_copies(problem, folds) else problem
      fold <- fold %||% dealt$fold %||%
        design_folds(problem$features, problem$labels, predictions$design, folds, even = !is.null(cluster))
      better <- recalibrated_probs(dealt, recalibration, fold)
      list(model = name, curve = decision_curve(dealt, better, settings), design = predictions$design,
           folds = length(unique(fold)), problem = problem, rows = predictions$rows, axis = probability_of(predictions),
           dropped = predictions$dropped,
           event = list(label = event_label(predictions, horizon = input$design$horizon),
                        hint = event_hint(predictions, horizon = input$design$horizon)))
    }), models)
  }
  parts <- read_curves(x, input$by, read)
  keys <- vctrs::vec_rbind(!!!parts$keys)
  found <- parts$problems
  bind <- function(what) bind_parts(keys, lapply(found, function(part) part$curve[[what]]))
  structure(
    list(curve = bind("curve"), summary = bind("summary"),
         differences = decision_differences(found, keys, settings), keys = names(keys), level = level,
         axis = found[[1]]$axis, event = found[[1]]$event,
         recalibration = list(label = format(recalibration), folds = unique(vapply(found, `[[`, 1L, "folds"))),
         design = design_sentence(lapply(found, `[[`, "design")),
         dropped = sum(vapply(found, `[[`, 0, "dropped"))),
    class = c("ce_decision", "ce_result")
  )
}

decision_thresholds <- function(thresholds) {
  check_numbers(thresholds, "thresholds", 0, 1, open = TRUE)
  # seq() is off by a bit where predictions are not
  thresholds <- sort(unique(round(thresholds, 12)))
  stop_if(length(thresholds) > 1000 || min(thresholds) <= 0 || max(thresholds) >= 1,
          "{.arg thresholds} must be at most 1,000 numbers between 1e-12 and 1 - 1e-12.",
          "x" = "There are {length(thresholds)}, from {.val {min(thresholds)}} to {.val {max(thresholds)}}.",
          arg = "thresholds", value = thresholds)
  thresholds
}

# Columns that are not named as the two outcomes are a model each.
several_models <- function(part, input) {
  dots <- input$dots
  if (!is.data.frame(part) || length(dots) == 0) return(FALSE)
  part <- ungroup_frame(part)
  columns <- names(select_columns(rlang::quo(c(!!!unname(dots))), part, "..."))
  outcomes <- read_outcomes(input$truth, part, input$design$horizon)
  columns <- setdiff(columns, names(part)[outcomes$column])
  if (length(columns) < 2) return(FALSE)
  values <- outcomes$values
  levels <- if (is.factor(values)) levels(values) else as.character(sort(unique(values)))
  if (length(levels) > 2) return(FALSE)
  if (all(sub("^[.]pred_", "", columns) %in% levels)) return(FALSE)
  # two models may be called m0 and m1
  is.null(matched_columns(columns, levels)) || any(abs(rowSums(part[columns]) - 1) > sum_tolerance$float, na.rm = TRUE)
}

check_decision_input <- function(predictions, what = "A decision curve") {
  stop_if(n_classes(predictions) != 2, "{what} needs two classes.",
          "x" = "There are {n_classes(predictions)}.",
          "i" = "Give the probability of one event, and whether it happened, as in {.code truth == \"a\"}.",
          class = c("classes", "notion"), arg = "x")
}

#' @rdname ce_decision
#' @param type `"curve"`, or, for several models on the same rows, `"differences"` of their net benefit.
#' @export
tidy.ce_decision <- function(x, type = c("curve", "differences"), ...) {
  type <- check_choice(type, c("curve", "differences"))
  if (type == "curve") return(x$curve)
  stop_if(is.null(x$differences), "Differences are those of several models on the same rows.",
          "i" = "As in {.code ce_decision(data, truth, a, b)}.", arg = "type")
  x$differences
}

#' @export
glance.ce_decision <- function(x, ...) x$summary
