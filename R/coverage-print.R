# Coverage as a table of texts, in percent, and the scores below it.

#' @export
print.ce_coverage <- function(x, ...) {
  cat("<ce_coverage> central prediction intervals: percent of outcomes, limits at ", percent_text(x$conf_level), "\n",
      counted_line(x), sep = "")
  print_rows(coverage_text(x))
  cat("\nWeighted interval score and its parts\n")
  print_rows(score_text(x))
  print_lines(c(if (x$at_least) whole_number_note, facts_lines(dropped = x$dropped)))
  invisible(x)
}

whole_number_note <- paste(
  "Ends and outcomes are whole numbers: a correct model may cover more than the level, and p-values are those of",
  "too low a coverage."
)

# A row of texts per model, group and level: what a page shows too. "Nominal" only where it is not the level.
coverage_text <- function(x) {
  rows <- x$levels
  percent <- function(v) fixed_text(100 * v, 1)
  names <- stats::setNames(unclass(rows)[x$keys], x$keys)
  p <- if (nrow(rows) > 1) "p (Holm)" else "p"
  as_text_frame(c(lapply(names, as.character), list(
    level = percent_text(rows$level, NULL),
    nominal = if (any(abs(rows$nominal - rows$level) >= 5e-4)) percent(rows$nominal),
    coverage = paste0(percent(rows$coverage), " (", percent(rows$conf.low), " to ", percent(rows$conf.high), ")"),
    below = percent(rows$below), above = percent(rows$above), width = format(rows$width, digits = 3)
  ), stats::setNames(list(sub("^= ", "", p_text(rows$p.adjusted))), p)))
}

score_text <- function(x) {
  numbers <- unclass(x$scores)[c("wis", "overprediction", "underprediction", "dispersion")]
  as_text_frame(c(lapply(unclass(x$scores)[x$keys], as.character),
                  lapply(numbers, format, digits = 3), list(n = vapply(x$scores$n, count_text, ""))))
}

as_text_frame <- function(columns) as.data.frame(drop_null(columns), check.names = FALSE, optional = TRUE)

print_rows <- function(table, most = 40) {
  print(utils::head(table, most), row.names = FALSE)
  if (nrow(table) > most) cat("... and ", nrow(table) - most, " more rows; tidy() has all\n", sep = "")
}
