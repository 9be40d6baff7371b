#' @export
print.ce_state <- function(x, ...) {
  check_state(x)
  about <- x$about
  cat("<ce_state> ", count_of(state_rows(x), "row"), if (!is.null(about)) paste0(", ", about$notion),
      if (!is.null(about) && !is.null(event_label(about, about$notion, about$horizon))) {
        paste0(", events: ", about$levels[about$event])
      }, "\n", sep = "")
  spec <- x$spec
  kept <- paste0(
    "Keeps: ", spec$notion %||% "default notion", ", ", length(spec$edges) - 1, " cells",
    if (!is.null(spec$knots)) paste0(" (", count_of(length(spec$knots), "given knot"), ")"), ", ",
    count_of(spec$n_bins, "bin"), "; Algorithm 1: ", spec$folds, " folds, test share ", format(spec$test), ", bins ",
    paste(unique(range(spec$grid)), collapse = " to "), "; ", spec$blocks, " blocks."
  )
  print_lines(c(if (!is.null(x$about$horizon)) followed_sentence(x), facts_lines(dropped = x$dropped), kept))
  cat("Holds ", format(round(sum(lengths(unlist(x$sums, recursive = FALSE))) * 8 / 1024)), " kB of sums",
      if (isTRUE(x$about$blocked)) ", in blocks", "; no rows.\n", sep = "")
  if (x$n > 1) {
    row <- state_headline(x, 0.95)
    print_lines(page_sentences(list(level = 0.95, error = row)))
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
