// SPDX-License-Identifier: GPL-3.0-or-later
// The first columns of a pivoted Cholesky factor in extended precision. A residual
// K - L L' below 1e-16 is rounding noise in double, in the kernel's values as in the sums;
// ridges near that noise see it. Columns of L are rounded to double only at the end, an error
// relative to each column's own size, which does no harm.
#ifndef CALIBRISK_LINALG_EXTENDED_CHOLESKY_H
#define CALIBRISK_LINALG_EXTENDED_CHOLESKY_H

#include <calibrisk/linalg/pivoted_cholesky.h>

namespace calibrisk {

using Extended = long double;
using ExtendedMatrix = Eigen::Matrix<Extended, Eigen::Dynamic, Eigen::Dynamic>;
using ExtendedArray = Eigen::Array<Extended, Eigen::Dynamic, 1>;

namespace detail {

inline ExtendedArray extended_metric(Metric metric, const ConstMatrixRef& x,
                                     const ConstMatrixRef& y) {
  ExtendedArray out = ExtendedArray::Zero(x.rows());
  for (Index k = 0; k < x.cols(); ++k) {
    const ExtendedArray column = x.col(k).array().cast<Extended>();
    const Extended at = y(0, k);
    if (metric == Metric::inner_product) {
      out += column * at;
    } else if (metric == Metric::squared_euclidean) {
      out += (column - at).square();
    } else {
      out += (column - at).abs();
    }
  }
  if (metric == Metric::total_variation) out *= Extended(0.5);
  if (metric == Metric::equality) out = (out == Extended(0)).template cast<Extended>();
  return out;
}

// k(x_i, y), y: [1 x q]
inline ExtendedArray extended_column(const Kernel& kernel, const ConstMatrixRef& all_x,
                                     const ConstMatrixRef& all_y) {
  const ConstMatrixRef x = kernel_columns(kernel, all_x), y = kernel_columns(kernel, all_y);
  ExtendedArray out;
  if (kernel.form == Kernel::Form::leaf) {
    std::visit(
        [&](const auto& leaf) {
          out = extended_metric(leaf.metric, x, y);
          leaf.apply(out);
        },
        kernel.leaf);
  } else {
    out = extended_column(kernel.parts[0], x, y);
    for (std::size_t p = 1; p < kernel.parts.size(); ++p) {
      const ExtendedArray other = extended_column(kernel.parts[p], x, y);
      if (kernel.form == Kernel::Form::sum) {
        out += other;
      } else {
        out *= other;
      }
    }
  }
  return out * Extended(kernel.scale);
}

}  // namespace detail

// Greedy pivots until the mean residual diagonal is at most 1e-17 or n r^2 reaches `work`.
inline KernelFactor extended_cholesky(const Engine& engine, const Kernel& kernel,
                                      const ConstMatrixRef& x, double work) {
  using namespace detail;
  constexpr double tolerance = 1e-17;
  const Index n = x.rows();
  const Index limit =
      std::min(n, static_cast<Index>(std::sqrt(work / static_cast<double>(std::max<Index>(n, 1)))));
  KernelFactor factor;
  factor.kernel = kernel;
  ExtendedArray residual(n);
  for (Index i = 0; i < n; ++i) residual(i) = extended_column(kernel, x.row(i), x.row(i))(0);
  const Extended noise =
      4 * std::numeric_limits<Extended>::epsilon() * (n > 0 ? residual.maxCoeff() : Extended(0));
  ExtendedMatrix l(n, std::min<Index>(limit, 64));
  while (factor.rank() < limit) {
    const Index t = factor.rank();
    Index pivot;
    factor.full = !(residual.maxCoeff(&pivot) > noise);
    if (factor.full || static_cast<double>(residual.mean()) <= tolerance) break;
    if (t == l.cols()) l.conservativeResize(Eigen::NoChange, std::min(limit, 2 * t));
    const Matrix row = x.row(pivot);
    const auto at_pivot = l.row(pivot).head(t).transpose().eval();
    const Extended root = std::sqrt(residual(pivot));
    for_row_blocks(engine, n, [&](Index begin, Index size) {
      auto column = l.block(begin, t, size, 1);
      column = extended_column(kernel, x.middleRows(begin, size), row).matrix();
      for (Index k = 0; k < t; ++k) column -= l.block(begin, k, size, 1) * at_pivot(k);
      column /= root;
      auto left = residual.segment(begin, size);
      left = (left - column.col(0).array().square()).max(Extended(0));
    });
    for (Index p : factor.pivots) l(p, t) = 0;
    l(pivot, t) = root;
    residual(pivot) = 0;
    factor.pivots.push_back(pivot);
    factor.steps.push_back({factor.rank(), static_cast<double>(residual.mean())});
  }
  factor.l = l.leftCols(factor.rank()).cast<double>();
  factor.residual = residual.cast<double>().matrix();
  factor.extended = factor.rank();
  factor.full = factor.full || factor.rank() == n;
  collect_pivot_rows(x, factor);
  return factor;
}

}  // namespace calibrisk

#endif
