// SPDX-License-Identifier: GPL-3.0-or-later
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

// A factor of the rows of x, to be extended.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_factor(Rcpp::List kernel, Rcpp::NumericMatrix x) {
  return owned(std::make_unique<calibrisk::KernelFactor>(
      calibrisk::empty_factor(as_kernel(kernel), as_matrix(x))));
}

// Goes on until the residual trace is at most `tolerance` or the rank at least `enough`;
// the steps so far (rank, residual trace) and whether nothing but rounding is left. However large
// the ridge that the tolerance follows, the kernel itself is met to 1e-5: `tolerance` as used.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_extend(SEXP factor, Rcpp::NumericMatrix x, double tolerance, double enough,
                            int threads, SEXP progress) {
  auto* pointer = held<calibrisk::KernelFactor>(factor);
  REngine engine(threads, progress);
  calibrisk::CholeskyOptions options;
  const calibrisk::Vector diagonal = calibrisk::gram_diagonal(pointer->kernel, as_matrix(x));
  options.tolerance = std::min(tolerance, 1e-5 * (x.nrow() > 0 ? diagonal.mean() : 0.0));
  options.enough = static_cast<Index>(std::min(enough, static_cast<double>(x.nrow())));
  calibrisk::extend_factor(engine, as_matrix(x), options, *pointer);
  const auto& steps = pointer->steps;
  Rcpp::NumericVector rank(steps.size()), trace(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    rank[static_cast<R_xlen_t>(i)] = static_cast<double>(steps[i].rank);
    trace[static_cast<R_xlen_t>(i)] = steps[i].residual_trace;
  }
  return named_list({{"rank", rank},
                     {"residual_trace", trace},
                     {"full", pointer->full},
                     {"tolerance", options.tolerance}});
}

// What maps new points: the pivots' rows and the triangle of the first `rank` columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_pivots(SEXP factor, int rank) {
  auto* pointer = held<calibrisk::KernelFactor>(factor);
  const calibrisk::Matrix triangle = pointer->triangle();
  return named_list({{"pivot_rows", wrap_matrix(pointer->pivot_rows.topRows(rank))},
                     {"triangle", wrap_matrix(triangle.topLeftCorner(rank, rank))}});
}
