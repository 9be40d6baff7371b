// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE from explicit features of the kernel: a low-rank factor or random ones.
#ifndef CALIBRISK_CKCE_BY_FACTOR_H
#define CALIBRISK_CKCE_BY_FACTOR_H

#include <calibrisk/ckce/fourier_features.h>
#include <calibrisk/ckce/job.h>
#include <calibrisk/ckce/low_rank.h>

namespace calibrisk {

// From an explicit factor F (n x r) with tr(K - FF') = trace_remainder.
inline CkceResult ckce_by_factor(const Engine& engine, const ConstMatrixRef& f,
                                 double trace_remainder, const CkceJob& job) {
  constexpr Index block = 16384;  // weighted copies of F, a block at a time
  FactorMoments moments(f.cols(), job.residuals.cols());
  for (Index i = 0; i < f.rows(); i += block) {
    const Index m = std::min(block, f.rows() - i);
    moments.add(engine, f.middleRows(i, m), job.residuals.middleRows(i, m),
                job.variances.segment(i, m), job.diagonals);
  }
  const RotatedSpectrum rotated = spectrum_of(engine, moments, trace_remainder);
  CkceResult out;
  Matrix factor;
  if (detail::needs_factor(job)) factor = engine.dense.multiply(f, rotated.rotation);
  detail::finish(engine, job, rotated.spectrum, factor, out);
  if (job.influence) {
    out.influence = factor_influence(engine, rotated.spectrum, &rotated.rotation, f, moments.cross,
                                     job.residuals, job.ridges);
  }
  detail::finish_rows(engine, job, rotated.spectrum, std::move(factor), out);
  return out;
}

// Random (or given) features: streamed, unless rows are needed again.
inline CkceResult ckce_by_features(const Engine& engine, const FeatureMap& map,
                                   const ConstMatrixRef& x, const CkceJob& job) {
  if (detail::needs_factor(job)) {
    return ckce_by_factor(engine, map_features(engine, map, x), 0.0, job);
  }
  const FactorMoments moments =
      feature_moments(engine, map, x, job.residuals, job.variances, job.diagonals);
  CkceResult out;
  const RotatedSpectrum rotated = spectrum_of(engine, moments, 0.0);
  detail::finish(engine, job, rotated.spectrum, Matrix(), out);
  if (job.influence) {
    // a second pass over the features: they are not kept
    constexpr Index block = 16384;
    out.influence = Matrix::Zero(x.rows(), job.ridges.size());
    const InfluenceWeights weights(engine, rotated.spectrum, &rotated.rotation, moments.cross,
                                   job.ridges);
    for (Index i = 0; i < x.rows(); i += block) {
      const Index m = std::min(block, x.rows() - i);
      weights.fill(engine, map_features(engine, map, x.middleRows(i, m)),
                   job.residuals.middleRows(i, m), i, out.influence);
    }
  }
  return out;
}

// Factor: KernelFactor or SourceFactor, from ckce_factor().
template <class Factor>
CkceResult ckce_by_low_rank(const Engine& engine, const Factor& factor, const CkceJob& job) {
  CkceResult out = ckce_by_factor(engine, factor.l, factor.residual.sum(), job);
  out.rank = factor.rank();
  return out;
}

}  // namespace calibrisk

#endif
