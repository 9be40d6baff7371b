// SPDX-License-Identifier: GPL-3.0-or-later
// What a factor of a kernel is made by, from R: random features, or a low rank.
#ifndef CALIBRISK_AS_FACTOR_H
#define CALIBRISK_AS_FACTOR_H

#include "r_values.h"
#include <calibrisk/ckce/fourier_features.h>
#include <calibrisk/ckce/low_rank.h>

inline calibrisk::FeatureMap as_feature_map(const Rcpp::List& terms) {
  calibrisk::FeatureMap map;
  for (R_xlen_t t = 0; t < terms.size(); ++t) {
    const Rcpp::List term = terms[t];
    calibrisk::FeatureTerm out;
    out.scale = number_field(term, "scale");
    out.linear = flag_field(term, "linear");
    if (!out.linear) out.frequencies = as_matrix(Rcpp::NumericMatrix(field(term, "frequencies")));
    map.push_back(std::move(out));
  }
  return map;
}

inline calibrisk::LowRankOptions as_low_rank(const Rcpp::List& source) {
  return {number_field(source, "tolerance"),
          static_cast<calibrisk::Index>(number_field(source, "max_rank"))};
}

#endif
