// SPDX-License-Identifier: GPL-3.0-or-later
// Row sums of the Laplace kernel on sorted scalars, exactly and in linear time:
//   r_i = sum_{j != i} d_j exp(-|x_i - x_j| / bandwidth)
// The kernel factorises on each side of i, so one forward and one backward
// recursion suffice (MMCE: Gruber & Buettner 2022, Definition C.3). Steps are at most 1:
// no overflow. The squared kernel calibration error of two classes is the same sum.
#ifndef CALIBRISK_CLASSICAL_MMCE_H
#define CALIBRISK_CLASSICAL_MMCE_H

#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/ladder/row_weights.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace calibrisk {

// x [n] ascending, d [n]; returns r [n].
inline std::vector<double> laplace_row_sums(const double* x, const double* d, std::size_t n,
                                            double bandwidth) {
  std::vector<double> r(n);
  double left = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) left = (left + d[i - 1]) * std::exp(-(x[i] - x[i - 1]) / bandwidth);
    r[i] = left;
  }
  double right = 0.0;  // sum over j > i
  for (std::size_t i = n; i-- > 0;) {
    r[i] += right;
    if (i > 0) right = (right + d[i]) * std::exp(-(x[i] - x[i - 1]) / bandwidth);
  }
  return r;
}

// The sums of pair_sums.h for h_ij = d_i d_j k(x_i, x_j), of rows with x ascending. off_diagonal
// and `squares` are over the other copies, or over the other clusters where those are `apart`.
// across is over the other clusters where they are not. known and trace are of the variances x (1 -
// x).
struct MmceSums {
  Vector off_diagonal, diagonal, across;
  double squares = 0.0, known = 0.0, trace = 0.0;
};

inline MmceSums mmce_sums(const ConstVectorRef& x, const ConstVectorRef& d,
                          const RowWeights& weights, const RowClusters& clusters, bool apart,
                          double bandwidth) {
  const Index n = x.size();
  require(d.size() == n, "mmce_sums: one residual per row.");
  Vector w(n), each(n);
  for (Index i = 0; i < n; ++i) {
    w(i) = weights(i);
    each(i) = weights.each(i);
  }
  const auto row_sums = [](const Vector& at, const Vector& of, double width) {
    const auto sums =
        laplace_row_sums(at.data(), of.data(), static_cast<std::size_t>(at.size()), width);
    return Vector(Eigen::Map<const Vector>(sums.data(), at.size()));
  };
  // Without cancellation of a row with itself, of which a kernel next to the identity leaves
  // nothing else. `all_copies`: the weight of all copies of a row, `own`: of one.
  const auto others = [&](const Vector& of, const Vector& all_copies, const Vector& own,
                          double width, bool without) -> Vector {
    const Vector all = of.cwiseProduct(row_sums(x, all_copies.cwiseProduct(of), width));
    if (!without) return all + (all_copies - own).cwiseProduct(of.cwiseAbs2());
    Vector within(n);
    for (Index c = 0; c < clusters.units(n); ++c) {
      const auto rows = clusters.rows(c);
      Vector at(static_cast<Index>(rows.size())), part(at.size());
      Index place = 0;
      for (const Index i : rows) {
        at(place) = x(i);
        part(place++) = all_copies(i) * of(i);
      }
      const Vector sums = row_sums(at, part, width);
      place = 0;
      for (const Index i : rows) within(i) = of(i) * sums(place++);
    }
    return all - within;
  };
  const bool without = apart && clusters.given();
  const Vector pairs = w.cwiseProduct(each), variance = (x.array() * (1.0 - x.array())).matrix();
  // the squared kernel has half the bandwidth
  const auto noise = [&](const Vector& of) {
    const Vector sums = others(of, pairs, each.cwiseAbs2(), bandwidth / 2.0, without);
    return std::max(exact_sum(n, [&](Index i) { return pairs(i) * sums(i); }), 0.0);
  };
  MmceSums out{others(d, w, each, bandwidth, without), each.cwiseProduct(d.cwiseAbs2()), Vector()};
  if (!apart && clusters.given()) out.across = others(d, w, each, bandwidth, true);
  out.squares = noise(d.cwiseAbs2());
  out.known = noise(variance);
  out.trace = exact_sum(n, [&](Index i) { return pairs(i) * variance(i); });
  return out;
}

}  // namespace calibrisk

#endif
