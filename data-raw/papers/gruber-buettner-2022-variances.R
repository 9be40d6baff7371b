# Results of the vignette "Reproducing Gruber and Buettner (2022): calibrated variances": five training runs of the
# network in its chunk `network`, followed every 20 iterations. About two minutes on one core.
library(calibrisk)
source("data-raw/papers/store.R")
options(calibrisk.threads = 1L)

rmd <- readLines(file.path("vignettes", "gruber-buettner-2022-variances.Rmd"))
start <- grep("^```\\{r network", rmd)
eval(parse(text = rmd[(start + 1):(start + which(rmd[-seq_len(start)] == "```")[1] - 1)]))

draw <- function(seed, n) {
  set.seed(seed)
  friedman(n)
}
training <- draw(100, 100)
validation <- draw(200, 100)
test <- draw(300, 100)
large <- draw(400, 10000)

summarise <- function(p, data, name) {
  m <- ce_moments(p, data$y)
  values <- m$estimate[match(c("mse", "variance", "ratio", "dss"), m$quantity)]
  setNames(values, paste0(name, c(".mse", ".variance", ".ratio", ".dss")))
}
error <- function(p, data) {
  laws <- pred_normal(p[, 1], sqrt(p[, 2]))
  skce(laws, data$y, kernel = kernel_wasserstein(1), target_kernel = kernel_gaussian(1))$.estimate
}
watch <- function(net, step) {
  on_validation <- predict_network(net, validation$x)
  on_test <- predict_network(net, test$x)
  on_large <- predict_network(net, large$x)
  map <- ce_recalibrate(on_validation, validation$y, method = "variance")
  # what the companion code plots: the map applied to the variances of the validation rows
  other_rows <- cbind(mean = on_test[, 1], variance = predict(map, on_validation)[, 2])
  c(step = step, w = tidy(map)$estimate[1], b = tidy(map)$estimate[2],
    train.dss = unname(summarise(predict_network(net, training$x), training, "train")["train.dss"]),
    summarise(on_test, test, "raw"), summarise(predict(map, on_test), test, "map"),
    summarise(other_rows, test, "other"),
    summarise(on_large, large, "large_raw"), summarise(predict(map, on_large), large, "large_map"),
    raw.skce = error(on_test, test), map.skce = error(predict(map, on_test), test))
}
result("friedman", seed = "1 to 5", repetitions = 5, {
  runs <- lapply(1:5, function(run) {
    set.seed(run)
    cbind(run = run, do.call(rbind, withCallingHandlers(
      train(new_network(), training, 1000, seq(0, 1000, by = 20), watch),
      calibrisk_warning_same_rows = function(w) invokeRestart("muffleWarning")
    )))
  })
  table <- as.data.frame(do.call(rbind, runs))
  table[!duplicated(as.list(table))] # a map keeps the means, hence their squared errors
})
