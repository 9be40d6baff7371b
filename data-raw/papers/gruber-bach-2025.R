# Results of the vignette "Reproducing Gruber and Bach (2025)", in the parts published, published-times, figure-1,
# top-label, canonical, misaligned, dropped, times, imagenet, medmnist, cifar100, cifar100-estimate and networks. About
# an hour on two cores, most of it the canonical errors of CIFAR-100.
library(calibrisk)
source("data-raw/papers/store.R")
source("data-raw/papers/numpy-order.R")
source("vignettes/gruber-bach-figure-1.R")

published()
published("published-times")

# ---- Figure 1: the risk over theta -----------------------------------------------------------
result("figure-1", seed = 1, repetitions = 100, {
  set.seed(1)
  fits <- power_fits()
  risk <- vapply(seq_len(100), function(repetition) risk_curve(fits), theta)
  data.frame(theta = theta, mean = rowMeans(risk), sd = apply(risk, 1, sd))
})

# ---- Algorithm 1 in the authors' row order ---------------------------------------------------
# The first 80 % of the rows tune in k consecutive folds, the rest tests.
split_in_order <- function(n, k = 5) {
  tune <- floor(0.8 * n)
  folds <- rep(seq_len(k), floor(tune / k) + (seq_len(k) <= tune %% k))
  list(order = numpy_order(n), folds = folds, test = (tune + 1):n)
}
# The methods of the package, with the released code's numbers of bins; without stack and power, the paper's.
all_methods <- function(notion) {
  methods <- ce_methods(notion)
  if ("bins" %in% names(methods)) methods$bins <- method_bins(seq(5, 90, by = 5))
  methods
}
paper_methods <- function(notion) {
  methods <- all_methods(notion)
  methods[intersect(names(methods), c("15 bins", "bins", "kde", "kkr", "ukkr"))]
}
tune_in_order <- function(x, truth, notion, methods = paper_methods(notion), k = 5) {
  split <- split_in_order(length(truth), k)
  x <- if (is.matrix(x)) x[split$order, ] else x[split$order]
  ce_tune(x, truth[split$order], notion = notion, methods = methods, folds = split$folds, test = split$test)
}
# What the tables print: over the folds, the mean of the root risk and its standard error, at the value with the
# smallest one; what the figures draw: the mean and standard deviation of the root of the fold's squared error on the
# test rows. Then the skill, the paired difference to the smallest risk, and the estimate from all rows.
paper_rows <- function(tuned, model) {
  cells <- as.data.frame(tidy(tuned))
  roots <- stats::aggregate(cbind(root = sqrt(risk), error = sqrt(pmax(squared_error_test, 0))) ~ method + value,
                            transform(cells, value = ifelse(is.na(value), 0, value)),
                            function(v) c(mean(v), stats::sd(v)))
  k <- max(cells$fold)
  roots <- data.frame(roots[c("method", "value")], root_risk = roots$root[, 1],
                      std.error = roots$root[, 2] / sqrt(k), estimate_test = roots$error[, 1],
                      sd_test = roots$error[, 2])
  glanced <- as.data.frame(glance(tuned))
  best <- lapply(split(roots, roots$method), function(r) r[which.min(r$root_risk), ])
  best <- do.call(rbind, best[glanced$method])
  at_zero <- tuned$zero_root_risk[[1]]
  cbind(model = model, best, zero_root_risk = at_zero,
        glanced[c("difference", "difference_std.error", "skill", "estimate", "conf.low", "conf.high", "resolution")],
        n = tuned$n, row.names = NULL)
}

# ---- Tables 1 and 2, figure 2: top-label, the authors' networks -------------------------------
top <- c("DenseNet-40 CIFAR-10" = "nncal-cifar10-densenet40", "ResNet-110 CIFAR-10" = "nncal-cifar10-resnet110",
         "DenseNet-40 CIFAR-100" = "nncal-cifar100-densenet40", "ResNet-110 CIFAR-100" = "nncal-cifar100-resnet110")
