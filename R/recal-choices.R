# The maps of ce_recalibrate(), as values. The file of each fit has its constructor.

#' Recalibration maps as values
#'
#' A map with its options, for the argument `method` of [ce_recalibrate()], which defines them. The name of a map is
#' shorthand for the map with its defaults: `method = "platt"` is `method = map_platt()`. The maps `"isotonic"` and
#' `"variance"` have no options. A list may mix names and values: `list("isotonic", map_beta())`.
#'
#' @param loss `"log"` or `"brier"`, what to minimise; the first is the default. The parameters of
#'   `"constant_confidence"` and `"label_frequency"` are best for both. Maps without this option have their own:
#'   `map_platt()` and `map_beta()` the log loss, `"isotonic"` and `map_histogram()` the Brier score,
#'   `"variance"` the Dawid-Sebastiani score.
#' @param range Smallest and largest temperature.
#' @param penalty Regularisation: the weights of the mean squared off-diagonal entry (deviation from 1 where there is
#'   none) and of the mean squared intercept; one number for both. Of `map_diag()` the weight of the parameters' mean
#'   squared deviation from the start, without which tiny probabilities can be driven to 0.
#' @param diagonal Whether the matrix is diagonal: vector scaling, by name `"vector"`. `"dirichlet"` is the matrix with
#'   a penalty of 0.01.
#' @param hidden Widths of the hidden layers.
#' @param n_bins,type Number and type of bins: of equal `"mass"` or equal `"width"`.
#' @param model Name of a model (`"none"`, `"intercept"`, `"slope"` or `"flexible"`), used regardless of the tests; or
#'   `NULL`, to choose it by the closed test.
#' @param df Degrees of freedom of the flexible model's curve, 2 to 6; the intercept is one more. Its df + 1 knots are
#'   equally spaced quantiles of the logits, from 5% to 95% (10% with df = 2, 2.5% with df = 6).
#' @param alpha Level of the tests: how often predictions that need no change are changed.
#' @return A `ce_choice`, which holds options and no data.
#' @section Errors:
#' `calibrisk_error_argument` where an option is out of range.
#' @name ce_maps
#' @aliases map_isotonic map_variance
#' @examples
#' set.seed(1)
#' p <- runif(500)
#' y <- rbinom(500, 1, plogis(0.5 * qlogis(p)))
#' map_beta(penalty = 0.01)
#' ce_recalibrate(p, y, method = map_beta(penalty = 0.01))
#' ce_recalibrate(p, y, method = map_histogram(n_bins = 5))
#' ce_recalibrate(p, y, method = map_update(df = 4))
NULL
