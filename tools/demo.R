# The main job on the built-in data: estimates the calibration error of the held-out predictions of three classifiers,
# compares all estimators by their risk, prints the tables and writes the figures to demo-output/.
#
#   Rscript tools/demo.R

source("tools/library.R")
.libPaths(unique(c(writable_library(), .libPaths())))
library(calibrisk)
options(width = 130)

heading <- function(...) cat("\n", strrep("-", 96), "\n", ..., "\n", strrep("-", 96), "\n", sep = "")
save_figure <- function(name, plot, height) {
  file <- file.path("demo-output", name)
  ggplot2::ggsave(file, plot, width = 8, height = height, dpi = 150, bg = "white")
  cat("written: ", file, "\n", sep = "")
}

dir.create("demo-output", showWarnings = FALSE)
models <- levels(letters_predictions$model)
predictions_of <- function(model) letters_predictions[letters_predictions$model == model, ]

tuned <- list()
for (model in models) {
  heading("Top-label calibration of the ", sub("_", " ", model), ": 26 letters, 10,000 predictions")
  set.seed(1)
  seconds <- system.time(tuned[[model]] <- ce_tune(predictions_of(model), truth))
  print(tuned[[model]])
  cat(sprintf("\n%.1f s\n", seconds[["elapsed"]]))
}

heading("Three types of calibration, small data: 4 vehicles, 500 predictions")
print(ce_estimate(vehicle_predictions, truth, notion = c("top_label", "class_wise", "canonical")))

heading("All methods in one table: root risk, error on the test rows, and the calibration error of all rows")
tables <- lapply(models, function(model) cbind(model = model, glance(tuned[[model]])))
columns <- c("model", "method", "value", "root_risk", "estimate_holdout", "estimate", "conf.low", "conf.high",
             "selected")
table <- do.call(rbind, tables)[columns]
print(table, digits = 3, row.names = FALSE)
utils::write.csv(table, file.path("demo-output", "estimates.csv"), row.names = FALSE)
cat("\nwritten: demo-output/estimates.csv\n")

if (requireNamespace("ggplot2", quietly = TRUE)) {
  for (model in models) {
    save_figure(paste0(model, "-risk.png"), ggplot2::autoplot(tuned[[model]], "risk"), 5)
    save_figure(paste0(model, "-estimate.png"), ggplot2::autoplot(tuned[[model]], "estimate"), 3)
    save_figure(paste0(model, "-gap.png"), ggplot2::autoplot(tuned[[model]], "gap"), 4.5)
  }
} else {
  cat("Install ggplot2 for the figures.\n")
}
