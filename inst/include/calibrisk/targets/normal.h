// SPDX-License-Identifier: GPL-3.0-or-later
// Normal predictions with the Gaussian target kernel exp(-gamma |y - y'|^2):
//   E k(Z, y)  = |I + 2 gamma S|^{-1/2} exp(-gamma (mu - y)'(I + 2 gamma S)^{-1}(mu - y)),
//   E k(Z, Z') = the same with S + S' and mu'.
#ifndef CALIBRISK_TARGETS_NORMAL_H
#define CALIBRISK_TARGETS_NORMAL_H

#include <calibrisk/math/vector_exp.h>
#include <calibrisk/targets/target.h>

#include <cmath>
#include <vector>

namespace calibrisk {

// Independent coordinates (d = 1 among them): column arrays, four exponentials per pair.
class DiagonalNormalTarget : public Target {
 public:
  // mean, variance, outcome: [n x d]
  DiagonalNormalTarget(double gamma, MatrixView mean, const Matrix& variance, MatrixView outcome)
      : gamma_(gamma), mean_(mean), y_(outcome), stretch_(2.0 * gamma * variance) {
    require(variance.rows() == mean.rows() && variance.cols() == mean.cols() &&
                outcome.rows() == mean.rows() && outcome.cols() == mean.cols(),
            "Means, variances and outcomes must have the same shape.");
    shrink_ = (1.0 + stretch_.array()).inverse();
    front_ = shrink_.array().rowwise().prod().sqrt();
  }
  Index size() const override { return mean_.rows(); }

  void block(Index i, Index j, MatrixRef out) const override {
    const Index n = out.rows();
    Eigen::ArrayXd outcomes(n), own(n), other(n), means(n), volume(n), sum(n);
    for (Index b = 0; b < out.cols(); ++b) {
      outcomes.setZero();
      own.setZero();
      other.setZero();
      for (Index k = 0; k < mean_.cols(); ++k) {
        const auto y = y_.col(k).segment(i, n).array();
        const auto mean = mean_.col(k).segment(i, n).array();
        const double yj = y_(j + b, k), mj = mean_(j + b, k);
        outcomes += (y - yj).square();
        own += (mean - yj).square() * shrink_.col(k).segment(i, n).array();
        other += (y - mj).square() * shrink_(j + b, k);
      }
      spread(i, j + b, n, means, volume, sum);
      decay(outcomes);
      decay(own);
      decay(other);
      decay(means);
      out.col(b).array() = outcomes - front_.segment(i, n).array() * own - front_(j + b) * other +
                           means / volume.sqrt();
    }
  }
  void inner(Index i, Index j, MatrixRef out) const override {
    const Index n = out.rows();
    Eigen::ArrayXd means(n), volume(n), sum(n);
    for (Index b = 0; b < out.cols(); ++b) {
      spread(i, j + b, n, means, volume, sum);
      decay(means);
      out.col(b).array() = means / volume.sqrt();
    }
  }
  void expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const override {
    const Index n = out.rows();
    Eigen::ArrayXd own(n);
    for (Index b = 0; b < out.cols(); ++b) {
      own.setZero();
      for (Index k = 0; k < mean_.cols(); ++k) {
        own += (mean_.col(k).segment(i, n).array() - points(b, k)).square() *
               shrink_.col(k).segment(i, n).array();
      }
      decay(own);
      out.col(b).array() = front_.segment(i, n).array() * own;
    }
  }

 private:
  // v <- exp(-gamma v)
  void decay(Eigen::ArrayXd& v) const {
    v *= -gamma_;
    exp_in_place(v);
  }
  void spread(Index i, Index j, Index n, Eigen::ArrayXd& means, Eigen::ArrayXd& volume,
              Eigen::ArrayXd& sum) const {
    means.setZero();
    volume.setOnes();
    for (Index k = 0; k < mean_.cols(); ++k) {
      sum = 1.0 + stretch_(j, k) + stretch_.col(k).segment(i, n).array();
      means += (mean_.col(k).segment(i, n).array() - mean_(j, k)).square() / sum;
      volume *= sum;
    }
  }

