# Results of the vignette "Reproducing Widmann et al. (2021)", in the parts line, estimators, rates, exact-rates,
# mean-embedding, times, friedman, cifar10 and published-*. About an hour of one core; the environment variable MC_CORES
# says how many to use. Every cell, data set of Friedman's problem and network has its own seed: the numbers, except
# running times, do not depend on the cores. The part cifar10 needs the probabilities of the networks of Widmann et al.
# (2019) and their released errors and p-values, in `cifar10` of the shared data. The published numbers are those of the
# authors' result files and pages (github.com/devmotion/Calibration_ICLR2021), rounded to three digits.
library(calibrisk)
source("data-raw/papers/store.R")
source("data-raw/papers/friedman-networks.R")
options(calibrisk.threads = 1L)

# Computes the rows of one table, `fn(i)` for every i, in parallel.
over <- function(rows, fn) {
  out <- parallel::mclapply(rows, fn, mc.preschedule = FALSE)
  failed <- vapply(out, inherits, NA, "try-error")
  if (any(failed)) stop(out[failed][[1]])
  do.call(rbind, out)
}

for (name in paste0("published-", c("line", "estimators", "rates", "friedman"))) published(name)

# The kernel of the paper's experiments: exp(-W2(p, p')) exp(-|y - y'|^2 / 2).
on_predictions <- kernel_wasserstein(1)
on_outcomes <- kernel_gaussian(1)

# ---- Figures 1, 4 and 5: a straight line through a sine (appendix A.1) --------------------------
line_data <- function(n) {
  x <- runif(n, -1, 1)
  data.frame(x = x, y = sin(pi * x) + abs(1 + x) * rnorm(n, 0, 0.15))
}
# levels: the share of outcomes below the predicted quantiles is compared with the level (largest difference)
result("line", seed = 3100, repetitions = 1000, {
  set.seed(3100)
  rows <- replicate(1000, simplify = FALSE, {
    fit <- lm(y ~ x, line_data(100))
    sd <- sd(residuals(fit))
    new <- line_data(50)
    mean <- predict(fit, new)
    level <- sort(pnorm(new$y, mean, sd))
    law <- pred_normal(mean, sd)
    p_value <- function(test, ...) ce_test(law, new$y, test = test, ...)$p.value
    data.frame(
      intercept = coef(fit)[[1]], slope = coef(fit)[[2]], sd = sd,
      distance = max(level - (0:49) / 50, (1:50) / 50 - level),
      bootstrap = p_value(test_bootstrap(add_one = FALSE), kernel = on_predictions, target_kernel = on_outcomes),
      default = p_value(test_bootstrap(add_one = FALSE)), conditional = p_value("conditional"),
      t(stats::setNames(findInterval(seq(0.02, 0.98, by = 0.02), level) / 50, paste0("share_", 1:49)))
    )
  })
  rows <- do.call(rbind, rows)
  quantiles <- apply(as.matrix(rows), 2, quantile, c(0.05, 0.1, 0.5, 0.9, 0.95))
  # `rejected` is the share of at most 0.05, of interest for p-values
  data.frame(statistic = names(rows), mean = colMeans(rows), t(quantiles), rejected = colMeans(rows <= 0.05),
             check.names = FALSE)
})

# ---- Figures 2 and 6 to 11: synthetic models (appendix A.2) --------------------------------------
# Predictions N(c 1, 0.1^2 I), c uniform. The uncalibrated model's first coordinate is N(0.1, 0.1^2) for every
# prediction.
synthetic <- function(n, d, calibrated) {
  c <- runif(n)
  y <- matrix(rnorm(n * d, c, 0.1), n)
  if (!calibrated) y[, 1] <- rnorm(n, 0.1, 0.1)
  list(c = c, p = synthetic_law(matrix(c, n, d)), y = y)
}
synthetic_law <- function(mean) {
  if (ncol(mean) == 1) pred_normal(mean[, 1], 0.1) else pred_mvnormal(mean, 0.1^2)
}
synthetic_locations <- function(d, j = 10) {
  mean <- matrix(runif(j * d), j)
  list(mean = mean, x = synthetic_law(mean), truth = matrix(rnorm(j * d, 0, 0.1), j))
}
cells <- expand.grid(calibrated = c(TRUE, FALSE), n = c(1024, 256, 64, 16, 4), d = c(10, 1))
in_order <- function(table) table[order(table$d, -table$calibrated, table$name, table$n), ]
root_block <- function(n) max(2, floor(sqrt(n)))

