#' Rank models by their calibration
#'
#' Orders several models, whose predictions are for the same outcomes, by one or more calibration metrics. To show how
#' certain the order is, the metrics are recomputed on subsamples, which are the same for all models.
#'
#' @section Definition:
#' `trials` subsamples of `n_sub` observations are drawn without replacement (in a bootstrap, repeated rows would act
#' like a smaller ridge in the kernel metrics), and every model is evaluated on the same rows. The result has the share
#' of subsamples with each order of the models, the share in which one model is better than another, and the paired
#' differences. If models are equal in a subsample (up to rounding), they share its first place, each counts as better
#' by one half, and the order is written `a = b < c`.
#'
#' Shares describe the certainty that `n_sub` observations give, not all `n`. Kernel metrics at different sizes are not
#' comparable, since their default ridge is \eqn{m^{-1/4}} for \eqn{m} observations. A share is an unbiased estimate of
#' the probability that `n_sub` new observations have this order. Its Wilson interval covers the share among all
#' subsamples of these observations, not that probability. Because subsamples overlap, standard deviations and ranges
#' over them are smaller than those over new samples of size `n_sub`, for means by the factor `sqrt(1 - n_sub / n)`.
#' [ce_compare()] has standard errors and tests of the differences.
#'
#' For every metric, smaller is better. The metrics are `"ckce"` and `"ckce_debiased"` (off-diagonal; [ckce()]),
#' `"jkce"` (unbiased; [jkce()]), `"ece_canonical"` and `"ece_pointwise"`. `"ece_canonical"` is the binned error in L1
#' with `n_bins` intervals per class, from the differences of bin means ([ece()] with `notion = "canonical"`).
#' `"ece_pointwise"` has the same bins and compares every prediction with the outcomes of its bin; it is not 0 for
#' calibrated models. For reporting there are also the proper scores `"brier"` and `"log_loss"` and the
#' misclassification rate `"error"`; these rank models by more than calibration. (The Brier score is the sum over the
#' classes; for vectors of probabilities it is \eqn{(p - y)^2}, half of that, as in [ce_score()] and [rbs()].) Any other
#' metric is passed on as in [ce_compare()]: `"ece"` or [ece], `"crps"`, `ce_metric(ece, p = 2)`, or a function of your
#' own; see [ce_metric()].
#'
#' Models that predict a number (vectors of predictive distributions, [pred], or data frames with a column of these) are
#' ranked by the metrics that [ce_compare()] has for them, and by `"ckce_debiased"` and `"ckce_null_mean"`. Each model
#' then has its own kernels and bandwidths.
#'
#' @param models A named list with the predictions of each model for the same observations in the same order: matrices,
#'   vectors of probabilities or of distributions, or data frames. In a data frame, the numeric columns that start with
#'   `.pred_` are used (if there are none, all numeric columns), or its only column of distributions.
#' @param truth The outcomes: a vector, or a column that all data frames have in common.
#' @param ... Must be empty.
#' @param metric Names of metrics, a metric such as [ece], [skce] or [ce_metric()], a score such as [score_log()], or a
#'   list of these and of named functions.
#' @param n_sub Size of a subsample. By default 500, or half of the observations if that is less.
#' @param trials Number of subsamples.
#' @param kernel,ridge Kernel and ridge of the kernel metrics; `NULL` is a ridge of \eqn{m^{-1/4}} for \eqn{m}
#'   observations.
#' @param bandwidth How a median bandwidth is computed. `"model"`: for each model, on each sample. `"pooled"`: one
#'   bandwidth for all models, the median over their predictions together. Use pooled bandwidths only with
#'   `"ckce_debiased"`.
#' @param n_bins Number of intervals per class for `"ece_canonical"` and `"ece_pointwise"`.
#' @param level Confidence level of the Wilson intervals, and coverage of the central range over subsamples.
#' @param event_level For two classes: the level of `truth` that is the event, `"first"` or `"second"`.
#' @param threads Number of threads; see [ce_threads].
#' @param horizon For outcomes `Surv(time, status)`, see [ce_horizon()].
#' @param weights,cluster Weights and clusters of the rows, as in [ece()]: a column that all data frames have, or a
#'   vector. They need a metric that is a function or a `ce_metric()`, such as `metric = ece`. Subsamples take whole
#'   clusters, with about `n_sub` rows in total.
#' @return A `ce_rank`: a list with tibbles
#'   * `estimates`: `metric`, `model`, `estimate` and `rank` on all observations, best first;
#'     `mean`, `std.deviation`, `low`, `high` (central `level` range) over subsamples; `best_share`
#'     with `best_low`, `best_high`;
#'   * `orders`: `metric`, `order`, `count`, `share`, `conf.low`, `conf.high`, `full` (the order on
#'     all observations);
#'   * `pairs`: `metric`, `model`, `other`, `difference` (on all observations), its
#'     `mean` and `std.deviation` over subsamples, `share` (of subsamples where `model` is
#'     smaller, plus half of those where they are equal), `conf.low`, `conf.high`, `ties` (share of equal ones);
#'   * `draws`: `trial`, `metric`, `model`, `estimate`.
#'
#'   `tidy()` returns `estimates`, `glance()` one row per metric; `autoplot()` and `plot()` draw the result.
#' @section Cost:
#' `trials` times the number of models times the cost of the metric at `n_sub` observations. Under a [future::plan()] of
#' several workers, the named metrics of each model are computed on the workers, with the same digits.
#' @section Errors:
#' `calibrisk_error_argument`, `calibrisk_error_length`, `calibrisk_error_kernel`, and the
#' errors of the predictions.
#' @references `r ref_moskvichev()`
#' @export
#' @examples
#' p <- plogis(seq(-2, 2, length.out = 200))
#' y <- as.numeric((1:200 * 0.618) %% 1 < p)
#' models <- list(true = p, sharp = plogis(3 * qlogis(p)), flat = plogis(qlogis(p) / 3))
#' set.seed(1)
#' ce_rank(models, y, metric = c("ckce", "ece_canonical"), trials = 20)
ce_rank <- function(models, truth, ..., metric = "ckce", n_sub = NULL, trials = 200,
                    kernel = kernel_linear() + kernel_gaussian("median"), ridge = NULL,
                    bandwidth = c("model", "pooled"), n_bins = 3, level = 0.95,
                    event_level = "first", threads = NULL, weights = NULL, cluster = NULL, horizon = NULL) {
  check_has_rows(models, current_env(), "models")
  # a data frame is no list of models, which is said below
  if (!is.data.frame(models)) check_empty(...)
  metrics <- check_rank_metrics(metric)
  check_kernel(kernel)
  check_choice(event_level, c("first", "second"))
  check_number(ridge, lower = 0, open = TRUE, null = TRUE)
  given <- c("kernel", "bandwidth", "ridge", "n_bins")
  given <- given[!c(missing(kernel), missing(bandwidth), is.null(ridge), missing(n_bins))]
  bandwidth <- check_choice(bandwidth, c("model", "pooled"))
  check_bins(n_bins)
  check_rank_options(metrics, given)
  check_count(trials)
  check_level(level)
  threads <- resolve_threads(threads)
  data <- rank_data(models, enquo(truth), event_level, design_input(enquo(weights), enquo(cluster), horizon))
  call <- current_env()
  kernels <- NULL
  if (is.null(data$probs)) {
    check_law_options(given)
    options <- drop_null(list(kernel = if ("kernel" %in% given) kernel, ridge = ridge))
    metrics <- lapply(metrics, law_rank_metric, options, call)
    for (one in metrics) check_law_metric(one, data$models[[1]], call)
  } else {
    check_feature_kernel(kernel, "kernel")
    kernels <- rank_kernels(data$probs, kernel, bandwidth, threads)
  }
  metrics <- name_metrics(metrics, data)
  check_rank_design(metrics, data)
  n <- n_obs(data$models[[1]])
  least <- if ("jkce" %in% metrics) 2 else 1 # a mean over pairs
  check_rows(n, least, "The unbiased JKCE")
  n_sub <- check_n_sub(n_sub, n, least)
  settings <- rank_settings(metrics, ridge, n_bins)
  full <- rank_full(data, metrics, kernels, settings, threads, call)
  rows <- lapply(seq_len(trials), function(t) subsample(data$models[[1]]$design, n_sub))
  draws <- rank_trials(data, metrics, kernels, settings, rows, threads, call, progress_callback("Ranking"))
  new_rank(full, draws, n = n, counted = data$counted, n_sub = n_sub, level = level,
           choices = list(kernel = kernel, ridge = ridge, bandwidth = bandwidth, n_bins = n_bins,
                          scalar = data$scalar, n_classes = if (!is.null(data$probs)) ncol(data$probs[[1]]),
                          built_in = names(metrics)[vapply(metrics, is.character, NA)]))
}

