#' Calibration of predicted means and variances
#'
#' How the predicted means and variances of a regression fit the outcomes: bias, mean squared error, the
#' ratio of squared error to variance, the Dawid-Sebastiani score, and what a recalibration gains.
#'
#' @return A tibble with a row per quantity: `predictions` (`"before"`, `"after"`, `"gain"`; with `after` only),
#'   `quantity`, `estimate`, `std.error` (of slopes: robust to unequal variances), `conf.low`, `conf.high`, `p.value`
#'   (of the target, from outcomes redrawn from the predictions; `NA` without a target, for means and variances without
#'   a distribution, and with clusters), `target` (its value under calibration, `NA` where there is none) and `n`. A
#'   variance of 0 makes `ratio` and `dss` infinite unless the mean is exact (`NA` if some are and some are not); a
#'   slope is `NA` where its predictor is constant.
#' @section Definition:
#' With predicted mean \eqn{m_i}, variance \eqn{v_i} and \eqn{r_i = (m_i - y_i)^2}:
#' \describe{
#'   \item{`bias`}{mean of \eqn{m_i - y_i}; 0 under calibration.}
#'   \item{`mean_slope`}{slope of \eqn{y} on \eqn{m}; 1 if \eqn{E[Y|m] = m}.}
#'   \item{`mse`, `variance`}{means of \eqn{r_i} and \eqn{v_i}; equal under calibration.}
#'   \item{`variance_gap`}{mean of \eqn{v_i - r_i}; 0 under calibration.}
#'   \item{`variance_slope`}{slope of \eqn{r} on \eqn{v}, weighted by \eqn{1 / v^2}; 1 if \eqn{E[(Y - m)^2|v] = v}.}
#'   \item{`ratio`, `ratio_sd`}{mean and standard deviation of \eqn{r_i / v_i}; the mean is 1 under calibration, above
#'     1 for variances that are too small (Gruber & Buettner 2022, section 5, Table 2).}
#'   \item{`dss`}{mean Dawid-Sebastiani score \eqn{r_i / v_i + \log v_i}.}
#' }
#' Limits of `mse`, `variance_gap`, `variance_slope` and `ratio` take the skewness of squared errors out (Hall 1992).
#' The standard errors of `variance_gap` and `variance_slope` are at least those of squared errors whose variance is in
#' proportion to \eqn{v^2}; that of `mean_slope` is at least that of outcomes with the variances \eqn{v}. Limits of
#' distributions are at least as wide as those of estimates from redrawn outcomes, so up to the level 0.99 they contain
#' the target if the p-value is above one minus `level`. In 300 samples of 20 or 50 rows from seven right distributions
#' (normal, t with 4 degrees of freedom, gamma with the shapes 1/2 and 1, lognormal, Poisson, negative binomial) 95%
#' intervals missed in 0 to 5%.
#'
#' An ensemble ([pred_draws()]) is right if its members are exchangeable with the outcome. Its moments are those of a
#' sample, and `target` is the mean of the estimate over outcomes drawn from the members and the outcome.
#'
#' With `after`, the same for the recalibrated predictions and `dss_gain` and `mse_gain`, the paired differences
#' before minus after. If `after` is an injective map of the predictions that was fitted on other data, `dss_gain` is an
#' unbiased estimate of the difference of the calibration errors of the Dawid-Sebastiani score (Proposition 4.5). A map
#' with scale 0 is not injective: a warning of class `calibrisk_warning_injective` says so.
#'
#' @inheritParams ce_recalibrate
#' @param x Predictive distributions of one number ([pred]; for a data frame also as an expression, `pred_normal(mu,
#'   sigma)`). Or a matrix or data frame with two columns (for a data frame by default the two that start with
#'   `.pred_`), whose names say what they are: `mean`, `mu` or `.pred`, and `variance`, `var`, `sigma2`, or `sd`,
#'   `sigma`, with or without `.pred_`. Other names, and none, are an error of class `calibrisk_error_columns`.
#' @param after Recalibrated predictions of the same rows, or a `"variance"` map of [ce_recalibrate()],
#'   which is then applied to `x`.
#' @param level Confidence level.
#' @inheritParams ece
#' @concept regression
#' @concept variance calibration
#' @concept forecast
#' @concept prediction interval
#' @export
#' @examples
#' set.seed(1)
#' m <- rnorm(200)
#' y <- rnorm(200, m, 2)
#' x <- cbind(mean = m, variance = 1)
#' ce_moments(x, y)
#' map <- ce_recalibrate(x[1:100, ], y[1:100], method = "variance")
#' ce_moments(x[101:200, ], y[101:200], after = map)
ce_moments <- function(x, truth, ..., after = NULL, level = 0.95, .by = NULL,
                       weights = NULL, cluster = NULL) {
  check_level(level)
  input <- rows_input(copies = TRUE)
  stop_if(!is.null(after) && !inherits(after, "ce_recalibration") && !rlang::quo_is_null(input$by),
          "With {.arg .by}, {.arg after} must be a map.", arg = "after")
  by_groups(x, input$by, function(part) {
    before <- read_moments(part, input$truth, input$dots, design = input$design, any_family = TRUE)
    if (is.null(after)) return(moment_table(before, level))
    second <- read_after(part, after, before, input$truth, input$dots)
    vctrs::vec_cbind(
      columns_frame(predictions = rep(c("before", "after", "gain"), c(9, 9, 2))),
      vctrs::vec_rbind(moment_table(before, level), moment_table(second, level), gain_rows(before, second, level))
    )
  })
}

