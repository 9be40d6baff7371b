# Results of the vignette "Choosing an estimator by its risk", in the parts known-top-label and known-canonical: does
# the estimator with the smallest risk also have the smallest error? Predictions are those of networks of the shared
# data; outcomes are drawn from a map fitted to each network, so the calibration error is known. Fifteen minutes on one
# core.
library(calibrisk)
source("data-raw/papers/store.R")
source("data-raw/papers/numpy-order.R")
source("data-raw/papers/interval-laws.R")
source("data-raw/papers/choice-draws.R")
options(calibrisk.threads = 1L)

# Per cell (a network and a number of rows): the mean |error| of each estimate, and of rules that take one of the
# methods' estimates or the mean of some of them. `chosen`: share of draws in which a method has the smallest risk;
# `best`: in which it has the smallest |error|, of a rule: in which it takes that method; `near`: in which its |error|
# is at most 1.1 times the smallest one.
summarise_draws <- function(draws) {
  method <- unique(draws$method)
  wide <- function(column) matrix(draws[[column]], ncol = length(method), byrow = TRUE, dimnames = list(NULL, method))
  error <- wide("error")
  from_all <- error[, "ce_estimate()"]
  methods <- setdiff(method, "ce_estimate()")
  error <- error[, methods]
  risk <- wide("risk")[, methods]
  above <- wide("above")[, methods]
  tied <- function(se) above <= se * wide("above_se")[, methods]
  size <- abs(error)
  smallest <- apply(size, 1, min)
  is_best <- size == smallest
  chosen <- above == 0
  near <- size <= 1.1 * smallest
  runs <- nrow(error)
  row <- function(estimate, size, chosen, best, near) {
    data.frame(estimate = estimate, mean_error = mean(size), std.error = stats::sd(size) / sqrt(runs), bias = NA,
               chosen = chosen, best = best, near = near)
  }
  each <- do.call(rbind, lapply(methods, function(m) {
    transform(row(m, size[, m], mean(chosen[, m]), mean(is_best[, m]), mean(near[, m])), bias = mean(error[, m]))
  }))
  # any of a set: expectations over its members
  any_of <- function(name, set) {
    mean_of <- function(x) rowSums(x * set) / rowSums(set)
    row(name, mean_of(size), NA, mean(mean_of(is_best)), mean(mean_of(near)))
  }
  mean_of <- function(name, set) row(name, abs(rowSums(error * set) / rowSums(set)), NA, NA, NA)
  all <- matrix(TRUE, runs, length(methods))
  estimates <- rbind(
    each,
    transform(row("ce_estimate()", abs(from_all), NA, NA, mean(abs(from_all) <= 1.1 * smallest)),
              bias = mean(from_all)),
    any_of("smallest risk", chosen),
    any_of("any within 1 se", tied(1)), any_of("any within 2 se", tied(2)), any_of("any", all),
    mean_of("mean within 1 se", tied(1)), mean_of("mean within 2 se", tied(2)), mean_of("mean of all", all),
    row("smallest error", smallest, NA, 1, 1)
  )
  ranks <- vapply(seq_len(runs), function(i) stats::cor(risk[i, ], size[i, ], method = "spearman"), 0)
  kept <- function(set) mean(rowSums(is_best & set) > 0)
  cell <- data.frame(draws = runs, rank_correlation = mean(ranks), rank_std.error = stats::sd(ranks) / sqrt(runs),
                     within_1 = mean(rowSums(tied(1))), within_2 = mean(rowSums(tied(2))),
                     best_within_1 = kept(tied(1)), best_within_2 = kept(tied(2)))
  list(estimates = estimates, cell = cell)
}
# the cells of some laws: `draws` has a number of draws per number of rows
in_words <- function(n) format(n, big.mark = ",", trim = TRUE, scientific = FALSE)
over_cells <- function(laws, draws) {
  parts <- unlist(lapply(names(laws), function(network) {
    law <- laws[[network]]()
    truth <- sqrt(mean(rowSums(as.matrix(law$p - law$q)^2)))
    sizes <- as.numeric(names(draws))
    lapply(sizes[sizes <= NROW(law$p)], function(n) {
      found <- summarise_draws(draws_of(law, n, draws[[as.character(n)]]))
      message(network, ", ", n, " rows")
      at <- data.frame(network = network, rows = in_words(n))
      list(estimates = cbind(at, found$estimates), cell = cbind(at, truth = truth, found$cell))
    })
  }), recursive = FALSE)
  of <- function(what) do.call(rbind, lapply(parts, `[[`, what))
  list(estimates = of("estimates"), cells = of("cell"))
}

top_label_laws <- list(
  "DenseNet-40, CIFAR-10" = function() top_label_law("nncal-cifar10-densenet40", authors = TRUE),
  "ResNet-110, CIFAR-10" = function() top_label_law("nncal-cifar10-resnet110", authors = TRUE),
  "DenseNet-40, CIFAR-100" = function() top_label_law("nncal-cifar100-densenet40", authors = TRUE),
  "ResNet-110, CIFAR-100" = function() top_label_law("nncal-cifar100-resnet110", authors = TRUE),
  "WideResNet-16-4, CIFAR-100" = function() top_label_law("netcal-wideresnet16_4"),
  "DenseNet-161, ImageNet" = function() top_label_law("imagenet-torchvision-densenet161"),
  "EfficientNet-B3a, ImageNet" = function() top_label_law("imagenet-timm-efficientnet_b3a"),
  "Inception-v3, ImageNet" = function() top_label_law("imagenet-torchvision-inception_v3")
)
draws <- c("500" = 100, "2000" = 100, "10000" = 100, "50000" = 100)
one_cell <- function() over_cells(top_label_laws[1], draws["2000"])$estimates
result("known-top-label", seed = "1 to 100", repetitions = 100, spot = one_cell(), {
  tables <- over_cells(top_label_laws, draws)
  list("known-top-label" = tables$estimates, "known-top-label-cells" = tables$cells)
})

canonical_laws <- list(
  "DenseNet-40, CIFAR-10" = function() scaling_law("cifar10", "nncal-densenet40"),
  "LeNet-5, CIFAR-10" = function() scaling_law("cifar10", "netcal-lenet5"),
  "ResNet-110, CIFAR-10 (long tail)" = function() scaling_law("cifar10lt", "sctl-resnet110"),
  "GPT-2, AG News" = function() scaling_law("other", "ferrer-agnews_gpt2")
)
result("known-canonical", seed = "1 to 40", repetitions = "40, 16 and 16 (500, 2,000 and 5,000 rows)", {
  tables <- over_cells(canonical_laws, c("500" = 40, "2000" = 16, "5000" = 16))
  list("known-canonical" = tables$estimates, "known-canonical-cells" = tables$cells)
})
