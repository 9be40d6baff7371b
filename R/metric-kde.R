#' Kernel density calibration errors
#'
#' Calibration errors without bins: the observed frequency near a prediction is a ratio of kernel densities.
#'
#' # Definition
#' * `kernel = "dirichlet"` (Popordanoska, Sayer and Blaschko 2022): for each row j the frequencies `Q_j` are the label
#'   mean of the other rows i, weighted by the Dirichlet density with concentration `p_i / bandwidth + 1` at `p_j`. The
#'   p-th power of the error is `mean_j |Q_j - p_j|_p^p`. Scalar types of calibration use the Beta density. The
#'   bandwidth maximises the leave-one-out likelihood.
#' * `kernel = "triweight"` (Zhang, Kailkhura and Han 2020; scalar types of calibration): densities of all confidences
#'   and of those that were right, reflected at 0 and 1. The bandwidth is the standard deviation of the confidences that
#'   were right times `(2 N)^(-1/5)`.
#'
#' Class-wise, the p-th powers are averaged over the classes. *Notation* has the grids.
#' # Intervals
#' `"analytic"` uses the influence of each row on `power` at fixed bandwidth. The lower limit is at most the
#' cross-fitted limit of [ece()]. It is a lower bound of the calibration error itself, at any bandwidth. The triweight
#' error also has the bootstrap; the Dirichlet error has none, because leaving one row out means nothing where rows
#' repeat.
#' # Cost
#' Dirichlet: `O(n^2 K)`, and up to 20,000 rows for every bandwidth of the grid. Triweight: linear in `n`.
#' # Errors
#' `calibrisk_error_rows` for fewer than two rows or clusters.
#' `calibrisk_error_bandwidth` where the triweight bandwidth is 0: fewer than two distinct
#' confidences were right.
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ece
#' @param kernel `"dirichlet"` or `"triweight"`.
#' @param p Exponent, from 1 to 32.
#' @param bandwidth `NULL` for the rules above, or a number.
#' @param notion For `"dirichlet"` any type of calibration, for `"triweight"` a scalar one. The default is binary for a
#'   single probability and for two classes; of more classes canonical with `"dirichlet"`, top-label with `"triweight"`.
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `power`,
#' `bandwidth`, `n`, and the choices `notion`, `kernel`, `p`, `interval`, `level`.
#' @references Popordanoska, Sayer and Blaschko (2022) \doi{10.48550/arXiv.2210.07810};
#'   Zhang, Kailkhura and Han (2020) \doi{10.48550/arXiv.2003.07329};
#'   Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#' @examples
#' conf <- c(0.7, 0.75, 0.8, 0.5, 0.55, 0.6, 0.9, 0.95)
#' right <- c(1, 1, 0, 1, 0, 1, 1, 1)
#' kde_error(conf, right)
#' kde_error(conf, right, kernel = "triweight")
#' @export
kde_error <- new_metric("kde_error", function(x, truth, ..., kernel = c("dirichlet", "triweight"), p = 2,
                                 bandwidth = NULL, notion = NULL, level = 0.95,
                                 times = NULL, .by = NULL, event_level = "first", na_rm = TRUE, weights = NULL,
                                 cluster = NULL, horizon = NULL) {
  kernel <- check_choice(kernel, c("dirichlet", "triweight"))
  check_exponent(p)
  check_number(bandwidth, lower = 0, open = TRUE, null = TRUE)
  if (!is.null(notion)) check_notion(notion)
  if (kernel == "triweight" && !is.null(notion)) check_scalar_notion(notion)
  interval <- check_interval(level, times)
  stop_if(kernel == "dirichlet" && !is.null(times), "The bootstrap is for the triweight kernel.",
          "x" = "{.arg times} is {times}.",
          "i" = "Leaving one row out means nothing where resampling repeats it.", arg = "times")
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "kde_error", function(predictions) {
    used <- notion %||% if (kernel == "triweight") default_notion(predictions) else whole_notion(predictions)
    problems <- notion_problems(predictions, used)
    value <- if (kernel == "dirichlet") dirichlet_error else triweight_error
    of_folds <- lapply(problems, fold_copies)
    parts <- Map(value, of_folds, p, list(bandwidth), whole = problems)
    h <- vapply(parts, `[[`, 0, "bandwidth")
    estimates <- Map(function(part, problem) {
      new_estimate(part$power, part$rows, problem$design, p, part$bound, largest = min(ncol(problem$features), 2))
    }, parts, of_folds)
    statistic <- function(part) {
      mean(vapply(seq_along(part), function(k) {
        value(part[[k]], p, h[k], rows = FALSE)$power
      }, 0))
    }
    columns <- error_columns(list(class_mean(unname(estimates))), interval, problems, statistic)
    c(columns, list(bandwidth = if (length(h) == 1) h else NA_real_, n = n_obs(predictions), notion = used))
  }, choices = list(kernel = kernel, p = p, interval = interval$type, level = level))
}, "minimize", c(0, Inf))

