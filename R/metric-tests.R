#' Classical regression and test statistics of calibration
#'
#' Cox's intercept and slope, Spiegelhalter's z and the Hosmer-Lemeshow statistic, for scalar predictions.
#'
#' # Definition
#' * `cox_calibration()`: the logistic regression `logit P(Y = 1) = a + b logit(p)`; calibrated predictions have `a =
#'   0`, `b = 1`. Rows: `"cox_intercept"` and `"cox_slope"` of that model, `"cox_in_the_large"`, the intercept with the
#'   slope held at 1, and `"cox_joint"`, the likelihood ratio to `a = 0, b = 1` (Cox 1958), with two degrees of freedom.
#'   The others have Wald's interval and p-value. They are robust with importance weights or clusters, with Student's
#'   distribution if events or non-events are fewer than 30. Outcomes of up to 20,000 weighted rows without `cluster`
#'   are redrawn from the predictions too: the larger p-value and the wider interval count. The error in the large is
#'   robust otherwise too, if that is larger, as with a slope far from 1.
#' * `spiegelhalter()`: `z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p))`, standard normal for calibrated
#'   predictions (Spiegelhalter 1986); `p.value` is two-sided.
#' * `hosmer_lemeshow()`: `sum_g (O_g - E_g)^2 / (E_g (1 - E_g / N_g))` over `n_groups` groups of nearly equal size.
#'   `df` is the number of groups, or two less with `fitted = TRUE`. If groups have fewer than five events (or other
#'   rows) on average, or one fewer than one, `p.value` is that of the predictions: exact, with weights (whose
#'   effective numbers count) of redrawn outcomes; `df` is then `NA`. `cluster` is an error of class
#'   `calibrisk_error_cluster`.
#'
#' The Hosmer-Lemeshow test depends on the arbitrary number of groups, has little power in small samples and rejects
#' every useful model in large ones. Prefer an estimate with an interval, such as [ce_estimate()]. *Notation* has the
#' weighted forms.
#' # Errors
#' `calibrisk_error_logit` where a prediction is exactly 0 or 1 and no `floor` is given. Separated data, outcomes all
#' equal and constant predictions have no finite estimate: the result is `NA`, `converged` is `FALSE`, and a warning of
#' class `calibrisk_warning_convergence` says so.
#' @inheritParams ks_error
#' @param notion `"top_label"` or `"binary"`; see [ce_args].
#' @param floor `NULL`, or the number to which predictions of exactly 0 (and, mirrored, 1) are raised.
#' @return Tibbles with `.metric`, `.estimator`, `.estimate`, `p.value`, `n` and `notion`; for Cox also
#' `std.error`, `conf.low`, `conf.high` (Wald), `converged` and `level`; for Hosmer-Lemeshow
#' also `df` and `n_groups`.
#' @references Cox (1958) Two further applications of a model for binary regression, *Biometrika* 45;
#'   Spiegelhalter (1986) \doi{10.1002/sim.4780050506};
#'   Hosmer and Lemeshow (1980) \doi{10.1080/03610928008827941}.
#' @concept calibration slope
#' @concept calibration intercept
#' @concept calibration in the large
#' @concept Spiegelhalter test
#' @concept Hosmer-Lemeshow test
#' @concept Cox recalibration
#' @name classical_tests
#' @examples
#' p <- c(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.5)
#' y <- c(0, 0, 1, 0, 1, 0, 1, 1, 1, 0)
#' cox_calibration(p, y)
#' spiegelhalter(p, y)
NULL

#' @rdname classical_tests
#' @export
cox_calibration <- new_metric("cox_calibration", function(x, truth, ..., floor = NULL, notion = NULL,
                                       level = 0.95, .by = NULL, event_level = "first",
                                       na_rm = TRUE, weights = NULL, cluster = NULL, horizon = NULL) {
  notion <- check_one_problem(notion)
  check_number(floor, lower = 0, upper = 0.5, open = TRUE, null = TRUE)
  check_level(level)
  metric_frame(x, rows_input(quote_dots, copies = TRUE), paste0("cox_", cox_terms), function(predictions) {
    problem <- notion_problems(predictions, notion)[[1]]
    columns <- cox_columns(problem, floor, level)
    error <- cell_error_text(columns$error)
    c(columns[names(columns) != "error"],
      list(n = n_obs(predictions), .notes = if (!is.null(error)) paste0("Cox's regression: ", error, ".")))
  }, choices = list(notion = notion, level = level), edges = floor_edges(floor))
}, "zero", c(-Inf, Inf))

# Predictions of a cell that ends there are raised together.
floor_edges <- function(floor) c(floor = as.numeric(floor), floor = if (!is.null(floor)) 1 - floor)

