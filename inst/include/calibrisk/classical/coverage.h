// SPDX-License-Identifier: GPL-3.0-or-later
// Central prediction intervals and the quantiles that they are made of: coverage and scores.
#ifndef CALIBRISK_CLASSICAL_COVERAGE_H
#define CALIBRISK_CLASSICAL_COVERAGE_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace calibrisk {

// Weighted means over rows. `levels`, a column each: share inside, below and above, width and
// interval score. `quantiles`: share at or below, quantile score. `scores`: the mean quantile score
// and its parts by over- and underprediction. `hit`: of every row and level whether it is inside.
struct CoverageTables {
  Matrix levels, quantiles, hit;
  Vector scores;
};

// q, [n x K]: quantiles at the levels `at`, in ascending order. The interval of the k-th of the
// ascending levels L is from column L - 1 - k to column K - L + k. w may be empty.
inline CoverageTables coverage_tables(const ConstVectorRef& y, const ConstMatrixRef& q,
                                      const ConstVectorRef& at, const ConstVectorRef& levels,
                                      const ConstVectorRef& w) {
  const Index n = y.size(), size = at.size(), count = levels.size();
  require(
      q.rows() == n && q.cols() == size && size >= 2 * count && (w.size() == 0 || w.size() == n),
      "coverage: a quantile of every row at each level.");
  CoverageTables out{Matrix::Zero(5, count), Matrix::Zero(2, size), Matrix::Zero(n, count),
                     Vector::Zero(3)};
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const double total = w.size() > 0 ? w.sum() : static_cast<double>(n);
  for (Index i = 0; i < n; ++i) {
    const double share = (w.size() > 0 ? w(i) : 1.0) / total;
    for (Index k = 0; k < count; ++k) {
      const double low = q(i, count - 1 - k), high = q(i, size - count + k);
      const double below = std::max(low - y(i), 0.0), above = std::max(y(i) - high, 0.0);
      const bool inside = y(i) >= low && y(i) <= high;
      // what is not known makes the means unknown
      const bool known = !(std::isnan(low) || std::isnan(high) || std::isnan(y(i)));
      out.hit(i, k) = !known ? none : inside ? 1.0 : 0.0;
      out.levels(0, k) += share * out.hit(i, k);
      out.levels(1, k) += !known ? none : y(i) < low ? share : 0.0;
      out.levels(2, k) += !known ? none : y(i) > high ? share : 0.0;
      out.levels(3, k) += share * (high - low);
      out.levels(4, k) += share * (high - low + 2.0 / (1.0 - levels(k)) * (below + above));
    }
    for (Index k = 0; k < size; ++k) {
      const double gap = q(i, k) - y(i), score = 2.0 * ((gap >= 0.0 ? 1.0 : 0.0) - at(k)) * gap;
      out.quantiles(0, k) += std::isnan(gap) ? none : gap >= 0.0 ? share : 0.0;
      out.quantiles(1, k) += share * score;
      // the median counts on both sides, others on that of their tail
      const double missed = at(k) == 0.5 ? std::abs(gap) : 2.0 * std::abs(gap);
      const double part = share * missed / static_cast<double>(size);
      if (!(gap <= 0.0) && at(k) <= 0.5) out.scores(1) += part;
      if (!(gap >= 0.0) && at(k) >= 0.5) out.scores(2) += part;
    }
  }
  for (Index k = 0; k < count; ++k) {
    if (out.levels(0, k) > 1.0) out.levels(0, k) = 1.0;
  }
  out.scores(0) = out.quantiles.row(1).mean();
  return out;
}

// At each of the places, the local linear fit with normal weights of the bandwidth h, of the rows
// as 500 cells of their ranks in (0, 1].
inline Vector local_line(const ConstVectorRef& rank, const ConstVectorRef& value,
                         const ConstVectorRef& w, const ConstVectorRef& places, double h) {
  constexpr Index cells = 500;
  const Index n = rank.size();
  require(value.size() == n && w.size() == n, "local_line: values and weights of every row.");
  Matrix sums = Matrix::Zero(3, cells);
  for (Index i = 0; i < n; ++i) {
    const auto cell = static_cast<Index>(std::ceil(static_cast<double>(cells) * rank(i))) - 1;
    require(cell >= 0 && cell < cells, "local_line: ranks in (0, 1].");
    sums.col(cell) += w(i) * Eigen::Vector3d(1.0, rank(i), value(i));
  }
  Vector out(places.size());
  for (Index j = 0; j < places.size(); ++j) {
    double k0 = 0.0, k1 = 0.0, k2 = 0.0, v0 = 0.0, v1 = 0.0;
    for (Index c = 0; c < cells; ++c) {
      if (!(sums(0, c) > 0.0)) continue;
      const double off = sums(1, c) / sums(0, c) - places(j), at = sums(2, c) / sums(0, c);
      const double k = sums(0, c) * std::exp(-0.5 * (off / h) * (off / h));
      k0 += k;
      k1 += k * off;
      k2 += k * off * off;
      v0 += k * at;
      v1 += k * off * at;
    }
    out(j) = (k2 * v0 - k1 * v1) / (k0 * k2 - k1 * k1);
  }
  return out;
}

}  // namespace calibrisk

#endif