rank_metrics <- c("ckce", "ckce_debiased", "ckce_null_mean", "jkce", "ece_canonical", "ece_pointwise", "brier",
                  "log_loss", "error")

rank_settings <- function(metrics, ridge, n_bins) {
  built_in <- unlist(Filter(is.character, metrics))
  list(kernel_metrics = any(built_in %in% c("ckce", "ckce_debiased", "ckce_null_mean", "jkce")),
       debiased = any(built_in %in% c("ckce_debiased", "ckce_null_mean")),
       ridge = ridge %||% 0, n_bins = as.integer(n_bins))
}

# One kernel per model; a median bandwidth is NaN, to be taken on each sample, or pooled.
rank_kernels <- function(probs, kernel, bandwidth, threads) {
  if (bandwidth == "pooled") {
    per_model <- max(1, median_rows %/% length(probs))
    pooled <- do.call(rbind, lapply(probs, function(p) {
      p[unique(round(seq(1, nrow(p), length.out = min(nrow(p), per_model)))), , drop = FALSE]
    }))
    kernel <- resolve_kernel(kernel, pooled, threads)
  }
  lapply(probs, function(p) leave_median(kernel))
}

leave_median <- function(kernel) {
  if (!is.null(kernel$parts)) {
    kernel$parts <- lapply(kernel$parts, leave_median)
  } else if (identical(kernel$bandwidth, "median")) {
    kernel$bandwidth <- NaN
  }
  kernel
}

