// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of rows. Frequency: a row stands for v copies of itself, so that sums over pairs of rows
// are those of the repeated rows. Importance: a row counts v times in every mean.
#ifndef CALIBRISK_LADDER_ROW_WEIGHTS_H
#define CALIBRISK_LADDER_ROW_WEIGHTS_H

#include <calibrisk/types.h>

namespace calibrisk {

enum class WeightKind { none, frequency, importance };

class RowWeights {
 public:
  RowWeights() = default;
  RowWeights(const ConstVectorRef& values, WeightKind kind) : values_(values), kind_(kind) {
    if (kind == WeightKind::none) values_.resize(0);
  }

  WeightKind kind() const { return kind_; }
  bool copies() const { return kind_ == WeightKind::frequency; }
  // v_i
  double operator()(Index i) const { return values_.size() == 0 ? 1.0 : values_(i); }
  // weight of row i on one side of a pair: v_i^2 in a variance, v_i where copies are rows
  double pair(Index i) const {
    const double v = (*this)(i);
    return copies() ? v : v * v;
  }
  // weight of row i's pair with itself
  double own(Index i) const {
    const double v = (*this)(i);
    return copies() ? v : v * v * v * v;
  }
  // of the row that is left out: one copy
  double left_out(Index i) const { return copies() ? 1.0 : (*this)(i); }

  double total(Index n) const {
    return values_.size() == 0 ? static_cast<double>(n) : values_.sum();
  }

 private:
  Vector values_;
  WeightKind kind_ = WeightKind::none;
};

}  // namespace calibrisk

#endif
