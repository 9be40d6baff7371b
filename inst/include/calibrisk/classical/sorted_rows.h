// SPDX-License-Identifier: GPL-3.0-or-later
// Prefix sums of sorted rows, and isotonic regression of rows in any order.
#ifndef CALIBRISK_CLASSICAL_SORTED_ROWS_H
#define CALIBRISK_CLASSICAL_SORTED_ROWS_H

#include <calibrisk/classical/monotone_bins.h>
#include <calibrisk/math/row_order.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace calibrisk {

// Sums of w d, w d^2 and w y up to each row, in long double as cumsum() of R; w null: 1.
template <class Outcome>
void prefix_sums(std::size_t n, const double* d, const Outcome* y, const double* w, double* sum_d,
                 double* sum_d2, double* sum_y) {
  long double total_d = 0.0L, total_d2 = 0.0L, total_y = 0.0L;
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = w == nullptr ? 1.0 : w[i];
    total_d += weight * d[i];
    total_d2 += weight * (d[i] * d[i]);
    total_y += weight * static_cast<double>(y[i]);
    sum_d[i] = static_cast<double>(total_d);
    sum_d2[i] = static_cast<double>(total_d2);
    sum_y[i] = static_cast<double>(total_y);
  }
}

// Sums of w, w d and w d^2 in cells [bins x folds].
struct FoldSums {
  Matrix size, d, d2;
};

// The sums of sorted rows in folds 1, ..., n_folds, for several numbers of bins: `ends` of each are
// the numbers of rows up to the end of its bins. Rows between two ends of any of them are summed
// once.
inline std::vector<FoldSums> fold_sums(const double* d, const double* w, const int* fold,
                                       std::size_t n_folds,
                                       const std::vector<std::vector<Index>>& ends) {
  struct Sums {
    long double size = 0.0L, d = 0.0L, d2 = 0.0L;
  };
  struct Bin {
    std::size_t at = 0;
    std::vector<Sums> sums;
  };
  std::vector<FoldSums> out;
  for (const auto& of : ends) {
    const Matrix none(static_cast<Index>(of.size()), static_cast<Index>(n_folds));
    out.push_back({none, none, none});
  }
  const std::vector<Sums> empty(n_folds);
  std::vector<Bin> open(ends.size(), {0, empty});
  for (Index row = 0;;) {
    Index end = std::numeric_limits<Index>::max();
    for (std::size_t k = 0; k < ends.size(); ++k) {
      if (open[k].at < ends[k].size()) end = std::min(end, ends[k][open[k].at]);
    }
    if (end == std::numeric_limits<Index>::max()) return out;
    std::vector<Sums> between = empty;
    for (; row < end; ++row) {
      const double weight = w == nullptr ? 1.0 : w[row];
      Sums& own = between[static_cast<std::size_t>(fold[row] - 1)];
      own.size += weight;
      own.d += weight * d[row];
      own.d2 += weight * (d[row] * d[row]);
    }
    for (std::size_t k = 0; k < ends.size(); ++k) {
      auto& [at, sums] = open[k];
      if (at == ends[k].size()) continue;
      const bool ended = ends[k][at] == end;
      const auto bin = static_cast<Index>(at);
      for (std::size_t f = 0; f < n_folds; ++f) {
        sums[f].size += between[f].size;
        sums[f].d += between[f].d;
        sums[f].d2 += between[f].d2;
        if (!ended) continue;
        const auto column = static_cast<Index>(f);
        out[k].size(bin, column) = static_cast<double>(sums[f].size);
        out[k].d(bin, column) = static_cast<double>(sums[f].d);
        out[k].d2(bin, column) = static_cast<double>(sums[f].d2);
        sums[f] = Sums();
      }
      at += ended;
    }
  }
}

// Last rows (1-based) of the stretches of equal x, which ascends.
inline std::vector<int> tie_ends(std::size_t n, const double* x) {
  std::vector<int> ends;
  for (std::size_t i = 1; i < n; ++i) {
    if (x[i] != x[i - 1]) ends.push_back(static_cast<int>(i));
  }
  ends.push_back(static_cast<int>(n));
  return ends;
}

// Isotonic regression of y on x, which ascends, with weights w (null: 1). Equal x are one block.
inline Pools isotonic_rows(std::size_t n, const double* x, const double* y, const double* w) {
  PoolStack stack;
  for (std::size_t i = 0; i < n;) {
    const double here = x[i];
    double total = 0.0, weight = 0.0;
    for (; i < n && x[i] == here; ++i) {
      const double own = w == nullptr ? 1.0 : w[i];
      total += own * y[i];
      weight += own;
    }
    stack.add(total, weight, static_cast<int>(i));
  }
  return stack.pools();
}

// P(x > x') + P(x = x') / 2 of an event and a row without one, of rows by ascending x, whose kinds
// are 1 and 0. The influence of each row, its placement (DeLong et al. 1988) less that value, over
// the share of its kind, is written over x.
template <class Weight>
double auroc(std::size_t n, const std::uint8_t* kind, const Weight& weight, double* x) {
  long double total[2] = {0.0L, 0.0L}, before[2] = {0.0L, 0.0L}, placed = 0.0L;
  for (std::size_t i = 0; i < n; ++i) total[kind[i]] += weight(i);
  for (std::size_t i = 0; i < n;) {
    long double mass[2] = {0.0L, 0.0L};
    std::size_t end = i;
    for (; end < n && x[end] == x[i]; ++end) mass[kind[end]] += weight(end);
    // the share of the other kind below, of ties half
    const auto below = [&](int k) {
      return static_cast<double>((before[k] + mass[k] / 2.0L) / total[k]);
    };
    const double placement[2] = {1.0 - below(1), below(0)};
    placed += mass[1] * placement[1];
    for (; i < end; ++i) x[i] = placement[kind[i]];
    for (const int k : {0, 1}) before[k] += mass[k];
  }
  // rounding does not take it beyond 1
  const double value = std::min(std::max(static_cast<double>(placed / total[1]), 0.0), 1.0);
  const long double all = total[0] + total[1];
  const double share[2] = {static_cast<double>(total[0] / all),
                           static_cast<double>(total[1] / all)};
  for (std::size_t i = 0; i < n; ++i) x[i] = (x[i] - value) / share[kind[i]];
  return value;
}

}  // namespace calibrisk

#endif
