// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_EXPLICIT  // for all units: linalg/eigen_products.h
#include "as_risk.h"
#include <calibrisk/methods/ridge_explicit.h>
#include <calibrisk/taylor_risk.h>

namespace {

calibrisk::TaylorFeatures as_taylor(double centre, double gamma, double scale, int rank) {
  calibrisk::require(rank >= 1, "Explicit features have a rank of at least 1.");
  calibrisk::TaylorFeatures features;
  features.centre = centre;
  features.gamma = gamma;
  features.scale = scale;
  features.rank = rank;
  return features;
}

calibrisk::TaylorFeatures as_taylor(const Rcpp::List& map) {
  return as_taylor(number_field(map, "centre"), number_field(map, "gamma"),
                   number_field(map, "scale"), static_cast<int>(number_field(map, "rank")));
}

calibrisk::TaylorForm as_taylor_form(const Rcpp::List& map,
                                     const Rcpp::Nullable<Rcpp::NumericMatrix>& basis,
                                     const Rcpp::Nullable<Rcpp::NumericMatrix>& core) {
  const Rcpp::NumericMatrix b = core_or_empty(basis), m = core_or_empty(core);
  return {as_taylor(map), as_matrix(b), as_matrix(m)};
}

}  // namespace

// Explicit features of scalars, times a basis unless that is NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_taylor_features(Rcpp::NumericVector x, double centre, double gamma,
                                        double scale, int rank,
                                        Rcpp::Nullable<Rcpp::NumericMatrix> basis, int threads) {
  REngine engine(threads);
  const Rcpp::NumericMatrix b =
      basis.isNull() ? Rcpp::NumericMatrix(0, rank) : Rcpp::NumericMatrix(basis.get());
  Rcpp::NumericMatrix out(Rcpp::no_init(x.size(), b.ncol()));
  as_taylor(centre, gamma, scale, rank)
      .evaluate(engine, as_vector(x), as_matrix(b),
                Eigen::Map<calibrisk::Matrix>(out.begin(), out.nrow(), out.ncol()));
  return out;
}

// Risk of their form, and h(p_i, p_i).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_taylor_risk(Rcpp::NumericMatrix residuals, Rcpp::NumericVector x, Rcpp::List map,
                           Rcpp::Nullable<Rcpp::NumericMatrix> basis,
                           Rcpp::Nullable<Rcpp::NumericMatrix> core, int threads) {
  REngine engine(threads);
  const calibrisk::TaylorForm form = as_taylor_form(map, basis, core);
  return written_risk(x.size(), [&](const calibrisk::RiskRows& rows) {
    return calibrisk::taylor_risk(engine, as_matrix(residuals), as_vector(x), form, rows);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_taylor_squared(Rcpp::NumericVector x, Rcpp::List map,
                                       Rcpp::Nullable<Rcpp::NumericMatrix> basis,
                                       Rcpp::Nullable<Rcpp::NumericMatrix> core, int threads) {
  REngine engine(threads);
  return wrap_vector(
      calibrisk::taylor_squared(engine, as_vector(x), as_taylor_form(map, basis, core)));
}
