// SPDX-License-Identifier: GPL-3.0-or-later
// The conditional kernel calibration error (Moskvichev & Sejdinovic 2025), in four
// computations that agree: dual (Cholesky), eigen, low rank and random features.
#ifndef CALIBRISK_CKCE_H
#define CALIBRISK_CKCE_H

#include <calibrisk/ckce/conditional_null.h>
#include <calibrisk/ckce/dual.h>
#include <calibrisk/ckce/fourier_features.h>
#include <calibrisk/ckce/influence.h>
#include <calibrisk/ckce/low_rank.h>
#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/kernels/gram.h>

namespace calibrisk {

// What one call may ask of one factor.
struct CkceJob {
  ConstMatrixRef residuals;  // D, [n x d]
  ConstVectorRef variances;  // E(|d_i|^2 | q_i) under calibration, [n]
  ConstVectorRef ridges;
  bool diagonals = false;
  ConstMatrixRef targets;    // of the leave-one-out error, [n x d']; no columns: not wanted
  ConstMatrixRef probs;      // of the conditional null, [n x m]
  ConstMatrixRef embedding;  // [m x d]
  Index n_draws = 0;
  std::uint64_t seed = 0;
  bool influence = false;  // what standard errors are made of
};

struct CkceResult {
  std::vector<CkceValues> values;  // per ridge
  std::vector<double> loo;         // per ridge; empty unless asked for
  JkceValues jkce;
  NullDraws null;
  Influence influence;  // empty unless asked for
  Index rank = 0;
  double trace_remainder = 0.0;
};

namespace detail {

inline void finish(const Engine& engine, const CkceJob& job, const Spectrum& spectrum,
                   const Matrix& factor, CkceResult& out) {
  for (Index v = 0; v < job.ridges.size(); ++v) {
    out.values.push_back(ckce_values(spectrum, job.ridges(v)));
    if (job.targets.cols() > 0) {
      out.loo.push_back(leave_one_out(engine, factor, spectrum, job.targets, job.ridges(v)));
    }
  }
  out.jkce = jkce_values(spectrum);
  if (job.n_draws > 0) {
    out.null = conditional_null(engine, factor, spectrum, job.probs, job.embedding, job.ridges,
                                job.n_draws, job.seed);
  }
  out.rank = spectrum.values.size();
  out.trace_remainder = spectrum.trace_remainder;
}

inline bool needs_factor(const CkceJob& job) { return job.targets.cols() > 0 || job.n_draws > 0; }

}  // namespace detail

inline CkceResult ckce_by_dual(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                               const CkceJob& job) {
  const Matrix gram = calibrisk::gram(engine, kernel, x);
  CkceResult out;
  if (job.influence) out.influence = Influence(gram.rows(), job.ridges.size());
  for (Index v = 0; v < job.ridges.size(); ++v) {
    Vector influence;
    out.values.push_back(ckce_dual(engine, gram, job.residuals, job.variances, job.ridges(v),
                                   job.diagonals, job.influence ? &influence : nullptr));
    if (job.influence) out.influence.conditional.col(v) = influence;
    if (job.targets.cols() > 0) {
      out.loo.push_back(leave_one_out_dual(engine, gram, job.targets, job.ridges(v)));
    }
    engine.progress.advance(static_cast<double>(v + 1) / static_cast<double>(job.ridges.size()));
  }
  const double n = static_cast<double>(gram.rows());
  const Vector rows =
      engine.dense.multiply(gram, job.residuals).cwiseProduct(job.residuals).rowwise().sum();
  const double total = rows.sum();
  out.jkce.biased = total / (n * n);
  if (job.influence) {
    out.influence.diagonal = gram.diagonal().cwiseProduct(job.residuals.rowwise().squaredNorm());
    out.influence.off_diagonal = rows - out.influence.diagonal;
  }
  if (n > 1) {
    const double joint = gram.diagonal().dot(job.residuals.rowwise().squaredNorm());
    out.jkce.unbiased = (total - joint) / (n * (n - 1.0));
  }
  out.rank = gram.rows();
  return out;
}

inline CkceResult ckce_by_eigen(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                                const CkceJob& job) {
  const FactoredSpectrum factored =
      spectrum_of_gram(engine, gram(engine, kernel, x), job.residuals, job.variances);
  CkceResult out;
  detail::finish(engine, job, factored.spectrum, factored.factor, out);
  if (job.influence) {
    out.influence = Influence(x.rows(), job.ridges.size());
    const Matrix cross = engine.dense.multiply_at_b(factored.factor, job.residuals);
    const InfluenceWeights weights(engine, factored.spectrum, nullptr, cross, job.ridges);
    weights.fill(engine, factored.factor, job.residuals, 0, out.influence);
  }
  return out;
}

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
    out.influence = Influence(f.rows(), job.ridges.size());
    const InfluenceWeights weights(engine, rotated.spectrum, &rotated.rotation, moments.cross,
                                   job.ridges);
    weights.fill(engine, f, job.residuals, 0, out.influence);
  }
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
    out.influence = Influence(x.rows(), job.ridges.size());
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

inline CkceResult ckce_by_low_rank(const Engine& engine, const Kernel& kernel,
                                   const ConstMatrixRef& x, const CkceJob& job,
                                   const LowRankOptions& options) {
  const KernelFactor factor =
      ckce_factor(engine, kernel, x, job.residuals, job.ridges.minCoeff(), options);
  CkceResult out = ckce_by_factor(engine, factor.l, factor.residual.sum(), job);
  out.rank = factor.rank();
  return out;
}

}  // namespace calibrisk

#endif
