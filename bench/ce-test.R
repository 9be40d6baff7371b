# The conditional test from a thousand rows to a million, beside the tests that were its stand-ins.
library(calibrisk)
source("bench/setup.R")
options(calibrisk.threads = 2)

binary <- function(n, slope) {
  set.seed(1)
  p <- plogis(2 * rnorm(n))
  list(x = p, y = rbinom(n, 1, plogis(slope * qlogis(p))))
}
classes <- function(n, slope) {
  x <- canonical_data(n, 10)
  list(x = x$probs, y = x$truth)
}
normals <- function(n, slope) {
  set.seed(1)
  mean <- rnorm(n)
  list(x = pred_normal(mean, 1), y = rnorm(n, mean, 1.02))
}

run <- function(what, make, n, test, times = 1000) {
  data <- make(n, 0.9)
  choice <- switch(test, block = test_block(), cme = test_cme(times = times), test_conditional(times))
  time <- system.time(out <- ce_test(data$x, data$y, test = choice))
  data.frame(
    data = what, rows = n, test = test, redraws = if (test == "block") NA else times,
    rank = out$details$rank %||% NA, `diagonal neglected` = out$details$neglected %||% NA,
    `processor s` = time[["user.self"]] + time[["sys.self"]],
    `p-value` = signif(out$p.value, 2), check.names = FALSE
  )
}
`%||%` <- function(x, y) if (is.null(x)) y else x

rows <- list()
for (n in c(1e3, 1e4, 1e5, 1e6)) {
  for (test in c("conditional", "cme", "block")) {
    rows <- c(rows, list(run("binary, slope .9", binary, n, test, if (test == "cme") 199 else 1000)))
  }
}
for (n in c(1e4, 1e5)) rows <- c(rows, list(run("10 classes", classes, n, "conditional")))
for (n in c(1e3, 1e4, 1e5)) rows <- c(rows, list(run("normal laws, sd 2 % too small", normals, n, "conditional")))
rows <- c(rows, list(run("normal laws, sd 2 % too small", normals, 1e6, "conditional", 199)))

writeLines(c(
  bench_header("Calibration tests by redrawn outcomes"),
  "Two threads; one run each, seconds of processor time. The smallest p-value of 1,000 redraws is 0.001, of 199 it is 0.005.", "",
  markdown_table(do.call(rbind, rows))
), "bench/ce-test.md")
