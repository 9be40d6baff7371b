// SPDX-License-Identifier: GPL-3.0-or-later
// Local quadratic regression on one variable with tricube weights (Cleveland, Devlin and Grosse
// 1988): fits at the knots of a tree of halves, and cubics between them.
#ifndef CALIBRISK_CLASSICAL_LOESS_H
#define CALIBRISK_CLASSICAL_LOESS_H

#include "../types.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// Sorted rows that stand for several equal ones each, numbered 0, 1, ... together; without `copies`
// every row is one.
class CopiedRows {
 public:
  CopiedRows(const ConstVectorRef& x, const ConstVectorRef& copies) : x_(x) {
    require(copies.size() == 0 || copies.size() == x.size(), "loess: one count per row.");
    Index total = 0;
    for (Index i = 0; i < copies.size(); ++i) {
      total += static_cast<Index>(std::llround(copies[i]));
      ends_.push_back(total);
    }
  }

  Index count() const { return ends_.empty() ? x_.size() : ends_.back(); }
  // The row of a copy.
  Index row(Index copy) const {
    if (ends_.empty()) return copy;
    return std::upper_bound(ends_.begin(), ends_.end(), copy) - ends_.begin();
  }
  double value(Index copy) const { return x_[row(copy)]; }
  // The first copy with this one's value, and the first with a larger one.
  Index first_equal(Index copy) const {
    const double* begin = x_.data();
    return starts_at(std::lower_bound(begin, begin + x_.size(), value(copy)) - begin);
  }
  Index first_larger(Index copy) const {
    const double* begin = x_.data();
    return starts_at(std::upper_bound(begin, begin + x_.size(), value(copy)) - begin);
  }

 private:
  Index starts_at(Index row) const {
    if (ends_.empty()) return row;
    return row == 0 ? 0 : ends_[static_cast<std::size_t>(row - 1)];
  }

  const ConstVectorRef& x_;
  std::vector<Index> ends_;
};

// The last copy of a value that is next to `middle`, of two that are as near the later one. The
// search goes out to both sides in turn; it ends, at `middle`, where it leaves `first` to `last`.
inline Index nearest_cut(const CopiedRows& rows, Index first, Index last, Index middle) {
  const Index below = rows.first_equal(middle) - 1, above = rows.first_larger(middle) - 1;
  if (above - middle <= middle - below) {
    return above < last && above - middle <= middle - first + 1 ? above : middle;
  }
  return below >= first && middle - below < last - middle ? below : middle;
}

