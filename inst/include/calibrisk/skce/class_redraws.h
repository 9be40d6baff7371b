// SPDX-License-Identifier: GPL-3.0-or-later
// The unbiased SKCE of many label vectors on the same predictions, with the kernel on the
// predictions in factored form K = L L' and M the target kernel's matrix:
//   n (n - 1) U = tr(S M S') - sum_i |l_i|^2 d_i' M d_i,   S = L'D, d_i = p_i - e_{y_i}.
// Only L'(one-hot labels) changes with the labels: cost n r per label vector.
#ifndef CALIBRISK_SKCE_CLASS_REDRAWS_H
#define CALIBRISK_SKCE_CLASS_REDRAWS_H

#include <calibrisk/engine.h>
#include <calibrisk/types.h>

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
        through_(probs * target_gram),
        squares_(factor.rowwise().squaredNorm()),
        own_((through_.array() * probs.array()).rowwise().sum()) {}

  // labels from 0; rows: which prediction each label belongs to (empty: its own).
  double unbiased(const Labels& labels, const Labels& rows) const {
    const Index n = transposed_.cols();
    Matrix s = rows.empty() ? base_ : Matrix::Zero(base_.rows(), base_.cols());
    double diagonal = 0.0;
    for (Index i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Index row = rows.empty() ? i : static_cast<Index>(rows[at]);
      const Index k = static_cast<Index>(labels[at]);
      if (!rows.empty()) s.noalias() += transposed_.col(row) * probs_.row(row);
      s.col(k) -= transposed_.col(row);
      diagonal += squares_(row) * (own_(row) - 2.0 * through_(row, k) + gram_(k, k));
    }
    const double all = ((s * gram_).array() * s.array()).sum();
    return (all - diagonal) / (static_cast<double>(n) * static_cast<double>(n - 1));
  }

 private:
  Matrix transposed_, probs_, gram_, base_, through_;
  Vector squares_, own_;
};

}  // namespace calibrisk

#endif
