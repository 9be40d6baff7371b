// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_FACTORS  // for all units: linalg/eigen_products.h
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/kernels/pivoted_cholesky.h>

using calibrisk::Index;

// Pivoted Cholesky factor of the Gram matrix of the rows of x: L [n x r], pivots
// (1-based rows, in order), residual_trace (mean diagonal of K - L L').
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pivoted_cholesky(Rcpp::List kernel, Rcpp::NumericMatrix x, double tolerance,
                                double max_rank, int threads) {
  REngine engine(threads);
  calibrisk::CholeskyOptions options;
  options.tolerance = tolerance;
  options.max_rank = static_cast<Index>(std::min(max_rank, static_cast<double>(x.nrow())));
  const calibrisk::KernelFactor factor =
      calibrisk::pivoted_cholesky(engine, as_kernel(kernel), as_matrix(x), options);
  Rcpp::IntegerVector pivots(factor.rank());
  for (Index i = 0; i < factor.rank(); ++i) {
    pivots[i] = static_cast<int>(factor.pivots[static_cast<std::size_t>(i)]) + 1;
  }
  return named_list(
      {{"L", factor.l}, {"pivots", pivots}, {"residual_trace", factor.residual_trace()}});
}

// Rows of L for new points, from the factor's pivot rows and its triangle L[pivots, ].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_factor_features(Rcpp::List kernel, Rcpp::NumericMatrix pivot_rows,
                                        Rcpp::NumericMatrix triangle, Rcpp::NumericMatrix x,
                                        int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::factor_features(engine, as_kernel(kernel), as_matrix(pivot_rows),
                                                as_matrix(triangle), as_matrix(x)));
}
