// SPDX-License-Identifier: GPL-3.0-or-later
// The few dense operations whose speed decides the package's: products, decompositions and
// triangular solves. A host implements them with its own BLAS and LAPACK (src/r_engine.h for R);
// linalg/eigen_algebra.h does without. Call a host's from the main thread only: a threaded BLAS
// inside a worker would fight with the executor.
#ifndef CALIBRISK_LINALG_DENSE_ALGEBRA_H
#define CALIBRISK_LINALG_DENSE_ALGEBRA_H

#include <calibrisk/types.h>

namespace calibrisk {

struct SymEigen {
  Vector values;   // [n], ascending
  Matrix vectors;  // [n x n], one per column
};

class DenseAlgebra {
 public:
  virtual ~DenseAlgebra() = default;

  // C <- alpha op(A) op(B) + beta C, op = transpose where the flag says so. With beta = 0, C is not
  // read and may be uninitialised, for any sizes.
  CALIBRISK_SHARED void gemm(bool transpose_a, bool transpose_b, double alpha,
                             const ConstMatrixRef& a, const ConstMatrixRef& b, double beta,
                             MatrixRef c) const;

  // A'A, both triangles filled.
  virtual Matrix crossprod(const ConstMatrixRef& a) const = 0;

  virtual SymEigen sym_eigen(Matrix a) const = 0;

  // Lower Cholesky factor of a (its upper triangle is zeroed); false where a is
  // not numerically positive definite.
  virtual bool cholesky(Matrix& a) const = 0;

  // B <- L^-1 B (or L^-T B), L lower triangular.
  virtual void solve_lower(const ConstMatrixRef& l, bool transpose, MatrixRef b) const = 0;

  // Shorthands, in terms of gemm: A B, A'B and A B'.
  CALIBRISK_SHARED Matrix multiply(const ConstMatrixRef& a, const ConstMatrixRef& b) const;
  CALIBRISK_SHARED Matrix multiply_at_b(const ConstMatrixRef& a, const ConstMatrixRef& b) const;
  CALIBRISK_SHARED Matrix multiply_a_bt(const ConstMatrixRef& a, const ConstMatrixRef& b) const;

 protected:
  // gemm of non-empty matrices whose dimensions agree.
  virtual void product(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& a,
                       const ConstMatrixRef& b, double beta, MatrixRef c) const = 0;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_ALGEBRA)
void DenseAlgebra::gemm(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& a,
                        const ConstMatrixRef& b, double beta, MatrixRef c) const {
  const Index inner = transpose_a ? a.rows() : a.cols();
  require((transpose_b ? b.cols() : b.rows()) == inner &&
              (transpose_a ? a.cols() : a.rows()) == c.rows() &&
              (transpose_b ? b.rows() : b.cols()) == c.cols(),
          "gemm: dimensions do not agree.");
  if (c.size() == 0) return;
  if (inner > 0) {
    product(transpose_a, transpose_b, alpha, a, b, beta, c);
  } else if (beta == 0.0) {
    c.setZero();  // 0 * C would keep a NaN that was in the memory
  } else {
    c *= beta;
  }
}

Matrix DenseAlgebra::multiply(const ConstMatrixRef& a, const ConstMatrixRef& b) const {
  Matrix c(a.rows(), b.cols());
  gemm(false, false, 1.0, a, b, 0.0, c);
  return c;
}

Matrix DenseAlgebra::multiply_at_b(const ConstMatrixRef& a, const ConstMatrixRef& b) const {
  Matrix c(a.cols(), b.cols());
  gemm(true, false, 1.0, a, b, 0.0, c);
  return c;
}

Matrix DenseAlgebra::multiply_a_bt(const ConstMatrixRef& a, const ConstMatrixRef& b) const {
  Matrix c(a.rows(), b.rows());
  gemm(false, true, 1.0, a, b, 0.0, c);
  return c;
}
#endif

}  // namespace calibrisk

#endif
