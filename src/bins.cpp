// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/methods/bins.h>

using calibrisk::BinType;

namespace {

BinType bin_type(const std::string& type) {
  return type == "mass" ? BinType::mass : BinType::width;
}

}  // namespace

// Edges, b and v from the fit rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bins_fit(Rcpp::NumericVector z, Rcpp::NumericVector residuals,
                        Rcpp::IntegerVector outcome, int n_bins, std::string type, bool debias) {
  std::vector<double> sorted;
  if (bin_type(type) == BinType::mass) {
    sorted.assign(z.begin(), z.end());
    std::sort(sorted.begin(), sorted.end());
  }
  const std::vector<double> edges = calibrisk::bin_edges(bin_type(type), n_bins, sorted);
  const auto cells =
      calibrisk::cell_sums(as_vector(z), as_vector(residuals), as_labels(outcome), edges);
  const calibrisk::BinValues values = calibrisk::bin_values(cells, debias);
  return Rcpp::List::create(Rcpp::Named("edges") = edges, Rcpp::Named("b") = values.b,
                            Rcpp::Named("v") = values.v);
}

// Risks over numbers of bins (rows) and folds (columns).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bins_path(Rcpp::NumericVector z, Rcpp::NumericVector residuals,
                         Rcpp::IntegerVector outcome, Rcpp::IntegerVector fold, int n_folds,
                         Rcpp::IntegerVector n_bins, std::string type, bool debias, int threads) {
  REngine engine(threads);
  const calibrisk::BinsProblem problem(engine, as_vector(z), as_vector(residuals),
                                       as_labels(outcome), as_labels(fold), n_folds);
  const auto path =
      calibrisk::bins_path(engine, problem, as_labels(n_bins), bin_type(type), debias);
  return Rcpp::List::create(
      Rcpp::Named("risk") = wrap_matrix(path.risk),
      Rcpp::Named("squared_error") = wrap_matrix(path.squared_error),
      Rcpp::Named("squared_error_test") = wrap_matrix(path.squared_error_test));
}
