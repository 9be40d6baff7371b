// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE from a pivoted Cholesky factor K ~ L L', with the error bound
// |G|_2 tr(K - L L') / (n ridge)^2 as stopping rule: a coarse factor first, whose
// estimate says how fine the factor must be to certify a relative error.
#ifndef CALIBRISK_CKCE_LOW_RANK_H
#define CALIBRISK_CKCE_LOW_RANK_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/kernels/pivoted_cholesky.h>
#include <calibrisk/pairs/source_factor.h>

#include <algorithm>
#include <utility>

namespace calibrisk {

struct LowRankOptions {
  double tolerance = 0.01;  // relative error to certify
  Index max_rank = 1000;
};

// A factor, and its moments with the residuals except the weighted ones.
template <class Factor>
struct CertifiedFactor {
  Factor factor;
  FactorMoments moments;
};

// The factor on which CKCE at ridges >= `ridge` is certified, or the largest allowed. Cost
// n r^2 + n r q, memory n r.
CALIBRISK_SHARED CertifiedFactor<KernelFactor> ckce_factor(
    const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
    const ConstMatrixRef& residuals, double ridge, const LowRankOptions& options);

// The same for a kernel that is not a function of one matrix of features.
CALIBRISK_SHARED CertifiedFactor<SourceFactor> ckce_factor(const Engine& engine,
                                                           const PairSource& source,
                                                           const ConstMatrixRef& residuals,
                                                           double ridge,
                                                           const LowRankOptions& options);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE)
namespace detail {

// tr(K - LL') at which the bound is `tolerance` times the estimate at the smallest ridge.
inline double certified_remainder(const Engine& engine, const FactorMoments& moments,
                                  double remainder, double ridge, double tolerance) {
  if (!(moments.norm_residual > 0)) return std::numeric_limits<double>::infinity();
  const double c = ridge * static_cast<double>(moments.n_obs);
  return tolerance * ckce_of_moments(engine, moments, remainder, ridge, false).estimate * c * c /
         moments.norm_residual;
}

// Refines the factor until CKCE at ridges >= `ridge` is certified, or the rank the largest allowed.
// extend(mean residual diagonal, span) goes on with it; it only adds columns, and so do its
// moments.
template <class Factor, class Extend>
CertifiedFactor<Factor> certify(const Engine& engine, const ConstMatrixRef& residuals, double ridge,
                                const LowRankOptions& options, Factor empty, const Extend& extend) {
  constexpr double coarse = 1e-3, margin = 0.9;
  constexpr int rounds = 4;
  const double n = static_cast<double>(residuals.rows());
  CertifiedFactor<Factor> out{std::move(empty), FactorMoments(0, residuals.cols())};
  extend(out.factor, coarse, ProgressSpan{0.0, 0.2});
  out.moments.widen(engine, out.factor.l, residuals);
  for (int round = 0; round < rounds && out.factor.rank() < options.max_rank; ++round) {
    const double remainder = out.factor.residual.sum();
    const double target =
        certified_remainder(engine, out.moments, remainder, ridge, options.tolerance);
    if (remainder <= target) break;
    const Index rank = out.factor.rank();
    extend(out.factor, margin * target / n, ProgressSpan{0.2, 0.8});
    if (out.factor.rank() == rank) break;  // numerically of full rank
    out.moments.widen(engine, out.factor.l, residuals);
  }
  return out;
}

}  // namespace detail

CertifiedFactor<KernelFactor> ckce_factor(const Engine& engine, const Kernel& kernel,
                                          const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                          double ridge, const LowRankOptions& options) {
  CholeskyOptions cholesky;
  cholesky.max_rank = options.max_rank;
  return detail::certify(engine, residuals, ridge, options, empty_factor(kernel, x),
                         [&](KernelFactor& factor, double tolerance, ProgressSpan span) {
                           cholesky.tolerance = tolerance;
                           extend_factor(engine, x, cholesky, factor, span);
                         });
}

CertifiedFactor<SourceFactor> ckce_factor(const Engine& engine, const PairSource& source,
                                          const ConstMatrixRef& residuals, double ridge,
                                          const LowRankOptions& options) {
  return detail::certify(engine, residuals, ridge, options, empty_factor(engine, source),
                         [&](SourceFactor& factor, double tolerance, ProgressSpan) {
                           extend_factor(engine, source, tolerance, options.max_rank, factor);
                         });
}
#endif

}  // namespace calibrisk

#endif
