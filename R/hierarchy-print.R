#' @export
print.ce_hierarchy <- function(x, ...) {
  if (names(x)[1] != "quantity") return(invisible(print(tidy(x), ...)))
  numbers <- c("p", "n_classes", "n", "n_distinct", "holds", "value", "conf.low", "conf.high")
  if (!has_columns(x, numbers, "below") || nrow(x) == 0) return(NextMethod())
  cat("Hierarchy of calibration errors (p = ", format(x$p[1]), ", ", x$n_classes[1], " classes, n = ",
      x$n[1], ")\n", counted_line(list(counted = attr(x, "design"))), sep = "")
  # of each error below the ceiling
  depth <- integer(nrow(x))
  for (i in seq_len(nrow(x))[-1]) depth[i] <- depth[match(x$below[i], x$quantity)] + 1L
  name <- paste0(strrep("  ", depth), ifelse(depth > 0, ">= ", ""), x$quantity)
  note <- ifelse(is.na(x$holds), ifelse(is.na(x$below), "", "(not asserted for p > 2)"),
                 ifelse(x$holds, "", "VIOLATED"))
  number <- function(v) fixed_text(v, 4)
  interval <- ifelse(is.na(x$conf.low), "", paste0("[", number(x$conf.low), ", ", number(x$conf.high), "]"))
  cat(paste0(format(name), "  ", number(x$value), "  ", format(interval), "  ", note), sep = "\n")
  cat(if (anyNA(x$value)) {
    "Values are missing.\n"
  } else if (all(x$holds, na.rm = TRUE)) {
    "All inequalities hold.\n"
  } else {
    "Some inequalities do not hold: please report this.\n"
  })
  if (!anyNA(x$value) && isTRUE(x$n_distinct[1] > x$n[1] / 2)) {
    cat(x$n_distinct[1], " of ", x$n[1], " predictions are distinct: errors without bins (CE, CWCE, TCE) are\n",
        "as large as they can be. They describe these rows, not the model.\n", sep = "")
  }
  invisible(x)
}
