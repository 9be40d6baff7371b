# Levels and power of the calibration tests on the synthetic models of Widmann et al. (2021,
# appendix A.2), where the paper's chi-squared test does not hold its level.
library(calibrisk)
source("bench/setup.R")
options(calibrisk.threads = 2)
w1 <- kernel_wasserstein(1)
g1 <- kernel_gaussian(1)

synthetic <- function(n, d, calibrated) {
  c <- runif(n)
  y <- matrix(rnorm(n * d, c, .1), n)
  if (!calibrated) y[, 1] <- rnorm(n, .1, .1)
  list(p = if (d == 1) pred_normal(c, .1) else pred_mvnormal(matrix(c, n, d), .01), y = y)
}
# `at`: locations.
tests <- function(at) list(
  `B = 2` = test_block(2), `B = sqrt n` = "block", bootstrap = test_bootstrap(400), conditional = test_conditional(39),
  `CME redrawn` = test_cme(at, times = 39), `CME chi2` = test_cme(at, "chisq"), `CME F` = test_cme(at, "f"),
  bound = "bound"
)
runs <- 300
rates <- do.call(rbind, lapply(c(1, 10), function(d) {
  at <- list(x = if (d == 1) pred_normal((1:10 - .5) / 10, .1) else {
    set.seed(9)
    pred_mvnormal(matrix(runif(10 * d), 10), .01)
  }, truth = {
    set.seed(10)
    matrix(rnorm(10 * d, 0, .1), 10)
  })
  do.call(rbind, lapply(c(16, 64, 256), function(n) {
    do.call(rbind, lapply(c(TRUE, FALSE), function(calibrated) {
      set.seed(n + d)
      reject <- vapply(seq_len(if (calibrated) runs else 100), function(r) {
        s <- synthetic(n, d, calibrated)
        vapply(tests(at), function(test) {
          if (inherits(test, "test_conditional") && n > 64) return(NA)
          out <- suppressWarnings(ce_test(s$p, s$y, kernel = w1, target_kernel = g1, test = test))
          isTRUE(out$p.value <= .05)
        }, NA)
      }, logical(length(tests(at))))
      cells <- format(round(rowMeans(reject), 3), nsmall = 3)
      data.frame(d = as.character(d), n = as.character(n), predictions = if (calibrated) "calibrated" else "not calibrated",
                 as.list(setNames(sub(" *NA", "", cells), names(tests(at)))), check.names = FALSE)
    }))
  }))
}))

writeLines(c(
  bench_header("Levels and power of the calibration tests"),
  paste0("Rejection rates at level 0.05 on the synthetic models (", runs, " calibrated data sets, Monte Carlo standard error 0.013;"),
  "100 that are not calibrated). The chi-squared CME test does not hold its level, and the F version only where n is large or",
  "the locations are far apart.", "",
  markdown_table(rates)
), "bench/skce-levels.md")
