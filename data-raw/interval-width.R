# Median upper limit of calibrated models (ce_estimate(), one probability) next to that of an interval that knows the
# shape of the error, v = p (1 - p), and so needs one dimension. Prints a table, stores nothing.
#
#   Rscript data-raw/interval-width.R [samples]    half a minute for 200

library(calibrisk)
options(calibrisk.threads = 1L)
samples <- c(as.numeric(commandArgs(TRUE)), 200)[1]
set.seed(6)
laws <- list(
  wide = function(n) plogis(rnorm(n, 0, 1.5)), uniform = runif,
  confident = function(n) plogis(rnorm(n, 2.5, 1)), rare = function(n) rbeta(n, 0.8, 20)
)

# of a normal estimate with standard error 1, in half of the samples
one_dimension <- sqrt(uniroot(function(x) pchisq(qchisq(0.5, 1), 1, ncp = x) - 0.025, c(0.1, 50))$root)
ratio <- function(n, draw) {
  median(replicate(samples, {
    p <- draw(n)
    y <- as.numeric(runif(n) < p)
    v <- p * (1 - p)
    std_error <- sqrt(mean(v^3) / mean(v^2) / n)
    suppressWarnings(ce_estimate(p, y))$conf.high / (one_dimension * std_error)
  }))
}
rows <- c(300, 1000)
print(round(t(vapply(laws, function(draw) vapply(rows, ratio, 0, draw = draw), rows)), 2))
