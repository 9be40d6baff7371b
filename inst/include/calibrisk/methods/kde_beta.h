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

constexpr Index beta_chunk = 16384;                      // queries of a task
constexpr double half_epsilon = 1.1102230246251565e-16;  // 2^-53

// r at z = 1 (`one`) or z = 0
inline double beta_ratio_at_end(const BetaTraining& train, const BetaSums& sums, bool one) {
  const Index at = one ? train.n() - 1 : 0;
  const std::size_t end = static_cast<std::size_t>(at);
  const bool same_side = one ? train.n_lower < train.n() : train.n_lower > 0;
  if (same_side && train.offset[end] == 0.0) return train.positive[end] / train.count[end];
  const double logit = beta_logit(one ? 1.0 - half_epsilon : half_epsilon);
  double ratio;
  sums.ratios(&logit, 1, &ratio);
  return ratio;
}

}  // namespace detail

// sink(row, index of the bandwidth, r) once for every query and bandwidth, from workers.
// r is NaN without training values.
template <class Sink>
void beta_ratios(const Engine& engine, const BetaTraining& train, const BetaQueries& queries,
                 const std::vector<double>& bandwidths, const Sink& sink, ProgressSpan span = {}) {
  const Index n_bandwidths = static_cast<Index>(bandwidths.size());
  const Index n = static_cast<Index>(queries.logit.size());
  const double edge = -beta_logit(detail::half_epsilon);
  const double limit =
      n > 0 ? std::max({edge, -queries.logit.front(), queries.logit.back()}) : edge;
  const bool defined = train.n() > 0;

  std::vector<std::unique_ptr<BetaSums>> sums(bandwidths.size());
  parallel_for(
      engine, n_bandwidths,
      [&](Index h) {
        const std::size_t at = static_cast<std::size_t>(h);
        double at_zero = not_a_number, at_one = not_a_number;
        if (defined) {
          sums[at] = std::make_unique<BetaSums>(train, bandwidths[at], limit);
          if (!queries.zeros.empty()) at_zero = detail::beta_ratio_at_end(train, *sums[at], false);
          if (!queries.ones.empty()) at_one = detail::beta_ratio_at_end(train, *sums[at], true);
        }
        for (Index row : queries.zeros) sink(row, h, at_zero);
        for (Index row : queries.ones) sink(row, h, at_one);
      },
      span.part(0, 4));

  const Index n_chunks = (n + detail::beta_chunk - 1) / detail::beta_chunk;
  parallel_for(
      engine, n_chunks * n_bandwidths,
      [&](Index task) {
        const Index h = task / n_chunks, begin = (task % n_chunks) * detail::beta_chunk;
        const Index size = std::min(detail::beta_chunk, n - begin);
        std::vector<double> ratio(static_cast<std::size_t>(size), not_a_number);
        if (defined) {
          sums[static_cast<std::size_t>(h)]->ratios(queries.logit.data() + begin, size,
                                                    ratio.data());
        }
        for (Index i = 0; i < size; ++i) {
          sink(queries.row[static_cast<std::size_t>(begin + i)], h,
               ratio[static_cast<std::size_t>(i)]);
        }
      },
      ProgressSpan{span.part(1, 4).from, span.to});
}

}  // namespace calibrisk

#endif
