#' Estimate a calibration error
#'
#' One number per notion, with an interval: tunes the methods with [ce_tune()], takes the one
#' with the smallest risk and reports its calibration error on the test rows.
#'
#' @inheritParams ce_tune
#' @param notion One or several notions of calibration. All are estimated on the same folds and test rows, so that a
#'   row does not depend on which others are asked for.
#' @param method `"auto"`: all of [ce_methods()], the one with the smallest risk is reported; or
#'   a method, tuned over its own grid.
#' @return One row per notion (and group) with `notion`, `method`, `parameter`, `value`, `estimate`,
#'   `std.error`, `conf.low`, `conf.high`, `lower_bound`, `root_risk`, `skill`, `n` and `n_test`. The
#'   interval is for the calibration error itself, built on the squared scale from all rows (see
#'   [ce_tune()]); the estimate is 0 where its square is negative. `lower_bound` is a one-sided bound at `level` for the
#'   calibration error itself; see [ce_risk()].
#' @references `r ref_gruber_bach()`
#' @seealso [ce_tune()] for all methods side by side.
#' @export
#' @examples
#' set.seed(1)
#' ce_estimate(vehicle_predictions, truth, notion = c("top_label", "canonical"),
#'             method = method_kde())
ce_estimate <- function(x, truth, ..., notion = "top_label", method = "auto", folds = 5, test = 0.2,
                        .by = NULL, level = 0.95, event_level = "first", na_rm = TRUE,
                        progress = TRUE, threads = NULL) {
  call <- current_env()
  notion <- unique(check_notion(notion, several = TRUE))
  if (!identical(method, "auto")) {
    check_method(method)
    check_bins_notion(list(method), notion, call)
  }
  check_level(level)
  check_flag(progress)
  threads <- resolve_threads(threads)
  truth <- enquo(truth)
  dots <- enquos(...)
  out <- by_groups(x, enquo(.by), function(part) {
    predictions <- as_predictions(part, truth, dots, event_level, na_rm, call)
    if (!predictions$na) split <- split_predictions(predictions, folds, test, call)
    rows <- lapply(notion, function(one) {
      if (predictions$na) return(missing_estimate(one, predictions))
      methods <- if (is_method(method)) check_methods(method) else ce_methods(one)
      estimate_row(tune_predictions(predictions, one, methods, folds, test, level, progress,
                                    threads, call, split))
    })
    vctrs::vec_rbind(!!!rows)
  })
  new_table(out, c("Calibration error" = "root, squared (L2) norm",
                   "Interval" = paste0(format(100 * level), " % for the error itself, see ?ce_tune")), "ce_estimate")
}

estimate_row <- function(tuned) {
  row <- tuned$glance[which(tuned$glance$selected), ]
  if (nrow(row) == 0) row <- tuned$glance[1, ]
  n_test <- sum(tuned$split$fold == 0)
  tibble::tibble(
    notion = tuned$notion, method = row$method, parameter = row$parameter, value = row$value,
    estimate = row$estimate, std.error = row$estimate_std.error, conf.low = row$conf.low,
    conf.high = row$conf.high, lower_bound = row$lower_bound, root_risk = row$root_risk,
    skill = row$skill, n = tuned$n, n_test = if (n_test > 0) n_test else tuned$n
  )
}

missing_estimate <- function(notion, predictions) {
  tibble::tibble(
    notion = notion, method = NA_character_, parameter = NA_character_, value = NA_real_,
    estimate = NA_real_, std.error = NA_real_, conf.low = NA_real_, conf.high = NA_real_,
    lower_bound = NA_real_, root_risk = NA_real_, skill = NA_real_,
    n = n_obs(predictions) + predictions$dropped, n_test = NA_integer_
  )
}