top_label <- function(folder, name, model = name, ...) {
  set <- read_network(folder, name)
  if (is.null(set$confidence)) {
    set$confidence <- apply(set$probs, 1, max)
    set$pred <- max.col(set$probs, "first")
  }
  paper_rows(tune_in_order(set$confidence, set$pred == set$truth, "top_label", ...), model)
}
# `among_paper`: the paired difference to the smallest risk of the paper's methods
result("top-label", seed = "0 (numpy)", repetitions = 1, {
  of <- function(methods) do.call(rbind, Map(top_label, "toplabel", top, names(top), list(methods)))
  rows <- of(all_methods("top_label"))
  few <- of(paper_methods("top_label"))
  at <- match(paste(rows$model, rows$method), paste(few$model, few$method))
  cbind(rows, among_paper = few$difference[at], among_paper_std.error = few$difference_std.error[at])
})

# ---- Table 5, figure 5b: canonical, the authors' DenseNet-40 ----------------------------------
densenet <- read_network("cifar10", "nncal-densenet40")
result("canonical", seed = "0 (numpy)", repetitions = 1, {
  paper_rows(tune_in_order(densenet$probs, densenet$truth, "canonical", all_methods("canonical")),
             "DenseNet-40 CIFAR-10")
})

# ---- First artefact: ridges fitted on labels of other rows ------------------------------------
# The released code shuffles predictions and labels after it has built the one-hot labels: training residuals pair a
# prediction with the label of another row; held-out rows match.
split <- split_in_order(10000)
tune_rows <- seq_along(split$folds)
over_folds <- function(fit, risk, estimate) {
  fits <- lapply(1:5, function(f) fit(tune_rows[split$folds != f]))
  root <- vapply(1:5, function(f) risk(fits[[f]], tune_rows[split$folds == f]), 0)
  on_test <- vapply(fits, estimate, 0)
  data.frame(root_risk = mean(root), std.error = stats::sd(root) / sqrt(5), estimate_test = mean(on_test),
             sd_test = stats::sd(on_test))
}
released <- function(method, make, ridges) {
  probs <- densenet$probs[split$order, ]
  matched <- densenet$truth[split$order]
  rows <- lapply(ridges, function(ridge) {
    cbind(method = method, value = ridge, over_folds(
      function(train) ce_fit(probs[train, ], densenet$truth[train], notion = "canonical", method = make(ridge)),
      function(fit, held_out) sqrt(ce_risk(fit, probs[held_out, ], matched[held_out])$risk),
      function(fit) sqrt(max(0, mean(predict(fit, probs[split$test, ]))))
    ))
  })
  rows <- do.call(rbind, rows)
  rows[which.min(rows$root_risk), ]
}
result("misaligned", seed = "0 (numpy)", repetitions = 1, rbind(
  released("kkr", method_kkr, 10^seq(8, -2) / sqrt(6400)),
  released("ukkr", method_ukkr, 10^seq(4, -1, by = -0.5) / 6400^0.25)
))

# ---- Second artefact: rows with confidence exactly 1 dropped ----------------------------------
# The Beta kernel evaluated at 1 is NaN in the released code, and pairs with NaN are dropped.
drop_ones <- function(model) {
  set <- read_network("toplabel", top[[model]])
  p <- set$confidence[split$order]
  correct <- (set$pred == set$truth)[split$order]
  below <- p < 1
  bandwidths <- c(10^seq(-5, -1, length.out = 15), 0.2, 0.4, 0.6, 0.8, 1)
  best <- function(keep) {
    rows <- lapply(bandwidths, function(h) cbind(bandwidth = h, over_folds(
      function(train) ce_fit(p[train], correct[train], method = method_kde(h)),
      function(fit, rows) sqrt(ce_risk(fit, p[rows[keep[rows]]], correct[rows[keep[rows]]])$risk),
      function(fit) sqrt(mean(predict(fit, p[split$test[keep[split$test]]])))
    )))
    rows <- do.call(rbind, rows)
    rows[which.min(rows$root_risk), ]
  }
  shares <- vapply(1:5, function(f) mean(below[tune_rows[split$folds == f]]), 0)
  data.frame(model = model, share_at_one = mean(!below), pairs_dropped = 1 - mean(shares^2), kept = best(below),
             all = best(rep(TRUE, length(p))))
}
result("dropped", seed = "0 (numpy)", repetitions = 1, do.call(rbind, lapply(names(top), drop_ones)))

