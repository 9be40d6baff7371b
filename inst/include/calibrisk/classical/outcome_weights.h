// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of rows that depend on their outcomes, as of samples drawn by outcome.
#ifndef CALIBRISK_CLASSICAL_OUTCOME_WEIGHTS_H
#define CALIBRISK_CLASSICAL_OUTCOME_WEIGHTS_H

#include <cmath>
#include <cstddef>

namespace calibrisk {

// The ratio of the weights of events to those of others with the same prediction: from the
// regression of log weights on outcomes and logits, 1 where rows do not tell. Residuals stand for
// the outcomes as instruments: with any function of the prediction they are not correlated.
// `w`, `w2`: of each row the sums of weights of its copies and of their squares.
template <class Outcome>
double outcome_weight_ratio(std::size_t n, const double* p, const Outcome* y, const double* w,
                            const double* w2) {
  const auto used = [&](std::size_t i) { return w[i] > 0.0 && p[i] > 0.0 && p[i] < 1.0; };
  const auto logit = [&](std::size_t i) { return std::log(p[i] / (1.0 - p[i])); };
  const auto residual = [&](std::size_t i) { return static_cast<double>(y[i]) - p[i]; };
  double copies = 0.0, mean_e = 0.0, mean_z = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!used(i)) continue;
    const double own = w[i] * w[i] / w2[i];
    copies += own;
    mean_e += own * residual(i);
    mean_z += own * logit(i);
  }
  mean_e /= copies;
  mean_z /= copies;
  double ez = 0.0, zz = 0.0, ey = 0.0, zy = 0.0, ev = 0.0, zv = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!used(i)) continue;
    const double own = w[i] * w[i] / w2[i], e = own * (residual(i) - mean_e);
    const double z = own * (logit(i) - mean_z), value = std::log(w2[i] / w[i]);
    ez += e * logit(i);
    zz += z * logit(i);
    ey += e * static_cast<double>(y[i]);
    zy += z * static_cast<double>(y[i]);
    ev += e * value;
    zv += z * value;
  }
  const double slope = zz > 0.0 ? ez / zz : 0.0;  // of the residuals on the logits
  const double outcomes = ey - slope * zy;
  if (!(outcomes > 1e-10 * copies)) return 1.0;
  return std::exp((ev - slope * zv) / outcomes);
}

// w^2 p (1 - p) times this has the mean of (w (y - p))^2 over calibrated rows whose weights with an
// event are k times those without one.
inline double outcome_weight_factor(double p, bool event, double k) {
  return event ? 1.0 - p + p / k : (1.0 - p) * k + p;
}

}  // namespace calibrisk

#endif