# Cox's regression in columns; of a state with its error, since rows stand for those of cells. `robust`: whether errors
# come from the outcomes of independent, unweighted rows too.
cox_columns <- function(problem, floor, level, robust = FALSE) {
  if (is.function(problem$whole)) {
    # from the rows that stand for those of a state's cells; `error`: the difference to fewer of them
    of <- function(...) cox_columns(problem$whole(...), floor, level, robust)
    own <- of()
    fewer <- unsaid(of(fewer = TRUE), warning_class("convergence"))
    return(c(own, list(error = max(abs(own$.estimate - fewer$.estimate), 0, na.rm = TRUE))))
  }
  p <- problem$features[, 1]
  y <- as.numeric(problem$labels)
  if (!is.null(floor)) p <- pmin(pmax(p, floor), 1 - floor)
  # the range first: it needs no column of answers
  bad <- if (any(range(p) == c(0, 1))) which(p == 0 | p == 1)
  some <- is.null(floor) && isTRUE(problem$extreme)
  stop_if(
    some || length(bad) > 0,
    "Cox's regression needs predictions strictly between 0 and 1 (see {.arg floor}): others have infinite logits.",
    "x" = if (some) "Some are 0 or 1." else
      "Prediction {bad[1]} is {.val {p[bad[1]]}}; 0 or 1: {length(bad)} of {length(p)}.",
    "i" = "Give {.arg floor}, for example {.code floor = 1e-6}; the estimate will depend on it.", class = "logit",
    arg = "x", row = bad[1]
  )
  design <- problem$design
  alike <- !robust && is_unweighted(design)
  copies <- if (alike) design$copies
  unit <- if (is.null(copies)) 1 else mean(copies)
  w <- if (is.null(copies)) relative_weights(design) else copies / unit
  z <- stats::qlogis(p)
  fit <- cpp_cox(z, y, w %||% numeric(), unit, qnorm((1 + level) / 2))
  warn_if(!all(fit$ok), "Cox's regression has no finite estimate.", "i" = "{logistic_failure(matrix(z), y, fit$apart)}",
          class = "convergence")
  columns <- if (alike) fit$columns else cox_redrawn(cox_robust(fit, z, y, design, level), problem, z, level)
  c(lapply(columns, function(v) ifelse(fit$ok, v, NA_real_)), list(converged = fit$ok))
}

# Where weights depend on the prediction, few rows make the statistics: outcomes of independent rows are redrawn too.
cox_redrawn <- function(columns, problem, z, level) {
  design <- problem$design
  n <- design$copies %||% numeric()
  known <- !cpp_equal_copies(design) && is.null(design$resampled) && are_alone(design) && all(n == round(n))
  if (!known || copy_count(design) > most_redrawn$rows) return(columns)
  cpp_cox_redrawn(columns, problem$features[, 1], z, design$w, n, level, joint_redraws, thread_count())
}

# The ratio of observed to expected events, its interval on the log scale. Few events have the binomial limits of their
# number (Clopper and Pearson 1934), which hold for the sum of events of any risks, and the test that agrees with them.
oe_columns <- function(problem, level) {
  y <- as.numeric(problem$labels)
  p <- problem$features[, 1]
  observed <- row_mean(y, problem$design)
  expected <- row_mean(p, problem$design)
  ratio <- observed / expected
  out <- scaled_columns(ratio, ratio * (y / observed - p / expected), problem$design, level, log_scale, null = 1)
  design <- problem$design
  # of weights and clusters where none has an event
  alike <- is_unweighted(design)
  n <- if (alike) copy_count(design) else min(1 / weight_concentration(design), cluster_count(design))
  events <- observed * n
  if (!isTRUE(expected > 0 && (observed %in% c(0, 1) || alike && events < 20))) return(out)
  # sums of cells are off by rounding
  events <- min(if (alike) round(events) else events, n)
  out[c("conf.low", "conf.high")] <- lapply(cpp_clopper_pearson(events, n, (1 - level) / 2), `/`, expected)
  chance <- stats::pbeta(expected, events + 0:1, n - events + 1:0)
  replace(out, "p.value", list(min(1, 2 * chance[1], 2 * (1 - chance[2]))))
}

# NULL where there is none.
cell_error_text <- function(error) {
  if (is.null(error) || error == 0) return(NULL)
  paste0("error of the cells at most ", format(10^ceiling(log10(error)), digits = 1))
}

# Weights and clusters: the influence of a row is its score times the inverse of the mean second derivative, for any
# distribution of the outcomes; Wald's tests.
cox_robust <- function(fit, z, y, design, level) {
  # the weights of the fit are 1 on average
  both <- logistic_influence(fit$both, cbind(1, z, deparse.level = 0), y, design)
  large <- logistic_influence(fit$large, matrix(1, length(z)), y, design, z)
  value <- c(fit$both$theta, fit$large$theta)
  rows <- list(both[, 1], both[, 2], large[, 1])
  # few events are few terms, in however many clusters
  df <- min(cpp_design_df(design), cpp_few_events(y, replace(design, "cluster", list(NULL))) - 1)
  estimates <- Map(function(v, psi) new_estimate(v, psi, design, smallest = -Inf, df = df), value, rows)
  out <- summarise_estimates(estimates, level)
  z <- (value - c(0, 1, 0)) / out$std.error
  joint <- wald_test(value[1:2] - c(0, 1), cpp_row_covariance(both, design), df)
  list(.estimate = c(value, joint$statistic), std.error = c(out$std.error, NA),
       conf.low = c(out$conf.low, NA), conf.high = c(out$conf.high, NA),
       p.value = c(2 * if (df < 1) z * NA else stats::pt(-abs(z), df), joint$p.value))
}

