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

struct BetaJob {
  BetaTraining train;
  BetaQueries queries;
};

// sink(job, index of the bandwidth, first query, number of queries, their r) from workers; every
// query and bandwidth once. r is NaN without training values.
template <class Sink>
void beta_ratios(const Engine& engine, std::vector<BetaJob> jobs,
                 const std::vector<double>& bandwidths, const Sink& sink, ProgressSpan span = {}) {
  const Index n_bandwidths = static_cast<Index>(bandwidths.size());
  const Index n_jobs = static_cast<Index>(jobs.size());
  const double smallest = *std::min_element(bandwidths.begin(), bandwidths.end());
  const double edge = -beta_logit(detail::half_epsilon);
  std::vector<std::unique_ptr<BetaCells>> cells(jobs.size());
  parallel_for(engine, n_jobs, [&](Index j) {
    BetaJob& job = jobs[static_cast<std::size_t>(j)];
    if (job.train.n() == 0) return;
    const std::vector<double>& logit = job.queries.logit;
    const double limit = logit.empty() ? edge : std::max({edge, -logit.front(), logit.back()});
    cells[static_cast<std::size_t>(j)] =
        std::make_unique<BetaCells>(std::move(job.train), smallest, limit);
  });

  struct Chunk {
    Index job, begin, size;
  };
  std::vector<Chunk> chunks;
  for (Index j = 0; j < n_jobs; ++j) {
    const Index n = jobs[static_cast<std::size_t>(j)].queries.n();
    for (Index begin = 0; begin < n; begin += detail::beta_chunk) {
      chunks.push_back({j, begin, std::min(detail::beta_chunk, n - begin)});
    }
  }
  std::vector<std::unique_ptr<BetaSums>> sums(jobs.size() * bandwidths.size());
  const auto sums_of = [&](Index j, Index h) -> std::unique_ptr<BetaSums>& {
    return sums[static_cast<std::size_t>(j * n_bandwidths + h)];
  };
  parallel_for(engine, n_jobs * n_bandwidths, [&](Index task) {
    const Index j = task % n_jobs, h = task / n_jobs;
    const auto& of_job = cells[static_cast<std::size_t>(j)];
    if (of_job) {
      sums_of(j, h) = std::make_unique<BetaSums>(*of_job, bandwidths[static_cast<std::size_t>(h)]);
    }
  });
  const Index n_chunks = static_cast<Index>(chunks.size());
  parallel_for(
      engine, n_chunks * n_bandwidths,
      [&](Index task) {
        const Chunk& chunk = chunks[static_cast<std::size_t>(task % n_chunks)];
        const Index h = task / n_chunks, end = chunk.begin + chunk.size;
        const std::unique_ptr<BetaSums>& of_chunk = sums_of(chunk.job, h);
        std::vector<double> ratio(static_cast<std::size_t>(chunk.size), not_a_number);
        if (of_chunk) {
          const BetaQueries& queries = jobs[static_cast<std::size_t>(chunk.job)].queries;
          const BetaTraining& values = cells[static_cast<std::size_t>(chunk.job)]->values;
          const Index inside = static_cast<Index>(queries.logit.size());
          const Index first =
              std::clamp<Index>(chunk.begin, queries.n_zeros, queries.n_zeros + inside);
          const Index last = std::clamp<Index>(end, queries.n_zeros, queries.n_zeros + inside);
          if (last > first) {
            of_chunk->ratios(queries.logit.data() + (first - queries.n_zeros), last - first,
                             ratio.data() + (first - chunk.begin));
          }
          if (chunk.begin < queries.n_zeros) {
            std::fill(ratio.begin(), ratio.begin() + (std::min(end, queries.n_zeros) - chunk.begin),
                      detail::beta_ratio_at_end(values, *of_chunk, false));
          }
          const Index ones = std::max(chunk.begin, queries.n_zeros + inside);
          if (end > ones) {
            std::fill(ratio.begin() + (ones - chunk.begin), ratio.end(),
                      detail::beta_ratio_at_end(values, *of_chunk, true));
          }
        }
        sink(chunk.job, h, chunk.begin, chunk.size, ratio.data());
      },
      span);
}

}  // namespace calibrisk

#endif
