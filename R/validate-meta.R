# Differences between groups, centres or studies: the random-effects summary of a validation of each.

#' Differences between groups and centres
#'
#' Whether the numbers of [ce_validate()] differ between groups, and what a further group may have: a random-effects
#' meta-analysis of the groups of `.by`.
#'
#' @section Definition:
#' On the scale where a number is about normal (log of the O:E ratio, logit of the AUROC, the others as they are), group
#' i has \eqn{\theta_i} with standard error \eqn{s_i}. `estimate` is their mean with weights
#' \eqn{1 / (s_i^2 + \tau^2)}; `tau`, the standard deviation between groups, is estimated by restricted maximum
#' likelihood. Limits are averaged over the confidence distribution of \eqn{\tau^2}: with weights at the true one,
#' Cochran's Q has the chi-squared distribution with k - 1 degrees of freedom (Viechtbauer 2007). At each \eqn{\tau^2}
#' the mean is normal, and so is a new group of the same kind, which is between `pred.low` and `pred.high`. Of groups
#' with equal errors that differ clearly, the limits are Student's with k - 1 degrees of freedom. In simulations of
#' three to ten groups of equal and unequal sizes, 95% intervals missed the mean in 1 to 7% of samples and a new group
#' in 0 to 6%. `statistic` is Cochran's Q with \eqn{\tau = 0}. Its p-value, that of equal groups, is from Welch's (1951)
#' F distribution, with the smaller number of events or non-events of each group; `p.adjusted` is Holm's over the
#' numbers.
#'
#' Equal groups need not be calibrated. The standard error of calibration in the large therefore comes from
#' the outcomes, not from \eqn{p (1 - p)} of the predictions; the slope has the larger one of the two.
#'
#' Groups must be independent: no cluster may be in two of them. A group whose number has no finite value or no error,
#' such as the O:E ratio of a group without events, is left out; `k` counts the others. Of rare events the mean O:E
#' ratio is therefore too large: with three events a group its interval was above 1 in 16% of samples (20 calibrated
#' groups).
#' @param x A result of [ce_validate()] with `.by`.
#' @param level Confidence level.
#' @return A tibble of `term`, `k`, `estimate`, `conf.low`, `conf.high`, `pred.low`, `pred.high`, `tau`, `statistic`,
#'   `p.value` and `p.adjusted`. `tidy()` has a row per number and group, with simultaneous limits of all groups
#'   (Bonferroni) and its weight. `plot()` is the forest plot.
#' @section Errors:
#' `calibrisk_error_group` unless there are two groups or more of one model and one event, `calibrisk_error_argument`.
#' @references Viechtbauer (2007) \doi{10.1002/sim.2514}. Debray et al. (2017)
#'   \doi{10.1136/bmj.i6460}. Welch (1951) \doi{10.1093/biomet/38.3-4.330}.
#' @concept meta-analysis
#' @concept heterogeneity
#' @concept centre
#' @concept subgroup
#' @concept forest plot
#' @export
#' @examples
#' p <- rep(seq(0.05, 0.95, length.out = 100), 4)
#' y <- as.numeric((1:400 * 0.618) %% 1 < p)
#' data <- data.frame(p, y, centre = rep(c("A", "B", "C", "D"), each = 100))
#' centres <- ce_meta(ce_validate(data, y, p, .by = centre, times = 0))
#' centres
#' if (requireNamespace("ggplot2", quietly = TRUE)) plot(centres)
ce_meta <- function(x, level = 0.95) {
  stop_if(!inherits(x, "ce_validation"), "{.arg x} must be a result of {.fn ce_validate}.",
          "x" = "It is {describe(x)}.", arg = "x")
  check_level(level)
  stop_if(nrow(x$sample) < 2, "{.arg x} must be a validation of two groups or more, by {.arg .by}.",
          "x" = "It has {nrow(x$sample)}.", class = c("group", "argument"), arg = "x")
  dependent <- if (isTRUE(x$several_models)) "models" else if (identical(x$notion, "class_wise")) "classes"
  stop_if(!is.null(dependent), "Groups must be independent, but {dependent} are of the same rows.",
          "x" = "{.arg x} has several {dependent}.",
          "i" = if (identical(dependent, "models")) "Validate one of them: {.code m[\"name\"]} of {.fn ce_models}." else
            "Validate one of them, as the predictions of an event.", class = c("group", "argument"), arg = "x")
  groups <- if (length(x$keys) == 1) paste(x$sample[[x$keys]]) else key_labels(x$sample[x$keys])
  few <- pmin(x$sample$events, x$sample$n - (x$sample[["n_censored"]] %||% 0) - x$sample$events)
  df <- pmax(pmin(few - 1, x$df), 1)
  parts <- lapply(intersect(c("oe_ratio", "in_the_large", "slope", "auroc"), x$table$term), function(term) {
    rows <- x$table[x$table$term == term, ]
    rows <- rows[vctrs::vec_match(x$sample[x$keys], rows[x$keys]), ]
    own <- vapply(x$outcome_errors, function(errors) errors[term], 0)
    if (term == "in_the_large" && length(own) > 0) rows$std.error <- own
    if (term == "slope" && length(own) > 0) rows$std.error <- pmax(rows$std.error, own)
    meta_term(term, rows, df, groups, level)
  })
  out <- bind_rows(lapply(parts, `[[`, "summary"))
  out$p.adjusted <- stats::p.adjust(out$p.value, "holm")
  attr(out, "groups") <- vctrs::vec_cbind(
    bind_rows(lapply(parts, `[[`, "groups")), vctrs::vec_rep(x$sample[c("n", "events")], length(parts))
  )
  new_table(out, c("Random effects" = paste0(count_of(length(groups), "group"), ", by ", toString(x$keys)),
                   Intervals = paste0(percent_text(level), " of the mean (conf), and of a new group (pred)")),
            "ce_meta")
}

# `df`: of the groups' standard errors, for the test.
meta_term <- function(term, rows, df, groups, level) {
  of <- cpp_group_effects(rows$estimate, rows$std.error, df, number_fact(term, "scale"), level)
  list(summary = columns_frame(term = term, !!!of$summary),
       groups = columns_frame(term = term, group = groups, estimate = rows$estimate, std.error = rows$std.error,
                              !!!of$groups))
}

#' @export
tidy.ce_meta <- function(x, ...) attr(x, "groups")
