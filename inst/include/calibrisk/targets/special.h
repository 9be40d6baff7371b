// SPDX-License-Identifier: GPL-3.0-or-later
// Special functions of the target kernels' closed forms, without cancellation or overflow.
#ifndef CALIBRISK_TARGETS_SPECIAL_H
#define CALIBRISK_TARGETS_SPECIAL_H

#include <array>
#include <cmath>

namespace calibrisk {

// exp(x^2) erfc(x). Beyond 10 the asymptotic series is exact to rounding.
inline double scaled_erfc(double x) {
  if (x < 10.0) return std::exp(x * x) * std::erfc(x);
  const double u = 1.0 / (2.0 * x * x);
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 14; ++k) {
    term *= -(2.0 * k - 1.0) * u;
    sum += term;
  }
  return sum / (x * 1.7724538509055160273);  // sqrt(pi)
}

// exp(a^2 v / 2 - a delta) Phi(delta / s - a s), s = sqrt(v) > 0: E e^{-a W} 1{W > 0}
// for W ~ N(delta, v). With x = a s - delta / s the product is e^{-delta^2 / (2 v)}
// times e^{x^2 / 2} Phi(-x), and neither factor overflows for x >= 0.
inline double tilted_tail(double a, double delta, double v) {
  const double s = std::sqrt(v), x = a * s - delta / s;
  constexpr double root_half = 0.70710678118654752440;
  if (x >= 0) return 0.5 * std::exp(-0.5 * delta * delta / v) * scaled_erfc(x * root_half);
  return 0.5 * std::exp(0.5 * a * a * v - a * delta) * std::erfc(x * root_half);
}

// E W^k e^{-a W} 1{W > 0} for k = 0, 1, 2 and W ~ N(delta, v), all of them positive.
struct TiltedMoments {
  double zeroth, first, second;
};

// They are phi(delta / s) s^k M_k(x) with M_k(x) = int_0^inf t^k e^{-t^2 / 2 - x t} dt and
// M_{k + 1} = k M_{k - 1} - x M_k (M_1 = 1 - x M_0), which cancels for large x: there
// M_k = sum_j (-1/2)^j / j! (2 j + k)! / x^{2 j + k + 1}.
inline TiltedMoments tilted_moments(double a, double delta, double v) {
  const double s = std::sqrt(v), x = a * s - delta / s;
  const double zeroth = tilted_tail(a, delta, v);
  const double density = 0.39894228040143267794 * std::exp(-0.5 * delta * delta / v);
  if (x < 10.0) {
    const double first = density - x * zeroth;
    return {zeroth, s * first, v * (zeroth - x * first)};
  }
  const auto series = [x](double k, double term) {
    double sum = term;
    for (double j = 0.0; j < 20.0; j += 1.0) {
      term *= -(2.0 * j + k + 2.0) * (2.0 * j + k + 1.0) / (2.0 * (j + 1.0) * x * x);
      sum += term;
    }
    return sum;
  };
  return {zeroth, density * s * series(1.0, 1.0 / (x * x)),
          density * v * series(2.0, 2.0 / (x * x * x))};
}

// Ten-point Gauss-Legendre rule on [0, 1].
struct GaussRule {
  static constexpr int size = 10;
  static const std::array<double, 10>& nodes() {
    static const std::array<double, 10> x = {0.01304673574141413996, 0.06746831665550774463,
                                             0.16029521585048779688, 0.28330230293537640460,
                                             0.42556283050918439456, 0.57443716949081560544,
                                             0.71669769706462359540, 0.83970478414951220312,
                                             0.93253168334449225537, 0.98695326425858586004};
    return x;
  }
  static const std::array<double, 10>& weights() {
    static const std::array<double, 10> w = {0.03333567215434406880, 0.07472567457529029657,
                                             0.10954318125799102200, 0.13463335965499817755,
                                             0.14776211235737643509, 0.14776211235737643509,
                                             0.13463335965499817755, 0.10954318125799102200,
                                             0.07472567457529029657, 0.03333567215434406880};
    return w;
  }
};

}  // namespace calibrisk

#endif
