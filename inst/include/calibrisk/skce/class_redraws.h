// SPDX-License-Identifier: GPL-3.0-or-later
// The unbiased SKCE of many label vectors on the same predictions, with the kernel on the
// predictions in factored form K = L L' (pairs/factor_sums.h) and M the target kernel's matrix:
//   n (n - 1) U = tr(S M S') - sum_i |l_i|^2 d_i' M d_i,   S = L'D, d_i = p_i - e_{y_i}.
#ifndef CALIBRISK_SKCE_CLASS_REDRAWS_H
#define CALIBRISK_SKCE_CLASS_REDRAWS_H

#include <calibrisk/pairs/pair_sums.h>
#include <calibrisk/skce/class_cross.h>

namespace calibrisk {

class ClassRedraws {
 public:
  // factor: [n x r], probs: [n x m], target_gram: [m x m]
  ClassRedraws(const Engine& engine, const ConstMatrixRef& factor, const ConstMatrixRef& probs,
               const ConstMatrixRef& target_gram)
      : cross_(engine, factor, probs),
        probs_(probs),
        gram_(target_gram),
        through_(engine.dense.multiply(probs, target_gram)),
        squares_(factor.rowwise().squaredNorm()),
        own_((through_.array() * probs.array()).rowwise().sum()) {
    start_ = cross_.start([&](Index i, Index k) { start_diagonal_ += diagonal(i, k); });
  }

  // One label per prediction, from 0.
  double unbiased(const Labels& labels) const {
    Matrix s = start_;
    double sum = start_diagonal_;
    cross_.read(
        0, probs_.rows(), [&](Index i) { return labels[static_cast<std::size_t>(i)]; }, s,
        [&](Index i, Index k) { sum += diagonal(i, k); },
        [&](Index i, Index k) { sum -= diagonal(i, k); });
    return statistic(s, sum);
  }

  // rows: which prediction each label belongs to.
  double unbiased(const Labels& labels, const Labels& rows) const {
    Matrix s = Matrix::Zero(start_.rows(), start_.cols());
    double sum = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Index row = rows[i], k = labels[i];
      s.noalias() += cross_.rows().col(row) * probs_.row(row);
      s.col(k) -= cross_.rows().col(row);
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
    const double all = ((s * gram_).array() * s.array()).sum();
    return PairTotals{all, diagonal, static_cast<double>(probs_.rows())}.unbiased();
  }

  ClassCross cross_;
  ConstMatrixRef probs_;
  Matrix gram_, through_;
  Vector squares_, own_;
  Matrix start_;
  double start_diagonal_ = 0.0;
};

}  // namespace calibrisk

#endif
