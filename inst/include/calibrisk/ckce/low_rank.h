// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE from a pivoted Cholesky factor K ~ L L', with the error bound
// 3 tr(G) tr(K - L L') / (n ridge)^2 as stopping rule: a coarse factor first, whose
// estimate says how fine the factor must be to certify a relative error.
#ifndef CALIBRISK_CKCE_LOW_RANK_H
#define CALIBRISK_CKCE_LOW_RANK_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/kernels/pivoted_cholesky.h>
#include <calibrisk/pairs/source_factor.h>

#include <algorithm>

namespace calibrisk {

struct LowRankOptions {
  double tolerance = 0.01;  // relative error to certify
  Index max_rank = 1000;
};

namespace detail {

// tr(K - LL') at which the bound is `tolerance` times the estimate at the smallest ridge.
inline double certified_remainder(const Engine& engine, const ConstMatrixRef& l, double remainder,
                                  const ConstMatrixRef& residuals, double ridge, double tolerance) {
  FactorMoments moments(l.cols(), residuals.cols());
  moments.add(engine, l, residuals, Vector(), false);
  if (!(moments.trace_residual > 0)) return std::numeric_limits<double>::infinity();
  const double c = ridge * static_cast<double>(residuals.rows());
  return tolerance * ckce_of_moments(engine, moments, remainder, ridge, false).estimate * c * c /
         (3.0 * moments.trace_residual);
}

// Refined until CKCE at ridges >= `ridge` is certified, or the rank the largest allowed.
// extend(mean residual diagonal, span) goes on with `factor`.
template <class Factor, class Extend>
void certify(const Engine& engine, const ConstMatrixRef& residuals, double ridge,
             const LowRankOptions& options, Factor& factor, const Extend& extend) {
  constexpr double coarse = 1e-3, margin = 0.9;
  constexpr int rounds = 4;
  const double n = static_cast<double>(residuals.rows());
  extend(coarse, ProgressSpan{0.0, 0.2});
  for (int round = 0; round < rounds && factor.rank() < options.max_rank; ++round) {
    const double remainder = factor.residual.sum();
    const double target =
        certified_remainder(engine, factor.l, remainder, residuals, ridge, options.tolerance);
    if (remainder <= target) break;
    const Index rank = factor.rank();
    extend(margin * target / n, ProgressSpan{0.2, 0.8});
    if (factor.rank() == rank) break;  // numerically of full rank
  }
}

}  // namespace detail

// The factor on which CKCE at ridges >= `ridge` is certified, or the largest allowed. Cost
// n r^2 + n r q, memory n r.
inline KernelFactor ckce_factor(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                                const ConstMatrixRef& residuals, double ridge,
                                const LowRankOptions& options) {
  KernelFactor factor = empty_factor(kernel, x);
  CholeskyOptions cholesky;
  cholesky.max_rank = options.max_rank;
  detail::certify(engine, residuals, ridge, options, factor,
                  [&](double tolerance, ProgressSpan span) {
                    cholesky.tolerance = tolerance;
                    extend_factor(engine, x, cholesky, factor, span);
                  });
  return factor;
}

// The same for a kernel that is not a function of one matrix of features.
inline SourceFactor ckce_factor(const Engine& engine, const PairSource& source,
                                const ConstMatrixRef& residuals, double ridge,
                                const LowRankOptions& options) {
  SourceFactor factor = empty_factor(engine, source);
  detail::certify(engine, residuals, ridge, options, factor, [&](double tolerance, ProgressSpan) {
    extend_factor(engine, source, tolerance, options.max_rank, factor);
  });
  return factor;
}

}  // namespace calibrisk

#endif
