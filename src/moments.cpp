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
