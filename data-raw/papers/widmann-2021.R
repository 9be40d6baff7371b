# Results of the vignette "Reproducing Widmann et al. (2021)", in the parts synthetic (estimators and rates), friedman
# and cifar10. The last part needs the probabilities of the networks of Widmann et al. (2019) and their released
# errors and p-values, in `cifar10` of the shared data. About half an hour on two cores. Every cell and every network
# has its own seed: the numbers do not depend on the cores.
library(calibrisk)
source("data-raw/papers/store.R")

cores <- min(2L, parallel::detectCores())
over <- function(rows, fn) {
  out <- parallel::mclapply(rows, fn, mc.cores = cores, mc.preschedule = FALSE)
  failed <- vapply(out, inherits, NA, "try-error")
  if (any(failed)) stop(out[failed][[1]])
  do.call(rbind, out)
}

for (name in paste0("published-", c("estimators", "rates", "friedman"))) published(name)

# The kernel of the paper's experiments: exp(-W2(p, p')) exp(-|y - y'|^2 / 2).
on_predictions <- kernel_wasserstein(1)
on_outcomes <- kernel_gaussian(1)

# 1. Synthetic models (appendix A.2): predictions N(c 1, 0.1^2 I), c uniform; the uncalibrated
# model's first coordinate is N(0.1, 0.1^2) whatever the prediction.
runs <- 500
synthetic <- function(n, d, calibrated) {
  c <- runif(n)
  y <- matrix(rnorm(n * d, c, 0.1), n)
  if (!calibrated) y[, 1] <- rnorm(n, 0.1, 0.1)
  list(p = synthetic_law(matrix(c, n, d)), y = y)
}
synthetic_law <- function(mean) {
  if (ncol(mean) == 1) pred_normal(mean[, 1], 0.1) else pred_mvnormal(mean, 0.1^2)
}
synthetic_locations <- function(d) {
  list(x = synthetic_law(matrix(runif(10 * d), 10)), truth = matrix(rnorm(10 * d, 0, 0.1), 10))
}

# All estimates and p-values of one data set.
one_data_set <- function(n, d, calibrated, locations) {
  s <- synthetic(n, d, calibrated)
  root <- max(2, floor(sqrt(n)))
  estimate <- function(type, block = NULL) {
    skce(s$p, s$y, kernel = on_predictions, target_kernel = on_outcomes, type = type, block = block,
         threads = 1)$.estimate
  }
  p_value <- function(test, ...) {
    ce_test(s$p, s$y, test = test, kernel = on_predictions, target_kernel = on_outcomes, threads = 1, ...)$p.value
  }
  # ten locations need more than ten observations
  few <- n <= 10
  c(
    biased = estimate("biased"), `B = 2` = estimate("block", 2), `B = sqrt(n)` = estimate("block", root),
    `B = n` = estimate("unbiased"),
    test.block_2 = suppressWarnings(p_value("block", block = 2)),
    test.block_root = suppressWarnings(p_value("block", block = root)),
    test.bootstrap = p_value("bootstrap", add_one = FALSE),
    # exact for every n; its loop is quadratic in n for each of the replicates
    test.conditional = if (n > 64) NA else p_value("conditional", replicates = 99),
    test.cme_chisq = if (few) NA else p_value("cme", reference = "chisq", locations = locations),
    test.cme_f = if (few) NA else p_value("cme", reference = "f", locations = locations),
    test.cme_redraw = if (few) NA else p_value("cme", replicates = 99, locations = locations)
  )
}

