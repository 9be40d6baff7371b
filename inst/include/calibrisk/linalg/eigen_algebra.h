// SPDX-License-Identifier: GPL-3.0-or-later
// Dense algebra on the calling thread, eigendecompositions by Eigen: for hosts without a LAPACK,
// and for work inside a worker. Eigen's decompositions are slow to compile: they are here, in
// small_algebra.h and in pivoted_qr.h.
#ifndef CALIBRISK_LINALG_EIGEN_ALGEBRA_H
#define CALIBRISK_LINALG_EIGEN_ALGEBRA_H

#include <calibrisk/linalg/dense_algebra.h>
#include <calibrisk/linalg/pack_solve.h>

#include <Eigen/Eigenvalues>

namespace calibrisk {

class EigenAlgebra : public DenseAlgebra {
 public:
  Matrix crossprod(const ConstMatrixRef& a) const override {
    Matrix c = Matrix::Zero(a.cols(), a.cols());
    PackProduct lower = pack_product(true, false, 1.0, a, a, c);
    lower.lower = true;
    add_pack_product(lower);
    c.triangularView<Eigen::StrictlyUpper>() = c.transpose();
    return c;
  }

  SymEigen sym_eigen(Matrix a) const override {
    Eigen::SelfAdjointEigenSolver<Matrix> solver(a);
    if (solver.info() != Eigen::Success) {
      throw std::runtime_error("The symmetric eigendecomposition did not converge.");
    }
    return {solver.eigenvalues(), solver.eigenvectors()};
  }

  bool cholesky(Matrix& a) const override {
    if (!pack_cholesky(a)) return false;
    a.triangularView<Eigen::StrictlyUpper>().setZero();
    return true;
  }

  void solve_lower(const ConstMatrixRef& l, bool transpose, MatrixRef b) const override {
    solve_from_left(l, transpose, b);
  }

 protected:
  void product(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& a,
               const ConstMatrixRef& b, double beta, MatrixRef c) const override {
    if (beta == 0.0) {
      c.setZero();
    } else if (beta != 1.0) {
      c *= beta;
    }
    add_pack_product(pack_product(transpose_a, transpose_b, alpha, a, b, c));
  }
};

}  // namespace calibrisk

#endif
