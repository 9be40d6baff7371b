// SPDX-License-Identifier: GPL-3.0-or-later
// The unbiased SKCE of many label vectors on the same predictions, with the kernel on the
// predictions in factored form K = L L' and M the target kernel's matrix:
//   n (n - 1) U = tr(S M S') - sum_i |l_i|^2 d_i' M d_i,   S = L'D, d_i = p_i - e_{y_i}.
// Only rows whose label is not the most probable one change S: cost 2 r of each, at most 2 n r per
// label vector and next to nothing for confident predictions.
#ifndef CALIBRISK_SKCE_CLASS_REDRAWS_H
#define CALIBRISK_SKCE_CLASS_REDRAWS_H

#include <calibrisk/engine.h>
#include <calibrisk/types.h>

#include <vector>

namespace calibrisk {

class ClassRedraws {
 public:
  // factor: [n x r], probs: [n x m], target_gram: [m x m]
  ClassRedraws(const Engine& engine, const ConstMatrixRef& factor, const ConstMatrixRef& probs,
               const ConstMatrixRef& target_gram)
      : transposed_(factor.transpose()),
        probs_(probs),
        gram_(target_gram),
        base_(engine.dense.multiply_at_b(factor, probs)),
        through_(engine.dense.multiply(probs, target_gram)),
        squares_(factor.rowwise().squaredNorm()),
        own_((through_.array() * probs.array()).rowwise().sum()),
        mode_(static_cast<std::size_t>(probs.rows())) {
    likely_ = base_;
    for (Index i = 0; i < probs_.rows(); ++i) {
      Index k;
      probs_.row(i).maxCoeff(&k);
      mode_[static_cast<std::size_t>(i)] = static_cast<int>(k);
      likely_.col(k) -= transposed_.col(i);
      likely_diagonal_ += diagonal(i, k);
    }
  }

  // One label per prediction, from 0.
  double unbiased(const Labels& labels) const {
    Matrix s = likely_;
    double sum = likely_diagonal_;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == mode_[i]) continue;
      const Index row = static_cast<Index>(i), k = labels[i], usual = mode_[i];
      s.col(usual) += transposed_.col(row);
      s.col(k) -= transposed_.col(row);
      sum += diagonal(row, k) - diagonal(row, usual);
    }
    return statistic(s, sum);
  }

  // rows: which prediction each label belongs to.
  double unbiased(const Labels& labels, const Labels& rows) const {
    Matrix s = Matrix::Zero(base_.rows(), base_.cols());
    double sum = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Index row = rows[i], k = labels[i];
      s.noalias() += transposed_.col(row) * probs_.row(row);
      s.col(k) -= transposed_.col(row);
      sum += diagonal(row, k);
    }
    return statistic(s, sum);
  }

 private:
  // |l_i|^2 d_i' M d_i where prediction i has the label k
  double diagonal(Index i, Index k) const {
    return squares_(i) * (own_(i) - 2.0 * through_(i, k) + gram_(k, k));
  }
  double statistic(const Matrix& s, double diagonal) const {
    const double n = static_cast<double>(transposed_.cols());
    return (((s * gram_).array() * s.array()).sum() - diagonal) / (n * (n - 1.0));
  }

  Matrix transposed_;
  ConstMatrixRef probs_;
  Matrix gram_, base_, through_;
  Vector squares_, own_;
  Labels mode_;
  Matrix likely_;  // S where every label is the most probable one
  double likely_diagonal_ = 0.0;
};

}  // namespace calibrisk

#endif
