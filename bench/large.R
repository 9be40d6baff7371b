# Jobs of many rows in memory: processor time and the largest memory of each verb, every one in a fresh R, beside
# the goals of 10 seconds on two cores (20 of processor time) and 1 GB at 50,000 rows of 10 classes.
library(calibrisk)
source("bench/setup.R")

# Probabilities as networks give them: one class far ahead in most rows, logits over-confident by a third.
sharp <- function(n, k = 10) {
  set.seed(1)
  z <- matrix(rnorm(n * k), n) + 6 * outer(sample(k, n, TRUE), seq_len(k), `==`) * sqrt(rexp(n))
  truth <- max.col(1.15 * z - log(-log(matrix(runif(n * k), n))))
  list(probs = softmax(1.5 * z), other = softmax(1.2 * z), truth = truth)
}

scalar <- function(n) {
  set.seed(1)
  p <- rbeta(n, 2, 1)
  list(p = p, y = as.integer(runif(n) < p^1.2))
}

verbs <- c(
  "skce()" = "skce(d$probs, d$truth)",
  "kde_error()" = "kde_error(d$probs, d$truth)",
  "ce_rank(), 2 models" = "ce_rank(list(a = d$probs, b = d$other), d$truth)",
  "ckce()" = "ckce(d$probs, d$truth)",
  "ckce(ridge = \"loo\")" = "ckce(d$probs, d$truth, ridge = 'loo')",
  "ce_fit(), canonical kkr" =
    "ce_fit(d$probs, d$truth, notion = 'canonical', method = method_kkr(0.01))",
  "ece(type = \"discrete\")" = "ece(d$p, d$y, type = 'discrete')"
)

one <- function(verb, n) {
  data <- if (grepl("discrete", verb)) scalar else sharp
  value <- with_threads(2, c(
    deparse(bquote(make <- .(data))), paste0("d <- make(", format(n, scientific = FALSE), ")"),
    "invisible(gc(full = TRUE))", "before <- peak_memory()",
    paste0("time <- processor_seconds(", verbs[[verb]], ", 1)"),
    "c(time = time, peak = peak_memory(), before = before)"
  ))
  data.frame(verb = verb, rows = n, `processor time, s` = value[["time"]], `peak memory, MB` = 1024 * value[["peak"]],
             `before, MB` = 1024 * value[["before"]], check.names = FALSE)
}

rows <- function(verb) if (grepl("discrete", verb)) c(250000, 500000, 1000000) else c(12500, 25000, 50000)
table <- do.call(rbind, lapply(names(verbs), function(verb) do.call(rbind, lapply(rows(verb), one, verb = verb))))

writeLines(c(
  bench_header("Many rows in memory"),
  paste("Ten classes (`ece()`: one probability), two threads. Goals at 50,000 rows: 20 s of processor time (10 s on two",
        "cores) and 1 GB; of `ece()` at a million rows 300 MB. Memory is that of the whole process; `before` is R with",
        "the package and the data, and what making the data took."), "",
  markdown_table(table)
), "bench/large.md")
