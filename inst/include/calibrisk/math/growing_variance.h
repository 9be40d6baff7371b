// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of numbers whose variance grows with what they estimate.
#ifndef CALIBRISK_MATH_GROWING_VARIANCE_H
#define CALIBRISK_MATH_GROWING_VARIANCE_H

#include <algorithm>
#include <cmath>

namespace calibrisk {

// The largest x with value >= x - z sqrt(variance + slope (x - value)).
inline double growing_limit(double value, double variance, double slope, double z) {
  return value + z * z * slope / 2.0 + z * std::sqrt(variance + z * z * slope * slope / 4.0);
}

// The slope for a mean of few large values, from its third central moment. From 25 of them
// (1 / skewness^2 of the mean) it is 0.
inline double slope_of_mean(double variance, double third) {
  if (!(variance > 0.0 && third > 0.0)) return 0.0;
  const double cube = variance * variance * variance;
  return third / variance * std::max(0.0, 1.0 - cube / (third * third) / 25.0);
}

// The slope for a form that is quadratic in residuals and has the value psi. `variance`: at
// calibration; `linear`: what the variance at psi has more.
inline double slope_of_form(double psi, double variance, double linear, double scatter) {
  const double unit = 2.0 * std::sqrt(std::max(variance, 0.0));
  return unit > 0.0 ? (std::max(0.0, linear) + scatter * unit) / (std::max(psi, 0.0) + unit) : 0.0;
}

}  // namespace calibrisk

#endif
