# Results that are lists: the table that a paper would print of each, and the sentences that belong below it.

#' @export
paper_table.ce_power <- function(x, digits = 3, call = caller_env()) {
  check_object(x)
  if (!is.null(x[["events"]])) x$events <- ceiling(x$events)
  paper_columns(x, digits)
}

# Below a table.
paper_sentences <- function(x) UseMethod("paper_sentences")

#' @export
paper_sentences.default <- function(x) NULL

#' @export
paper_sentences.ce_validation <- function(x) {
  c(validation_paragraphs(x), finest_basis_text(x$resolution))
}

#' @export
paper_sentences.ce_estimate <- function(x) {
  if (nrow(x) > 0 && all(estimate_facts %in% names(x))) {
    estimate_sentences(x, attr(x, "level") %||% 0.95)
  }
}

#' @export
paper_sentences.ce_test <- function(x) {
  if (identical(x$alternative, "less")) {
    return(equivalence_sentence(x$parameter, x$p.value, attr(x$conf.int, "conf.level")))
  }
  x$details$found
}

#' @export
paper_sentences.ce_differences <- function(x) margin_sentences(x)

#' @export
paper_sentences.ce_tune <- function(x) tune_headline(x)

#' @export
paper_sentences.ce_power <- function(x) {
  if (all(power_columns %in% names(x)) && !attr(x, "facts")$given) power_sentence(x)
}

#' @export
paper_sentences.ce_decision <- function(x) {
  labels <- curve_labels(x$summary, x$keys)
  c(unlist(lapply(seq_along(labels), function(i) {
    # the table has the number of rows
    lines <- decision_sentences(decision_part(x, i), x$summary[i, ], x$level)[-1]
    paste0(if (nzchar(labels[i])) paste0(labels[i], ": "), paste(lines, collapse = " "))
  })), if (!is.null(x$differences)) difference_sentences(x$differences, x$keys, x$level))
}

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_table <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_hierarchy <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_validation <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_tune <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_test <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_fit <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_curve <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_recalibration <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_decision <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_rank <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_monitor <- function(x, ...) knit_result(x)

#' @rdname ce_kable
#' @exportS3Method knitr::knit_print
knit_print.ce_grouped <- function(x, ...) knit_result(x)

# The table, and the sentences below it where the result has some.
knit_result <- function(x) {
  said <- plain_text(paper_sentences(x), document_format())
  text <- paste(c(knitr::knit_print(ce_kable(x)), if (length(said) > 0) c("", said), ""), collapse = "\n")
  knitr::asis_output(paste0("\n\n", text, "\n\n"))
}

#' @export
print.ce_summary <- function(x, ...) {
  if (is_reshaped(x)) return(print_reshaped(x, ...))
  check_object(x)
  print(x$object)
  for (name in names(x$tables)) {
    cat("\n", name, "\n", sep = "")
    table <- as.data.frame(x$tables[[name]])
    if (!is.null(table$method)) table$method <- method_words(table$method)
    print(table, row.names = FALSE, digits = 4)
  }
  invisible(x)
}
