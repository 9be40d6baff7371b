// SPDX-License-Identifier: GPL-3.0-or-later
// What the computations of CKCE are asked and what they answer.
#ifndef CALIBRISK_CKCE_JOB_H
#define CALIBRISK_CKCE_JOB_H

#include <calibrisk/ckce/conditional_null.h>
#include <calibrisk/ckce/influence.h>

#include <vector>

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

}  // namespace calibrisk

#endif
