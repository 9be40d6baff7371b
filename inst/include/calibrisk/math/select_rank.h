// SPDX-License-Identifier: GPL-3.0-or-later
// Order statistics of values that need not be sorted.
#ifndef CALIBRISK_MATH_SELECT_RANK_H
#define CALIBRISK_MATH_SELECT_RANK_H

#include <calibrisk/types.h>

#include <algorithm>

namespace calibrisk {

// Puts the value of this rank (from 0) of n values in its place, smaller ones before it. As
// std::nth_element(), without branches that a processor would have to guess.
inline void select_rank(double* x, Index n, Index rank) {
  Index from = 0;
  while (n - from > 16) {
    double pivot[] = {x[from], x[from + (n - from) / 2], x[n - 1]};
    std::sort(pivot, pivot + 3);
    // values below the pivot first; or where there are none, those equal to it
    const auto split = [&](auto&& before) {
      Index next = from;
      for (Index i = from; i < n; ++i) {
        const double value = x[i];
        x[i] = x[next];
        x[next] = value;
        next += before(value) ? 1 : 0;
      }
      return next;
    };
    Index middle = split([&](double v) { return v < pivot[1]; });
    if (rank < middle) {
      n = middle;
      continue;
    }
    from = middle;
    middle = split([&](double v) { return !(pivot[1] < v); });
    if (rank < middle) return;
    from = middle;
  }
  std::sort(x + from, x + n);
}

}  // namespace calibrisk

#endif
