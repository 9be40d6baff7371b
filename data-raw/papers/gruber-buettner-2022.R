# Results of the vignette "Reproducing Gruber and Buettner (2022): did recalibration help?", in the parts size,
# simulation-ece, simulation (these two need no data), wide, toplabel, relative, ets, figure-6, maps, temperatures and
# curves. About an hour on one core.
library(calibrisk)
source("data-raw/papers/store.R")
source("data-raw/papers/subset-errors.R")
options(calibrisk.threads = 1L)

published("figure-1a") # read off the plot
published("figure-2") # read off the plot, at its ends
published("full-size") # squares of DenseNet-40's errors on all test rows, printed in the released notebook

# The paper's sizes and repetitions, of `n` test rows.
sizes_of <- function(n = 10000) round(2^seq(log2(100), log2(n), length.out = 10))
paper_times <- c(20000, 15842, 12168, 8978, 6272, 4050, 2312, 1058, 288, 2)
share <- function(times, part) pmax(1, round(times / part))

# The canonical error by Dirichlet kernels (Popordanoska et al. 2022), with absolute values and with squares. It is
# quadratic in the rows.
dirichlet <- function(model, rows) {
  p <- model$probs[rows, ]
  vapply(c(`KDE CE_1` = 1, `KDE CE_2` = 2), function(power) {
    kde_error(p, model$y[rows], p = power, notion = "canonical")$.estimate
  }, 0)
}

# Means over subsets of the errors of one model or several, and of their squares.
mean_errors <- function(errors) {
  tables <- lapply(names(errors), function(name) {
    e <- errors[[name]]
    data.frame(model = name, quantity = rownames(e), mean = rowMeans(e), std.error = apply(e, 1, sd) / sqrt(ncol(e)),
               mean_square = rowMeans(e^2), times = ncol(e))
  })
  do.call(rbind, tables)
}
# The same of the models `before` and `after`, and of the improvement: its mean in errors and in their squares.
improvement <- function(errors) {
  b <- errors$before
  a <- errors$after
  se <- function(x) apply(x, 1, sd) / sqrt(ncol(x))
  data.frame(quantity = rownames(b), before = rowMeans(b), gain = rowMeans(b - a), std.error = se(b - a),
             before_square = rowMeans(b^2), gain_square = rowMeans(b^2 - a^2), std.error_square = se(b^2 - a^2),
             times = ncol(b))
}

# Networks whose logits are public, for validation rows and test rows.
networks <- c("DenseNet-40" = "nncal-densenet40", "ResNet-50 (focal)" = "dfcal-resnet50",
              "ResNet-50 (overfitted)" = "psrcal-resnet50")
read_set <- function(name) {
  set <- read_network("cifar10", name)
  list(logits = set$logits, y = set$truth)
}
before_after <- function(network, method) {
  val <- read_set(paste0(network, "-val"))
  test <- read_set(network)
  set.seed(1)
  map <- ce_recalibrate(val$logits, val$y, method = method, logits = TRUE)
  list(before = prepare(softmax(test$logits), test$y), after = prepare(predict(map, test$logits), test$y), map = map)
}

# ---- Figure 1a and column 1 of Figure 7: DenseNet-40, temperature scaling ---------------------
kernel_times <- c(1000, 600, 400, 300, 200, 120, 80, 40, 15, 2)
result("size", seed = 1, repetitions = "20,000 to 2 (kernel densities: 1,000 to 2 and 100 to 1)", {
  models <- before_after("nncal-densenet40", "temperature")[1:2]
  set.seed(1)
  over_subsets(models, sizes_of(), paper_times, improvement, kde_times = kernel_times, more = dirichlet,
               more_times = share(paper_times, 200))
})

