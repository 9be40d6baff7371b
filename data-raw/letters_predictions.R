# Makes data/letters_predictions.rda: held-out predictions of three classifiers, trained here on
# the letter recognition data of the package mlbench. Run from the root of the package:
#   Rscript data-raw/letters_predictions.R
# Needs mlbench, randomForest, e1071, nnet and tibble; about two minutes.

data("LetterRecognition", package = "mlbench")
set.seed(20220307, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")

# Half of the 20,000 rows train all three classifiers, the other half is predicted.
held_out <- sort(sample(nrow(LetterRecognition), 10000))
train <- LetterRecognition[-held_out, ]
test <- LetterRecognition[held_out, -1]
truth <- LetterRecognition$lettr[held_out]

# Shares of votes: diffuse where trees disagree, so under-confident.
forest <- randomForest::randomForest(lettr ~ ., data = train, ntree = 500)
# The 16 features are far from independent, so over-confident.
bayes <- e1071::naiveBayes(lettr ~ ., data = train)
# With hardly any weight decay, so mildly over-confident.
scaled <- function(x) as.data.frame(scale(x, colMeans(train[-1]), sapply(train[-1], sd)))
network <- nnet::nnet(x = scaled(train[-1]), y = nnet::class.ind(train$lettr), size = 40,
                      softmax = TRUE, decay = 0.01, maxit = 300, MaxNWts = 5000, trace = FALSE)

probs <- list(
  random_forest = predict(forest, test, type = "prob"),
  naive_bayes = predict(bayes, test, type = "raw"),
  neural_network = predict(network, scaled(test))
)

# Whole parts of 2^16 that sum to it in every row (largest remainders): the rows of what is stored sum to one exactly,
# and doubles whose last bits are zero make a small file.
in_parts <- function(p, whole = 2^16) {
  p <- p / rowSums(p)
  counts <- floor(p * whole)
  missing <- whole - rowSums(counts)
  for (i in which(missing > 0)) {
    up <- order(counts[i, ] - p[i, ] * whole)[seq_len(missing[i])]
    counts[i, up] <- counts[i, up] + 1
  }
  counts / whole
}

letters_predictions <- do.call(rbind, lapply(names(probs), function(model) {
  p <- in_parts(unclass(probs[[model]]))
  colnames(p) <- paste0(".pred_", levels(truth))
  tibble::tibble(model = factor(model, names(probs)), truth = truth, tibble::as_tibble(p))
}))

p <- as.matrix(letters_predictions[-(1:2)])
stopifnot(rowSums(p) == 1, p >= 0, !anyNA(p))
top <- max.col(p, ties.method = "first")
print(aggregate(
  data.frame(accuracy = top == as.integer(letters_predictions$truth),
             confidence = p[cbind(seq_len(nrow(p)), top)], zeros = rowMeans(p == 0),
             ones = apply(p, 1, max) == 1),
  letters_predictions["model"], mean
))
save(letters_predictions, file = "data/letters_predictions.rda", compress = "xz", version = 2)
print(file.size("data/letters_predictions.rda"))
