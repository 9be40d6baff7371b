# Level and power of the test that the calibration error is below delta (ce_test(delta = )), and the power that
# ce_power(delta = ) expects. Prints tables, stores nothing.
#
#   Rscript data-raw/equivalence.R [samples]    about 20 minutes for 1,000

library(calibrisk)
options(calibrisk.threads = 1L)
times <- c(as.numeric(commandArgs(TRUE)), 1000)[1]
set.seed(26)

# A law has predictions and a direction of their error: eta = p + s * f(p), with s such that the error is as wished.
spread <- function(n) plogis(rnorm(n, -0.5, 1.2))
middle <- function(n) runif(n, 0.25, 0.75)
rare <- function(n) rbeta(n, 1, 30)
confident <- function(n) 1 - rbeta(n, 1, 25)
variance <- function(p) p * (1 - p)
laws <- list(
  "shift" = list(draw = middle, f = function(p) rep(1, length(p))),
  "logit shift" = list(draw = spread, f = variance),
  "slope" = list(draw = spread, f = function(p) variance(p) * -qlogis(p)),
  "three periods" = list(draw = middle, f = function(p) sin(6 * pi * rank(p) / length(p))),
  "eight periods" = list(draw = middle, f = function(p) sin(16 * pi * rank(p) / length(p))),
  "a quarter of the rows" = list(draw = middle, f = function(p) -(p > quantile(p, 0.75))),
  "a tenth of the rows" = list(draw = middle, f = function(p) -(p > quantile(p, 0.9))),
  "rare events, odds" = list(draw = rare, f = variance),
  "confident, slope" = list(draw = confident, f = function(p) -variance(p)),
  "few confident ones" = list(draw = confident, f = function(p) -(p > quantile(p, 0.9))),
  "one prediction" = list(draw = function(n) rep(0.2, n), f = function(p) rep(1, length(p)))
)

# The share of samples in which the error is shown to be below delta.
rejected <- function(law, n, error, delta) {
  mean(replicate(times, {
    p <- law$draw(n)
    f <- law$f(p)
    eta <- p + f * error / sqrt(mean(f^2))
    stopifnot(eta >= 0, eta <= 1)
    # some errors turn the order of the risks round, which gives a warning
    suppressWarnings(ce_test(p, rbinom(n, 1, eta), delta = delta))$p.value < 0.05
  }))
}

cat("Error of exactly delta:\n")
level <- data.frame(law = names(laws), row.names = NULL)
for (case in list(c(300, 0.1), c(1000, 0.05), c(5000, 0.05))) {
  level[[paste0("n = ", case[1], ", delta = ", case[2])]] <-
    vapply(laws, function(law) rejected(law, case[1], case[2], case[2]), 0)
}
print(level, row.names = FALSE, digits = 2)

cat("Power, simulated and expected, delta = 0.05:\n")
plans <- expand.grid(n = c(500, 1000, 2000, 4000), plan = seq_len(5))
assumed <- list(calibrated = assume_model(c(-0.5, 1.2)), "slope 0.9" = assume_model(c(-0.5, 1.2), slope = 0.9),
                "intercept 0.15" = assume_model(c(-0.5, 1.2), intercept = 0.15), rare = assume_model(c(-3.5, 1)),
                beta = assume_model(beta = c(4, 4)))
power <- do.call(rbind, Map(function(n, plan) {
  found <- ce_power(assumed[[plan]], delta = 0.05, n = n, simulate = max(times / 4, 50))
  row <- found[found$criterion == "equivalence", ]
  data.frame(plan = names(assumed)[plan], error = glance(found)$error, n = n, expected = row$target,
             simulated = row$simulated)
}, plans$n, plans$plan))
print(power, row.names = FALSE, digits = 2)
