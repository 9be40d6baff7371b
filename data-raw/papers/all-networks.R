# Results of the vignette "84 prediction sets", in the parts errors, choice, maps and maps-cifar100: every set of
# predictions of the shared data, except validation rows of the same networks and the copy of DenseNet-40's
# confidences. Four minutes on one core. The canonical errors of CIFAR-100 and of two thirds of the networks
# of CIFAR-10 are those of gruber-bach-2025.R.
library(calibrisk)
source("data-raw/papers/store.R")
options(calibrisk.threads = 1L)

sets <- do.call(rbind, lapply(c("cifar10", "cifar10lt", "cifar100", "other", "toplabel"), function(folder) {
  data.frame(folder = folder, set = sub("[.]rds$", "", list.files(shared_data(folder), pattern = "[.]rds$")))
}))
sets <- sets[!grepl("-val$", sets$set) & !sets$set %in% c("residential-building", "nncal-cifar10-densenet40"), ]
group_of <- function(folder, set) {
  if (folder == "toplabel") {
    return(if (grepl("imagenet", set)) "ImageNet" else if (grepl("cifar100", set)) "CIFAR-100" else
      if (grepl("cifar10", set)) "CIFAR-10" else "other")
  }
  c(cifar10 = "CIFAR-10", cifar10lt = "CIFAR-10, long tail", cifar100 = "CIFAR-100", other = "other")[[folder]]
}
# `probs` is NULL for the sets of `toplabel`.
read_set <- function(i) {
  set <- read_network(sets$folder[i], sets$set[i])
  if (!is.null(set$probs)) {
    set$pred <- max.col(set$probs, "first")
    set$confidence <- set$probs[cbind(seq_along(set$pred), set$pred)]
  }
  set$correct <- as.numeric(set$pred == set$truth)
  set$K <- if (is.null(set$probs)) set$info$n_classes else ncol(set$probs)
  set$row <- i
  set$name <- data.frame(group = group_of(sets$folder[i], sets$set[i]), set = sets$set[i])
  set
}
over_sets <- function(f, which = seq_len(nrow(sets)), ...) {
  do.call(rbind, lapply(which, function(i) f(read_set(i), ...)))
}
few_classes <- !sets$folder %in% c("toplabel", "cifar100")
# the parts networks and cifar100-estimate of gruber-bach-2025.R
has_canonical <- sets$folder == "cifar100" | sets$folder == "cifar10" & !grepl("^widmann", sets$set)

# ---- Top-label and canonical errors -----------------------------------------------------------
# The second has two lower bounds: the first, and the root of the gain by one temperature (maps, maps-cifar100).
errors_of <- function(set) {
  shown <- c("estimate", "conf.low", "conf.high")
  top <- as.data.frame(ce_estimate(set$confidence, set$correct, notion = "top_label"))[shown]
  canonical <- top[NA, ]
  if (!is.null(set$probs) && !has_canonical[set$row]) {
    canonical <- as.data.frame(ce_estimate(set$probs, set$truth, notion = "canonical"))[shown]
  }
  data.frame(set$name, n = length(set$correct), K = set$K, accuracy = mean(set$correct), top = top,
             canonical = canonical, row.names = NULL)
}
result("errors", repetitions = 1, over_sets(errors_of), spot = over_sets(errors_of, which(grepl("ferrer", sets$set))))

# ---- The method with the smallest risk --------------------------------------------------------
# Random rows of each set; all of them where `rows` is "all".
choose_method <- function(set, n) {
  rows <- length(set$correct)
  if (n < Inf && n > rows) return(NULL)
  set.seed(1)
  at <- if (n < Inf) sample.int(rows, n) else seq_len(rows)
  cells <- as.data.frame(glance(ce_tune(set$confidence[at], set$correct[at], notion = "top_label")))
  data.frame(set$name, K = set$K, notion = "top_label", rows = if (n < Inf) format(n, big.mark = ",") else "all",
             method = cells$method, selected = as.numeric(cells$selected), above = cells$difference,
             above_se = cells$difference_std.error, row.names = NULL)
}
result("choice", seed = 1, repetitions = 1, digits = 3,
       over_sets(function(set) do.call(rbind, lapply(c(500, 2000, Inf), choose_method, set = set))),
       spot = over_sets(choose_method, which(sets$folder == "cifar10lt"), n = 2000))

# ---- The gain by recalibration ----------------------------------------------------------------
# Cross-fitted in five folds, with the paired interval; of one-to-one maps the gain is the decrease of the squared
# error. Then the top-label error of the recalibrated predictions.
gains_of <- function(set, maps = c("temperature", "vector", "isotonic")) {
  of <- function(method) {
    set.seed(1)
    map <- suppressWarnings(ce_recalibrate(set$probs, set$truth, method = method, folds = 5))
    after <- predict(map)
    injective <- glance(map)$injective
    gain <- as.data.frame(ce_gain(set$probs, after, set$truth, injective = injective))[1, ]
    top <- max.col(after, "first")
    error <- as.data.frame(ce_estimate(after[cbind(seq_along(top), top)], as.numeric(top == set$truth),
                                       notion = "top_label"))
    data.frame(set$name, map = method, gain[c("before", "gain", "std.error", "conf.low", "conf.high")],
               injective = injective, top = error[c("estimate", "conf.low", "conf.high")], row.names = NULL)
  }
  do.call(rbind, lapply(maps, of))
}
result("maps", seed = 1, repetitions = 1, over_sets(gains_of, which(few_classes)),
       spot = over_sets(gains_of, which(grepl("ferrer", sets$set))))
# vector scaling has 200 parameters there
result("maps-cifar100", seed = 1, repetitions = 1,
       over_sets(function(set) gains_of(set, c("temperature", "isotonic")), which(sets$folder == "cifar100")))