# Array metrics x models x columns of `rows`. The Brier score is a sum over the classes; that of scalar probabilities
# is (p - y)^2, half of it, as in ce_score() and rbs().
rank_values <- function(data, kernels, rows, settings, threads, call, progress = NULL) {
  sizes <- c(length(rank_metrics), ncol(rows), length(data$probs))
  values <- if (has_workers()) {
    models <- Map(function(probs, kernel) list(probs = probs, kernel = kernel), data$probs, kernels)
    found <- over_workers(unname(models), model_ranker(data$truth, rows, settings, threads), call)
    aperm(array(unlist(found), sizes), c(1, 3, 2))
  } else {
    found <- cpp_rank_trials(data$probs, kernels, data$truth, rows, settings, threads, progress)
    array(found, sizes[c(1, 3, 2)])
  }
  if (ncol(data$probs[[1]]) == 2) values[rank_metrics == "brier", , ] <- values[rank_metrics == "brier", , ] / 2
  values
}

model_ranker <- function(truth, rows, settings, threads) {
  force(list(truth, rows, settings, threads))
  function(model) cpp_rank_trials(list(model$probs), list(model$kernel), truth, rows, settings, threads, NULL)
}

# metrics x models on all observations.
rank_full <- function(data, metrics, kernels, settings, threads, call = caller_env()) {
  rows <- seq_len(n_obs(data$models[[1]]))
  out <- rank_trials(data, metrics, kernels, settings, list(rows), threads, call)
  matrix(out, length(metrics), dimnames = dimnames(out)[1:2])
}

# A metric of every model on these rows.
own_values <- function(metric, data, rows, call) {
  vapply(data$models, function(model) metric_value(metric, take_rows(model, rows), call)$value, 0)
}

# Rows, or whole clusters with as many rows on average, drawn without replacement.
subsample <- function(design, n_sub) {
  if (is.null(design$cluster)) return(sample.int(design$n, n_sub))
  n_clusters <- max(design$cluster)
  drawn <- sample.int(n_clusters, max(1, round(n_clusters * n_sub / design$n)))
  which(design$cluster %in% drawn)
}

# Array metrics x models x trials, each of the rows at the same place in the list.
rank_trials <- function(data, metrics, kernels, settings, rows, threads, call = caller_env(), progress = NULL) {
  out <- array(NA_real_, c(length(metrics), length(data$models), length(rows)),
               list(names(metrics), names(data$models), NULL))
  built_in <- vapply(metrics, is.character, NA)
  if (any(built_in)) {
    at <- matrix(unlist(rows), ncol = length(rows))
    values <- rank_values(data, kernels, at, settings, threads, call, progress)
    out[built_in, , ] <- values[match(unlist(metrics[built_in]), rank_metrics), , , drop = FALSE]
  }
  for (i in which(!built_in)) {
    for (t in seq_along(rows)) out[i, , t] <- own_values(metrics[[i]], data, rows[[t]], call)
  }
  out
}
