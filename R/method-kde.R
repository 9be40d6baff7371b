#' Kernel density ratio
#'
#' Estimates the probability of each class at a prediction by the labels of nearby training
#' predictions, weighted with a Dirichlet kernel (a Beta kernel where the prediction is a
#' scalar).
#'
#' @section Definition:
#' With \eqn{h} the bandwidth, \eqn{r(p) = \sum_i e_{y_i} k_h(p; p_i) / \sum_i k_h(p; p_i)}, where
#' \eqn{k_h(\cdot\,; p_i)} is the density of the Dirichlet distribution with parameters
#' \eqn{p_i / h + 1} (Popordanoska et al. 2022; Gruber & Bach 2025, Eqs. 11 and 25). The estimated calibration gap is
#' \eqn{p - r(p)}, so \eqn{h(p, p') = \langle p - r(p), p' - r(p')\rangle}. All training rows are used.
#'
#' At the boundary of the simplex the density is taken literally: \eqn{0 \log 0 = 0}, and
#' \eqn{a \log 0 = -\infty} for \eqn{a > 0}. Only where the weights of all training rows vanish
#' are the coordinates of \eqn{p} replaced by \eqn{\max(p_k, 2^{-53})}; no row is dropped and no
#' floor put under a denominator.
#'
#' @section Invariants:
#' As \eqn{h} grows, \eqn{r} tends to the label mean; as it falls, to the label of the nearest
#' training prediction. One training row gives its label everywhere. Classes that the training
#' rows do not contain get probability 0; columns that are 0 everywhere change nothing.
#'
#' @section Cost:
#' Dirichlet: the number of pairs of training and evaluation rows, once for all folds, times the
#' number of bandwidths. Beta: nearly linear in the number of rows.
#'
#' @param bandwidth Bandwidths \eqn{h > 0}, a grid where there are several. `NULL` is the
#'   published grid: 15 values from 1e-5 to 1e-1, evenly spaced on the log scale, and 0.2, 0.4,
#'   0.6, 0.8, 1.
#' @return An object of class `ce_method`.
#' @references Popordanoska, T., Sayer, R. and Blaschko, M. (2022). A consistent and
#'   differentiable Lp canonical calibration error estimator. *NeurIPS*.
#'
#'   `r ref_gruber_bach`
#' @export
#' @examples
#' method_kde()
#' method_kde(0.1)
method_kde <- function(bandwidth = NULL) {
  check_numbers(bandwidth, lower = 0, open = TRUE, null = TRUE)
  new_method("kde", "bandwidth", bandwidth)
}

#' @export
default_grid.ce_method_kde <- function(method, notion, n) kde_bandwidths()

kde_bandwidths <- function() c(10^seq(-5, -1, length.out = 15), 0.2, 0.4, 0.6, 0.8, 1)

#' @export
fit_form.ce_method_kde <- function(method, problem, point, context) {
  stop_if(nrow(problem$features) == 0, "The kernel density ratio needs at least one training row.",
          "x" = "There is none.", "i" = "Give it more rows, or fewer folds.", class = "empty")
  new_form(
    "kde",
    features = problem$features, labels = problem$labels, bandwidth = point$value, weights = problem$design$w,
    core = NULL, gap = TRUE
  )
}

#' @export
pair_features.ce_form_kde <- function(form, features) {
  features - kde_ratio(form$features, form$labels, ncol(form$features), features, form$bandwidth,
                       direct_pairs = direct_pairs_of(form$features) / 6, weights = form$weights)
}

#' @export
tune_path.ce_method_kde <- function(method, problem, fold, grid, context) {
  path <- cpp_kde_path(
    problem$features, problem$residuals, problem$labels, fold, max(fold), grid$value,
    context$direct_pairs %||% direct_pairs_of(problem$features), problem$design$w %||% numeric(),
    problem$design$copies %||% numeric(), thread_count(), context$progress
  )
  path$form <- function(v, f) {
    fit_checked(method, take_rows(problem, training_rows(fold, f)), list(value = grid$value[v]), context)
  }
  path
}

# Scalar problems with more pairs of rows than this take the near-linear way, which merges ties: where half of the
# values are tied it is the shorter one sooner (measured). A form has the pairs of one fold, a sixth of its path's.
kde_direct_pairs <- 1e6

direct_pairs_of <- function(features) {
  tied <- ncol(features) == 1 && cpp_mostly_tied(features)
  if (tied) kde_direct_pairs / 25 else kde_direct_pairs
}

# Kernel-weighted label means, one row per row of `new` and one column per class; for scalar features (one column,
# labels 0/1) one column, the share of label 1. `leave_one_out`: at the rows of `features`, each without itself.
# `weights`: of the rows of `features`, `copies`: how many each stands for, one of which is left out. NA without a
# training row.
kde_ratio <- function(features, labels, n_classes = ncol(features), new = features, bandwidth, leave_one_out = FALSE,
                      progress = NULL, direct_pairs = kde_direct_pairs, weights = NULL, copies = NULL) {
  cpp_kde_ratio(features, labels, n_classes, new, bandwidth, leave_one_out, direct_pairs, weights %||% numeric(),
                copies %||% numeric(), thread_count(), progress)
}

# The bandwidth of the largest leave-one-out likelihood of `race[k]` evenly spaced rows in round k, from which
# bandwidths retire that are far below the best, and of all up to `many` rows in the last round.
likely_bandwidth <- function(features, progress = NULL, many = 20000L, race = c(500L, 2000L, median_rows),
                             copies = NULL) {
  cpp_likely_bandwidth(features, kde_bandwidths(), many, race, copies %||% numeric(), thread_count(), progress)
}
