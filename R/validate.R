#' Validate a risk model: the hierarchy of calibration
#'
#' Computes the numbers of a validation report in one call: mean, weak, moderate and strong calibration in the terms of
#' Van Calster et al. (2016), discrimination, overall performance and utility, each with a confidence interval.
#'
#' @inheritParams ece
#' @inheritParams ce_args
#' @param x Predictions: a data frame, a matrix or a vector of probabilities as for [ece()], or a list of these, one per
#'   model; or a [ce_state()] or a table of a database, see *States and tables*.
#' @param group Covariate patterns within which predictions should be calibrated too ("strong" calibration): one or
#'   several columns of `x` (tidyselect), or a vector or a data frame with a value per row.
#' @param thresholds Threshold probabilities for net benefit. Rows with a prediction at or above the threshold count as
#'   treated; [ce_decision()] covers the whole range of thresholds.
#' @param notion Type of calibration: `"binary"`, `"top_label"`, or `"class_wise"` (every class against the others). The
#'   default is `"binary"` for a single probability and for two classes, and `"class_wise"` otherwise.
#' @param delta `NULL`, or a calibration error between 0 and 1. The result then includes a test of whether the model's
#'   error is below `delta`; see *Equivalence* in [ce_test()].
#' @param smoother Smoother of the moderate terms, see [ici()]; `"loess"` has the span 0.75.
#' @param floor Smallest probability whose logit is taken in the regressions; see [cox_calibration()].
#' @param times Number of bootstrap samples for the intervals of ICI, E50, E90, Emax and ECI: at least 20, or 0 for
#'   none. Every call uses the same samples, and the state of R's random numbers does not change.
#' @return A `ce_validation`. `tidy()` returns a tibble with the models, groups and classes, then `level`, `term`,
#'   `estimate`, `std.error`, `conf.low`, `conf.high`, `p.value`. `glance()` returns one row per model, group and class
#'   with `n`, `events`, `prevalence`, `mean_prediction`, `n_effective` and `n_clusters`; with `horizon` also
#'   `n_censored`, the number of rows censored before it, which are not in `n`. `autoplot()` and `plot()` draw the
#'   smooth calibration curve with its bands.
#'
#' @section Definitions:
#' Let \eqn{p_i} be the predictions and \eqn{y_i} the outcomes. All means are weighted if there are weights.
#' * **mean**: `oe_ratio`, the ratio \eqn{\bar y / \bar p} of observed to expected events, with an interval on the log
#'   scale from the influence \eqn{y_i / \bar y - p_i / \bar p}. With fewer than 20 events limits and test are those of
#'   a binomial number of events (Clopper and Pearson 1934), and without events there is an upper limit;
#'   `in_the_large`, the intercept of a logistic regression with offset \eqn{logit(p)}; see [cox_calibration()].
#' * **weak**: `intercept` and `slope` of the logistic regression on \eqn{logit(p)}, each with its own test, and their
#'   joint test (`joint`, whose `estimate` is the statistic). A slope above 1 means that the risks are too moderate.
#' * **moderate**: `ici`, `e50`, `e90`, `emax` of [ici()]; `eci` \eqn{= \overline{(p - c)^2} / \overline{(p - \bar
#'   y)^2}} with the smooth curve \eqn{c} (Van Hoorde et al. 2015, relative to a model that predicts the prevalence);
#'   `calibration_error`, the estimate of [ce_estimate()] with its interval and test. If `delta` is given,
#'   `equivalence(delta)` has the one-sided interval from 0 to the upper limit at `level`, and the p-value of
#'   [ce_test()] with `delta`.
#' * **strong**, with `group`: for each group `oe_ratio` and `calibration_error`, and `all_groups`, whose `p.value`
#'   tests that all groups are calibrated (the smallest p-value of the groups, with Bonferroni's correction). For
#'   continuous covariates see [ckce()] with `group`.
#' * **discrimination**: `auroc` (the C statistic), \eqn{P(p > p') + P(p = p')/2} for the predictions \eqn{p} of an
#'   event and \eqn{p'} of a non-event, with the standard error of DeLong et al. (1988) and an interval on the
#'   logit scale. With k = 2 to 10 events (or non-events, if these are fewer), the interval is that of Wilson for a
#'   share among k, which does not depend on the distribution of the predictions. From k = 10 to 30 it is a mean of the
#'   two.
#' * **overall**: `brier` \eqn{= \overline{(y - p)^2}}; `scaled_brier` \eqn{= 1 - brier / (\bar y (1 - \bar y))}, also
#'   called the index of prediction accuracy; `log_loss`, in nats.
#' * **utility**: `net_benefit(c)` \eqn{= \overline{1\{p \ge c\} (y - c)} / (1 - c)} per row, see [ce_decision()].
#'
#' @section Intervals:
#' Intervals come from the influence of each row, with weights and clusters as in [ece()]. The regression without
#' weights and clusters has Wald's interval, the calibration error that of [ce_estimate()]. The terms of the smooth
#' curve have a bootstrap as in [ici()]; above 5,000 rows the samples are drawn on 1,000 cells of equal weight.
#' `std.error` is on the scale of `estimate`. A term that cannot be computed is `NA`, and a line below the printed table
#' gives the reason; the other terms are still reported.
#' @section States and tables:
#' A table with up to 20,000 different rows (see [ce_database()]) is read with their counts, and the numbers are those
#' of the rows in memory; the bootstrap has other samples. For more rows, and for a [ce_state()], sums over narrow cells
#' stand for the rows. `auroc` then agrees to about 1e-4. The smooth curve is that of 1,000 cells of equal weight: of
#' its terms `ici` agrees to about 1%, `eci` to 3%, and `e50`, `e90` and `emax` to 10%. Other estimates agree to 1e-8 or
#' better.
#' `thresholds` and `floor` of a state must be edges of its cells, such as hundredths; predictions equal to a threshold
#' count as above it in a table, and approximately in a state. Standard errors of a state in blocks are those of the
#' blocks. There is no `group`, no class-wise validation and no figure.
#' @section Cost:
#' A few sorts and linear passes, and `times` smooth curves: less than a second for 100,000 rows, and three seconds for
#' a million.
#' @section Errors:
#' The errors of [ece()], and `calibrisk_error_argument` for `thresholds` or `delta` outside (0, 1) or a `group` of
#' another length.
#' @references Van Calster, B., Nieboer, D., Vergouwe, Y., De Cock, B., Pencina, M. J. and Steyerberg, E. W. (2016). A
#'   calibration hierarchy for risk models was defined: from utopia to empirical data. *Journal of Clinical
#'   Epidemiology* 74, 167-176. \doi{10.1016/j.jclinepi.2015.12.005}
#'
#'   Van Hoorde, K., Van Huffel, S., Timmerman, D., Bourne, T. and Van Calster, B. (2015). A spline-based tool to assess
#'   and visualize the calibration of multiclass risk predictions. *Journal of Biomedical Informatics* 54, 283-293.
#'
#'   DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
#'   receiver operating characteristic curves. *Biometrics* 44, 837-845.
#' @seealso [ce_estimate()], [ce_panel()], [ce_curve()], [ce_recalibrate()].
#' @export
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- glm(type ~ npreg + glu + bmi, binomial, MASS::Pima.tr)
#' women <- MASS::Pima.te
#' women$risk <- predict(fit, women, type = "response")
#' validation <- ce_validate(women, type, risk, event_level = "second", times = 50)
#' validation
#' tidy(validation)
ce_validate <- function(x, truth, ..., group = NULL, thresholds = c(0.1, 0.5), delta = NULL, notion = NULL,
                        smoother = c("loess", "isotonic"), floor = NULL, times = 200, level = 0.95,
                        .by = NULL, event_level = "first", na_rm = TRUE, threads = NULL, weights = NULL,
                        cluster = NULL, horizon = NULL) {
  call <- current_env()
  if (missing(x)) stop_no_predictions(call)
  check_notion(notion)
  check_validation_notion(notion, call)
  options <- validation_options(thresholds, smoother, floor, times, delta, level, threads, call)
  input <- evaluate_input_once(rows_input(copies = TRUE), x)
  group <- evaluate_once(enquo(group), x)
  horizon <- input$design$horizon
  read <- function(part) {
    predictions <- predictions_of(part, input, call)
    check_validated(predictions, call)
    notion <<- notion %||% if (n_classes(predictions) == 2) "binary" else "class_wise"
    groups <- validation_groups(group, part, predictions$rows, input, call)
    validated_problems(predictions, groups, notion, horizon, call)
  }
  if (has_sums(x)) {
    check_no_group(group, call)
    edges <- c(options$thresholds, options$thresholds * (1 - 2^-53))
    asked <- list(notion = notion, edges = c(setNames(edges, rep("thresholds", length(edges))),
                                             floor_edges(options$floor)))
    return(validate_sums(x, c(input, asked), options, call))
  }
  data <- read_curves(x, input$by, read, call)
  new_validation(data, notion, horizon, options, call)
}

