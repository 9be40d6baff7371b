# Confidences as language models and people state them -> probabilities.

#' Confidences on another scale, as text or as log-probabilities
#'
#' Turns stated confidences into the probabilities that all functions take: percentages, ratings from 0 to 10, text
#' such as `"85%"`, log-probabilities of an answer, and log-likelihoods of several answers.
#'
#' @param x A vector of numbers or text with a confidence per row; or a matrix or data frame with a column per answer.
#' @param scale Scale of the confidences, which cannot be recognised from the values: `"prob"` (from 0 to 1),
#'   `"percent"` (from 0 to 100), `"ten"` (from 0 to 10) or `"logprob"` (natural logarithms).
#' @param none Values that say that there is no confidence, in addition to `NA` and empty text; `NULL` for none. By
#'   default -1, except for `"logprob"`.
#' @section Text:
#' Text must hold one number, with a point or a comma as its decimal mark: `"85%"`, `"85 %"`, `"0.85"`, `"0,85"`. The
#' percent sign needs `scale = "percent"`. The comma needs a scale other than `"logprob"`, where it could separate
#' thousands.
#' @section Log-likelihoods:
#' For `scale = "logprob"` each number of a vector is the logarithm of a probability. The rows of several columns are
#' normalised to sum to 1 by a softmax. It subtracts the largest value of the row first, because the exponential of a
#' value such as -900 is 0 in floating point.
#' @return Probabilities in the shape of `x`, a vector or a matrix with the names of the columns; `NA` where there is no
#'   confidence.
#' @section Errors:
#' `calibrisk_error_confidence` for text that holds no number and for values outside the scale, with the first such
#' `row`; `calibrisk_error_argument`.
#' @concept language model
#' @concept LLM
#' @concept verbalized confidence
#' @concept log-likelihood
#' @concept softmax
#' @concept percent
#' @export
#' @examples
#' pred_confidence(c("85%", "90 %", "", "-1"), "percent")
#' pred_confidence(c(7, 10, 3), "ten")
#'
#' # log-likelihoods of the answers to three questions
#' answers <- rbind(c(A = -900, B = -902), c(-880, -880), c(-910, -905))
#' p <- pred_confidence(answers, "logprob")
#' p
#' ece(p, factor(c("A", "B", "B")), n_bins = 2)
pred_confidence <- function(x, scale, none = if (identical(scale, "logprob")) NULL else -1) {
  scales <- c("prob", "percent", "ten", "logprob")
  stop_if(missing(scale), "{.arg scale} must be given: one of {.or {.val {scales}}}.", "x" = "It is missing.",
          arg = "scale")
  scale <- check_choice(scale, scales)
  stop_if(!is.null(none) && !is.atomic(none), "{.arg none} must be values that stand for no confidence.",
          "x" = "It is {describe(none)}.", arg = "none")
  if (is.data.frame(x)) x <- as.matrix(x)
  if (is.factor(x)) x <- as.character(x)
  kinds <- is.numeric(x) || is.character(x) || is.logical(x) && all(is.na(x))
  stop_if(!kinds || length(dim(x)) > 2, "{.arg x} must be numbers or text, with one confidence per row or column.",
          "x" = "It is {kind_of(x)}.", class = c("confidence", "argument"), arg = "x")
  value <- read_confidence(x, scale, as.character(none))
  top <- c(prob = 1, percent = 100, ten = 10, logprob = 0)[[scale]]
  bottom <- if (scale == "logprob") -Inf else 0
  outside <- is.nan(value) | !is.na(value) & (value < bottom | value > top + sum_tolerance$float)
  stop_confidence(outside, x, cli::format_inline("must lie between {bottom} and {top} for the scale {.val {scale}}"))
  if (scale != "logprob") return(pmin(value / top, 1))
  if (NCOL(value) < 2) return(exp(pmin(value, 0)))
  softmax_rows(value)
}

# Numbers in the shape of x, NA for those of `none`.
read_confidence <- function(x, scale, none) {
  none_numbers <- suppressWarnings(as.numeric(none))
  if (!is.character(x)) {
    if (is.object(x)) x <- as_numbers(x)
    storage.mode(x) <- "double"
    return(plain_vector(replace(x, x %in% none_numbers, NA)))
  }
  text <- trimws(x)
  text[text %in% c("", none)] <- NA
  form <- paste0("^[-+]?([0-9]+([.", ","[scale != "logprob"], "][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?",
                 if (scale == "percent") " *%?", "$")
  unread <- !is.na(text) & !grepl(form, text)
  stop_confidence(unread, x, cli::format_inline("must be one number of the scale {.val {scale}}"))
  value <- as.numeric(sub(",", ".", sub(" *%$", "", text), fixed = TRUE))
  plain_vector(array(replace(value, value %in% none_numbers, NA), dim(x) %||% length(x), dimnames(x)))
}

stop_confidence <- function(bad, x, rule) {
  at <- which(bad)
  if (length(at) == 0) return()
  row <- (at[1] - 1) %% NROW(x) + 1
  value <- unname(x)[at[1]]
  if (is.numeric(value)) value <- signif(value, 4)
  stop_input("Confidences {rule}.", "x" = "Row {row} is {.val {value}}; {length(at)} of {length(x)} are not.",
             class = c("confidence", "argument"), arg = "x", row = row, value = value)
}

# Rows of exp(x) that sum to 1, without underflow.
softmax_rows <- function(x) {
  top <- do.call(pmax, unname(split_columns(x)))
  bad <- which(top == -Inf)
  stop_if(length(bad) > 0, "A row of log-probabilities must have a finite value.", "x" = "Row {bad[1]} has none.",
          class = c("confidence", "argument"), arg = "x", row = bad[1])
  x <- exp(x - top)
  x / rowSums(x)
}
