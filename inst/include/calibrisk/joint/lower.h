// SPDX-License-Identifier: GPL-3.0-or-later
// Lower limits of the calibration error from parts that reject, each above 0. Moments at the
// squared error x go from those of calibration, which are known, to the estimated ones.
#ifndef CALIBRISK_JOINT_LOWER_H
#define CALIBRISK_JOINT_LOWER_H

#include <calibrisk/joint/observed.h>
#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/math/roots.h>
#include <calibrisk/math/tail_quantiles.h>

namespace calibrisk {

// The squared error x with psi - x = Q(x) sqrt(variance(x)). Q is a Pearson III quantile with the
// third cumulant of a noncentral quadratic form; at 0 the root is `critical`, in units of the null
// deviation.
inline double lower_rung(const ObservedRung& o, double critical, double tail) {
  if (!(o.psi > 0.0)) return 0.0;
  const double z = normal_quantile(tail), v0 = o.null.variance;
  const double offset = critical - pearson3_quantile(z, o.null.cube / std::pow(v0, 1.5));
  return root_below(
      [&](double x) {
        const double s = std::sqrt(x / o.psi);
        const double k2 = (1.0 - s) * v0 + s * o.here.variance;
        const double k3 = (1.0 - s) * o.null.cube + s * o.here.cube;
        const double slope = (1.0 - s) * o.null.slope + s * o.here.slope;
        const double variance = k2 + slope * x;
        if (!(variance > 0.0)) return o.psi - x;
        const double skew = (k3 + 1.5 * slope * slope * x) / std::pow(variance, 1.5);
        return o.psi - x -
               std::sqrt(variance) * (pearson3_quantile(z, skew) +
                                      offset * std::pow(std::max(k2, 0.0) / variance, 1.5));
      },
      o.psi);
}

// The least norm sqrt(theta' W theta) over (that - theta)' S^-1 (that - theta) <= c: a ridge path.
CALIBRISK_SHARED double ellipsoid_least(const Vector& that, const Matrix& s, const Matrix& w,
                                        double c);

// By Cauchy and Schwarz: the norm of the gap's projection, theta' W theta squared, over the
// ellipsoid of theta at the value c, whose matrix goes from s0 at calibration to s1 at the
// estimate.
CALIBRISK_SHARED double lower_ellipsoid(const Vector& that, const Matrix& s0, const Matrix& s1,
                                        const Matrix& w, double c);

// In one dimension, where `edge` of a statistic of that `size` would not reject; `ratio`: of its
// variance at the estimate to that at calibration.
inline double lower_size(double size, double edge, double ratio) {
  return root_below(
      [&](double x) {
        return size - x - edge * std::sqrt(std::max(1.0 + (ratio - 1.0) * x / size, 0.0));
      },
      size);
}

// By the scores.
CALIBRISK_SHARED double lower_cox(const Engine& engine, const JointParts& parts, const Vector& e,
                                  const Vector& scores, double c);

// By the sum of residuals at the value z: Wilson's limit where the null variance is the
// binomial one.
inline double lower_total(const JointParts& parts, const Vector& e, double z) {
  const JointRows& rows = parts.rows;
  const double mean = rows.mean(e), m = std::abs(mean), square = rows.total * rows.total;
  double squares = 0.0;
  for (Index i = 0; i < rows.size(); ++i) {
    squares += rows.weight(i) * rows.each(i) * (e(i) - mean) * (e(i) - mean);
  }
  const double known = parts.information(0) / square;
  const double seen = rows.count / (rows.count - 1.0) * squares / square;
  return lower_size(m, z * std::sqrt(known), seen / known);
}

// Failures: outcomes of the rarer kind, as many as equal copies would have.
struct Failures {
  double count, expected;
  double share;     // expected, of all copies
  double size;      // effective number of copies
  double variance;  // mean of the copies' under calibration
};

inline Failures count_failures(const JointRows& rows, const Vector& e) {
  const double size = rows.effective(), expected = rows.mean(rows.p),
               variance = rows.mean(rows.variance);
  const double observed = std::min(std::max(expected - rows.mean(e), 0.0), 1.0);
  if (expected <= 0.5) return {size * observed, size * expected, expected, size, variance};
  return {size * (1.0 - observed), size * (1.0 - expected), 1.0 - expected, size, variance};
}

// The trust in limits of hats, which see clumps where there are few failures.
inline double few_failures_trust(const Failures& failures) {
  return std::min(1.0, std::max(failures.count, failures.expected) / 20.0);
}

// Lower limit of the mean gap from the number of failures: that of Clopper and Pearson for the
// binomial distribution with the same mean and variance under calibration.
inline double lower_count(const Failures& failures, double tail) {
  const double rate = std::max(1.0 - failures.variance / failures.share, 1e-12);
  const double copies = failures.size * failures.share / rate;
  if (!(failures.count <= copies)) return std::numeric_limits<double>::infinity();
  const ShareLimits share = clopper_pearson(failures.count, copies, tail);
  const double gap = failures.count > failures.expected ? share.low * copies - failures.expected
                                                        : failures.expected - share.high * copies;
  return std::max(gap / failures.size, 0.0);
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)
double ellipsoid_least(const Vector& that, const Matrix& s, const Matrix& w, double c) {
  if (that.dot(inverse_of(s) * that) <= c) return 0.0;
  const Matrix upper = cholesky_factor(w).transpose();
  SymEigen eigen;
  small_eigen(inverse_of(upper * s * upper.transpose()), eigen);
  const Vector turned = eigen.vectors.transpose() * (upper * that);
  const Vector& d = eigen.values;
  const auto excess = [&](double log_l) {
    const double l = std::exp(log_l);
    double sum = -c;
    for (Index j = 0; j < d.size(); ++j) {
      const double ratio = turned(j) / (1.0 + l * d(j));
      sum += d(j) * ratio * ratio;
    }
    return sum;
  };
  double hi = 10.0 - std::log(d.minCoeff());
  while (excess(hi) > 0.0) hi += 10.0;
  const double l = std::exp(bracketed_root(excess, -30.0 - std::log(d.maxCoeff()), hi, 1e-11));
  double square = 0.0;
  for (Index j = 0; j < d.size(); ++j) {
    const double part = l * d(j) * turned(j) / (1.0 + l * d(j));
    square += part * part;
  }
  return std::sqrt(square);
}

double lower_ellipsoid(const Vector& that, const Matrix& s0, const Matrix& s1, const Matrix& w,
                       double c) {
  const double size = std::sqrt(that.dot(w * that));
  return size * root_below(
                    [&](double s) {
                      const Matrix at = (1.0 - s) * s0 + s * s1 + 1e-12 * s0;
                      return ellipsoid_least(that, at, w, c) / size - s;
                    },
                    1.0);
}

double lower_cox(const Engine& engine, const JointParts& parts, const Vector& e,
                 const Vector& scores, double c) {
  const JointRows& rows = parts.rows;
  const Vector that = scores / rows.total;
  const double square = rows.total * rows.total;
  const Matrix s0 = Matrix(parts.information.asDiagonal()) / square;
  const Index q = that.size();
  Matrix s1(q, q);
  for (Index a = 0; a < q; ++a) {
    for (Index b = 0; b <= a; ++b) {
      s1(a, b) = s1(b, a) = sum_of_rows(engine, rows.size(), [&](Index i) {
        return rows.weight(i) * rows.each(i) * (e(i) * parts.score(i, a) - that(a)) *
               (e(i) * parts.score(i, b) - that(b));
      });
    }
  }
  s1 *= rows.count / (rows.count - 1.0) / square;
  return lower_ellipsoid(that, s0, s1, parts.norm, c);
}
#endif

}  // namespace calibrisk

#endif
