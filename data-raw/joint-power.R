# Power of the joint test of two classes (ce_estimate()) next to the score test and the likelihood-ratio test of
# intercept and slope, all at exact levels from redrawn outcomes, on 31 laws with a gap and three without. Prints
# tables, stores nothing.
#
#   Rscript data-raw/joint-power.R [samples] [rows]    about 15 minutes for 400 samples of 300 rows

library(calibrisk)
options(calibrisk.threads = 1L)
asked <- as.numeric(commandArgs(TRUE))
asked <- replace(c(400, 300), seq_along(asked), asked)
samples <- asked[1]
n <- asked[2]
redraws <- 399
set.seed(26)

right_skewed <- function(n) rbeta(n, 1, 2)
rarer <- function(n) rbeta(n, 1, 5)
middle <- function(n) rbeta(n, 2, 2)
extreme <- function(n) pmin(pmax(rbeta(n, 0.5, 0.5), 1e-3), 1 - 1e-3)
wide <- function(n) plogis(rnorm(n, 0, 1.5))
rare <- function(n) plogis(rnorm(n, -4, 0.8))
confident <- function(n) plogis(rnorm(n, 2.5, 1))
logit <- function(intercept, slope, centre = 0) {
  function(p) plogis(intercept + centre + slope * (qlogis(p) - centre))
}
wave <- function(height, periods) function(p) pmin(pmax(p + height * sin(2 * pi * periods * p), 0), 1)
laws <- list(
  "slope .75" = list(wide, logit(0, 0.75)), "slope .72, skewed" = list(right_skewed, logit(0, 0.72)),
  "slope 1.35" = list(wide, logit(0, 1.35)), "slope 1.4, middle" = list(middle, logit(0, 1.4)),
  "slope 1.35, extreme" = list(extreme, logit(0, 1.35)), "slope 1.3, confident" = list(confident, logit(0, 1.3)),
  "slope .75, few events" = list(rarer, logit(0, 0.75, -1.5)),
  "slope 1.35, few events" = list(rarer, logit(0, 1.35, -1.5)),
  "up" = list(wide, logit(0.3, 1)), "down" = list(wide, logit(-0.3, 1)),
  "up, skewed" = list(right_skewed, logit(0.27, 1)), "down, few events" = list(rarer, logit(-0.33, 1)),
  "up, few events" = list(rarer, logit(0.3, 1)), "up, confident" = list(confident, logit(0.4, 1)),
  "down, confident" = list(confident, logit(-0.4, 1)), "rare, more events" = list(rare, logit(0.6, 1)),
  "rare, half of them" = list(rare, logit(-0.8, 1)), "rare, slope .5" = list(rare, logit(0, 0.5, -4)),
  "rare, slope 1.6" = list(rare, logit(0, 1.6, -4)), "both, wide" = list(wide, logit(0.2, 0.85)),
  "both, middle" = list(middle, logit(0.2, 1.25)), "both, down" = list(right_skewed, logit(-0.2, 0.8)),
  "both, up" = list(right_skewed, logit(0.2, 1.25)),
  "one period" = list(middle, wave(0.1, 1)), "two periods" = list(right_skewed, wave(0.1, 2)),
  "three periods" = list(wide, wave(0.12, 3)), "step" = list(middle, function(p) p + ifelse(p > 0.5, -0.09, 0.09)),
  "high ones wrong" = list(right_skewed, function(p) ifelse(p > 0.6, p - 0.2, p)),
  "hump" = list(wide, function(p) pmin(p + 0.15 * exp(-((p - 0.5) / 0.12)^2), 1)),
  "highest ones wrong" = list(confident, function(p) ifelse(p > 0.97, p - 0.06, p)),
  "bent" = list(wide, function(p) plogis(qlogis(p) + 0.12 * (qlogis(p)^2 - 1.5^2))),
  "calibrated, wide" = list(wide, identity), "calibrated, rare" = list(rare, identity),
  "calibrated, confident" = list(confident, identity)
)

# For each column of outcomes: the quadratic form of the two scores, and twice the gain of the log likelihood.
cox_statistics <- function(p, y) {
  v <- p * (1 - p)
  z <- qlogis(p)
  x <- z - sum(v * z) / sum(v)
  e <- y - p
  fitted_loss <- apply(y, 2, function(one) calibrisk:::logistic_fit(cbind(1, z), one, c(0, 1))$loss)
  loss <- -colSums(y * log(p) + (1 - y) * log(1 - p))
  cbind(score = colSums(e)^2 / sum(v) + colSums(e * x)^2 / sum(v * x^2), ratio = pmax(2 * (loss - fitted_loss), 0))
}

rejections <- function(law) {
  p <- pmin(pmax(law[[1]](n), 1e-6), 1 - 1e-6)
  y <- rbinom(n, 1, law[[2]](p))
  drawn <- cox_statistics(p, cbind(y, matrix(as.numeric(runif(n * redraws) < p), n)))
  rank <- apply(drawn, 2, function(t) sum(t >= t[1])) / (redraws + 1)
  joint <- suppressWarnings(ce_estimate(p, y))$p.value
  c(joint = joint, rank) <= 0.05
}

power <- t(vapply(laws, function(law) rowMeans(replicate(samples, rejections(law))), numeric(3)))
print(round(power, 3))
gaps <- power[!startsWith(rownames(power), "calibrated"), ]
loss <- pmax(gaps[, "score"], gaps[, "ratio"]) - gaps
cat("Laws with a gap: mean power, and losses against the better of score and ratio (those above .04, the largest):\n")
print(round(rbind(mean = colMeans(gaps), "more than .04" = colSums(loss > 0.04), largest = apply(loss, 2, max)), 3))
