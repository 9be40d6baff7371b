// SPDX-License-Identifier: GPL-3.0-or-later
// The estimators as a program uses them: a problem, a method over a grid, what was tuned and how to
// predict with it, and the kernel calibration error with its test by blocks.
#ifndef CALIBRISK_ESTIMATOR_H
#define CALIBRISK_ESTIMATOR_H

#include <calibrisk/methods/ridge_bases.h>
#include <calibrisk/pairs/pair_sums.h>
#include <calibrisk/serial_engine.h>

namespace calibrisk {

// Residuals of canonical calibration, prediction minus outcome: p_i - onehot(y_i).
inline Matrix class_residuals(const ConstMatrixRef& probs, const Labels& labels) {
  require(static_cast<Index>(labels.size()) == probs.rows(), "Every row has a label.");
  Matrix out = probs;
  for (Index i = 0; i < probs.rows(); ++i) {
    const Index k = labels[static_cast<std::size_t>(i)];
    require(k >= 1 && k <= probs.cols(), "Labels are classes 1, ..., K.");
    out(i, k - 1) -= 1.0;
  }
  return out;
}

struct RidgeMethod {
  RidgeType type;
  Kernel kernel;
  Vector ridges;
  bool exact = false;
};

struct Tuned {
  RidgeTuned path;  // risks [ridges x folds], and how accurate they are
  Vector risks;     // means over the folds
  double value;     // the ridge with the smallest
  MeanForm form;    // the mean of its fits without one fold each
};

// Every ridge by the exact risk of its fits without a fold on the rows of that fold.
inline Tuned tune(const Engine& engine, const Problem& problem, const RidgeMethod& method) {
  RidgeBases bases(engine, method.kernel, problem);
  Tuned out{bases.tune(engine, method.type, method.ridges, method.exact), {}, 0.0, {}};
  out.risks = ridge::mean_over_folds(out.path.path.risk);
  const Index v = ridge::selected(out.risks, method.ridges);
  out.value = method.ridges(v);
  const Index size = static_cast<Index>(out.path.size(v));
  for (Index f = 1; f <= problem.folds(); ++f) {
    out.form.parts.push_back(bases.form(engine, method.type, out.value, f, size,
                                        out.path.path.rank(v, f - 1), out.path.spaces));
    bases.set_map(size, out.form.parts.back());
  }
  return out;
}

namespace detail {

inline ComposedSource kernel_pairs(const Kernel& kernel, const MatrixView& features,
                                   const MatrixView& residuals) {
  std::vector<PairSourcePtr> parts;
  parts.push_back(std::make_unique<KernelSource>(kernel, features));
  parts.push_back(std::make_unique<InnerProductSource>(residuals, residuals));
  return ComposedSource(true, 1.0, std::move(parts));
}

}  // namespace detail

// The unbiased estimate of the squared kernel calibration error, the mean of k(p_i, p_j) <d_i, d_j>
// over all pairs (Widmann et al. 2019).
inline double skce(const Engine& engine, const Kernel& kernel, const MatrixView& features,
                   const MatrixView& residuals) {
  return totals(pair_sums(engine, detail::kernel_pairs(kernel, features, residuals))).unbiased();
}

// The mean of the same estimate in consecutive blocks, which is about normal, and its one-sided
// test of 0.
struct BlockTest {
  double estimate, std_error, p_value;
};

inline BlockTest block_test(const Vector& eta) {
  const double n = static_cast<double>(eta.size()), mean = eta.mean();
  const double error = std::sqrt((eta.array() - mean).square().sum() / (n * (n - 1.0)));
  return {mean, error, 0.5 * std::erfc(mean / error / std::sqrt(2.0))};
}

inline BlockTest block_test(const Engine& engine, const Kernel& kernel, const MatrixView& features,
                            const MatrixView& residuals, Index block) {
  return block_test(
      block_sums(engine, detail::kernel_pairs(kernel, features, residuals), block).unbiased);
}

}  // namespace calibrisk

#endif
