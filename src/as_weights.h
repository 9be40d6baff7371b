// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_AS_WEIGHTS_H
#define CALIBRISK_AS_WEIGHTS_H

#include "r_values.h"
#include <calibrisk/ladder/row_weights.h>

// `weights` may be empty; as `copies` they say how many rows each one stands for.
inline calibrisk::RowWeights as_row_weights(const Rcpp::NumericVector& weights, bool copies) {
  return copies ? calibrisk::RowWeights::copies(as_vector(weights))
                : calibrisk::RowWeights(as_vector(weights));
}

#endif