# The four estimates, as functions of a data set.
estimators <- {
  estimate <- function(s, ...) skce(s$p, s$y, kernel = on_predictions, target_kernel = on_outcomes, ...)$.estimate
  list(
    biased = function(s) estimate(s, type = "biased"),
    `B = 2` = function(s) estimate(s, type = "block", block = 2),
    `B = sqrt(n)` = function(s) estimate(s, type = "block", block = root_block(length(s$c))),
    `B = n` = function(s) estimate(s)
  )
}
truth <- c(`1` = 0.110773702, `10` = 0.059597541) # exact integrals, uncalibrated
result("estimators", seed = "3001 to 3020", repetitions = 2000, in_order(over(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  set.seed(3000 + i)
  values <- replicate(2000, {
    s <- synthetic(cell$n, cell$d, cell$calibrated)
    vapply(estimators, function(f) f(s), 0)
  })
  value <- if (cell$calibrated) 0 else truth[[as.character(cell$d)]]
  cbind(cell, name = rownames(values), t(apply(values, 1, function(v) {
    error <- abs(v - value)
    square <- (v - mean(v))^2
    c(mean = mean(v), absolute_error = mean(error), absolute_error_se = sd(error) / sqrt(2000),
      variance = var(v), variance_se = sd(square) / sqrt(2000))
  })), row.names = NULL)
})))

# p-values of a data set. The mean embedding takes ten locations; four observations allow three.
tests <- {
  p_value <- function(s, test) {
    suppressWarnings(ce_test(s$p, s$y, test = test, kernel = on_predictions, target_kernel = on_outcomes)$p.value)
  }
  list(
    block_2 = function(s, at) p_value(s, test_block(2)),
    block_root = function(s, at) p_value(s, test_block(root_block(length(s$c)))),
    bootstrap = function(s, at) p_value(s, test_bootstrap(add_one = FALSE)),
    conditional = function(s, at) p_value(s, test_conditional(99)),
    cme_redraw = function(s, at) p_value(s, test_cme(at, times = 99))
  )
}
few_locations <- function(at, n) {
  j <- if (n > 10) 10 else 3
  list(x = at$x[seq_len(j)], truth = at$truth[seq_len(j), , drop = FALSE])
}
# Rejections at the 5% level.
rejections <- function(tests, runs, seeds, rows = seq_len(nrow(cells))) {
  in_order(over(rows, function(i) {
    cell <- cells[i, ]
    set.seed(seeds + i)
    values <- replicate(runs, {
      s <- synthetic(cell$n, cell$d, cell$calibrated)
      at <- few_locations(synthetic_locations(cell$d), cell$n)
      vapply(tests, function(f) f(s, at), 0)
    })
    data.frame(cell, name = rownames(values), runs = rowSums(!is.na(values)),
               rejections = rowSums(values <= 0.05, na.rm = TRUE), row.names = NULL)
  }))
}
result("rates", seed = "3201 to 3220", repetitions = 500,
       rejections(tests[c("block_2", "block_root", "bootstrap")], 500, 3200))
# tests that the paper does not have, whose level is exact: the sizes at which their power is not 1
result("exact-rates", seed = "3221 to 3240", repetitions = 250,
       rejections(tests[c("conditional", "cme_redraw")], 250, 3220, which(cells$n <= 64)))

# The statistic of the mean embedding test, from its formula, with the covariance inverted as it is, also if it has no
# inverse: with four observations its rank is three, and Q is made of rounding errors.
witness <- function(s, at) {
  d <- ncol(s$y)
  square <- function(a, b) pmax(outer(rowSums(a^2), rowSums(b^2), `+`) - 2 * tcrossprod(a, b), 0)
  centre <- matrix(s$c, length(s$c), d)
  exp(-sqrt(square(centre, at$mean))) *
    (exp(-square(s$y, at$truth) / 2) - 1.01^(-d / 2) * exp(-square(centre, at$truth) / 2.02))
}
plain_hotelling <- function(z) {
  mean <- colMeans(z)
  nrow(z) * sum(mean * solve(var(z), mean, tol = 0))
}
result("mean-embedding", seed = "3301 to 3320", repetitions = 500, {
  rows <- over(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    set.seed(3300)
    at <- lapply(1:20, function(k) synthetic_locations(cell$d))
    set.seed(3300 + i)
    q <- replicate(500, {
      s <- synthetic(cell$n, cell$d, cell$calibrated)
      vapply(at, function(a) tryCatch(plain_hotelling(witness(s, a)), error = function(e) NA_real_), 0)
    })
    # the package's statistic, where it has one
    if (cell$n >= 64) {
      s <- synthetic(cell$n, cell$d, cell$calibrated)
      ours <- ce_test(s$p, s$y, test = test_cme(reference = "chisq", locations = at[[1]][c("x", "truth")]),
                      kernel = on_predictions, target_kernel = on_outcomes)$statistic
      stopifnot(abs(plain_hotelling(witness(s, at[[1]])) / ours - 1) < 1e-4)
    }
    p <- list(cme_chisq = pchisq(q, 10, lower.tail = FALSE))
    if (cell$n > 10) p$cme_f <- pf((cell$n - 10) * q / (10 * (cell$n - 1)), 10, cell$n - 10, lower.tail = FALSE)
    do.call(rbind, lapply(names(p), function(name) {
      rate <- rowMeans(p[[name]] <= 0.05, na.rm = TRUE)
      data.frame(cell, name = name, rate = mean(rate), low = min(rate), high = max(rate),
                 negative = mean(q < 0, na.rm = TRUE), failed = mean(is.na(q)), row.names = NULL)
    }))
  })
  in_order(rows)
})

