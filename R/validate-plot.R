# The calibration curve of a validation with its numbers.

#' @rdname ce_validation_tables
#' @method autoplot ce_validation
#' @exportS3Method ggplot2::autoplot ce_validation
autoplot.ce_validation <- function(object, type = "smooth", numbers = TRUE, ...) {
  curve <- validation_curve(object, type)
  curve$numbers <- validation_numbers(object)
  ggplot2::autoplot(curve, numbers = numbers, ...)
}

# The numbers that a figure shows for each row of the sample. Groups have rows of their own in the table, at level
# "strong".
validation_numbers <- function(x) {
  # the longest name first, where the diagonal is furthest
  terms <- c("calibration_error", "brier", "oe_ratio", "intercept", "slope", "auroc")
  digits <- c(3, 3, 2, 2, 2, 2)
  short <- number_fact(terms, "short")
  labels <- ifelse(nzchar(short), short, term_label(terms))
  table <- x$table[x$table$level != "strong", ]
  of <- if (length(x$keys) == 0) rep(1L, nrow(table)) else vctrs::vec_match(table[x$keys], x$sample[x$keys])
  lapply(seq_len(nrow(x$sample)), function(i) {
    own <- table[of == i, ]
    values <- own$estimate[match(terms, own$term)]
    drop_missing(c(stats::setNames(mapply(figure_number, values, digits), labels),
                   n = count_text(x$sample$n[i]), events = count_text(x$sample$events[i])))
  })
}