read_after <- function(x, after, before, truth, dots) {
  if (inherits(after, "ce_recalibration")) {
    stop_if(after$kind != "distribution", "{.arg after} must be a map of variances.",
            "x" = "It is {.val {after$method}}.", arg = "after")
    if (!after$injective$value) warn_not_injective(after$injective$reason, "score", FALSE)
    after <- predict(after, x)
  }
  if (is.data.frame(after)) {
    column <- names(select_columns(truth, ungroup_frame(x), "truth"))[1]
    after[[column]] <- x[[column]]
  }
  out <- read_moments(after, truth, dots, raw = before$raw, any_family = TRUE)
  if (!identical(before$rows, out$rows)) {
    both <- intersect(before$rows, out$rows)
    stop_input("{.arg x} and {.arg after} must be complete in the same rows.",
               "x" = "They share {length(both)} of {length(unique(before$rows))} and {length(unique(out$rows))}.",
               class = "length", arg = "after")
  }
  out
}

moment_rows <- function(quantity, estimate, std.error, target, design, level, skew = 0, p.value = NA_real_) {
  q <- design_quantile((1 + level) / 2, design)
  ok <- is.finite(std.error)
  columns_frame(quantity = quantity, estimate = ifelse(is.nan(estimate), NA_real_, estimate),
                std.error = ifelse(ok, std.error, NA_real_),
                conf.low = ifelse(ok, estimate - std.error * cpp_skewed_quantile(q, skew), NA_real_),
                conf.high = ifelse(ok, estimate - std.error * cpp_skewed_quantile(-q, skew), NA_real_),
                p.value = p.value, target = target, n = copy_count(design))
}

# Estimates with their errors: inst/include/calibrisk/classical/moments.h.
moment_table <- function(data, level) {
  quantities <- c("bias", "mean_slope", "mse", "variance", "variance_gap", "variance_slope", "ratio", "ratio_sd", "dss")
  targets <- if (all_finite(data$variance)) c(0, 1, NA, NA, 0, 1, 1, NA, NA) else c(0, 1, rep(NA, 7))
  # of sums of many outcomes only those of normal ones have a known distribution
  if (!is.null(data$law) && family_of(data$law) != "normal") data <- single_copies(data)
  found <- cpp_moments(data$mean, data$variance, data$outcome, data$design)
  rows <- moment_rows(quantities, found$table[, 1], found$table[, 2], targets, data$design, level, found$table[, 3])
  # clusters, and means and variances without a distribution, have no null
  if (is.null(data$law) || !is.null(data$design$cluster)) return(rows)
  with_moment_null(rows, moment_null(data, found$mean_row, found$variance_row), level)
}

# The estimates of outcomes redrawn from the predictions, [times x 6]: those of the outcomes are linear in outcomes or
# squared errors.
moment_null <- function(data, of_means, of_variances, most = 1e7) {
  n <- length(data$outcome)
  share <- row_shares(data$design)
  # in an order of their own, so that that of the rows does not matter
  at <- order(data$mean, data$variance, data$outcome, share)
  if (identical(family_of(data$law), "draws")) {
    # exchangeable with the outcome: inst/include/calibrisk/classical/moments.h
    pool <- cbind(data$outcome, par_of(data$law, "draws"))
    draws <- with_seed_kept(1, cpp_ensemble_null(pool, at, max(199, min(1999, 2e6 %/% n)), data$design))
    return(list(draws = draws, target = c(0, colMeans(draws)[-1])))
  }
  times <- max(199, min(1999, most %/% n))
  # empty without a slope
  known <- function(row) if (length(row) > 0) row else NA
  linear <- cbind(-share, known(of_means))[at, ]
  # a variance of 0 has no error
  ratio <- ifelse(data$variance == 0, 0, share / data$variance)
  squared <- cbind(share, -share, known(of_variances), ratio)[at, ]
  copies <- data$design$copies[at]
  sizes <- rep(max(1, most %/% (10 * n)), times)
  sizes <- diff(unique(pmin(c(0, cumsum(sizes)), times)))
  law <- data$law[at]
  roots <- law_roots(law)
  null <- with_seed_kept(1, do.call(rbind, lapply(sizes, function(size) {
    if (!is.null(copies)) return(cpp_normal_null(sqrt(data$variance[at]), copies, linear, squared, size))
    off <- draw_law(law, size, roots) - data$mean[at]
    cbind(crossprod(off, linear), crossprod(off^2, squared))
  })))
  mean <- sum(share * data$variance)
  list(draws = null + rep(c(0, 1, 0, mean, 0, 0), each = nrow(null)), target = c(0, 1, mean, 0, 1, 1))
}

