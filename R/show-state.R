#' @export
print.ce_state <- function(x, ...) {
  check_state(x)
  cat("<ce_state> ", count_of(x$n, "row"), if (!is.null(x$about)) paste0(", ", x$about$notion), state_event(x),
      sep = "")
  if (x$dropped > 0) cat(" (", count_of(x$dropped, "incomplete row"), " left out)", sep = "")
  cat("\n")
  if (!is.null(x$about$horizon)) writeLines(strwrap(followed_sentence(x), exdent = 2))
  writeLines(strwrap(paste0("Keeps: ", spec_words(x$spec), "."), exdent = 2))
  cat("Holds ", format(round(sum(lengths(unlist(x$sums, recursive = FALSE))) * 8 / 1024)), " kB of sums",
      if (isTRUE(x$about$blocked)) ", in blocks", "; no rows.\n", sep = "")
  if (x$n > 1 && !identical(x$about$notion, "canonical")) {
    row <- state_headline(x, 0.95, 1L)
    writeLines(strwrap(page_sentences(list(level = 0.95, error = row)), exdent = 2))
  }
  invisible(x)
}

#' @rdname ce_state
#' @export
glance.ce_state <- function(x, ..., level = 0.95) {
  check_empty(...)
  row <- ce_estimate(x, level = level)
  columns_frame(!!!as.list(row), dropped = x$dropped)
}
