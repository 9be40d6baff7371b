#' Rank models by their calibration
#'
#' Orders several models of the same rows by one or more metrics, and says which of them can be the best. On request,
#' the metrics are recomputed on subsamples, to show how certain the order would be with fewer rows.
#'
#' @section Definition:
#' Models are in the order of the metric on all `n` rows. A model *can be the best* if no other is shown to be better by
#' the tests of paired differences in [ce_compare()], adjusted by Holm's method over all pairs. The truly best model is
#' among these with probability `level` at least. The printed table has the differences to the best with simultaneous
#' intervals, and beside them the AUROC of one event, or the accuracy of several classes.
#'
#' With `times`, that many subsamples of `n_sub` observations are drawn without replacement, and every model is
#' evaluated on the same rows. Shares describe the certainty that `n_sub` observations give, not all `n`.
#'
#' Smaller values are better, except for the AUROC and metrics of yardstick that are maximised. A metric owns its
#' options, as in `ce_metric(ckce, ridge = 0.1)`; [ce_metric()] has the names of all. Metrics ask different questions:
#' a calibration error alone does not choose a model, since one that predicts the same frequency for everybody is
#' calibrated. The vignette *Notation* has the details.
#' @param models Several models from [ce_models()]; or a named list with the predictions of each model for the same
#'   observations in the same order: matrices, vectors of probabilities or of distributions, or data frames. In a data
#'   frame, the numeric columns that start with `.pred_` are used (if there are none, all numeric columns), or its only
#'   column of distributions.
#' @param truth The outcomes: a vector, or a column that all data frames have in common. Not with [ce_models()].
#' @param ... Must be empty.
#' @param metric Names of metrics, a metric such as [ece], [skce] or [ce_metric()], a score such as [score_log()], or a
#'   list of these and of functions, whose names are what they are called.
#' @param n_sub Size of a subsample. By default 500, or half of the observations if that is less.
#' @param times Number of subsamples. It is also that of bootstrap samples for the differences of metrics without
#'   influences, of which there are 200 if `times` is 0.
#' @param level Confidence level of the models that can be the best, and coverage of the central range over subsamples.
#' @param event_level The event: `"first"` or `"second"`; see [ce_args].
#' @param horizon Time horizon of survival outcomes; see [ce_args].
#' @param weights,cluster Weights and clusters: a column that all data frames have, or a vector; see [ce_args].
#'   Subsamples take whole clusters.
#' @return A `ce_rank`: a list with tibbles
#'   * `estimates`: `metric`, `model`, `estimate` and `rank` on all observations, best first;
#'     `can_be_best`; and with subsamples `mean`, `std.deviation`, `low`, `high` (central `level` range) and
#'     `best_share` (of subsamples where it is first);
#'   * `orders`: `metric`, `order`, `count`, `share`, `full` (the order on all observations);
#'   * `pairs`: `metric`, `model`, `other`, `difference` (on all observations), its
#'     `mean` and `std.deviation` over subsamples, `share` (of subsamples where `model` is
#'     smaller, plus half of those where they are equal), `ties` (share of equal ones);
#'   * `draws`: `sample`, `metric`, `model`, `estimate`.
#'
#'   `tests` has a tibble of all pairs for each metric: `a`, `b`, `difference` with `conf.low` and `conf.high`,
#'   `p.value`.
#'
#'   `tidy()` returns `estimates`, `glance()` one row per metric; `autoplot()` and `plot()` draw the result.
#' @section Errors:
#' `calibrisk_error_argument`, `calibrisk_error_length`, `calibrisk_error_kernel`, and the
#' errors of the predictions.
#' @references `r ref_moskvichev`
#' @concept model ranking
#' @concept leaderboard
#' @concept model selection
#' @export
#' @examples
#' p <- plogis(seq(-2, 2, length.out = 200))
#' y <- as.numeric((1:200 * 0.618) %% 1 < p)
#' models <- list(true = p, sharp = plogis(3 * qlogis(p)), flat = plogis(qlogis(p) / 3))
#' ce_rank(models, y, metric = c("brier", "ckce"))
#' # how certain is the order with 100 rows?
#' set.seed(1)
#' ce_rank(models, y, metric = "ckce", n_sub = 100, times = 20)
ce_rank <- function(models, truth, ..., metric = "ckce", n_sub = NULL, times = 0, level = 0.95,
                    event_level = "first", weights = NULL, cluster = NULL, horizon = NULL) {
  check_has_rows(models, "models")
  models <- read_table(models)
  # a data frame is not a list of models; its error comes below
  if (!is.data.frame(models)) check_empty(...)
  metrics <- as_metrics(metric, "metric")
  check_choice(event_level, c("first", "second"))
  check_count(times, lower = 0)
  stop_if(times == 0 && !is.null(n_sub), "{.arg n_sub} is the size of subsamples, which {.arg times} counts.",
          "x" = "{.arg times} is 0.", arg = "n_sub", value = n_sub)
  check_level(level)
  data <- rank_data(models, enquo(truth), event_level, design_input(enquo(weights), enquo(cluster), horizon, TRUE))
  for (one in metrics) check_law_metric(one, data$models[[1]])
  signs <- vapply(metrics, check_metric_sign, 0)
  core <- lapply(metrics, core_metric, data)
  rows <- vapply(core, function(one) one$row %||% "", "")
  names(metrics) <- metric_labels(metrics, data)
  n <- n_obs(data$models[[1]])
  least <- if ("jkce" %in% rows) 2 else 1 # a mean over pairs
  check_rows(n, least, "The unbiased JKCE")
  n_sub <- if (times > 0) check_n_sub(n_sub, n, least) else NA_integer_
  samples <- lapply(seq_len(times), function(t) subsample(data$models[[1]]$design, n_sub))
  draws <- rank_samples(data, metrics, core, samples, progress_callback("Ranking"))
  pairs <- lapply(metrics, compared_pairs, data, level, times)
  full <- t(vapply(pairs, pair_values, numeric(length(data$models)), names(data$models)))
  n <- n + (data$models[[1]]$design$follow_up$censored %||% 0L)
  new_rank(full, draws, n = n, counted = data$counted, n_sub = n_sub, level = level,
           compared = lapply(pairs, `[`, c("a", "b", "difference", "conf.low", "conf.high", "p.value")),
           core = setNames(core, names(metrics)), n_classes = if (!is.null(data$probs)) ncol(data$probs[[1]]),
           signs = stats::setNames(signs, names(metrics)), beside = beside_metrics(data$models),
           titles = mapply(metric_title, metrics, names(metrics), MoreArgs = list(data$models[[1]])))
}

