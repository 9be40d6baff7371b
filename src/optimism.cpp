// SPDX-License-Identifier: GPL-3.0-or-later
// Losses of rows outside of bootstrap samples.
#include "r_values.h"

#include <algorithm>
#include <cmath>

// The .632+ estimates of mean losses, [rows x losses]: the apparent loss and that of rows outside
// of their samples (`samples`: losses of each, NaN inside), weighted by how far the latter is on
// the way to the loss `none` of predictions without information (Efron and Tibshirani 1997, Eqs. 24
// to 32). NA if a row is in all samples. w may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_point_632(Rcpp::NumericMatrix losses, Rcpp::NumericVector none,
                                  Rcpp::List samples, Rcpp::NumericVector w) {
  const int n = losses.nrow(), kinds = losses.ncol();
  calibrisk::require(none.size() == kinds && (w.size() == 0 || w.size() == n),
                     "point_632: a loss without information of each kind, and a weight per row.");
  Rcpp::NumericVector out(kinds, NA_REAL);
  double total = 0.0;
  for (int i = 0; i < n; ++i) total += w.size() > 0 ? w[i] : 1.0;
  for (int k = 0; k < kinds; ++k) {
    std::vector<double> sum(static_cast<std::size_t>(n)), count(sum.size());
    for (R_xlen_t s = 0; s < samples.size(); ++s) {
      const Rcpp::NumericMatrix sample = samples[s];
      calibrisk::require(sample.nrow() == n && sample.ncol() == kinds,
                         "point_632: losses of rows.");
      for (int i = 0; i < n; ++i) {
        if (std::isnan(sample(i, k))) continue;
        sum[static_cast<std::size_t>(i)] += sample(i, k);
        count[static_cast<std::size_t>(i)] += 1.0;
      }
    }
    if (std::find(count.begin(), count.end(), 0.0) != count.end()) continue;
    double apparent = 0.0, outside = 0.0;
    for (int i = 0; i < n; ++i) {
      const double share = (w.size() > 0 ? w[i] : 1.0) / total;
      apparent += share * losses(i, k);
      outside += share * (sum[static_cast<std::size_t>(i)] / count[static_cast<std::size_t>(i)]);
    }
    outside = std::min(outside, none[k]);
    const bool over = outside > apparent && none[k] > apparent;
    const double gone = over ? (outside - apparent) / (none[k] - apparent) : 0.0;
    const double weight = 0.632 / (1.0 - 0.368 * gone);
    out[k] = (1.0 - weight) * apparent + weight * outside;
  }
  return out;
}
