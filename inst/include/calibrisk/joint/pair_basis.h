// SPDX-License-Identifier: GPL-3.0-or-later
// Bases of the joint test: a row has two values, in neighbouring columns. Every row is read some
// thirty times, in loops without loops within.
#ifndef CALIBRISK_JOINT_PAIR_BASIS_H
#define CALIBRISK_JOINT_PAIR_BASIS_H

#include <calibrisk/ladder/knots.h>

#include <array>
#include <utility>

namespace calibrisk {

struct PairRow {
  Index column;  // of the first value
  double first, second;

  double dot(const Vector& c) const { return first * c(column) + second * c(column + 1); }
  // b' w b
  double quadratic(const Matrix& w) const {
    return first * (first * w(column, column) + 2.0 * second * w(column + 1, column)) +
           second * second * w(column + 1, column + 1);
  }
  std::array<std::pair<Index, double>, 2> values() const {
    return {{{column, first}, {column + 1, second}}};
  }
  void add_to(double w, Eigen::Ref<Vector> out) const {
    out(column) += w * first;
    out(column + 1) += w * second;
  }
};

class PairBasis {
 public:
  // One value, 1; the second column is 0.
  PairBasis() = default;
  // Two columns, the second one a multiple of the first.
  PairBasis(const double* first, const double* ratio) : first_(first), ratio_(ratio) {}
  PairBasis(HatPositions hats, Index columns) : hats_(std::move(hats)), columns_(columns) {
    require(columns > 1, "Hats of pairs need two knots.");
  }

  Index columns() const { return columns_; }
  PairRow row(Index i) const {
    const auto at = static_cast<std::size_t>(i);
    if (!hats_.t.empty()) return {hats_.cell[at], 1.0 - hats_.t[at], hats_.t[at]};
    return first_ == nullptr ? PairRow{0, 1.0, 0.0}
                             : PairRow{0, first_[at], first_[at] * ratio_[at]};
  }

 private:
  HatPositions hats_;
  const double *first_ = nullptr, *ratio_ = nullptr;
  Index columns_ = 2;
};

// out <- out + w b b'
inline void add_square(const PairRow& row, double w, Matrix& out) {
  const double both = w * row.first * row.second;
  out(row.column, row.column) += w * row.first * row.first;
  out(row.column + 1, row.column) += both;
  out(row.column, row.column + 1) += both;
  out(row.column + 1, row.column + 1) += w * row.second * row.second;
}

}  // namespace calibrisk

#endif
