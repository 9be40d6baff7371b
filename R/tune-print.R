#' @export
print.ce_tune <- function(x, ...) {
  cat("<ce_tune> Calibration error: ", notion_label(x), "\n", sep = "")
  cat(split_label(x$split, x$n_splits, x$n), "\n", sep = "")
  print_lines(facts_lines(NULL, x$counted, x$dropped))
  cat("\nWhich function describes it best?\n")
  print(tune_display(x), row.names = FALSE, right = TRUE)
  print_lines(tune_footnotes(x))
  cat("\nHow large is it?\n")
  writeLines(strwrap(tune_headline(x), indent = 2, exdent = 2))
  invisible(x)
}

split_label <- function(split, n_splits = 1, n = NULL) {
  sizes <- split_sizes(split)
  what <- if (isTRUE(n > sum(sizes))) "uncensored row" else "row"
  n_test <- sizes[1]
  paste0(
    count_of(sum(sizes[-1]), what), " in ", split$k, " folds for tuning, ",
    if (n_test > 0) paste0(count_of(n_test, what), " for testing") else "estimates on the held-out rows",
    if (n_splits > 1) paste0("; ", n_splits, " random splits")
  )
}

# `chosen`: texts of the selected hyperparameters, in print without their names: the lines have to fit.
tune_display <- function(x, chosen = chosen_values(x$glance)) {
  glance <- x$glance
  best <- glance$selected %in% TRUE
  # of the differences as many as their standard errors need
  error <- 100 * glance$difference_std.error
  digits <- pmin(printed_digits(error), 8)
  digits[best] <- max(digits)
  out <- data.frame(
    " " = ifelse(best, "*", ""),
    method = method_words(glance$method),
    chosen = chosen,
    `risk x100` = fixed_text(100 * glance$risk, digits),
    `above *` = ifelse(best, "", paste0(fixed_text(100 * glance$difference, digits), " (",
                                        fixed_text(error, digits), ")")),
    won = paste0(round(glance$won * x$n_splits), "/", x$n_splits),
    `on test rows` = fixed_text(glance$estimate_holdout),
    check.names = FALSE
  )
  if (x$n_splits == 1) out$won <- NULL
  out
}

# The number to sign, with what it assumes.
tune_headline <- function(x) {
  row <- x$headline
  c(
    paste0(if (is.na(row$estimate)) "No estimate ",
           interval_text(row$estimate, row$conf.low, row$conf.high, level = x$level), ", from all ",
           count_of(row$n, "row"), "."),
    # says the same numbers again where the interval is above 0
    if (isTRUE(row$conf.low > 0)) impossible_sentence(row$p.value) else
      page_sentences(list(level = x$level, error = row)), resolution_sentence(row, x$level)
  )
}

chosen_values <- function(glance) {
  value <- vapply(glance$value, format, "", digits = 3)
  value[is.na(glance$value)] <- "per class"
  ifelse(is.na(glance$parameter), "", value)
}

tune_footnotes <- function(x) {
  parameters <- unique(x$glance$parameter[!is.na(x$glance$parameter)])
  others <- x$glance[!(x$glance$selected %in% TRUE), ]
  c(
    paste0("* smallest mean risk over the folds", if (x$n_splits > 1) " of all splits",
           "; above *: how much larger a risk is (paired standard error): below about 2 of them the difference may be ",
           "chance.", if (x$n_splits > 1) " won: in how many splits the method had the smallest risk."),
    if (length(parameters) > 0) {
      paste0("chosen: the method's ", sub(", ([^,]*)$", " or \\1", paste(parameters, collapse = ", ")), ".")
    },
    skill_note(x), missing_note(x),
    if (any(is.na(others$difference_std.error) & !is.na(others$difference))) {
      "(NA): a standard error needs at least three rows (or clusters, or blocks) in every fold."
    },
    edge_note(x), unreliable_note(x)
  )
}

skill_note <- function(x) {
  skill <- x$glance$skill[which(x$glance$selected)]
  if (length(skill) != 1 || is.na(skill)) return(NULL)
  paste0("The risk of * is ", fixed_text(abs(100 * skill), printed_digits(abs(100 * skill), digits = 2)), "% ",
         if (skill >= 0) "below" else "above", " the risk of assuming perfect calibration.")
}

# Why risks are NA.
missing_note <- function(x) {
  short <- sum(split_sizes(x$split)[-1] < 2)
  if (short == x$split$k) {
    return(paste("Risk NA, none selected: a risk compares pairs of held-out rows, and no fold holds out two.",
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
  if (length(edges) > 0) paste0("Chosen at the edge of its grid: ", paste(method_words(edges), collapse = ", "), ".")
}

# Grid values that the factor of the Gram matrix does not resolve, as their method reports.
unreliable_note <- function(x) {
  counts <- vapply(x$diagnostics, function(parts) {
    sum(vapply(parts, function(d) sum(d$reliable %in% FALSE), 0))
  }, 0)
  counts <- counts[counts > 0]
  if (length(counts) > 0) paste0(
    "Smallest ridges beyond the accuracy of the kernel factor, flagged in x$diagnostics: ",
    paste0(method_words(names(counts)), " (", counts, ")", collapse = ", "), "."
  )
}
