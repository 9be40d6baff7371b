// SPDX-License-Identifier: GPL-3.0-or-later
// Dense algebra except for eigendecompositions. Products are made in square blocks of C, the tasks
// of an executor. Blocks do not depend on the number of threads, and an entry is the sum over the
// inner index in its order: digits depend neither on threads nor on the host's BLAS. One
// thread of a recent Xeon makes 25 to 33 GFLOP/s; OpenBLAS 43 where it knows that processor, else
// 10.
#ifndef CALIBRISK_LINALG_BLOCK_ALGEBRA_H
#define CALIBRISK_LINALG_BLOCK_ALGEBRA_H

#include <calibrisk/engine.h>
#include <calibrisk/linalg/pack_solve.h>

namespace calibrisk {

class BlockAlgebra : public DenseAlgebra {
 public:
  explicit BlockAlgebra(const Executor& executor) : executor_(executor) {}

  CALIBRISK_SHARED Matrix crossprod(const ConstMatrixRef& a) const override;

  CALIBRISK_SHARED bool cholesky(Matrix& a) const override;

  CALIBRISK_SHARED void solve_lower(const ConstMatrixRef& l, bool transpose,
                                    MatrixRef b) const override;

 protected:
  CALIBRISK_SHARED void product(bool transpose_a, bool transpose_b, double alpha,
                                const ConstMatrixRef& a, const ConstMatrixRef& b, double beta,
                                MatrixRef c) const override;

 private:
  CALIBRISK_SHARED void add(const PackProduct& at) const;

  const Executor& executor_;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_ALGEBRA)
Matrix BlockAlgebra::crossprod(const ConstMatrixRef& a) const {
  Matrix c = Matrix::Zero(a.cols(), a.cols());
  PackProduct lower = pack_product(true, false, 1.0, a, a, c);
  lower.lower = true;
  add(lower);
  c.triangularView<Eigen::StrictlyUpper>() = c.transpose();
  return c;
}

bool BlockAlgebra::cholesky(Matrix& a) const {
  if (!pack_cholesky(a, [&](const PackProduct& at) { add(at); })) return false;
  a.triangularView<Eigen::StrictlyUpper>().setZero();
  return true;
}

void BlockAlgebra::solve_lower(const ConstMatrixRef& l, bool transpose, MatrixRef b) const {
  solve_from_left(l, transpose, b, [&](const PackProduct& at) { add(at); });
}

void BlockAlgebra::product(bool transpose_a, bool transpose_b, double alpha,
                           const ConstMatrixRef& a, const ConstMatrixRef& b, double beta,
                           MatrixRef c) const {
  if (beta == 0.0) {
    c.setZero();
  } else if (beta != 1.0) {
    c *= beta;
  }
  add(pack_product(transpose_a, transpose_b, alpha, a, b, c));
}

void BlockAlgebra::add(const PackProduct& at) const {
  constexpr Index side = 384;  // whole tiles and strips of a product
  const Index rows = (at.m + side - 1) / side, columns = (at.n + side - 1) / side;
  if (rows * columns == 1) return add_pack_product(at);
  executor_.run(rows * columns, [&](Index task) {
    const Index i = task % rows * side, j = task / rows * side;
    if (at.lower && j > i) return;
    PackProduct block = at;
    block.a += i * at.a_row;
    block.b += j * at.b_row;
    block.c += i + j * at.c_col;
    block.m = std::min(side, at.m - i);
    block.n = std::min(side, at.n - j);
    block.lower = at.lower && i == j;
    add_pack_product(block);
  });
}
#endif

}  // namespace calibrisk

#endif
