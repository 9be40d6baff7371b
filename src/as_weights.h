// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_AS_WEIGHTS_H
#define CALIBRISK_AS_WEIGHTS_H

#include "r_values.h"
#include <calibrisk/ladder/row_strata.h>

// Both may be empty: all rows count 1, and each of them stands for itself.
inline calibrisk::RowWeights as_row_weights(const Rcpp::NumericVector& weights,
                                            const Rcpp::NumericVector& copies) {
  return calibrisk::RowWeights(as_vector(weights), as_vector(copies));
}

// What a design (R/design.R) says of the rows; NULL: that of plain rows.
struct RowDesign {
  calibrisk::RowWeights weights;
  calibrisk::RowClusters clusters;
  calibrisk::RowStrata strata;

  explicit RowDesign(const Rcpp::Nullable<Rcpp::List>& design) {
    if (design.isNull()) return;
    const Rcpp::List fields(design.get());
    const auto given = [&](const char* name) {
      return has_field(fields, name) && !Rf_isNull(field(fields, name));
    };
    const auto numbers = [&](const char* name) {
      return given(name) ? Rcpp::NumericVector(field(fields, name)) : Rcpp::NumericVector();
    };
    weights = as_row_weights(numbers("w"), numbers("copies"));
    if (given("cluster")) {
      clusters = calibrisk::RowClusters(as_labels(Rcpp::IntegerVector(field(fields, "cluster"))));
    }
    if (given("strata")) {
      strata = calibrisk::RowStrata(as_labels(Rcpp::IntegerVector(field(fields, "strata"))),
                                    as_vector(numbers("drawn")), clusters);
    }
  }
};

#endif
