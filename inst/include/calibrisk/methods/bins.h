// SPDX-License-Identifier: GPL-3.0-or-later
// Binned estimators of a squared calibration error for scalar features (Gruber & Bach
// 2025, Eqs. 10 and 23; Kumar, Liang & Ma 2019 for the debiased one). h is constant on pairs
// of cells, h = b_k b_l - 1{k = l} v_k, so that every sum over pairs is a sum over cells.
//   cells     right-closed: 1 + number of inner edges below p; p = 0 is in the first
//   width     edges k / B, one division
//   mass      edges the order statistics number ceiling(n k / B) of the fit rows, distinct
//   b         mean residual of the fit rows in the cell, of all fit rows where it is empty
//   v         acc (1 - acc) / (n - 1), 0 below two rows
// With weights everything is weighted: edges are the values up to which k / B of the weight
// lies, v = n / (n - 1) sum w^2 (y - acc)^2 / (sum w)^2 over n copies. With C clusters, whose sums
// are squared, v = C / (C - 1) sum_c (sum_{i in c} w_i (y_i - acc))^2 / (sum w)^2.
#ifndef CALIBRISK_METHODS_BINS_H
#define CALIBRISK_METHODS_BINS_H

#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace calibrisk {

enum class BinType { width, mass };

namespace detail {

inline std::vector<double> width_edges(Index n_bins) {
  std::vector<double> edges;
  for (Index k = 1; k < n_bins; ++k) {
    edges.push_back(static_cast<double>(k) / static_cast<double>(n_bins));
  }
  return edges;
}

inline std::vector<double> mass_edges(const std::vector<double>& sorted, Index n_bins) {
  const Index n = static_cast<Index>(sorted.size());
  std::vector<double> edges;
  if (n == 0) return edges;
  for (Index k = 1; k < n_bins; ++k) {
    const Index rank = (n * k + n_bins - 1) / n_bins;  // from 1
    const double edge = sorted[static_cast<std::size_t>(rank - 1)];
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  return edges;
}

// `weights`: of the sorted values.
inline std::vector<double> weighted_mass_edges(const std::vector<double>& sorted,
                                               const std::vector<double>& weights, Index n_bins) {
  std::vector<double> edges, reached(weights.size());
  std::partial_sum(weights.begin(), weights.end(), reached.begin());
  for (Index k = 1; k < n_bins && !sorted.empty(); ++k) {
    const double share = static_cast<double>(k) / static_cast<double>(n_bins);
    const auto at = std::lower_bound(reached.begin(), reached.end() - 1,
                                     share * reached.back() * (1.0 - 1e-12));
    const double edge = sorted[static_cast<std::size_t>(at - reached.begin())];
    if (edges.empty() || edge > edges.back()) edges.push_back(edge);
  }
  return edges;
}

}  // namespace detail

// Values in ascending order, with weights where they have some.
struct SortedValues {
  std::vector<double> value, weight;
};

// `weights`: of the values in their order.
inline SortedValues sort_values(const ConstVectorRef& z, const RowWeights& weights) {
  SortedValues out;
  if (weights.all_equal()) {
    out.value.assign(z.data(), z.data() + z.size());
    std::sort(out.value.begin(), out.value.end());
    return out;
  }
  std::vector<Index> order(static_cast<std::size_t>(z.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return z[a] < z[b]; });
  for (Index i : order) {
    out.value.push_back(z[i]);
    out.weight.push_back(weights(i));
  }
  return out;
}

// Inner edges; the sorted features of the fit rows are needed for equal mass only.
inline std::vector<double> bin_edges(BinType type, Index n_bins, const SortedValues& sorted) {
  if (type == BinType::width) return detail::width_edges(n_bins);
  return sorted.weight.empty() ? detail::mass_edges(sorted.value, n_bins)
                               : detail::weighted_mass_edges(sorted.value, sorted.weight, n_bins);
}

// Cell of p, from 0.
inline Index cell_of(const std::vector<double>& edges, double p) {
  return std::lower_bound(edges.begin(), edges.end(), p) - edges.begin();
}

// Sums over the copies of a cell, of weight w each. Without weights counts and outcomes are whole
// and so exact.
struct CellSums {
  double n = 0, outcome = 0;                    // sums of w, w y
  double residual = 0, square = 0;              // of w e, w e^2
  double copies = 0;                            // their number
  double n_2 = 0, outcome_2 = 0, square_2 = 0;  // of w^2, w^2 y, w^2 e^2

