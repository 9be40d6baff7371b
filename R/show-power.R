power_numbers <- c("target", "n", "events")
power_words <- c("criterion", "quantity")

#' @export
print.ce_power <- function(x, ...) {
  facts <- attr(x, "facts")
  if (is.null(facts) || !has_columns(x, power_numbers, power_words)) return(NextMethod())
  header <- attr(x, "estimand")
  cat(strwrap(paste0("# ", names(header), ": ", header), exdent = 4), sep = "\n")
  shown <- data.frame(criterion = x$criterion, target = paste(x$quantity, format_each(x$target)),
                      rows = ifelse(is.finite(x$n), count_each(x$n), "none enough"),
                      events = ifelse(is.finite(x$n), count_each(ceiling(x$events)), ""))
  names(shown)[2] <- if (facts$given) "expected" else "aim"
  if ("simulated" %in% names(x)) shown$simulated <- ifelse(is.na(x$simulated), "", format_each(x$simulated))
  print(shown, row.names = FALSE, right = TRUE)
  print_lines(c(if (!facts$given) power_sentence(x), facts_lines(facts$event$hint)))
  invisible(x)
}
