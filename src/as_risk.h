// SPDX-License-Identifier: GPL-3.0-or-later
// What risks of pair forms take from R and hand to it.
#ifndef CALIBRISK_AS_RISK_H
#define CALIBRISK_AS_RISK_H

#include "r_engine.h"
#include <calibrisk/pair_risk.h>

// NULL, the identity, is the empty matrix in the core.
inline Rcpp::NumericMatrix core_or_empty(const Rcpp::Nullable<Rcpp::NumericMatrix>& core) {
  return core.isNull() ? Rcpp::NumericMatrix(0, 0) : Rcpp::NumericMatrix(core.get());
}

inline Rcpp::List wrap_numbers(const calibrisk::RiskNumbers& risk, const NamedValue& projections,
                               const NamedValue& zero_projections, const NamedValue& squared) {
  return named_list({{"risk", risk.risk},
                     projections,
                     {"zero_risk", risk.zero_risk},
                     zero_projections,
                     squared,
                     {"n", static_cast<double>(risk.n_obs)},
                     {"n_missing", risk.n_missing},
                     {"clipped", risk.clipped}});
}

inline Rcpp::List wrap_risk(const calibrisk::PairRisk& risk) {
  return wrap_numbers(risk, {"projections", risk.projections},
                      {"zero_projections", risk.zero_projections}, {"squared", risk.squared});
}

// The risk of n rows from write(rows), which writes them into R's memory and returns its numbers.
template <class Write>
Rcpp::List written_risk(R_xlen_t n, const Write& write) {
  Rcpp::NumericVector projections(Rcpp::no_init(n)), zero(Rcpp::no_init(n)),
      squared(Rcpp::no_init(n));
  const auto rows = [n](Rcpp::NumericVector& x) {
    return Eigen::Map<calibrisk::Vector>(x.begin(), n);
  };
  const calibrisk::RiskNumbers risk =
      write(calibrisk::RiskRows{rows(projections), rows(zero), rows(squared)});
  return wrap_numbers(risk, {"projections", projections}, {"zero_projections", zero},
                      {"squared", squared});
}

#endif
