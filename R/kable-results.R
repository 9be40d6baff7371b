# Results that are lists: the table that a paper would print of each, and the sentences that belong below it.

#' @export
paper_table.ce_power <- function(x, digits = 3) {
  if (!is.null(x[["events"]])) x$events <- ceiling(x$events)
  paper_columns(x, digits)
}

#' @export
paper_table.ce_coverage <- function(x, digits = 3) coverage_text(x)

# Below a table.
paper_sentences <- function(x) UseMethod("paper_sentences")

#' @export
paper_sentences.default <- function(x) NULL

#' @export
paper_sentences.ce_validation <- function(x) validation_paragraphs(x)

#' @export
paper_sentences.ce_estimate <- function(x) {
  if (nrow(x) > 0 && has_columns(x, estimate_facts, c("notion", "method"))) {
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
paper_sentences.ce_coverage <- function(x) if (x$at_least) whole_number_note

#' @export
paper_sentences.ce_power <- function(x) {
  if (has_columns(x, power_numbers, power_words) && !attr(x, "facts")$given) power_sentence(x)
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
knit_print.ce_result <- function(x, ...) {
  # tables without a header are printed as in the console
  if (is.data.frame(x) && !inherits(x, c("ce_table", "ce_hierarchy"))) return(knitr::normal_print(x))
  said <- plain_text(paper_sentences(x), document_format())
  text <- paste(c(knitr::knit_print(ce_kable(x)), if (length(said) > 0) c("", said), ""), collapse = "\n")
  knitr::asis_output(paste0("\n\n", text, "\n\n"))
}
