# Results of the vignette "Reproducing Gruber and Buettner (2022): calibrated variances", in the parts residential,
# residential-splits, residential-sales (networks of the Residential Building data) and friedman (simulated data). About
# half an hour on one core.
library(calibrisk)
source("data-raw/papers/store.R")
source("vignettes/gruber-buettner-network.R")
options(calibrisk.threads = 1L)

published("tables")
published("curves")

# Moments and scores of the test rows before and after variance scaling, with the map that the validation rows give.
quantities <- c("mse", "variance", "ratio", "ratio_sd", "dss")
moments_of <- function(on_validation, on_test, validation, test) {
  map <- ce_recalibrate(on_validation, validation$y, method = "variance")
  m <- withCallingHandlers(
    ce_moments(on_test, test$y, after = map),
    calibrisk_warning_injective = function(w) invokeRestart("muffleWarning")
  )
  of <- function(which) m$estimate[m$predictions == which][match(quantities, m$quantity[m$predictions == which])]
  list(map = map, values = c(
    setNames(of("before"), paste0("raw.", quantities)), setNames(of("after"), paste0("map.", quantities)),
    setNames(tidy(map)$estimate[1:2], c("w", "b"))
  ))
}
# The paper's kernel calibration error has bandwidths 1.
kernel_error <- function(p, y, prediction = 1, target = 1) {
  laws <- pred_normal(p[, 1], sqrt(p[, 2]))
  skce(laws, y, kernel = kernel_wasserstein(prediction), target_kernel = kernel_gaussian(target))$.estimate
}

# ---- Residential Building: Figures 4 and 8, Tables 1 and 2 -----------------------------------
buildings <- readRDS(shared_data("other", "residential-building.rds"))
table_steps <- c(300, 500, 750, 1000, 1250, 1500, 1750, 2000)
# 100 rows to train, 100 to validate, 172 to test, as in the released code
split_of <- function(seed, target) {
  set.seed(seed)
  rows <- sample(nrow(buildings$x))
  lapply(list(training = 1:100, validation = 101:200, test = 201:372), function(i) {
    list(x = buildings$x[rows[i], ], y = buildings[[target]][rows[i]])
  })
}
residential_run <- function(split, run, target, at, kernels = FALSE) {
  data <- split_of(split, target)
  set.seed(100 * split + run)
  watch <- function(net, step) {
    on_test <- predict_network(net, data$test$x)
    both <- moments_of(predict_network(net, data$validation$x), on_test, data$validation, data$test)
    values <- c(split = split, run = run, step = step, both$values)
    if (kernels) {
      y <- data$test$y
      scaled <- predict(both$map, on_test)
      wide <- c(median(dist(cbind(on_test[, 1], sqrt(on_test[, 2])))), median(dist(y)))
      values <- c(values, raw.skce = kernel_error(on_test, y), map.skce = kernel_error(scaled, y),
                  raw.wide_skce = kernel_error(on_test, y, wide[1], wide[2]),
                  map.wide_skce = kernel_error(scaled, y, wide[1], wide[2]), wide = wide[1])
    }
    values
  }
  do.call(rbind, train(new_network(c(107, 200, 2), "abs"), data$training, max(at), at, watch))
}
residential_splits <- function(target, splits) {
  runs <- expand.grid(run = 1:5, split = splits)
  table <- as.data.frame(do.call(rbind, Map(function(split, run) {
    residential_run(split, run, target, table_steps)
  }, runs$split, runs$run)))
  # the squared error of the mean of the training outcomes
  constant <- vapply(splits, function(split) {
    data <- split_of(split, target)
    mean((data$test$y - mean(data$training$y))^2)
  }, 0)
  table$constant_mse <- constant[match(table$split, splits)]
  table[names(table) != "map.mse"] # a map of the variances keeps the means
}
result("residential", seed = "1 (split), 101 to 105 (weights)", repetitions = 5, {
  table <- as.data.frame(do.call(rbind, lapply(1:5, residential_run, split = 1, target = "construction_cost",
                                               at = seq(300, 2000, by = 10), kernels = TRUE)))
  table[!names(table) %in% c("split", "map.mse", "raw.ratio_sd", "map.ratio_sd")]
})
result("residential-splits", seed = "1 to 20 (splits), 100 split + run (weights)", repetitions = "20 x 5",
       residential_splits("construction_cost", 1:20))
result("residential-sales", seed = "1 to 5 (splits), 100 split + run (weights)", repetitions = "5 x 5",
       residential_splits("sales_price", 1:5))

# ---- Friedman's function with changing noise: Figure 9 ---------------------------------------
draw <- function(seed, n) {
  set.seed(seed)
  friedman(n)
}
result("friedman", seed = "1 to 5", repetitions = 5, {
  training <- draw(100, 100)
  validation <- draw(200, 100)
  test <- draw(300, 100)
  large <- draw(400, 10000)
  watch <- function(net, step) {
    on_validation <- predict_network(net, validation$x)
    on_test <- predict_network(net, test$x)
    small <- moments_of(on_validation, on_test, validation, test)
    of_large <- moments_of(on_validation, predict_network(net, large$x), validation, large)$values
    on_training <- predict_network(net, training$x)
    # what the companion code plots: the map applied to the variances of the validation rows
    on_fitted <- withCallingHandlers(predict(small$map, on_validation),
                                     calibrisk_warning_same_rows = function(w) invokeRestart("muffleWarning"))
    other_rows <- cbind(mean = on_test[, 1], variance = on_fitted[, 2])
    other <- ce_moments(other_rows, test$y)
    other <- setNames(other$estimate, other$quantity)
    c(step = step, small$values, setNames(of_large, paste0("large_", names(of_large))),
      other.ratio = other[["ratio"]], other.dss = other[["dss"]],
      train.dss = mean((on_training[, 1] - training$y)^2 / on_training[, 2] + log(on_training[, 2])),
      raw.skce = kernel_error(on_test, test$y), map.skce = kernel_error(predict(small$map, on_test), test$y))
  }
  table <- as.data.frame(do.call(rbind, lapply(1:5, function(run) {
    set.seed(run)
    seen <- train(new_network(c(10, 200, 50, 2)), training, 1000, seq(0, 1000, by = 20), watch)
    cbind(run = run, do.call(rbind, seen))
  })))
  table[!grepl("ratio_sd$", names(table)) & !duplicated(as.list(table))]
})
