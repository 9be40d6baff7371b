#' @export
print.ce_tune <- function(x, ...) {
  cat("<ce_tune> Calibration error: ", notion_label(x$notion, length(x$levels)), "\n", sep = "")
  cat(split_label(x$split), if (x$dropped > 0) paste0("; ", x$dropped, " incomplete rows dropped"),
      "\n\n", sep = "")
  table <- tune_display(x)
  print(table, row.names = FALSE, right = TRUE)
  cat("\n", paste(strwrap(tune_footnotes(x), exdent = 2), collapse = "\n"), "\n", sep = "")
  invisible(x)
}

split_label <- function(split) {
  big <- function(n) format(n, big.mark = ",", trim = TRUE)
  n_test <- sum(split$fold == 0)
  paste0(
    big(sum(split$fold > 0)), " rows in ", split$k, " folds tune, ",
    if (n_test > 0) paste0(big(n_test), " test") else "estimates on the held-out rows"
  )
}

tune_display <- function(x) {
  glance <- x$glance
  digits <- function(v, d) ifelse(is.na(v), "NA", formatC(v, digits = d, format = "f"))
  best <- glance$selected %in% TRUE
  out <- data.frame(
    " " = ifelse(best, "*", ""),
    method = glance$method,
    chosen = chosen_values(glance),
    `root risk x100` = paste0(digits(100 * glance$root_risk, 2), " (", digits(100 * glance$std.error, 2), ")"),
    `diff/se` = ifelse(best, "", digits(glance$difference / glance$difference_std.error, 1)),
    estimate = digits(glance$estimate, 3),
    interval = paste0("[", digits(glance$conf.low, 3), ", ", digits(glance$conf.high, 3), "]"),
    check.names = FALSE
  )
  names(out)[7] <- paste0(format(100 * x$level), " % interval")
  out
}

chosen_values <- function(glance) {
  value <- vapply(glance$value, format, "", digits = 3)
  value[is.na(glance$value)] <- "per class"
  ifelse(is.na(glance$parameter), "", paste(glance$parameter, value))
}

tune_footnotes <- function(x) {
  best <- x$glance[which(x$glance$selected), ]
  c(
    "* smallest mean risk. Root risk: mean over folds (standard error over folds).",
    "diff/se: mean risk minus that of *, in paired standard errors; below about 2 the two cannot be told apart.",
    bound_note(best, x$level),
    missing_note(x),
    edge_note(x),
    unreliable_note(x)
  )
}

# What the risks say about the size of the error, beside the interval.
bound_note <- function(best, level) {
  if (nrow(best) != 1) return(NULL)
  bound <- if (is.na(best$lower_bound)) {
    "A lower bound from the risk is not available: it needs two held-out rows in a fold"
  } else if (best$lower_bound > 0) {
    paste0("The calibration error is at least ", formatC(best$lower_bound, digits = 3, format = "f"), " (one-sided ",
           format(100 * level), " % bound from the risk)")
  } else {
    paste0("The risk gives no positive lower bound of the calibration error (one-sided, ", format(100 * level),
           " %): h = 0 has no clearly larger risk")
  }
  skill <- if (!is.na(best$skill)) paste0("; skill against h = 0: ",
                                          formatC(100 * best$skill, digits = 2, format = "f"), " %")
  paste0(bound, skill, ".")
}

# Why numbers are NA.
missing_note <- function(x) {
  short <- sum(tabulate(x$split$fold, x$split$k) < 2)
  if (short == x$split$k) {
    return(paste("Root risk NA, none selected: a risk compares pairs of held-out rows, and no fold holds out two.",
                 "Tune with fewer folds."))
  }
  if (short > 0) paste0("No risk in ", short, " of ", x$split$k,
                        " folds, which hold out fewer than two rows; left out of the means.")
}

# Selected at the edge of its grid: the grid may be too short.
edge_note <- function(x) {
  edges <- vapply(split(x$tidy, x$tidy$method), function(rows) {
    value <- x$glance$value[x$glance$method == rows$method[1]]
    values <- unique(rows$value)
    length(values) > 1 && isTRUE(value %in% range(values))
  }, NA)
  edges <- names(edges)[edges]
  if (length(edges) > 0) paste0("Chosen at the edge of its grid: ", paste(edges, collapse = ", "), ".")
}

# Grid values that the factor of the Gram matrix does not resolve, as their method reports.
unreliable_note <- function(x) {
  counts <- vapply(x$diagnostics, function(parts) {
    sum(vapply(parts, function(d) sum(d$reliable %in% FALSE), 0))
  }, 0)
  counts <- counts[counts > 0]
  if (length(counts) > 0) paste0(
    "Smallest ridges beyond the accuracy of the kernel factor, flagged in x$diagnostics: ",
    paste0(names(counts), " (", counts, ")", collapse = ", "), "."
  )
}

#' @export
summary.ce_tune <- function(object, ...) {
  structure(list(tuned = object), class = "summary.ce_tune")
}

#' @export
print.summary.ce_tune <- function(x, ...) {
  print(x$tuned)
  cat("\nMethods and grids\n")
  for (m in names(x$tuned$labels)) cat("  ", m, ": ", x$tuned$labels[[m]], "\n", sep = "")
  cat("\nRisks of the selected functions, mean over folds\n")
  columns <- c("method", "risk", "difference", "difference_std.error", "skill", "lower_bound", "squared_estimate")
  print(as.data.frame(x$tuned$glance[columns]), row.names = FALSE, digits = 4)
  invisible(x)
}
