// SPDX-License-Identifier: GPL-3.0-or-later
// Cox's calibration model, logit P(y = 1) = a + b z with z the logit of the prediction,
// by Newton's method with step halving; a may be held at 0, b at 1 (calibration in the large).
#ifndef CALIBRISK_CLASSICAL_LOGISTIC_H
#define CALIBRISK_CLASSICAL_LOGISTIC_H

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace calibrisk {

struct LogisticFit {
  double intercept = 0.0, slope = 1.0;
  double var_intercept = 0.0, var_slope = 0.0, covariance = 0.0;
  double loss = 0.0;  // negative log-likelihood
  int iterations = 0;
  bool converged = false;
};

class LogisticRegression {
 public:
  // w [n]: weights of the rows; nullptr where all count 1.
  LogisticRegression(const double* z, const double* y, std::size_t n, const double* w = nullptr)
      : z_(z), y_(y), w_(w), n_(n) {}

  LogisticFit fit(bool free_intercept, bool free_slope, int max_iterations = 50,
                  double tolerance = 1e-10) const {
    LogisticFit now;
    Moments m = moments(now.intercept, now.slope);
    now.loss = m.loss;
    for (; now.iterations < max_iterations; ++now.iterations) {
      double step_a = 0.0, step_b = 0.0;
      if (free_intercept && free_slope) {
        const double det = m.haa * m.hbb - m.hab * m.hab;
        if (!(det > 1e-14 * m.haa * m.hbb)) break;  // flat: separated or constant predictions
        step_a = (m.hbb * m.ga - m.hab * m.gb) / det;
        step_b = (m.haa * m.gb - m.hab * m.ga) / det;
      } else {
        const double curvature = free_slope ? m.hbb : m.haa;
        if (!(curvature > 0.0)) break;
        (free_slope ? step_b : step_a) = (free_slope ? m.gb : m.ga) / curvature;
      }
      // Newton decrement: twice the loss that a full step would still save
      const double decrement = step_a * m.ga + step_b * m.gb;
      if (decrement <= tolerance * (1.0 + std::fabs(m.loss)) * 1e-4) {
        now.converged = true;
        break;
      }
      double length = 1.0;
      Moments next = moments(now.intercept - step_a, now.slope - step_b);
      while (!(next.loss <= m.loss) && length > 1e-8) {
        length *= 0.5;
        next = moments(now.intercept - length * step_a, now.slope - length * step_b);
      }
      now.intercept -= length * step_a;
      now.slope -= length * step_b;
      m = next;
      now.loss = m.loss;
    }
    if (free_intercept && free_slope) {
      const double det = m.haa * m.hbb - m.hab * m.hab;
      now.var_intercept = m.hbb / det;
      now.var_slope = m.haa / det;
      now.covariance = -m.hab / det;
    } else {
      (free_slope ? now.var_slope : now.var_intercept) = 1.0 / (free_slope ? m.hbb : m.haa);
    }
    return now;
  }

 private:
  struct Moments {
    double loss = 0.0, ga = 0.0, gb = 0.0, haa = 0.0, hab = 0.0, hbb = 0.0;
  };

  Moments moments(double a, double b) const {
    Moments m;
    for (std::size_t i = 0; i < n_; ++i) {
      const double eta = a + b * z_[i];
      const double tail = std::exp(-std::fabs(eta));
      const double p = eta >= 0.0 ? 1.0 / (1.0 + tail) : tail / (1.0 + tail);
      const double count = w_ == nullptr ? 1.0 : w_[i];
      m.loss += count * (std::max(eta, 0.0) - y_[i] * eta + std::log1p(tail));
      const double g = count * (p - y_[i]), w = count * tail / ((1.0 + tail) * (1.0 + tail));
      m.ga += g;
      m.gb += g * z_[i];
      m.haa += w;
      m.hab += w * z_[i];
      m.hbb += w * z_[i] * z_[i];
    }
    return m;
  }

  const double* z_;
  const double* y_;
  const double* w_;
  std::size_t n_;
};

}  // namespace calibrisk

#endif
