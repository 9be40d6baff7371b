// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_METHODS_BOUNDED_GAP_H
#define CALIBRISK_METHODS_BOUNDED_GAP_H

#include <calibrisk/types.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// The nearest gap that leaves a probability, p - gap in [0, 1], or a probability vector: no further
// from the true gap. Onto the simplex as Michelot (1986) does: what is negative is dropped until
// nothing is.
inline Matrix bounded_gap(const ConstMatrixRef& gap, const ConstMatrixRef& p) {
  const Index n = p.rows(), k = p.cols();
  require(gap.rows() == n && gap.cols() == k, "bounded_gap: a gap for each probability.");
  if (k == 1) return gap.array().max(p.array() - 1.0).min(p.array());
  Matrix out(n, k);
  std::vector<Index> kept, left;
  for (Index i = 0; i < n; ++i) {
    kept.resize(static_cast<std::size_t>(k));
    for (Index c = 0; c < k; ++c) kept[static_cast<std::size_t>(c)] = c;
    double excess = 0.0;
    for (;;) {
      long double sum = 0.0L;
      for (const Index c : kept) sum += static_cast<long double>(p(i, c) - gap(i, c));
      excess = (static_cast<double>(sum) - 1.0) / static_cast<double>(kept.size());
      left.clear();
      for (const Index c : kept) {
        if (p(i, c) - gap(i, c) > excess) left.push_back(c);
      }
      if (left.size() == kept.size()) break;
      kept.swap(left);
    }
    for (Index c = 0; c < k; ++c) out(i, c) = std::min(gap(i, c) + excess, p(i, c));
  }
  return out;
}

}  // namespace calibrisk

#endif