# Seconds of processor time per call, one thread, for a calibrated data set: the smaller mean of two batches of calls
# that take at least 0.2 s. They do not depend on the outcomes. Other work on the machine does not count, but it makes
# them longer: `load` is the number of running jobs before the first call.
result("times", seed = "3401 to 3420", repetitions = 2, digits = 4, timed = TRUE, {
  cpu <- sub(".*: ", "", grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1])
  load <- as.numeric(sub(" .*", "", readLines("/proc/loadavg")))
  processor <- function() sum(proc.time()[c("user.self", "sys.self")])
  batch <- function(f, ...) {
    start <- processor()
    calls <- 0
    while ((used <- processor() - start) < 0.2) {
      f(...)
      calls <- calls + 1
    }
    used / calls
  }
  timed <- c(tests[c("block_2", "block_root", "bootstrap")], list(cme_chisq = function(s, at) {
    p_value(s, test_cme(at, "chisq"))
  }), lapply(estimators, function(f) function(s, at) f(s)))
  # one cell after the other: they would disturb each other
  rows <- lapply(which(cells$calibrated), function(i) {
    cell <- cells[i, ]
    set.seed(3400 + i)
    s <- synthetic(cell$n, cell$d, TRUE)
    at <- few_locations(synthetic_locations(cell$d), cell$n)
    seconds <- vapply(timed, function(f) min(batch(f, s, at), batch(f, s, at)), 0)
    data.frame(cell, name = names(timed), seconds = seconds, cpu = cpu, load = load, row.names = NULL)
  })
  in_order(do.call(rbind, rows))
})

# ---- Figures 3 and 12: Friedman's regression problem (appendix A.3) ------------------------------
taus <- seq(0.05, 0.95, by = 0.05)
pinball <- function(quantiles, y) {
  mean(vapply(seq_along(taus), function(t) {
    q <- quantiles[, t]
    mean((1 - taus[t]) * pmax(q - y, 0) + taus[t] * pmax(y - q, 0))
  }, 0))
}
# Quantiles of equal-weight normal mixtures, by bisection between the component quantiles: one column per level.
mixture_quantiles <- function(mean, sd) {
  n <- nrow(mean)
  spread <- rep(sd, each = n * length(taus))
  many <- mean[rep(seq_len(n), length(taus)), , drop = FALSE]
  level <- rep(taus, each = n)
  q <- many + qnorm(level) * spread
  low <- q[cbind(seq_along(level), max.col(-q, "first"))]
  high <- q[cbind(seq_along(level), max.col(q, "first"))]
  if (ncol(mean) > 1) {
    for (i in 1:40) {
      middle <- (low + high) / 2
      below <- rowMeans(pnorm((middle - many) / spread)) < level
      low[below] <- middle[below]
      high[!below] <- middle[!below]
    }
  }
  matrix((low + high) / 2, n)
}
# mean: n x models, sd: one per model; one column is a single network.
friedman_row <- function(mean, sd, y) {
  n <- length(y)
  spread <- rep(sd, each = n)
  density <- matrix(dnorm(y, mean, spread, log = TRUE), n)
  top <- apply(density, 1, max)
  law <- if (ncol(mean) == 1) pred_normal(mean[, 1], sd) else {
    do.call(pred_mixture, lapply(seq_len(ncol(mean)), function(k) pred_normal(mean[, k], sd[k])))
  }
  tested <- suppressWarnings(ce_test(law, y, test = test_bootstrap(add_one = FALSE), kernel = on_predictions,
                                     target_kernel = on_outcomes))
  skce_u <- unname(tested$estimate)
  # h(i, i) = 1 - 2 E l(Z, y) + E l(Z, Z'): the biased estimate from the unbiased one
  expected <- function(distance, variance) exp(-distance^2 / (2 * (1 + variance))) / sqrt(1 + variance)
  once <- rowMeans(matrix(expected(mean - y, spread^2), n))
  twice <- Reduce(`+`, lapply(seq_along(sd), function(k) {
    rowMeans(matrix(expected(mean - mean[, k], spread^2 + sd[k]^2), n))
  })) / length(sd)
  c(mse = mean((rowMeans(mean) - y)^2), nll = -mean(top + log(rowMeans(exp(density - top)))),
    pinball = pinball(mixture_quantiles(mean, sd), y), skce_u = skce_u,
    skce_b = ((n - 1) * skce_u + mean(1 - 2 * once + twice)) / n, p.value = tested$p.value)
}
# Draws of the data, ten networks each: per statistic the mean over the networks (`networks`), their range
# (`lowest`, `highest`) and the ensemble.
friedman_draw <- function(draw, at) {
  set.seed(4000 + draw)
  train <- friedman(100)
  test <- friedman(50)
  networks <- lapply(1:10, function(k) train_network(train, test, at))
  rows <- lapply(seq_along(at), function(i) {
    sd <- vapply(networks, function(network) network$sd[i], 0)
    do.call(rbind, lapply(c("train", "test"), function(split) {
      y <- list(train = train, test = test)[[split]]$y
      mean <- vapply(networks, function(network) network[[split]][, i], y)
      each <- vapply(1:10, function(k) friedman_row(mean[, k, drop = FALSE], sd[k], y), numeric(6))
      data.frame(draw = draw, iteration = at[i], split = split, statistic = rownames(each), networks = rowMeans(each),
                 lowest = apply(each, 1, min), highest = apply(each, 1, max), ensemble = friedman_row(mean, sd, y),
                 row.names = NULL)
    }))
  })
  do.call(rbind, rows)
}
# A draw is stored as soon as it is there; those that are stored already are not computed again. The environment
# variable DRAWS says how many to add.
if (wanted("friedman")) {
  Sys.setenv(PKG_CXXFLAGS = "-O3 -march=native -Wno-ignored-attributes")
  Rcpp::sourceCpp("data-raw/papers/friedman-networks.cpp")
  at <- c(0, 10, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000)
  all <- stored("friedman")
  for (draw in utils::head(setdiff(1:12, all$draw), as.integer(Sys.getenv("DRAWS", "12")))) {
    all <- rbind(all, friedman_draw(draw, at))
    store("friedman", all, seed = paste("4001 to", 4000 + draw), repetitions = draw, digits = 4)
  }
}

