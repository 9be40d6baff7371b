// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of rows that depend on their outcomes, as of samples drawn by outcome.
#ifndef CALIBRISK_CLASSICAL_OUTCOME_WEIGHTS_H
#define CALIBRISK_CLASSICAL_OUTCOME_WEIGHTS_H

#include <cmath>
#include <cstddef>

namespace calibrisk {

// The ratio of the weights of events to those of others with the same prediction: from the
// least-squares regression of log weights on outcomes and logits; 1 where rows do not tell.
// `w`, `w2`: of each row the sums of weights of its copies and of their squares.
template <class Outcome>
double outcome_weight_ratio(std::size_t n, const double* p, const Outcome* y, const double* w,
                            const double* w2) {
  const auto used = [&](std::size_t i) { return w[i] > 0.0 && p[i] > 0.0 && p[i] < 1.0; };
  const auto logit = [&](std::size_t i) { return std::log(p[i] / (1.0 - p[i])); };
  const auto log_weight = [&](std::size_t i) { return std::log(w2[i] / w[i]); };
  double copies = 0.0, mean_y = 0.0, mean_z = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!used(i)) continue;
    const double own = w[i] * w[i] / w2[i];
    copies += own;
    mean_y += own * static_cast<double>(y[i]);
    mean_z += own * logit(i);
  }
  mean_y /= copies;
  mean_z /= copies;
  double yy = 0.0, yz = 0.0, zz = 0.0, yv = 0.0, zv = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!used(i)) continue;
    const double own = w[i] * w[i] / w2[i], outcome = static_cast<double>(y[i]) - mean_y;
    const double z = logit(i) - mean_z, value = log_weight(i);
    yy += own * outcome * outcome;
    yz += own * outcome * z;
    zz += own * z * z;
    yv += own * outcome * value;
    zv += own * z * value;
  }
  const double left = zz > 0.0 ? yy - yz * yz / zz : yy;  // of the outcomes given the logits
  if (!(left > 1e-10 * copies)) return 1.0;
  return std::exp((yv - (zz > 0.0 ? yz * zv / zz : 0.0)) / left);
}

// w^2 p (1 - p) times this has the mean of (w (y - p))^2 over calibrated rows whose weights with an
// event are k times those without one.
inline double outcome_weight_factor(double p, bool event, double k) {
  return event ? 1.0 - p + p / k : (1.0 - p) * k + p;
}

}  // namespace calibrisk

#endif
