# Remedies for outcomes that cannot be read: the typed line with other outcomes.

# `change` makes the new outcomes of the old ones, a vector or a column of the data.
mended_truth <- function(call, change) {
  typed <- typed_call(call)
  if ("objects" %in% names(typed$places)) {
    # ce_compare(models, truth) has its outcomes as `x`
    at <- if ("truth" %in% names(typed$places)) "truth" else "x"
    return(mended_line(call, setNames(list(change(typed_argument(typed, at))), at)))
  }
  truth <- if (length(typed$data) == 1) typed_argument(typed, "truth")
  if (rlang::is_string(truth)) truth <- as.name(truth)
  if (is.null(truth)) return(NULL)
  if (!is_frame_call(call)) return(mended_line(call, list(truth = change(truth))))
  if (!is.name(truth)) return(NULL)
  changed <- setNames(list(change(truth)), as.character(truth))
  frame <- as.call(c(quote(transform), typed_argument(typed, typed$data), changed))
  mended_line(call, setNames(list(frame), typed$data))
}

# A column that may hold outcomes, or a vector.
missing_truth_remedy <- function(call) {
  typed <- typed_call(call)
  if (!is_frame_call(call)) {
    example <- if (!is.null(typed)) line_text(as.call(c(typed$expr[[1]], typed$args, quote(truth))))
    return(remedy("Give the vector of outcomes", example))
  }
  x <- get0(typed$data, call, inherits = FALSE)
  outcomes <- outcome_names(x)
  line <- if (length(outcomes) == 1) mended_line(call, list(truth = as.name(outcomes)))
  if (!is.null(line)) return(remedy("Name its column", line))
  c("i" = paste0("Name its column. Columns of {.arg x}: ", escape_braces(list_text(names(x), "and")), "."))
}

outcome_names <- function(x) {
  names(x)[vapply(x, function(v) is.factor(v) || is.logical(v) || is.numeric(v) && all(v %in% 0:1), NA)]
}

# Two values as text: is it the event?
text_truth_remedy <- function(truth, column, call) {
  values <- if (is.character(truth)) sort(unique(truth), method = "radix")
  if (length(values) != 2) return(event_remedy(truth, call))
  event <- values[named_level(column, values) %||% c(match(TRUE, tolower(values) %in% event_words), 2)]
  event <- stats::na.omit(event)[1]
  remedy(paste0("If {.arg x} is the probability of {.val ", escape_braces(event), "}"),
         mended_truth(call, function(truth) call("==", truth, event)))
}

# Other values: which of them is the event?
event_remedy <- function(truth, call) {
  first <- truth[!is.na(truth)][1]
  line <- if (rlang::is_string(first)) mended_truth(call, function(truth) call("==", truth, first))
  remedy("Say of each row whether the event happened, as in", line %||% "truth == \"yes\"")
}

# Numbers beside a single probability: predictions and outcomes the wrong way round, two other codes, or measurements.
single_truth_remedy <- function(truth, call) {
  known <- truth[!is.na(truth)]
  data <- typed_call(call)$data
  x <- if (length(data) == 1) get0(data, call, inherits = FALSE)
  if (is.numeric(x) && all(x %in% c(0, 1, NA)) && all(known >= 0 & known <= 1)) {
    return(remedy("Predictions come first, outcomes second", swapped_line(call)))
  }
  values <- sort(unique(known))
  if (length(values) == 2) {
    return(remedy(paste0("If ", format(values[2]), " is the event"),
                  mended_truth(call, function(truth) call("==", truth, values[2]))))
  }
  distribution_remedy()
}

number_truth_remedy <- function(truth, x, call) {
  k <- ncol(x)
  if (any(truth != round(truth), na.rm = TRUE)) return(distribution_remedy())
  if (k == 2 && is.numeric(x) && isTRUE(any(abs(rowSums(x) - 1) > 0.05))) return(several_models_remedy(call))
  if (isTRUE(min(truth, na.rm = TRUE) == 0) && max(truth, na.rm = TRUE) == k - 1) {
    event_first_remedy(x, call) %||%
      remedy("If the classes start at 0, add 1", mended_truth(call, function(truth) call("+", truth, 1)))
  } else if (all(truth %in% c(0, 1, NA))) {
    remedy("For one class give one column of probabilities", mended_predictions(call, first_column))
  }
}

# Two columns of which the first is the event's are not those of the classes 0 and 1.
event_first_remedy <- function(x, call) {
  classes <- sub("^[.]pred_", "", colnames(x))
  if (length(classes) != 2 || !tolower(classes[1]) %in% event_words) return(NULL)
  named <- function(truth) call("factor", truth, quote(0:1), call("c", classes[2], classes[1]))
  remedy("Name the classes", mended_truth(call, named))
}

distribution_remedy <- function() {
  c("i" = "Numbers are predicted by distributions, as in {.code skce(pred_normal(mean, sd), y)}; see {.code ?pred}.")
}

# More or fewer columns of probabilities than levels.
column_count_remedy <- function(names, k, levels, unused, call) {
  if (length(unused) > 0 && length(levels) - length(unused) == k) {
    return(remedy(paste0("{.fn droplevels} drops the levels without rows (", escape_braces(toString(unused)), ")"),
                  mended_truth(call, function(truth) call("droplevels", truth))))
  }
  if (length(levels) == 2 && k > 2) return(several_models_remedy(call, names))
  if (!is.null(names) && k == length(levels) - 1) return(lacking_column_remedy(names, levels, call))
  c("i" = "Give one column of probabilities for each level.")
}

lacking_column_remedy <- function(names, levels, call) {
  lacking <- setdiff(seq_along(levels), named_levels(names, levels))
  if (length(lacking) != 1) return(c("i" = "Give one column of probabilities for each level."))
  level <- levels[lacking]
  if (is_frame_call(call)) return(c("i" = paste0("Select the column of {.val ", escape_braces(level), "} too.")))
  rest <- function(x) as.call(c(quote(cbind), x, setNames(list(call("-", 1, call("rowSums", x))), level)))
  remedy(paste0("If {.val ", escape_braces(level), "} has the rest of the probability"), mended_predictions(call, rest))
}