# The checked options of a validation.
validation_options <- function(thresholds, smoother, floor, times, delta, level, threads, call) {
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE, call = call)
  check_validation_times(times, call)
  check_delta(delta, call)
  check_level(level, call)
  list(thresholds = check_thresholds(thresholds, call),
       smoother = check_choice(smoother, c("loess", "isotonic"), call = call), span = 0.75, floor = floor,
       times = times, delta = delta, level = level, threads = resolve_threads(threads, call))
}

check_no_group <- function(group, call) {
  stop_if(!rlang::quo_is_null(group), "{.arg group} needs rows, which states and tables do not send.",
          "x" = "It is given.", "i" = "{.arg .by} validates the groups of a table each on its own.",
          class = "unsupported", arg = "group", call = call)
}

# In place of the calibration error of a table whose sums do not have it.
no_ladder <- function(cnd) {
  c(lapply(setNames(nm = c("estimate", "std.error", "low", "high", "p.value", "resolution")), function(name) NA_real_),
    reason = paste0("No calibration error: in a database ", cnd$rule, "."))
}

# The validation of a state or a table.
validate_sums <- function(x, input, options, call) {
  problems <- list()
  table <- by_predictions(x, function(predictions) {
    check_validated(predictions, call)
    about <- validation_about(predictions, predictions$notion, NULL)
    problem <- predictions$problem
    if (!is.null(problem$cells)) {
      problem[c("n", "events", "log")] <- predictions[c("n", "events", "log")]
      problem$n <- problem$n + (predictions[["censored"]] %||% 0)
      problem$ladder <- rlang::try_fetch(predictions$ladder(options$level, options$threads),
                                         calibrisk_error_headline = function(cnd) no_ladder(cnd))
    }
    problem$about <- about
    problems[[length(problems) + 1]] <<- problem
    columns_frame(place = length(problems))
  }, input, call)
  table <- table[!is.na(table$place), ]
  keys <- table[setdiff(names(table), "place")]
  data <- list(problems = problems[table$place], keys = lapply(seq_len(nrow(keys)), function(i) keys[i, ]))
  replace(new_validation(data, problems[[1]]$about$notion, NULL, options, call, attr(table, "design")), "data",
          list(NULL))
}

