// SPDX-License-Identifier: GPL-3.0-or-later
// A pairing is a target kernel k(y, y') = value(y - y') with its expectations under a
// location-scale family: single(z, s) = E k(Z, y) for Z at distance z = location - y with
// scale s, both(z, s, t) = E k(Z, Z') for two independent draws with locations z apart.
// Formulas: Widmann et al. 2021, appendix D (normal x Gaussian, Laplace x Laplace); the others are
// elementary integrals, checked against quadrature in the tests.
#ifndef CALIBRISK_TARGETS_PAIRINGS_H
#define CALIBRISK_TARGETS_PAIRINGS_H

#include <calibrisk/targets/special.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

// Normal predictions (scale = sd), exp(-gamma d^2).
struct NormalGaussian {
  double gamma;
  double value(double d) const { return std::exp(-gamma * d * d); }
  double of_variance(double z, double v) const {
    const double c = 1.0 / (1.0 + 2.0 * gamma * v);
    return std::sqrt(c) * std::exp(-gamma * c * z * z);
  }
  double single(double z, double s) const { return of_variance(z, s * s); }
  double both(double z, double s, double t) const { return of_variance(z, s * s + t * t); }
};

// Normal predictions, Matern target kernel with rate a = sqrt(2 nu) / bandwidth; nu = 1/2 is
// the Laplace kernel exp(-a |d|). With m_k = E |W|^k e^{-a|W|}, W ~ N(z, v): m_0, m_0 + a m_1,
// m_0 + a m_1 + a^2 m_2 / 3.
struct NormalMatern {
  double nu, rate;
  double value(double d) const {
    const double t = rate * std::fabs(d), e = std::exp(-t);
    return nu == 0.5 ? e : nu == 1.5 ? (1.0 + t) * e : (1.0 + t + t * t / 3.0) * e;
  }
  double of_variance(double z, double v) const {
    if (!(v > 0)) return value(z);
    const double a = rate;
    if (nu == 0.5) return tilted_tail(a, z, v) + tilted_tail(a, -z, v);
    double sum = 0.0;
    for (double delta : {z, -z}) {
      const TiltedMoments m = tilted_moments(a, delta, v);
      sum += m.zeroth + a * m.first + (nu == 1.5 ? 0.0 : a * a / 3.0 * m.second);
    }
    return sum;
  }
  double single(double z, double s) const { return of_variance(z, s * s); }
  double both(double z, double s, double t) const { return of_variance(z, s * s + t * t); }
};

// Laplace predictions (scale beta), exp(-gamma |d|). With c = 1 / gamma the expectations are
// c g1[beta^2, c^2] and c g2[beta^2, beta'^2, c^2], divided differences of
// g1(u) = sqrt(u) e^{-z / sqrt(u)} and g2(u) = u^{3/2} e^{-z / sqrt(u)}; where arguments are
// close the difference is the Hermite-Genocchi integral of the derivative, so nothing cancels.
struct LaplaceLaplace {
  double gamma;
  double value(double d) const { return std::exp(-gamma * std::fabs(d)); }
  double single(double z, double s) const {
    if (!(s > 0)) return value(z);
    const double c = 1.0 / gamma;
    return c * difference1(
                   std::fabs(z), s * s, c * c,
                   [](double distance, double u) {
                     const double r = std::sqrt(u);
                     return r * std::exp(-distance / r);
                   },
                   [](double distance, double u) {
                     const double r = std::sqrt(u);
                     return std::exp(-distance / r) * (1.0 + distance / r) / (2.0 * r);
                   });
  }
  double both(double z, double s, double t) const {
    if (!(s > 0)) return single(z, t);
    if (!(t > 0)) return single(z, s);
    const double c = 1.0 / gamma, distance = std::fabs(z);
    double u = s * s, v = t * t, w = c * c;
    // Order by size: neighbours are then the close pairs.
    if (u > v) std::swap(u, v);
    if (v > w) std::swap(v, w);
    if (u > v) std::swap(u, v);
    if (close(u, w)) return c * confluent2(distance, u, v, w);
    return c * (divided2(distance, v, w) - divided2(distance, u, v)) / (w - u);
  }

 private:
  static bool close(double u, double w) { return std::fabs(w - u) < 0.2 * (u + w); }
  template <class G, class Derivative>
  static double difference1(double z, double u, double w, const G& g, const Derivative& dg) {
    if (!close(u, w)) return (g(z, w) - g(z, u)) / (w - u);
    double sum = 0.0;
    for (int k = 0; k < GaussRule::size; ++k) {
      const auto i = static_cast<std::size_t>(k);
      sum += GaussRule::weights()[i] * dg(z, u + GaussRule::nodes()[i] * (w - u));
    }
    return sum;
  }
  static double divided2(double z, double u, double w) {
    return difference1(
        z, u, w,
        [](double d, double x) {
          const double r = std::sqrt(x);
          return x * r * std::exp(-d / r);
        },
        [](double d, double x) {
          const double r = std::sqrt(x);
          return 0.5 * std::exp(-d / r) * (3.0 * r + d);
        });
  }
  // Integral of g2'' over the simplex of convex combinations.
  static double confluent2(double z, double u, double v, double w) {
    double sum = 0.0;
    for (std::size_t i = 0; i < 10; ++i) {
      const double s = GaussRule::nodes()[i];
      double inner = 0.0;
      for (std::size_t j = 0; j < 10; ++j) {
        const double t = (1.0 - s) * GaussRule::nodes()[j];
        const double x = w + s * (u - w) + t * (v - w), r = std::sqrt(x);
        inner += GaussRule::weights()[j] * 0.25 * std::exp(-z / r) *
                 (3.0 / r + 3.0 * z / x + z * z / (x * r));
      }
      sum += GaussRule::weights()[i] * (1.0 - s) * inner;
    }
    return sum;
  }
};

// Laplace predictions, exp(-gamma d^2). single is the normal-with-Laplace-kernel integral
// with the roles of the two exchanged: v = 1 / (2 gamma), rate 1 / beta. both is a divided
// difference in u = beta^2 of u single(sqrt(u)), whose derivative is the expectation under
// the sum of two draws of the same scale.
struct LaplaceGaussian {
  double gamma;
  double value(double d) const { return std::exp(-gamma * d * d); }
  double single(double z, double s) const {
    if (is_point(s)) return value(z);
    const double v = 0.5 / gamma, a = 1.0 / s;
    return mass() * 0.5 * a * (tilted_tail(a, z, v) + tilted_tail(a, -z, v));
  }
  double both(double z, double s, double t) const {
    if (is_point(s)) return single(z, t);
    if (is_point(t)) return single(z, s);
    const double u = s * s, w = t * t;
    if (std::fabs(w - u) >= 0.2 * (u + w)) return (w * single(z, t) - u * single(z, s)) / (w - u);
    double sum = 0.0;
    for (std::size_t k = 0; k < 10; ++k) {
      sum += GaussRule::weights()[k] * twice(z, std::sqrt(u + GaussRule::nodes()[k] * (w - u)));
    }
    return sum;
  }

 private:
  // A scale whose square is rounding beside that of the kernel.
  bool is_point(double s) const { return gamma * s * s < 1e-20; }
  double mass() const { return std::sqrt(3.14159265358979323846 / gamma); }
  double twice(double z, double s) const {
    const double v = 0.5 / gamma, a = 1.0 / s;
    double sum = 0.0;
    for (double delta : {z, -z}) {
      const TiltedMoments m = tilted_moments(a, delta, v);
      sum += m.zeroth + a * m.first;
    }
    return mass() * 0.25 * a * sum;
  }
};

}  // namespace calibrisk

#endif
