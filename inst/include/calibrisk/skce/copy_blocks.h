// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics of consecutive blocks of rows that stand for several: those of the blocks that their
// copies, one after the other, would form.
#ifndef CALIBRISK_SKCE_COPY_BLOCKS_H
#define CALIBRISK_SKCE_COPY_BLOCKS_H

#include <calibrisk/engine.h>
#include <calibrisk/pairs/pair_sums.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// unbiased and squares of block_sums(); with c_i copies of row i in a block of n,
//   n (n - 1) eta = c'Hc - sum_i c_i H_ii.
// Cost k^2 / 2 evaluations of a block of k different rows, memory O(k) per worker.
inline BlockSums copy_blocks(const Engine& engine, const PairSource& source, Index size,
                             const ConstVectorRef& copies) {
  require(copies.size() == source.size() && size >= 2, "copy_blocks: one count per row.");
  std::vector<double> end(static_cast<std::size_t>(copies.size()));
  double rows = 0.0;
  for (Index i = 0; i < copies.size(); ++i) end[static_cast<std::size_t>(i)] = rows += copies(i);
  const double n = static_cast<double>(size), pairs = n * (n - 1.0);
  const Index n_blocks = static_cast<Index>(rows / n);
  BlockSums out{Vector(n_blocks), Vector(), Vector(n_blocks), Vector()};
  const Index per_task = std::max<Index>(1, n_blocks / 1024);
  parallel_for(engine, (n_blocks + per_task - 1) / per_task, [&](Index t) {
    Matrix strip;
    Vector count;
    for (Index b = t * per_task; b < std::min(n_blocks, (t + 1) * per_task); ++b) {
      const double from = static_cast<double>(b) * n, to = from + n;
      const auto first = std::upper_bound(end.begin(), end.end(), from),
                 last = std::lower_bound(first, end.end(), to);
      const Index begin = first - end.begin(), k = last - first + 1;
      count.resize(k);
      double reached = from;
      for (Index i = 0; i < k; ++i) {
        const double next = std::min(first[i], to);
        count(i) = next - reached;
        reached = next;
      }
      double all = 0.0, squares = 0.0;
      for (Index j = 0; j < k; j += detail::strip_columns) {
        const Index width = std::min(detail::strip_columns, k - j);
        strip.resize(k, width);
        source.block(begin, begin + j, strip);
        for (Index a = 0; a < width; ++a) {
          const auto h = strip.col(a);
          const double c = count(j + a), own = h(j + a);
          all += c * (count.dot(h) - own);
          squares += c * (count.dot(h.cwiseAbs2()) - own * own);
        }
      }
      out.unbiased(b) = all / pairs;
      out.squares(b) = squares / pairs;
    }
  });
  return out;
}

}  // namespace calibrisk

#endif
