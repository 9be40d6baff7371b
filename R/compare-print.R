# The printed comparison of models: the table, and with a margin a sentence for each pair.

# The answer first: who, by how much, how sure. Leaves out what the header says.
#' @export
print.ce_differences <- function(x, ...) {
  if (!has_columns(x, "difference", c("a", "b"))) return(NextMethod())
  whole <- x
  # what they share; their middle is needed in sentences
  short <- short_names(unique(c(x$a, x$b)), most = 1000)
  x[c("a", "b")] <- list(unname(short[x$a]), unname(short[x$b]))
  keys <- names(x)[seq_len(match("a", names(x)) - 1)]
  first <- intersect(c(keys, "a", "b", "difference", "conf.low", "conf.high", "p.value", "p.adjusted"), names(x))
  shown <- x[union(first, setdiff(names(x), c(".metric", "notion")))]
  attr(shown, "estimand") <- attr(x, "estimand")
  class(shown) <- setdiff(class(x), "ce_differences")
  print(shown, ...)
  print_lines(c(adjust_sentence(x), margin_sentences(x), cut_names_line(short)))
  invisible(whole)
}

margin_sentences <- function(x, most = 6) {
  about <- attr(x, "margin")
  if (is.null(about) || nrow(x) == 0 || !has_columns(x, pair_numbers, margin_facts)) return(NULL)
  rows <- vctrs::new_data_frame(unclass(x), n = nrow(x))
  shown <- utils::head(seq_len(nrow(rows)), most)
  lines <- vapply(shown, function(i) {
    row <- rows[i, ]
    paste0(group_of_pair(row), margin_claim(row, format(about$margin)), ": difference ",
           interval_text(row$difference, row$conf.low, row$conf.high, level = about$level), ".")
  }, "")
  c(lines, if (nrow(rows) > most) paste0("... and ", nrow(rows) - most, " more pairs."))
}

# "site 1: " before what is said of each pair.
group_of_pair <- function(rows) {
  keys <- lapply(unclass(rows)[seq_len(match("a", names(rows)) - 1)], format, trim = TRUE)
  if (length(keys) > 0) paste0(do.call(paste, c(unname(keys), sep = ", ")), ": ")
}

# Which models differ, of all pairs.
adjust_sentence <- function(x, most = 6) {
  about <- attr(x, "adjust")
  p <- x[["p.adjusted"]]
  if (is.null(about) || !is.numeric(p) || all(is.na(p))) return(NULL)
  pairs <- paste0(group_of_pair(x), x$a, " and ", x$b)[which(p < 1 - about$level)]
  more <- if (length(pairs) > most) paste(length(pairs) - most, "more")
  paste0(if (length(pairs) == 0) "No models are shown to differ" else "Shown to differ: ",
         paste(c(utils::head(pairs, most), more), collapse = "; "), " (", length(p), " p-values adjusted by ",
         if (about$method == "holm") "Holm's rule" else about$method, "; the smallest is ",
         min(signif(p, 2), na.rm = TRUE), ").")
}

margin_facts <- c("a", "b", "superior", "noninferior")
pair_numbers <- c("difference", "conf.low", "conf.high")

margin_claim <- function(row, margin) {
  if (is.na(row$superior) || is.na(row$noninferior)) return("No interval, no conclusion")
  turned <- row$superior == "b" || row$superior == "neither" && row$noninferior == "b"
  better <- if (turned) row$b else row$a
  other <- if (turned) row$a else row$b
  if (row$superior != "neither") {
    return(paste0(better, " is superior to ", other, if (row$noninferior == "both") paste(", by less than", margin)))
  }
  switch(
    row$noninferior,
    both = paste0(better, " and ", other, " differ by less than ", margin),
    neither = paste0("Neither ", better, " nor ", other, " is shown to be non-inferior (margin ", margin, ")"),
    paste0(better, " is non-inferior to ", other, " (margin ", margin, "), and not shown to be superior")
  )
}
