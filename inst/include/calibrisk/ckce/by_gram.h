// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE from the whole Gram matrix: its Cholesky factor (dual) or its eigenvectors.
#ifndef CALIBRISK_CKCE_BY_GRAM_H
#define CALIBRISK_CKCE_BY_GRAM_H

#include <calibrisk/ckce/dual.h>
#include <calibrisk/ckce/job.h>

namespace calibrisk {

inline CkceResult ckce_by_dual(const Engine& engine, const ConstMatrixRef& gram,
                               const CkceJob& job) {
  require(!job.keep && job.excess.size() == 0, "The dual form has no factor.");
  CkceResult out;
  if (job.influence) out.influence.resize(gram.rows(), job.ridges.size());
  for (Index v = 0; v < job.ridges.size(); ++v) {
    Vector influence;
    out.values.push_back(ckce_dual(engine, gram, job.residuals, job.variances, job.ridges(v),
                                   job.diagonals, job.influence ? &influence : nullptr,
                                   job.noise_rows, job.moments));
    if (job.influence) out.influence.col(v) = influence;
    if (job.targets.cols() > 0) {
      out.loo.push_back(leave_one_out_dual(engine, gram, job.targets, job.ridges(v)));
    }
    engine.progress.advance(static_cast<double>(v + 1) / static_cast<double>(job.ridges.size()));
  }
  out.rank = gram.rows();
  return out;
}

inline CkceResult ckce_by_eigen(const Engine& engine, Matrix gram, const CkceJob& job) {
  FactoredSpectrum factored =
      factored_spectrum(engine, std::move(gram), job.residuals, job.variances);
  CkceResult out;
  detail::finish(engine, job, factored.spectrum, factored.factor, out);
  if (job.influence) {
    const Matrix cross = engine.dense.multiply_at_b(factored.factor, job.residuals);
    out.influence = factor_influence(engine, factored.spectrum, nullptr, factored.factor, cross,
                                     job.residuals, job.ridges);
  }
  if (!job.noise_rows.at.empty()) {
    factor_noise(engine, factored.spectrum, nullptr, take_rows(factored.factor, job.noise_rows.at),
                 job.residuals, job.ridges, job.noise_rows, job.moments, out.values);
  }
  detail::finish_rows(engine, job, factored.spectrum, std::move(factored.factor), out);
  return out;
}

}  // namespace calibrisk

#endif
