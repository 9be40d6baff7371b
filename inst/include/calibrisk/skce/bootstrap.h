// SPDX-License-Identifier: GPL-3.0-or-later
// The Arcones-Gine bootstrap of a degenerate U-statistic: with multinomial counts c,
//   T* = [ n / (n - 1) (c'Hc - sum_i c_i H_ii) - 2 c'H1 ] / n^2.
// H is made in panels of rows and multiplied with the counts of all resamples (`times`) at once.
// Memory: n (panel + times) numbers; n^2 * times flops (the lower triangle alone).
// Rows may stand for several: c then counts all copies of a row, and 1 and n all that there are.
#ifndef CALIBRISK_SKCE_BOOTSTRAP_H
#define CALIBRISK_SKCE_BOOTSTRAP_H

#include <calibrisk/engine.h>
#include <calibrisk/pairs/pair_sums.h>

#include <algorithm>

namespace calibrisk {

// counts: [n x times], each column summing to n, or to that of the `copies` (empty: 1). Returns T*
// per resample.
inline Vector degenerate_bootstrap(const Engine& engine, const PairSource& source,
                                   const ConstMatrixRef& counts,
                                   const ConstVectorRef& copies = Vector()) {
  const Index n = source.size(), times = counts.cols();
  require(counts.rows() == n, "Bootstrap counts must have a row per observation.");
  require(copies.size() == 0 || copies.size() == n, "There must be a count per observation.");
  const Index panel = std::min<Index>(n, 256);
  Vector quadratic = Vector::Zero(times);
  Vector row_sums = Vector::Zero(n), diagonal(n);
  Matrix h(panel, n), product(panel, times);
  const Index n_panels = (n + panel - 1) / panel;
  for (Index p = 0; p < n_panels; ++p) {
    const Index begin = p * panel, size = std::min(panel, n - begin), width = begin + size;
    detail::fill_band(engine, source, begin, h.topLeftCorner(size, width),
                      ProgressSpan{}.part(p, n_panels));
    auto square = h.block(0, begin, size, size);
    diagonal.segment(begin, size) = square.diagonal();
    if (copies.size() == 0) {
      row_sums.segment(begin, size) += h.topLeftCorner(size, width).rowwise().sum();
      row_sums.head(begin) += h.topLeftCorner(size, begin).colwise().sum().transpose();
    } else {
      row_sums.segment(begin, size) += h.topLeftCorner(size, width) * copies.head(width);
      row_sums.head(begin) +=
          h.topLeftCorner(size, begin).transpose() * copies.segment(begin, size);
    }
    // Below the diagonal block every pair stands for two: halve the block instead.
    square *= 0.5;
    auto out = product.topRows(size);
    engine.dense.gemm(false, false, 2.0, h.topLeftCorner(size, width), counts.topRows(width), 0.0,
                      out);
    quadratic += counts.middleRows(begin, size).cwiseProduct(out).colwise().sum().transpose();
  }
  const double m = copies.size() == 0 ? static_cast<double>(n) : copies.sum();
  const double ratio = m / (m - 1.0);
  const Vector linear = counts.transpose() * (ratio * diagonal + 2.0 * row_sums);
  return (ratio * quadratic - linear) / (m * m);
}

}  // namespace calibrisk

#endif
