# Sentences that interpret the numbers of a page. Every print, table and report takes them from page_sentences(), which
# uses only the facts of the page.
#
# A page has one verdict, from page_verdicts(): the joint test of the calibration error, with groups also the test of
# all groups, adjusted by Holm's rule over the whole page. So a calibrated model's page claims evidence in at most
# 1 - level of all samples. Only where the verdict rejects does a sentence say how the model is wrong, and only what its
# own interval or test shows. Elsewhere sentences describe: a number with its interval.

# The sentences of a page, by what each is about: mean, slope, error, groups, below, model.
# `facts`: list(level, ratio, large, slope, error, coarser, groups, below, verdict), those that a page shows.
# Numbers are rows with estimate, conf.low, conf.high and p.value.
page_sentences <- function(facts) {
  c(mean = mean_sentence(facts), slope = slope_sentence(facts), error = error_sentence(facts),
    impossible = impossible_sentence(facts$error$p.value), groups = groups_sentence(facts),
    below = if (NROW(facts$below) > 0) {
      equivalence_sentence(term_value(facts$below$term), facts$below$p.value, facts$level)
    },
    model = facts$verdict$text)
}

# The verdict of each part of a page (model, group, class): list(rejects, text), where `rejects` has a value for each of
# its tests. `tests`: a list with the named p-values of each part.
page_verdicts <- function(tests, level) {
  p <- stats::p.adjust(unlist(tests), "holm")
  several <- sum(!is.na(p)) > 1
  at <- rep(factor(seq_along(tests)), lengths(tests))
  Map(function(p, names) {
    first <- which.min(p)
    rejects <- setNames(rejects_at(p, level), names)
    text <- if (length(first) > 0) {
      paste0(if (any(rejects)) "Evidence" else "No evidence", " of miscalibration: ", names[first], ", p ",
             p_text(p[first]), if (several) " (adjusted by Holm's rule)", ".")
    }
    list(rejects = rejects, text = text)
  }, split(unname(p), at), lapply(tests, names))
}

# Beside a verdict that does not reject: the terms whose own test or interval does. `labels`: the names of `rows`.
alone_sentence <- function(rows, verdict, level, labels = term_label(rows$term)) {
  if (is.null(verdict$text) || any(verdict$rejects)) return(NULL)
  null <- number_fact(rows$term, "null")
  tested <- which(!is.na(null) & number_fact(rows$term, "kind") != "smooth")
  at <- tested[vapply(tested, function(i) row_rejects(rows[i, ], null[i], level), NA)]
  if (length(at) == 0) return(NULL)
  p <- rows$p.value[at]
  named <- paste0(labels[at], ifelse(rejects_at(p, level), paste0(" (p ", p_text(p), ")"), ""))
  paste0("Taken singly, these differ from calibration: ", cli::ansi_collapse(named, last = ", ", trunc = 20),
         ". If the model is calibrated, at least one term does in more than ", percent_text(1 - level), " of samples.")
}

# Does the page show that the model is wrong?
is_refuted <- function(facts) any(facts$verdict$rejects)

mean_sentence <- function(facts) {
  ratio <- facts$ratio
  if (!has_interval(ratio)) return(NULL)
  text <- number_text("O:E ratio", ratio, 1, facts$level)
  if (!is_refuted(facts)) return(paste0(text, "."))
  too_low <- ratio$estimate > 1
  if (!row_rejects(ratio, 1, facts$level)) {
    large <- facts$large
    if (!row_rejects(large, 0, facts$level)) return(paste0(text, "."))
    too_low <- large$estimate > 0
    text <- paste0(number_text("calibration in the large", large, 0, facts$level), "; ", text)
  }
  paste0("On average predictions are too ", if (too_low) "low" else "high", ": ", text, ".")
}

slope_sentence <- function(facts) {
  slope <- facts$slope
  if (!has_interval(slope)) return(NULL)
  if (!is_refuted(facts) || !row_rejects(slope, 1, facts$level)) {
    return(paste0(number_text("Slope", slope, NULL, facts$level), "."))
  }
  claim <- if (slope$conf.high < 0) {
    "Events are rarer where predictions are higher"
  } else {
    paste("Predictions are too", if (slope$estimate < 1) "extreme" else "moderate")
  }
  paste0(claim, ": ", number_text("slope", slope, 1, facts$level), ".")
}