# ---- Figure 2: 100 classes, logistic-normal, the truth is softmax(z) -------------------------
figure_2_times <- c(1000, 796, 616, 459, 324, 213, 126, 61, 19, 1)
simulated <- function() {
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
  list(models = models, truth = truth, y = y)
}
# top-label errors, the ECE among them
result("simulation-ece", seed = 1, repetitions = "1,000 to 1", {
  drawn <- simulated()
  top <- lapply(drawn$models, function(p) {
    label <- max.col(p, "first")
    prepare(conf = p[cbind(seq_along(label), label)], right = label == drawn$y)
  })
  over_subsets(top, sizes_of(), figure_2_times, mean_errors)
})
# all estimators
result("simulation", seed = 1, repetitions = "200 to 1", {
  drawn <- simulated()
  ce <- vapply(drawn$models, function(p) sqrt(mean(rowSums((p - drawn$truth)^2))), 0)
  rows <- over_subsets(lapply(drawn$models, prepare, drawn$y), sizes_of(), share(figure_2_times, 5), mean_errors,
                       kde_times = share(figure_2_times, 50))
  rows$true_ce <- ce[rows$model]
  gain <- ce_gain(drawn$models$bad, drawn$truth, drawn$y, injective = TRUE)
  rbind(rows, data.frame(n = length(drawn$y), model = "bad", quantity = "gain", mean = gain$gain[1],
                         std.error = gain$std.error[1], mean_square = NA, times = 1, true_ce = ce[["bad"]]))
})

# ---- Figure 3, left: a wide residual network on CIFAR-100 -------------------------------------
result("wide", seed = 1, repetitions = "2,000 to 1 (kernel density: 200 to 1)", {
  set <- read_network("cifar100", "netcal-wideresnet16_4")
  set.seed(1)
  over_subsets(list("WideResNet-16-4" = prepare(set$probs, set$truth)), sizes_of(), share(paper_times, 10), mean_errors,
               kde_times = share(paper_times, 100))
})

# ---- Figure 5 c and e: the paper's networks, whose top-label confidences are public -----------
result("toplabel", seed = 1, repetitions = "20,000 to 2 (kernel density: 1,000 to 2)", {
  chosen <- c("ResNet-110, CIFAR-100" = "nncal-cifar100-resnet110", "ResNet-50, Birds" = "nncal-birds-resnet50")
  do.call(rbind, lapply(names(chosen), function(name) {
    set <- read_network("toplabel", chosen[[name]])
    model <- list(prepare(conf = set$confidence, right = set$pred == set$truth))
    set.seed(1)
    over_subsets(setNames(model, name), sizes_of(length(set$truth)), paper_times, mean_errors,
                 kde_times = kernel_times)
  }))
})

# ---- Figure 3, right: errors at n rows over the error at all 10,000, means over networks ---------
result("relative", seed = 1, repetitions = "2,000 to 1 (kernel densities: 100 to 1 and 20 to 1)", {
  # one of each architecture at hand; the first is the paper's own
  chosen <- c("nncal-densenet40", "netcal-lenet5", "netcal-wideresnet16_4", "wasscal-resnet56", "wasscal-vgg16_bn",
              "wasscal-mobilenetv2_x1_0", "wasscal-shufflenetv2_x1_0", "widmann-densenet121", "widmann-googlenet",
              "psrcal-resnet50")
  all <- do.call(rbind, lapply(chosen, function(name) {
    set <- read_network("cifar10", name)
    set.seed(1)
    model <- list(prepare(set$probs, set$truth))
    table <- over_subsets(setNames(model, name), sizes_of(), share(paper_times, 10), mean_errors,
                          kde_times = share(paper_times, 200), more = function(...) dirichlet(...)["KDE CE_1"],
                          more_times = share(paper_times, 1000))
    full <- table[table$n == 10000, ]
    table$ratio <- table$mean / full$mean[match(table$quantity, full$quantity)]
    table
  }))
  summarise <- function(f) stats::aggregate(ratio ~ quantity + n, all, f)$ratio
  table <- stats::aggregate(ratio ~ quantity + n, all, mean)
  densenet <- all[all$model == "nncal-densenet40", ]
  table$std.error <- summarise(function(v) sd(v) / sqrt(length(v)))
  table$low <- summarise(min)
  table$high <- summarise(max)
  table$densenet40 <- densenet$ratio[match(paste(table$quantity, table$n), paste(densenet$quantity, densenet$n))]
  table$networks <- length(chosen)
  table
})

