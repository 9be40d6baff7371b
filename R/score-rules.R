#' Proper scoring rules
#'
#' [ce_score()], [ce_decompose()] and [ce_gain()] take these as `score`, by name. `score_log()` and `score_dss()` are
#' values, with options; `"log"` is `score_log()`.
#'
#' # Definition
#' All scores are negatively oriented: small is good. `s(P, Q)` is the expected score of
#' the prediction P under the truth Q; P is listed first. Entropy `g(Q) = s(Q, Q)`, divergence
#' `d(P, Q) = s(P, Q) - g(Q) >= 0` (Gruber and Buettner 2022, section 2.3).
#'
#' | score | S(P, y) | g(Q) | d(P, Q) | inf g |
#' |---|---|---|---|---|
#' | `"brier"` | `sum_k (p_k - 1(k = y))^2` | `1 - sum q_k^2` | `sum (p_k - q_k)^2` | 0 |
#' | `score_log()` | `-log p_y` | Shannon entropy | `sum q log(q / p)` | 0 |
#' | `"spherical"` | `-p_y / norm(p)` | `-norm(q)` | `norm(q) - <p, q> / norm(p)` | -1 |
#' | `"rps"` | `sum_k (F_k - 1(y <= k))^2` | `sum F_k (1 - F_k)` of Q | `sum_k (F_k of P - F_k of Q)^2` | 0 |
#' | `score_dss()` | `(y - m)^2 / v + log v` | `1 + log v_Q` | `(v_Q + (m - m_Q)^2) / v + log(v / v_Q) - 1` | below |
#' | `"mse"` | `(m - y)^2` | `v_Q` | `(m - m_Q)^2` | 0 |
#' | `"crps"` | `E abs(X - y) - E abs(X - X') / 2` | `E abs(Y - Y') / 2` | `int (F_P - F_Q)^2` | 0 |
#'
#' The entropy of the DSS is at least `1 + log(min_variance)`, if that is given. `m` and `v` are the mean and variance
#' of a real-valued prediction, of which the log score is `-log f(y)`, with `f` its density (of a count its probability;
#' draws have none). Brier, log and spherical are strictly proper; the Dawid-Sebastiani score (DSS) is so for mean and
#' variance, MSE for the mean only. The DSS of a prediction without spread is `Inf`, or `-Inf` if it is right. With two
#' outcomes, [ce_score()], [ce_decompose()], [ce_gain()] and [rbs()] take the Brier score of the event, `(p - y)^2`.
#' That is half of the Brier score of the two classes.
#'
#' The ranked probability score `"rps"` is for classes in an order: three or more need an outcome that is an ordered
#' factor, and `F_k` is the probability of the first k of its levels. It is the sum over k, from 0 to `K - 1`, as in
#' scoringRules and scoringutils; yardstick and Epstein (1969) divide it by `K - 1`. Of two classes it is `(p - y)^2`.
#'
#' @param floor Smallest probability, or density, of the log score; 0 gives `Inf` where the
#'   observed class had probability 0.
#' @param min_variance `NULL`, or a lower bound of the outcome's variance given the prediction, for the upper bound of
#'   [ce_score()].
#' @return An object of class `ce_score_rule`.
#' @references Epstein (1969) A scoring system for probability forecasts of ranked categories. Journal of Applied
#'   Meteorology 8, 985-987.
#' @concept ranked probability score
#' @concept ordinal outcome
#' @name score_rules
#' @aliases score_brier score_spherical score_rps score_mse score_crps
#' @examples
#' ce_score(c(0.7, 0.2, 0.9), c(1, 0, 0), score = score_log(floor = 0.01))
NULL

# real: of predictive distributions of a number
# of_one: the losses of one probability and its outcomes, which are 0 or more, without the columns of both classes
# infimum: of the expected score under a true distribution; smallest: no value of the score lies below it
new_score <- function(name, kind, value, infimum, scalar = 1, real = if (kind == "real") value, smallest = infimum,
                      of_one = NULL) {
  structure(list(name = name, kind = kind, value = value, infimum = infimum, scalar = scalar, real = real,
                 smallest = smallest, of_one = of_one), class = "ce_score_rule")
}

