# The joint test of ce_estimate() and ce_test() against its formulas written out in R, one simulated sample after another
# (tests/testthat/helper-oracle-joint.R); growth in rows and classes. Processor seconds of all threads together.
library(calibrisk)
source("bench/setup.R")
source("tests/testthat/helper-oracle-ladder.R")
source("tests/testthat/helper-oracle-joint.R")

one_probability <- function(n, seed = 1) {
  set.seed(seed)
  p <- plogis(rnorm(n, -1))
  list(p = p, y = as.numeric(runif(n) < plogis(1.2 * qlogis(p))))
}
rare_events <- function(n, seed = 1) {
  set.seed(seed)
  p <- plogis(rnorm(n, -4.6, 0.8))
  list(p = p, y = as.numeric(runif(n) < p))
}
draw_labels <- function(p) max.col(t(apply(p, 1, cumsum)) >= runif(nrow(p)), "first")
classes <- function(n, k, seed = 1) {
  set.seed(seed)
  p <- exp(matrix(rnorm(n * k, sd = 1.5), n))
  p <- p / rowSums(p)
  list(p = p, y = draw_labels(p))
}

redraws <- 1999
two_in_r <- function(d) {
  at <- order(d$p)
  p <- d$p[at]
  statistics <- function(y) c(oracle_joint_statistics(p, p - y), group = max(oracle_groups(p, y)[, 3]))
  observed <- statistics(d$y[at])
  redrawn <- t(replicate(redraws, statistics(as.numeric(runif(length(p)) < p))))
  shares <- c(10, 1.5, 1.5, rep(1, length(observed) - 3))
  list(p.value = oracle_joint_p(redrawn, shares / sum(shares), observed), observed = observed)
}
classes_in_r <- function(d) {
  observed <- oracle_class_statistics(d$p, d$y)
  redrawn <- t(replicate(redraws, oracle_class_statistics(d$p, draw_labels(d$p))))
  list(p.value = oracle_joint_p(redrawn, oracle_class_shares, observed), observed = observed)
}

# The statistic that decides is one of the formulas' parts.
beside <- function(data, n, formulas, literal, ours, test) {
  parts <- literal$observed
  data.frame(data = data, n = n, `R formulas` = formulas, `ce_test()` = ours, ratio = formulas / ours,
             `p in R` = literal$p.value, `p of ce_test()` = test$p.value,
             `difference of the statistic` = format(min(abs(parts - test$statistic)), digits = 1), check.names = FALSE)
}
small <- rbind(
  do.call(rbind, lapply(c(300, 1000), function(n) {
    d <- one_probability(n)
    formulas <- processor_seconds(literal <- two_in_r(d), 1)
    ours <- processor_seconds(for (i in 1:10) test <- on_threads(1, ce_test(d$p, d$y))) / 10
    beside("one probability", n, formulas, literal, ours, test)
  })),
  do.call(rbind, lapply(c(100, 300), function(n) {
    d <- classes(n, 3)
    formulas <- processor_seconds(literal <- classes_in_r(d), 1)
    ours <- processor_seconds(test <- on_threads(1, ce_test(d$p, d$y)))
    beside("3 classes, canonical", n, formulas, literal, ours, test)
  }))
)

timed <- function(data, n, expr) {
  expr <- substitute(expr)
  frame <- parent.frame()
  times <- system.time(eval(expr, frame))
  data.frame(data = data, n = n, processor = sum(times[c("user.self", "sys.self")]), elapsed = times[["elapsed"]])
}
growth <- rbind(
  do.call(rbind, lapply(c(1e4, 1e5, 1e6), function(n) {
    d <- one_probability(n)
    timed("one probability", n, on_threads(2, ce_estimate(d$p, d$y)))
  })),
  do.call(rbind, lapply(c(1e4, 1e5, 1e6), function(n) {
    d <- rare_events(n)
    timed("one probability, 1% events", n, on_threads(2, ce_estimate(d$p, d$y)))
  })),
  do.call(rbind, lapply(c(3, 10), function(k) do.call(rbind, lapply(c(1000, 5000, 20000), function(n) {
    d <- classes(n, k)
    timed(paste(k, "classes, class-wise"), n, on_threads(2, ce_estimate(d$p, d$y, notion = "class_wise")))
  })))),
  do.call(rbind, lapply(c(1000, 5000, 20000), function(n) {
    d <- one_probability(n)
    cluster <- rep_len(seq_len(n / 10), n)
    timed("one probability, clusters of 10", n, on_threads(2, ce_estimate(d$p, d$y, cluster = cluster)))
  })),
  do.call(rbind, lapply(c(1000, 5000, 20000), function(n) {
    d <- classes(n, 10)
    cluster <- rep_len(seq_len(n / 10), n)
    timed("10 classes, class-wise, clusters of 10", n,
          on_threads(2, ce_estimate(d$p, d$y, cluster = cluster, notion = "class_wise")))
  }))
)

writeLines(c(
  bench_header("The joint test: ce_test() and ce_estimate()"),
  paste0("Against its formulas in R, ", format(redraws, big.mark = ","), " simulated samples one after another, one thread,"),
  "processor seconds. The two draw different samples, so their p-values agree up to simulation error. The last column",
  "compares the statistic that decides with that part of the formulas:", "",
  markdown_table(small),
  "Growth, one run each, two threads, seconds of processor time and elapsed (other work on the machine moves the",
  "second). Class-wise rows include the nested bases, which give the upper limit:", "",
  markdown_table(growth)
), "bench/joint.md")
