# The printed validation: a line per number in the order of the hierarchy, then the sentences to report.

term_label <- function(term) {
  name <- sub("[(].*", "", term)
  of <- ifelse(grepl("(", term, fixed = TRUE), term_value(term), "")
  label <- number_fact(name, "words")
  unname(ifelse(nzchar(of), paste0(label, ifelse(name %in% c("net_benefit", "equivalence"), " ", ", "), of), label))
}

# Between the brackets.
term_value <- function(term) sub("^[^(]*[(](.*)[)]$", "\\1", term)

p_text <- function(p) {
  ifelse(is.na(p), "", ifelse(p < 0.001, "< 0.001", paste0("= ", formatC(p, digits = 3, format = "f"))))
}

# `keys`: the columns that tell curves apart. Without the terms that few ask for.
validation_display <- function(rows, digits = 3, keys = character()) {
  rows <- rows[!rows$term %in% c("joint", "e50", "eci"), ]
  data.frame(
    rows[keys], level = ifelse(duplicated(rows[c(keys, "level")]), "", rows$level), term = term_label(rows$term),
    estimate = interval_text(rows$estimate, rows$conf.low, rows$conf.high, digits), p = p_text(rows$p.value),
    check.names = FALSE
  )
}

#' @export
print.ce_validation <- function(x, ...) {
  cat("<ce_validation> ", gsub("_", "-", x$notion), ", intervals at ", percent_text(x$level),
      if (!is.null(x$horizon)) paste0(", events", horizon_text(x$horizon, " by time ")), "\n", sep = "")
  labels <- curve_labels(x$sample, x$keys)
  parts <- validation_parts(x)
  sentences <- validation_sentences(x, parts = parts)
  print_pages(nrow(x$sample), function(i) {
    if (nzchar(labels[i])) cat("\n", labels[i], "\n", sep = "")
    print_lines(sample_sentence(x$sample[i, ], x$notion, x$event$label, x$horizon))
    cat("\n")
    display <- validation_display(parts[[i]])
    columns <- lapply(display, function(v) format(v, justify = "left"))
    columns$p <- ifelse(nzchar(display$p), paste("p", display$p), "")
    cat(sub(" +$", "", do.call(paste, c(columns, sep = "  "))), sep = "\n")
    cat("\n")
    print_lines(c(sentences[[i]], if (length(x$notes[[i]]) > 0) paste0("Note: ", x$notes[[i]])))
  })
  print_lines(facts_lines(x$event$hint, x$design, x$dropped))
  invisible(x)
}

# The rows of each model, group and class.
validation_parts <- function(x) {
  at <- factor(vctrs::vec_match(x$table[x$keys], x$sample[x$keys]), seq_len(nrow(x$sample)))
  vctrs::vec_chop(x$table, unname(split(seq_along(at), at)))
}

sample_sentence <- function(sample, notion = "binary", event = NULL, horizon = NULL) {
  digits <- max(printed_digits(100 * c(sample$prevalence, sample$mean_prediction), digits = 1))
  paste0(rows_and_events(sample, notion, event, horizon), ": ", percent_text(sample$prevalence, digits), " observed, ",
         percent_text(sample$mean_prediction, digits), " predicted")
}

# For a top label the event is that it was right.
rows_and_events <- function(sample, notion, event = NULL, horizon = NULL) {
  if (!is.null(horizon)) {
    return(follow_up_text(sample$n, sample$events, sample$n_censored, sample$n_effective, horizon))
  }
  paste0(count_of(sample$n, "row"), ", ",
         if (notion == "top_label") paste(count_text(sample$events), "right") else events_text(sample$events, event))
}

# The sentences of each model, group and class: what its numbers mean. `more`: named p-values of other joint tests on
# the page.
validation_sentences <- function(x, more = NULL, parts = validation_parts(x)) {
  of <- function(rows, term) rows[match(term, rows$term), ]
  tests <- lapply(parts, function(rows) {
    c("joint test" = of(rows, "calibration_error")$p.value, more,
      if ("all_groups" %in% rows$term) c("test of all groups" = of(rows, "all_groups")$p.value))
  })
  Map(function(rows, verdict, knots) {
    if (!is.null(x$pooled)) return(paste0("Pooled over ", pooled_text(x$pooled, rows$fmi), "."))
    c(page_sentences(list(
      level = x$level, knots = knots, ratio = of(rows, "oe_ratio"), large = of(rows, "in_the_large"),
      slope = of(rows, "slope"),
      error = of(rows, "calibration_error"), groups = rows[startsWith(rows$term, "calibration_error("), ],
      below = rows[startsWith(rows$term, "equivalence("), ], verdict = verdict
    )), alone = alone_sentence(rows, verdict, x$level))
  }, parts, page_verdicts(tests, x$level), x$resolution)
}

# As paragraphs, labelled where there are several.
validation_paragraphs <- function(x, more = NULL) {
  labels <- curve_labels(x$sample, x$keys)
  text <- vapply(validation_sentences(x, more), paste, "", collapse = " ")
  paste0(ifelse(nzchar(labels), paste0(labels, ": "), ""), unname(text))
}
