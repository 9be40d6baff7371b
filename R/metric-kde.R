#' Kernel density calibration errors
#'
#' Calibration errors without bins: the observed frequency near a prediction is a ratio of kernel densities.
#'
#' # Definition
#' * `kernel = "dirichlet"` (Popordanoska, Sayer and Blaschko 2022): for each row j the frequencies
#'   `Q_j` are the label mean of the other rows i, weighted by the Dirichlet density with
#'   concentration `p_i / bandwidth + 1` at `p_j`, and the p-th power of the error is
#'   `mean_j |Q_j - p_j|_p^p`. Scalar notions use the Beta density. The bandwidth maximises the
#'   leave-one-out likelihood `sum_j log mean_{i != j} k(p_j; p_i)` over the 15
#'   powers of ten from 1e-5 to 0.1 and 0.2, 0.4, 0.6, 0.8, 1.
#' * `kernel = "triweight"` (Zhang, Kailkhura and Han 2020; scalar notions): densities of all
#'   confidences and of those that were right, reflected at 0 and 1, on a grid of 2^14 points;
#'   the bandwidth is the standard deviation of the confidences that were right times
#'   `(2 N)^(-1/5)`. Up to a few thousand
#'   rows densities are summed exactly, above that confidences are first shared between their
#'   two neighbours on the grid.
#'
#' # Intervals
#' `"analytic"` (Dirichlet) treats the rows' terms as independent, hence is somewhat short. The
#' triweight error has only the bootstrap, at fixed bandwidth, and otherwise `NA`; the
#' Dirichlet error has none, because leaving one row out means nothing where rows repeat.
#'
#' # Value
#' A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`, `power`,
#' `bandwidth`, `n`, and the choices `notion`, `kernel`, `p`, `interval`, `level`.
#'
#' # Cost
#' Dirichlet: `O(n^2 K)` per bandwidth. Triweight: linear in `n`.
#'
#' # Errors
#' `calibrisk_error_bandwidth` where the triweight bandwidth is 0: fewer than two distinct
#' confidences were right.
#' @inheritParams ece
#' @param kernel `"dirichlet"` or `"triweight"`.
#' @param bandwidth `NULL` for the rules above, or a number.
#' @param notion For `"dirichlet"` any notion (default canonical for a matrix), for `"triweight"` a scalar one
#'   (default top-label).
#' @param threads Number of threads; see [ce_threads].
#' @references Popordanoska, Sayer and Blaschko (2022) \doi{10.48550/arXiv.2210.07810};
#'   Zhang, Kailkhura and Han (2020) \doi{10.48550/arXiv.2003.07329};
#'   Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#' @examples
#' conf <- c(0.7, 0.75, 0.8, 0.5, 0.55, 0.6, 0.9, 0.95)
#' right <- c(1, 1, 0, 1, 0, 1, 1, 1)
#' kde_error(conf, right)
#' kde_error(conf, right, kernel = "triweight")
#' @export
kde_error <- new_metric(function(x, truth, ..., kernel = c("dirichlet", "triweight"), p = 2,
                                 bandwidth = NULL, notion = NULL, level = 0.95,
                                 interval = c("analytic", "bootstrap"), times = 1000,
                                 .by = NULL, event_level = "first", na_rm = TRUE,
                                 threads = NULL) {
  kernel <- check_choice(kernel, c("dirichlet", "triweight"))
  check_number(p, lower = 1)
  check_number(bandwidth, lower = 0, open = TRUE, null = TRUE)
  if (!is.null(notion)) check_notion(notion)
  if (kernel == "triweight" && !is.null(notion)) check_scalar_notion(notion)
  call <- current_env()
  interval <- check_interval(interval, level, times, call)
  if (kernel == "dirichlet" && interval$type == "bootstrap") {
    stop_input(c(
      "{.code interval = \"bootstrap\"} is for the triweight kernel.",
      "i" = "Leaving one row out means nothing where resampling repeats it."
    ), "argument", arg = "interval", call = call)
  }
  threads <- resolve_threads(threads)
  metric_frame(x, enquo(truth), enquos(...), enquo(.by), "kde_error", function(predictions) {
    used <- notion %||% if (kernel == "triweight") "top_label" else
      if (is.null(predictions$probs)) "binary" else "canonical"
    problems <- notion_problems(predictions, used, call)
    value <- if (kernel == "dirichlet") dirichlet_error else triweight_error
    parts <- lapply(problems, value, p = p, bandwidth = bandwidth, threads = threads, call = call)
    h <- vapply(parts, `[[`, 0, "bandwidth")
    rows <- Reduce(`+`, lapply(parts, `[[`, "rows"))
    power <- sum(vapply(parts, `[[`, 0, "power"))
    error <- if (is.null(rows)) NA_real_ else sqrt(mean((rows - power)^2) / length(rows))
    statistic <- function(part) {
      sum(vapply(seq_along(part), function(k) {
        value(part[[k]], p, h[k], threads, call)$power
      }, 0))
    }
    columns <- root_columns(power, error, p, interval, problems, statistic)
    c(columns, list(bandwidth = if (length(h) == 1) h else NA_real_, n = n_obs(predictions),
                    notion = used))
  }, event_level, na_rm, choices = list(kernel = kernel, p = p, interval = interval$type,
                                        level = level))
}, "minimize", c(0, Inf))

