# Results of the vignette "Reproducing Moskvichev and Sejdinovic (2025)", in the parts synthetic, shift, rank,
# networks and table1; the last three need the networks of `cifar10` of the shared data. About ten minutes on two
# cores.
library(calibrisk)
source("data-raw/papers/store.R")

temper <- function(probs, t) softmax(log(pmax(probs, 1e-300)) / t)
draw_dirichlet <- function(n, m, alpha) {
  # in logs: Gamma(0.1) draws underflow
  softmax(matrix(log(rgamma(n * m, alpha + 1)) + log(runif(n * m)) / alpha, n))
}
draw_labels <- function(probs) apply(probs, 1, function(q) sample.int(length(q), 1, prob = q))

# All models on all rows: one "subsample" of everything, estimates only.
estimate_all <- function(models, truth, metric) {
  estimates <- ce_rank(models, truth, metric = metric, trials = 1, n_sub = length(truth))$estimates
  estimates[c("metric", "model", "estimate")]
}

# 1. Shares of trials in which a calibrated model has the smaller estimate (Figure 2).
metrics <- c("ckce", "ckce_debiased", "jkce", "ece_canonical", "ece_pointwise")
names(metrics) <- c("ckce", "ckce_debiased", "jkce", "ece", "ece_pointwise")
trial <- function(n) {
  p <- draw_dirichlet(n, 10, 0.1)
  models <- list(true = p, marginal = matrix(0.1, n, 10), under = temper(p, 2), over = temper(p, 0.5))
  estimate_all(models, draw_labels(p), metrics)
}
pairs <- expand.grid(calibrated = c("true", "marginal"), miscalibrated = c("under", "over"), stringsAsFactors = FALSE)
shares <- function(n, trials) {
  do.call(rbind, lapply(names(metrics), function(metric) {
    wins <- vapply(trials, function(t) {
      value <- setNames(t$estimate, t$model)[t$metric == metric]
      value[pairs$calibrated] < value[pairs$miscalibrated]
    }, logical(nrow(pairs)))
    cbind(n = n, metric = metric, pairs, wins = rowSums(wins), trials = ncol(wins))
  }))
}
result("synthetic", seed = 2025, repetitions = 100, {
  set.seed(2025)
  ranking <- lapply(c(25, 50, 100, 200, 400, 800), function(n) shares(n, lapply(1:100, function(i) trial(n))))
  do.call(rbind, ranking)
})

# 2. Covariate shift (Figure 4a).
shifted <- function(alpha, run) {
  inside <- pnorm(c(-1, 1), alpha, 0.25)
  x <- qnorm(inside[1] + runif(1000) * diff(inside), alpha, 0.25)
  y <- 1L + (runif(1000) < plogis(x))
  q <- plogis(5 * x)
  model <- cbind(1 - q, q)
  conditional <- ckce(model, y, ridge = c(1000^(-1 / 4), 0.01), computation = "low_rank", tolerance = 1e-3)
  data.frame(
    alpha = alpha, run = run, metric = c("ckce", "ckce, ridge 0.01", "jkce", "ece"),
    estimate = c(conditional$.estimate, jkce(model, y, computation = "low_rank", tolerance = 1e-3)$.estimate,
                 ece(model, y, notion = "canonical", n_bins = 3)$.estimate)
  )
}
result("shift", seed = 2026, repetitions = 20, {
  set.seed(2026)
  grid <- expand.grid(run = 1:20, alpha = seq(-1, 1, by = 0.2))
  shift <- do.call(rbind, Map(shifted, grid$alpha, grid$run))
  mean_shift <- stats::aggregate(estimate ~ alpha + metric, shift, mean)
  mean_shift$std.deviation <- stats::aggregate(estimate ~ alpha + metric, shift, sd)$estimate
  mean_shift
})

