# Tables for papers: what print() shows of a result, as a table of HTML, LaTeX or markdown.

#' Tables of results for papers
#'
#' An estimate with its interval in one column, as papers print them: `"0.092 (0.055 to 0.131)"`. In an R Markdown or
#' Quarto document results are printed so by themselves; the chunk option `render = knitr::normal_print` shows what the
#' console shows. `format()` of a table of [ce_estimate()] gives a text per row, `"0.092 (95% CI 0.055 to 0.131)"`, for
#' the running text.
#'
#' @param x A result: of [ce_estimate()], [ce_validate()], [ce_tune()], [ce_test()], [ce_compare()], [ce_decision()],
#'   [ce_curve()], [ce_recalibrate()], [ce_rank()], [ce_fit()], or any other table of this package.
#' @param digits Digits after the point, at least: numbers that are smaller have two significant ones.
#' @param format `"html"`, `"latex"`, `"pipe"` or `"simple"`, see [knitr::kable()]; by default that of the document.
#' @param caption Caption; by default the description of the estimand in the printed table; `NA` for none.
#' @param escape Whether names, levels and captions are shown as they are. With `FALSE` they are markup (a formula in a
#'   caption, say), and markup in the data reaches the page too.
#' @param term Which number of a validation, such as `"slope"`: `format()` gives `"0.95 (0.74 to 1.17)"`.
#' @param ... Passed on to [knitr::kable()].
#' @return `ce_kable()`: a [knitr::kable()]. `format()`: a character vector.
#' @section Errors:
#' `calibrisk_error_package` where knitr is not installed, `calibrisk_error_argument`.
#' @export
#' @examplesIf requireNamespace("knitr", quietly = TRUE)
#' errors <- ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise"))
#' ce_kable(errors, format = "pipe")
#' format(errors)
ce_kable <- function(x, digits = 3, format = NULL, caption = NULL, escape = TRUE, ...) {
  if (!is.data.frame(x) && !is.list(x)) paper_table(x)
  check_count(digits, lower = 0)
  check_flag(escape)
  check_package("knitr", "Tables for papers need")
  table <- paper_table(x, digits)
  if (is.null(caption)) caption <- paper_caption(x)
  if (!is.null(caption) && !is.na(caption[1])) check_string(caption, "caption")
  text_table(table, format, caption, escape, ...)
}

# A table of texts, none of which is markup. `...`: of kable().
text_table <- function(table, format = NULL, caption = NA, escape = TRUE, ...) {
  format <- table_format(format)
  options <- list(...)
  # texts of numbers stand to the right, so that their points are below each other
  numeric <- vapply(table, function(v) all(grepl("^[-0-9<= .,InfNA]*([(].*[)])?$", v)), NA)
  options$align <- options$align %||% ifelse(numeric, "r", "l")
  if (escape) {
    plain <- function(v) plain_text(v, format)
    table[] <- lapply(table, plain)
    names(table) <- plain(names(table))
    if (is.character(caption)) caption <- plain(caption)
    if (is.character(options$col.names)) options$col.names <- plain(options$col.names)
  }
  rlang::inject(
    knitr::kable(table, format = format, caption = caption, row.names = FALSE, escape = FALSE, !!!options)
  )
}

# As kable() finds it: the markup has to be known before.
table_format <- function(format) {
  ours <- c("html", "latex", "pipe", "simple")
  if (rlang::is_string(format) && !format %in% c("markdown", "pandoc")) check_choice(format, ours, "format")
  check_choice(attr(knitr::kable(data.frame(x = 1), format), "format"), ours, "format")
}

# A data frame of texts with the columns' titles.
paper_table <- function(x, digits = 3) UseMethod("paper_table")

#' @export
paper_table.default <- function(x, digits = 3) {
  if (is.data.frame(x)) return(paper_columns(x, digits))
  if (inherits(x, c("ce_fit", "ce_rank"))) return(paper_columns(tidy(x), digits))
  if (inherits(x, "ce_result")) return(paper_columns(glance(x), digits))
  stop_input("{.arg x} must be a result of this package, or a table of one.", "x" = "It is {describe(x)}.",
             "i" = "For example {.code ce_kable(ce_validate(data, outcome, .pred_yes))}.", arg = "x", value = x)
}

#' @export
paper_table.ce_validation <- function(x, digits = 3) {
  text <- validation_display(x$table, digits, x$keys)
  text$p <- sub("^= ", "", text$p)
  names(text)[ncol(text) - 1] <- interval_title("estimate", x$level)
  text
}

#' @export
paper_table.ce_tune <- function(x, digits = 3) {
  parameter <- ifelse(is.na(x$glance$parameter), "", x$glance$parameter)
  out <- tune_display(x, trimws(paste(parameter, chosen_values(x$glance))))
  names(out)[1] <- "best"
  out
}

