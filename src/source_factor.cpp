// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_PAIRS  // for all units: linalg/eigen_products.h
#include "as_source.h"
#include "r_engine.h"
#include <calibrisk/ckce/residual_factor.h>
#include <calibrisk/pairs/factor_sums.h>

using namespace calibrisk;

// A factor L of the kernel on the predictions, K ~ L L', whatever its form.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_source_factor(Rcpp::List prediction, double tolerance, double max_rank, int threads,
                             SEXP progress) {
  REngine engine(threads, progress);
  const SourceFactor factor = source_factor(engine, *as_prediction_source(prediction), tolerance,
                                            static_cast<Index>(std::min(max_rank, 2e9)));
  Rcpp::IntegerVector pivots(factor.l.cols());
  std::transform(factor.pivots.begin(), factor.pivots.end(), pivots.begin(),
                 [](Index j) { return static_cast<int>(j) + 1; });
  return named_list(
      {{"L", factor.l},
       {"pivots", pivots},
       {"residual_trace", factor.residual.size() == 0 ? 0.0 : factor.residual.mean()}});
}

// The kernel of every row with itself, and with these rows, numbered from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_source_diagonal(Rcpp::List prediction) {
  return wrap_vector(as_prediction_source(prediction)->diagonal());
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_source_columns(Rcpp::List prediction, Rcpp::IntegerVector rows) {
  const PairSourcePtr source = as_prediction_source(prediction);
  Matrix out(source->size(), rows.size());
  for (Index j = 0; j < out.cols(); ++j) {
    require(rows[j] >= 1 && rows[j] <= source->size(), "source_columns: no such row.");
    source->block(0, rows[j] - 1, out.middleCols(j, 1));
  }
  return wrap_matrix(out);
}

// Residuals D of a target, h_Y + diag(raise) ~ D D', and the diagonal of what D lacks.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_residual_factor(Rcpp::List target, Rcpp::NumericVector raise, double dense_rows,
                               double max_rank, int threads, SEXP progress) {
  REngine engine(threads, progress);
  const calibrisk::TargetPtr source = as_target(target);
  const calibrisk::ResidualFactor out =
      calibrisk::residual_factor(engine, calibrisk::RaisedSource(*source, as_vector(raise)),
                                 static_cast<Index>(dense_rows), static_cast<Index>(max_rank));
  return named_list({{"residuals", out.d}, {"missed", out.missed}});
}

// E k(Z_i, Z_i') of two outcomes of each prediction.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_target_inner(Rcpp::List target, int threads) {
  REngine r_engine(threads);
  const calibrisk::TargetPtr source = as_target(target);
  calibrisk::Vector out(source->size());
  calibrisk::parallel_for(r_engine, out.size(),
                          [&](Index i) { source->inner(i, i, out.segment(i, 1)); });
  return wrap_vector(out);
}
