// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over rows that can be added up in any order. Each is a pair of the sum and its rounding
// error, which keeps twice the digits of a double. The rounded sum then does not depend on the
// chunks of rows. A cell is (e_k, e_k+1], the first one with its lower edge.
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
  Index size() const { return size_; }
  void add(const PairedSums& other) {
    require(other.size_ == size_, "Sums that are added must be as many.");
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
  CellEdges(const double* edges, Index size) : edges_(edges), cells_(size - 1) {
    require(size >= 2, "A cell has two edges.");
  }
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

// A row: its prediction, its outcome 0 or 1, the part of the rows it belongs to (from 0) and its
// weight.
struct StateRow {
  double x;
  int y;
  Index part;
  double weight;
};

// Sums of a part start at part * size, and there are so many parts.
inline Index start_of_part(const PairedSums& sums, Index part, Index size) {
  require(part >= 0 && size > 0 && (part + 1) * size <= sums.size(), "There is no such part.");
  return part * size;
}

// [m x 2 x cells x parts]: sums of w T_k(u) by outcome.
inline void add_moments(PairedSums& sums, const CellEdges& edges, Index m, const StateRow& row) {
  require(row.y == 0 || row.y == 1, "Outcomes are 0 or 1.");
  const Index cell = edges.cell(row.x);
  const double twice = 2.0 * edges.place(row.x, cell);
  const Index first = start_of_part(sums, row.part, edges.cells() * 2 * m) + (cell * 2 + row.y) * m;
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
  Index at = start_of_part(sums, part, q * (q + 1) / 2);
  for (std::size_t a = 0; a < x.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) sums.add(at++, x[a] * x[b]);
  }
}

// [6 x parts]: sums of w times the log score and its square where it is finite, of w where it is
// not, of w where the prediction is 0 or 1, of w^2 e^2 and of w^2.
inline void add_scores(PairedSums& sums, const StateRow& row) {
  const double score = row.y == 1 ? -std::log(row.x) : -std::log1p(-row.x);
  const Index first = start_of_part(sums, row.part, 6);
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

// Whether each group of m sums can be those of w T_k(u), k < m, with weights of at least 0: finite,
// and none larger than the first, up to rounding.
inline bool are_moments(const double* sum, const double* left, Index size, Index m) {
  if (m < 1 || size % m != 0) return false;
  for (Index first = 0; first < size; first += m) {
    const double weight = sum[first] + left[first];
    if (!(std::isfinite(weight) && weight >= 0.0)) return false;
    const double most = weight * (1.0 + 1e-9);
    for (Index k = 1; k < m; ++k) {
      if (!(std::abs(sum[first + k] + left[first + k]) <= most)) return false;
    }
  }
  return true;
}

}  // namespace calibrisk

#endif
