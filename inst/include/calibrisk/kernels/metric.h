// SPDX-License-Identifier: GPL-3.0-or-later
// Pairwise metrics between rows, a block at a time. Differences are formed before
// they are squared, so that close rows keep full relative accuracy.
#ifndef CALIBRISK_KERNELS_METRIC_H
#define CALIBRISK_KERNELS_METRIC_H

#include <calibrisk/math/row_pairs.h>
#include <calibrisk/types.h>

namespace calibrisk {

enum class Metric {
  squared_euclidean,  // |x - y|^2
  total_variation,    // sum_k |x_k - y_k| / 2
  inner_product,      // <x, y>
  equality            // 1 where x = y in every coordinate, else 0
};

// out(i, j) = metric(x_i, y_j); x: [n_x x q], y: [n_y x q], out: [n_x x n_y]. Cost n_x n_y q.
CALIBRISK_SHARED void metric_block(Metric metric, const ConstMatrixRef& x, const ConstMatrixRef& y,
                                   MatrixRef out);

// out(i) = metric(x_i, x_i), without rounding.
CALIBRISK_SHARED Vector metric_diagonal(Metric metric, const ConstMatrixRef& x);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_KERNELS)

void metric_block(Metric metric, const ConstMatrixRef& x, const ConstMatrixRef& y, MatrixRef out) {
  switch (metric) {
    case Metric::squared_euclidean:
      for_row_pairs(detail::row_pair_loops().squared, x, y, out);
      break;
    case Metric::total_variation:
      for_row_pairs(detail::row_pair_loops().absolute, x, y, out);
      out *= 0.5;
      break;
    case Metric::inner_product:
      for_row_pairs(detail::row_pair_loops().product, x, y, out);
      break;
    case Metric::equality:
      for (Index j = 0; j < y.rows(); ++j) {
        for (Index i = 0; i < x.rows(); ++i) {
          out(i, j) = (x.row(i).array() == y.row(j).array()).all() ? 1.0 : 0.0;
        }
      }
      break;
  }
}

Vector metric_diagonal(Metric metric, const ConstMatrixRef& x) {
  switch (metric) {
    case Metric::inner_product:
      return x.rowwise().squaredNorm();
    case Metric::equality:
      return Vector::Ones(x.rows());
    default:
      return Vector::Zero(x.rows());
  }
}

#endif

}  // namespace calibrisk

#endif
