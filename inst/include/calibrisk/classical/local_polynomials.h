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
#include <limits>
#include <vector>

namespace calibrisk {

// [places x cells]; `quadratic` is empty where not wanted.
struct LocalPolynomials {
  Matrix linear, quadratic;
};

// of(0) + ... + of(n - 1), of every fourth one apart: additions of one sum wait for each other.
template <class Of>
double long_sum(Index n, const Of& of) {
  long double first = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
  Index i = 0;
  for (; i + 4 <= n; i += 4) {
    first += of(i);
    second += of(i + 1);
    third += of(i + 2);
    fourth += of(i + 3);
  }
  for (; i < n; ++i) first += of(i);
  return static_cast<double>((first + second) + (third + fourth));
}

// At the places t, from cells at `at` (ascending) of `n` observations each.
inline LocalPolynomials local_polynomials(const ConstVectorRef& t, const ConstVectorRef& at,
                                          const ConstVectorRef& n, double h, bool quadratic) {
  const Index m = at.size();
  require(m == n.size() && m > 0, "local_polynomials: one size per cell.");
  LocalPolynomials out;
  out.linear.resize(t.size(), m);
  if (quadratic) out.quadratic.resize(t.size(), m);
  std::vector<double> u(static_cast<std::size_t>(m)), k = u, mass = u, first = u, second = u,
                                                      line = u;
  const double *place = at.data(), *size = n.data();
  for (Index g = 0; g < t.size(); ++g) {
    double* own = u.data();
    double nearest = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < m; ++i) {
      own[i] = (place[i] - t[g]) / h;
      nearest = std::min(nearest, std::abs(own[i]));
    }
    // relative to the nearest cell: defined in gaps too
    double* weight = k.data();
    for (Index i = 0; i < m; ++i) weight[i] = -0.5 * (own[i] * own[i] - nearest * nearest);
    exp_loops().exp_shifted(weight, 0.0, m);
    // the polynomials' unit: at least the distance to the nearest cell
    const double unit = std::max(nearest, 1.0);
    double* all = mass.data();
    for (Index i = 0; i < m; ++i) {
      own[i] /= unit;
      all[i] = weight[i] * size[i];
    }
    const double total = long_sum(m, [&](Index i) { return all[i]; });
    // a trace of it for places that see fewer cells than the degree asks for
    const double ridge = 1e-8 * total;
    const double mean = long_sum(m, [&](Index i) { return all[i] * own[i]; }) / total;
    double* side = first.data();
    for (Index i = 0; i < m; ++i) side[i] = own[i] - mean;
    const double s2 = long_sum(m, [&](Index i) { return all[i] * (side[i] * side[i]); });
    // -mean is `first` at the place itself, u = 0
    double* straight = line.data();
    for (Index i = 0; i < m; ++i) {
      straight[i] = 1.0 / total - mean * side[i] / (s2 + ridge);
      out.linear(g, i) = weight[i] * straight[i];
    }
    if (!quadratic) continue;
    const double skew =
        long_sum(m, [&](Index i) { return all[i] * (side[i] * side[i]) * side[i]; }) /
        std::max(s2, 1e-200);
    double* bend = second.data();
    for (Index i = 0; i < m; ++i) bend[i] = side[i] * side[i] - skew * side[i] - s2 / total;
    const double at_place = mean * mean + skew * mean - s2 / total;
    const double norm = long_sum(m, [&](Index i) { return all[i] * (bend[i] * bend[i]); }) + ridge;
    for (Index i = 0; i < m; ++i) {
      out.quadratic(g, i) = weight[i] * (straight[i] + at_place * bend[i] / norm);
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
