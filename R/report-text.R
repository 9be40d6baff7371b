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
  rows <- validation_part(validation, i)
  sample <- validation$sample[i, ]
  of <- function(label, term, digits = 2) {
    row <- rows[match(term, rows$term), ]
    if (is.na(row$estimate)) return(NULL)
    paste(label, interval_text(row$estimate, row$conf.low, row$conf.high, digits, validation$level))
  }
  numbers <- c(of("O:E ratio", "oe_ratio"), of("calibration slope", "slope"), of("AUROC", "auroc"),
               of("Brier score", "brier", 3))
  paste0(
    name, " (", rows_and_events(sample, validation$notion, validation$event$label, validation$horizon), "). ",
    paste(c(said[names(said) %in% c("error", "below")], paste0(first_upper(paste(numbers, collapse = "; ")), "."),
            said[names(said) == "model"]), collapse = " ")
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

# Definitions of the terms that a page shows.
report_definitions <- function(delta = NULL) {
  rows <- data.frame(
    Number = c("O:E ratio", "Calibration in the large", "Intercept (slope free), slope", "ICI, E50, E90, Emax", "ECI",
               "Calibration error", "AUROC", "Brier score", "Scaled Brier score", "Log loss", "Net benefit at c"),
    Definition = c(
      "mean outcome over mean prediction (observed to expected events); interval on the log scale",
      "intercept of a logistic regression of the outcome with offset logit(p); 0 where calibrated",
      paste("logistic regression of the outcome on logit(p); 0 and 1 where calibrated, a slope below 1 means",
            "too extreme predictions"),
      paste("mean, median, 90% quantile and largest distance of the predictions from a loess curve of the outcome;",
            "bootstrap intervals"),
      "mean squared distance from that curve, over that of the prevalence; bootstrap interval",
      paste("root of the mean squared difference between prediction and event probability given the prediction, from",
            "leave-one-out projections of all rows on nested bases; interval by inverting tests, for the error",
            "detectable at the stated resolution"),
      paste("probability that an event has a higher prediction than a non-event, ties half; interval on the logit",
            "scale from placements"),
      "mean squared difference between outcome and prediction", "1 - Brier score / (prevalence (1 - prevalence))",
      "mean of minus the log of the probability given to what happened",
      "mean of 1{p >= c} (y - c) / (1 - c): true positives less false positives weighted by the odds of c, per row"
    )
  )
  if (is.null(delta)) return(rows)
  below <- data.frame(
    Number = paste("Calibration error below", format(delta)),
    Definition = paste("one-sided interval to the upper limit of the calibration error; p-value of the hypothesis that",
                       "the error is at least", format(delta))
  )
  vctrs::vec_rbind(rows[1:6, ], below, rows[-(1:6), ])
}

# The classes of several against the others, a row each.
class_table <- function(validation) {
  rows <- validation$table
  of <- function(term) {
    at <- rows[rows$term == term, ]
    interval_text(at$estimate, at$conf.low, at$conf.high, 2)
  }
  out <- data.frame(validation$sample$class, vapply(validation$sample$events, count_text, ""), of("oe_ratio"),
                    of("slope"), of("calibration_error"), of("auroc"))
  names(out) <- c("class", "events", "O:E ratio", "slope", "calibration error", "AUROC")
  out
}