# All pairs of models, as in ce_compare(), with adjusted p-values.
compared_pairs <- function(metric, data, level, times) {
  settings <- list(level = level, adjust = "holm", times = if (times > 0) max(times, 20) else 200)
  found <- suppressMessages(compare_pairs(data$models, metric, settings))
  replace(found, "p.value", list(found[["p.adjusted"]] %||% found$p.value))
}

# A value for each model: the first one is paired with every other one.
pair_values <- function(pairs, models) setNames(c(pairs$estimate_a[1], pairs$estimate_b[pairs$a == pairs$a[1]]), models)

# What stands beside other numbers: the AUROC of one event, the accuracy of several classes and of top labels. A list
# with that name; empty for numbers.
beside_metrics <- function(models) {
  one <- models[[1]]
  value <- function(metric) vapply(models, function(model) metric_value(as_metric(metric), model)$value, 0)
  if (is_real(one)) return(list())
  if (n_classes(one) == 2 && default_notion(one) == "binary") list(AUROC = value("auroc")) else
    list(accuracy = 1 - value("error"))
}

# Values of the core for every subsample, in its order.
rank_metrics <- c("ckce", "ckce_debiased", "ckce_null_mean", "jkce", "ece_canonical", "ece_pointwise", "brier",
                  "log_loss", "error")

# The row of a metric there, with its kernel, ridge and number of bins. NULL where its function is called instead: for
# numbers, weights and clusters, and with other options or values, which the function also checks.
core_metric <- function(metric, data) {
  design <- data$models[[1]]$design
  if (is.null(data$probs) || !is_unweighted(design) || !is.null(design$strata)) return(NULL)
  rule <- core_rules[[metric$of %||% ""]]
  options <- metric$options
  if (is.null(rule) || !all(names(options) %in% names(formals(rule)))) return(NULL)
  row <- do.call(rule, options)
  if (is.null(row) || is.na(row)) return(NULL)
  kernel <- if (is_kernel(options$kernel)) options$kernel else eval(formals(ckce)$kernel)
  list(row = row, kernel = kernel, ridge = options$ridge, n_bins = options$n_bins %||% formals(metric$fn)$n_bins %||% 3)
}

