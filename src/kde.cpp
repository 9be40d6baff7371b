// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_weights.h"
#include "r_engine.h"
#include <calibrisk/methods/kde_path.h>

namespace {

Rcpp::NumericMatrix with_na(const calibrisk::Matrix& x) {
  Rcpp::NumericMatrix out = wrap_matrix(x);
  for (double& value : out) {
    if (std::isnan(value)) value = NA_REAL;
  }
  return out;
}

}  // namespace

// Kernel-weighted label means at the rows of x, or (leave_one_out) of features: [m x K], a
// scalar [m x 1].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_kde_ratio(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels,
                                  int n_classes, Rcpp::NumericMatrix x, double bandwidth,
                                  bool leave_one_out, double direct_pairs,
                                  Rcpp::NumericVector weights, Rcpp::NumericVector copies,
                                  int threads, SEXP progress) {
  REngine engine(threads, progress);
  return with_na(calibrisk::kde_ratio(engine, as_matrix(features), as_labels(labels), n_classes,
                                      as_matrix(x), bandwidth, leave_one_out, direct_pairs,
                                      as_vector(weights), as_vector(copies)));
}

// Kernel-weighted label means at the rows of features, without the row and without its fold:
// list(own, fold), [n x K] each. Of rows with the same `origin` (from 1), which are equal, there is
// no `own`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_kde_left_out(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels,
                            Rcpp::IntegerVector fold, double bandwidth, Rcpp::NumericVector weights,
                            int threads, SEXP progress,
                            Rcpp::Nullable<Rcpp::IntegerVector> origin = R_NilValue) {
  REngine engine(threads, progress);
  if (origin.isNotNull()) {
    return named_list({{"fold", with_na(calibrisk::kde_fold_left_out(
                                    engine, as_matrix(features), as_labels(labels), as_labels(fold),
                                    bandwidth, as_vector(weights), as_labels(origin.get())))}});
  }
  const calibrisk::KdeLeftOut out =
      calibrisk::kde_left_out(engine, as_matrix(features), as_labels(labels), as_labels(fold),
                              bandwidth, as_vector(weights));
  return named_list({{"own", with_na(out.own)}, {"fold", with_na(out.fold)}});
}

// Leave-one-out log densities at rows (from 1) for every bandwidth, [rows x bandwidths].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_kde_loo_density(Rcpp::NumericMatrix features, Rcpp::IntegerVector rows,
                                        Rcpp::NumericVector bandwidths, int threads,
                                        SEXP progress) {
  REngine engine(threads, progress);
  std::vector<calibrisk::Index> at(rows.begin(), rows.end());
  for (calibrisk::Index& i : at) --i;
  return wrap_matrix(calibrisk::kde_loo_density(
      engine, as_matrix(features), at, std::vector<double>(bandwidths.begin(), bandwidths.end())));
}

// [[Rcpp::export(rng = false)]]
double cpp_likely_bandwidth(Rcpp::NumericMatrix features, Rcpp::NumericVector bandwidths, int many,
                            Rcpp::IntegerVector race, Rcpp::NumericVector copies, int threads,
                            SEXP progress) {
  REngine engine(threads, progress);
  return calibrisk::likely_bandwidth(
      engine, as_matrix(features), std::vector<double>(bandwidths.begin(), bandwidths.end()), many,
      std::vector<int>(race.begin(), race.end()), as_vector(copies));
}

// Risks and squared errors of every bandwidth and fold (fold 0: test rows).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_kde_path(Rcpp::NumericMatrix features, Rcpp::NumericMatrix residuals,
                        Rcpp::IntegerVector labels, Rcpp::IntegerVector fold, int n_folds,
                        Rcpp::NumericVector bandwidths, double direct_pairs,
                        Rcpp::NumericVector weights, Rcpp::NumericVector copies, int threads,
                        SEXP progress) {
  REngine engine(threads, progress);
  const calibrisk::KdePath path =
      calibrisk::kde_path(engine, as_matrix(features), as_matrix(residuals), as_labels(labels),
                          std::vector<int>(fold.begin(), fold.end()), n_folds,
                          std::vector<double>(bandwidths.begin(), bandwidths.end()), direct_pairs,
                          as_row_weights(weights, copies));
  return named_list({{"risk", with_na(path.risk)},
                     {"squared_error", with_na(path.squared_error)},
                     {"squared_error_test", with_na(path.squared_error_test)}});
}
