// SPDX-License-Identifier: GPL-3.0-or-later
// The random-effects summary of estimates of groups.
#ifndef CALIBRISK_CLASSICAL_RANDOM_EFFECTS_H
#define CALIBRISK_CLASSICAL_RANDOM_EFFECTS_H

#include <calibrisk/math/roots.h>
#include <calibrisk/math/tail_quantiles.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

struct RandomEffects {
  double mean = 0.0;
  double tau2 = 0.0;  // the variance between groups
  double q = 0.0;     // Cochran's statistic, and F with these degrees of freedom
  double f = 0.0, df1 = 0.0, df2 = 0.0;
  Vector weights;  // of sum 1
};

// Restricted maximum likelihood by Fisher's scoring, of two groups or more; `df`: of the variances,
// which are estimated: they make Q larger (Welch's test).
inline RandomEffects random_effects(const ConstVectorRef& value, const ConstVectorRef& variance,
                                    const ConstVectorRef& df) {
  const double k = static_cast<double>(value.size());
  const auto mean_of = [&](const Vector& w) { return w.dot(value) / w.sum(); };
  const auto off = [&](const Vector& w) -> Vector { return value.array() - mean_of(w); };
  const Vector fixed = variance.cwiseInverse();
  const Vector plain = Vector::Ones(value.size());
  RandomEffects out;
  out.tau2 = std::max(0.0, off(plain).squaredNorm() / (k - 1.0) - variance.mean());
  const auto weights = [&] { return Vector((variance.array() + out.tau2).inverse()); };
  for (int step = 0; step < 200; ++step) {
    const Vector w = weights();
    const double one = w.sum(), two = w.squaredNorm(), three = w.array().cube().sum();
    const double of_squares = two - 2.0 * three / one + (two / one) * (two / one);
    const double gain = w.cwiseProduct(off(w)).squaredNorm() - one + two / one;
    const double change = std::max(gain / of_squares, -out.tau2);
    out.tau2 += change;
    if (std::abs(change) <= 1e-10 * (out.tau2 + variance.mean())) break;
  }
  const Vector w = weights();
  out.mean = mean_of(w);
  out.weights = w / w.sum();
  out.q = fixed.dot(off(fixed).cwiseAbs2());
  const Vector rest = 1.0 - fixed.array() / fixed.sum();
  const double spread = rest.cwiseAbs2().cwiseQuotient(df).sum() / (k * k - 1.0);
  out.f = out.q / (k - 1.0) / (1.0 + 2.0 * (k - 2.0) * spread);
  out.df1 = k - 1.0;
  out.df2 = 1.0 / (3.0 * spread);
  return out;
}

// What the groups say of their mean: a mixture of normal distributions, one for each value that the
// variance between groups may have. Q(tau2) = sum w (value - mean)^2 with w = 1 / (variance + tau2)
// has the chi-squared distribution with k - 1 degrees of freedom at the true tau2, so tau2 where Q
// is a quantile of it are quantiles of the confidence distribution of tau2 (Viechtbauer 2007). One
// estimate of tau2 alone, which is often 0, would make limits too narrow.
class GroupMean {
 public:
  // `quantiles`: of the chi-squared distribution at equally spaced probabilities, increasing
  GroupMean(const ConstVectorRef& value, const ConstVectorRef& variance,
            const ConstVectorRef& quantiles)
      : mean_(quantiles.size()), variance_(quantiles.size()), tau2_(quantiles.size()) {
    double tau2 = 0.0;
    for (Index j = quantiles.size() - 1; j >= 0; --j) {
      // Q is convex and decreases, so Newton's steps from below stay below
      for (int step = 0; step < 100; ++step) {
        const Vector w = (variance.array() + tau2).inverse();
        mean_(j) = w.dot(value) / w.sum();
        variance_(j) = 1.0 / w.sum();
        const Vector squares = (value.array() - mean_(j)).square();
        const double change = (w.dot(squares) - quantiles(j)) / w.cwiseAbs2().dot(squares);
        if (!(change > 1e-10 * (tau2 + variance_(j)))) break;
        tau2 += change;
      }
      tau2_(j) = tau2;
    }
  }

  // The quantile of the mean, or of a new group, with as much beyond it, on the side -1 or 1, as a
  // normal variable has beyond z. It lies between those of the parts.
  double limit(double z, double side, bool of_new) const {
    const Vector deviation = (variance_ + (of_new ? 1.0 : 0.0) * tau2_).cwiseSqrt();
    const Vector parts = side * mean_ + z * deviation;
    const double tail = normal_tail(z) * static_cast<double>(parts.size());
    const auto excess = [&](double x) {
      double beyond = -tail;
      for (Index j = 0; j < parts.size(); ++j) {
        beyond += normal_tail(z + (x - parts(j)) / deviation(j));
      }
      return beyond;
    };
    const double tolerance = 1e-9 * deviation.minCoeff();
    return side * bracketed_root(excess, parts.minCoeff(), parts.maxCoeff(), tolerance);
  }

 private:
  Vector mean_, variance_, tau2_;
};

}  // namespace calibrisk

#endif
