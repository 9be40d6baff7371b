// SPDX-License-Identifier: GPL-3.0-or-later
// Upper limits of the calibration error.
#ifndef CALIBRISK_JOINT_UPPER_H
#define CALIBRISK_JOINT_UPPER_H

#include <calibrisk/joint/lower.h>

namespace calibrisk {

// The largest squared error that a rung does not reject: the noncentral law's own lower quantile as
// far as many failures bear the normal law (`normal` near 1). `tail`: of this side.
inline double upper_rung(const ObservedRung& o, double tail, double normal) {
  const double z = normal_quantile(tail), psi = std::max(o.psi, 0.0);
  const auto excess = [&](double x) {
    const double variance = o.here.variance + o.here.slope * x;
    if (!(variance > 0.0)) return x - psi;
    const double skew = std::min(
        2.8, (o.here.cube + 1.5 * o.here.slope * o.here.slope * x) / std::pow(variance, 1.5));
    return x - psi + pearson3_quantile(-z, normal * skew) * std::sqrt(variance);
  };
  if (excess(1.0) < 0.0) return 1.0;
  return bracketed_root([&](double x) { return -excess(x); }, psi, 1.0, 1e-12);
}

// Upper limit of the root Brier score, which no calibration error exceeds. The variance of a mean
// of few large squares grows with the mean, by their skewness.
inline double root_brier_limit(const JointRows& rows, const Vector& e, double tail) {
  const double z = normal_quantile(tail), mean = rows.mean(e.cwiseAbs2());
  double squares = 0.0, cubes = 0.0;
  for (Index i = 0; i < rows.size(); ++i) {
    const double off = e(i) * e(i) - mean, w = rows.weight(i) * rows.each(i) * off * off;
    squares += w;
    cubes += w * rows.each(i) * off;
  }
  if (!(rows.count > 1.0)) return 1.0;
  const double variance = rows.count / (rows.count - 1.0) * squares / (rows.total * rows.total);
  const double third = cubes / std::pow(rows.total, 3.0);
  const double slope =
      variance > 0.0 && third > 0.0
          ? third / variance *
                std::max(0.0, 1.0 - variance * variance * variance / (third * third) / 25.0)
          : 0.0;
  const double high =
      mean + z * z * slope / 2.0 + z * std::sqrt(variance + z * z * slope * slope / 4.0);
  const double size = rows.effective();
  const double unseen = (1.0 - std::pow(tail, 1.0 / size)) * std::max(0.0, 1.0 - size * mean);
  return std::sqrt(std::min(1.0, std::max(high, unseen)));
}

}  // namespace calibrisk

#endif
