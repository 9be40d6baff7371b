# What a printed page says, compared with its numbers.

# Printed lines as one text with single spaces.
page_text <- function(value) gsub("\\s+", " ", paste(utils::capture.output(value), collapse = " "))

# Samples with logits of standard deviation 1 around `base`: outcomes with that intercept and slope.
page_rows <- function(n, intercept = 0, slope = 1, base = 0) {
  z <- stats::rnorm(n, base)
  list(p = stats::plogis(z), y = stats::rbinom(n, 1, stats::plogis(intercept + slope * z)))
}

# Sentences of a page that contradict its numbers or each other; none of a page that agrees with itself.
# `rows`: terms as those of tidy(<ce_validation>) of one part; `p_values`: other joint tests of the page.
contradictions <- function(text, rows, p_values = numeric(), level = 0.95) {
  says <- function(sentence) grepl(sentence, text)
  alpha <- 1 - level - 1e-12
  own <- function(term, null) {
    row <- rows[match(term, rows$term), ]
    any(row$p.value < alpha | row$conf.low > null | row$conf.high < null, na.rm = TRUE)
  }
  # a page has one verdict, adjusted for the number of its tests
  p <- stats::p.adjust(c(rows$p.value[match(c("calibration_error", "all_groups"), rows$term)], p_values), "holm")
  refuted <- any(p < alpha, na.rm = TRUE)
  claims <- says("On average predictions are too|Predictions are too|Events are rarer|error is above 0")
  wrong <- c(
    "model" = says("No evidence of miscalibration") && refuted,
    "alone" = nrow(rows) > 2 && says("No evidence of miscalibration") && says("Taken singly") != any(
      own("oe_ratio", 1), own("in_the_large", 0), own("intercept", 0), own("slope", 1), own("calibration_error", 0)),
    "wrong model" = says("(^|[.:] )Evidence of miscalibration") && !refuted,
    "unfounded" = claims && !refuted,
    "wrong mean" = says("On average predictions are too") && !own("oe_ratio", 1) && !own("in_the_large", 0),
    "wrong slope" = says("Predictions are too (extreme|moderate)") && !own("slope", 1),
    "error" = says("not shown to be above 0") && own("calibration_error", 0),
    "banned" = says("istinguishable|as far as the data tell|visible|whatever the gap|headline|[0-9] %( |\\))(CI|int)") ||
      says("No evidence that|Strongest evidence")
  )
  names(wrong)[wrong]
}
