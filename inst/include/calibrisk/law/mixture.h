// SPDX-License-Identifier: GPL-3.0-or-later
// Mixtures: distribution function and CRPS of normal and Laplace components, and the moments of
// any.
#ifndef CALIBRISK_LAW_MIXTURE_H
#define CALIBRISK_LAW_MIXTURE_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace calibrisk {

// E |m + s Z| of a standard normal Z.
inline double folded_normal(double m, double s) {
  if (s == 0.0) return std::abs(m);
  const double u = m / s;
  const double root_two_over_pi = 0.79788456080286535588, root_half = 0.70710678118654752440;
  return root_two_over_pi * s * std::exp(-0.5 * u * u) + m * std::erf(u * root_half);
}

struct NormalComponents {
  static double below(double z) { return 0.5 * std::erfc(-z * 0.70710678118654752440); }
  static double near(double m, double s) { return folded_normal(m, s); }
  static double apart(double m, double a, double b) {
    return folded_normal(m, std::sqrt(a * a + b * b));
  }
};

struct LaplaceComponents {
  static double below(double z) { return z < 0.0 ? std::exp(z) / 2.0 : 1.0 - std::exp(-z) / 2.0; }
  // E |m + s X| of a standard Laplace X.
  static double near(double m, double s) {
    return std::abs(m) + (s > 0.0 ? s * std::exp(-std::abs(m) / s) : 0.0);
  }
  // E |m + a X - b X'|: the density is (a^2 f_a - b^2 f_b) / (a^2 - b^2); of nearly equal scales
  // its limit.
  static double apart(double m, double a, double b) {
    if (std::abs(a - b) > 1e-5 * (a + b)) {
      return (a * a * near(m, a) - b * b * near(m, b)) / (a * a - b * b);
    }
    const double s = (a + b) / 2.0, size = std::abs(m);
    return size + (s > 0.0 ? std::exp(-size / s) : 0.0) * (3.0 * s + size) / 2.0;
  }
};

// Of every row: a column per component. One of scale 0 is a point.
struct LocationScaleMixture {
  ConstMatrixRef weight, location, scale;

  void check() const {
    const Index n = weight.rows(), k = weight.cols();
    require(location.rows() == n && location.cols() == k && scale.rows() == n && scale.cols() == k,
            "LocationScaleMixture: every component has a weight, a location and a scale.");
  }
  // P(X <= y), or P(X < y) if `open`, of row i.
  template <class Components>
  double below(Index i, double y, bool open) const {
    long double sum = 0.0L;
    for (Index a = 0; a < weight.cols(); ++a) {
      const double off = y - location(i, a);
      const bool point = scale(i, a) == 0.0;
      const double reached = point ? static_cast<double>(open ? off > 0.0 : off >= 0.0)
                                   : Components::below(off / scale(i, a));
      sum += static_cast<long double>(weight(i, a) * reached);
    }
    // weights sum to 1 up to rounding
    return std::min(static_cast<double>(sum), 1.0);
  }
  // The smallest y of row i with P(X <= y) >= u, between the quantiles of its components; `z` is
  // that of a standard one.
  template <class Components>
  double quantile(Index i, double u, double z) const {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (Index a = 0; a < weight.cols(); ++a) {
      if (!(weight(i, a) > 0.0)) continue;
      const double own = location(i, a) + z * scale(i, a);
      low = std::min(low, own);
      high = std::max(high, own);
    }
    high += 1e-9 * (1.0 + std::abs(high));
    low -= 1e-9 * (1.0 + std::abs(low));
    for (int step = 0; step < 50; ++step) {
      const double middle = (low + high) / 2.0;
      (below<Components>(i, middle, false) >= u ? high : low) = middle;
    }
    // a point itself, not the number next to it
    for (Index a = 0; a < weight.cols(); ++a) {
      const double off = std::abs(location(i, a) - high);
      if (scale(i, a) == 0.0 && off <= 1e-12 * std::max(std::abs(high), 1.0)) return location(i, a);
    }
    return high;
  }
};

template <class Components>
Vector mixture_cdf(const LocationScaleMixture& law, const ConstVectorRef& y, bool open) {
  law.check();
  const Index n = law.weight.rows();
  require(y.size() == n || y.size() == 1, "mixture_cdf: one outcome for each row, or for all.");
  Vector out(n);
  for (Index i = 0; i < n; ++i) {
    out[i] = law.below<Components>(i, y[y.size() == 1 ? 0 : i], open);
  }
  return out;
}

template <class Components>
Vector mixture_quantile(const LocationScaleMixture& law, double u, double z) {
  law.check();
  Vector out(law.weight.rows());
  for (Index i = 0; i < out.size(); ++i) out[i] = law.quantile<Components>(i, u, z);
  return out;
}

// E|X - y| - E|X - X'| / 2 of every row; a column per component.
template <class Components>
Vector mixture_crps(const LocationScaleMixture& law, const ConstVectorRef& y) {
  law.check();
  const ConstMatrixRef &weight = law.weight, &location = law.location, &scale = law.scale;
  const Index n = weight.rows(), k = weight.cols();
  require(y.size() == n || y.size() == 1, "mixture_crps: one outcome for each row, or for all.");
  Vector out(n);
  for (Index i = 0; i < n; ++i) {
    const double outcome = y[y.size() == 1 ? 0 : i];
    double first = 0.0, spread = 0.0;
    for (Index a = 0; a < k; ++a) {
      first += weight(i, a) * Components::near(location(i, a) - outcome, scale(i, a));
      double between = 0.0;
      for (Index b = 0; b < k; ++b) {
        between += weight(i, b) *
                   Components::apart(location(i, a) - location(i, b), scale(i, a), scale(i, b));
      }
      spread += weight(i, a) * between;
    }
    out[i] = first - spread / 2.0;
  }
  return out;
}

// Means [n x d] and covariances [n x d^2] side by side, from those of the components [n x K d] and
// [n x K d^2]; without columns of covariances these are points.
inline Matrix mixture_moments(const ConstMatrixRef& weight, const ConstMatrixRef& mean,
                              const ConstMatrixRef& cov, Index d) {
  const Index n = weight.rows(), k = weight.cols();
  require(mean.rows() == n && mean.cols() == k * d, "mixture_moments: every component has a mean.");
  require(cov.cols() == 0 || (cov.rows() == n && cov.cols() == k * d * d),
          "mixture_moments: every component has a covariance.");
  Matrix out = Matrix::Zero(n, d + d * d);
  for (Index a = 0; a < k; ++a) {
    for (Index l = 0; l < d; ++l) {
      out.col(l).array() += weight.col(a).array() * mean.col(a * d + l).array();
    }
  }
  for (Index a = 0; a < k; ++a) {
    for (Index l = 0; l < d * d; ++l) {
      for (Index i = 0; i < n; ++i) {
        const double square =
            (mean(i, a * d + l % d) - out(i, l % d)) * (mean(i, a * d + l / d) - out(i, l / d));
        out(i, d + l) += weight(i, a) * ((cov.cols() > 0 ? cov(i, a * d * d + l) : 0.0) + square);
      }
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
