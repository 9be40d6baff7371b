// SPDX-License-Identifier: GPL-3.0-or-later
// Mean proper scores of softmax predictions and their derivatives, the objectives that
// recalibration maps are fitted with. Rows are observations, labels are 1..K.
//   log    -log p_y                       d/ds_k = p_k - e_k
//   brier  sum_k (p_k - e_k)^2            d/ds_k = 2 p_k [(p_k - e_k) - sum_j p_j (p_j - e_j)]
// with p = softmax(s), e the one-hot label. Cost O(n K), parallel over rows.
#ifndef CALIBRISK_RECAL_SOFTMAX_LOSS_H
#define CALIBRISK_RECAL_SOFTMAX_LOSS_H

#include <calibrisk/engine.h>
#include <calibrisk/math/vector_exp.h>

#include <cmath>

namespace calibrisk {

enum class Loss { log, brier };

using RowBlock = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic>;
using ColumnArray = Eigen::Array<double, Eigen::Dynamic, 1>;

// Rows of a block: 128 kB of K classes.
inline Index recal_rows(Index n_classes) { return std::max<Index>(8, 16384 / n_classes); }

inline ColumnArray row_maxima(const RowBlock& s) {
  ColumnArray top = s.col(0);
  for (Index k = 1; k < s.cols(); ++k) top = top.max(s.col(k));
  return top;
}

inline ColumnArray row_sums(const RowBlock& s) {
  ColumnArray sum = s.col(0);
  for (Index k = 1; k < s.cols(); ++k) sum += s.col(k);
  return sum;
}

// scores -> probabilities in place; returns log(sum exp) of each row.
inline ColumnArray softmax_rows(RowBlock& s) {
  const ColumnArray top = row_maxima(s);
  s.colwise() -= top;
  exp_in_place(s);
  const ColumnArray sum = row_sums(s);
  s.colwise() *= sum.inverse();
  return top + sum.log();
}

// Weights of the rows in a mean: shares that sum to 1.
class RowShares {
 public:
  RowShares(const ConstVectorRef& weights, Index n_rows)
      : weights_(weights), n_(static_cast<double>(n_rows)), total_(weights.sum()) {
    require(weights.size() == 0 || weights.size() == n_rows, "One weight per row.");
  }
  // of rows begin, ..., times their number: 1 without weights
  ColumnArray block(Index begin, Index size) const {
    if (weights_.size() == 0) return ColumnArray::Ones(size);
    return weights_.segment(begin, size).array() * (n_ / total_);
  }

 private:
  ConstVectorRef weights_;
  double n_, total_;
};

// Weighted sum over the block's rows of the loss; the gradient replaces the scores where asked for.
inline double softmax_loss_block(RowBlock& s, const int* y, const ColumnArray& w, Loss loss,
                                 bool gradient) {
  const Index n = s.rows();
  double value = 0.0;
  ColumnArray score_y(n);
  for (Index i = 0; i < n; ++i) score_y[i] = s(i, y[i] - 1);
  const ColumnArray lse = softmax_rows(s);
  if (loss == Loss::log) {
    value = (w * (lse - score_y)).sum();
    if (gradient) {
      for (Index i = 0; i < n; ++i) s(i, y[i] - 1) -= 1.0;
      s.colwise() *= w;
    }
    return value;
  }
  const ColumnArray squares = row_sums(s.square());
  for (Index i = 0; i < n; ++i) value += w[i] * (squares[i] - 2.0 * s(i, y[i] - 1) + 1.0);
  if (gradient) {
    ColumnArray centre(n), p_y(n);
    for (Index i = 0; i < n; ++i) {
      p_y[i] = s(i, y[i] - 1);
      centre[i] = squares[i] - p_y[i];
    }
    for (Index k = 0; k < s.cols(); ++k) s.col(k) = 2.0 * s.col(k) * (s.col(k) - centre);
    for (Index i = 0; i < n; ++i) s(i, y[i] - 1) -= 2.0 * p_y[i];
    s.colwise() *= w;
  }
  return value;
}

}  // namespace calibrisk

#endif
