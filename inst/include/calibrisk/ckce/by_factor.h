// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE from explicit features of the kernel: a low-rank factor or random ones.
#ifndef CALIBRISK_CKCE_BY_FACTOR_H
#define CALIBRISK_CKCE_BY_FACTOR_H

#include <calibrisk/ckce/fourier_features.h>
#include <calibrisk/ckce/job.h>
#include <calibrisk/ckce/low_rank.h>

namespace calibrisk {

namespace detail {

// leave_one_out() of all ridges, of P = F rotation a block of rows at a time.
inline std::vector<double> leave_one_out_rows(const Engine& engine, const ConstMatrixRef& f,
                                              const RotatedSpectrum& rotated,
                                              const ConstMatrixRef& targets,
                                              const ConstVectorRef& ridges) {
  constexpr Index block = 4096;
  const double n = static_cast<double>(f.rows());
  const Matrix projected =
      engine.dense.multiply_at_b(rotated.rotation, engine.dense.multiply_at_b(f, targets));
  std::vector<double> out(static_cast<std::size_t>(ridges.size()), 0.0);
  for (Index i = 0; i < f.rows(); i += block) {
    const Index m = std::min(block, f.rows() - i);
    const Matrix p = engine.dense.multiply(f.middleRows(i, m), rotated.rotation);
    const Matrix squares = p.cwiseAbs2();
    for (Index v = 0; v < ridges.size(); ++v) {
      const Vector filter = (rotated.spectrum.values.array() + n * ridges(v)).inverse();
      const Matrix weighted = filter.asDiagonal() * projected;
      const Matrix fitted = engine.dense.multiply(p, weighted);
      const Vector leverage = squares * filter;
      const Vector errors = (targets.middleRows(i, m) - fitted).rowwise().squaredNorm();
      out[static_cast<std::size_t>(v)] +=
          (errors.array() / (1.0 - leverage.array()).square()).sum() / n;
    }
    engine.progress.advance(0.8 + 0.2 * static_cast<double>(i + m) / n);
  }
  return out;
}

// Where the diagonal of M comes from: the weighted moments serve all ridges, the rows of F cost
// less for a single one.
inline bool diagonal_by_moments(const CkceJob& job) {
  return job.diagonals && (job.ridges.size() != 1 || needs_factor(job));
}
inline bool diagonal_by_rows(const CkceJob& job) {
  return job.diagonals && !diagonal_by_moments(job);
}

// The sums over M_ii = |row i of F H|^2, H = V diag(1 / (s + c)). A triangle with the same H H' is
// half of the work; its digits are those of H up to (s_1 / c)^2 units of the last one.
inline void add_row_diagonal(const Engine& engine, const ConstMatrixRef& f,
                             const RotatedSpectrum& rotated, const CkceJob& job, CkceValues& out) {
  constexpr Index width = 128;
  const Vector& values = rotated.spectrum.values;
  const double c = static_cast<double>(f.rows()) * job.ridges(0);
  Matrix h = rotated.rotation * (values.array() + c).inverse().matrix().asDiagonal();
  bool lower = h.rows() == h.cols() && values.size() > 0 && values.maxCoeff() < 100.0 * c;
  if (lower) {
    Matrix triangle = engine.dense.crossprod(h.transpose());
    lower = engine.dense.cholesky(triangle);
    if (lower) h = std::move(triangle);
  }
  for_moment_blocks(f.rows(), [&](Index i, Index m) {
    Vector own = Vector::Zero(m);
    for (Index j = 0; j < h.cols(); j += width) {
      const Index above = lower ? j : 0, size = std::min(width, h.cols() - j);
      own += engine.dense
                 .multiply(f.block(i, above, m, f.cols() - above),
                           h.block(above, j, f.cols() - above, size))
                 .rowwise()
                 .squaredNorm();
    }
    out.diagonal += own.dot(job.residuals.middleRows(i, m).rowwise().squaredNorm());
    out.null_mean += own.dot(job.variances.segment(i, m).cwiseMax(0.0));
  });
}

}  // namespace detail

// From an explicit factor F (n x r) with tr(K - FF') = trace_remainder, and its moments, with the
// weighted ones if diagonal_by_moments().
inline CkceResult ckce_by_factor(const Engine& engine, const ConstMatrixRef& f,
                                 const FactorMoments& moments, double trace_remainder,
                                 const CkceJob& job) {
  const RotatedSpectrum rotated = spectrum_of(engine, moments, trace_remainder);
  CkceResult out;
  Matrix factor;
  if (detail::needs_factor(job)) factor = engine.dense.multiply(f, rotated.rotation);
  const bool by_rows = job.targets.cols() > 0 && !detail::needs_factor(job);
  detail::finish(engine, job, rotated.spectrum, factor, out, !by_rows);
  if (detail::diagonal_by_rows(job)) {
    detail::add_row_diagonal(engine, f, rotated, job, out.values[0]);
  }
  if (by_rows) {
    out.loo = detail::leave_one_out_rows(engine, f, rotated, job.targets, job.ridges);
  }
  if (job.influence) {
    out.influence = factor_influence(engine, rotated.spectrum, &rotated.rotation, f, moments.cross,
                                     job.residuals, job.ridges);
  }
  if (!job.noise_rows.at.empty()) {
    factor_noise(engine, rotated.spectrum, &rotated.rotation, take_rows(f, job.noise_rows.at),
                 job.residuals, job.ridges, job.noise_rows, job.moments, out.values);
  }
  detail::finish_rows(engine, job, rotated.spectrum, std::move(factor), out);
  return out;
}

// Random (or given) features: streamed, unless rows are needed again.
inline CkceResult ckce_by_features(const Engine& engine, const FeatureMap& map,
                                   const ConstMatrixRef& x, const CkceJob& job) {
  if (detail::needs_factor(job) || job.targets.cols() > 0) {
    const Matrix f = map_features(engine, map, x);
    return ckce_by_factor(
        engine, f,
        factor_moments(engine, f, job.residuals, job.variances, detail::diagonal_by_moments(job)),
        0.0, job);
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
  if (!job.noise_rows.at.empty()) {
    factor_noise(engine, rotated.spectrum, &rotated.rotation,
                 map_features(engine, map, take_rows(x, job.noise_rows.at)), job.residuals,
                 job.ridges, job.noise_rows, job.moments, out.values);
  }
  return out;
}

// Factor: KernelFactor or SourceFactor, from ckce_factor().
template <class Factor>
CkceResult ckce_by_low_rank(const Engine& engine, const CertifiedFactor<Factor>& certified,
                            const CkceJob& job) {
  const Factor& factor = certified.factor;
  CkceResult out = ckce_by_factor(engine, factor.l,
                                  all_moments(engine, factor.l, certified.moments, job.residuals,
                                              job.variances, detail::diagonal_by_moments(job)),
                                  factor.residual.sum(), job);
  out.rank = factor.rank();
  return out;
}

}  // namespace calibrisk

#endif