# From the options of a function to its row.
core_rules <- list(
  ckce = function(kernel = NULL, ridge = NULL, debias = "none") {
    rows <- c(none = "ckce", off_diagonal = "ckce_debiased", null_mean = "ckce_null_mean")
    if (isTRUE(debias)) debias <- "off_diagonal"
    positive <- is.null(ridge) || rlang::is_double(ridge, 1, finite = TRUE) && ridge > 0
    if (compares_vectors(kernel) && positive && rlang::is_string(debias)) unname(rows[debias])
  },
  skce = function(kernel = NULL, computation = "dual") {
    joint <- identical(kernel, "ckce") || !is.null(kernel) && compares_vectors(kernel)
    if (joint && rlang::is_string(computation, c("dual", "auto"))) "jkce"
  },
  ece = function(notion = "", n_bins = 1) if (identical(notion, "canonical") && is_number_of(n_bins)) "ece_canonical",
  ece_pointwise = function(n_bins = 1) if (is_number_of(n_bins)) "ece_pointwise",
  error = function() "error",
  ce_score = function(score = NULL) if (inherits(score, "ce_score_rule")) core_score(score)
)

core_score <- function(score) {
  if (score$name == "brier") "brier" else if (is_plain_log(score)) "log_loss"
}

compares_vectors <- function(kernel) is.null(kernel) || inherits(kernel, "ce_kernel") && !compares_laws(kernel)

is_number_of <- function(n) rlang::is_integerish(n, 1, finite = TRUE) && n >= 1

# Array metrics x models x columns of `rows`. The Brier score is a sum over the classes; that of scalar probabilities
# is (p - y)^2, half of it, as in ce_score() and rbs().
core_values <- function(data, one, wanted, rows, progress = NULL) {
  settings <- list(kernel_metrics = any(wanted %in% rank_metrics[1:4]), debiased = any(wanted %in% rank_metrics[2:3]),
                   ridge = one$ridge %||% 0, n_bins = as.integer(one$n_bins))
  sizes <- c(length(rank_metrics), ncol(rows), length(data$probs))
  # a bandwidth of NaN is the median of each sample
  kernel <- list(replace_medians(one$kernel, function(type) NaN))
  values <- if (has_workers()) {
    found <- over_workers(unname(data$probs), sealed(function(probs) {
      cpp_rank_resamples(list(probs), kernel, data$truth, rows, settings, thread_count(), NULL)
    }, kernel = kernel, data = data["truth"], rows = rows, settings = settings))
    aperm(array(unlist(found), sizes), c(1, 3, 2))
  } else {
    kernels <- rep(kernel, length(data$probs))
    found <- cpp_rank_resamples(data$probs, kernels, data$truth, rows, settings, thread_count(), progress)
    array(found, sizes[c(1, 3, 2)])
  }
  if (ncol(data$probs[[1]]) == 2) values[rank_metrics == "brier", , ] <- values[rank_metrics == "brier", , ] / 2
  values[match(wanted, rank_metrics), , , drop = FALSE]
}

# Rows, or whole clusters with as many rows on average, drawn without replacement.
subsample <- function(design, n_sub) {
  n <- copy_count(design)
  if (is.null(design$cluster)) return(rows_of_copies(sample.int(n, n_sub), design))
  n_clusters <- max(design$cluster)
  drawn <- sample.int(n_clusters, max(1, round(n_clusters * n_sub / n)))
  which(design$cluster %in% drawn)
}

# Array metrics x models x subsamples, each of the rows at the same place in the list; one call of the core for metrics
# with the same settings.
rank_samples <- function(data, metrics, core, rows, progress = NULL) {
  out <- array(NA_real_, c(length(metrics), length(data$models), length(rows)),
               list(names(metrics), names(data$models), NULL))
  if (length(rows) == 0) return(out)
  settings <- lapply(core, `[`, c("kernel", "ridge", "n_bins"))
  for (one in unique(settings[lengths(core) > 0])) {
    at <- which(lengths(core) > 0 & vapply(settings, identical, NA, one))
    out[at, , ] <- core_values(data, one, vapply(core[at], `[[`, "", "row"), matrix(unlist(rows), ncol = length(rows)),
                               progress)
  }
  for (i in which(lengths(core) == 0)) {
    for (t in seq_along(rows)) out[i, , t] <- vapply(data$models, function(model) {
      counted <- !is.null(model$design$copies) && is.null(model$design$cluster)
      part <- if (counted) sampled_rows(model, tabulate(rows[[t]], model$design$n)) else take_rows(model, rows[[t]])
      metric_value(metrics[[i]], single_copies(part))$value
    }, 0)
  }
  out
}
