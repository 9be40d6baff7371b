// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_AS_WEIGHTS_H
#define CALIBRISK_AS_WEIGHTS_H

#include "r_values.h"
#include <calibrisk/ladder/row_weights.h>

// Both may be empty: all rows count 1, and each of them is one draw.
inline calibrisk::RowWeights as_row_weights(const Rcpp::NumericVector& weights,
                                            const Rcpp::NumericVector& copies) {
  return calibrisk::RowWeights(as_vector(weights), as_vector(copies));
}

#endif
