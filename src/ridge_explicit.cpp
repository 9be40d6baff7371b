// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_ridge.h"
#include "as_risk.h"
#include "as_weights.h"
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

// Rank of the explicit features of a Gaussian kernel on an interval; 0 above max_rank.
// [[Rcpp::export(rng = false)]]
int cpp_taylor_rank(double gamma, double half_range, int max_rank) {
  return static_cast<int>(calibrisk::TaylorFeatures::rank_for(gamma, half_range, max_rank));
}

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

// Eigenbases of the training sets of all folds, from explicit features of scalars; map NULL: from
// the columns of x.
// [[Rcpp::export(rng = false)]]
SEXP cpp_ridge_explicit(Rcpp::NumericMatrix x, Rcpp::NumericMatrix residuals,
                        Rcpp::IntegerVector fold, int n_folds, Rcpp::Nullable<Rcpp::List> map,
                        Rcpp::Nullable<Rcpp::List> design, int threads, SEXP progress) {
  REngine engine(threads, progress);
  const RowDesign of(design);
  const auto features = map.isNull()
                            ? calibrisk::ExplicitFeatures(x.ncol())
                            : calibrisk::ExplicitFeatures(as_taylor(Rcpp::List(map.get())));
  return owned(std::make_unique<calibrisk::ExplicitRidge>(engine, features, as_matrix(x),
                                                          as_matrix(residuals), as_labels(fold),
                                                          n_folds, of.weights, of.clusters));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_explicit_path(SEXP ridge, std::string type, Rcpp::NumericVector ridges,
                                   Rcpp::NumericMatrix x, Rcpp::NumericMatrix residuals,
                                   int threads, SEXP progress) {
  auto* pointer = held<calibrisk::ExplicitRidge>(ridge);
  REngine engine(threads, progress);
  return wrap_path(pointer->path(engine, ridge_type(type), as_vector(ridges), as_matrix(x),
                                 as_matrix(residuals)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ridge_explicit_form(SEXP ridge, int fold, std::string type, double value) {
  auto* pointer = held<calibrisk::ExplicitRidge>(ridge);
  REngine engine(1);
  const calibrisk::RidgeSpectrum& spectrum = pointer->spectrum(fold);
  return wrap_form(engine, spectrum, type, value, spectrum.rank());
}
