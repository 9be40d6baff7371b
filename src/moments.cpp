// SPDX-License-Identifier: GPL-3.0-or-later
// Moments of predicted means and variances.
#include "r_values.h"
#include <calibrisk/classical/moments.h>

// Estimates, standard errors and skewness in the columns of `table`, and the rows of both slopes;
// w, copies and cluster (from 1) may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_moments(Rcpp::NumericVector mean, Rcpp::NumericVector variance,
                       Rcpp::NumericVector outcome, Rcpp::NumericVector w,
                       Rcpp::NumericVector copies, std::vector<int> cluster) {
  calibrisk::require(variance.size() == mean.size() && outcome.size() == mean.size(),
                     "moments: one variance and outcome per row.");
  for (int& own : cluster) --own;
  const calibrisk::RowWeights weights(as_vector(w), as_vector(copies));
  const calibrisk::RowMoments of(weights, cluster, mean.size());
  const calibrisk::MomentTable found =
      calibrisk::moment_table(of, as_vector(mean), as_vector(variance), as_vector(outcome));
  calibrisk::Matrix table(9, 3);
  for (int k = 0; k < 9; ++k) {
    table.row(k) << found.of[k].value, found.of[k].std_error, found.of[k].skew;
  }
  return named_list(
      {{"table", table}, {"mean_row", found.mean_row}, {"variance_row", found.variance_row}});
}
