// SPDX-License-Identifier: GPL-3.0-or-later
// The normalising terms of Dirichlet and Beta kernels. At small bandwidths h the terms
// lgamma(p / h + 1) reach 1e6 and cancel; with the share (p / h) (log(1 / h) - 1) taken
// out they keep the size of the entropy of p over h, and eight more digits' room.
#ifndef CALIBRISK_MATH_DIRICHLET_LOG_GAMMA_H
#define CALIBRISK_MATH_DIRICHLET_LOG_GAMMA_H

#include <calibrisk/types.h>

#include <cmath>

namespace calibrisk {

// Largest 1/h used: beyond it the kernel picks the nearest training point anyway.
inline double inverse_bandwidth(double h) { return std::min(1.0 / h, 1e200); }

namespace detail {

constexpr double half_log_2pi = 0.91893853320467274178;

// lgamma(x) - [(x - 1/2) log x - x + log(2 pi) / 2] for x >= 10
inline double stirling_rest(double x) {
  const double t = 1.0 / x, t2 = t * t;
  return t * (1.0 / 12.0 +
              t2 * (-1.0 / 360.0 +
                    t2 * (1.0 / 1260.0 +
                          t2 * (-1.0 / 1680.0 +
                                t2 * (1.0 / 1188.0 + t2 * (-691.0 / 360360.0 + t2 / 156.0))))));
}

// lgamma(1 + a), a >= 0; absolute error of a few ulp. (std::lgamma writes a global.)
inline double log_gamma_1p(double a) {
  if (a < 0.0625) {
    // -euler a + sum_k zeta(k) (-a)^k / k
    static constexpr double zeta_over_k[] = {
        0.82246703342411321824, 0.40068563438653142847, 0.27058080842778454788,
        0.20738555102867398527, 0.16955717699740818995, 0.14404989676884611812,
        0.12550966952474304242, 0.11133426586956469049, 0.10009945751278180853,
        0.09095401714582904223, 0.08335384054610900401};
    double rest = 0.0;
    for (int k = 10; k >= 0; --k) rest = -a * rest + zeta_over_k[k];
    return a * (-0.57721566490153286061 + a * rest);
  }
  double x = 1.0 + a, product = 1.0;
  while (x < 12.0) {
    product *= x;
    x += 1.0;
  }
  return (x - 0.5) * std::log(x) - x + half_log_2pi + stirling_rest(x) - std::log(product);
}

}  // namespace detail

// lgamma(a + 1) - a (log(1/h) - 1) with a = p / h, given log p (any number where p = 0).
inline double reduced_log_gamma(double p, double log_p, double inv_h, double log_inv_h) {
  const double a = p * inv_h;
  if (a < 12.0) return detail::log_gamma_1p(a) - a * (log_inv_h - 1.0);
  return a * log_p + 0.5 * (log_p + log_inv_h) + detail::half_log_2pi + detail::stirling_rest(a);
}

// lgamma(1/h + K) - (log(1/h) - 1)/h: what the reduced terms of a Dirichlet kernel leave of
// its first normalising term.
inline double reduced_log_gamma_total(double n_classes, double inv_h) {
  const double log_inv_h = std::log(inv_h);
  if (inv_h < 100.0) {
    return detail::log_gamma_1p(inv_h + n_classes - 1.0) - inv_h * (log_inv_h - 1.0);
  }
  // (N + K - 1/2) log(N + K) - (N + K) - N log N + N, N = 1/h
  const double ratio = n_classes / inv_h;
  return inv_h * std::log1p(ratio) - n_classes + (n_classes - 0.5) * std::log(inv_h + n_classes) +
         detail::half_log_2pi + detail::stirling_rest(inv_h + n_classes);
}

}  // namespace calibrisk

#endif
