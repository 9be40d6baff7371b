# Makes data/vehicle_predictions.rda: held-out predictions of a small neural network, trained here
# on the vehicle silhouettes of the package mlbench. Run from the root of the package:
#   Rscript data-raw/vehicle_predictions.R
# Needs mlbench, nnet and tibble; a second.

data("Vehicle", package = "mlbench")
set.seed(20220307, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")

# 346 of the 846 rows train, the other 500 are predicted.
held_out <- sort(sample(nrow(Vehicle), 500))
train <- Vehicle[-held_out, ]
test <- Vehicle[held_out, ]

features <- setdiff(names(Vehicle), "Class")
scaled <- function(data) {
  as.data.frame(scale(data[features], colMeans(train[features]), sapply(train[features], sd)))
}
network <- nnet::nnet(x = scaled(train), y = nnet::class.ind(train$Class), size = 8,
                      softmax = TRUE, decay = 0.05, maxit = 300, trace = FALSE)
p <- predict(network, scaled(test))
p <- p / rowSums(p)
colnames(p) <- paste0(".pred_", levels(test$Class))
vehicle_predictions <- tibble::tibble(truth = test$Class, tibble::as_tibble(p))

stopifnot(max(abs(rowSums(p) - 1)) < 1e-12, p > 0, p < 1)
cat("accuracy", mean(max.col(p) == as.integer(test$Class)),
    "mean confidence", mean(apply(p, 1, max)), "\n")
save(vehicle_predictions, file = "data/vehicle_predictions.rda", compress = "xz", version = 2)
