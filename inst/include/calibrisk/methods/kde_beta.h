// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel density ratios of scalar predictions: queries against one training set, many
// bandwidths, near-linear time (kde_beta_sums.h). At the ends the density is taken literally: z = 1
// sees training values of exactly 1 only; where there are none all weights vanish and z is replaced
// by 1 - 2^-53. The same at z = 0.
#ifndef CALIBRISK_METHODS_KDE_BETA_H
#define CALIBRISK_METHODS_KDE_BETA_H

#include <calibrisk/methods/kde_beta_sums.h>
#include <calibrisk/pair_tiles.h>

#include <memory>

namespace calibrisk {

namespace detail {

constexpr Index beta_chunk = 16384;  // queries of a task
}  // namespace detail

// sink(index of the bandwidth, chunk of the queries, left-out block (-1: none), positions of the
// queries that leave it out, their r) from workers; every chunk once. r is NaN without training
// values.
template <class Sink>
void beta_ratios(const Engine& engine, BetaTraining train, const BetaQueries& queries,
                 const std::vector<double>& bandwidths, const Sink& sink, ProgressSpan span = {}) {
  const Index n_bandwidths = static_cast<Index>(bandwidths.size()), n = queries.n();
  const double smallest = *std::min_element(bandwidths.begin(), bandwidths.end());
  const std::vector<double>& logit = queries.logit;
  double limit = -beta_logit(detail::half_epsilon);
  if (!logit.empty()) limit = std::max({limit, -logit.front(), logit.back()});
  const BetaCells cells(std::move(train), smallest, limit);
  std::vector<std::unique_ptr<BetaSums>> sums(bandwidths.size());
  if (cells.values.n() > 0) {
    parallel_for(engine, n_bandwidths, [&](Index h) {
      const auto at = static_cast<std::size_t>(h);
      sums[at] = std::make_unique<BetaSums>(cells, bandwidths[at]);
    });
  }
  const Index n_chunks = (n + detail::beta_chunk - 1) / detail::beta_chunk;
  const auto begin_of = [&](Index chunk) { return std::min(n, chunk * detail::beta_chunk); };
  std::vector<std::vector<BetaSet>> sets(static_cast<std::size_t>(n_chunks));
  parallel_for(engine, n_chunks, [&](Index chunk) {
    sets[static_cast<std::size_t>(chunk)] =
        beta_sets(queries, cells.values.n_blocks, begin_of(chunk), begin_of(chunk + 1));
  });
  parallel_for(
      engine, n_chunks * n_bandwidths,
      [&](Index task) {
        const Index chunk = task % n_chunks, h = task / n_chunks;
        const BetaSums* const of_h = sums[static_cast<std::size_t>(h)].get();
        const auto inside = [&](Index i) {
          return std::clamp<Index>(i - queries.n_zeros, 0, static_cast<Index>(logit.size()));
        };
        const Index first = inside(begin_of(chunk)), last = inside(begin_of(chunk + 1));
        std::vector<BetaRatios> found;
        for (const BetaSet& set : sets[static_cast<std::size_t>(chunk)]) found.emplace_back(set);
        if (of_h && last > first) of_h->ratios(logit.data() + first, last - first, found);
        for (BetaRatios& of_set : found) {
          const BetaSet& set = of_set.set;
          std::vector<double>& ratio = of_set.ratio;
          const Index n_ones = static_cast<Index>(set.rows.size() - ratio.size()) - set.n_zeros;
          const auto at_end = [&](bool one) {
            return of_h ? of_h->ratio_at_end(set.left_out, one) : not_a_number;
          };
          if (n_ones > 0) ratio.insert(ratio.end(), static_cast<std::size_t>(n_ones), at_end(true));
          if (set.n_zeros > 0) {
            ratio.insert(ratio.begin(), static_cast<std::size_t>(set.n_zeros), at_end(false));
          }
          sink(h, chunk, set.left_out, set.rows, ratio.data());
        }
      },
      span);
}

}  // namespace calibrisk

#endif
