// SPDX-License-Identifier: GPL-3.0-or-later
// Tails and quantiles of the normal, gamma, Pearson III and beta distributions, to about 1e-11.
#ifndef CALIBRISK_MATH_TAIL_QUANTILES_H
#define CALIBRISK_MATH_TAIL_QUANTILES_H

#include <algorithm>
#include <cmath>
#include <limits>

namespace calibrisk {

inline double normal_tail(double z) { return 0.5 * std::erfc(z * 0.70710678118654752440); }

namespace detail {

// The ratio of two polynomials of degree 7, highest coefficients first.
inline double rational(double r, const double (&over)[8], const double (&under)[8]) {
  double a = over[0], b = under[0];
  for (int j = 1; j < 8; ++j) {
    a = a * r + over[j];
    b = b * r + under[j];
  }
  return a / b;
}

}  // namespace detail

// z with this upper tail, to about 1e-16: the rational functions of Wichura (1988, AS 241).
inline double normal_quantile(double tail) {
  static constexpr double centre_over[8] = {
      2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608};
  static constexpr double centre_under[8] = {
      5226.495278852545925,  28729.085735721942674, 39307.89580009271061,  21213.794301586595867,
      5394.1960214247511077, 687.1870074920579083,  42.313330701600911252, 1.0};
  static constexpr double middle_over[8] = {7.7454501427834140764e-4, 0.0227238449892691845833,
                                            0.24178072517745061177,   1.27045825245236838258,
                                            3.64784832476320460504,   5.7694972214606914055,
                                            4.6303378461565452959,    1.42343711074968357734};
  static constexpr double middle_under[8] = {1.05075007164441684324e-9, 5.475938084995344946e-4,
                                             0.0151986665636164571966,  0.14810397642748007459,
                                             0.68976733498510000455,    1.6763848301838038494,
                                             2.05319162663775882187,    1.0};
  static constexpr double far_over[8] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                         0.0012426609473880784386,  0.026532189526576123093,
                                         0.29656057182850489123,    1.7848265399172913358,
                                         5.4637849111641143699,     6.6579046435011037772};
  static constexpr double far_under[8] = {2.04426310338993978564e-15, 1.4215117583164458887e-7,
                                          1.8463183175100546818e-5,   7.868691311456132591e-4,
                                          0.0148753612908506148525,   0.13692988092273580531,
                                          0.59983220655588793769,     1.0};
  const double q = 0.5 - tail;
  if (std::abs(q) <= 0.425) {
    return q * detail::rational(0.180625 - q * q, centre_over, centre_under);
  }
  if (q < 0.0) return -normal_quantile(1.0 - tail);
  if (!(tail > 0.0)) return std::numeric_limits<double>::infinity();
  const double r = std::sqrt(-std::log(tail));
  return r <= 5.0 ? detail::rational(r - 1.6, middle_over, middle_under)
                  : detail::rational(r - 5.0, far_over, far_under);
}

namespace detail {

// exp(-x) x^a / Gamma(a + 1)
inline double gamma_factor(double a, double x, double log_gamma) {
  return std::exp(a * std::log(x) - x - log_gamma);
}

inline double gamma_tail(double a, double x, double factor) {
  if (x < a + 1.0) {
    double term = 1.0, sum = 1.0;
    for (double k = a + 1.0; term > 1e-17 * sum; k += 1.0) sum += term *= x / k;
    return 1.0 - factor * sum;
  }
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;  // Lentz
  for (double k = 1.0; k < 1e5; k += 1.0) {
    const double an = -k * (k - a);
    b += 2.0;
    d = 1.0 / (an * d + b);
    c = b + an / c;
    const double step = c * d;
    h *= step;
    if (std::abs(step - 1.0) < 1e-16) break;
  }
  return factor * a * h;
}

}  // namespace detail

// Upper tail of the gamma distribution of shape a (scale 1).
inline double gamma_tail(double a, double x) {
  if (!(x > 0.0)) return 1.0;
  return detail::gamma_tail(a, x, detail::gamma_factor(a, x, std::lgamma(a + 1.0)));
}

