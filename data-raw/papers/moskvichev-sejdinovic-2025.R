# Results of the vignette "Reproducing Moskvichev and Sejdinovic (2025)", in the parts published, figure-1, figure-2,
# figure-3, figure-3-again, figure-3-half, figure-3-closer, figure-4a, table-1, imagenet and networks; those of
# figure-3, table-1 and networks need the networks of `cifar10` of the shared data. About 25 minutes on one core.
library(calibrisk)
source("data-raw/papers/store.R")
source("vignettes/moskvichev-sejdinovic-models.R")

published()

# All models on all rows: one "subsample" of everything, estimates only.
estimate_all <- function(models, truth, metric) {
  estimates <- ce_rank(models, truth, metric = metric, times = 1, n_sub = length(truth))$estimates
  estimates[c("metric", "model", "estimate")]
}
paper_metrics <- c(ckce = "ckce", jkce = "jkce", ece = "ece_canonical")

# ---- Figure 1: three models of two classes ---------------------------------------------------
result("figure-1", seed = 2024, repetitions = 100, {
  set.seed(2024)
  runs <- lapply(1:100, function(run) {
    drawn <- draw_binary()
    cbind(run = run, estimate_all(drawn$models, drawn$y, paper_metrics))
  })
  runs <- do.call(rbind, runs)
  above_true <- runs$estimate - runs$estimate[runs$model == "true"][match(
    paste(runs$run, runs$metric), paste(runs$run, runs$metric)[runs$model == "true"]
  )]
  means <- stats::aggregate(estimate ~ metric + model, runs, function(v) c(mean(v), stats::sd(v)))
  above <- stats::aggregate(above_true ~ metric + model, cbind(runs, above_true), function(v) sum(v > 0))
  data.frame(means[c("metric", "model")], mean = means$estimate[, 1], sd = means$estimate[, 2],
             runs_above_true = above$above_true)
})

# ---- Figure 2: shares of trials in which a calibrated model has the smaller estimate ----------
metrics <- c(paper_metrics, ckce_debiased = "ckce_debiased", ece_pointwise = "ece_pointwise")
pairs <- expand.grid(calibrated = c("true", "marginal"), miscalibrated = c("under", "over"), stringsAsFactors = FALSE)
shares <- function(n, trials) {
  do.call(rbind, lapply(names(metrics), function(metric) {
    wins <- vapply(trials, function(t) {
      value <- stats::setNames(t$estimate, t$model)[t$metric == metric]
      value[pairs$calibrated] < value[pairs$miscalibrated]
    }, logical(nrow(pairs)))
    cbind(n = n, metric = metric, pairs, wins = rowSums(wins), trials = ncol(wins))
  }))
}
result("figure-2", seed = 2025, repetitions = 100, {
  set.seed(2025)
  trial <- function(n) {
    drawn <- draw_ten(n)
    estimate_all(drawn$models, drawn$y, metrics)
  }
  do.call(rbind, lapply(c(25, 50, 100, 200, 400, 800), function(n) shares(n, lapply(1:100, function(i) trial(n)))))
})

# ---- Figure 4a: covariate shift --------------------------------------------------------------
shifted <- function(alpha, run) {
  drawn <- draw_shifted(alpha)
  conditional <- ckce(drawn$q, drawn$y, ridge = c(1000^(-1 / 4), 0.01),
                      computation = computation("low_rank", tolerance = 1e-6))
  joint <- skce(drawn$q, drawn$y, computation = computation("low_rank", tolerance = 1e-6), kernel = "ckce")
  data.frame(
    alpha = alpha, run = run, metric = c("ckce", "ckce, ridge 0.01", "jkce", "ece"),
    estimate = c(conditional$.estimate, joint$.estimate,
                 ece(drawn$q, drawn$y, notion = "canonical", n_bins = 3)$.estimate)
  )
}
result("figure-4a", seed = 2026, repetitions = 100, {
  set.seed(2026)
  grid <- expand.grid(run = 1:100, alpha = seq(-1, 1, by = 0.1))
  shift <- do.call(rbind, Map(shifted, grid$alpha, grid$run))
  spread <- stats::aggregate(estimate ~ alpha + metric, shift, function(v) c(mean(v), stats::sd(v)))
  # the first run is one data set per alpha, as in the paper
  first <- shift[shift$run == 1, ]
  data.frame(
    spread[c("alpha", "metric")], mean = spread$estimate[, 1], sd = spread$estimate[, 2],
    first = first$estimate[match(paste(spread$alpha, spread$metric), paste(first$alpha, first$metric))]
  )
})

