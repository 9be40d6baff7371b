// SPDX-License-Identifier: GPL-3.0-or-later
// Mean proper scores of softmax predictions and their derivatives, the objectives that
// recalibration maps are fitted with. Rows are observations, labels are 1..K.
//   log    -log p_y                       d/ds_k = p_k - e_k
//   brier  sum_k (p_k - e_k)^2            d/ds_k = 2 p_k [(p_k - e_k) - sum_j p_j (p_j - e_j)]
// with p = softmax(s), e the one-hot label. Cost O(n K), parallel over rows.
#ifndef CALIBRISK_RECAL_SOFTMAX_LOSS_H
#define CALIBRISK_RECAL_SOFTMAX_LOSS_H

#include <calibrisk/engine.h>

#include <cmath>

namespace calibrisk {

enum class Loss { log, brier };

constexpr Index recal_block = 512;

using RowBlock = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic>;
using ColumnArray = Eigen::Array<double, Eigen::Dynamic, 1>;

// scores -> probabilities in place; returns log(sum exp) of each row.
inline ColumnArray softmax_rows(RowBlock& s) {
  const ColumnArray top = s.rowwise().maxCoeff();
  s.colwise() -= top;
  s = s.exp();
  const ColumnArray sum = s.rowwise().sum();
  s.colwise() /= sum;
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
  const ColumnArray squares = s.square().rowwise().sum();
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

// Temperature scaling p = softmax(b l), b = 1/T: mean loss, its derivative in b and, for
// the log score, its second derivative mean Var_p(l) >= 0 (convex in b).
struct TemperatureLoss {
  double value = 0.0, slope = 0.0, curvature = 0.0;
};

inline TemperatureLoss temperature_loss(const Engine& engine, const ConstMatrixRef& logits,
                                        const Labels& y, const ConstVectorRef& weights, double b,
                                        Loss loss) {
  require(static_cast<Index>(y.size()) == logits.rows(), "temperature_loss: one label per row.");
  const RowShares shares(weights, logits.rows());
  TemperatureLoss total = parallel_reduce(
      engine, logits.rows(), recal_block, TemperatureLoss(),
      [&](Index begin, Index size) {
        TemperatureLoss part;
        const auto l = logits.middleRows(begin, size).array();
        const int* labels = y.data() + begin;
        const ColumnArray w = shares.block(begin, size);
        RowBlock p = b * l;
        const ColumnArray lse = softmax_rows(p);
        const ColumnArray mean = (p * l).rowwise().sum();
        if (loss == Loss::log) {
          const ColumnArray square = (p * l.square()).rowwise().sum();
          part.curvature = (w * (square - mean.square())).sum();
          for (Index i = 0; i < size; ++i) {
            const double l_y = l(i, labels[i] - 1);
            part.value += w[i] * (lse[i] - b * l_y);
            part.slope += w[i] * (mean[i] - l_y);
          }
          return part;
        }
        // sum_k 2 (p_k - e_k) p_k (l_k - mean)
        for (Index i = 0; i < size; ++i) {
          const Index k = labels[i] - 1;
          part.value += w[i] * (1.0 - 2.0 * p(i, k));
          part.slope -= 2.0 * w[i] * p(i, k) * (l(i, k) - mean[i]);
        }
        part.value += (p.square().rowwise().sum() * w).sum();
        part.slope += 2.0 * ((p.square() * (l.colwise() - mean)).rowwise().sum() * w).sum();
        return part;
      },
      [](TemperatureLoss& sum, const TemperatureLoss& part) {
        sum.value += part.value;
        sum.slope += part.slope;
        sum.curvature += part.curvature;
      });
  const double scale = 1.0 / static_cast<double>(logits.rows());
  return {scale * total.value, scale * total.slope, scale * total.curvature};
}

// softmax(scores), and log(softmax(scores)) where `log_scale`.
inline Matrix softmax(const Engine& engine, const ConstMatrixRef& scores, bool log_scale) {
  Matrix out(scores.rows(), scores.cols());
  const Index n_blocks = (scores.rows() + recal_block - 1) / recal_block;
  parallel_for(engine, n_blocks, [&](Index block) {
    const Index begin = block * recal_block;
    const Index size = std::min(recal_block, scores.rows() - begin);
    RowBlock s = scores.middleRows(begin, size).array();
    if (log_scale) {
      RowBlock p = s;
      s.colwise() -= softmax_rows(p);
    } else {
      softmax_rows(s);
    }
    out.middleRows(begin, size) = s.matrix();
  });
  return out;
}

}  // namespace calibrisk

#endif
