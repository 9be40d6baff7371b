#' Kolmogorov-Smirnov calibration error
#'
#' The largest absolute value of the cumulative residual, predictions sorted by size.
#'
#' # Definition
#' `max_s | (1/N) sum_i 1(conf_i <= s) (conf_i - outcome_i) |` (Gruber and Buettner 2022,
#' Definition C.2, pooled over top labels). `s` runs over the distinct predictions only, so ties are counted together
#' and the order of rows does not matter. Class-wise, it is the mean of the classes' errors. With weights the sum is
#' \eqn{\sum_i w_i 1(conf_i \le s)(conf_i - outcome_i) / \sum_i w_i}. It is the ECCE-MAD of Arrieta-Ibarra et al.
#' (2022). Their ECCE-R is `kuiper`, the largest minus the smallest value of the cumulative residual (0 included). If
#' `x` is a [ce_state()], `s` runs over the edges of its cells; [ce_panel()] says by how much the error may be larger.
#'
#' # Test
#' For calibrated predictions the whole sum has the standard deviation
#' \eqn{\sqrt{\sum_i w_i^2 conf_i (1 - conf_i)} / \sum_i w_i}. In its units, column `sigma`, the error is
#' asymptotically the largest absolute value of a Brownian motion on `[0, 1]`, which gives `p.value` (conservative where
#' predictions are tied). With clusters this distribution does not hold: `sigma` and `p.value` are then `NA`, as they
#' are class-wise.
#'
#' # Intervals
#' The upper end takes the place of the maximum as known. The cumulative residual differs from its expectation by at
#' most \eqn{c \sigma} with probability `level`, where \eqn{c} is the quantile of the Brownian motion above and
#' \eqn{\sigma} the standard deviation of the whole sum. The lower end is the error less \eqn{c \sigma}, so it is
#' above 0 exactly where `p.value` is below `1 - level`. There \eqn{\sigma^2} is that of calibrated predictions for an
#' error of 0 and \eqn{\sum_i w_i^2 (conf_i - outcome_i)^2 / (\sum_i w_i)^2} for the estimated error, linear in
#' between. With clusters and class-wise the lower end is at most the cross-fitted limit of [ece()]: the cumulative
#' residual at the place, and with the sign, of the other folds' maximum.
#'
#' # Cost
#' One sort.
#' @section Choosing a model:
#' Do not choose or tune a model by a calibration error alone; see *Choosing a model* in [ce_args].
#' @inheritParams ece
#' @param notion `"top_label"`, `"binary"` or `"class_wise"`; see [ce_args].
#' @return A tibble with `.metric`, `.estimator`, `.estimate`, `std.error`, `conf.low`, `conf.high`,
#' `power` (the error itself), `location` (the prediction where the maximum is reached), `kuiper`, `sigma`, `p.value`,
#' `n`, `notion`, `interval`, `level`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835};
#'   Gupta et al. (2021) \doi{10.48550/arXiv.2006.12800};
#'   Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu (2022) Metrics of calibration for probabilistic predictions,
#'   *Journal of Machine Learning Research* 23.
#' @concept Kolmogorov-Smirnov
#' @concept cumulative differences
#' @examples
#' ks_error(c(0.7, 0.7, 0.5, 0.9), c(1, 0, 1, 1))
#' @export
ks_error <- new_metric("ks_error", function(x, truth, ..., notion = NULL, level = 0.95,
                                times = NULL, .by = NULL, event_level = "first", na_rm = TRUE,
                                weights = NULL, cluster = NULL, horizon = NULL) {
  notion <- check_scalar_notion(notion)
  interval <- check_interval(level, times)
  metric_frame(x, rows_input(quote_dots, copies = TRUE), "ks_error", function(predictions) {
    columns <- ks_columns(notion_problems(predictions, notion), interval)
    between <- if (!is.null(predictions$between)) predictions$between(columns$.estimate)
    between <- if (!is.null(between)) paste0("Cumulative residuals ", between, ".")
    c(columns, list(n = n_obs(predictions), .notes = between))
  }, choices = list(notion = notion, interval = interval$type, level = level), edges = numeric())
}, "minimize", c(0, Inf))

ks_columns <- function(problems, interval) {
  several <- length(problems) > 1
  # errors of one plain problem need sums alone: its rows are looked at where they are asked for
  by_row <- several || !is_plain(problems[[1]]$design)
  parts <- lapply(problems, function(problem) {
    problem <- fold_copies(problem)
    design <- problem$design
    by_rows <- function(by_row) cpp_ks_error(sort_problem(problem), problem_folds(problem), by_row)
    plain <- !by_row && is.null(problem$sorted)
    of <- if (plain) cpp_ks_plain(problem$features, problem$labels, crossfit_folds) else by_rows(by_row)
    rows <- function(name) if (by_row) of[[name]] else function() by_rows(TRUE)[[name]]
    # variances of the whole sum: of calibrated predictions, and estimated by squared residuals
    spread <- if (is.null(design$cluster)) of$spread
    honest <- new_estimate(of$mean, rows("terms"), design, squares = of$squares[2], known = of$known)
    list(estimate = new_estimate(of$value, rows("rows"), design, honest = honest, squares = of$squares[1], largest = 1,
                                 lower = if (!is.null(spread)) ks_lower(of$value, spread)),
         location = of$location, kuiper = of$kuiper, sigma = ks_sigma(of$value, spread))
  })
  columns <- error_columns(
    list(class_mean(lapply(parts, `[[`, "estimate"))), interval, problems,
    function(part) mean(vapply(part, function(q) cpp_ks_error(sort_problem(q), integer())$value, 0))
  )
  shown <- c("location", "kuiper", "sigma", "p.value")
  if (several) return(c(columns, stats::setNames(as.list(rep(NA_real_, 4)), shown)))
  c(columns, c(parts[[1]], list(p.value = cpp_motion_tail(parts[[1]]$sigma)))[shown])
}

# The error in units of the standard deviation under calibration.
ks_sigma <- function(value, spread) {
  if (is.null(spread)) NA_real_ else if (value == 0) 0 else value / sqrt(spread[["known"]])
}

# 0 where the test does not reject.
ks_lower <- function(value, spread) {
  function(level) {
    if (!rejects_at(cpp_motion_tail(ks_sigma(value, spread)), level)) return(0)
    max(cpp_motion_limit(value, spread[["known"]], spread[["estimated"]], level), 0)
  }
}

check_scalar_notion <- function(notion) {
  check_notion(notion)
  stop_if(identical(notion, "canonical"),
          "{.arg notion} must be one of {.or {.val {c('top_label', 'binary', 'class_wise')}}} here.",
          "x" = "It is {.val canonical}.",
          "i" = "For whole probability vectors see {.fn skce} and {.code ece(notion = \"canonical\")}.",
          class = "notion", arg = "notion", value = notion)
  notion
}