check_validated <- function(predictions, call) {
  stop_if(predictions$na, "Missing values cannot be validated.", "i" = "Use {.code na_rm = TRUE} to drop them.",
          class = "missing", arg = "na_rm", call = call)
}

# The facts that the page states about predictions.
validation_about <- function(predictions, notion, horizon) {
  list(dropped = predictions$dropped, axis = probability_of(predictions), notion = notion,
       event = list(label = event_label(predictions, notion, horizon),
                    hint = event_hint(predictions, notion, horizon)))
}

# The predictions as problems, with these facts.
validated_problems <- function(predictions, groups, notion, horizon, call) {
  about <- validation_about(predictions, notion, horizon)
  problems <- notion_problems(predictions, notion, call)
  lapply(seq_along(problems), function(k) {
    # rows are dropped once, of all classes
    if (k > 1) about$dropped <- 0
    c(problems[[k]], list(group = groups, about = about))
  })
}

# `data`: what read_curves() returns; `said`: how rows count, where their designs do not say it.
new_validation <- function(data, notion, horizon, options, call, said = NULL) {
  keys <- vctrs::vec_rbind(!!!data$keys)
  parts <- lapply(data$problems, validate_problem, options, call)
  designs <- lapply(data$problems, `[[`, "design")
  about <- lapply(data$problems, `[[`, "about")
  last <- about[[length(about)]]
  structure(
    list(
      table = bind_parts(keys, lapply(parts, `[[`, "table")), data = list(keys = keys, read = data),
      sample = bind_parts(keys, lapply(data$problems, validation_sample)),
      notes = lapply(parts, `[[`, "notes"), resolution = vapply(parts, `[[`, 0, "resolution"),
      keys = names(keys), notion = notion, level = options$level,
      # of survival outcomes the line of each sample has counted the rows
      design = c(said %||% design_sentence(designs, rows = is.null(horizon)),
                 few_clusters_sentence(unlist(lapply(parts, `[[`, "least")), options$level)),
      dropped = sum(vapply(about, `[[`, 0, "dropped")),
      horizon = horizon$time, axis = last$axis, event = last$event, threads = options$threads
    ),
    class = "ce_validation"
  )
}

