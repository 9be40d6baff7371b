# The classical calibration errors on a million top-label predictions.
library(calibrisk)
source("bench/setup.R")

set.seed(1)
n <- 1e6
x <- plogis(rnorm(n, 1.5, 1.2))
y <- rbinom(n, 1, plogis(0.8 * qlogis(x)))

quiet <- function(expr) suppressMessages(suppressWarnings(expr))
panel <- seconds(quiet(ce_panel(x, y)))
cpu <- sum(system.time(quiet(ce_panel(x, y)))[c("user.self", "sys.self")])

each <- list(
  "rbs()" = function() rbs(x, y),
  "ece(), 15 bins" = function() ece(x, y),
  "ece(n_bins = 1:100)" = function() ece(x, y, n_bins = 1:100),
  "ece(n_bins = 1:100, type = \"mass\")" = function() ece(x, y, n_bins = 1:100, type = "mass"),
  "ece(type = \"sweep\")" = function() ece(x, y, type = "sweep"),
  "ece(type = \"discrete\")" = function() ece(x, y, type = "discrete"),
  "ks_error()" = function() ks_error(x, y),
  "mmce()" = function() mmce(x, y),
  "kde_error(kernel = \"triweight\")" = function() kde_error(x, y, kernel = "triweight"),
  "smooth_ece()" = function() smooth_ece(x, y),
  "ici()" = function() ici(x, y),
  "ici(smoother = \"isotonic\")" = function() ici(x, y, smoother = "isotonic"),
  "cox_calibration()" = function() cox_calibration(x, y),
  "spiegelhalter()" = function() spiegelhalter(x, y),
  "hosmer_lemeshow()" = function() hosmer_lemeshow(x, y),
  "ce_decompose(method = \"isotonic\")" = function() ce_decompose(x, y, method = "isotonic"),
  "ce_hierarchy()" = function() ce_hierarchy(x, y)
)
alone <- data.frame(call = paste0("`", names(each), "`"),
                    seconds = vapply(each, function(f) seconds(quiet(f())), 0))

# Sorted by confidence and nearly separated: every number of bins up to n / 2 is monotone.
separated <- (seq_len(n) - 0.5) / n
outcome <- separated > 0.5
outcome[n / 2 + 0:1] <- c(TRUE, FALSE)
sweep <- seconds(ece(separated, outcome, type = "sweep"), 1)

# The kernel sum as it is written, a matrix of pairs, against the recursions.
literal <- function(x, d) sqrt(sum(outer(d, d) * exp(-abs(outer(x, x, "-")) / 0.4))) / length(x)
pairs <- do.call(rbind, lapply(c(1e3, 4e3, 1e6), function(m) {
  rows <- seq_len(m)
  slow <- if (m <= 4e3) seconds(value <- literal(x[rows], x[rows] - y[rows]), 1) else NA
  fast <- seconds(out <- mmce(x[rows], y[rows]))
  if (m <= 4e3) stopifnot(abs(out$.estimate - value) < 1e-12)
  data.frame(n = m, `matrix of pairs, s` = slow, `mmce(), s` = fast, check.names = FALSE)
}))

writeLines(c(
  bench_header("Classical calibration errors"),
  paste0("`ce_panel()` on ", format(n, big.mark = ",", scientific = FALSE), " top-label predictions, all 19 rows: ", round(panel, 2),
         " s elapsed, ", round(cpu, 2), " s of processor time."), "",
  "One by one, each with its own reading and sorting of the data:", "",
  markdown_table(alone),
  paste0("The monotone sweep at its worst, ", format(n, big.mark = ",", scientific = FALSE),
         " rows that two outcomes keep from being separated: ", round(sweep, 2), " s."), "",
  "MMCE, the double sum against the recursions on sorted predictions:", "",
  markdown_table(pairs)
), "bench/classical.md")