dirichlet_error <- function(problem, p, bandwidth, threads, call) {
  n <- length(problem$labels)
  if (n < 2) stop_few_rows(2, n, call)
  if (is.null(bandwidth)) {
    grid <- kde_bandwidths()
    bandwidth <- grid[which.max(kde_loo_loglik(problem$features, grid, threads))]
  }
  ratio <- kde_ratio(problem$features, problem$labels, bandwidth = bandwidth,
                     leave_one_out = TRUE, threads = threads)
  rows <- rowSums(abs(ratio - problem$features)^p)
  list(power = mean(rows), rows = rows, bandwidth = bandwidth)
}

triweight_grid <- list(from = -0.6, to = 1.6, size = 2^14)
triweight_budget <- 2e8  # kernel evaluations; above, confidences go to the grid first

triweight_error <- function(problem, p, bandwidth, threads, call) {
  x <- problem$features[, 1]
  right <- x[problem$labels == 1]
  n <- length(x)
  if (is.null(bandwidth)) {
    bandwidth <- if (length(right) == 0) 0 else sqrt(mean((right - mean(right))^2)) * (2 * n)^(-1 / 5)
    if (bandwidth == 0) {
      stop_input(c(
        "The bandwidth of the kernel density needs two distinct confidences that were right.",
        "x" = "There {cli::qty(length(unique(right)))}{?is/are} {length(unique(right))}.",
        "i" = "Give {.arg bandwidth}, or use {.fn ece} with {.code type = \"discrete\"}."
      ), "bandwidth", arg = "bandwidth", call = call)
    }
  }
  step <- (triweight_grid$to - triweight_grid$from) / (triweight_grid$size - 1)
  density <- function(v) {
    if (length(v) == 0) return(numeric(triweight_grid$size))
    cpp_triweight_density(v, bandwidth, triweight_grid$from, step, triweight_grid$size,
                          triweight_budget)
  }
  t <- triweight_grid$from + step * seq(0, triweight_grid$size - 1)
  all <- density(x)
  correct <- density(right)
  accuracy <- pmin(mean(problem$labels) * correct / all, 1)
  inside <- t >= 0 & t <= 1
  known <- pmax(all, correct) > 1e-6
  integrand <- ifelse(known, abs(t - accuracy)^p * all, NA)
  integrand[1:2] <- ifelse(known[1:2], integrand[1:2], 0)
  # where there is no density the previous value is carried on, as in the reference
  last <- cummax(ifelse(is.na(integrand), 0L, seq_along(integrand)))
  integrand <- integrand[pmax(last, 1L)]
  trapezoid <- function(v) {
    v <- v[inside]
    sum(v) - (v[1] + v[length(v)]) / 2
  }
  list(power = trapezoid(integrand) / trapezoid(all), rows = NULL, bandwidth = bandwidth)
}
