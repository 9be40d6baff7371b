# Level and power of ce_monitor() where somebody looks after every row and stops at the first rejection:
# Rscript data-raw/monitor.R. Prints the shares that its help page and its tests quote.
library(calibrisk)

# Predictions whose logits are normal with standard deviation `spread`; the outcomes' logits are intercept + slope
# times theirs, from row `from` on.
one_run <- function(n, intercept = 0, slope = 1, from = 1, half_life = Inf, spread = 1.5) {
  z <- rnorm(n, sd = spread)
  eta <- ifelse(seq_len(n) >= from, intercept + slope * z, z)
  monitor <- update(ce_monitor(half_life = half_life), plogis(z), rbinom(n, 1, plogis(eta)))
  glance(monitor)$rejected_at
}

share <- function(runs, ...) {
  at <- vapply(seq_len(runs), function(run) one_run(...), 0)
  c(rejected = mean(!is.na(at)), median_row = median(at, na.rm = TRUE))
}

set.seed(1)
print(rbind(
  "calibrated, 1,000 rows" = share(1000, 1000),
  "calibrated, 10,000 rows" = share(300, 10000),
  "calibrated, 10,000 rows, half life 1,000" = share(300, 10000, half_life = 1000),
  "slope 0.7, 1,000 rows" = share(300, 1000, slope = 0.7),
  "slope 0.7, 1,000 rows, spread 2.5" = share(300, 1000, slope = 0.7, spread = 2.5),
  "slope 0.8, 1,000 rows" = share(300, 1000, slope = 0.8),
  "intercept 0.3, 1,000 rows" = share(300, 1000, intercept = 0.3),
  "slope 0.7 from row 5,001 of 10,000" = share(100, 10000, slope = 0.7, from = 5001),
  "slope 0.7 from row 5,001 of 10,000, half life 1,000" = share(100, 10000, slope = 0.7, from = 5001, half_life = 1000)
), digits = 3)
