#' Validate a risk model: the hierarchy of calibration
#'
#' Computes the numbers of a validation report in one call: mean, weak, moderate and strong calibration in the terms of
#' Van Calster et al. (2016), discrimination, overall performance and utility, each with a confidence interval.
#'
#' @inheritParams ece
#' @inheritParams ce_args
#' @param x Predictions, see [ce_args]; or a list, one per model.
#' @param group Patterns within which predictions should be calibrated too.
#' @param thresholds Threshold probabilities for net benefit.
#' @param notion `"binary"`, `"top_label"` or `"class_wise"`; see [ce_args].
#' @param delta `NULL`, or a calibration error to exclude; see [ce_test()].
#' @param floor Smallest probability whose logit is taken in the regressions.
#' @param times Number of bootstrap samples for the smooth terms: 20 or more, or 0.
#' @return A `ce_validation`. `tidy()` returns a tibble with the models, groups and classes, then `level`, `term`,
#'   `estimate`, `std.error`, `conf.low`, `conf.high`, `p.value`; pages leave out `joint`, `e50` and `eci`. `glance()`
#'   returns one row per model, group and class with `n`, `events`, `prevalence`, `mean_prediction`, `n_effective` and
#'   `n_clusters`; with `horizon` also `n_censored`, the number of rows censored before it, which are not in `n`.
#'   `autoplot()` and `plot()` draw the smooth calibration curve with its bands.
#'
#' @section Definitions:
#' * **mean**: `oe_ratio` \eqn{= \bar y / \bar p}; `in_the_large`, the intercept of a logistic regression with offset
#'   \eqn{logit(p)}.
#' * **weak**: `intercept` and `slope` of the logistic regression on \eqn{logit(p)}, and their joint test (`joint`), see
#'   [cox_calibration()]. A slope above 1 means that the risks are too moderate.
#' * **moderate**: `ici`, `e50`, `e90`, `emax` of [ici()]; `eci` \eqn{= \overline{(p - c)^2} / \overline{(p - \bar
#'   y)^2}} with the loess curve \eqn{c}; `calibration_error` of [ce_estimate()], and with `delta` the test of
#'   [ce_test()], `equivalence(delta)`.
#' * **strong**, with `group`: for each group `oe_ratio` and `calibration_error`, and `all_groups`, whose `p.value`
#'   tests that all groups are calibrated (Bonferroni).
#' * **discrimination**: `auroc`, the C statistic.
#' * **overall**: `brier`; `scaled_brier` \eqn{= 1 - brier / (\bar y (1 - \bar y))}, also called the index of prediction
#'   accuracy; `log_loss`, in nats.
#' * **utility**: `net_benefit(c)` \eqn{= \overline{1\{p \ge c\} (y - c)} / (1 - c)} per row, see [ce_decision()].
#' @section Intervals:
#' Intervals come from the influence of each row; with few events they are exact, Wilson's, (`scaled_brier`) without
#' the skewness, or (`brier`, `log_loss`) on the log scale. `intercept` and `slope` have the likelihood's errors,
#' `in_the_large` the robust one if larger, smooth terms a bootstrap as in [ici()]. A line below explains `NA`.
#' @section Several horizons, states and tables:
#' `horizon = c(12, 24, 60)` takes a column of predictions for each time, in their order. The page shows the times side
#' by side, and adjusts its verdict by Holm's rule. `tidy()` has a column `horizon`, `plot()` draws numbers over time.
#'
#' A [ce_state()], also that of a table with more than 5,000,000 rows, stands for the rows by sums over narrow cells.
#' `auroc` agrees to about 1e-4, `ici` to 1%, `eci` to 3%, `e50`, `e90` and `emax` to 10%, other estimates to 1e-8.
#' `thresholds` and `floor` of a state must be edges of its cells. There is no `group`, no class-wise validation and no
#' figure.
#' @section Errors:
#' Those of [ce_args], and `_argument` for `thresholds` or `delta` outside (0, 1).
#' @references Van Calster, B. et al. (2016). A calibration hierarchy for risk models was defined: from utopia to
#'   empirical data. *Journal of Clinical Epidemiology* 74, 167-176. \doi{10.1016/j.jclinepi.2015.12.005}
#' @seealso The vignette *Notation* for the rules; [ce_panel()], [ce_curve()].
#' @concept calibration slope
#' @concept calibration intercept
#' @concept calibration in the large
#' @concept observed to expected ratio
#' @concept external validation
#' @concept AUC
#' @concept C statistic
#' @concept Brier score
#' @concept risk prediction model
#' @concept subgroup
#' @concept fairness
#' @concept discrimination
#' @export
#' @examplesIf requireNamespace("MASS", quietly = TRUE)
#' fit <- glm(type ~ npreg + glu + bmi, binomial, MASS::Pima.tr)
#' women <- MASS::Pima.te
#' women$risk <- predict(fit, women, type = "response")
#' validation <- ce_validate(women, type, risk, event_level = "second", times = 50)
#' validation
#' tidy(validation)
ce_validate <- function(x, truth, ..., group = NULL, thresholds = c(0.1, 0.5), delta = NULL, notion = NULL,
                        floor = NULL, times = 200, level = 0.95, .by = NULL, event_level = "first", weights = NULL,
                        cluster = NULL, horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  horizons <- split_horizon(horizon)
  if (!is.null(horizons)) {
    same <- list(group = enquo(group), thresholds = thresholds, delta = delta, notion = notion, floor = floor,
                 times = times, level = level, .by = enquo(.by), event_level = event_level, weights = enquo(weights),
                 cluster = enquo(cluster))
    return(validate_horizons(x, enquo(truth), column_dots(...), same, horizons))
  }
  check_notion(notion)
  check_validation_notion(notion)
  options <- validation_options(thresholds, floor, times, delta, level)
  x <- read_table(x, FALSE)
  input <- evaluate_input_once(rows_input(copies = TRUE), x)
  group <- evaluate_once(enquo(group), x)
  followed <- input$design$horizon
  if (is_models(x) && !is.null(x[[1]]$design$follow_up)) followed <- list(time = x[[1]]$design$follow_up$horizon)
  read <- function(part) {
    predictions <- predictions_of(part, input)
    notion <<- notion %||% if (n_classes(predictions) == 2) default_notion(predictions) else "class_wise"
    groups <- validation_groups(group, part, predictions$rows, input)
    with_read(validated_problems(predictions, groups, notion, followed), predictions)
  }
  if (has_sums(x)) {
    stop_if(!rlang::quo_is_null(group), "{.arg group} needs rows, in place of which states keep sums.",
            "x" = "It is given.", class = "unsupported", arg = "group")
    edges <- c(options$thresholds, options$thresholds * (1 - 2^-53))
    asked <- list(notion = notion, edges = c(setNames(edges, rep("thresholds", length(edges))),
                                             floor_edges(options$floor)))
    return(validate_sums(x, c(input, asked), options))
  }
  several <- length(x) > 1 && (is_models(x) || is_bare_list(x))
  data <- read_curves(x, input$by, read)
  out <- new_validation(data, notion, followed, options)
  out$several_models <- several
  out
}

