// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of the observations of cells in local linear and quadratic fits with a Gaussian kernel.
// Polynomials are orthogonal under the kernel: sums of raw powers cancel where a place sees one or
// two cells, far away in bandwidths. Sums are in long double, since few digits are left there.
#ifndef CALIBRISK_CLASSICAL_LOCAL_POLYNOMIALS_H
#define CALIBRISK_CLASSICAL_LOCAL_POLYNOMIALS_H

#include <calibrisk/math/vector_exp.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

// [places x cells]; `quadratic` is empty where not wanted.
struct LocalPolynomials {
  Matrix linear, quadratic;
};

// Of every fourth number apart: additions of one sum wait for each other.
template <class Values>
double long_sum(const Values& v) {
  long double sum[4] = {0.0, 0.0, 0.0, 0.0};
  Index i = 0;
  for (; i + 4 <= v.size(); i += 4) {
    sum[0] += v.coeff(i);
    sum[1] += v.coeff(i + 1);
    sum[2] += v.coeff(i + 2);
    sum[3] += v.coeff(i + 3);
  }
  for (; i < v.size(); ++i) sum[0] += v.coeff(i);
  return static_cast<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// At the places t, from cells at `at` (ascending) of `n` observations each.
inline LocalPolynomials local_polynomials(const ConstVectorRef& t, const ConstVectorRef& at,
                                          const ConstVectorRef& n, double h, bool quadratic) {
  require(at.size() == n.size() && at.size() > 0, "local_polynomials: one size per cell.");
  LocalPolynomials out;
  out.linear.resize(t.size(), at.size());
  if (quadratic) out.quadratic.resize(t.size(), at.size());
  for (Index g = 0; g < t.size(); ++g) {
    Eigen::ArrayXd u = (at.array() - t(g)) / h;
    const double nearest = u.abs().minCoeff();
    // relative to the nearest cell: defined in gaps too
    Eigen::ArrayXd k = -0.5 * (u.square() - nearest * nearest);
    exp_in_place(k);
    // the polynomials' unit: at least the distance to the nearest cell
    u /= std::max(nearest, 1.0);
    const Eigen::ArrayXd mass = k * n.array();
    const double total = long_sum(mass);
    // a trace of it for places that see fewer cells than the degree asks for
    const double ridge = 1e-8 * total;
    const double mean = long_sum(mass * u) / total;
    const Eigen::ArrayXd first = u - mean, square = first.square();
    const double s2 = long_sum(mass * square);
    // -mean is `first` at the place itself, u = 0
    const Eigen::ArrayXd line = 1.0 / total - mean * first / (s2 + ridge);
    out.linear.row(g) = (k * line).matrix();
    if (!quadratic) continue;
    const double skew = long_sum(mass * square * first) / std::max(s2, 1e-200);
    const Eigen::ArrayXd second = square - skew * first - s2 / total;
    const double at_place = mean * mean + skew * mean - s2 / total;
    const double size = long_sum(mass * second.square()) + ridge;
    out.quadratic.row(g) = (k * (line + at_place * second / size)).matrix();
  }
  return out;
}

}  // namespace calibrisk

#endif
