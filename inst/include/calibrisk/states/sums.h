// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over rows that can be added up in any order: each is a pair, the sum and what rounding took
// from it, so that twice the digits of a double are kept and the rounded sum does not depend on how
// rows came in chunks. A cell is (e_k, e_k+1], the first one with its lower edge.
#ifndef CALIBRISK_STATES_SUMS_H
#define CALIBRISK_STATES_SUMS_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// A view of `size` sums: sum[i] and left[i].
class PairedSums {
 public:
  PairedSums(double* sum, double* left, Index size) : sum_(sum), left_(left), size_(size) {}

  void add(Index at, double value) {
    const double before = sum_[at], after = before + value, rest = after - before;
    left_[at] += (before - (after - rest)) + (value - rest);
    sum_[at] = after;
  }
  void add(const PairedSums& other) {
    for (Index i = 0; i < size_; ++i) {
      add(i, other.sum_[i]);
      left_[i] += other.left_[i];
    }
    tidy();
  }
  // The sum is the double next to both: at the end of every chunk.
  void tidy() {
    for (Index i = 0; i < size_; ++i) {
      const double before = sum_[i];
      sum_[i] = before + left_[i];
      left_[i] -= sum_[i] - before;
    }
  }

 private:
  double* sum_;
  double* left_;
  Index size_;
};

class CellEdges {
 public:
  CellEdges(const double* edges, Index size) : edges_(edges), cells_(size - 1) {}
  Index cells() const { return cells_; }
  Index cell(double x) const {
    return std::lower_bound(edges_ + 1, edges_ + cells_, x) - (edges_ + 1);
  }
  // The place of x in its cell, -1 at the lower edge, 1 at the upper one.
  double place(double x, Index cell) const {
    const double low = edges_[cell], high = edges_[cell + 1];
    return std::min(std::max(((x - low) - (high - x)) / (high - low), -1.0), 1.0);
  }

 private:
  const double* edges_;
  Index cells_;
};

// What a row is: its prediction, its outcome 0 or 1, the part of the rows it belongs to (from 0)
// and its weight.
struct StateRow {
  double x;
  int y;
  Index part;
  double weight;
};

// [m x 2 x cells x parts]: sums of w T_k(u) by outcome.
inline void add_moments(PairedSums& sums, const CellEdges& edges, Index m, const StateRow& row) {
  const Index cell = edges.cell(row.x);
  const double twice = 2.0 * edges.place(row.x, cell);
  const Index first = ((row.part * edges.cells() + cell) * 2 + row.y) * m;
  double before = 1.0, now = twice / 2.0;
  for (Index k = 0; k < m; ++k) {
    sums.add(first + k, row.weight * before);
    const double next = twice * now - before;
    before = now;
    now = next;
  }
}

// [q (q + 1) / 2 x parts]: sums of x_a x_b, b <= a, row by row of the lower triangle.
inline void add_squares(PairedSums& sums, const std::vector<double>& x, Index part) {
  const auto q = static_cast<Index>(x.size());
  Index at = part * (q * (q + 1) / 2);
  for (std::size_t a = 0; a < x.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) sums.add(at++, x[a] * x[b]);
  }
}

// [6 x parts]: sums of w times the log score and its square where it is finite, of w where it is
// not, of w where the prediction is 0 or 1, of w^2 e^2 and of w^2.
inline void add_scores(PairedSums& sums, const StateRow& row) {
  const double score = row.y == 1 ? -std::log(row.x) : -std::log1p(-row.x);
  const Index first = row.part * 6;
  if (std::isfinite(score)) {
    sums.add(first, row.weight * score);
    sums.add(first + 1, row.weight * score * score);
  } else {
    sums.add(first + 2, row.weight);
  }
  if (row.x == 0.0 || row.x == 1.0) sums.add(first + 3, row.weight);
  const double square = row.weight * row.weight, e = row.x - row.y;
  sums.add(first + 4, square * e * e);
  sums.add(first + 5, square);
}

}  // namespace calibrisk

#endif
