// SPDX-License-Identifier: GPL-3.0-or-later
// Moments of predicted means and variances.
#include "as_weights.h"
#include <calibrisk/classical/moments.h>

// Estimates, standard errors and skewness in the columns of `table`, and the rows of both slopes.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_moments(Rcpp::NumericVector mean, Rcpp::NumericVector variance,
                       Rcpp::NumericVector outcome, Rcpp::Nullable<Rcpp::List> design) {
  calibrisk::require(variance.size() == mean.size() && outcome.size() == mean.size(),
                     "moments: one variance and outcome per row.");
  const RowDesign rows(design);
  const calibrisk::RowMoments of(rows.weights, rows.clusters, rows.strata, mean.size());
  const calibrisk::MomentTable found =
      calibrisk::moment_table(of, as_vector(mean), as_vector(variance), as_vector(outcome));
  calibrisk::Matrix table(9, 3);
  for (int k = 0; k < 9; ++k) {
    table.row(k) << found.of[k].value, found.of[k].std_error, found.of[k].skew;
  }
  return named_list(
      {{"table", table}, {"mean_row", found.mean_row}, {"variance_row", found.variance_row}});
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_skewed_quantile(Rcpp::NumericVector q, Rcpp::NumericVector skew) {
  calibrisk::require(q.size() == 1 || skew.size() == 1, "skewed_quantile: one of both is single.");
  Rcpp::NumericVector out(q.size() * skew.size());
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    out[i] = calibrisk::skewed_quantile(q[q.size() == 1 ? 0 : i], skew[skew.size() == 1 ? 0 : i]);
  }
  return out;
}

// Bias, slope, squared error, gap, slope of variances and ratio of `times` samples in which any
// column of `pool` may be the outcome of a row: [times x 6]. Draws in the order of the rows `at`.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_ensemble_null(Rcpp::NumericMatrix pool, Rcpp::IntegerVector at, int times,
                                      Rcpp::Nullable<Rcpp::List> design) {
  calibrisk::require(at.size() == pool.nrow(), "ensemble_null: all rows in an order.");
  const RowDesign rows(design);
  const calibrisk::RowMoments of(rows.weights, rows.clusters, rows.strata, pool.nrow());
  std::vector<int> pick(static_cast<std::size_t>(pool.nrow()));
  Rcpp::NumericMatrix out(times, 6);
  for (int t = 0; t < times; ++t) {
    for (const int i : at) {
      pick.at(static_cast<std::size_t>(i) - 1) = static_cast<int>(R_unif_index(pool.ncol()));
    }
    const auto picked = [&](calibrisk::Index i) { return pick[static_cast<std::size_t>(i)]; };
    const auto found = calibrisk::exchanged_moments(of, as_matrix(pool), picked);
    int column = 0;
    for (const int k : {0, 1, 2, 4, 5, 6}) out(t, column++) = found.of[k].value;
  }
  return out;
}
