// SPDX-License-Identifier: GPL-3.0-or-later
// What both computations of kernel ridge hand to R.
#ifndef CALIBRISK_AS_RIDGE_H
#define CALIBRISK_AS_RIDGE_H

#include "r_engine.h"
#include <calibrisk/methods/ridge_spectrum.h>

#include <algorithm>
#include <string>

inline calibrisk::RidgeType ridge_type(const std::string& type) {
  return type == "kkr" ? calibrisk::RidgeType::kronecker : calibrisk::RidgeType::two_step;
}

inline Rcpp::List wrap_path(const calibrisk::RidgePath& path) {
  return named_list({{"risk", path.risk},
                     {"squared_error", path.squared},
                     {"squared_error_test", path.squared_test},
                     {"rank", path.rank}});
}

// phi(p) = basis' l(p) with core M (kkr), or gap(p) = basis' l(p) (ukkr).
inline Rcpp::List wrap_form(const calibrisk::Engine& engine,
                            const calibrisk::RidgeSpectrum& spectrum, const std::string& type,
                            double ridge, calibrisk::Index rank) {
  using namespace calibrisk;
  if (ridge_type(type) == RidgeType::two_step) {
    return named_list({{"basis", wrap_matrix(engine.dense.multiply(
                                     spectrum.basis, two_step_weights(spectrum, ridge)))},
                       {"core", R_NilValue}});
  }
  const Matrix products = engine.dense.multiply_a_bt(spectrum.targets, spectrum.targets);
  rank = std::min(rank, spectrum.rank());
  return named_list(
      {{"basis", wrap_matrix(spectrum.basis.leftCols(rank))},
       {"core", wrap_matrix(kronecker_core(engine, spectrum, products, ridge, rank))}});
}

#endif
