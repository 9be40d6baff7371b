# Sentences that interpret the numbers of a page. Every print, table and report takes them from page_sentences(), which
# uses only the facts of the page: a p-value from another test needs no other sentence.
#
# A sentence about a number claims what its own interval or test shows, whichever excludes the calibrated value. A
# sentence about the model needs every test of the page: "no evidence" only where none of them rejects.

# The sentences of a page, by what each is about: mean, slope, error, below, model.
# `facts`: list(level, ratio, large, slope, joint, error, below, evidence); what a page does not show is left out.
# Numbers are rows with estimate, conf.low, conf.high and p.value; `evidence` is that of page_evidence().
page_sentences <- function(facts) {
  c(mean = mean_sentence(facts), slope = slope_sentence(facts), error = error_sentence(facts),
    below = if (NROW(facts$below) > 0) {
      equivalence_sentence(term_value(facts$below$term), facts$below$p.value, facts$level)
    },
    model = model_sentence(facts))
}

# A row per test or interval of the page. `excludes`: whether the interval of the same number lies beside the calibrated
# value; counts without a p-value too.
page_evidence <- function(label, p_value, level, excludes = FALSE) {
  data.frame(label = label, p.value = p_value, rejects = excludes | rejects_at(p_value, level))
}

mean_sentence <- function(facts) {
  ratio <- facts$ratio
  if (!has_interval(ratio)) return(NULL)
  text <- number_text("O:E ratio", ratio, 1, facts$level)
  too_low <- ratio$estimate > 1
  if (!row_rejects(ratio, 1, facts$level)) {
    large <- facts$large
    if (!row_rejects(large, 0, facts$level)) {
      return(paste0("No evidence that predictions are too low or too high on average: ", text, "."))
    }
    too_low <- large$estimate > 0
    text <- paste0(number_text("calibration in the large", large, 0, facts$level), "; ", text)
  }
  paste0("On average predictions are too ", if (too_low) "low" else "high", ": ", text, ".")
}

slope_sentence <- function(facts) {
  slope <- facts$slope
  if (!has_interval(slope)) return(NULL)
  text <- number_text("slope", slope, 1, facts$level)
  if (row_rejects(slope, 1, facts$level)) {
    claim <- if (slope$conf.high < 0) {
      "Events are rarer where predictions are higher"
    } else {
      paste("Predictions are too", if (slope$estimate < 1) "extreme" else "moderate")
    }
    return(paste0(claim, ": ", text, "."))
  }
  # what the joint test finds, another sentence has said where the mean is wrong
  elsewhere <- row_rejects(facts$ratio, 1, facts$level) || row_rejects(facts$large, 0, facts$level)
  if (!elsewhere && row_rejects(facts$joint, NULL, facts$level)) {
    return(paste0("Calibration intercept and slope together differ from 0 and 1: joint test p ",
                  p_text(facts$joint$p.value), ", ", text, "."))
  }
  paste0("No evidence that predictions are too extreme or too moderate: ", text, ".")
}

error_sentence <- function(facts) {
  error <- facts$error
  if (is.null(error)) return(NULL)
  if (is.na(error$conf.high)) return("The calibration error was not estimated: missing values, or too few rows.")
  high <- fixed_text(error$conf.high)
  if (is.na(error$p.value)) {
    certain <- isTRUE(error$estimate == 0)
    return(paste0(if (certain) "Every outcome was predicted with certainty" else "Too few rows for an estimate",
                  "; the calibration error is at most ", high, "."))
  }
  if (!row_rejects(error, 0, facts$level)) {
    return(paste0("The calibration error is not shown to be above 0; at this resolution it is at most ", high, "."))
  }
  if (!isTRUE(error$conf.low > 0)) {
    return(paste0("The calibration error is above 0: p ", p_text(error$p.value),
                  "; at this resolution it is at most ", high, "."))
  }
  text <- number_text("The calibration error is above 0:", error, 0, facts$level, 3)
  paste0(sub(": (", " (", text, fixed = TRUE), ".")
}

# `delta`: a number, or its text.
equivalence_sentence <- function(delta, p_value, level) {
  if (is.na(p_value)) return(NULL)
  shown <- if (!rejects_at(p_value, level)) "not shown to be "
  paste0("The calibration error is ", shown, "below ", format(delta), ": p ",
         p_text(p_value), ".")
}

# A single test says what its own sentence says; of several the strongest is quoted.
model_sentence <- function(facts) {
  evidence <- facts$evidence
  with_p <- sum(!is.na(evidence$p.value))
  if (with_p < 2) return(NULL)
  first <- evidence[which.min(evidence$p.value), ]
  quoted <- paste0("the smallest of ", with_p, " p-values is ", sub("^= ", "", p_text(first$p.value)), " (",
                   first$label, ")")
  if (!any(evidence$rejects)) return(paste0("No evidence of miscalibration: ", quoted, "."))
  if (rejects_at(first$p.value, facts$level)) {
    return(paste0("Strongest evidence of miscalibration: ", first$label, ", p ", p_text(first$p.value),
                  " (the smallest of ", with_p, " p-values)."))
  }
  found <- evidence$label[evidence$rejects]
  many <- length(found) > 1
  named <- if (length(found) > 3) c(found[1:3], paste(length(found) - 3, "more")) else found
  paste0("Evidence of miscalibration: the ", percent_text(facts$level), if (many) " intervals of " else " interval of ",
         list_text(named, "and"), if (many) " exclude" else " excludes", " perfect calibration; ", quoted, ".")
}

# "slope 0.96 (95% CI 0.74 to 1.17)"; with its p-value where that and the interval disagree.
number_text <- function(name, row, null, level, digits = 2) {
  apart <- interval_excludes(row, null)
  tested <- row$p.value
  # an estimate of other rows may lie beside the interval
  within <- isTRUE(row$estimate >= row$conf.low - 1e-12 && row$estimate <= row$conf.high + 1e-12)
  text <- interval_text(if (within) row$estimate else NA, row$conf.low, row$conf.high, digits, level)
  if (!is.na(tested) && rejects_at(tested, level) != apart) text <- sub(")$", paste0("; p ", p_text(tested), ")"), text)
  paste(name, text)
}

has_interval <- function(row) !is.null(row) && !is.na(row$conf.low)

# As printed: nobody should read "0.000 to 0.118" beside a sentence that says that 0 is not in it.
interval_excludes <- function(row, null) {
  !is.null(null) & !is.na(row$conf.low) & (round(row$conf.low, 3) > null | round(row$conf.high, 3) < null)
}

# By the test or by the interval; FALSE where the page has neither.
row_rejects <- function(row, null, level) {
  !is.null(row) && (isTRUE(rejects_at(row$p.value, level)) || any(interval_excludes(row, null)))
}