error_sentence <- function(facts) {
  error <- facts$error
  if (is.null(error)) return(NULL)
  if (is.na(error$conf.high)) return("The calibration error was not estimated: missing values, or too few rows.")
  # beside shares of events that are small, too
  if (error$conf.high < 0.001) {
    numbers <- c("estimate", "conf.low", "conf.high")
    error[numbers] <- lapply(error[numbers], `*`, 100)
    unit <- "calibration error, in percentage points,"
    return(sub("calibration error", unit, error_words(error, facts), fixed = TRUE))
  }
  error_words(error, facts)
}

error_words <- function(error, facts) {
  high <- fixed_text(error$conf.high)
  if (is.na(error$p.value)) {
    return(paste0(untested_words(error$estimate), "; the calibration error is at most ", high, "."))
  }
  # the number of knots of the finest basis, where nothing else on the page says it
  seen <- if (is.null(facts$knots)) "this resolution" else paste("a resolution of", count_of(facts$knots, "knot"))
  at_most <- paste0("at ", seen, " it is at most ", high)
  alone <- row_rejects(error, 0, facts$level)
  if (!(facts$verdict$rejects[[1]] %||% alone)) {
    if (alone) return(paste0(number_text("The calibration error is estimated at", error, NULL, facts$level, 3), "."))
    claim <- if (length(facts$coarser) > 0) {
      paste0("at least the ", facts$coarser[1], " one, which is above 0")
    } else {
      "not shown to be above 0"
    }
    return(paste0("The calibration error is ", claim, "; ", at_most, "."))
  }
  if (!isTRUE(error$conf.low > 0)) {
    return(paste0("The calibration error is above 0: p ", p_text(error$p.value), "; ", at_most, "."))
  }
  text <- number_text("The calibration error is above 0:", error, 0, facts$level, 3)
  paste0(sub(": (", " (", text, fixed = TRUE), ".")
}

# `groups`: rows of the calibration error of each group. Those that Holm's rule rejects among them are named.
groups_sentence <- function(facts) {
  if (!isTRUE(facts$verdict$rejects["test of all groups"])) return(NULL)
  p <- stats::p.adjust(facts$groups$p.value, "holm")
  found <- rejects_at(p, facts$level)
  named <- paste0(term_value(facts$groups$term[found]), " (p ", p_text(p[found]), ")")
  paste0("The calibration error is above 0 in ",
         cli::ansi_collapse(named, last = if (length(named) == 2) " and " else ", and ", trunc = 20), ".")
}

# `delta`: a number, or its text.
equivalence_sentence <- function(delta, p_value, level) {
  if (is.na(p_value)) return(NULL)
  shown <- if (!rejects_at(p_value, level)) "not shown to be "
  paste0("The calibration error is ", shown, "below ", format(delta), ": p ", p_text(p_value), ".")
}

# "slope 0.96 (95% CI 0.74 to 1.17)"; with its p-value where that and the interval disagree.
number_text <- function(name, row, null, level, digits = 2) {
  apart <- interval_excludes(row, null)
  tested <- row$p.value
  # an estimate of other rows may lie beside the interval
  within <- isTRUE(row$estimate >= row$conf.low - 1e-12 && row$estimate <= row$conf.high + 1e-12)
  text <- interval_text(if (within) row$estimate else NA, row$conf.low, row$conf.high, digits, level)
  disagree <- !is.null(null) && !is.na(tested) && rejects_at(tested, level) != apart
  if (disagree) text <- sub(")$", paste0("; p ", p_text(tested), ")"), text)
  paste(name, text)
}

has_interval <- function(row) !is.null(row) && !is.na(row$conf.low)

# As printed: nobody should read "0.000 to 0.118" beside a sentence that says that 0 is not in it.
interval_excludes <- function(row, null) {
  digits <- printed_digits(row$estimate, row$conf.low, row$conf.high)
  !is.null(null) & !is.na(row$conf.low) & (round(row$conf.low, digits) > null | round(row$conf.high, digits) < null)
}

# By the test or by the interval; FALSE where the page has neither.
row_rejects <- function(row, null, level) {
  !is.null(row) && (isTRUE(rejects_at(row$p.value, level)) || any(interval_excludes(row, null)))
}
