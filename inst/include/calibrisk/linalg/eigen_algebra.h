// SPDX-License-Identifier: GPL-3.0-or-later
// Dense algebra by Eigen alone, on the calling thread: for hosts without a LAPACK, and for work
// inside a worker. Eigen's decompositions are slow to compile: they are here and in pivoted_qr.h.
#ifndef CALIBRISK_LINALG_EIGEN_ALGEBRA_H
#define CALIBRISK_LINALG_EIGEN_ALGEBRA_H

#include <calibrisk/linalg/dense_algebra.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

namespace calibrisk {

class EigenAlgebra : public DenseAlgebra {
 public:
  Matrix crossprod(const ConstMatrixRef& a) const override {
    Matrix c = Matrix::Zero(a.cols(), a.cols());
    c.selfadjointView<Eigen::Lower>().rankUpdate(a.transpose());
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
    Eigen::LLT<Eigen::Ref<Matrix>> llt(a);
    if (llt.info() != Eigen::Success) return false;
    a.triangularView<Eigen::StrictlyUpper>().setZero();
    return true;
  }

  void solve_lower(const ConstMatrixRef& l, bool transpose, MatrixRef b) const override {
    if (transpose) {
      l.triangularView<Eigen::Lower>().transpose().solveInPlace(b);
    } else {
      l.triangularView<Eigen::Lower>().solveInPlace(b);
    }
  }

 protected:
  void product(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& a,
               const ConstMatrixRef& b, double beta, MatrixRef c) const override {
    if (beta == 0.0) {
      c.setZero();
    } else if (beta != 1.0) {
      c *= beta;
    }
    if (transpose_a && transpose_b) {
      c.noalias() += alpha * a.transpose() * b.transpose();
    } else if (transpose_a) {
      c.noalias() += alpha * a.transpose() * b;
    } else if (transpose_b) {
      c.noalias() += alpha * a * b.transpose();
    } else {
      c.noalias() += alpha * a * b;
    }
  }
};

}  // namespace calibrisk

#endif