# x' V^-1 x of q numbers: chi-squared; with V from df + 1 clusters (df + 1 - q) / (q df) times it is F (Hotelling).
wald_test <- function(x, covariance, df) {
  q <- length(x)
  if (df <= q || !all(is.finite(covariance)) || rcond(covariance) < 1e-14) {
    return(list(statistic = NA_real_, p.value = NA_real_))
  }
  statistic <- sum(x * solve(covariance, x))
  p <- if (!is.finite(df)) stats::pchisq(statistic, q, lower.tail = FALSE) else
    stats::pf(statistic * (df + 1 - q) / (q * df), q, df + 1 - q, lower.tail = FALSE)
  list(statistic = statistic, p.value = p)
}

#' @rdname classical_tests
#' @export
spiegelhalter <- new_metric("spiegelhalter", function(x, truth, ..., notion = NULL, .by = NULL,
                                     event_level = "first", na_rm = TRUE,
                                     weights = NULL, cluster = NULL, horizon = NULL) {
  notion <- check_one_problem(notion)
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "spiegelhalter", function(predictions) {
    rows <- scalar_rows(predictions, notion)
    c(spiegelhalter_columns(rows$prob, rows$outcome, predictions$design), list(n = n_obs(predictions)))
  }, choices = list(notion = notion), edges = numeric())
}, "zero", c(-Inf, Inf))

# Outcomes of a cluster are not independent, not even of calibrated predictions: its variance is then that of the
# clusters' sums. Weights may depend on the outcome given the prediction.
spiegelhalter_columns <- function(prob, outcome, design) {
  sums <- cpp_spiegelhalter(prob, outcome, design$w, if (!is.null(design$w)) copy_powers(design, 2))
  clustered <- !is.null(design$cluster)
  error <- if (!clustered) sqrt(sums[3]) else
    cpp_row_std_error((outcome - prob) * (1 - 2 * prob), design) * total_weight(design)
  z <- sums[1] / error
  if (sums[2] == 0) {
    z <- NA_real_
    warn_result("Spiegelhalter's statistic is not defined: all predictions are 0, 0.5 or 1.", class = "convergence")
  }
  list(.estimate = z, p.value = 2 * if (clustered) stats::pt(-abs(z), cpp_design_df(design)) else pnorm(-abs(z)))
}

#' @rdname classical_tests
#' @param n_groups Number of groups.
#' @param fitted Were the predictions fitted to these outcomes?
#' @export
hosmer_lemeshow <- new_metric("hosmer_lemeshow", function(x, truth, ..., n_groups = 10, fitted = FALSE,
                                       notion = NULL, .by = NULL,
                                       event_level = "first", na_rm = TRUE,
                                       weights = NULL, cluster = NULL, horizon = NULL) {
  notion <- check_one_problem(notion)
  check_count(n_groups, lower = 3)
  check_flag(fitted)
  tell("i" = "The Hosmer-Lemeshow test depends on the number of groups, and on the number of rows \\
              more than on the model; prefer an estimate with an interval.", class = "hosmer_lemeshow",
       .frequency = "once", .frequency_id = "calibrisk_hosmer_lemeshow")
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "hosmer_lemeshow", function(predictions) {
    c(hosmer_columns(notion_problems(predictions, notion)[[1]], n_groups, fitted), list(n = n_obs(predictions)))
  }, choices = list(notion = notion))
}, "minimize", c(0, Inf))

hosmer_columns <- function(problem, n_groups, fitted) {
  stop_if(!is.null(problem$design$cluster), "The Hosmer-Lemeshow test needs independent rows.",
          "x" = "{.arg cluster} says that they are not: {max(problem$design$cluster)} clusters of \\
                 {copy_count(problem$design)} rows.",
          "i" = "Use {.fn cox_calibration} or {.fn spiegelhalter} with {.arg cluster}, or \\
                 {.code ce_test(test = \"joint\")}.", class = c("cluster", "argument"), arg = "cluster")
  sorted <- sort_problem(problem)
  found <- cpp_hosmer(sorted, mass_ends(sorted, n_groups), !cpp_equal_copies(problem$design), fitted, thread_count())
  list(.estimate = found[1], p.value = found[2], df = found[3], n_groups = found[4])
}

# For every place the share of the mass below it plus half of the mass at it; places 1, 2, ..., each with a row.
share_below <- function(mass, place) {
  mass <- rowsum(mass, place)[, 1] / sum(mass)
  unname(cumsum(mass) - mass / 2)[place]
}
