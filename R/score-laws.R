# Moments, CRPS and densities of real-valued predictions: vectors of predictive distributions (pred_normal() and the
# others), or list(mean, variance).

score_moments <- function(law) {
  if (dimension_of(law) > 1) stop_family(law, "The score of several outcomes")
  moments <- law_moments(law)
  bad <- which(!is.finite(moments$mean[, 1]))
  stop_if(
    length(bad) > 0, "The predictions must have a mean.",
    "x" = "The mean of row {bad[1]} is {.val {moments$mean[bad[1], 1]}}; affected: {length(bad)} of {length(law)}.",
    class = "distribution", arg = "prediction", row = bad[1]
  )
  list(mean = moments$mean[, 1], variance = moments$cov[, 1])
}

# -log f(y). The logarithm itself where the record has it, also far out where the density is 0 to rounding.
law_log_score <- function(law, y) {
  record <- record_of(law)
  if (!is.null(record$temper)) {
    volume <- record$temper$volume(law)
    power <- record$temper$exponents(law, as.matrix(y))
    value <- power + log(volume) + record$temper$constant(law)
    # without spread: right, or wrong
    return(ifelse(volume > 0, value, ifelse(is.nan(power), -Inf, Inf)))
  }
  if (!is.null(record$density)) {
    if ("log" %in% names(formals(record$density))) return(-record$density(law, y, log = TRUE))
    return(-log(record$density(law, y)))
  }
  parts <- components_of(law)
  if (is.null(parts)) stop_family(law, "The log score")
  z <- (y - parts$location) / parts$scale
  each <- log(parts$weight / parts$scale) + if (parts$laplace) -abs(z) - log(2) else stats::dnorm(z, log = TRUE)
  largest <- as.vector(do.call(pmax, asplit(each, 2)))
  -largest - log(rowSums(exp(each - largest)))
}
