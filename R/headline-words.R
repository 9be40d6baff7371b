# A table of calibration errors in words: a sentence per row, then the resolution and how the rows were treated.

#' @export
print.ce_estimate <- function(x, ...) {
  # format() of an estimate is its text: the table is printed without the class
  table <- x
  class(table) <- setdiff(class(x), "ce_estimate")
  attr(table, "design") <- NULL
  print(table, ...)
  lines <- paper_sentences(x)
  if (!is.null(lines)) cat("\n")
  print_lines(lines)
  invisible(x)
}

# Columns that the sentences below an estimate need.
estimate_facts <- c("estimate", "conf.low", "conf.high", "p.value", "resolution", "upper_bound")

estimate_sentences <- function(x, level, most = 6) {
  keys <- names(x)[seq_len(match("notion", names(x)) - 1)]
  shown <- utils::head(seq_len(nrow(x)), most)
  plain <- vctrs::new_data_frame(unclass(x), n = nrow(x))
  labels <- vapply(shown, function(i) {
    paste(c(if (length(keys) > 0) vapply(plain[keys], function(v) format(v[i]), ""), x$notion[i]), collapse = ", ")
  }, "")
  several <- nrow(x) > 1
  verdicts <- page_verdicts(lapply(plain$p.value, function(p) c("joint test" = p)), level)
  # a canonical error is not below the coarser ones of the same rows
  group <- vctrs::vec_group_id(plain[keys])
  above <- vapply(verdicts, function(verdict) any(verdict$rejects), NA)
  coarser <- function(i) {
    if (x$notion[i] == "canonical") x$notion[above & group == group[i] & x$notion %in% c("top_label", "class_wise")]
  }
  lines <- vapply(shown, function(i) {
    facts <- list(level = level, error = plain[i, ], verdict = verdicts[[i]]["rejects"], coarser = coarser(i))
    paste0(if (several) paste0(labels[i], ": "), paste(page_sentences(facts), collapse = " "))
  }, "")
  c(lines, if (nrow(x) > most) paste0("... and ", nrow(x) - most, " more rows."),
    if (sum(!is.na(plain$p.value)) > 1) {
      "\"Above 0\" is by p-values adjusted by Holm's rule; the column is not adjusted."
    },
    resolution_sentence(plain, level), facts_lines(attr(x, "event_hint"), attr(x, "design"), attr(x, "dropped")[1]),
    outside_sentence(plain))
}

resolution_sentence <- function(rows, level) {
  span <- function(v, f) {
    v <- range(v, na.rm = TRUE)
    paste(unique(f(v)), collapse = " to ")
  }
  known <- !is.na(rows$conf.high) & !is.na(rows$resolution)
  if (!any(known)) return(NULL)
  paste0(
    percent_text(level), " interval for the error detectable at this resolution (finest basis: ",
    span(rows$resolution[known], function(v) format(v)),
    if (all(rows$resolution[known] == 1)) " knot" else " knots", "). Worst-case bound (root Brier score): ",
    if (sum(known) == 1) fixed_text(rows$upper_bound[known]) else "column `upper_bound`", "."
  )
}

outside_sentence <- function(rows) {
  outside <- which(rows$estimate < rows$conf.low - 1e-12 | rows$estimate > rows$conf.high + 1e-12)
  if (length(outside) == 0) return(NULL)
  paste0("The estimate of ", method_words(rows$method[outside[1]]),
         " on the test rows lies outside the interval, which is from all rows.")
}
