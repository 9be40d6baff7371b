# Results of the vignette "Reproducing Gruber and Buettner (2022): did recalibration help?", in the parts simulation,
# maps, size, relative and curves; all but the first need networks of the shared data. About fifteen minutes on one
# core.
library(calibrisk)
source("data-raw/papers/store.R")

sizes <- round(2^seq(log2(100), log2(10000), length.out = 10))
repetitions <- c(200, 159, 123, 92, 65, 43, 25, 12, 4, 1) # a fifth of the paper's figure 2
few <- c(20, 16, 13, 9, 7, 5, 3, 2, 1, 1) # for what is quadratic in the rows, and for many networks

# The estimators of Gruber & Buettner's figures 1 and 3: those in bins, and by kernel densities, which take longer.
errors_of <- function(p, y) {
  class_wise <- ece(p, y, n_bins = c(15, 100), p = 2, notion = "class_wise")$.estimate
  c(RBS = rbs(p, y)$.estimate,
    ECE = ece(p, y, n_bins = 15)$.estimate,
    `100b TCE_2` = ece(p, y, n_bins = 100, p = 2)$.estimate,
    `15b dTCE_2` = ece(p, y, n_bins = 15, p = 2, type = "mass", debias = TRUE)$.estimate,
    KS = ks_error(p, y)$.estimate,
    `15b CWCE_2` = class_wise[1], `100b CWCE_2` = class_wise[2])
}
kde_errors <- function(p, y) {
  c(`KDE TCE_2` = kde_error(p, y, kernel = "triweight", p = 2, notion = "top_label")$.estimate,
    `KDE CE_1` = kde_error(p, y, p = 1, notion = "canonical")$.estimate)
}

# Over subsets of the rows, drawn without replacement, of a function of the rows that returns named numbers: means,
# their standard errors, and means of squares.
over_sizes <- function(n, values, times = repetitions) {
  parts <- lapply(seq_along(times), function(i) {
    runs <- lapply(seq_len(times[i]), function(r) values(sample.int(n, sizes[i])))
    runs <- matrix(unlist(runs), ncol = times[i], dimnames = list(names(runs[[1]]), NULL))
    data.frame(quantity = rownames(runs), n = sizes[i], mean = rowMeans(runs),
               std.error = apply(runs, 1, sd) / sqrt(ncol(runs)), mean_square = rowMeans(runs^2), row.names = NULL)
  })
  do.call(rbind, parts)
}

# ---- Figure 2: 100 classes, logistic-normal, the truth is softmax(z) -------------------------
result("simulation", seed = "1 and 2", repetitions = "1 to 200", {
  set.seed(1)
  k <- 100
  logits <- do.call(rbind, lapply(51:100, function(class) {
    # precision ~ Wishart(100, I / 100)
    root <- matrix(rnorm(k * k, sd = 1 / sqrt(k)), k)
    z <- t(solve(root, matrix(rnorm(k * 200), k)))
    z[, class] <- z[, class] + 1
    z
  }))
  truth <- softmax(logits)
  y <- apply(truth, 1, function(p) sample.int(k, 1, prob = p))
  models <- list(perfect = truth, mediocre = softmax(1.5 * logits), bad = softmax(2.5 * logits))
  ce <- vapply(models, function(p) sqrt(mean(rowSums((p - truth)^2))), 0)
  of_models <- function(errors) function(rows) unlist(lapply(models, function(p) errors(p[rows, ], y[rows])))
  rows <- over_sizes(nrow(truth), of_models(errors_of))
  set.seed(2)
  # KDE CE_1 is quadratic in the rows, times 100 classes: up to 3,594 rows
  rows <- rbind(rows, over_sizes(nrow(truth), of_models(kde_errors), few[1:8]))
  rows$model <- sub("\\..*", "", rows$quantity)
  rows$quantity <- sub("^[a-z]*\\.", "", rows$quantity)
  rows$true_ce <- ce[rows$model]
  gain <- ce_gain(models$bad, models$perfect, y, injective = TRUE)
  rows <- rbind(rows, data.frame(quantity = "gain", n = nrow(truth), mean = gain$gain[1], std.error = gain$std.error[1],
                                 mean_square = NA, model = "bad", true_ce = ce[["bad"]]))
  rows
})

# ---- Maps of CIFAR-10 networks, fitted on validation rows, judged on test rows ---------------
networks <- c("DenseNet-40" = "nncal-densenet40", "ResNet-50 (focal)" = "dfcal-resnet50",
              "ResNet-50 (overfitted)" = "psrcal-resnet50")
