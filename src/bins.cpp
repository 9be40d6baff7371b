// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_risk.h"
#include "as_weights.h"
#include "r_engine.h"
#include <calibrisk/methods/bins_path.h>
#include <calibrisk/methods/bounded_gap.h>
#include <calibrisk/methods/steps.h>

using calibrisk::BinType;

namespace {

BinType bin_type(const std::string& type) {
  return type == "mass" ? BinType::mass : BinType::width;
}

Rcpp::List wrap_fit(const std::vector<double>& edges, const calibrisk::BinValues& values) {
  return named_list({{"edges", edges}, {"b", values.b}, {"v", values.v}});
}

std::vector<calibrisk::StepPart> as_steps(const Rcpp::List& parts) {
  std::vector<calibrisk::StepPart> out;
  for (SEXP part : parts) {
    const Rcpp::List of(part);
    out.push_back({numbers_field(of, "edges"), numbers_field(of, "b"), numbers_field(of, "v")});
  }
  return out;
}

}  // namespace

// Edges, b and v from the fit rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bins_fit(Rcpp::NumericVector z, Rcpp::NumericVector residuals,
                        Rcpp::IntegerVector outcome, int n_bins, std::string type, bool debias,
                        Rcpp::Nullable<Rcpp::List> design = R_NilValue) {
  const RowDesign of(design);
  const calibrisk::Labels labels = as_labels(outcome);
  calibrisk::SortedValues sorted;
  if (bin_type(type) == BinType::mass) {
    sorted = calibrisk::sort_values(as_vector(z), of.weights);
  }
  const std::vector<double> edges = calibrisk::bin_edges(bin_type(type), n_bins, sorted);
  const auto cells =
      calibrisk::cell_sums(as_vector(z), as_vector(residuals), labels, edges, of.weights);
  calibrisk::BinValues values = calibrisk::bin_values(cells, debias);
  if (debias && of.clusters.given()) {
    values.v =
        calibrisk::clustered_noise(as_vector(z), labels, edges, cells, of.weights, of.clusters);
  }
  return wrap_fit(edges, values);
}

// The rows of every fold, sorted: what all numbers of bins share.
// [[Rcpp::export(rng = false)]]
SEXP cpp_bins_problem(Rcpp::NumericVector z, Rcpp::NumericVector residuals,
                      Rcpp::IntegerVector outcome, Rcpp::IntegerVector fold, int n_folds,
                      Rcpp::Nullable<Rcpp::List> design, int threads) {
  REngine engine(threads);
  const RowDesign of(design);
  return owned(std::make_unique<calibrisk::BinsProblem>(engine, as_vector(z), as_vector(residuals),
                                                        as_labels(outcome), as_labels(fold),
                                                        n_folds, of.weights, of.clusters));
}

// Edges, b and v from the rows outside a fold.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bins_fold_fit(SEXP problem, int fold, int n_bins, std::string type, bool debias) {
  const calibrisk::BinsFit fit = calibrisk::bins_fit(*held<calibrisk::BinsProblem>(problem), fold,
                                                     n_bins, bin_type(type), debias);
  return wrap_fit(fit.edges, fit.values);
}

// Risks over numbers of bins (rows) and folds (columns).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bins_path(SEXP problem, Rcpp::IntegerVector n_bins, std::string type, bool debias,
                         int threads) {
  REngine engine(threads);
  const auto path = calibrisk::bins_path(engine, *held<calibrisk::BinsProblem>(problem),
                                         as_labels(n_bins), bin_type(type), debias);
  return named_list({{"risk", path.risk},
                     {"squared_error", path.squared_error},
                     {"squared_error_test", path.squared_error_test}});
}

// The mean of debiased bins, `parts` with edges, b and v each: phi, h(p_i, p_i), and the risk of
// plain rows.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_step_features(Rcpp::List parts, Rcpp::NumericVector z) {
  const auto of = as_steps(parts);
  return wrap_matrix(calibrisk::step_features(of, calibrisk::step_rows(of, as_vector(z))));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_step_squared(Rcpp::List parts, Rcpp::NumericVector z) {
  return wrap_vector(calibrisk::step_squared(calibrisk::step_rows(as_steps(parts), as_vector(z))));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_step_risk(Rcpp::List parts, Rcpp::NumericVector z, Rcpp::NumericVector residuals) {
  calibrisk::require(z.size() == residuals.size(), "steps: a residual for each row.");
  return wrap_risk(calibrisk::step_risk(as_steps(parts), as_vector(z), as_vector(residuals)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_bounded_gap(Rcpp::NumericMatrix gap, Rcpp::NumericMatrix p) {
  return wrap_matrix(calibrisk::bounded_gap(as_matrix(gap), as_matrix(p)));
}