# ---- In place of Figures 1b and 6: improvements of other networks --------------------------------
# Without validation images, half of the test images, drawn at random, fit the map and the others judge it.
halves <- function(folder, name) {
  set <- read_network(folder, name)
  logits <- if (is.null(set$logits)) log(pmax(set$probs, 1e-12)) else set$logits
  set.seed(1)
  fit <- sort(sample.int(length(set$truth), length(set$truth) / 2))
  list(val = list(logits = logits[fit, ], y = set$truth[fit]),
       test = list(logits = logits[-fit, ], y = set$truth[-fit]))
}
# `sets`: rows that fit the map, and rows that judge it.
improvement_by <- function(method, sets) {
  set.seed(1)
  map <- ce_recalibrate(sets$val$logits, sets$val$y, method = method, logits = TRUE)
  models <- list(before = prepare(softmax(sets$test$logits), sets$test$y),
                 after = prepare(predict(map, sets$test$logits), sets$test$y))
  set.seed(1)
  table <- over_subsets(models, sizes_of(length(sets$test$y)), share(paper_times, 10), improvement,
                        kde_times = share(paper_times, 200))
  list(table = table, injective = glance(map)$injective)
}
# in place of Figure 1b and column 2 of Figure 7
result("ets", seed = 1, repetitions = "2,000 to 1 (kernel density: 100 to 1)", {
  improvement_by("ets", halves("cifar100", "netcal-wideresnet16_4"))$table
})
result("figure-6", seed = 1, repetitions = "2,000 to 1 (kernel density: 100 to 1)", {
  panels <- list(
    list("TS, LeNet-5, CIFAR-10", "temperature", function() halves("cifar10", "netcal-lenet5")),
    list("TS, ResNet-50, CIFAR-10", "temperature", function() {
      list(val = read_set("psrcal-resnet50-val"), test = read_set("psrcal-resnet50"))
    }),
    list("TS, ResNet-56, CIFAR-100", "temperature", function() halves("cifar100", "wasscal-resnet56")),
    list("DIAG, ResNet-50, CIFAR-10", "diag", function() {
      list(val = read_set("psrcal-resnet50-val"), test = read_set("psrcal-resnet50"))
    }),
    list("DIAG, VGG-19, CIFAR-100", "diag", function() halves("cifar100", "wasscal-vgg19_bn")),
    list("ETS, ResNet-56, CIFAR-100", "ets", function() halves("cifar100", "wasscal-resnet56"))
  )
  do.call(rbind, lapply(panels, function(panel) {
    reported <- improvement_by(panel[[2]], panel[[3]]())
    cbind(panel = panel[[1]], reported$table, injective = reported$injective)
  }))
})

# ---- Maps of CIFAR-10 networks, fitted on validation rows, judged on test rows ---------------
all_errors <- function(p, y) package_errors(list(probs = p, y = y), seq_along(y))
methods <- c("temperature", "ets", "diag", "vector", "dirichlet", "isotonic", "constant_confidence", "label_frequency")
result("maps", seed = 1, repetitions = 1, {
  rows <- lapply(names(networks), function(network) {
    val <- read_set(paste0(networks[[network]], "-val"))
    test <- read_set(networks[[network]])
    before <- softmax(test$logits)
    accuracy <- function(p) mean(max.col(p, "first") == test$y)
    base <- data.frame(network = network, method = "none", t(all_errors(before, test$y)),
                       accuracy = accuracy(before), check.names = FALSE)
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
      data.frame(network = network, method = method, t(all_errors(after, test$y)), accuracy = accuracy(after),
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

# Temperatures with the package's smallest probability, .Machine$double.eps, and without one.
result("temperatures", repetitions = 1, {
  temperature <- function(network, floor) {
    val <- read_set(paste0(networks[[network]], "-val"))
    map <- ce_recalibrate(val$logits, val$y, method = "temperature", logits = TRUE, floor = floor)
    tidy(map)$estimate[1]
  }
  data.frame(network = names(networks), floored = vapply(names(networks), temperature, 0, .Machine$double.eps),
             exact = vapply(names(networks), temperature, 0, 1e-300))
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