result("synthetic", seed = "3001 to 3020", repetitions = runs, {
  cells <- expand.grid(calibrated = c(TRUE, FALSE), n = c(1024, 256, 64, 16, 4), d = c(10, 1))
  truth <- c(`1` = 0.110773702, `10` = 0.059597541) # exact integrals, uncalibrated
  results <- over(seq_len(nrow(cells)), function(i) {
    cell <- cells[i, ]
    set.seed(3000 + i)
    # fixed for all data sets of a dimension
    set.seed(2999)
    locations <- synthetic_locations(cell$d)
    set.seed(3000 + i)
    values <- replicate(runs, one_data_set(cell$n, cell$d, cell$calibrated, locations))
    cbind(cell, name = rownames(values), t(apply(values, 1, function(v) {
      value <- if (cell$calibrated) 0 else truth[[as.character(cell$d)]]
      c(runs = sum(!is.na(v)), mean = mean(v, na.rm = TRUE), variance = var(v, na.rm = TRUE),
        absolute_error = mean(abs(v - value), na.rm = TRUE), rejections = sum(v <= 0.05, na.rm = TRUE))
    })), row.names = NULL)
  })
  results <- results[order(results$d, -results$calibrated, results$name, results$n), ]
  is_test <- startsWith(results$name, "test.")
  rates <- results[is_test & results$runs > 0, c("d", "calibrated", "n", "name", "runs", "rejections")]
  rates$name <- sub("test.", "", rates$name, fixed = TRUE)
  list(
    estimators = results[!is_test, c("d", "calibrated", "n", "name", "runs", "mean", "variance", "absolute_error")],
    rates = rates
  )
})

# 2. Friedman's first regression problem (appendix A.3): ten networks 10-200-50-1 of our own.
friedman <- function(n) {
  x <- matrix(runif(n * 10), n)
  mean <- 10 * sin(pi * x[, 1] * x[, 2]) + 20 * (x[, 3] - 0.5)^2 + 10 * x[, 4] + 5 * x[, 5]
  list(x = x, y = mean + rnorm(n))
}

# Full-batch Adam on the mean squared error; predictions at the iterations `at`.
train_network <- function(train, test, at) {
  size <- c(10, 200, 50, 1)
  glorot <- function(i, o) matrix(runif(i * o, -1, 1) * sqrt(6 / (i + o)), i)
  weights <- Map(glorot, size[-4], size[-1])
  adam <- new_adam(c(weights, lapply(size[-1], numeric)))
  initial <- rexp(1)
  out <- list()
  for (iteration in 0:max(at)) {
    a <- activations(train$x, adam$value)
    error <- a[[4]] - train$y
    if (iteration %in% at) {
      out[[as.character(iteration)]] <- list(
        train = as.vector(a[[4]]), test = as.vector(activations(test$x, adam$value)[[4]]),
        sd = if (iteration == 0) initial else sqrt(mean(error^2))
      )
    }
    adam <- adam_step(adam, network_gradient(a, adam$value, 2 * error / length(error)), iteration + 1)
  }
  out
}

# Input and output of every layer; parameters: three matrices of weights, then three vectors of biases.
activations <- function(x, parameters) {
  a <- list(x)
  for (l in 1:3) {
    z <- a[[l]] %*% parameters[[l]] + rep(parameters[[3 + l]], each = nrow(x))
    a[[l + 1]] <- if (l < 3) pmax(z, 0) else z
  }
  a
}

# Backpropagation; delta: the gradient of the loss in the last layer's output.
network_gradient <- function(a, parameters, delta) {
  gradient <- list()
  for (l in 3:1) {
    gradient[[l]] <- crossprod(a[[l]], delta)
    gradient[[3 + l]] <- colSums(delta)
    if (l > 1) delta <- tcrossprod(delta, parameters[[l]]) * (a[[l]] > 0)
  }
  gradient
}

new_adam <- function(value) {
  zero <- lapply(value, function(v) v * 0)
  list(value = value, mean = zero, square = zero)
}

adam_step <- function(adam, gradient, t, rate = 1e-3, decay = c(0.9, 0.999), tiny = 1e-8) {
  adam$mean <- Map(function(m, g) decay[1] * m + (1 - decay[1]) * g, adam$mean, gradient)
  adam$square <- Map(function(v, g) decay[2] * v + (1 - decay[2]) * g^2, adam$square, gradient)
  adam$value <- Map(function(value, m, v) {
    value - rate * (m / (1 - decay[1]^t)) / (sqrt(v / (1 - decay[2]^t)) + tiny)
  }, adam$value, adam$mean, adam$square)
  adam
}

