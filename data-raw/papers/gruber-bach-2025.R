# Results of the vignette "Reproducing Gruber and Bach (2025)", in the parts published, top-label, canonical,
# misaligned, dropped, imagenet, cifar100 and networks. About half an hour on two cores, most of it the canonical
# errors of CIFAR-100.
library(calibrisk)
source("data-raw/papers/store.R")

published()

columns <- c("method", "parameter", "value", "root_risk", "risk_std.error", "estimate_holdout", "estimate",
             "conf.low", "conf.high", "selected", "difference", "difference_std.error", "skill", "lower_bound",
             "resolution", "cap")
# On the other networks the paper's methods only.
paper_methods <- function(notion) {
  methods <- ce_methods(notion)
  methods[intersect(names(methods), c("15 bins", "bins", "kde", "kkr", "ukkr"))]
}
row_of <- function(tuned, model, seconds) {
  g <- as.data.frame(glance(tuned))[columns]
  zero <- tuned$zero_root_risk[[1]]
  # the paper plots the mean over folds of the root, not the root of the mean
  test <- aggregate(squared_error_test ~ method + fold,
                    tidy(tuned)[paste(tidy(tuned)$method, tidy(tuned)$value) %in% paste(g$method, g$value), ], sum)
  mean_root <- tapply(sqrt(pmax(test$squared_error_test, 0)), test$method, mean)
  cbind(model = model, g, mean_fold_root = as.numeric(mean_root[g$method]), zero_root_risk = zero, n = tuned$n,
        seconds = seconds)
}
tune_timed <- function(x, truth, model, notion, ...) {
  set.seed(0)
  seconds <- system.time(tuned <- ce_tune(x, truth, notion = notion, ...))[["elapsed"]]
  row_of(tuned, model, seconds)
}

# ---- Tables 1 and 2, figure 2: top-label, the authors' networks -----------------------------
top <- c("DenseNet-40 CIFAR-10" = "nncal-cifar10-densenet40", "ResNet-110 CIFAR-10" = "nncal-cifar10-resnet110",
         "DenseNet-40 CIFAR-100" = "nncal-cifar100-densenet40", "ResNet-110 CIFAR-100" = "nncal-cifar100-resnet110")
result("top-label", seed = 0, repetitions = 1, {
  rows <- lapply(names(top), function(model) {
    set <- read_network("toplabel", top[[model]])
    tune_timed(set$confidence, set$pred == set$label, model, "top_label")
  })
  do.call(rbind, rows)
})

# ---- Table 5, figure 5b: canonical, the authors' DenseNet-40 --------------------------------
densenet <- read_network("cifar10", "nncal-densenet40")
probs <- densenet$probs
truth <- densenet$truth
result("canonical", seed = 0, repetitions = 1, tune_timed(probs, truth, "DenseNet-40 CIFAR-10", "canonical"))

# ---- First artefact: ridges fitted on labels of other rows ----------------------------------
# The released code shuffles predictions and labels after it has built the one-hot labels, so
# training residuals pair a prediction with the label of another row; held-out rows match.
set.seed(0)
n <- nrow(probs)
order <- sample.int(n)
fold <- rep(1:5, each = 1600)
shuffled <- probs[order, ]
matched <- truth[order]
misaligned <- truth
tune_rows <- seq_len(8000)
test_rows <- 8001:10000
released <- function(make, ridges) {
  per_ridge <- lapply(ridges, function(ridge) {
    fits <- lapply(1:5, function(f) {
      train <- tune_rows[fold != f]
      ce_fit(shuffled[train, ], misaligned[train], notion = "canonical", method = make(ridge))
    })
    root <- vapply(1:5, function(f) {
      held_out <- tune_rows[fold == f]
      sqrt(ce_risk(fits[[f]], shuffled[held_out, ], matched[held_out])$risk)
    }, 0)
    estimate <- vapply(fits, function(fit) sqrt(max(0, mean(predict(fit, shuffled[test_rows, ])))), 0)
    data.frame(ridge = ridge, root_risk = mean(root), std.error = sd(root) / sqrt(5), mean_fold_root = mean(estimate))
  })
  rows <- do.call(rbind, per_ridge)
  rows[which.min(rows$root_risk), ]
}
result("misaligned", seed = 0, repetitions = 1, rbind(
  cbind(method = "kkr", released(method_kkr, 10^seq(8, -2) / sqrt(6400))),
  cbind(method = "ukkr", released(method_ukkr, 10^seq(4, -1, by = -0.5) / 6400^0.25))
))

