// SPDX-License-Identifier: GPL-3.0-or-later
// Expectations of families of distributions that are longer than a line.
#ifndef CALIBRISK_LAW_CLOSED_FORMS_H
#define CALIBRISK_LAW_CLOSED_FORMS_H

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// Integral of sqrt(p p') of Laplace densities at the distance z: with rates a, b of the roots, a
// divided difference of e^{-z t} / t; equal rates are its limit, close ones a Taylor expansion
// around the mean rate.
inline double laplace_affinity(double z, double scale, double other) {
  z = std::abs(z);
  const double a = 1.0 / (2.0 * scale), b = 1.0 / (2.0 * other), front = std::sqrt(a * b);
  if (std::abs(a - b) >= 1e-3 * (a + b)) {
    return front * (2.0 * (a * std::exp(-b * z) - b * std::exp(-a * z)) / ((a - b) * (a + b)));
  }
  // a = m + e, b = m - e: (a e^{-bz} - b e^{-az}) / e = 2 e^{-mz} (cosh(ez) + m sinh(ez) / e)
  const double m = (a + b) / 2.0, ez = (a - b) / 2.0 * z, square = ez * ez;
  const double sinhc = z * (1.0 + square / 6.0 + square * square / 120.0);
  return front * (std::exp(-m * z) * (std::cosh(ez) + m * sinhc) / m);
}

// E|X - X'| / 2 = mean (1 + mean / size) 2F1(size + 1, 1/2; 2; -z) of negative binomial
// distributions, with z = 4 mean (size + mean) / size^2, by Euler's integral: 4 / pi int cos(a)^2
// (1
// + z sin(a)^2)^-(size + 1) da over 0 to pi / 2. With sqrt(z) sin(a) = sinh(s), it is
// 4 / (pi sqrt(z)) int cos(a) cosh(s)^-(2 size + 1) ds, to asinh(sqrt(z)) or where the power is
// negligible: by double exponential nodes.
inline double negbin_spread(double mean, double size) {
  const double pi = std::acos(-1.0), ratio = 1.0 + mean / size, z = 4.0 * mean / size * ratio;
  const double most = 40.0 / (2.0 * size + 1.0);
  // acosh(exp(most))
  const double end =
      std::min(std::asinh(std::sqrt(z)), most + std::log1p(std::sqrt(-std::expm1(-2.0 * most))));
  double sum = 0.0;
  constexpr double step = 0.05;
  for (int k = -64; k <= 64; ++k) {
    const double s = pi * std::sinh(k * step), at = 1.0 / (1.0 + std::exp(-s));
    const double weight = step * pi * std::cosh(k * step) * at / (1.0 + std::exp(s));
    const double square = std::pow(std::sinh(at * end), 2.0);
    sum += weight * std::sqrt(std::max(1.0 - square / z, 0.0)) *
           std::exp(-(size + 0.5) * std::log1p(square));
  }
  return mean * ratio * 4.0 / pi * sum * end / std::sqrt(z);
}

// The CRPS of the empirical distribution of the draws: with sorted ones, sum_ij |x_i - x_j| takes
// linear time.
inline double crps_of_draws(std::vector<double> draws, double y) {
  const auto s = static_cast<double>(draws.size());
  std::sort(draws.begin(), draws.end());
  long double near = 0.0L, apart = 0.0L;
  for (std::size_t k = 0; k < draws.size(); ++k) {
    const double off = draws[k] - y;
    near += std::abs(off);
    apart += off * (2.0 * static_cast<double>(k + 1) - s - 1.0);
  }
  return static_cast<double>(near / s - apart / (s * s));
}

}  // namespace calibrisk

#endif