# ---- Networks of CIFAR-10 --------------------------------------------------------------------
# All networks that have the images in the same order, and the model that gives every class the same probability.
read_models <- function() {
  files <- list.files(shared_data("cifar10"), pattern = "[.]rds$")
  names <- sub("[.]rds$", "", files[!grepl("-val[.]rds$", files)])
  networks <- lapply(names, read_network, folder = "cifar10")
  names(networks) <- names
  truth <- networks[["nncal-densenet40"]]$truth
  same <- vapply(networks, function(n) identical(n$truth, truth), NA)
  message("Left out, another order of the test set: ", toString(names[!same]))
  marginal <- matrix(0.1, length(truth), 10)
  list(probs = c(lapply(networks[same], `[[`, "probs"), list(marginal = marginal)), truth = truth)
}
with_networks <- c("figure-3", "figure-3-again", "figure-3-half", "figure-3-closer", "table-1", "networks")
if (any(vapply(with_networks, wanted, NA))) models <- read_models()

# ---- Figure 3: 1,000 subsamples of 500 images -------------------------------------------------
four <- c(Marginal = "marginal", "ResNet-56" = "wasscal-resnet56", "DenseNet-40" = "nncal-densenet40",
          "LeNet-5" = "netcal-lenet5")
rank_four <- function(chosen, ..., metric = c(paper_metrics, ckce_debiased = "ckce_debiased"), seed = 2027) {
  set.seed(seed)
  ce_rank(stats::setNames(models$probs[chosen], names(chosen)), models$truth, metric = metric, times = 1000,
          n_sub = 500, ...)
}
# The share of subsamples with the order of all 10,000 images.
right_orders <- function(ranked) {
  ranked$orders[ranked$orders$full, c("metric", "order", "count")]
}
# Counts in 60 equal cells per measure, which is what a histogram needs.
histograms <- function(draws) {
  do.call(rbind, lapply(split(draws, draws$metric), function(part) {
    breaks <- seq(min(part$estimate), max(part$estimate), length.out = 61)
    width <- breaks[2] - breaks[1]
    counts <- lapply(split(part$estimate, part$model), function(v) {
      tabulate(findInterval(v, breaks, all.inside = TRUE), 60)
    })
    data.frame(metric = part$metric[1], model = rep(names(counts), each = 60), middle = breaks[-61] + width / 2,
               width = width, count = unlist(counts))
  }))
}
result("figure-3", seed = 2027, repetitions = 1000, {
  ranked <- rank_four(four)
  list("figure-3" = histograms(ranked$draws), "figure-3-estimates" = ranked$estimates, "figure-3-pairs" = ranked$pairs,
       "figure-3-orders" = right_orders(ranked))
})
# How much the shares vary: another 1,000 subsamples.
result("figure-3-again", seed = 1, repetitions = 1000, right_orders(rank_four(four, metric = paper_metrics, seed = 1)))
# The bandwidth that gives the published JKCE, see table-1.
result("figure-3-half", seed = 2027, repetitions = 1000, {
  half <- kernel_linear() + kernel_gaussian(1 / sqrt(2))
  right_orders(rank_four(four, metric = lapply(paper_metrics[1:2], ce_metric, kernel = half)))
})
# A network whose CKCE is nearer to that of the paper's ResNet-110.
result("figure-3-closer", seed = 2027, repetitions = 1000, {
  closer <- replace(four, 2, "wasscal-shufflenetv2_x0_5")
  names(closer)[2] <- "ShuffleNetV2 x0.5"
  right_orders(rank_four(closer, metric = paper_metrics))
})

