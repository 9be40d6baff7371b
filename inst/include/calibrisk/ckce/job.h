// SPDX-License-Identifier: GPL-3.0-or-later
// Input and output of the computations of CKCE.
#ifndef CALIBRISK_CKCE_JOB_H
#define CALIBRISK_CKCE_JOB_H

#include <calibrisk/ckce/conditional_null.h>
#include <calibrisk/ckce/influence.h>
#include <calibrisk/ckce/noise.h>

#include <vector>

namespace calibrisk {

// Input of one call for one factor.
struct CkceJob {
  ConstMatrixRef residuals;  // D, [n x d]
  ConstVectorRef variances;  // E(|d_i|^2 | q_i) under calibration, [n]
  ConstVectorRef ridges;
  bool diagonals = false;
  ConstMatrixRef targets;    // of the leave-one-out error, [n x d']; no columns: not wanted
  ConstMatrixRef probs;      // of the conditional null, [n x m]
  ConstMatrixRef embedding;  // [m x d]
  Index times = 0;
  std::uint64_t seed = 0;
  bool influence = false;  // what standard errors are made of
  bool keep = false;       // the factor, for whoever redraws outcomes (not in the dual form)
  // by how much |d_i|^2 exceeds G_ii, [n]; empty: G = D D'. Not in the dual form
  ConstVectorRef excess = Vector();
  RowSample noise_rows = {};    // of ckce/noise.h; none: not wanted
  OutcomeMoments moments = {};  // of the residuals, for these rows
};

struct CkceResult {
  std::vector<CkceValues> values;  // per ridge
  std::vector<double> loo;         // per ridge; empty unless asked for
  NullDraws null;
  Matrix influence;  // q_i of ckce/influence.h, [n x ridges]; empty unless asked for
  Matrix factor;     // P, [n x r], and its spectrum; empty unless kept
  Vector spectrum;
  Index rank = 0;
  double trace_remainder = 0.0;
};

namespace detail {

// `loo` false: the leave-one-out errors come from rows in blocks.
CALIBRISK_SHARED void finish(const Engine& engine, const CkceJob& job, const Spectrum& spectrum,
                             const Matrix& factor, CkceResult& out, bool loo = true);

// G = D D' - diag(excess): the part of the diagonal, by tiles of
//   (M diag(e) A^-1)_ii = (M_ii e_i - sum_j M_ij S_ij e_j) / c,  S = K A^-1 = I - c A^-1.
CALIBRISK_SHARED void subtract_diagonal(const Engine& engine, const ConstMatrixRef& factor,
                                        const Vector& values, const CkceJob& job, CkceResult& out);

// All rows of P at once.
CALIBRISK_SHARED bool needs_factor(const CkceJob& job);

// Finishes the result, with a factor P in memory.
CALIBRISK_SHARED void finish_rows(const Engine& engine, const CkceJob& job,
                                  const Spectrum& spectrum, Matrix factor, CkceResult& out);

}  // namespace detail

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE_GRAM)
namespace detail {

void finish(const Engine& engine, const CkceJob& job, const Spectrum& spectrum,
            const Matrix& factor, CkceResult& out, bool loo) {
  for (Index v = 0; v < job.ridges.size(); ++v) {
    out.values.push_back(ckce_values(spectrum, job.ridges(v)));
    if (loo && job.targets.cols() > 0) {
      out.loo.push_back(leave_one_out(engine, factor, spectrum, job.targets, job.ridges(v)));
    }
  }
  if (job.times > 0) {
    out.null = conditional_null(engine, factor, spectrum, job.probs, job.embedding, job.ridges,
                                job.times, job.seed);
  }
  out.rank = spectrum.values.size();
  out.trace_remainder = spectrum.trace_remainder;
}

void subtract_diagonal(const Engine& engine, const ConstMatrixRef& factor, const Vector& values,
                       const CkceJob& job, CkceResult& out) {
  constexpr Index tile = 256;
  const Index n = factor.rows();
  for (Index v = 0; v < job.ridges.size(); ++v) {
    const Vector once = (values.array() + static_cast<double>(n) * job.ridges(v)).inverse();
    const Vector own = factor.cwiseAbs2() * once.cwiseAbs2();  // M_ii
    const double share = own.dot(job.excess);
    CkceValues& value = out.values[static_cast<std::size_t>(v)];
    value.estimate -= share;
    value.diagonal -= share;
    if (!job.influence) continue;
    for (Index i = 0; i < n; i += tile) {
      const Index m = std::min(tile, n - i);
      const Matrix left = factor.middleRows(i, m) * once.asDiagonal();
      const Matrix smoother = engine.dense.multiply_a_bt(left, factor);
      const Matrix weights = engine.dense.multiply_a_bt(left * once.asDiagonal(), factor);
      const Vector others = weights.cwiseProduct(smoother) * job.excess;
      out.influence.col(v).segment(i, m) -=
          own.segment(i, m).cwiseProduct(job.excess.segment(i, m)) - others;
    }
  }
}

bool needs_factor(const CkceJob& job) { return job.times > 0 || job.keep || job.excess.size() > 0; }

void finish_rows(const Engine& engine, const CkceJob& job, const Spectrum& spectrum, Matrix factor,
                 CkceResult& out) {
  if (job.excess.size() > 0) {
    subtract_diagonal(engine, factor, spectrum.values, job, out);
  }
  if (job.keep) {
    out.spectrum = spectrum.values;
    out.factor = std::move(factor);
  }
}

}  // namespace detail
#endif

}  // namespace calibrisk

#endif