# power, bandwidth; per row: its influence on the power and its term of the lower bound. `whole`: the problem before its
# copies were dealt to folds.
dirichlet_error <- function(problem, p, bandwidth, whole = problem, rows = TRUE) {
  check_rows(copy_count(problem$design), 2)
  if (is.null(bandwidth)) {
    bandwidth <- with_bar("Choosing the bandwidth", function(progress) {
      likely_bandwidth(whole$features, progress, copies = whole$design$copies)
    })
  }
  design <- problem$design
  left_out <- left_out_ratios(problem, bandwidth, rows, whole)
  gap <- problem$features - left_out$own
  terms <- rowSums(abs(gap)^p)
  power <- row_mean(terms, design)
  if (!rows) return(list(power = power, bandwidth = bandwidth))
  # a row also moves the ratios of its neighbours, whose gaps are taken for its own
  influence <- terms + rowSums(p * sign(gap) * abs(gap)^(p - 1) * (problem$residuals - gap))
  list(power = power, rows = influence, bound = tangent_bound(problem, problem$features - left_out$fold, p),
       bandwidth = bandwidth)
}

# list(own: the ratio at every row without the row (of copies one) or its cluster, fold: without its fold, where wanted)
left_out_ratios <- function(problem, bandwidth, with_fold, whole) {
  x <- problem$features
  labels <- problem$labels
  w <- problem$design$w
  cluster <- problem$design$cluster
  fold <- if (with_fold) problem_folds(problem)
  check_clusters(problem$design)
  # at every row from those of the other groups
  without <- function(group) {
    of <- list(fit = identity, apply = function(others, held) {
      kde_ratio(x[others, , drop = FALSE], labels[others], ncol(x), x[held, , drop = FALSE], bandwidth,
                weights = w[others])
    })
    cross_fit(group, x, of)$values
  }
  with_bar("Kernel densities", function(progress) {
    vectors <- with_fold && ncol(x) > 1 && is.null(cluster)
    if (vectors) {
      of <- cpp_kde_left_out(x, labels, fold, bandwidth, w %||% numeric(), thread_count(), progress, problem$origin)
      if (is.null(problem$origin)) return(of)
    }
    own <- if (!is.null(cluster)) without(cluster) else
      kde_ratio(whole$features, whole$labels, bandwidth = bandwidth, leave_one_out = TRUE, progress = progress,
                weights = whole$design$w, copies = whole$design$copies)
    if (!is.null(problem$origin)) own <- own[problem$origin, , drop = FALSE]
    list(own = own, fold = if (vectors) of$fold else if (with_fold) without(fold))
  })
}

# As dirichlet_error() (inst/include/calibrisk/classical/triweight_error.h).
triweight_error <- function(problem, p, bandwidth, whole = problem, rows = TRUE) {
  x <- problem$features[, 1]
  design <- problem$design
  is_right <- problem$labels == 1
  right <- x[is_right]
  if (is.null(bandwidth)) {
    of_right <- design_rows(design, is_right)
    spread <- if (length(right) == 0) 0 else row_mean((right - row_mean(right, of_right))^2, of_right)
    # all rows say how many there effectively are
    bandwidth <- sqrt(spread) * (2 / weight_concentration(design))^(-1 / 5)
    stop_if(bandwidth == 0, "The bandwidth of the kernel density needs two distinct confidences that were right.",
            "x" = "There {cli::qty(length(unique(right)))}{?is/are} {length(unique(right))}.",
            "i" = "Give {.arg bandwidth}, or use {.fn ece} with {.code type = \"discrete\"}.", class = "bandwidth",
            arg = "bandwidth")
  }
  fold <- if (rows) problem_folds(problem) else integer()
  out <- cpp_triweight_error(x, as.numeric(problem$labels), design$w %||% numeric(), bandwidth, p, fold)
  stop_if(out$mass <= 0,
          "The bandwidth of the kernel density must not be far below the grid's step, {.val {signif(2.2 / 16383, 3)}}.",
          "x" = "It is {.val {signif(bandwidth, 3)}}: no node of the grid sees a prediction.",
          class = "bandwidth", arg = "bandwidth", value = bandwidth)
  if (rows) out$bound <- tangent_bound(problem, matrix(out$fold_gap), p)
  c(out, list(bandwidth = bandwidth))
}