# ---- Second artefact: rows with confidence exactly 1 dropped --------------------------------
# The Beta kernel evaluated at 1 is NaN in the released code, and pairs with NaN are dropped.
drop_ones <- function(model) {
  set <- read_network("toplabel", top[[model]])
  set.seed(0)
  order <- sample.int(length(set$confidence))
  p <- set$confidence[order]
  correct <- (set$pred == set$label)[order]
  keep <- p < 1
  bandwidths <- c(10^seq(-5, -1, length.out = 15), 0.2, 0.4, 0.6, 0.8, 1)
  rows <- lapply(bandwidths, function(h) {
    fits <- lapply(1:5, function(f) {
      train <- tune_rows[fold != f]
      ce_fit(p[train], correct[train], method = method_kde(h))
    })
    risk <- function(restrict) vapply(1:5, function(f) {
      rows <- tune_rows[fold == f]
      if (restrict) rows <- rows[keep[rows]]
      sqrt(ce_risk(fits[[f]], p[rows], correct[rows])$risk)
    }, 0)
    test <- test_rows[keep[test_rows]]
    kept <- risk(TRUE)
    data.frame(
      bandwidth = h, kept_root_risk = mean(kept), kept_std.error = sd(kept) / sqrt(5),
      all_root_risk = mean(risk(FALSE)),
      kept_estimate = mean(vapply(fits, function(fit) sqrt(mean(predict(fit, p[test]))), 0)),
      all_estimate = mean(vapply(fits, function(fit) sqrt(mean(predict(fit, p[test_rows]))), 0))
    )
  })
  rows <- do.call(rbind, rows)
  best_kept <- rows[which.min(rows$kept_root_risk), ]
  best_all <- rows[which.min(rows$all_root_risk), ]
  data.frame(
    model = model, share_at_one = mean(!keep),
    pairs_dropped = 1 - mean(vapply(1:5, function(f) mean(keep[tune_rows[fold == f]])^2, 0)),
    kept_bandwidth = best_kept$bandwidth, kept_root_risk = best_kept$kept_root_risk,
    kept_std.error = best_kept$kept_std.error, kept_estimate = best_kept$kept_estimate,
    all_bandwidth = best_all$bandwidth, all_root_risk = best_all$all_root_risk, all_estimate = best_all$all_estimate
  )
}
result("dropped", seed = 0, repetitions = 1, do.call(rbind, lapply(names(top), drop_ones)))

# ---- ImageNet, top-label ---------------------------------------------------------------------
result("imagenet", seed = 0, repetitions = 1, {
  files <- list.files(shared_data("toplabel"), pattern = "^imagenet-")
  rows <- lapply(sub("[.]rds$", "", files), function(name) {
    set <- read_network("toplabel", name)
    tune_timed(set$confidence, set$pred == set$label, sub("^imagenet-", "", name), "top_label",
               methods = paper_methods("top_label"))
  })
  do.call(rbind, rows)
})

# ---- CIFAR-100, canonical --------------------------------------------------------------------
cifar100 <- c("wasscal-resnet20", "wasscal-vgg19_bn", "netcal-densenetbc100") # minutes each
result("cifar100", seed = 0, repetitions = 1, {
  rows <- lapply(cifar100, function(model) {
    set <- read_network("cifar100", model)
    tune_timed(set$probs, set$truth, model, "canonical", methods = paper_methods("canonical"))
  })
  do.call(rbind, rows)
})

# ---- The canonical headline beside what it must not be below ---------------------------------
# On the same rows: the top-label error, and the gain in Brier score by one temperature (cross-fitted). The map is
# injective, so that the gain is the decrease of the squared error, which is no larger than the error.
coherence <- function(folder, model, headline = NULL) {
  set <- read_network(folder, model)
  probs <- set$probs
  truth <- set$truth
  shown <- c("estimate", "conf.low", "conf.high", "cap")
  headline <- headline %||% as.data.frame(ce_estimate(probs, truth, notion = "canonical"))[shown]
  top <- as.data.frame(ce_estimate(probs, truth, notion = "top_label"))[shown[1:3]]
  set.seed(0)
  fold <- sample(rep_len(1:5, nrow(probs)))
  after <- probs
  for (f in 1:5) {
    map <- ce_recalibrate(probs[fold != f, ], truth[fold != f], method = "temperature")
    after[fold == f, ] <- predict(map, probs[fold == f, ])
  }
  gain <- as.data.frame(ce_gain(probs, after, truth, injective = TRUE))
  gain <- sqrt(pmax(0, unlist(gain[gain$scale == "squared", c("gain", "conf.low", "conf.high")])))
  data.frame(folder = folder, model = model, headline[shown], top = top,
             gain = gain[[1]], gain.low = gain[[2]], gain.high = gain[[3]], row.names = NULL)
}
`%||%` <- function(x, y) if (is.null(x)) y else x
result("networks", seed = 0, repetitions = 1, {
  cifar10 <- sub("[.]rds$", "", list.files(shared_data("cifar10"), pattern = "[.]rds$"))
  cifar10 <- grep("-val$|^widmann", cifar10, value = TRUE, invert = TRUE)
  # the headline is the same in every row of a tuned network
  tuned <- stored("cifar100")
  rbind(
    do.call(rbind, lapply(cifar10, function(model) coherence("cifar10", model))),
    do.call(rbind, lapply(cifar100, function(model) coherence("cifar100", model, tuned[tuned$model == model, ][1, ])))
  )
})
