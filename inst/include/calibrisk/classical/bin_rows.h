// SPDX-License-Identifier: GPL-3.0-or-later
// Bins of rows sorted by their prediction, from prefix sums over the rows (sorted_rows.h).
#ifndef CALIBRISK_CLASSICAL_BIN_ROWS_H
#define CALIBRISK_CLASSICAL_BIN_ROWS_H

#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// Of sorted rows with residual d and outcome y: prefix sums of w d, w d^2 and w y; of weighted rows
// also w, w2 (the sum of squared weights of a row's copies) and their prefix sums. `sum_copies`
// where rows stand for several. Sums that are not known are null.
struct SortedSums {
  const double *sum_d = nullptr, *sum_d2 = nullptr, *sum_y = nullptr;
  const double *d = nullptr, *y = nullptr, *w = nullptr, *w2 = nullptr;
  const double *sum_w = nullptr, *sum_w2 = nullptr, *sum_copies = nullptr;
};

// The ends (numbers of rows) of the bins that have rows.
inline std::vector<Index> used_ends(const double* ends, Index n) {
  std::vector<Index> out;
  for (Index b = 0; b < n; ++b) {
    if (ends[b] > 0.0 && (b + 1 == n || ends[b + 1] != ends[b])) {
      out.push_back(static_cast<Index>(ends[b]));
    }
  }
  return out;
}

// The bins with these ends, of which the first begins after row `from`.
inline BinTable bins_of_rows(const SortedSums& rows, const std::vector<Index>& ends, Index from) {
  const Index n = static_cast<Index>(ends.size());
  BinTable out{Vector(n), Vector(n), Vector(n), Vector(n), Vector(n), Vector(n)};
  for (Index b = 0, begin = from; b < n; ++b) {
    const Index end = ends[static_cast<std::size_t>(b)];
    const auto total = [&](const double* prefix) {
      return prefix[end - 1] - (begin > 0 ? prefix[begin - 1] : 0.0);
    };
    const double count = static_cast<double>(end - begin);
    double d = total(rows.sum_d), d2 = total(rows.sum_d2), y = total(rows.sum_y);
    double w = count, w2 = count;
    if (rows.w != nullptr) {
      w = total(rows.sum_w);
      w2 = total(rows.sum_w2);
      // a bin that weighs next to nothing beside the rows before it is lost in the difference of
      // two prefix sums: its rows are summed alone
      if (w < 1e-8 * rows.sum_w[end - 1]) {
        const auto alone = [&](const auto& term) {
          return exact_sum(end - begin, [&](Index i) { return term(begin + i); });
        };
        d = alone([&](Index i) { return rows.w[i] * rows.d[i]; });
        d2 = alone([&](Index i) { return rows.w[i] * (rows.d[i] * rows.d[i]); });
        y = alone([&](Index i) { return rows.w[i] * rows.y[i]; });
        w = alone([&](Index i) { return rows.w[i]; });
        w2 = alone([&](Index i) { return rows.w2[i]; });
      }
    }
    out.copies(b) = rows.sum_copies == nullptr ? count : total(rows.sum_copies);
    out.size(b) = w;
    out.gap(b) = d / w;
    out.accuracy(b) = y / w;
    out.spread(b) = std::max(d2 / w - out.gap(b) * out.gap(b), 0.0);
    out.concentration(b) = rows.w == nullptr ? 1.0 / w : w2 / (w * w);
    begin = end;
  }
  return out;
}

// The power of the bins' error, the sum of the squares of its rows' influence, its noise, and the
// squares of lone rows.
struct BinnedPower {
  double power = 0.0, squares = 0.0, noise = 0.0, lone = 0.0;
};

inline double squares_about(const BinTerms& terms, double power) {
  return exact_sum(terms.share.size(), [&](Index b) {
    const double off = terms.centre(b) - power;
    return terms.share(b) * (off * off);
  });
}

// For as many bins as rows, where a table of all of them would be most of the memory: `at_once`
// bins at a time. `p` is finite.
inline BinnedPower power_in_blocks(const SortedSums& rows, const std::vector<Index>& ends, double p,
                                   bool debias, Index at_once) {
  require(!ends.empty() && at_once > 0, "power_in_blocks: there are bins.");
  const Index last = ends.back();
  const double total = rows.w == nullptr ? static_cast<double>(last) : rows.sum_w[last - 1];
  const Index n = static_cast<Index>(ends.size());
  const auto each_block = [&](const auto& use) {
    for (Index begin = 0; begin < n; begin += at_once) {
      const std::vector<Index> some(ends.begin() + begin,
                                    ends.begin() + std::min(begin + at_once, n));
      const Index from = begin == 0 ? 0 : ends[static_cast<std::size_t>(begin - 1)];
      use(bin_terms(bins_of_rows(rows, some, from), total, p, debias));
    }
  };
  BinnedPower out;
  double within = 0.0;
  each_block([&](const BinTerms& terms) {
    out.power += terms.power;
    within += terms.within;
    out.noise += terms.noise;
    out.lone += terms.lone;
  });
  each_block([&](const BinTerms& terms) { out.squares += squares_about(terms, out.power); });
  out.squares = total * (out.squares + within);
  return out;
}

}  // namespace calibrisk

#endif