read_set <- function(name) {
  set <- read_network("cifar10", name)
  list(logits = set$logits, y = set$truth)
}
methods <- c("temperature", "ets", "diag", "vector", "dirichlet", "isotonic", "constant_confidence", "label_frequency")
result("maps", seed = 1, repetitions = 1, {
  rows <- lapply(names(networks), function(network) {
    val <- read_set(paste0(networks[[network]], "-val"))
    test <- read_set(networks[[network]])
    before <- softmax(test$logits)
    accuracy <- function(p) mean(max.col(p, "first") == test$y)
    base <- data.frame(network = network, method = "none", t(errors_of(before, test$y)), accuracy = accuracy(before),
                       check.names = FALSE)
    parts <- lapply(methods, function(method) {
      set.seed(1)
      # isotonic maps act on probabilities; the others are given the logits
      logits <- method != "isotonic"
      fit_to <- if (logits) val$logits else softmax(val$logits)
      map <- ce_recalibrate(fit_to, val$y, method = method, logits = logits)
      after <- predict(map, if (logits) test$logits else before)
      injective <- glance(map)$injective
      gain <- ce_gain(before, after, test$y, injective = injective)
      # steps can give a label that occurs the probability 0
      log_gain <- if (method %in% c("label_frequency", "isotonic")) {
        c(NA, NA)
      } else {
        unlist(ce_gain(before, after, test$y, score = "log", injective = injective)[1, c("gain", "std.error")])
      }
      data.frame(network = network, method = method, t(errors_of(after, test$y)), accuracy = accuracy(after),
                 gain = gain$gain[1], std.error = gain$std.error[1], conf.low = gain$conf.low[1],
                 conf.high = gain$conf.high[1], root_gain = gain$gain[2], root_std.error = gain$std.error[2],
                 log_gain = log_gain[1], log_std.error = log_gain[2], injective = injective,
                 converged = glance(map)$converged, check.names = FALSE)
    })
    parts <- do.call(rbind, parts)
    base[setdiff(names(parts), names(base))] <- NA
    rbind(base[names(parts)], parts)
  })
  do.call(rbind, rows)
})

# ---- Figure 1a: the improvement by temperature scaling against the size of the test set ------
result("size", seed = "1 and 2", repetitions = "1 to 200", {
  val <- read_set("nncal-densenet40-val")
  test <- read_set("nncal-densenet40")
  map <- ce_recalibrate(val$logits, val$y, method = "temperature", logits = TRUE)
  before <- softmax(test$logits)
  after <- predict(map, test$logits)
  set.seed(1)
  difference <- function(error) function(rows) error(before[rows, ], test$y[rows]) - error(after[rows, ], test$y[rows])
  brier <- function(p, y) c(BS = rbs(p, y)$power)
  table <- over_sizes(nrow(before), difference(function(p, y) c(errors_of(p, y), brier(p, y))))
  set.seed(2)
  table <- rbind(table, over_sizes(nrow(before), difference(kde_errors), few))
  table[names(table) != "mean_square"]
})

# ---- Figure 3, right: errors at n rows over the error at all 10,000, means over networks ---------
result("relative", seed = 1, repetitions = "1 to 20", {
  # one of each architecture at hand; the first is the paper's own
  chosen_networks <- c("nncal-densenet40", "netcal-lenet5", "netcal-wideresnet16_4", "wasscal-resnet56",
                       "wasscal-vgg16_bn", "wasscal-mobilenetv2_x1_0", "wasscal-shufflenetv2_x1_0",
                       "widmann-densenet121", "widmann-googlenet", "psrcal-resnet50")
  options(calibrisk.threads = 1L)
  of_network <- function(name) {
    set <- read_network("cifar10", name)
    p <- set$probs
    y <- set$truth
    set.seed(1)
    table <- over_sizes(nrow(p), function(rows) c(errors_of(p[rows, ], y[rows]), kde_errors(p[rows, ], y[rows])), few)
    full <- table[table$n == max(sizes), ]
    data.frame(network = name, table[c("quantity", "n")],
               ratio = table$mean / full$mean[match(table$quantity, full$quantity)])
  }
  all <- do.call(rbind, parallel::mclapply(chosen_networks, of_network, mc.cores = 2, mc.preschedule = FALSE))
  summarise <- function(f) stats::aggregate(ratio ~ quantity + n, all, f)$ratio
  table <- stats::aggregate(ratio ~ quantity + n, all, mean)
  densenet <- all[all$network == "nncal-densenet40", ]
  table$std.error <- summarise(function(v) sd(v) / sqrt(length(v)))
  table$low <- summarise(min)
  table$high <- summarise(max)
  table$densenet40 <- densenet$ratio[match(paste(table$quantity, table$n), paste(densenet$quantity, densenet$n))]
  table$networks <- length(chosen_networks)
  table
})

# ---- Reliability of DenseNet-40 before and after ---------------------------------------------
result("curves", seed = 1, repetitions = 1, {
  val <- read_set("nncal-densenet40-val")
  test <- read_set("nncal-densenet40")
  map <- ce_recalibrate(val$logits, val$y, method = "temperature", logits = TRUE)
  set.seed(1)
  curve <- ce_curve(list(before = softmax(test$logits), after = predict(map, test$logits)), test$y, type = "smooth")
  places <- tidy(curve)
  # 60 places of each curve draw it
  some <- function(i) i[unique(round(seq(1, length(i), length.out = 60)))]
  keep <- unlist(tapply(seq_len(nrow(places)), places$model, some))
  places <- as.data.frame(places[sort(keep), ])
  places$rejected <- glance(curve)$rejected[match(places$model, glance(curve)$model)]
  places
})
