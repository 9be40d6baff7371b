// SPDX-License-Identifier: GPL-3.0-or-later
// The random-effects summary of estimates of groups.
#ifndef CALIBRISK_CLASSICAL_RANDOM_EFFECTS_H
#define CALIBRISK_CLASSICAL_RANDOM_EFFECTS_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

struct RandomEffects {
  double mean = 0.0, error = 0.0;  // the standard error of Hartung and Knapp
  double tau2 = 0.0;               // the variance between groups
  double q = 0.0;                  // Cochran's statistic, and F with these degrees of freedom
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
  out.error = std::sqrt(w.dot(off(w).cwiseAbs2()) / ((k - 1.0) * w.sum()));
  out.weights = w / w.sum();
  out.q = fixed.dot(off(fixed).cwiseAbs2());
  const Vector rest = 1.0 - fixed.array() / fixed.sum();
  const double spread = rest.cwiseAbs2().cwiseQuotient(df).sum() / (k * k - 1.0);
  out.f = out.q / (k - 1.0) / (1.0 + 2.0 * (k - 2.0) * spread);
  out.df1 = k - 1.0;
  out.df2 = 1.0 / (3.0 * spread);
  return out;
}

}  // namespace calibrisk

#endif