# Two-sided p-values, and limits that hold those of the null: shifted to the estimate, or on the scale of squared errors
# multiplied, so that limits hold the target of an estimate whose p-value is above one minus the level.
with_moment_null <- function(rows, null, level) {
  at <- match(c("bias", "mean_slope", "mse", "variance_gap", "variance_slope", "ratio"), rows$quantity)
  ok <- apply(null$draws, 2, all_finite) & is.finite(rows$estimate[at]) & (is.finite(rows$target[at]) | at == 3)
  at <- at[ok]
  target <- null$target[ok]
  found <- cpp_null_limits(null$draws[, ok, drop = FALSE], rows$estimate[at], target,
                           rows$quantity[at] %in% c("mse", "ratio"), level)
  rows$conf.low[at] <- pmin(rows$conf.low[at], found[1, ], na.rm = TRUE)
  rows$conf.high[at] <- pmax(rows$conf.high[at], found[2, ], na.rm = TRUE)
  rows$p.value[at] <- found[3, ]
  rows$target[at] <- target
  rows[rows$quantity == "mse", c("p.value", "target")] <- NA_real_
  rows
}

gain_rows <- function(before, after, level) {
  terms <- function(data) {
    r <- (data$mean - data$outcome)^2
    list(dss = dss_terms(data$variance, r), mse = r)
  }
  a <- terms(before)
  b <- terms(after)
  gain <- list(a$dss - b$dss, a$mse - b$mse)
  design <- before$design
  moment_rows(c("dss_gain", "mse_gain"), vapply(gain, row_mean, 0, design), vapply(gain, cpp_row_std_error, 0, design),
              NA_real_, design, level)
}

# Means, variances and outcomes from a vector of normal predictions, two columns, or a frame
# with either. `layout` remembers which, so that results are written alike.
# `design`: the arguments `weights` and `cluster`; `raw`: their columns, where they have been read.
read_moments <- function(x, truth, dots, design = NULL, raw = NULL, any_family = FALSE) {
  if (is_read(x)) {
    moments <- moments_of(x$law, any_family = any_family)
    return(c(moments[c("mean", "variance", "law")],
             list(outcome = law_outcomes(x), rows = x$rows, n_rows = x$n_input, raw = list(), design = x$design,
                  layout = list(frame = FALSE, type = moments$type))))
  }
  check_truth_given(truth)
  frame <- if (is.data.frame(x)) ungroup_frame(x)
  layout <- list(frame = is.data.frame(x), columns = if (!is_law(x)) colnames(x))
  if (layout$frame) {
    own <- truth_column(truth, frame)
    outcome <- frame[[own]]
    x <- law_in_frame(frame, dots)
    if (is.null(x)) {
      predicted <- names(frame)[startsWith(names(frame), ".pred_") & names(frame) != own]
      if (length(dots) > 0) predicted <- names(select_columns(rlang::quo(c(!!!dots)), frame, "..."))
      layout$columns <- predicted
      x <- as.matrix(frame[predicted])
    } else {
      layout$columns <- if (length(dots) > 0) ".pred" else names(frame)[vapply(frame, is_law, NA)]
      if (length(dots) > 0) layout$law <- dots[[1]]
    }
  } else {
    check_no_columns(x, dots)
    outcome <- outcome_vector(truth)
  }
  moments <- moments_of(x, any_family = any_family)
  layout[c("type", "roles")] <- moments[c("type", "roles")]
  outcome <- numeric_outcomes(outcome, length(moments$mean))[, 1]
  raw <- raw %||% read_design(design, frame, length(outcome))
  complete <- complete_rows(outcome, !is.na(moments$mean) & !is.na(moments$variance), TRUE, raw = raw)
  keep <- complete$rows
  list(mean = moments$mean[keep], variance = moments$variance[keep], outcome = outcome[keep], rows = keep,
       law = moments$law[keep], n_rows = length(outcome), layout = layout, raw = raw,
       design = bind_design(raw, keep))
}

