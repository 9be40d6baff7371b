# The printed validation: a line per number in the order of the hierarchy, and the sentences that one may sign.

validation_labels <- c(
  oe_ratio = "observed : expected", in_the_large = "calibration in the large", intercept = "intercept",
  slope = "slope", joint = "joint test (statistic)", ici = "ICI", e50 = "E50", e90 = "E90", emax = "Emax", eci = "ECI",
  calibration_error = "calibration error", all_groups = "all groups (test)", auroc = "AUROC", brier = "Brier score",
  scaled_brier = "scaled Brier score", log_loss = "log loss", net_benefit = "net benefit at"
)

term_label <- function(term) {
  name <- sub("[(].*", "", term)
  of <- ifelse(grepl("(", term, fixed = TRUE), sub("^[^(]*[(](.*)[)]$", "\\1", term), "")
  label <- validation_labels[name]
  unname(ifelse(nzchar(of), paste0(label, ifelse(name == "net_benefit", " ", ", "), of), label))
}

# "0.092 (0.055 to 0.131)"
interval_text <- function(estimate, low, high, digits = 3) {
  # no -0.000
  number <- function(v) formatC(round(v, digits) + 0, digits = digits, format = "f")
  text <- ifelse(is.na(estimate), "", trimws(number(estimate)))
  ifelse(is.na(low) | is.na(high), text, trimws(paste0(text, " (", number(low), " to ", number(high), ")")))
}

p_text <- function(p) {
  ifelse(is.na(p), "", ifelse(p < 0.001, "< 0.001", paste0("= ", formatC(p, digits = 3, format = "f"))))
}

# `keys`: the columns that tell curves apart.
validation_display <- function(rows, digits = 3, keys = character()) {
  data.frame(
    rows[keys], level = ifelse(duplicated(rows[c(keys, "level")]), "", rows$level), term = term_label(rows$term),
    estimate = interval_text(rows$estimate, rows$conf.low, rows$conf.high, digits), p = p_text(rows$p.value),
    check.names = FALSE
  )
}

#' @export
print.ce_validation <- function(x, ...) {
  cat("<ce_validation> ", gsub("_", "-", x$notion), ", intervals at ", format(100 * x$level), " %",
      if (!is.null(x$horizon)) paste0(", events by time ", format(x$horizon)), "\n", sep = "")
  labels <- curve_labels(x$sample, x$keys)
  for (i in seq_len(nrow(x$sample))) {
    rows <- validation_part(x, i)
    if (nzchar(labels[i])) cat("\n", labels[i], "\n", sep = "")
    cat(sample_sentence(x$sample[i, ], x$notion), "\n\n", sep = "")
    display <- validation_display(rows)
    columns <- lapply(display, function(v) format(v, justify = "left"))
    columns$p <- ifelse(nzchar(display$p), paste("p", display$p), "")
    cat(sub(" +$", "", do.call(paste, c(columns, sep = "  "))), sep = "\n")
    lines <- c(validation_sentences(rows), if (length(x$notes[[i]]) > 0) paste0("Note: ", x$notes[[i]]))
    cat("\n", paste(vapply(lines, function(line) paste(strwrap(line, exdent = 2), collapse = "\n"), ""),
                    collapse = "\n"), "\n", sep = "")
  }
  lines <- c(x$design, dropped_text(x$dropped))
  if (length(lines) > 0) cat(strwrap(lines, exdent = 2), sep = "\n")
  invisible(x)
}

# The rows of one model, group and class.
validation_part <- function(x, i) {
  keys <- x$sample[x$keys]
  if (length(x$keys) == 0) return(x$table)
  x$table[vctrs::vec_match(x$table[x$keys], vctrs::vec_slice(keys, i)) %in% 1, ]
}

sample_sentence <- function(sample, notion = "binary") {
  percent <- function(v) paste0(formatC(100 * v, digits = 1, format = "f"), " %")
  paste0(rows_and_events(sample, notion), ": ", percent(sample$prevalence),
         " observed, ", percent(sample$mean_prediction), " predicted")
}

# Of a top label the event is that it was right.
rows_and_events <- function(sample, notion) {
  paste0(count_of(sample$n, "row"), ", ",
         if (notion == "top_label") paste(count_text(sample$events), "right") else count_of(sample$events, "event"))
}

# What the numbers mean, level by level: a claim only where its interval supports it.
validation_sentences <- function(rows) {
  value <- function(term) rows[match(term, rows$term), ]
  number <- function(v, digits = 2) formatC(v, digits = digits, format = "f")
  span <- function(row, digits = 2) paste0(number(row$conf.low, digits), " to ", number(row$conf.high, digits))
  ratio <- value("oe_ratio")
  slope <- value("slope")
  error <- value("calibration_error")
  apart <- function(row, null) !is.na(row$conf.low) && (row$conf.low > null || row$conf.high < null)
  mean_line <- if (!is.na(ratio$conf.low)) {
    if (apart(ratio, 1)) {
      paste0("On average predictions are too ", if (ratio$estimate > 1) "low" else "high", ": ", number(ratio$estimate),
             " events for every one expected (", span(ratio), ").")
    } else {
      paste0("On average neither too low nor too high, as far as the data tell: ", number(ratio$estimate),
             " events for every one expected (", span(ratio), ").")
    }
  }
  slope_line <- if (!is.na(slope$conf.low) && apart(slope, 1)) {
    paste0("Predictions are too ", if (slope$estimate < 1) "extreme" else "close to each other", ": slope ",
           number(slope$estimate), " (", span(slope), ").")
  } else if (!is.na(slope$conf.low)) {
    paste0("Their spread is compatible with the outcomes': slope ", number(slope$estimate), " (", span(slope), ").")
  }
  error_line <- headline_sentence(error)
  c(mean_line, slope_line, paste0(toupper(substr(error_line, 1, 1)), substring(error_line, 2)))
}