check_validation_notion <- function(notion, call) {
  stop_if(
    identical(notion, "canonical"), "A validation needs one probability per row, or each class against the rest.",
    "x" = "{.arg notion} is {.val canonical}.",
    "i" = "Use {.val binary}, {.val top_label} or {.val class_wise}; {.fn ce_estimate} estimates the canonical error.",
    class = c("notion", "argument"), arg = "notion", value = notion, call = call
  )
}

check_validation_times <- function(times, call) {
  check_count(times, lower = 0, call = call)
  if (times > 0) check_count(times, lower = 20, call = call)
}

check_thresholds <- function(thresholds, call = caller_env()) {
  # none: no utility
  if (is.numeric(thresholds) && length(thresholds) == 0) return(thresholds)
  unique(check_numbers(thresholds, lower = 0, upper = 1, open = TRUE, call = call))
}

# NULL, or list(rows, labels, values, weights) of the rows that are used. With a horizon each group has weights of its
# own (of each copy), so that its numbers are those of `.by` and of the group alone.
validation_groups <- function(group, part, rows, input, call) {
  if (rlang::quo_is_null(group)) return(NULL)
  values <- if (is.data.frame(part)) {
    columns <- select_columns(group, part, "group", call)
    ungroup_frame(part)[unname(columns)]
  } else {
    given <- row_vector(group, "group", call)
    if (is.data.frame(given)) given else drop_null(list(group = given))
  }
  values <- vctrs::new_data_frame(as.list(values))
  for (value in values) check_text(value, "group", call)
  if (ncol(values) == 0) return(NULL)
  stop_if(nrow(values) != NROW(part), "{.arg group} must have a value for every row.",
          "x" = "It has {nrow(values)}, {.arg x} has {NROW(part)} row{?s}.", class = c("length", "argument"),
          arg = "group", call = call)
  weights <- if (!is.null(input$design$horizon)) {
    raw <- suppressMessages(read_design(input$design, part, NROW(part), call))
    own <- group_weights(input$truth, part, vctrs::vec_group_id(values), input$design$horizon, call, raw$weights)
    (own * if (identical(raw$kind, "importance")) raw$weights else 1)[rows]
  }
  values <- vctrs::vec_slice(values, rows)
  found <- vctrs::vec_group_loc(values)
  found <- vctrs::vec_slice(found, level_order(found$key))
  labels <- key_labels(found$key)
  drop_null(list(rows = as.list(found$loc), labels = labels, values = values, weights = weights))
}

validation_sample <- function(problem) {
  design <- problem$design
  prevalence <- row_mean(as.numeric(problem$labels), design)
  columns_frame(!!!drop_null(list(
    n = problem$n %||% entered_rows(design),
    events = problem$events %||% copy_count(design_rows(design, problem$labels == 1)), prevalence = prevalence,
    mean_prediction = row_mean(problem$features[, 1], design),
    n_effective = if (equal_copies(design)) problem$n %||% copy_count(design) else 1 / weight_concentration(design),
    n_clusters = if (is.null(design$cluster)) NA_integer_ else as.integer(cluster_count(design)),
    n_censored = design$follow_up$censored
  )))
}

#' Tables and figure of a validation
#'
#' @param x,object A result of [ce_validate()].
#' @param type A curve, or its name, as for [ce_curve()].
#' @param numbers Whether the figure shows the O:E ratio, intercept, slope, C statistic, Brier score, calibration error,
#'   and the numbers of rows and events; they are in the legend if curves share a panel.
#' @param ... For `autoplot()` and `plot()`: passed on to [autoplot.ce_curve()].
#' @return `tidy()`, `glance()`: tibbles, see [ce_validate()]. `autoplot()`: a ggplot object. `plot()` draws it and
#'   returns `x`.
#' @order 1
#' @name ce_validation_tables
#' @export
#' @examples
#' p <- seq(0.02, 0.98, length.out = 200)
#' validation <- ce_validate(p, rep(c(0, 1, 0, 1), 50) > 1 - p, times = 0)
#' glance(validation)
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(validation)
tidy.ce_validation <- function(x, ...) x$table

#' @rdname ce_validation_tables
#' @export
glance.ce_validation <- function(x, ...) x$sample

# The curve is drawn from the data that the validation has read.
validation_curve <- function(x, type = "smooth", call = caller_env()) {
  curve <- as_choice(type, "curve", "type", call = call)
  stop_if(is.null(x$data), "The curve of a validation needs rows.", "x" = "It is that of a state or a table.",
          "i" = "{.fn ce_curve} draws a sample of the rows.", class = "unsupported", arg = "object", call = call)
  bind_curves(x$data$read, x$data$keys, curve, x$level, x$threads, x$notion, x$axis, x$event$label, call)
}
