// SPDX-License-Identifier: GPL-3.0-or-later
// Distances between predictions and a smooth calibration curve: ICI, E50, E90, Emax (Austin and
// Steyerberg 2019) and ECI, of a sample of rows.
#ifndef CALIBRISK_CLASSICAL_SMOOTH_DISTANCES_H
#define CALIBRISK_CLASSICAL_SMOOTH_DISTANCES_H

#include "loess.h"
#include "sorted_rows.h"
#include <calibrisk/math/select_rank.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace calibrisk {

struct Smoother {
  bool loess;  // else isotonic regression
  double span;
};

// Rows with predictions x in ascending order, outcomes y and weights w, and another value `from` of
// each. Rows may stand for `copies` equal ones, of the weight w together.
class CurveRows {
 public:
  CurveRows(Index n, bool counted) : parts_(n, counted ? 5 : 4) {}

  void add(double x, double y, double w, double from, double copies = 1.0) {
    parts_(n_, 0) = x;
    parts_(n_, 1) = y;
    parts_(n_, 2) = w;
    parts_(n_, 3) = from;
    if (parts_.cols() > 4) parts_(n_, 4) = copies;
    ++n_;
  }
  // Into ascending order of x, where rows were added in another one.
  void sort() {
    const auto x_of = [&](Index i) { return parts_(i, 0); };
    std::vector<Index> order(static_cast<std::size_t>(n_));
    std::iota(order.begin(), order.end(), Index{0});
    const auto before = [&](Index a, Index b) { return x_of(a) < x_of(b); };
    if (std::is_sorted(order.begin(), order.end(), before)) return;
    std::stable_sort(order.begin(), order.end(), before);
    const Matrix was = parts_;
    for (Index i = 0; i < n_; ++i) parts_.row(i) = was.row(order[static_cast<std::size_t>(i)]);
  }

  Index size() const { return n_; }
  auto x() const { return parts_.col(0).head(n_); }
  auto y() const { return parts_.col(1).head(n_); }
  auto w() const { return parts_.col(2).head(n_); }
  auto from() const { return parts_.col(3).head(n_); }
  auto copies() const {
    return parts_.col(parts_.cols() - 1).head(parts_.cols() > 4 ? n_ : Index{0});
  }

 private:
  Matrix parts_;
  Index n_ = 0;
};

// The curve of rows that have ten different predictions.
inline Loess loess_of(const CurveRows& rows, const Smoother& how) {
  return {rows.x(), rows.w(), rows.copies(), how.span, 0.2 * how.span};
}

// The frequency of the outcome at every row, within [0, 1]. Below ten distinct predictions it is
// that of each; else none where a local fit is nearly singular. `same`: the curve of other outcomes
// of these rows, or null.
inline Vector smooth_curve(const CurveRows& rows, const Smoother& how, const Loess* same) {
  const Index n = rows.size();
  const auto x = rows.x(), y = rows.y(), w = rows.w();
  Index distinct = n > 0 ? 1 : 0;
  for (Index i = 1; i < n && distinct < 10; ++i) distinct += x[i] != x[i - 1];
  if (how.loess && distinct >= 10) {
    Vector out = same != nullptr ? (*same)(y) : loess_of(rows, how)(y);
    if (!out.allFinite()) return {};
    return out.cwiseMax(0.0).cwiseMin(1.0);
  }
  const auto count = static_cast<std::size_t>(n);
  Vector out(n);
  if (how.loess) {
    Index from = 0;
    for (const int end : tie_ends(count, x.data())) {
      const Index size = end - from;
      const auto own = w.segment(from, size);
      out.segment(from, size).setConstant(own.dot(y.segment(from, size)) / own.sum());
      from = end;
    }
    return out;
  }
  const Pools pools = isotonic_rows(count, x.data(), y.data(), w.data());
  Index from = 0;
  for (std::size_t k = 0; k < pools.ends.size(); ++k) {
    out.segment(from, pools.ends[k] - from).setConstant(pools.values[k]);
    from = pools.ends[k];
  }
  return out;
}

