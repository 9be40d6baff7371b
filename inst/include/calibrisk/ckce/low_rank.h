// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE from a pivoted Cholesky factor K ~ L L', with the error bound
// 3 tr(G) tr(K - L L') / (n ridge)^2 as stopping rule: a coarse factor first, whose
// estimate says how fine the factor must be to certify a relative error.
#ifndef CALIBRISK_CKCE_LOW_RANK_H
#define CALIBRISK_CKCE_LOW_RANK_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/linalg/pivoted_cholesky.h>

#include <algorithm>

namespace calibrisk {

struct LowRankOptions {
  double tolerance = 0.01;  // relative error to certify
  Index max_rank = 1000;
};

namespace detail {

inline double remainder(const KernelFactor& factor) { return factor.residual.sum(); }

// tr(K - LL') at which the bound is `tolerance` times the estimate at the smallest ridge.
inline double certified_remainder(const Engine& engine, const KernelFactor& factor,
                                  const ConstMatrixRef& residuals, double ridge, double tolerance) {
  FactorMoments moments(factor.l.cols(), residuals.cols());
  moments.add(engine, factor.l, residuals, Vector(), false);
  const Spectrum spectrum = spectrum_of(engine, moments, remainder(factor)).spectrum;
  if (!(spectrum.trace_residual > 0)) return std::numeric_limits<double>::infinity();
  const double c = ridge * static_cast<double>(residuals.rows());
  return tolerance * ckce_values(spectrum, ridge).estimate * c * c /
         (3.0 * spectrum.trace_residual);
}

}  // namespace detail

// The factor on which CKCE at ridges >= `ridge` is certified, or the largest allowed. Cost
// n r^2 + n r q, memory n r.
inline KernelFactor ckce_factor(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                                const ConstMatrixRef& residuals, double ridge,
                                const LowRankOptions& options) {
  constexpr double coarse = 1e-3, margin = 0.9;
  constexpr int rounds = 4;
  const double n = static_cast<double>(x.rows());
  CholeskyOptions cholesky;
  cholesky.max_rank = options.max_rank;
  cholesky.tolerance = coarse;
  KernelFactor factor = pivoted_cholesky(engine, kernel, x, cholesky, {0.0, 0.2});
  for (int round = 0; round < rounds && factor.rank() < options.max_rank; ++round) {
    const double target =
        detail::certified_remainder(engine, factor, residuals, ridge, options.tolerance);
    if (detail::remainder(factor) <= target) break;
    const Index rank = factor.rank();
    cholesky.tolerance = margin * target / n;
    extend_factor(engine, x, cholesky, factor, {0.2, 0.8});
    if (factor.rank() == rank) break;  // numerically of full rank
  }
  return factor;
}

}  // namespace calibrisk

#endif
