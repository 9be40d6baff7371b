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
  // factor: [n x r], probs: [n x m], target_gram: M, [m x m], or [1 x 1] for that multiple of the
  // identity. Per label vector m r (m or 1 for the identity) operations, beside those of S.
  ClassRedraws(const Engine& engine, const ConstMatrixRef& factor, const ConstMatrixRef& probs,
               const ConstMatrixRef& target_gram)
      : cross_(engine, factor, probs),
        probs_(probs),
        gram_(target_gram),
        squares_(factor.rowwise().squaredNorm()) {
    if (multiple()) {
      own_ = gram_(0, 0) * probs.rowwise().squaredNorm();
    } else {
      through_ = engine.dense.multiply(probs, target_gram);
      own_ = (through_.array() * probs.array()).rowwise().sum();
    }
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
    return statistic(s, sum, static_cast<double>(probs_.rows()));
  }

  // rows: which prediction each label belongs to.
  double unbiased(const Labels& labels, const Labels& rows) const {
    Vector times = Vector::Zero(probs_.rows());
    for (const int row : rows) times(row) += 1.0;
    Matrix s = (cross_.rows() * times.asDiagonal()) * probs_;
    double sum = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Index row = rows[i], k = labels[i];
      s.col(k) -= cross_.rows().col(row);
      sum += diagonal(row, k);
    }
    return statistic(s, sum, static_cast<double>(probs_.rows()));
  }

  // How many outcomes of each prediction are of each class, [n x m].
  double unbiased(const ConstMatrixRef& counts) const {
    const Vector copies = counts.rowwise().sum();
    double sum = 0.0;
    for (Index k = 0; k < counts.cols(); ++k) {
      for (Index i = 0; i < counts.rows(); ++i) sum += counts(i, k) * diagonal(i, k);
    }
    const Matrix gap = copies.asDiagonal() * probs_ - counts;
    return statistic(cross_.rows() * gap, sum, copies.sum());
  }

 private:
  // |l_i|^2 d_i' M d_i where prediction i has the label k
  double diagonal(Index i, Index k) const {
    if (multiple()) return squares_(i) * (own_(i) + gram_(0, 0) * (1.0 - 2.0 * probs_(i, k)));
    return squares_(i) * (own_(i) - 2.0 * through_(i, k) + gram_(k, k));
  }
  bool multiple() const { return gram_.size() == 1; }
  double statistic(const Matrix& s, double diagonal, double n) const {
    const double all =
        multiple() ? gram_(0, 0) * s.squaredNorm() : ((s * gram_).array() * s.array()).sum();
    return PairTotals{all, diagonal, n}.unbiased();
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