// Quantiles of values: with m the weight before a copy plus half its own, that copy is the quantile
// at its place between the first and the last m.
class RowQuantiles {
 public:
  RowQuantiles(const Vector& values, const CurveRows& rows) : values_(values), rows_(rows) {
    if (set_equal()) return;
    // beside each other in memory while they are sorted
    std::vector<std::pair<double, Index>> sorted;
    for (Index i = 0; i < values.size(); ++i) sorted.emplace_back(values[i], i);
    std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : half(a.second) < half(b.second);
    });
    for (const auto& one : sorted) order_.push_back(one.second);
    first_ = half(order_.front());
    last_ = rows.w().sum() - half(order_.back());
  }

  double at(double share) {
    if (!equal_.empty()) return of_equal(share);
    const double place = first_ + share * (last_ - first_);
    double before = 0.0, end = 0.0, value = 0.0;
    for (const Index row : order_) {
      // the places of a row's first and last copy
      const double begin = before + half(row);
      if (place < begin && before > 0.0) {
        return value + (values_[row] - value) * (place - end) / (begin - end);
      }
      before += rows_.w()[row];
      end = before - half(row);
      value = values_[row];
      if (place <= end) break;
    }
    return value;
  }

 private:
  // Whether copies have one weight, as rows of a bootstrap sample have, and are few: then they need
  // not be sorted.
  bool set_equal() {
    const auto copies = rows_.copies();
    const double count = copies.size() > 0 ? copies.sum() : 0.0;
    const auto most = 4.0 * static_cast<double>(values_.size()) + 100.0;
    for (Index i = 1; i < values_.size(); ++i) {
      if (half(i) != half(0)) return false;
    }
    if (count > most) return false;
    for (Index i = 0; i < values_.size(); ++i) {
      const double times = copies.size() > 0 ? copies[i] : 1.0;
      for (double one = 0.0; one < times; one += 1.0) equal_.push_back(values_[i]);
    }
    return true;
  }
  double of_equal(double share) {
    const auto n = static_cast<Index>(equal_.size());
    const double place = share * static_cast<double>(n - 1);
    const auto rank = std::min(static_cast<Index>(place), n - 1);
    select_rank(equal_.data(), n, rank);
    const double value = equal_[static_cast<std::size_t>(rank)];
    if (rank + 1 == n) return value;
    const double next = *std::min_element(equal_.begin() + rank + 1, equal_.end());
    return value + (place - static_cast<double>(rank)) * (next - value);
  }

  double half(Index row) const {
    const auto copies = rows_.copies();
    return 0.5 * rows_.w()[row] / (copies.size() > 0 ? copies[row] : 1.0);
  }

  const Vector& values_;
  const CurveRows& rows_;
  std::vector<double> equal_;  // the value of each copy
  std::vector<Index> order_;
  double first_ = 0.0, last_ = 0.0;
};

// Mean, median, 90% quantile and maximum of |curve - from|, and its mean square over that of the
// distances of the predictions from the prevalence (NaN where there are none).
inline std::array<double, 5> smooth_distances(const CurveRows& rows, const Vector& curve,
                                              const ConstVectorRef& from) {
  const auto w = rows.w();
  const double total = w.sum();
  const Vector gap = (curve - from).cwiseAbs();
  const double prevalence = w.dot(rows.y()) / total;
  const double spread = w.dot((rows.x().array() - prevalence).square().matrix());
  RowQuantiles quantiles(gap, rows);
  const double squares = w.dot(gap.cwiseAbs2());
  return {w.dot(gap) / total, quantiles.at(0.5), quantiles.at(0.9), gap.maxCoeff(),
          spread > 0.0 ? squares / spread : std::nan("")};
}

}  // namespace calibrisk

#endif
