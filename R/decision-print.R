# A decision curve in words: where the model is worth something, and where recalibrating would add to it.

#' @export
print.ce_decision <- function(x, ...) {
  at <- unique(x$curve$threshold)
  cat("<ce_decision> ", x$axis, ", ", length(at), " threshold", if (length(at) > 1) "s from " else " ",
      paste(unique(format(range(at), drop0trailing = TRUE, trim = TRUE)), collapse = " to "), "\n", sep = "")
  labels <- curve_labels(x$summary, x$keys)
  print_pages(nrow(x$summary), function(i) {
    if (nzchar(labels[i])) cat(labels[i], ":\n", sep = "")
    print_lines(decision_sentences(decision_part(x, i), x$summary[i, ], x$level, x$event$label))
  })
  print_lines(c(
    if (!is.null(x$differences)) difference_sentences(x$differences, x$keys, x$level),
    paste0("Recalibrated by ", x$recalibration$label, ", cross-fitted",
           if (identical(x$recalibration$folds > 1, TRUE)) paste0(" in ", x$recalibration$folds, " folds"),
           "; a perfect recalibration adds at least as much on average."),
    facts_lines(x$event$hint, x$design, x$dropped)
  ))
  invisible(x)
}

# The rows of the i-th curve.
decision_part <- function(x, i) x$curve[vctrs::vec_group_id(x$curve[x$keys]) == i, ]

decision_sentences <- function(curve, summary, level, event = NULL) {
  c(paste0(count_of(summary$n, "row"), ", mean outcome ", format(summary$event_rate, digits = 3),
           if (!is.null(event)) paste0(" (event: ", event, ")"), "."),
    useful_sentence(curve, summary$event_rate, level), bought_sentence(curve, level),
    # predictions that recalibration leaves as they are bound nothing
    if (isTRUE(summary$std.error >= 1e-12)) {
      paste0("Area over all thresholds (a lower bound of the squared calibration error): ",
             interval_text(summary$area, summary$conf.low, summary$conf.high, 4), ".")
    })
}

useful_sentence <- function(curve, rate, level) {
  if (rate == 0) return("There is no event, so no net benefit is above 0.")
  if (rate == 1) return("All rows are events, so treat all has the highest net benefit at every threshold.")
  if (!any(curve$useful)) {
    return(paste0("At no threshold is the model shown to have a higher net benefit than both treat all and treat ",
                  "none (", band_text(level), ")."))
  }
  paste0("The model has a higher net benefit than treat all and treat none at ",
         threshold_ranges(curve$threshold, curve$useful), " (", band_text(level), ").")
}

bought_sentence <- function(curve, level) {
  if (anyNA(curve$band.low)) return("Too few rows for limits of the net benefit that recalibration would add.")
  if (all(curve$changed == 0)) return("Recalibration changes no decision at these thresholds.")
  bought <- curve$band.low > 0
  if (!any(bought)) {
    top <- which.max(curve$band.high)
    return(paste0("At no threshold is recalibration shown to increase net benefit (", band_text(level),
                  "); it would add at most ", fixed_text(curve$band.high[top]), ", at ",
                  format(curve$threshold[top]), "."))
  }
  # of those thresholds the one where most is bought
  top <- which(bought)[which.max(curve$loss[bought])]
  more <- 1000 * curve$loss[top]
  paste0("Recalibration would increase net benefit at ", threshold_ranges(curve$threshold, bought), " (",
         band_text(level), "), most at ", format(curve$threshold[top]), ": by ",
         interval_text(curve$loss[top], curve$band.low[top], curve$band.high[top]), ", equivalent to ",
         format(round(more, printed_digits(more, digits = 1))), " more true positives per 1,000 rows.")
}

band_text <- function(level) paste("simultaneous", percent_text(level), "band")

# "thresholds 0.1 to 0.3, 0.5": a range has three of them or more, close together.
threshold_ranges <- function(at, on) {
  begins <- c(TRUE, diff(at) > 0.05 + 1e-9) | !c(FALSE, on[-length(on)])
  text <- unlist(lapply(split(at[on], cumsum(begins)[on]), function(run) {
    if (length(run) < 3) format_each(run) else paste(format_each(run[1]), "to", format_each(run[length(run)]))
  }))
  if (length(text) > 4) text <- c(text[1:3], paste(length(text) - 3, "more"))
  paste0(if (sum(on) == 1) "threshold " else "thresholds ", paste(text, collapse = ", "))
}

format_each <- function(v) vapply(v, format, "", digits = 3)

# "a against b: more net benefit at thresholds 0.1 to 0.3", where the band leaves no doubt. Of many pairs the first ones
# with a difference.
difference_sentences <- function(differences, keys, level, most = 10) {
  labels <- paste0(differences$a, " against ", differences$b)
  by <- setdiff(keys, "model")
  if (length(by) > 0) labels <- paste0(curve_labels(differences, by), ", ", labels)
  said <- vapply(split(differences, factor(labels, unique(labels))), difference_words, "", band_text(level))
  shown <- grepl("^(more|less) ", said)
  pairs <- length(said)
  if (pairs > most) said <- utils::head(said[shown], most)
  c(if (length(said) > 0) paste0(names(said), ": ", said, "."),
    if (pairs > most) paste0("Of ", pairs, " pairs ", sum(shown), " differ at some threshold; tidy(type = ",
                             "\"differences\") has all."),
    if (pairs > 1) "Bands of differences are simultaneous over thresholds, not over pairs.")
}

difference_words <- function(one, band) {
  if (anyNA(one$band.low)) return("too few rows for limits")
  if (!any(one$difference != 0 | one$std.error > 0, na.rm = TRUE)) return("the same decisions")
  more <- one$band.low > 0
  less <- one$band.high < 0
  said <- c(if (any(more)) paste("more net benefit at", threshold_ranges(one$threshold, more)),
            if (any(less)) paste("less at", threshold_ranges(one$threshold, less)))
  if (length(said) == 0) said <- "a difference in net benefit is shown at no threshold"
  paste0(paste(said, collapse = ", "), " (", band, ")")
}