# `any_family`: moments of all predictions of a number are taken, not only those of normal ones, which a map keeps.
# `columns`: names where `x` has none, of a matrix like the one of the fit.
moments_of <- function(x, columns = NULL, any_family = FALSE) {
  if (is_law(x)) {
    missing <- law_missing(x)
    x <- as_distribution(fill_missing(x, missing))
    if (any_family && dimension_of(x) == 1 && is.null(class_probs(x))) {
      moments <- score_moments(x)
      return(list(mean = replace(moments$mean, missing, NA), variance = replace(moments$variance, missing, NA),
                  type = "law", law = x))
    }
    stop_if(family_of(x) != "normal", "Means and variances can be read from normal predictions.",
            "x" = "These are {.val {family_of(x)}}.",
            "i" = if (family_of(x) == "draws") {
              "Give a normal with the draws' moments, {.code pred_normal(mean, sd)}."
            } else {
              "Give two columns named {.code mean} and {.code variance}."
            }, class = "distribution", arg = "x")
    return(list(mean = replace(vctrs::field(x, "mean"), missing, NA),
                variance = replace(vctrs::field(x, "sd")^2, missing, NA), type = "law"))
  }
  stop_if(!is.matrix(x) || !is.numeric(x) || ncol(x) != 2, "A regression needs the predicted means and variances.",
          "x" = "{.arg x} is {describe_shape(x)}.",
          "i" = "Give {.code pred_normal(mean, sd)}, or two columns named {.code mean} and {.code variance}.",
          class = "columns", arg = "x")
  roles <- moment_roles(colnames(x) %||% columns)
  x <- cbind(x[, roles == "mean"], x[, roles != "mean"])
  deviation <- "sd" %in% roles
  bad <- which(!is.na(x[, 2]) & (x[, 2] < 0 | is.infinite(x[, 2])) | is.nan(rowSums(x)) | is.infinite(x[, 1]))
  stop_if(length(bad) > 0, "Means must be finite and variances finite and not negative.",
          "x" = "Row {bad[1]} is mean {.val {x[bad[1], 1]}}, {if (deviation) 'sd' else 'variance'} \\
                 {.val {x[bad[1], 2]}}; affected: {length(bad)} of {nrow(x)} rows.", class = "variance", arg = "x",
          row = bad[1])
  list(mean = unname(x[, 1]), variance = unname(x[, 2])^(1 + deviation), type = "matrix", roles = roles)
}

moment_names <- list(mean = c("mean", "mu", ".pred"), variance = c("variance", "var", "sigma2"), sd = c("sd", "sigma"))

# The meaning of two columns, by their names; the message is given once for each pair of names.
moment_roles <- function(columns) {
  plain <- tolower(sub("^\\.pred_", "", columns %||% c("", "")))
  role <- vapply(plain, function(name) {
    at <- vapply(moment_names, function(known) name %in% known, NA)
    if (any(at)) names(moment_names)[at] else ""
  }, "", USE.NAMES = FALSE)
  stop_if(
    sum(role == "mean") != 1 || !all(nzchar(role)),
    "Two numbers per prediction are a mean and a variance or standard deviation only where their names say so.",
    "x" = if (is.null(columns)) "They have no names." else "They are named {.field {columns}}.",
    "i" = "Give {.code pred_normal(mean, sd)}, or columns named {.code mean} and {.code variance} (or {.code sd}).",
    class = "columns", arg = "x"
  )
  says <- c(variance = "variance", sd = "standard deviation")[[role[role != "mean"]]]
  tell("i" = "Read {.field {columns[role == 'mean']}} as the mean, \\
              {.field {columns[role != 'mean']}} as the {says}.", class = "moments", .frequency = "once",
       .frequency_id = paste(c("calibrisk_moments", columns), collapse = "_"))
  role
}

# A variance of 0 scores -Inf where the mean is exact, else +Inf.
dss_terms <- function(variance, r) ifelse(variance == 0 & r > 0, Inf,
                                          ifelse(variance == 0, -Inf, r / variance + log(variance)))

warn_not_injective <- function(reason, what = "upper bound", stated = TRUE) {
  warn_result("The gain is not the improvement of the calibration error: the map is not injective.",
              "x" = "Of this map: {reason}.",
              "i" = "It is the improvement of the {what}, any loss of sharpness included.",
              "i" = if (stated) "{.code injective = FALSE} says that you know.", class = "injective")
}
