#' Grades of a rating
#'
#' Compares the predicted with the observed frequency in every grade of a rating, such as a scale of default
#' probabilities: a row for each distinct prediction.
#'
#' @section Definition:
#' `conf.low` and `conf.high` are Jeffreys' limits: for a grade with n rows and s events, quantiles of the beta
#' distribution with the parameters s + 1/2 and n - s + 1/2. They never exclude `observed`: they are 0 or 1 if no row,
#' or every row, has the event.
#' `p.value` is from the exact binomial test of the prediction, twice the smaller tail, and `p.adjusted` is Holm's
#' over all rows of the table. With weights and clusters the effective number of rows replaces n, as in
#' [ce_coverage()]. The outcomes of a grade often depend on each other, by the state of the economy: give the `cluster`,
#' such as the year, or read the p-values as those of independent ones. A grade whose rows are all in one cluster has
#' neither limits nor a p-value.
#' @inheritParams ce_args
#' @param x Predictions of an event: a vector or a data frame, or several models from [ce_models()] or a list.
#' @return A tibble with `predicted`, `n`, `events`, `observed`, `conf.low`, `conf.high`, `p.value` and `p.adjusted`,
#'   after the columns of models and groups.
#' @section Errors:
#' Those of [ce_args], and `calibrisk_error_argument` for more than 100 distinct predictions.
#' @references Brown, Cai and DasGupta (2001). Interval estimation for a binomial proportion. *Statistical Science* 16,
#'   101-133. \doi{10.1214/ss/1009213286}.
#' @seealso [ce_estimate()] has one number for all grades, and one test.
#' @concept rating
#' @concept credit risk
#' @concept probability of default
#' @concept Jeffreys interval
#' @export
#' @examples
#' set.seed(1)
#' loans <- data.frame(grade = sample(c("A", "B", "C"), 900, TRUE))
#' loans$pd <- c(A = 0.005, B = 0.02, C = 0.08)[loans$grade]
#' loans$default <- rbinom(900, 1, 1.5 * loans$pd)
#' ce_grades(loans, default, pd, .by = grade, event_level = "second")
ce_grades <- function(x, truth, ..., level = 0.95, .by = NULL, event_level = "first", weights = NULL, cluster = NULL,
                      horizon = NULL) {
  if (missing(x)) stop_no_predictions()
  check_level(level)
  x <- read_table(x)
  input <- evaluate_input_once(rows_input(model_dots, copies = TRUE), x)
  event <- NULL
  found <- read_curves(x, input$by, function(part) {
    predictions <- predictions_of(part, input)
    notion <- default_notion(predictions)
    event <<- event_label(predictions, notion, input$design$horizon)
    with_read(notion_problems(predictions, notion), predictions)
  })
  keys <- vctrs::vec_rbind(!!!found$keys)
  out <- bind_parts(keys, lapply(found$problems, grade_rows, level))
  out$p.adjusted <- stats::p.adjust(out$p.value, "holm")
  attr(out, "event") <- event
  attr(out, "design") <- design_sentence(lapply(found$problems, `[[`, "design"))
  new_table(out, c(Grades = paste0("Jeffreys' limits at ", percent_text(level), ", exact binomial tests")), character())
}

grade_rows <- function(problem, level) {
  p <- problem$features[, 1]
  grades <- sort(unique(p))
  stop_if(length(grades) > 100, "Grades are few distinct predictions, at most 100.",
          "x" = "There are {length(grades)}.", "i" = "{.fn ce_curve} has a curve.", arg = "x")
  bind_rows(lapply(grades, function(grade) {
    design <- design_rows(problem$design, which(p == grade))
    y <- as.numeric(problem$labels[p == grade])
    share <- row_mean(y, design)
    # of one cluster there is no variance
    size <- if (is_unweighted(design)) copy_count(design) else
      if (!is.null(design$cluster) && max(design$cluster) < 2) NA_real_ else trials_of(y, design, level)
    ends <- stats::qbeta((1 + c(-1, 1) * level) / 2, share * size + 0.5, (1 - share) * size + 0.5)
    columns_frame(predicted = grade, n = copy_count(design), events = copy_count(design_rows(design, y == 1)),
                  observed = share, conf.low = min(share, ends[1]), conf.high = max(share, ends[2]),
                  p.value = cpp_share_p_values(share, size, grade))
  }))
}
