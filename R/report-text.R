# The sentences of a report; the page itself is inst/report/report.Rmd.

# What one signs: the data, the headline, and the numbers behind it.
sign_sentences <- function(name, validation, level) {
  rows <- validation$table
  sample <- validation$sample
  of <- function(term, digits = 2) {
    row <- rows[match(term, rows$term), ]
    interval_text(row$estimate, row$conf.low, row$conf.high, digits)
  }
  known <- function(label, text) if (nzchar(text) && !is.na(text)) paste(label, text)
  headline <- headline_sentence(rows[match("calibration_error", rows$term), ])
  numbers <- c(known("observed to expected events", of("oe_ratio")), known("calibration slope", of("slope")),
               known("AUROC", of("auroc")), known("Brier score", of("brier", 3)))
  event <- sub("^probability( of )?", "", validation$axis)
  paste0(
    name, " (", rows_and_events(sample, validation$notion),
    if (nzchar(event) && validation$notion == "binary") paste0(": ", event), "). ", headline, " With ",
    format(100 * level), " % intervals: ",
    paste(numbers, collapse = "; "), "."
  )
}

# What a figure of curves shows, for those who do not see it.
curve_alt <- function(curve) {
  rows <- curve$summary
  label <- curve_labels(rows, curve$keys)
  text <- paste0(
    ifelse(nzchar(label), paste0(label, ": "), ""), "mean prediction ", formatC(rows$mean_confidence, 3, format = "f"),
    ", observed frequency ", formatC(rows$event_rate, 3, format = "f"),
    "; its own simultaneous band misses the diagonal at ", round(100 * rows$outside), " % of the places"
  )
  paste0("Smooth calibration curve with its bands. ", paste(text, collapse = ". "), ".")
}

# Definitions of the terms that a page shows.
report_definitions <- function() {
  data.frame(
    Number = c("Observed : expected", "Calibration in the large", "Intercept, slope", "ICI, E50, E90, Emax", "ECI",
               "Calibration error", "AUROC", "Brier score", "Scaled Brier score", "Log loss", "Net benefit at c"),
    Definition = c(
      "mean outcome over mean prediction; interval on the log scale",
      "intercept of a logistic regression of the outcome with offset logit(p); 0 where calibrated",
      paste("logistic regression of the outcome on logit(p); 0 and 1 where calibrated, a slope below 1 means",
            "too extreme predictions"),
      paste("mean, median, 90 % quantile and largest distance of the predictions from a loess curve of the outcome;",
            "bootstrap intervals"),
      "mean squared distance from that curve, over that of the prevalence; bootstrap interval",
      paste("root of the mean squared difference between prediction and event probability given the prediction, from",
            "leave-one-out projections of all rows on a ladder of bases; interval by inverting tests, for the error",
            "visible at the stated resolution"),
      paste("probability that an event has a higher prediction than a non-event, ties half; interval on the logit",
            "scale from placements"),
      "mean squared difference between outcome and prediction", "1 - Brier score / (prevalence (1 - prevalence))",
      "mean of minus the log of the probability given to what happened",
      "mean of 1{p >= c} (y - c) / (1 - c): true positives less false positives weighted by the odds of c, per row"
    )
  )
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
  names(out) <- c("class", "events", "observed : expected", "slope", "calibration error", "AUROC")
  out
}