#' @export
paper_table.ce_grouped <- function(x, digits = 3) {
  parts <- lapply(x$results, paper_table, digits)
  bind_parts(x$keys, parts)
}

interval_title <- function(name, level) paste0(name, " (", percent_text(level), " CI)")

# Any tibble: an estimate and its limits become one column, tidy names words.
paper_columns <- function(x, digits) {
  level <- attr(x, "level") %||% (if ("level" %in% names(x) && is.numeric(x$level)) x$level[1]) %||% 0.95
  x <- vctrs::new_data_frame(unclass(x)[vapply(x, function(v) is.atomic(v) && is.null(dim(v)), NA)], n = nrow(x))
  if (is.numeric(x$level)) x$level <- NULL
  value <- intersect(c("estimate", ".estimate", "difference", "gain", "area", "value"), names(x))
  both <- length(value) > 0 && all(c("conf.low", "conf.high") %in% names(x))
  if (both) {
    value <- if ("difference" %in% value) "difference" else value[1]
    text <- interval_text(x[[value]], x$conf.low, x$conf.high, digits)
    x[c("conf.low", "conf.high", "std.error")] <- NULL
  }
  p_values <- grepl("^p[.](value|adjusted)$", names(x))
  x[p_values] <- lapply(x[p_values], function(p) sub("^= ", "", p_text(p)))
  if (both) x[[value]] <- text
  # a column of nothing but missing values tells nothing
  x <- x[vapply(x, function(v) !all(is.na(v)), NA)]
  # names of ours are words; those of the data stay as they are
  ours <- names(x) %in% c("notion", "type", "norm", "term", "score", ".metric", ".estimator", "test", "computation",
                          "quantity")
  x[ours] <- lapply(x[ours], function(v) if (is.character(v)) gsub("_", "-", v) else v)
  x[] <- lapply(x, function(v) {
    if (!is.numeric(v)) return(ifelse(is.na(v), "", format(v, trim = TRUE)))
    whole <- all(is.na(v) | (is.finite(v) & v == round(v)))
    places <- printed_digits(max(abs(v[is.finite(v)]), 0), digits = digits)
    ifelse(is.na(v), "", if (whole) vapply(v, count_text, "") else fixed_text(v, places))
  })
  if (!is.null(x$method)) x$method <- method_words(x$method)
  titles <- c(.metric = "metric", .estimator = "estimator", .estimate = "estimate", p.value = "p",
              p.adjusted = "p, adjusted", lower_bound = "lower bound")
  at <- names(x) %in% names(titles)
  shown <- names(x)
  if (both) at[shown == value] <- FALSE
  shown[at] <- titles[shown[at]]
  if (both) shown[shown == value] <- interval_title(sub("^[.]", "", value), level)
  names(x) <- gsub("_", " ", shown)
  x
}

paper_caption <- function(x) {
  if (inherits(x, "ce_validation")) {
    said <- if (nrow(x$sample) == 1) rows_and_events(x$sample, x$notion, x$event$label, x$horizon) else
      count_of(sum(x$sample$n[vctrs::vec_group_id(x$sample[intersect(c("model", "class"), x$keys)]) == 1]), "row")
    return(paste0("Validation: ", gsub("_", "-", x$notion), ", ", said, "."))
  }
  if (!is.data.frame(x)) {
    said <- c(if (inherits(x, "ce_tune")) paste0("Calibration error: ", notion_label(x), "."),
              if (inherits(x, "ce_coverage")) paste0("Coverage of central prediction intervals, in percent (limits at ",
                                                     percent_text(x$conf_level), ")."),
              if (is.list(x$event)) event_sentence(x$event$label), x$counted)
    return(if (length(said) > 0) paste(said, collapse = " "))
  }
  lines <- c(attr(x, "estimand"), read_lines(x))
  if (length(lines) > 0) paste0(paste(names(lines), lines, sep = ": ", collapse = "; "), ".")
}

#' @rdname ce_kable
#' @export
format.ce_estimate <- function(x, digits = 3, ...) {
  check_count(digits, lower = 0)
  text <- interval_text(x$estimate, x$conf.low, x$conf.high, digits, attr(x, "level") %||% 0.95)
  ifelse(nzchar(text), text, "NA")
}

#' @rdname ce_kable
#' @export
format.ce_validation <- function(x, term, digits = 2, ...) {
  known <- unique(x$table$term)
  stop_if(missing(term) || !rlang::is_string(term, known), "{.arg term} must be a number of the validation.",
          "x" = "It is {if (missing(term)) 'not given' else describe(term)}.", "i" = "Its numbers are {.val {known}}.",
          arg = "term")
  check_count(digits, lower = 0)
  rows <- x$table[x$table$term == term, ]
  text <- interval_text(rows$estimate, rows$conf.low, rows$conf.high, digits)
  ifelse(nzchar(text), text, "NA")
}