  CellSums& operator+=(const CellSums& other) {
    n += other.n;
    outcome += other.outcome;
    residual += other.residual;
    square += other.square;
    copies += other.copies;
    n_2 += other.n_2;
    outcome_2 += other.outcome_2;
    square_2 += other.square_2;
    return *this;
  }
  // of rows without weights
  void set_plain(double rows, double events, double residuals, double squares) {
    n = copies = n_2 = rows;
    outcome = outcome_2 = events;
    residual = residuals;
    square = square_2 = squares;
  }
};

struct BinValues {
  std::vector<double> b, v;  // per cell; v is zero without the debiasing
};

inline BinValues bin_values(const std::vector<CellSums>& cells, bool debias) {
  CellSums total;
  for (const CellSums& cell : cells) total += cell;
  const double overall = total.n > 0 ? total.residual / total.n : 0.0;
  BinValues out{std::vector<double>(cells.size(), overall), std::vector<double>(cells.size(), 0.0)};
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const CellSums& cell = cells[k];
    if (cell.n > 0) out.b[k] = cell.residual / cell.n;
    if (debias && cell.copies >= 2) {
      const double accuracy = cell.outcome / cell.n;
      const double squares =
          cell.outcome_2 * (1.0 - 2.0 * accuracy) + accuracy * accuracy * cell.n_2;
      out.v[k] = std::max(squares, 0.0) * cell.copies / ((cell.copies - 1.0) * cell.n * cell.n);
    }
  }
  return out;
}

// v of cells of clusters; 0 below two of them.
inline std::vector<double> clustered_noise(const ConstVectorRef& z, const Labels& outcome,
                                           const std::vector<double>& edges,
                                           const std::vector<CellSums>& cells,
                                           const RowWeights& weights, const RowClusters& clusters) {
  std::vector<double> sum(cells.size(), 0.0), squares(cells.size(), 0.0), parts(cells.size(), 0.0);
  std::vector<bool> met(cells.size(), false);
  std::vector<std::size_t> own;
  for (Index c = 0; c < clusters.units(z.size()); ++c) {
    own.clear();
    for (Index row : clusters.rows(c)) {
      const auto k = static_cast<std::size_t>(cell_of(edges, z[row]));
      if (!met[k]) own.push_back(k);
      met[k] = true;
      sum[k] +=
          weights(row) * (outcome[static_cast<std::size_t>(row)] - cells[k].outcome / cells[k].n);
    }
    for (std::size_t k : own) {
      squares[k] += sum[k] * sum[k];
      parts[k] += 1.0;
      sum[k] = 0.0;
      met[k] = false;
    }
  }
  for (std::size_t k = 0; k < cells.size(); ++k) {
    squares[k] =
        parts[k] < 2.0 ? 0.0 : squares[k] * parts[k] / ((parts[k] - 1.0) * cells[k].n * cells[k].n);
  }
  return squares;
}

// A sum in two parts that keeps twice the digits (Knuth's two-sum).
struct LongSum {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
  double value() const { return high + low; }
  double minus(const LongSum& other) const { return (high - other.high) + (low - other.low); }
};

// Counts the copies of a row.
inline CellSums sums_of_row(const RowWeights& weights, Index row, double y, double e) {
  const double w = weights(row), w_2 = weights.squares(row);
  return {w, w * y, w * e, w * e * e, weights.copies(row), w_2, w_2 * y, w_2 * e * e};
}

