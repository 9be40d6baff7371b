#' Held-out predictions of three classifiers of letters
#'
#' Predicted probabilities of the 26 capital letters for 10,000 images of letters, from three
#' classifiers that are miscalibrated in three ways. All were trained on the same other 10,000
#' rows of `mlbench::LetterRecognition` and have seen none of the
#' rows that they predict here.
#'
#' | `model` | made with | accuracy | mean confidence | it is |
#' | --- | --- | --- | --- | --- |
#' | `random_forest` | `randomForest::randomForest()`, 500 trees, shares of votes | 0.95 | 0.79 | under-confident |
#' | `naive_bayes` | `e1071::naiveBayes()`, Gaussian | 0.64 | 0.77 | over-confident |
#' | `neural_network` | `nnet::nnet()`, 40 hidden units, decay 0.01 | 0.90 | 0.95 | mildly over-confident |
#'
#' Probabilities are whole parts of \eqn{2^{16}}, rounded so that each row sums to one exactly; very small ones are
#' therefore 0, and some rows put probability 1 on a letter.
#'
#' @format A tibble with 30,000 rows, 10,000 for each model in the same order, and 28 columns:
#' \describe{
#'   \item{model}{factor, the classifier}
#'   \item{truth}{factor with levels `A` to `Z`, the letter shown}
#'   \item{.pred_A, ..., .pred_Z}{predicted probability of each letter}
#' }
#' @source Predictions: `data-raw/letters_predictions.R` in the sources of this package, which
#'   starts with a fixed seed from `LetterRecognition` of the package mlbench. That is the
#'   letter recognition data of D. J. Slate (1991), UCI Machine Learning Repository,
#'   \doi{10.24432/C5ZP40}, licensed under the Creative Commons Attribution 4.0 International
#'   licence; so are the labels given here. The predictions are under the licence of this package.
#' @references Frey, P. W. and Slate, D. J. (1991). Letter recognition using Holland-style
#'   adaptive classifiers. *Machine Learning* 6, 161-182.
#' @examples
#' aggregate(.pred_A ~ model, letters_predictions[letters_predictions$truth == "A", ], mean)
"letters_predictions"

#' Held-out predictions of a classifier of vehicles
#'
#' Predicted probabilities of four kinds of vehicle for 500 silhouettes: a small set for examples.
#' A neural network with 8 hidden units was trained with `nnet::nnet()` on the other
#' 346 rows of `mlbench::Vehicle`. It is over-confident: accuracy 0.80 at a
#' mean confidence of 0.89.
#'
#' @format A tibble with 500 rows and 5 columns:
#' \describe{
#'   \item{truth}{factor with levels `bus`, `opel`, `saab`, `van`, the vehicle shown}
#'   \item{.pred_bus, .pred_opel, .pred_saab, .pred_van}{predicted probability of each}
#' }
#' @source Predictions: `data-raw/vehicle_predictions.R` in the sources of this package, which
#'   starts with a fixed seed from `Vehicle` of the package mlbench. That is the Statlog vehicle
#'   silhouettes data of P. Mowforth and B. Shepherd, Turing Institute, UCI Machine Learning
#'   Repository, \doi{10.24432/C5HG6D}, licensed under the Creative Commons Attribution 4.0
#'   International licence; so are the labels given here. The predictions are under the licence of
#'   this package.
#' @references Siebert, J. P. (1987). *Vehicle recognition using rule based methods*. Turing
#'   Institute Research Memorandum TIRM-87-018.
#' @examples
#' vehicle_predictions
"vehicle_predictions"