# ---- Figure 3: running times ------------------------------------------------------------------
# Processor time of one thread: it does not depend on what else the machine does.
result("times", repetitions = 1, timed = TRUE, {
  confidence <- apply(densenet$probs, 1, max)
  correct <- max.col(densenet$probs, "first") == densenet$truth
  time_of <- function(notion, x, truth) {
    methods <- paper_methods(notion)
    seconds <- vapply(names(methods), function(m) {
      sum(system.time(ce_tune(x, truth, notion = notion, methods = methods[m]))[1:2])
    }, 0)
    data.frame(notion = notion, method = names(methods), seconds = seconds, n = length(truth), row.names = NULL)
  }
  rbind(time_of("top_label", confidence, correct), time_of("canonical", densenet$probs, densenet$truth))
})

# ---- Stand-ins: other networks ----------------------------------------------------------------
names_in <- function(folder, pattern) {
  files <- list.files(shared_data(folder), pattern = "[.]rds$")
  grep(pattern, sub("[.]rds$", "", files), value = TRUE)
}
# Table 4, figure 5a.
result("imagenet", seed = "0 (numpy)", repetitions = 1, {
  networks <- names_in("toplabel", "^imagenet-")
  do.call(rbind, Map(top_label, "toplabel", networks, sub("^imagenet-", "", networks)))
})
# Table 6, figure 6: ten folds, as in the released notebook.
result("medmnist", seed = "0 (numpy)", repetitions = 1, {
  sets <- c(Path = "ferrer-pathmnist_resnet50", Pneumonia = "ferrer-pneumoniamnist_resnet50",
            Adrenal = "ferrer-adrenalmnist_resnet50")
  do.call(rbind, Map(top_label, "other", sets, names(sets), k = 10))
})
# Table 3, figure 4. Minutes each: stored after each network.
cifar100 <- names_in("cifar100", ".")
of_all_rows <- c("estimate", "conf.low", "conf.high", "resolution") # these are in cifar100-estimate
if (wanted("cifar100")) {
  rows <- NULL
  start <- proc.time()[["elapsed"]]
  # three of the paper's architectures first
  for (name in unique(c("netcal-lenet5", "netcal-densenetbc100", "netcal-wideresnet16_4", cifar100))) {
    set <- read_network("cifar100", name)
    row <- paper_rows(tune_in_order(set$probs, set$truth, "canonical"), name)
    rows <- rbind(rows, row[setdiff(names(row), of_all_rows)])
    store("cifar100", rows, seed = "0 (numpy)", repetitions = 1, seconds = proc.time()[["elapsed"]] - start)
  }
}

estimate_cifar100 <- function(name) {
  set <- read_network("cifar100", name)
  data.frame(model = name, as.data.frame(ce_estimate(set$probs, set$truth, notion = "canonical"))[of_all_rows])
}
result("cifar100-estimate", repetitions = 1, do.call(rbind, lapply(cifar100, estimate_cifar100)),
       spot = estimate_cifar100("netcal-lenet5"))

# ---- What the canonical error must not be below -----------------------------------------------
# On the same rows: the top-label error, and the gain in Brier score by one temperature (cross-fitted). The map is
# one-to-one, so the gain is the decrease of the squared error, which is at most the error.
lower_bounds <- function(name) {
  set <- read_network("cifar10", name)
  shown <- c("estimate", "conf.low", "conf.high")
  canonical <- as.data.frame(ce_estimate(set$probs, set$truth, notion = "canonical"))[shown]
  top <- as.data.frame(ce_estimate(set$probs, set$truth, notion = "top_label"))[shown]
  set.seed(0)
  fold <- sample(rep_len(1:5, nrow(set$probs)))
  after <- set$probs
  for (f in 1:5) {
    map <- ce_recalibrate(set$probs[fold != f, ], set$truth[fold != f], method = "temperature")
    after[fold == f, ] <- predict(map, set$probs[fold == f, ])
  }
  gain <- as.data.frame(ce_gain(set$probs, after, set$truth, injective = TRUE))
  gain <- sqrt(pmax(0, unlist(gain[gain$scale == "squared", c("gain", "conf.low", "conf.high")])))
  data.frame(model = name, canonical, top = top, gain = gain[[1]], gain.low = gain[[2]], gain.high = gain[[3]],
             row.names = NULL)
}
result("networks", seed = 0, repetitions = 1, spot = lower_bounds("nncal-densenet40"), {
  do.call(rbind, lapply(setdiff(names_in("cifar10", "."), names_in("cifar10", "-val$|^widmann")), lower_bounds))
})
