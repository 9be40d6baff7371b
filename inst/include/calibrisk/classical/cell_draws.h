// SPDX-License-Identifier: GPL-3.0-or-later
// Sums that bootstrap samples and redrawn outcomes add to cells of rows.
#ifndef CALIBRISK_CLASSICAL_CELL_DRAWS_H
#define CALIBRISK_CLASSICAL_CELL_DRAWS_H

#include "../engine.h"
#include "../math/counter_uniform.h"
#include "../types.h"
#include "count_draws.h"

#include <cstdint>
#include <vector>

namespace calibrisk {

// Rows in the order of their cells; cell k ends before row end[k]. No weights: 1 each. Rows may
// stand for `copies` of the weight w together.
struct CellRows {
  ConstVectorRef x, y, w, copies;
  const std::vector<int>& end;

  double weight(Index i) const { return w.size() == 0 ? 1.0 : w[i]; }
  void check() const {
    require(!end.empty() && end.back() == x.size(), "cell_draws: the last cell ends at n.");
    require(y.size() == x.size() && (w.size() == 0 || w.size() == x.size()),
            "cell_draws: one outcome and one weight per row.");
    require(copies.size() == 0 || copies.size() == x.size(), "cell_draws: one count per row.");
  }
};

// Sums of c w, c w x and c w y per cell, one below the other, a column per sample; c is how often
// the row is drawn. As many rows as there are are drawn with replacement, or as many clusters
// (numbers from 0; empty: none); of rows with copies a Poisson number. Sample r depends on (seed,
// r) alone. Cost O(draws n), memory O(n) per thread.
inline Matrix resampled_cells(const Engine& engine, const CellRows& rows,
                              const std::vector<int>& cluster, int n_clusters, Index times,
                              std::uint64_t seed) {
  rows.check();
  const Index n = rows.x.size(), n_cells = static_cast<Index>(rows.end.size());
  const bool clustered = !cluster.empty();
  require(!clustered || static_cast<Index>(cluster.size()) == n,
          "cell_draws: one cluster per row.");
  const bool counted = !clustered && rows.copies.size() > 0;
  const Index units = clustered ? n_clusters : counted ? 0 : n;
  Matrix out = Matrix::Zero(3 * n_cells, times);
  parallel_for(engine, times, [&](Index r) {
    std::vector<std::uint16_t> count(static_cast<std::size_t>(units));
    for (Index i = 0; i < units; ++i) {
      const double u =
          counter_uniform(seed, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(i));
      ++count[static_cast<std::size_t>(u * static_cast<double>(units))];
    }
    Index i = 0;
    for (Index k = 0; k < n_cells; ++k) {
      double size = 0.0, place = 0.0, events = 0.0;
      for (; i < rows.end[static_cast<std::size_t>(k)]; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double drawn =
            counted ? drawn_copies(rows.copies[i],
                                   counter_uniform(seed, static_cast<std::uint64_t>(r), at)) /
                          rows.copies[i]
                    : count[clustered ? static_cast<std::size_t>(cluster[at]) : at];
        const double own = rows.weight(i) * drawn;
        size += own;
        place += own * rows.x[i];
        events += own * rows.y[i];
      }
      out(k, r) = size;
      out(n_cells + k, r) = place;
      out(2 * n_cells + k, r) = events;
    }
  });
  return out;
}

// Sums of w Y per cell, a column per draw, where Y ~ Bernoulli(y).
inline Matrix redrawn_cells(const Engine& engine, const CellRows& rows, Index times,
                            std::uint64_t seed) {
  rows.check();
  const Index n_cells = static_cast<Index>(rows.end.size());
  Matrix out(n_cells, times);
  parallel_for(engine, times, [&](Index r) {
    Index i = 0;
    for (Index k = 0; k < n_cells; ++k) {
      double events = 0.0;
      for (; i < rows.end[static_cast<std::size_t>(k)]; ++i) {
        const double u =
            counter_uniform(seed, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(i));
        const double share = rows.copies.size() == 0
                                 ? static_cast<double>(u < rows.y[i])
                                 : drawn_successes(rows.copies[i], rows.y[i], u) / rows.copies[i];
        events += share * rows.weight(i);
      }
      out(k, r) = events;
    }
  });
  return out;
}

}  // namespace calibrisk

#endif