# ---- Networks on the CIFAR-10 test set, kernel exp(-TV / median) and the same class --------------
# the estimates agree to more than six digits
result("cifar10", seed = "5001 to 5007", repetitions = 1000, digits = 10, {
  errors <- utils::read.csv(shared_data("cifar10", "widmann-reference-errors.csv"))
  p_values <- utils::read.csv(shared_data("cifar10", "widmann-reference-pvalues.csv"))
  over(seq_len(nrow(errors)), function(i) {
    set.seed(5000 + i)
    data <- readRDS(shared_data("cifar10", paste0("widmann-", errors$model[i], ".rds")))
    p <- data$probs
    y <- data$label
    # the default kernel with its median bandwidth as a number
    kernel <- suppressMessages(ce_test(p, y, test = test_block(block = 2)))$kernel
    estimate <- function(...) suppressMessages(skce(p, y, kernel = kernel, ...))$.estimate
    test <- function(test) suppressMessages(ce_test(p, y, test = test, kernel = kernel))
    bootstrap <- test("bootstrap")
    conditional <- test("conditional")
    data.frame(
      model = errors$model[i], bandwidth = kernel$bandwidth,
      quantity = c("ece", "ece_dynamic", "skce_b", "skce_u", "skce_linear", "p_bound_biased", "p_bound_unbiased",
                   "p_linear",
                   "p_bootstrap", "p_conditional", "null_low", "null_high"),
      here = c(suppressMessages(ece(p, y, n_bins = 10, notion = "canonical"))$.estimate / 2,
               suppressMessages(ece(p, y, type = "median_variance", min_size = 100,
                                    notion = "canonical"))$.estimate / 2,
               estimate(type = "biased"), estimate(), estimate(type = "block", block = 2),
               test("bound", type = "biased")$p.value, test("bound")$p.value,
               test("block", block = 2)$p.value, bootstrap$p.value, conditional$p.value,
               quantile(conditional$null, c(0.025, 0.975))),
      published = c(errors$ECE_uniform[i], errors$ECE_dynamic[i], errors$SKCEb_median[i], errors$SKCEuq_median[i],
                    errors$SKCEul_median[i], p_values$SKCEb_median_distribution_free[i],
                    p_values$SKCEuq_median_distribution_free[i],
                    p_values$SKCEul_median_asymptotic[i], p_values$SKCEuq_median_asymptotic[i], NA, NA, NA)
    )
  })
})
