# The headline, ce_estimate(), against the ladder's formulas written out in R with one n x n smoother per
# rung and coordinate (tests/testthat/helper-oracle-ladder.R); growth in rows and classes. Processor
# seconds of all threads together.
library(calibrisk)
source("bench/setup.R")
source("tests/testthat/helper-oracle-ladder.R")

top_label <- function(n, seed = 1) {
  set.seed(seed)
  z <- plogis(rnorm(n, 2, 1.5))
  list(z = z, y = as.numeric(runif(n) < z^1.3))
}

# The rungs that the oracle writes out; their largest difference from the core's.
agreement <- function(oracle, core) {
  values <- function(rungs) vapply(rungs, function(rung) unlist(rung[c("psi", "noise", "linear")]), numeric(3))
  right <- values(oracle)
  difference <- abs(values(core)[, seq_along(oracle)] - right)
  max(ifelse(difference == 0, 0, difference / abs(right)))
}

scalar_formulas <- function(p, y) {
  v <- rep(1, length(p))
  lapply(c(2, 8, ceiling(sqrt(length(p)))), function(m) oracle_rung(cbind(p - y), oracle_hats(p, m, v)))
}
canonical_formulas <- function(p, e) lapply(oracle_canonical_bases(p), function(basis) oracle_rung(e, basis))
core_rungs <- function(p, e, notion) {
  bases <- calibrisk:::ladder_bases(notion, ncol(e), nrow(e))
  calibrisk:::cpp_ladder(p, e, NULL, bases, TRUE, 1L)
}

beside <- function(data, n, formulas, ours, difference) {
  data.frame(data = data, n = n, `R formulas` = formulas, `ce_estimate()` = ours, ratio = formulas / ours,
             `largest relative difference` = format(difference, digits = 1), check.names = FALSE)
}

scalar <- do.call(rbind, lapply(c(500, 1000, 2000), function(n) {
  data <- top_label(n)
  formulas <- processor_seconds(literal <- scalar_formulas(data$z, data$y))
  core <- core_rungs(cbind(data$z), cbind(data$z - data$y), "top_label")
  ours <- processor_seconds(for (i in 1:20) on_threads(1, ce_estimate(data$z, data$y))) / 20
  beside("one probability", n, formulas, ours, agreement(literal, core))
}))

canonical <- do.call(rbind, lapply(c(500, 1000), function(n) {
  data <- canonical_data(n, 10)
  e <- data$probs
  e[cbind(seq_len(n), data$truth)] <- e[cbind(seq_len(n), data$truth)] - 1
  formulas <- processor_seconds(literal <- canonical_formulas(data$probs, e), 2)
  core <- core_rungs(data$probs, e, "canonical")
  ours <- processor_seconds(on_threads(1, ce_estimate(data$probs, data$truth, notion = "canonical")))
  beside("canonical, K = 10", n, formulas, ours, agreement(literal, core))
}))

timed <- function(data, n, expr) {
  expr <- substitute(expr)
  frame <- parent.frame()
  times <- system.time(eval(expr, frame))
  data.frame(data = data, n = n, processor = sum(times[c("user.self", "sys.self")]), elapsed = times[["elapsed"]])
}
growth <- do.call(rbind, c(
  lapply(c(1e4, 1e5, 1e6), function(n) {
    data <- top_label(n)
    timed("top-label", n, on_threads(2, ce_estimate(data$z, data$y)))
  }),
  list({
    data <- canonical_data(10000, 10)
    timed("canonical, K = 10", 10000, on_threads(2, ce_estimate(data$probs, data$truth, notion = "canonical")))
  })
))
cifar <- network_data("cifar100/wasscal-resnet20")
if (!is.null(cifar)) {
  growth <- rbind(growth, timed("CIFAR-100 ResNet-20, canonical", 10000,
                                on_threads(2, ce_estimate(cifar$probs, cifar$truth, notion = "canonical"))))
}

# Processor seconds in a fresh R with the package of a library, one thread; the numbers of the row too.
run_with <- function(library, code) {
  file <- tempfile(fileext = ".R")
  writeLines(c(
    "suppressMessages(library(calibrisk))", "options(calibrisk.threads = 1)", code[1],
    paste0("time <- system.time(row <- ", code[2], ")"),
    "cat(sum(time[1:2]), unlist(row[c('estimate', 'conf.low', 'conf.high', 'lower_bound', 'p.value')]), sep = '\\n')"
  ), file)
  env <- paste0("R_LIBS=", paste(c(library, .libPaths()), collapse = .Platform$path.sep))
  as.numeric(system2(file.path(R.home("bin"), "Rscript"), file, env = env, stdout = TRUE))
}
large <- list(
  "class-wise, n = K = 500" = c(
    paste("set.seed(1); p <- exp(matrix(rnorm(250000, sd = 2), 500)); p <- p / rowSums(p);",
          "y <- factor(apply(p, 1, function(q) sample.int(500, 1, prob = q)), 1:500)"),
    "ce_estimate(p, y, notion = 'class_wise')"
  ),
  "one probability, n = 300,000 in 100,000 clusters" = c(
    "set.seed(2); p <- rbeta(3e5, 1, 2); y <- rbinom(3e5, 1, p^1.1); cl <- sample(1e5, 3e5, TRUE)",
    "ce_estimate(p, y, cluster = cl)"
  )
)
# CALIBRISK_EARLIER: a library with an earlier version, run in turn with this one
earlier <- Sys.getenv("CALIBRISK_EARLIER")
paired <- if (nzchar(earlier)) do.call(rbind, lapply(names(large), function(name) {
  was <- run_with(earlier, large[[name]])
  now <- run_with(dirname(find.package("calibrisk")), large[[name]])
  data.frame(data = name, earlier = was[1], now = now[1], ratio = was[1] / now[1],
             `largest difference` = format(max(abs(now[-1] - was[-1])), digits = 1), check.names = FALSE)
}))

writeLines(c(
  bench_header("The headline: ce_estimate()"),
  "Leave-one-out projections on the ladder of bases, against their formulas in R with n x n smoothers (without",
  "the canonical rung of kernel columns), one thread, processor seconds. ce_estimate() also has the test of calibration",
  "with its 1,999 redraws, which the formulas leave out. The last column compares psi and its variances:", "",
  markdown_table(rbind(scalar, canonical)),
  "Growth, one run each, two threads, seconds of processor time and elapsed (other work on the machine moves the",
  "second):", "",
  markdown_table(growth),
  "Canonical includes the class-wise and top-label ladders of the same rows. With 100 classes most of the time",
  "is dense products.", "",
  if (!is.null(paired)) c(
    "Against the version before pairs of rows were summed in place of pairs of classes, and clusters of few rows by",
    "their rows (its library in `CALIBRISK_EARLIER`), one thread, processor seconds; the last column compares the",
    "estimate, its limits and the p-value:", "", markdown_table(paired)
  )
), "bench/ladder.md")
