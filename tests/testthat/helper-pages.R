# What a printed page says, compared with its numbers.

# Printed lines as one text with single spaces.
page_text <- function(value) gsub("\\s+", " ", paste(utils::capture.output(value), collapse = " "))

# Samples with logits of standard deviation 1 around `base`: outcomes with that intercept and slope.
page_rows <- function(n, intercept = 0, slope = 1, base = 0) {
  z <- stats::rnorm(n, base)
  list(p = stats::plogis(z), y = stats::rbinom(n, 1, stats::plogis(intercept + slope * z)))
}

# Sentences of a page that contradict its numbers or each other; none of a page that agrees with itself.
# `rows`: terms as those of tidy(<ce_validation>); `p_values`: all others of the page.
contradictions <- function(text, rows, p_values = numeric(), level = 0.95) {
  says <- function(sentence) grepl(sentence, text)
  # by its test or its interval
  rejects <- function(terms = rows$term) {
    null <- c(oe_ratio = 1, in_the_large = 0, intercept = 0, slope = 1, joint = NA, ici = 0, e50 = 0, e90 = 0,
              emax = 0, eci = 0, calibration_error = 0, all_groups = NA)
    null <- null[sub("[(].*", "", rows$term)]
    used <- rows[!is.na(names(null)) & rows$term %in% terms, ]
    null <- null[!is.na(names(null)) & rows$term %in% terms]
    any(used$p.value < 1 - level - 1e-12 | used$conf.low > null | used$conf.high < null, na.rm = TRUE)
  }
  any_rejects <- rejects() || any(p_values < 1 - level - 1e-12, na.rm = TRUE)
  wrong <- c(
    "model" = says("No evidence of miscalibration") && any_rejects,
    "silent model" = says("of miscalibration") && !says("[Ee]vidence of miscalibration: (the|O:E|[Cc]al|[Jj]oint|[Kk]ernel|Spiegelhalter|test|95)"),
    "strongest" = says("(Strongest|[.] Evidence|^Evidence) evidence of miscalibration") && !any_rejects,
    "model and mean" = says("No evidence of miscalibration") && says("On average predictions are too"),
    "model and slope" = says("No evidence of miscalibration") && says("Predictions are too|together differ"),
    "model and error" = says("No evidence of miscalibration") && says("error is above 0"),
    "mean" = says("No evidence that predictions are too low") && rejects(c("oe_ratio", "in_the_large")),
    "wrong mean" = says("On average predictions are too") && !rejects(c("oe_ratio", "in_the_large")),
    "slope" = says("No evidence that predictions are too extreme") && rejects("slope"),
    "wrong slope" = says("Predictions are too (extreme|moderate)") && !rejects("slope"),
    "joint" = says("No evidence that predictions are too low.*No evidence that predictions are too extreme") &&
      rejects("joint"),
    "error" = says("not shown to be above 0") && rejects("calibration_error"),
    "wrong error" = says("error is above 0") && !rejects("calibration_error"),
    "banned" = says("istinguishable|as far as the data tell|visible|whatever the gap|headline|[0-9] %( |\\))(CI|int)")
  )
  names(wrong)[wrong]
}