# 3. Networks on the CIFAR-10 test set.
network_row <- function(model, probs, truth) {
  raw <- ckce(probs, truth)
  kernel <- kernel_linear() + kernel_gaussian(raw$bandwidth)
  value <- c(
    ckce = raw$.estimate, ckce_debiased = ckce(probs, truth, kernel = kernel, debias = TRUE)$.estimate,
    jkce = jkce(probs, truth, kernel = kernel, computation = "low_rank")$.estimate,
    ece = ece(probs, truth, notion = "canonical", n_bins = 3)$.estimate,
    brier = mean(rowSums((probs - diag(10)[truth, ])^2)),
    log_loss = -mean(log(pmax(probs[cbind(seq_along(truth), truth)], 1e-300))),
    error = mean(max.col(probs, "first") != truth)
  )
  data.frame(
    metric = names(value), model = model, estimate = unname(value),
    error_bound = ifelse(names(value) == "ckce", raw$error_bound, NA),
    factor_rank = ifelse(names(value) == "ckce", raw$rank, NA)
  )
}
# All networks that have the images in the same order, and the model that predicts every class alike.
read_models <- function() {
  files <- list.files(shared_data("cifar10"), pattern = "[.]rds$")
  names <- sub("[.]rds$", "", files[!grepl("-val[.]rds$", files)])
  networks <- lapply(names, read_network, folder = "cifar10")
  names(networks) <- names
  truth <- networks[["nncal-densenet40"]]$truth
  same <- vapply(networks, function(n) identical(n$truth, truth), NA)
  message("Left out, another order of the test set: ", toString(names[!same]))
  list(probs = c(lapply(networks[same], `[[`, "probs"), list(marginal = matrix(0.1, length(truth), 10))), truth = truth)
}
if (wanted("rank") || wanted("networks")) models <- read_models()
result("rank", seed = 2027, repetitions = 1000, {
  chosen <- c(`LeNet-5` = "netcal-lenet5", `DenseNet-40` = "nncal-densenet40", `ResNet-18` = "wasscal-resnet18_weak",
              `ResNet-20` = "wasscal-resnet20", GoogLeNet = "widmann-googlenet", marginal = "marginal")
  set.seed(2027)
  ranked <- ce_rank(setNames(models$probs[chosen], names(chosen)), models$truth,
                    metric = c("ckce", "ckce_debiased", "jkce", ece = "ece_canonical"), trials = 1000, n_sub = 500)
  quantiles <- stats::aggregate(estimate ~ metric + model, ranked$draws, quantile, c(0.025, 0.25, 0.5, 0.75, 0.975))
  quantiles <- cbind(quantiles[c("metric", "model")],
                     setNames(as.data.frame(quantiles$estimate), c("low", "lower", "middle", "upper", "high")))
  list(`rank-estimates` = ranked$estimates, `rank-orders` = ranked$orders, `rank-pairs` = ranked$pairs,
       `rank-quantiles` = quantiles)
})
result("networks", repetitions = 1, {
  all <- do.call(rbind, Map(network_row, names(models$probs), models$probs, list(models$truth)))
  all$rank <- ave(all$estimate, all$metric, FUN = rank)
  all
})

# 4. The row of Table 1 that can be computed, at the median distance and at half of it (DenseNet-40 of Kull et al.).
table_row <- function(probs, truth, bandwidth, floor) {
  kernel <- kernel_linear() + kernel_gaussian(bandwidth)
  joint <- function(computation) jkce(probs, truth, kernel = kernel, computation = computation)$.estimate
  observed <- probs[cbind(seq_along(truth), truth)]
  data.frame(
    bandwidth = bandwidth, floor = floor, accuracy = mean(max.col(probs, "first") == truth),
    log_loss = -mean(log(pmax(observed, floor))), below_floor = sum(observed < floor),
    ckce = ckce(probs, truth, kernel = kernel)$.estimate, jkce = joint("dual"),
    jkce_biased = jkce(probs, truth, kernel = kernel, type = "biased", computation = "dual")$.estimate,
    jkce_skce = skce(probs, truth, kernel = kernel)$.estimate,
    jkce_rff_sd = sd(replicate(50, joint("rff"))), ece = ece(probs, truth, notion = "canonical", n_bins = 3)$.estimate
  )
}
result("table1", seed = 2028, repetitions = 50, {
  densenet <- read_network("cifar10", "nncal-densenet40")
  median_distance <- ckce(densenet$probs, densenet$truth)$bandwidth
  constant <- matrix(0.1, length(densenet$truth), 10)
  set.seed(2028)
  rbind(
    cbind(model = "densenet", table_row(densenet$probs, densenet$truth, median_distance, 0)),
    cbind(model = "densenet", table_row(densenet$probs, densenet$truth, median_distance / 2, 1e-7)),
    cbind(model = "constant", table_row(constant, densenet$truth, median_distance, 0)),
    cbind(model = "constant", table_row(constant, densenet$truth, median_distance / 2, 1e-7))
  )
})
