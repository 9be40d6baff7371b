// SPDX-License-Identifier: GPL-3.0-or-later
// S = L'D for classes that are redrawn from the predictions, D = probs - onehot: what every
// statistic of redrawn classes is made of. A class changes S by one row of L, and only rows whose
// class is not the most probable one do: next to nothing for confident predictions.
#ifndef CALIBRISK_SKCE_CLASS_CROSS_H
#define CALIBRISK_SKCE_CLASS_CROSS_H

#include <calibrisk/engine.h>

#include <algorithm>
#include <numeric>

namespace calibrisk {

// The class of row i of probs that a uniform number u of [0, 1) falls on.
class ClassDraws {
 public:
  // Classes are taken by falling probability, equally probable ones by their mean probability: a
  // draw does not depend on the order of the classes.
  explicit ClassDraws(const ConstMatrixRef& probs)
      : cumulative_(probs.cols(), probs.rows()), class_(static_cast<std::size_t>(probs.size())) {
    const Vector mean = probs.colwise().sum();
    for (Index i = 0; i < probs.rows(); ++i) {
      const auto first = class_.begin() + i * probs.cols();
      std::iota(first, first + probs.cols(), 0);
      std::sort(first, first + probs.cols(), [&](int a, int b) {
        if (probs(i, a) != probs(i, b)) return probs(i, a) > probs(i, b);
        return mean(a) != mean(b) ? mean(a) > mean(b) : a < b;
      });
      double total = 0.0;
      for (Index k = 0; k < probs.cols(); ++k) {
        cumulative_(k, i) = (total += probs(i, first[k]));
      }
      // 1 from the last class of positive probability on, which takes the rounding
      cumulative_.col(i) /= total;
    }
  }

  int operator()(Index i, double u) const {
    Index k = 0;
    while (u >= cumulative_(k, i)) ++k;
    return label(i, k);
  }

  // How many of n independent draws of row i are of each class, into that row of `out`; binomial(n,
  // p) draws a number of successes.
  template <class Binomial>
  void counts(Index i, double n, const Binomial& binomial, MatrixRef out) const {
    double reached = 0.0;
    out.row(i).setZero();
    for (Index k = 0; n > 0.0; ++k) {
      const double to = cumulative_(k, i);
      const double drawn = to < 1.0 ? binomial(n, (to - reached) / (1.0 - reached)) : n;
      out(i, label(i, k)) = drawn;
      n -= drawn;
      reached = to;
    }
  }

 private:
  int label(Index i, Index k) const {
    return class_[static_cast<std::size_t>(i * cumulative_.rows() + k)];
  }

  Matrix cumulative_;  // [m x n], the most probable class first
  std::vector<int> class_;
};

class ClassCross {
 public:
  // factor: [n x r], probs: [n x m]
  ClassCross(const Engine& engine, const ConstMatrixRef& factor, const ConstMatrixRef& probs)
      : rows_(factor.transpose()), start_(engine.dense.multiply_at_b(factor, probs)) {
    // from the most probable class to another it takes two steps, from no class to any one step
    // without a branch
    const double others = static_cast<double>(probs.rows()) - probs.rowwise().maxCoeff().sum();
    if (3.0 * others > static_cast<double>(probs.rows())) return;
    mode_.resize(static_cast<std::size_t>(probs.rows()));
    for (Index i = 0; i < probs.rows(); ++i) {
      Index k;
      probs.row(i).maxCoeff(&k);
      mode_[static_cast<std::size_t>(i)] = static_cast<int>(k);
      start_.col(k) -= rows_.col(i);
    }
  }

  const Matrix& rows() const { return rows_; }  // L', [r x n]

  // S before any class is read, [r x m]; take(i, k) for the classes it has. More than one draw may
  // go on from there.
  template <class Take>
  const Matrix& start(const Take& take) const {
    for (std::size_t i = 0; i < mode_.size(); ++i) take(static_cast<Index>(i), mode_[i]);
    return start_;
  }

  // Reads the classes label(i) (from 0) of rows begin, ..., end - 1 into S: take(i, k) where row i
  // now has the class k, leave(i, k) where it no longer has.
  template <class Label, class Take, class Leave>
  void read(Index begin, Index end, const Label& label, Matrix& s, const Take& take,
            const Leave& leave) const {
    if (mode_.empty()) {
      for (Index i = begin; i < end; ++i) {
        const Index k = label(i);
        s.col(k) -= rows_.col(i);
        take(i, k);
      }
      return;
    }
    for (Index i = begin; i < end; ++i) {
      const Index k = label(i), usual = mode_[static_cast<std::size_t>(i)];
      if (k == usual) continue;
      s.col(usual) += rows_.col(i);
      s.col(k) -= rows_.col(i);
      leave(i, usual);
      take(i, k);
    }
  }

 private:
  Matrix rows_, start_;
  Labels mode_;  // empty: S starts without classes
};

}  // namespace calibrisk

#endif
