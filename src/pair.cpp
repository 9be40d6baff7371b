// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_risk.h"

using calibrisk::Index;
using calibrisk::PairTile;

// Risk of h = phi'M phi by the cheaper of the linear and the tiled form.
// path: 0 = the cheaper, 1 = linear, 2 = tiled.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_risk(Rcpp::NumericMatrix residuals, Rcpp::NumericMatrix features,
                         Rcpp::Nullable<Rcpp::NumericMatrix> core, int threads, int path = 0) {
  REngine engine(threads);
  const Rcpp::NumericMatrix m = core_or_empty(core);
  const auto risk = path == 1   ? calibrisk::pair_risk_linear
                    : path == 2 ? calibrisk::pair_risk_tiled
                                : calibrisk::pair_risk;
  return wrap_risk(risk(engine, as_matrix(residuals), as_matrix(features), as_matrix(m)));
}

// Risk from each row's terms in S, C and G, its |e_i|^2 and its h(p_i, p_i).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_risk_rows(Rcpp::NumericVector residual, Rcpp::NumericVector cross,
                              Rcpp::NumericVector feature, Rcpp::NumericVector length,
                              Rcpp::NumericVector squared) {
  return wrap_risk(
      calibrisk::pair_risk_of_rows({as_vector(residual), as_vector(cross), as_vector(feature),
                                    as_vector(length), as_vector(squared)}));
}

// h(p_i, p_i)
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_pair_squared(Rcpp::NumericMatrix features,
                                     Rcpp::Nullable<Rcpp::NumericMatrix> core, int threads) {
  REngine engine(threads);
  const Rcpp::NumericMatrix m = core_or_empty(core);
  return wrap_vector(calibrisk::pair_squared(engine, as_matrix(features), as_matrix(m)));
}

// Risk of the m x m matrix h.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_risk_matrix(Rcpp::NumericMatrix residuals, Rcpp::NumericMatrix h,
                                bool skip_missing, int threads) {
  REngine engine(threads);
  const Index stride = h.nrow();
  return wrap_risk(calibrisk::pair_risk_of_function(
      engine, as_matrix(residuals),
      [&](Index row, Index col, Index n_rows, Index n_cols) {
        return PairTile(h.begin() + row + col * stride, n_rows, n_cols,
                        Eigen::OuterStride<>(stride));
      },
      skip_missing));
}

// Risk of an R function of tiles: h(first row, last row, first column, last column),
// 1-based, returns a double matrix of that size.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_risk_function(Rcpp::NumericMatrix residuals, Rcpp::Function h,
                                  bool skip_missing, int threads) {
  REngine engine(threads);
  Rcpp::NumericMatrix values;
  return wrap_risk(calibrisk::pair_risk_of_function(
      engine, as_matrix(residuals),
      [&](Index row, Index col, Index n_rows, Index n_cols) {
        values = h(static_cast<double>(row + 1), static_cast<double>(row + n_rows),
                   static_cast<double>(col + 1), static_cast<double>(col + n_cols));
        calibrisk::require(values.nrow() == n_rows && values.ncol() == n_cols,
                           "A tile of h has the wrong size.");
        return PairTile(values.begin(), n_rows, n_cols, Eigen::OuterStride<>(n_rows));
      },
      skip_missing));
}
