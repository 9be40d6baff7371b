# Numbers of the article "CIFAR": tunes on real network outputs and writes small tables to
# vignettes/articles/precomputed/. Run from the project's root with the folder of the prediction sets:
#   Rscript data-raw/cifar.R path/to/data [top-label canonical misaligned dropped imagenet cifar100 networks]
# The sets (origin and licence in their README) are not part of the package. About half an hour
# on two cores, most of it the canonical errors of CIFAR-100.
library(calibrisk)

data_dir <- commandArgs(trailingOnly = TRUE)[1]
chosen <- commandArgs(trailingOnly = TRUE)[-1]
wanted <- function(name) length(chosen) == 0 || name %in% chosen
out_dir <- file.path("vignettes", "articles", "precomputed")
dir.create(out_dir, showWarnings = FALSE)

write_table <- function(x, name) {
  numbers <- vapply(x, is.numeric, NA)
  x[numbers] <- lapply(x[numbers], signif, 6)
  utils::write.csv(x, file.path(out_dir, paste0("cifar-", name, ".csv")), row.names = FALSE)
  message(name, " written")
}
read_set <- function(...) readRDS(file.path(data_dir, ...))
softmax <- function(z) {
  z <- exp(z - apply(z, 1, max))
  z / rowSums(z)
}
probs_of <- function(set) if (is.null(set$probs)) softmax(set$logits) else set$probs / rowSums(set$probs)

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
if (wanted("top-label")) {
  rows <- lapply(names(top), function(model) {
    set <- read_set("toplabel", paste0(top[[model]], ".rds"))
    tune_timed(set$confidence, set$pred == set$label, model, "top_label")
  })
  write_table(do.call(rbind, rows), "top-label")
}

# ---- Table 5, figure 5b: canonical, the authors' DenseNet-40 --------------------------------
densenet <- read_set("cifar10", "nncal-densenet40.rds")
probs <- probs_of(densenet)
truth <- as.integer(densenet$label)
if (wanted("canonical")) write_table(tune_timed(probs, truth, "DenseNet-40 CIFAR-10", "canonical"), "canonical")

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
if (wanted("misaligned")) {
  write_table(rbind(
    cbind(method = "kkr", released(method_kkr, 10^seq(8, -2) / sqrt(6400))),
    cbind(method = "ukkr", released(method_ukkr, 10^seq(4, -1, by = -0.5) / 6400^0.25))
  ), "misaligned")
}

# ---- Second artefact: rows with confidence exactly 1 dropped --------------------------------
# The Beta kernel evaluated at 1 is NaN in the released code, and pairs with NaN are dropped.
drop_ones <- function(model) {
  set <- read_set("toplabel", paste0(top[[model]], ".rds"))
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
if (wanted("dropped")) write_table(do.call(rbind, lapply(names(top), drop_ones)), "dropped")

# ---- ImageNet, top-label ---------------------------------------------------------------------
imagenet <- list.files(file.path(data_dir, "toplabel"), pattern = "^imagenet-")
if (wanted("imagenet")) {
  rows <- lapply(imagenet, function(file) {
    set <- read_set("toplabel", file)
    tune_timed(set$confidence, set$pred == set$label, sub("^imagenet-", "", sub("\\.rds$", "", file)), "top_label",
               methods = paper_methods("top_label"))
  })
  write_table(do.call(rbind, rows), "imagenet")
}

# ---- CIFAR-100, canonical --------------------------------------------------------------------
cifar100 <- c("wasscal-resnet20", "wasscal-vgg19_bn", "netcal-densenetbc100") # minutes each
if (wanted("cifar100")) {
  rows <- lapply(cifar100, function(model) {
    set <- read_set("cifar100", paste0(model, ".rds"))
    tune_timed(probs_of(set), as.integer(set$label), model, "canonical", methods = paper_methods("canonical"))
  })
  write_table(do.call(rbind, rows), "cifar100")
}

# ---- The canonical headline beside what it must not be below ---------------------------------
# On the same rows: the top-label error, and the gain in Brier score by one temperature (cross-fitted). The map is
# injective, so that the gain is the decrease of the squared error, which is no larger than the error.
coherence <- function(folder, model, headline = NULL) {
  set <- read_set(folder, paste0(model, ".rds"))
  probs <- probs_of(set)
  truth <- as.integer(set$label)
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
if (wanted("networks")) {
  cifar10 <- sub("\\.rds$", "", list.files(file.path(data_dir, "cifar10"), pattern = "\\.rds$"))
  cifar10 <- grep("-val$|^widmann", cifar10, value = TRUE, invert = TRUE)
  # the headline is the same in every row of a tuned network
  tuned <- utils::read.csv(file.path(out_dir, "cifar-cifar100.csv"))
  write_table(rbind(
    do.call(rbind, lapply(cifar10, function(model) coherence("cifar10", model))),
    do.call(rbind, lapply(cifar100, function(model) coherence("cifar100", model, tuned[tuned$model == model, ][1, ])))
  ), "networks")
}