  double gamma_;
  MatrixView mean_, y_;
  Matrix stretch_, shrink_;  // 2 gamma s^2 and 1 / (1 + 2 gamma s^2)
  Vector front_;             // prod_k shrink^(1/2)
};

// Mixtures of K normals with full covariances in d dimensions.
// weight: [n x K], mean: [n x K d], covariance: [n x K d^2], component after component.
class FullNormalTarget : public Target {
 public:
  FullNormalTarget(double gamma, MatrixView weight, MatrixView mean, MatrixView covariance,
                   MatrixView outcome)
      : gamma_(gamma),
        d_(outcome.cols()),
        n_components_(weight.cols()),
        weight_(weight),
        mean_(mean.transpose()),
        stretch_(2.0 * gamma * covariance.transpose()),
        y_(outcome.transpose()),
        singles_(stretch_) {
    require(mean.cols() == n_components_ * d_ && covariance.cols() == n_components_ * d_ * d_,
            "Means and covariances must have the dimension of the outcomes.");
    for (Index i = 0; i < weight.rows(); ++i) {
      for (Index k = 0; k < n_components_; ++k) factor(&singles_(k * d_ * d_, i));
    }
  }
  Index size() const override { return weight_.rows(); }

  void block(Index i, Index j, MatrixRef out) const override {
    std::vector<double> work(work_size());
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) {
        const double* yi = &y_(0, i + a);
        const double* yj = &y_(0, j + b);
        out(a, b) = value(yi, yj) - single(i + a, yj, work.data()) -
                    single(j + b, yi, work.data()) + both(i + a, j + b, work.data());
      }
    }
  }
  void inner(Index i, Index j, MatrixRef out) const override {
    std::vector<double> work(work_size());
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) out(a, b) = both(i + a, j + b, work.data());
    }
  }
  void expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const override {
    std::vector<double> work(work_size());
    const Matrix at = points.transpose();
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) out(a, b) = single(i + a, &at(0, b), work.data());
    }
  }

 private:
  std::size_t work_size() const { return static_cast<std::size_t>(d_ * d_ + d_); }

  double value(const double* y, const double* z) const {
    double sum = 0.0;
    for (Index k = 0; k < d_; ++k) sum += (y[k] - z[k]) * (y[k] - z[k]);
    return std::exp(-gamma_ * sum);
  }
  // Lower Cholesky factor of I + a, in place (column-major; the upper part is not read again).
  void factor(double* a) const {
    for (Index k = 0; k < d_; ++k) {
      double pivot = a[k * d_ + k] + 1.0;
      for (Index l = 0; l < k; ++l) pivot -= a[l * d_ + k] * a[l * d_ + k];
      const double root = std::sqrt(pivot);
      a[k * d_ + k] = root;
      for (Index r = k + 1; r < d_; ++r) {
        double x = a[k * d_ + r];
        for (Index l = 0; l < k; ++l) x -= a[l * d_ + r] * a[l * d_ + k];
        a[k * d_ + r] = x / root;
      }
    }
  }
  // |A|^{-1/2} exp(-gamma (u - v)' A^{-1} (u - v)) with A = L L'
  double density(const double* l, const double* u, const double* v, double* z) const {
    double quadratic = 0.0, volume = 1.0;
    for (Index k = 0; k < d_; ++k) {
      double x = u[k] - v[k];
      for (Index m = 0; m < k; ++m) x -= l[m * d_ + k] * z[m];
      z[k] = x / l[k * d_ + k];
      quadratic += z[k] * z[k];
      volume *= l[k * d_ + k];
    }
    return std::exp(-gamma_ * quadratic) / volume;
  }
  double single(Index i, const double* y, double* work) const {
    double sum = 0.0;
    for (Index k = 0; k < n_components_; ++k) {
      const double w = weight_(i, k);
      if (w > 0) {
        sum += w * density(&singles_(k * d_ * d_, i), &mean_(k * d_, i), y, work + d_ * d_);
      }
    }
    return sum;
  }
  double both(Index i, Index j, double* work) const {
    double sum = 0.0;
    for (Index k = 0; k < n_components_; ++k) {
      if (!(weight_(i, k) > 0)) continue;
      for (Index l = 0; l < n_components_; ++l) {
        const double w = weight_(i, k) * weight_(j, l);
        if (!(w > 0)) continue;
        const double* s = &stretch_(k * d_ * d_, i);
        const double* t = &stretch_(l * d_ * d_, j);
        for (Index e = 0; e < d_ * d_; ++e) work[e] = s[e] + t[e];
        factor(work);
        sum += w * density(work, &mean_(k * d_, i), &mean_(l * d_, j), work + d_ * d_);
      }
    }
    return sum;
  }

  double gamma_;
  Index d_, n_components_;
  MatrixView weight_;
  Matrix mean_, stretch_, y_;  // transposed: one observation is one column
  Matrix singles_;             // Cholesky factors of I + 2 gamma S
};

}  // namespace calibrisk

#endif
