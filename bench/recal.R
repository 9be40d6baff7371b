# Recalibration maps and reliability curves: time to fit, by number of classes, and the bands of
# curves at 100,000 predictions. Simulated logits, labels at temperature 1.5.
library(calibrisk)
source("bench/setup.R")
options(calibrisk.threads = 2L)

simulate <- function(n, k) {
  set.seed(1)
  y <- sample.int(k, n, TRUE)
  z <- matrix(rnorm(n * k, sd = 1.5), n)
  z[cbind(seq_len(n), y)] <- z[cbind(seq_len(n), y)] + 4
  gumbel <- -log(-log(matrix(runif(n * k), n)))
  list(z = 1.5 * z, y = max.col(z + gumbel))
}

# Without the messages about unregularised optima: the time is asked for.
fit <- function(d, method) suppressWarnings(ce_recalibrate(d$z, d$y, logits = TRUE, method = method))

# Elapsed and processor time; the latter, summed over threads, hardly depends on what else runs.
clock <- function(expr) {
  time <- system.time(expr)
  c(elapsed = time[["elapsed"]], cpu = time[["user.self"]] + time[["sys.self"]])
}

row <- function(d, method, required = NA) {
  time <- clock(result <- fit(d, method))
  out <- glance(result)
  data.frame(
    map = if (is.character(method)) method else method$name, n = nrow(d$z), classes = ncol(d$z), elapsed = time[["elapsed"]], cpu = time[["cpu"]], required = required,
    iterations = out$iterations, before = out$objective_before, after = out$objective_after,
    converged = if (out$converged) "yes" else "no"
  )
}

wide <- simulate(5000, 100)
narrow <- simulate(5000, 10)
long <- simulate(1e6, 10)
fits <- rbind(
  row(wide, "temperature"), row(wide, "ets", 2),
  row(wide, map_diag(hidden = c(2, 2)), 20), row(wide, "diag", 20),
  row(wide, "vector"), row(wide, "platt"), row(wide, "beta"), row(wide, "isotonic"), row(wide, "histogram"),
  row(narrow, "matrix"), row(narrow, "dirichlet"),
  row(long, "temperature"), row(long, "ets")
)

# A quadratic cost per element is what the table of slopes avoids: the paper's quadrature, one gradient-free pass.
core <- asNamespace("calibrisk")
l <- core$cpp_class_rows(wide$z, TRUE, 0, TRUE, 2L)
theta <- ce_recalibrate(wide$z, wide$y, method = map_diag(hidden = c(10, 10)), logits = TRUE)$map$parameters
pass <- data.frame(
  `one evaluation, 5,000 x 100, hidden (10, 10)` = c(
    "Clenshaw-Curtis with 50 intervals for every element, value only", "table of slopes, value and gradient"
  ),
  cpu = c(
    clock(core$cpp_network_integral(theta, c(10L, 10L), as.vector(l), 50L))[["cpu"]],
    clock(for (i in 1:10) {
      core$cpp_network_loss(theta, c(10L, 10L), c(-37, 0), core$network_cells, l, wide$y, numeric(), "log", 2L)
    })[["cpu"]] / 10
  ), check.names = FALSE
)

set.seed(2)
p <- rbeta(1e5, 3, 0.7)
y <- rbinom(1e5, 1, plogis(0.7 * qlogis(p)))
types <- c("binned", "isotonic", "smooth")
times <- vapply(types, function(type) clock(ce_curve(p, y, type = type)), numeric(2))
curves <- data.frame(curve = types, elapsed = times["elapsed", ], cpu = times["cpu", ], required = 10)

writeLines(c(
  bench_header("Recalibration and reliability curves"),
  "Two threads, single runs; seconds of elapsed and of processor time.",
  "`before` and `after` are the mean losses on the fitted rows (Brier for ets, isotonic and histogram, else log).", "",
  markdown_table(fits), markdown_table(pass),
  "Reliability curves of 100,000 predictions, with pointwise and simultaneous bands from 1,000 draws:", "",
  markdown_table(curves)
), "bench/recal.md")
