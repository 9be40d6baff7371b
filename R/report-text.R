# The sentences of a report; the page itself is inst/report/report.Rmd.

# The paragraph to sign, of each class where there are several: the data, what they show, and the numbers behind it.
# `more`: other joint tests of the page, see validation_sentences().
sign_sentences <- function(name, validation, more = NULL) {
  labels <- curve_labels(validation$sample, validation$keys)
  said <- validation_sentences(validation, more)
  vapply(seq_along(labels), function(i) {
    sign_paragraph(paste(c(name, labels[i][nzchar(labels[i])]), collapse = ", "), validation, i, said[[i]])
  }, "")
}

sign_paragraph <- function(name, validation, i, said) {
  rows <- validation_parts(validation)[[i]]
  sample <- validation$sample[i, ]
  of <- function(term, digits = 2, label = term_label(term)) {
    row <- rows[match(term, rows$term), ]
    if (is.na(row$estimate)) return(NULL)
    paste(label, interval_text(row$estimate, row$conf.low, row$conf.high, digits, validation$level))
  }
  numbers <- c(of("oe_ratio"), of("slope", label = "calibration slope"), of("auroc"), of("brier", 3))
  paste0(
    name, " (", rows_and_events(sample, validation$notion, validation$event$label, validation$horizon), "). ",
    paste(c(said[names(said) %in% c("error", "below")], paste0(first_upper(paste(numbers, collapse = "; ")), "."),
            said[names(said) %in% c("model", "alone")]), collapse = " ")
  )
}

# The joint tests of the notions that are not the validation's.
other_tests <- function(report, name) {
  rows <- report$estimates[[name]]
  rows <- rows[rows$notion != report$notion, ]
  setNames(rows$p.value, sprintf("joint test of the %s error", gsub("_", "-", rows$notion)))
}

# Alternative text of a figure of curves.
curve_alt <- function(curve) {
  rows <- curve$summary
  label <- curve_labels(rows, curve$keys)
  text <- paste0(
    ifelse(nzchar(label), paste0(label, ": "), ""), "mean prediction ", fixed_text(rows$mean_confidence),
    ", observed frequency ", fixed_text(rows$event_rate),
    "; its simultaneous band excludes the diagonal at ", percent_text(rows$outside, 0), " of the points"
  )
  paste0("Smooth calibration curve with its bands. ", paste(text, collapse = ". "), ".")
}

# The classes of several against the others, a row each.
class_table <- function(validation) {
  rows <- validation$table
  of <- function(term) {
    at <- rows[rows$term == term, ]
    interval_text(at$estimate, at$conf.low, at$conf.high, 2)
  }
  out <- data.frame(class = validation$sample$class, events = vapply(validation$sample$events, count_text, ""))
  terms <- c("oe_ratio", "slope", "calibration_error", "auroc")
  out[term_label(terms)] <- lapply(terms, of)
  out
}
