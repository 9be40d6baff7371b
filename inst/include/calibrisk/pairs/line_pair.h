// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs whose kernel falls exponentially with a distance on a line: one pass over the sorted rows
// sums all of them (classical/mmce.h, pairs/cluster_noise.h).
#ifndef CALIBRISK_PAIRS_LINE_PAIR_H
#define CALIBRISK_PAIRS_LINE_PAIR_H

#include <calibrisk/kernels/kernel.h>

#include <cmath>
#include <variant>

namespace calibrisk {

// Pairs whose value is scale d_i d_j exp(-|x_i - x_j| / bandwidth), x and d the last columns of
// their features and residuals: one scalar, or the second of two classes; bandwidth 0 where they
// are not.
struct LinePair {
  double bandwidth = 0.0, scale = 0.0;
};

// For a kernel on `features` [n x 1 or 2] and <left_i, right_j>, right = left M.
inline LinePair line_pair(const Kernel& kernel, const ConstMatrixRef& features,
                          const ConstMatrixRef& left, const ConstMatrixRef& right) {
  const Index columns = features.cols(), last = columns - 1;
  if (columns < 1 || columns > 2 || left.cols() != columns) return {};
  const auto* tv = std::get_if<TotalVariationKernel>(&kernel.leaf);
  const auto* laplace = std::get_if<LaplaceKernel>(&kernel.leaf);
  const auto* matern = std::get_if<MaternKernel>(&kernel.leaf);
  LinePair out;
  // both probabilities differ
  const double differing = static_cast<double>(columns);
  if (tv != nullptr) out.bandwidth = tv->bandwidth * 2.0 / differing;
  if (laplace != nullptr) out.bandwidth = laplace->bandwidth / std::sqrt(differing);
  if (matern != nullptr && matern->nu == 0.5)
    out.bandwidth = matern->bandwidth / std::sqrt(differing);
  const bool plain = kernel.form == Kernel::Form::leaf && kernel.n_columns < 0;
  if (out.bandwidth == 0.0 || !plain || features.rows() == 0) return {};
  // rounding of probabilities that add up to 1
  const double rounding = 1e-14;
  const auto differs = [&](double value) { return std::abs(value) > rounding; };
  Index largest = 0;
  for (Index i = 0; i < features.rows(); ++i) {
    if (columns == 2 && (differs(features.row(i).sum() - 1.0) || differs(left.row(i).sum()))) {
      return {};
    }
    if (std::abs(left(i, last)) > std::abs(left(largest, last))) largest = i;
  }
  const double of = left(largest, last);
  if (of == 0.0) return {};
  out.scale = kernel.scale * left.row(largest).dot(right.row(largest)) / (of * of);
  return out;
}

}  // namespace calibrisk

#endif
