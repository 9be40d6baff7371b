// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_RISKS  // for all units: linalg/eigen_products.h
#include "as_risk.h"
#include "as_weights.h"
#include <calibrisk/pair_design.h>

using calibrisk::Index;
using calibrisk::PairTile;

// Risk of h = phi'M phi by the cheaper of the linear and the tiled form.
// path: 0 = the cheaper, 1 = linear, 2 = tiled, both of plain rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_risk(Rcpp::NumericMatrix residuals, Rcpp::NumericMatrix features,
                         Rcpp::Nullable<Rcpp::NumericMatrix> core, int threads, int path = 0,
                         Rcpp::Nullable<Rcpp::List> design = R_NilValue) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const Rcpp::NumericMatrix m = core_or_empty(core);
  const auto e = as_matrix(residuals), phi = as_matrix(features), M = as_matrix(m);
  if (path == 1) return wrap_risk(calibrisk::pair_risk_linear(engine, e, phi, M));
  if (path == 2) return wrap_risk(calibrisk::pair_risk_tiled(engine, e, phi, M));
  const RowDesign of(design);
  return written_risk(residuals.nrow(), [&](const calibrisk::RiskRows& rows) {
    return calibrisk::pair_risk(engine, e, phi, M, of.weights, of.clusters, rows);
  });
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

// Risk of an R function of tiles: h(rows, columns) of row numbers from 1 on returns a double matrix
// of that size.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_risk_function(Rcpp::NumericMatrix residuals, Rcpp::Function h,
                                  bool skip_missing, int threads,
                                  Rcpp::Nullable<Rcpp::List> design = R_NilValue) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto e = as_matrix(residuals);
  const RowDesign of(design);
  const bool plain = of.weights.all_equal() && !of.clusters.given();
  Rcpp::NumericMatrix values;
  calibrisk::Matrix rooted;
  // row(i): the number of row i, from 0
  const auto risk = [&](const calibrisk::ConstMatrixRef& e_rows, const auto& row) {
    const auto numbers = [&](Index begin, Index size) {
      Rcpp::IntegerVector out(size);
      for (Index i = 0; i < size; ++i) out[i] = static_cast<int>(row(begin + i)) + 1;
      return out;
    };
    return calibrisk::pair_risk_of_function(
        engine, e_rows,
        [&](Index i, Index j, Index n_rows, Index n_cols) {
          values = h(numbers(i, n_rows), numbers(j, n_cols));
          calibrisk::require(values.nrow() == n_rows && values.ncol() == n_cols,
                             "A tile of h has the wrong size.");
          const double* first = values.begin();
          if (!plain) {
            rooted = as_matrix(values);
            for (Index c = 0; c < n_cols; ++c) {
              for (Index r = 0; r < n_rows; ++r) {
                rooted(r, c) *= std::sqrt(of.weights(row(i + r)) * of.weights(row(j + c)));
              }
            }
            first = rooted.data();
          }
          return PairTile(first, n_rows, n_cols, Eigen::OuterStride<>(n_rows));
        },
        skip_missing);
  };
  if (plain) return wrap_risk(risk(e, [](Index i) { return i; }));
  using Rows = std::vector<Index>;
  return wrap_risk(calibrisk::design_risk(e, of.weights, of.clusters, [&](const Rows& rows) {
    return risk(calibrisk::rooted_rows(e, rows, of.weights),
                [&](Index i) { return rows[static_cast<std::size_t>(i)]; });
  }));
}
