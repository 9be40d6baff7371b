// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of probabilities in an order that depends neither on their own order nor on that of the
// classes, and landmarks spaced along it.
#ifndef CALIBRISK_LADDER_SYMMETRIC_ORDER_H
#define CALIBRISK_LADDER_SYMMETRIC_ORDER_H

#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace calibrisk {

// Rows by their sorted probabilities, the largest first. Rows that are permutations of one another
// follow by sum_k m_k p_k, m_k the means of p_k and then of p_k^2 over all rows. Rows that are
// still equal are a tie: only the names of the classes distinguish them. Keys are rounded to 2^-30,
// so that the rounding of sums does not order a tie.
class SymmetricOrder {
 public:
  SymmetricOrder(const ConstMatrixRef& p, const RowWeights& weights)
      : p_(p), weights_(weights), width_(static_cast<std::size_t>(p.cols()) + 2) {
    const Index n = p.rows(), classes = p.cols();
    Matrix mean = Matrix::Zero(classes, 2);
    for (Index k = 0; k < classes; ++k) {
      for (Index i = 0; i < n; ++i) {
        mean(k, 0) += weights(i) * p(i, k);
        mean(k, 1) += weights(i) * p(i, k) * p(i, k);
      }
    }
    mean /= weights.total(n);
    keys_.resize(static_cast<std::size_t>(n) * width_);
    for (Index i = 0; i < n; ++i) {
      std::int32_t* key = keys_.data() + static_cast<std::size_t>(i) * width_;
      for (Index k = 0; k < classes; ++k) key[k] = rounded(p(i, k));
      std::sort(key, key + classes, std::greater<std::int32_t>());
      for (Index m = 0; m < 2; ++m) key[classes + m] = rounded(p.row(i).dot(mean.col(m)));
    }
    rows_.resize(static_cast<std::size_t>(n));
    std::iota(rows_.begin(), rows_.end(), Index{0});
    std::sort(rows_.begin(), rows_.end(), [&](Index a, Index b) {
      const auto differ = std::mismatch(key_of(a), key_of(a) + width_, key_of(b));
      return differ.first == key_of(a) + width_ ? a < b : *differ.first < *differ.second;
    });
  }

  // Rows in this order; those of a tie as they came.
  const std::vector<Index>& rows() const { return rows_; }

  // `count` points [count x K], evenly spaced by cumulative weight (in units of a row); the point
  // of a tie is its mean.
  Matrix spaced(Index count) const {
    const auto n = static_cast<Index>(rows_.size());
    const double rows = weights_.count(n), unit = rows / weights_.total(n);
    Matrix out(count, p_.cols());
    std::size_t at = 0, begin = 0, end = 0;
    double sum = weights_(rows_[0]) * unit;
    for (Index q = 0; q < count; ++q) {
      const double share =
          count == 1 ? 0.0 : static_cast<double>(q) / static_cast<double>(count - 1);
      const double target = std::nearbyint(1.0 + share * (rows - 1.0)) - 1e-9 * unit;
      while (sum < target && at + 1 < rows_.size()) sum += weights_(rows_[++at]) * unit;
      if (q > 0 && at < end) {
        out.row(q) = out.row(q - 1);
        continue;
      }
      for (begin = at; begin > 0 && tied(begin - 1, at); --begin) continue;
      for (end = at + 1; end < rows_.size() && tied(at, end); ++end) continue;
      out.row(q) = mean_of(begin, end);
    }
    return out;
  }

 private:
  static std::int32_t rounded(double p) {
    return static_cast<std::int32_t>(std::nearbyint(std::min(std::max(p, 0.0), 1.0) * 0x1.0p30));
  }
  const std::int32_t* key_of(Index row) const {
    return keys_.data() + static_cast<std::size_t>(row) * width_;
  }
  bool tied(std::size_t a, std::size_t b) const {
    return std::equal(key_of(rows_[a]), key_of(rows_[a]) + width_, key_of(rows_[b]));
  }
  // Equal rows are their own mean, without rounding.
  Eigen::RowVectorXd mean_of(std::size_t begin, std::size_t end) const {
    const Eigen::RowVectorXd first = p_.row(rows_[begin]);
    Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(p_.cols());
    double total = 0.0;
    for (std::size_t at = begin; at < end; ++at) {
      const double v = weights_(rows_[at]);
      sum += v * (p_.row(rows_[at]) - first);
      total += v;
    }
    return total > 0.0 ? Eigen::RowVectorXd(first + sum / total) : first;
  }

  ConstMatrixRef p_;
  const RowWeights& weights_;
  std::size_t width_;
  std::vector<std::int32_t> keys_;  // by row
  std::vector<Index> rows_;
};

}  // namespace calibrisk

#endif
