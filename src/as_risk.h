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

inline Rcpp::List wrap_risk(const calibrisk::PairRisk& risk) {
  return named_list({{"risk", risk.risk},
                     {"projections", risk.projections},
                     {"zero_risk", risk.zero_risk},
                     {"zero_projections", risk.zero_projections},
                     {"squared", risk.squared},
                     {"n", static_cast<double>(risk.n_obs)},
                     {"n_missing", risk.n_missing},
                     {"clipped", risk.clipped}});
}

#endif