# ---- Table 1, at the median distance and at half of it ----------------------------------------
table_row <- function(data, model, probs, truth, bandwidth) {
  kernel <- kernel_linear() + kernel_gaussian(bandwidth)
  joint <- function(computation) skce(probs, truth, kernel = kernel, computation = computation)$.estimate
  observed <- probs[cbind(seq_along(truth), truth)]
  data.frame(
    data = data, model = model, n = length(truth), bandwidth = bandwidth,
    accuracy = mean(max.col(probs, "first") == truth), log_loss = -mean(log(pmax(observed, 1e-300))),
    log_loss_floor = -mean(log(pmax(observed, 1e-7))), below_floor = sum(observed < 1e-7),
    ckce = ckce(probs, truth, kernel = kernel)$.estimate, jkce = joint("dual"),
    jkce_biased = skce(probs, truth, kernel = kernel, type = "biased", computation = "dual")$.estimate,
    jkce_rff_sd = if (model == "DenseNet-40") stats::sd(replicate(50, joint("rff"))) else NA,
    ece = ece(probs, truth, notion = "canonical", n_bins = 3)$.estimate
  )
}
result("table-1", seed = 2028, repetitions = 1, {
  set.seed(2028)
  rows <- lapply(names(four), function(name) {
    probs <- models$probs[[four[[name]]]]
    median_distance <- if (name == "Marginal") sqrt(2) else ckce(probs, models$truth)$bandwidth
    rbind(table_row("CIFAR-10", name, probs, models$truth, median_distance),
          table_row("CIFAR-10", name, probs, models$truth, median_distance / 2))
  })
  do.call(rbind, rows)
})
# The marginal model needs nothing but the number of images of each class. All predictions are the same vector q, so the
# kernel has one value, k(q, q), and only the mean residual counts. The validation set of ImageNet has 50 images of each
# of 1,000 classes.
marginal_row <- function(counts) {
  n <- sum(counts)
  q <- rep(1 / length(counts), length(counts))
  mean_residual <- q - counts / n
  at_q <- sum(q^2) + 1
  own <- sum(counts * (1 - 2 * q + sum(q^2))) # sum of the squared residuals
  data.frame(
    model = "Marginal", n = n, accuracy = counts[1] / n, log_loss = -sum(counts / n * log(q)),
    ckce = at_q / (at_q + n^(-1 / 4))^2 * sum(mean_residual^2),
    jkce = at_q * (n^2 * sum(mean_residual^2) - own) / (n * (n - 1)), ece = sum(abs(mean_residual))
  )
}
# The same numbers from the functions of the package, for fewer classes.
check_marginal <- function(counts) {
  truth <- rep(seq_along(counts), counts)
  probs <- matrix(1 / length(counts), length(truth), length(counts))
  kernel <- kernel_linear() + kernel_gaussian(1)
  ours <- c(ckce(probs, truth, kernel = kernel)$.estimate, skce(probs, truth, kernel = kernel)$.estimate,
            ece(probs, truth, notion = "canonical", n_bins = 3)$.estimate)
  stopifnot(all.equal(ours, unlist(marginal_row(counts)[c("ckce", "jkce", "ece")], use.names = FALSE)))
}
result("imagenet", repetitions = 1, {
  check_marginal(rep(50, 20))
  check_marginal(c(10, 50, 90))
  marginal_row(rep(50, 1000))
})

# ---- All public networks of CIFAR-10 ----------------------------------------------------------
network_row <- function(model, probs, truth) {
  raw <- ckce(probs, truth)
  kernel <- kernel_linear() + kernel_gaussian(raw$bandwidth)
  value <- c(
    ckce = raw$.estimate, ckce_debiased = ckce(probs, truth, kernel = kernel, debias = TRUE)$.estimate,
    jkce = skce(probs, truth, kernel = kernel, computation = "low_rank")$.estimate,
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
result("networks", repetitions = 1, {
  all <- do.call(rbind, Map(network_row, names(models$probs), models$probs, list(models$truth)))
  all$rank <- stats::ave(all$estimate, all$metric, FUN = rank)
  all
})
