// SPDX-License-Identifier: GPL-3.0-or-later
// A factor of a kernel's Gram matrix on the rows it was built on (kernels/pivoted_cholesky.h).
#ifndef CALIBRISK_KERNELS_KERNEL_FACTOR_H
#define CALIBRISK_KERNELS_KERNEL_FACTOR_H

#include <calibrisk/kernels/kernel.h>

#include <vector>

namespace calibrisk {

// A rank at which a factor may be cut: its first `rank` columns are the factor of that rank.
struct FactorStep {
  Index rank;
  double residual_trace;
};

// L L' ~ K on the rows x that it was built on; row i of L is the feature l(x_i).
struct KernelFactor {
  Kernel kernel;
  Matrix l;                       // [n x r]
  std::vector<Index> pivots;      // rows of x, in order of choice
  Matrix pivot_rows;              // [r x q]: x at the pivots
  Vector residual;                // [n]: diagonal of K - L L', at least 0
  std::vector<FactorStep> steps;  // of its construction, ranks increasing
  bool full = false;              // the residual is rounding noise

  Index rank() const { return static_cast<Index>(pivots.size()); }
  double residual_trace() const { return residual.size() == 0 ? 0.0 : residual.mean(); }

  // L at the pivots: lower triangular, since a pivot's residual is zero ever after.
  Matrix triangle() const {
    Matrix out(rank(), rank());
    for (Index i = 0; i < rank(); ++i) out.row(i) = l.row(pivots[static_cast<std::size_t>(i)]);
    return out;
  }
};

}  // namespace calibrisk

#endif