# The checked options of a validation.
validation_options <- function(thresholds, floor, times, delta, level) {
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE)
  check_count(times, lower = if (isTRUE(times == 0)) 0 else 20)
  check_delta(delta)
  check_level(level)
  # none: no utility
  if (!is.numeric(thresholds) || length(thresholds) > 0) {
    thresholds <- unique(check_numbers(thresholds, lower = 0, upper = 1, open = TRUE))
  }
  list(thresholds = thresholds, smoother = "loess", span = 0.75, floor = floor, times = times, delta = delta,
       level = level)
}

# The validation of a state.
validate_sums <- function(x, input, options) {
  table <- by_predictions(x, function(predictions) {
    about <- validation_about(predictions, predictions$notion, NULL)
    problem <- predictions$problem
    if (!is.null(problem$cells)) {
      problem[c("n", "events", "log")] <- predictions[c("n", "events", "log")]
      problem$n <- problem$n + (predictions[["censored"]] %||% 0)
      problem$ladder <- predictions$ladder(options$level)
    }
    problem$about <- about
    columns_frame(problem = list(problem))
  }, input)
  keys <- table[setdiff(names(table), "problem")]
  data <- list(problems = table$problem, keys = lapply(seq_len(nrow(keys)), function(i) keys[i, ]))
  notion <- table$problem[[1]]$about$notion
  replace(new_validation(data, notion, NULL, options, attr(table, "design")), "data", list(NULL))
}

# The facts that the page states about predictions.
validation_about <- function(predictions, notion, horizon) {
  list(dropped = predictions$dropped, rows = predictions$rows, axis = probability_of(predictions), notion = notion,
       event = list(label = event_label(predictions, notion, horizon), hint = event_hint(predictions, notion, horizon)))
}

# The predictions as problems, with these facts.
validated_problems <- function(predictions, groups, notion, horizon) {
  about <- validation_about(predictions, notion, horizon)
  problems <- notion_problems(predictions, notion)
  lapply(seq_along(problems), function(k) {
    # rows are dropped once, of all classes
    if (k > 1) about$dropped <- 0
    c(problems[[k]], list(group = groups, about = about))
  })
}