// Cells of rows in any order.
inline std::vector<CellSums> cell_sums(const ConstVectorRef& z, const ConstVectorRef& residuals,
                                       const Labels& outcome, const std::vector<double>& edges,
                                       const RowWeights& weights = RowWeights()) {
  std::vector<CellSums> out(edges.size() + 1);
  if (!weights.all_equal()) {
    for (Index row = 0; row < z.size(); ++row) {
      out[static_cast<std::size_t>(cell_of(edges, z[row]))] +=
          sums_of_row(weights, row, outcome[static_cast<std::size_t>(row)], residuals[row]);
    }
    return out;
  }
  std::vector<LongSum> residual(out.size()), square(out.size());
  for (Index row = 0; row < z.size(); ++row) {
    const auto k = static_cast<std::size_t>(cell_of(edges, z[row]));
    const double e = residuals[row];
    out[k].n += 1.0;
    out[k].outcome += outcome[static_cast<std::size_t>(row)];
    residual[k].add(e);
    square[k].add(e * e);
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].set_plain(out[k].n, out[k].outcome, residual[k].value(), square[k].value());
  }
  return out;
}

// Rows sorted by feature, with prefix sums that keep twice the digits, so that the sum over
// a stretch has no cancellation. Rows with weights are added up for every set of edges.
class SortedCells {
 public:
  SortedCells() = default;

  // rows: in the order of z
  SortedCells(const ConstVectorRef& z, const ConstVectorRef& residuals, const Labels& outcome,
              const std::vector<Index>& rows, const RowWeights& weights) {
    const std::size_t n = rows.size();
    z_.resize(n);
    if (!weights.all_equal()) {
      for (std::size_t i = 0; i < n; ++i) {
        const Index row = rows[i];
        const double y = outcome[static_cast<std::size_t>(row)], e = residuals[row];
        z_[i] = z[row];
        weight_.push_back(weights(row));
        terms_.push_back(sums_of_row(weights, row, y, e));
        fourth_ += weights.squares(row) * e * e * e * e;
      }
      return;
    }
    outcome_.assign(n + 1, 0);
    residual_.resize(n + 1);
    square_.resize(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      const Index row = rows[i];
      const double e = residuals[row];
      z_[i] = z[row];
      outcome_[i + 1] = outcome_[i] + outcome[static_cast<std::size_t>(row)];
      (residual_[i + 1] = residual_[i]).add(e);
      (square_[i + 1] = square_[i]).add(e * e);
      fourth_ += e * e * e * e;
    }
  }

  Index size() const { return static_cast<Index>(z_.size()); }
  const std::vector<double>& values() const { return z_; }
  const std::vector<double>& weights() const { return weight_; }  // none where all are 1
  double fourth() const { return fourth_; }                       // sum of w^2 e^4

  std::vector<CellSums> cells(const std::vector<double>& edges) const {
    std::vector<CellSums> out(edges.size() + 1);
    if (z_.empty()) return out;
    std::size_t begin = 0;
    for (std::size_t k = 0; k <= edges.size(); ++k) {
      const std::size_t end =
          k == edges.size() ? z_.size()
                            : static_cast<std::size_t>(
                                  std::upper_bound(z_.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   z_.end(), edges[k]) -
                                  z_.begin());
      if (terms_.empty()) {
        out[k].set_plain(
            static_cast<double>(end - begin), static_cast<double>(outcome_[end] - outcome_[begin]),
            residual_[end].minus(residual_[begin]), square_[end].minus(square_[begin]));
      }
      for (std::size_t i = begin; i < end && !terms_.empty(); ++i) out[k] += terms_[i];
      begin = end;
    }
    return out;
  }

 private:
  std::vector<double> z_, weight_;
  std::vector<CellSums> terms_;  // of each row with a weight
  std::vector<std::int64_t> outcome_;
  std::vector<LongSum> residual_, square_;
  double fourth_ = 0;
};

}  // namespace calibrisk

#endif