// The ends of the values x (ascending), a little further out, and the cuts that halve the rows
// until at most `leaf` are together; ties stay together where they can. Ascending; none if the
// tree has more than `most` nodes.
inline std::vector<double> loess_knots(const ConstVectorRef& x, const CopiedRows& rows, Index leaf,
                                       Index most) {
  const Index n = rows.count();
  const double low = x[0], high = x[x.size() - 1];
  const double margin =
      0.005 * std::max(high - low, 1e-10 * std::max(std::abs(low), std::abs(high)) + 1e-30);
  struct Part {
    Index first, last;
    double low, high;
  };
  std::vector<Part> open{{0, n - 1, low - margin, high + margin}};
  std::vector<double> out{open[0].low, open[0].high};
  Index nodes = 1;
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (part.last - part.first + 1 <= leaf) continue;
    // of rows counted from 1 the middle is rounded down
    const Index middle = (part.first + part.last + 2) / 2 - 1;
    const Index cut = nearest_cut(rows, part.first, part.last, middle);
    const double at = rows.value(cut);
    if (at == part.low || at == part.high) continue;
    if ((nodes += 2) > most) return {};
    out.push_back(at);
    open.push_back({part.first, cut, part.low, at});
    open.push_back({cut + 1, part.last, at, part.high});
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Value and slope of a local fit as sums over the rows from `first` on; without rows where it is
// nearly singular.
struct LocalQuadratic {
  Index first = 0;
  Vector value, slope;  // their weights
};

// The quadratic of the `near` copies next to `at`, by polynomials that are orthogonal under the
// weights. A row is in it with all of its copies or with none: one that the window's end divides is
// at the distance where weights end.
inline LocalQuadratic local_quadratic(const ConstVectorRef& x, const ConstVectorRef& w,
                                      const CopiedRows& rows, Index near, double span, double at) {
  // the first copy whose successor beyond the window is not nearer
  Index start = 0, beyond = rows.count() - near;
  while (start < beyond) {
    const Index middle = (start + beyond) / 2;
    if (at - rows.value(middle) <= rows.value(middle + near) - at) {
      beyond = middle;
    } else {
      start = middle + 1;
    }
  }
  const Index first = rows.row(start), seen = rows.row(start + near - 1) - first + 1;
  const double reach = std::max(std::abs(at - x[first]), std::abs(x[first + seen - 1] - at)) *
                       std::sqrt(std::max(span, 1.0));
  if (!(reach > 0.0)) return {};
  // the weights, and the places beside their mean, until they are those of the fit
  Vector weight(seen), place(seen);
  double total = 0.0, centre = 0.0;
  for (Index i = 0; i < seen; ++i) {
    const double t = (x[first + i] - at) / reach, u = std::abs(t);
    const double rest = std::max(1.0 - u * u * u, 0.0);
    const double own = w[first + i] * rest * rest * rest;
    weight[i] = own;
    place[i] = t;
    total += own;
    centre += own * t;
  }
  if (!(total > 0.0)) return {};
  centre /= total;
  double m2 = 0.0, m3 = 0.0, m4 = 0.0;
  for (Index i = 0; i < seen; ++i) {
    const double s = place[i] - centre, square = weight[i] * s * s;
    place[i] = s;
    m2 += square;
    m3 += square * s;
    m4 += square * s * s;
  }
  // s^2 without its parts along 1 and s
  const double skew = m3 / m2, spread = m2 / total, norm = m4 - skew * m3 - spread * m2;
  if (!(m2 > 1e-10 * total) || !(norm > 1e-8 * m4)) return {};
  const double s = -centre, line = s / m2, bend = (s * s - skew * s - spread) / norm,
               rise = 1.0 / (m2 * reach), turn = (2.0 * s - skew) / (norm * reach);
  for (Index i = 0; i < seen; ++i) {
    const double own = weight[i], side = place[i], second = side * side - skew * side - spread;
    weight[i] = own * (1.0 / total + line * side + bend * second);
    place[i] = own * (rise * side + turn * second);
  }
  return {first, std::move(weight), std::move(place)};
}

// Fits at x (ascending) of rows with weights w. Local fits see the share `span` of the rows (of a
// span above 1 all, as if they were further away); rows between two knots are at most the share
// `leaf`. Rows may stand for `copies` equal ones, of the weight w together, which then count as
// rows. Cost O(n / leaf).
class Loess {
 public:
  Loess(const ConstVectorRef& x, const ConstVectorRef& w, const ConstVectorRef& copies, double span,
        double leaf)
      : x_(x), w_(w), rows_(x_, copies), span_(span) {
    require(x.size() > 0 && w.size() == x.size(), "loess: one weight per row.");
    const auto count = static_cast<double>(rows_.count());
    near_ = std::min(rows_.count(), static_cast<Index>(std::floor(count * span + 1e-5)));
    if (near_ < 4) return;
    knots_ = loess_knots(x, rows_, static_cast<Index>(std::floor(count * leaf)),
                         std::max<Index>(rows_.count(), 200));
  }

  // For many outcomes of the same rows, where the fits are not too many numbers.
  void keep_fits() {
    if (static_cast<double>(knots_.size()) * static_cast<double>(near_) > 4e6) return;
    for (const double at : knots_) fits_.push_back(fit(at));
  }

  // Fitted values of the outcomes y; empty where a local fit is nearly singular.
  Vector operator()(const ConstVectorRef& y) const {
    require(y.size() == x_.size(), "loess: one outcome per row.");
    std::vector<double> value, slope;
    for (std::size_t k = 0; k < knots_.size(); ++k) {
      const LocalQuadratic own = fits_.empty() ? fit(knots_[k]) : LocalQuadratic();
      const LocalQuadratic& of = fits_.empty() ? own : fits_[k];
      if (of.value.size() == 0) return {};
      const auto seen = y.segment(of.first, of.value.size());
      value.push_back(of.value.dot(seen));
      slope.push_back(of.slope.dot(seen));
    }
    if (value.empty()) return {};
    Vector out(x_.size());
    std::size_t k = 0;
    for (Index i = 0; i < out.size(); ++i) {
      while (k + 2 < knots_.size() && x_[i] > knots_[k + 1]) ++k;
      const double width = knots_[k + 1] - knots_[k], h = (x_[i] - knots_[k]) / width,
                   rest = 1.0 - h;
      out[i] = rest * rest * ((1.0 + 2.0 * h) * value[k] + h * width * slope[k]) +
               h * h * ((3.0 - 2.0 * h) * value[k + 1] - rest * width * slope[k + 1]);
    }
    return out;
  }

 private:
  LocalQuadratic fit(double at) const { return local_quadratic(x_, w_, rows_, near_, span_, at); }

  const ConstVectorRef x_, w_;
  const CopiedRows rows_;
  double span_;
  Index near_ = 0;
  std::vector<double> knots_;
  std::vector<LocalQuadratic> fits_;
};

}  // namespace calibrisk

#endif