taus <- seq(0.05, 0.95, by = 0.05)
pinball <- function(quantiles, y) {
  mean(vapply(seq_along(taus), function(t) {
    q <- quantiles[, t]
    mean((1 - taus[t]) * pmax(q - y, 0) + taus[t] * pmax(y - q, 0))
  }, 0))
}
# Quantiles of equal-weight normal mixtures, by bisection between the component quantiles.
mixture_quantiles <- function(mean, sd) {
  vapply(taus, function(tau) {
    q <- mean + qnorm(tau) * rep(sd, each = nrow(mean))
    low <- apply(q, 1, min)
    high <- apply(q, 1, max)
    for (i in 1:60) {
      middle <- (low + high) / 2
      below <- rowMeans(pnorm((middle - mean) / rep(sd, each = nrow(mean)))) < tau
      low <- ifelse(below, middle, low)
      high <- ifelse(below, high, middle)
    }
    (low + high) / 2
  }, numeric(nrow(mean)))
}
# mean: n x models, sd: one per model; one column is a single network.
friedman_row <- function(mean, sd, y) {
  spread <- rep(sd, each = length(y))
  density <- matrix(dnorm(y, mean, spread, log = TRUE), length(y))
  top <- apply(density, 1, max)
  law <- if (ncol(mean) == 1) pred_normal(mean[, 1], sd) else {
    do.call(pred_mixture, lapply(seq_len(ncol(mean)), function(k) pred_normal(mean[, k], sd[k])))
  }
  tested <- suppressWarnings(ce_test(law, y, test = "bootstrap", kernel = on_predictions,
                                     target_kernel = on_outcomes, add_one = FALSE, threads = 1))
  c(mse = mean((rowMeans(mean) - y)^2), nll = -mean(top + log(rowMeans(exp(density - top)))),
    pinball = pinball(mixture_quantiles(mean, sd), y), skce_u = unname(tested$estimate),
    skce_b = suppressWarnings(skce(law, y, type = "biased", kernel = on_predictions, target_kernel = on_outcomes,
                                   threads = 1)$.estimate),
    p.value = tested$p.value)
}

result("friedman", seed = "4000 to 4143", repetitions = 1, {
  set.seed(4000)
  train <- friedman(100)
  test <- friedman(50)
  at <- unique(c(0, 10, 25, 50, 75, round(10^seq(2, log10(5000), length.out = 36)), 250, 500, 1000, 1500, 2000, 5000))
  networks <- parallel::mclapply(1:10, function(k) {
    set.seed(4000 + k)
    train_network(train, test, at)
  }, mc.cores = cores)
  rows <- over(seq_along(at), function(i) {
    set.seed(4100 + i)
    now <- lapply(networks, `[[`, as.character(at[i]))
    sd <- vapply(now, `[[`, 0, "sd")
    do.call(rbind, lapply(c("train", "test"), function(split) {
      mean <- vapply(now, `[[`, numeric(if (split == "train") 100 else 50), split)
      y <- list(train = train, test = test)[[split]]$y
      each <- t(vapply(1:10, function(k) friedman_row(mean[, k, drop = FALSE], sd[k], y), numeric(6)))
      data.frame(iteration = at[i], split = split, statistic = colnames(each), mean = colMeans(each),
                 low = apply(each, 2, min), high = apply(each, 2, max), ensemble = friedman_row(mean, sd, y),
                 row.names = NULL)
    }))
  })
  rows[order(rows$split, rows$statistic, rows$iteration), ]
})

# 3. Networks on the CIFAR-10 test set, kernel exp(-TV / median) and the same class.
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
    kernel <- suppressMessages(ce_test(p, y, test = "block", block = 2, threads = 1))$kernel
    estimate <- function(...) suppressMessages(skce(p, y, kernel = kernel, threads = 1, ...))$.estimate
    test <- function(name, ...) suppressMessages(ce_test(p, y, test = name, kernel = kernel, threads = 1, ...))
    bootstrap <- test("bootstrap", replicates = 1000)
    conditional <- test("conditional", replicates = 1000)
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
