# Is the calibration error below delta? It is shown to be where its upper limit at the level 1 - 2 alpha is.

# The smallest alpha at which it is: the upper limit falls in alpha, so this is a root. Between the quantiles z of its
# ends, where the digits of small p-values are even.
equivalence_p_value <- function(ladder, delta, least = 1e-12) {
  excess <- function(z) ladder$upper(pnorm(z))[1] - delta
  ends <- qnorm(c(least, 1 - least))
  at <- c(excess(ends[1]), excess(ends[2]))
  if (anyNA(at)) return(NA_real_)
  if (at[1] < 0) return(least)
  if (at[2] >= 0) return(1)
  pnorm(uniroot(excess, ends, f.lower = at[1], f.upper = at[2], tol = 1e-10)$root)
}

# The one-sided interval at `level`, and its test. `delta`: on the scale of the estimate.
equivalence <- function(ladder, delta, level) {
  list(high = ladder$upper(1 - level)[1], p.value = equivalence_p_value(ladder, delta))
}

check_delta <- function(delta) check_number(delta, lower = 0, upper = 1, open = TRUE, null = TRUE)
