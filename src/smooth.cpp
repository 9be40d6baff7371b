// SPDX-License-Identifier: GPL-3.0-or-later
// Smooth curves, and what samples add to cells of rows.
#include "r_engine.h"
#include <calibrisk/classical/cell_draws.h>
#include <calibrisk/classical/loess.h>

// x ascending; `copies` may be empty. Empty where a local fit is nearly singular.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_loess(Rcpp::NumericVector x, Rcpp::NumericVector y, Rcpp::NumericVector w,
                              Rcpp::NumericVector copies, double span, double leaf) {
  const calibrisk::Vector fit =
      calibrisk::loess(as_vector(x), as_vector(y), as_vector(w), as_vector(copies), span, leaf);
  return Rcpp::NumericVector(fit.data(), fit.data() + fit.size());
}

// [3 cells x times]; `cluster` from 1, or empty as `w` and `copies`.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_resampled_cells(Rcpp::NumericVector x, Rcpp::NumericVector y,
                                        Rcpp::NumericVector w, Rcpp::NumericVector copies,
                                        std::vector<int> end, std::vector<int> cluster, int times,
                                        double seed, int threads) {
  REngine engine(threads);
  int n_clusters = 0;
  for (int& own : cluster) n_clusters = std::max(n_clusters, own--);
  return wrap_matrix(calibrisk::resampled_cells(
      engine, {as_vector(x), as_vector(y), as_vector(w), as_vector(copies), end}, cluster,
      n_clusters, times, static_cast<std::uint64_t>(seed)));
}

// [cells x times], outcomes drawn from y.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_redrawn_cells(Rcpp::NumericVector y, Rcpp::NumericVector w,
                                      Rcpp::NumericVector copies, std::vector<int> end, int times,
                                      double seed, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::redrawn_cells(
      engine, {as_vector(y), as_vector(y), as_vector(w), as_vector(copies), end}, times,
      static_cast<std::uint64_t>(seed)));
}
