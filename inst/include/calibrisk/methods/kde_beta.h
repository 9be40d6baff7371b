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

inline Index beta_chunks(const BetaQueries& queries) {
  return (queries.n() + beta_chunk - 1) / beta_chunk;
}

}  // namespace detail

// The sums of one training set for several bandwidths.
class BetaSumsOfBandwidths {
 public:
  // `queries`: those that have the smallest and the largest logit
  BetaSumsOfBandwidths(const Engine& engine, BetaTraining train, const BetaQueries& queries,
                       const std::vector<double>& bandwidths)
      : cells_(std::move(train), *std::min_element(bandwidths.begin(), bandwidths.end()),
               largest_logit(queries)),
        sums_(bandwidths.size()) {
    if (cells_.values.n() == 0) return;
    parallel_for(engine, static_cast<Index>(bandwidths.size()), [&](Index h) {
      const auto at = static_cast<std::size_t>(h);
      sums_[at] = std::make_unique<BetaSums>(cells_, bandwidths[at]);
    });
  }

  // sink(index of the bandwidth, chunk of the queries, left-out block (-1: none), positions of the
  // queries that leave it out, their r) from workers, for the bandwidths [first, last); every chunk
  // once. r is NaN without training values.
  template <class Sink>
  void ratios(const Engine& engine, const BetaQueries& queries, Index first, Index last,
              const Sink& sink, ProgressSpan span = {}) const {
    const std::vector<double>& logit = queries.logit;
    const Index n_chunks = detail::beta_chunks(queries);
    const auto begin_of = [&](Index chunk) {
      return std::min(queries.n(), chunk * detail::beta_chunk);
    };
    const auto inside = [&](Index i) {
      return std::clamp<Index>(i - queries.n_zeros, 0, static_cast<Index>(logit.size()));
    };
    const auto sets_of = [&](Index chunk) {
      return beta_sets(queries, cells_.values.n_blocks, begin_of(chunk), begin_of(chunk + 1));
    };
    std::vector<std::vector<BetaSet>> sets(static_cast<std::size_t>(n_chunks));
    const bool share = last - first > 1;  // several bandwidths need the same sets
    if (share) {
      parallel_for(engine, n_chunks,
                   [&](Index chunk) { sets[static_cast<std::size_t>(chunk)] = sets_of(chunk); });
    }
    parallel_for(
        engine, n_chunks * (last - first),
        [&](Index task) {
          const Index chunk = task % n_chunks, h = first + task / n_chunks;
          const BetaSums* const of_h = sums_[static_cast<std::size_t>(h)].get();
          const Index begin = inside(begin_of(chunk)), end = inside(begin_of(chunk + 1));
          std::vector<BetaSet> own;
          if (!share) own = sets_of(chunk);
          std::vector<BetaRatios> found;
          for (const BetaSet& set : share ? sets[static_cast<std::size_t>(chunk)] : own) {
            found.emplace_back(set);
          }
          if (of_h && end > begin) of_h->ratios(logit.data() + begin, end - begin, found);
          for (BetaRatios& of_set : found) {
            add_ends(of_h, of_set);
            sink(h, chunk, of_set.set.left_out, of_set.set.rows, of_set.ratio.data());
          }
        },
        span);
  }

 private:
  static double largest_logit(const BetaQueries& queries) {
    const double limit = -beta_logit(detail::half_epsilon);
    const std::vector<double>& logit = queries.logit;
    return logit.empty() ? limit : std::max({limit, -logit.front(), logit.back()});
  }

  // The ratios of the queries that are exactly 0 or 1.
  static void add_ends(const BetaSums* sums, BetaRatios& of_set) {
    const BetaSet& set = of_set.set;
    std::vector<double>& ratio = of_set.ratio;
    const Index n_ones = static_cast<Index>(set.rows.size() - ratio.size()) - set.n_zeros;
    const auto at_end = [&](bool one) {
      return sums ? sums->ratio_at_end(set.left_out, one) : not_a_number;
    };
    if (n_ones > 0) ratio.insert(ratio.end(), static_cast<std::size_t>(n_ones), at_end(true));
    if (set.n_zeros > 0) {
      ratio.insert(ratio.begin(), static_cast<std::size_t>(set.n_zeros), at_end(false));
    }
  }

  BetaCells cells_;
  std::vector<std::unique_ptr<BetaSums>> sums_;
};

}  // namespace calibrisk

#endif