# Squared errors of one probability, as an estimate of their mean: of many plain rows from sums alone.
brier_estimate <- function(prob, outcome, design, ...) {
  rows <- function() (prob - outcome)^2
  few_events <- cpp_few_events(outcome, design)
  if (!is_many(prob) || !is_plain(design)) return(mean_estimate(rows(), design, ..., few_events = few_events))
  moments <- cpp_squared_moments(prob, outcome)
  new_estimate(moments[1], rows, design, ..., squares = moments[2], few_events = few_events)
}

problem_brier <- function(of, ...) brier_estimate(of$features[, 1], as.numeric(of$labels), of$design, ...)

#' @rdname score_rules
#' @export
score_log <- function(floor = 0) {
  check_number(floor, lower = 0, upper = 0.5)
  rows <- function(p, y) cpp_log_rows(p, y, floor)
  new_score("log", "class", rows, infimum = 0, real = function(p, y) pmin(law_log_score(p, y), -log(floor)),
            of_one = rows)
}

# P(Y <= k) of every row; a matrix for one row too.
cumulative <- function(p) p %*% upper.tri(diag(ncol(p)), diag = TRUE)

# The ranked probability score of three or more classes needs their order.
check_ranked <- function(score, predictions) {
  stop_if(score$name == "rps" && n_classes(predictions) > 2 && !isTRUE(predictions$ordered),
          "{.code score = \"rps\"} needs classes in an order: {.arg truth} must be an ordered factor.",
          "x" = "It gives no order to all of the classes {.val {predictions$levels}}.", class = c("score", "truth"),
          arg = "truth")
}

#' @rdname score_rules
#' @export
score_dss <- function(min_variance = NULL) {
  check_number(min_variance, lower = 0, open = TRUE, null = TRUE)
  new_score("dss", "real", function(p, y) {
    m <- score_moments(p)
    dss_terms(m$variance, (m$mean - y)^2)
  }, infimum = if (is.null(min_variance)) -Inf else 1 + log(min_variance), smallest = -Inf)
}

# Those that are exported have options; the others are given by name only.
score_makers <- list(
  brier = function() {
    new_score("brier", "class", cpp_brier_rows, infimum = 0, scalar = 1 / 2, of_one = function(p, y) (p - y)^2)
  },
  log = score_log,
  spherical = function() {
    new_score("spherical", "class", function(p, y) -p[cbind(seq_along(y), y)] / sqrt(rowSums(p^2)), infimum = -1)
  },
  # of classes in an order: check_ranked()
  rps = function() {
    new_score("rps", "class", function(p, y) rowSums((cumulative(p) - outer(y, seq_len(ncol(p)), `<=`))^2), infimum = 0)
  },
  dss = score_dss,
  mse = function() new_score("mse", "real", function(p, y) (score_moments(p)$mean - y)^2, infimum = 0),
  crps = function() new_score("crps", "real", law_crps, infimum = 0)
)

# Names of the scores of distributions of a number.
real_scores <- function() names(Filter(function(maker) !is.null(maker()$real), score_makers))

as_score <- function(score) {
  if (inherits(score, "ce_score_rule")) return(score)
  if (rlang::is_string(score) && score %in% names(score_makers)) return(score_makers[[score]]())
  hint <- word_hint(score, meant_word(score, names(score_makers))) %||% "See `?score_rules`."
  stop_input("{.arg score} must be a score or one of {.or {.val {names(score_makers)}}}.",
             "x" = "It is {describe(score)}.", "i" = "{hint}", class = "score", arg = "score", value = score)
}

#' @export
format.ce_score_rule <- function(x, ...) {
  maker <- paste0("score_", x$name)
  if (is_exported(maker)) paste0(maker, "()") else paste0("\"", x$name, "\"")
}

#' @export
print.ce_score_rule <- print_value("ce_score_rule")