// x with this upper tail; of large shapes Goldberg and Levine's expansion.
inline double gamma_quantile(double a, double tail) {
  const double z = normal_quantile(tail);
  if (a > 800.0) {
    const double nu = 2.0 * a, r = std::sqrt(2.0 * nu), z2 = z * z;
    return 0.5 * (nu + r * z + 2.0 / 3.0 * (z2 - 1.0) + z * (z2 - 7.0) / (9.0 * r) -
                  (6.0 * z2 * z2 + 14.0 * z2 - 32.0) / (405.0 * nu) +
                  z * (9.0 * z2 * z2 + 256.0 * z2 - 433.0) / (2430.0 * nu * r));
  }
  const double log_gamma = std::lgamma(a + 1.0), log_lower = std::log1p(-tail);
  const double root = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * std::sqrt(a));
  double x = a * root * root * root;  // Wilson and Hilferty; near 0 the power of x
  if (!(root > 0.0) || a < -0.62 * log_lower) x = std::exp((log_lower + log_gamma) / a);
  // steps of Halley, each between the bounds that the last ones found
  double lo = 0.0, hi = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 200; ++step) {
    const double factor = detail::gamma_factor(a, x, log_gamma);
    const double value = detail::gamma_tail(a, x, factor) - tail;
    if (value == 0.0) return x;
    (value > 0.0 ? lo : hi) = x;
    const double newton = -value * x / (factor * a);
    const double next = x - newton / (1.0 - 0.5 * newton * ((a - 1.0) / x - 1.0));
    // three times as many digits after each step
    if (std::abs(next - x) <= 1e-6 * x) return next;
    x = next > lo && next < hi ? next : hi < 1e300 ? 0.5 * (lo + hi) : 2.0 * x;
  }
  return x;
}

// Quantile of the Pearson III distribution with mean 0, variance 1 and this skewness (at most 2.8):
// the value with the normal quantile z's upper tail.
inline double pearson3_quantile(double z, double skew) {
  if (skew < 1e-3) return z;
  const double bounded = std::min(skew, 2.8), shape = 4.0 / (bounded * bounded);
  return (gamma_quantile(shape, normal_tail(z)) - shape) / std::sqrt(shape);
}

// Lower tail of the beta distribution.
inline double beta_lower(double x, double a, double b) {
  if (!(x > 0.0)) return 0.0;
  if (!(x < 1.0)) return 1.0;
  if (x > (a + 1.0) / (a + b + 2.0)) return 1.0 - beta_lower(1.0 - x, b, a);
  const double factor = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                 a * std::log(x) + b * std::log1p(-x));
  double c = 1.0, d = 1.0 / (1.0 - (a + b) * x / (a + 1.0)), h = d;
  for (double m = 1.0; m < 1e5; m += 1.0) {
    const auto step = [&](double an) {
      d = 1.0 / (1.0 + an * d);
      c = 1.0 + an / c;
      h *= c * d;
    };
    step(m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)));
    step(-(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)));
    if (std::abs(c * d - 1.0) < 1e-16) break;
  }
  return factor * h / a;
}

// x with this lower tail; both shapes positive.
inline double beta_quantile(double lower, double a, double b) {
  double lo = 0.0, hi = 1.0, x = a / (a + b);
  for (int step = 0; step < 400; ++step) {
    const double value = beta_lower(x, a, b) - lower;
    if (value == 0.0) return x;
    (value < 0.0 ? lo : hi) = x;
    const double density = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                    (a - 1.0) * std::log(x) + (b - 1.0) * std::log1p(-x));
    double next = x - value / density;
    if (!(next > lo && next < hi)) next = lo > 0.0 ? std::sqrt(lo * hi) : 0.5 * (lo + hi);
    if (std::abs(next - x) <= 1e-14 * x) return next;
    x = next;
  }
  return x;
}

// Clopper and Pearson's limits of a share: `count` of n draws (not necessarily whole numbers), each
// limit missed with probability `tail` at most.
struct ShareLimits {
  double low, high;
};

inline ShareLimits clopper_pearson(double count, double n, double tail) {
  return {count > 0.0 ? beta_quantile(tail, count, n - count + 1.0) : 0.0,
          count < n ? beta_quantile(1.0 - tail, count + 1.0, n - count) : 1.0};
}

}  // namespace calibrisk

#endif
