// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_source.h"
#include "r_engine.h"
#include <calibrisk/skce/source_factor.h>

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
  return Rcpp::List::create(
      Rcpp::Named("L") = wrap_matrix(factor.l), Rcpp::Named("pivots") = pivots,
      Rcpp::Named("residual_trace") = factor.residual.size() == 0 ? 0.0 : factor.residual.mean());
}
