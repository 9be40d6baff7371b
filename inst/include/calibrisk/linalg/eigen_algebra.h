// SPDX-License-Identifier: GPL-3.0-or-later
// Dense algebra by Eigen alone, on the calling thread: for hosts without a LAPACK, and for work
// inside a worker. The only header with Eigen's decompositions, which are slow to compile.
#ifndef CALIBRISK_LINALG_EIGEN_ALGEBRA_H
#define CALIBRISK_LINALG_EIGEN_ALGEBRA_H

#include <calibrisk/linalg/dense_algebra.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>

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

  PivotedQr pivoted_qr(Matrix a) const override {
    const Index k = std::min(a.rows(), a.cols());
    PivotedQr out{Matrix(a.rows(), k), Matrix(k, a.cols()), {}};
    if (a.size() == 0) {
      for (Index j = 0; j < a.cols(); ++j) out.order.push_back(j);
      return out;
    }
    const Eigen::ColPivHouseholderQR<Eigen::Ref<Matrix>> qr(a);
    out.basis = qr.householderQ() * Matrix::Identity(a.rows(), k);
    out.triangle = qr.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
    const auto& order = qr.colsPermutation().indices();
    out.order.assign(order.data(), order.data() + order.size());
    return out;
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
