#' Expected value of the ECE's estimate
#'
#' Why plug-in ECEs of different sizes cannot be compared: even for calibrated predictions
#' the estimate is positive, and falls with the number of rows.
#'
#' # Definition
#' Bin b has the share `p_b` of the rows and the miscalibration `m_b = confidence_b - accuracy_b`. With `V_b` the
#' variance of confidence in the bin plus `accuracy_b (1 - accuracy_b)` and `s_b^2 = V_b / (n p_b)`, the expectation is
#' approximately `sum_b p_b FN(m_b, s_b)`. FN is the mean of the absolute value of a normal variable (Gruber and
#' Buettner 2022, Proposition 3.3). It is never below the ECE, decreasing and convex in `n`. Means of confidence and of
#' accuracy are taken as independent, as in the source. `slope` is its derivative by `n`, with `d N_b / d N = p_b` (the
#' paper prints 1).
#'
#' @param share,confidence,accuracy,variance Per bin: share of the rows, mean confidence, accuracy, and variance
#'   of the confidence (recycled).
#' @param n Numbers of rows.
#' @return A tibble with `n`, `ece` (of the bins as given), `expected`, `bias` and `slope`.
#' @references Gruber and Buettner (2022) \doi{10.48550/arXiv.2203.07835}.
#' @examples
#' ece_bias(c(0.2, 0.3, 0.5), c(0.55, 0.75, 0.95), c(0.5, 0.75, 0.92), 0.002,
#'          n = c(50, 100, 1000, 10000))
#' @export
ece_bias <- function(share, confidence, accuracy, variance = 0, n) {
  check_numbers(share, lower = 0, upper = 1)
  bins <- length(share)
  check_numbers(confidence, lower = 0, upper = 1, size = bins)
  check_numbers(accuracy, lower = 0, upper = 1, size = bins)
  check_numbers(variance, lower = 0)
  check_numbers(n, lower = 1)
  stop_if(abs(sum(share) - 1) > 1e-6, "{.arg share} must sum to 1.", "x" = "It sums to {.val {sum(share)}}.",
          arg = "share")
  gap <- confidence - accuracy
  noise <- rep_len(variance, bins) + accuracy * (1 - accuracy)
  one <- function(rows) {
    used <- share > 0
    s <- sqrt(noise / (rows * share))
    c(
      sum((share * folded_normal(gap, s))[used]),
      -sum((share^2 * sqrt(noise) / (2 * (rows * share)^1.5) *
              ifelse(s > 0, sqrt(2 / pi) * exp(-(gap / s)^2 / 2), 0))[used])
    )
  }
  value <- vapply(n, one, c(0, 0))
  ece <- sum(share * abs(gap))
  columns_frame(n = n, ece = ece, expected = value[1, ], bias = value[1, ] - ece, slope = value[2, ])
}