# `data`: what read_curves() returns; `said`: how rows count, where their designs do not say it.
new_validation <- function(data, notion, horizon, options, said = NULL) {
  keys <- vctrs::vec_rbind(!!!data$keys)
  parts <- lapply(data$problems, validate_problem, options)
  designs <- lapply(data$problems, `[[`, "design")
  about <- lapply(data$problems, `[[`, "about")
  last <- about[[length(about)]]
  structure(
    list(
      table = bind_parts(keys, lapply(parts, `[[`, "table")), data = list(keys = keys, read = data),
      sample = bind_parts(keys, lapply(data$problems, validation_sample)),
      notes = lapply(parts, `[[`, "notes"), resolution = vapply(parts, `[[`, 0, "resolution"),
      keys = names(keys), notion = notion, level = options$level,
      # of groups, for what compares them
      outcome_errors = if (length(parts) > 1) lapply(data$problems, outcome_errors, options),
      # of survival outcomes the line of each sample has counted the rows
      design = c(said %||% design_sentence(designs, rows = is.null(horizon)),
                 few_clusters_sentence(unlist(lapply(parts, `[[`, "least")), options$level)),
      dropped = sum(vapply(about, `[[`, 0, "dropped")),
      df = vapply(designs, cpp_design_df, 0), horizon = named_horizon(horizon), axis = last$axis, event = last$event
    ),
    class = c("ce_validation", "ce_result")
  )
}

check_validation_notion <- function(notion) {
  stop_if(
    identical(notion, "canonical"), "A validation needs one probability per row, or each class against the rest.",
    "x" = "{.arg notion} is {.val canonical}.",
    "i" = "Use {.val binary}, {.val top_label} or {.val class_wise}; {.fn ce_estimate} estimates the canonical error.",
    class = c("notion", "argument"), arg = "notion", value = notion
  )
}

# NULL, or list(rows, labels, values, weights) of the rows that are used. With a horizon each group has weights of its
# own (of each copy), so that its numbers are those of `.by` and of the group alone.
validation_groups <- function(group, part, rows, input) {
  if (rlang::quo_is_null(group)) return(NULL)
  values <- if (is.data.frame(part)) {
    columns <- select_columns(group, part, "group")
    ungroup_frame(part)[unname(columns)]
  } else {
    given <- row_vector(group, "group")
    if (is.data.frame(given)) given else drop_null(list(group = given))
  }
  values <- vctrs::new_data_frame(as.list(values))
  for (value in values) check_text(value, "group")
  if (ncol(values) == 0) return(NULL)
  # of one of several models there are the predictions that were read
  n <- if (is.list(part) && !is.data.frame(part)) part$n_input else NROW(part)
  stop_if(nrow(values) != n, "{.arg group} must have a value for every row.",
          "x" = "It has {nrow(values)}, {.arg x} has {n} row{?s}.", class = c("length", "argument"),
          arg = "group")
  weights <- if (!is.null(input$design$horizon)) {
    raw <- unsaid(read_design(input$design, part, NROW(part)), "calibrisk_message")
    own <- group_weights(input$truth, part, vctrs::vec_group_id(values), input$design$horizon, raw$weights)
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
    n_effective = if (cpp_equal_copies(design)) problem$n %||% copy_count(design) else 1 / weight_concentration(design),
    n_clusters = if (is.null(design$cluster)) NA_integer_ else as.integer(cluster_count(design)),
    n_censored = design$follow_up$censored
  )))
}

#' Tables and figure of a validation
#'
#' @param x,object A result of [ce_validate()]; at several horizons its figure takes no other argument.
#' @param type A curve, or its name, as for [ce_curve()].
#' @param numbers Whether the figure shows the O:E ratio, intercept, slope, C statistic, Brier score, calibration error,
#'   and the numbers of rows and events; they are in the legend if curves share a panel.
#' @param ... For `autoplot()`: passed on to [autoplot.ce_curve()].
#' @return `tidy()`, `glance()`: tibbles, see [ce_validate()]. `autoplot()`: a ggplot object.
#' @order 1
#' @name ce_validation_tables
#' @export
#' @examples
#' p <- seq(0.02, 0.98, length.out = 200)
#' validation <- ce_validate(p, rep(c(0, 1, 0, 1), 50) > 1 - p, times = 0)
#' glance(validation)
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(validation)
#'
#' # two horizons: a column of predictions for each
#' if (requireNamespace("survival", quietly = TRUE)) {
#'   veteran <- survival::veteran
#'   fit <- survival::coxph(survival::Surv(time, status) ~ karno, veteran)
#'   risks <- 1 - t(summary(survival::survfit(fit, veteran), times = c(60, 120))$surv)
#'   ce_validate(risks, survival::Surv(veteran$time, veteran$status), horizon = c(60, 120), times = 0)
#' }
tidy.ce_validation <- function(x, ...) x$table

#' @rdname ce_validation_tables
#' @export
glance.ce_validation <- function(x, ...) x$sample

# The curve is drawn from the data that the validation has read.
validation_curve <- function(x, type = "smooth") {
  curve <- as_choice(type, "curve", "type")
  stop_if(is.null(x$data), "The curve of a validation needs rows.",
          "x" = if (is.null(x$pooled)) "It is that of a state." else "It is pooled.",
          "i" = "{.fn ce_curve} draws a sample of the rows.", class = "unsupported", arg = "object")
  bind_curves(x$data$read, x$data$keys, curve, x$level, x$notion, x$axis, x$event$label)
}
