// SPDX-License-Identifier: GPL-3.0-or-later
// Strata of a survey, from which clusters (or rows) were drawn: in standard errors, what the units
// of a stratum have in common does not count.
#ifndef CALIBRISK_LADDER_ROW_STRATA_H
#define CALIBRISK_LADDER_ROW_STRATA_H

#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// sum_h n_h / (n_h - 1) sum_c (z_c - mean_h)(z_c - mean_h)' over the n_h units that were drawn in
// stratum h, whose mean counts those that have no rows here. A single one is taken about the mean
// of all, 0.
class RowStrata {
 public:
  RowStrata() = default;  // none
  // strata: 1..H for each row; drawn: the number of units that were drawn in the row's stratum
  RowStrata(const Labels& strata, const ConstVectorRef& drawn, const RowClusters& clusters)
      : stratum_(static_cast<std::size_t>(clusters.units(drawn.size()))),
        scale_(clusters.units(drawn.size())),
        share_(scale_.size()) {
    require(strata.size() == static_cast<std::size_t>(drawn.size()),
            "Strata: one number of drawn units per row.");
    // the first row of a unit decides
    for (Index i = drawn.size(); i-- > 0;) {
      const Index u = clusters.unit(i);
      const int h = strata[static_cast<std::size_t>(i)];
      require(h > 0, "Strata are numbered from 1.");
      count_ = std::max(count_, static_cast<Index>(h));
      stratum_[static_cast<std::size_t>(u)] = h - 1;
      const bool single = drawn(i) < 2.0;
      scale_(u) = single ? 1.0 : std::sqrt(drawn(i) / (drawn(i) - 1.0));
      share_(u) = single ? 0.0 : scale_(u) / std::sqrt(drawn(i));
    }
  }

  bool given() const { return count_ > 0; }
  // The sum of outer products is that of scale * z, less that of the strata's sums of share * z.
  Index count() const { return count_; }
  Index stratum(Index unit) const { return stratum_[static_cast<std::size_t>(unit)]; }
  double scale(Index unit) const { return scale_(unit); }
  double share(Index unit) const { return share_(unit); }

  // z: a row per unit
  Matrix products(const ConstMatrixRef& z) const {
    Matrix sums = Matrix::Zero(count_, z.cols());
    for (Index u = 0; u < z.rows(); ++u) sums.row(stratum(u)) += share_(u) * z.row(u);
    const Matrix scaled = scale_.asDiagonal() * z;
    return scaled.transpose() * scaled - sums.transpose() * sums;
  }

 private:
  Labels stratum_;
  Vector scale_, share_;
  Index count_ = 0;
};

}  // namespace calibrisk

#endif
