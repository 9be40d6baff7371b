// SPDX-License-Identifier: GPL-3.0-or-later
// Decompositions of small matrices by Eigen, in workers too. They are slow to compile: a build with
// CALIBRISK_SHARED_PRODUCTS compiles them once (linalg/eigen_products.h), so that they are
// functions of plain matrices.
#ifndef CALIBRISK_LINALG_SMALL_ALGEBRA_H
#define CALIBRISK_LINALG_SMALL_ALGEBRA_H

#include <calibrisk/linalg/dense_algebra.h>

namespace calibrisk {

CALIBRISK_SHARED Matrix inverse_of(const Matrix& a);

// The solution of A x = b, for any A; false where A is numerically singular.
CALIBRISK_SHARED bool solve_invertible(const Matrix& a, const Vector& b, Vector& x);

// The same by a faster method for A of full rank; false where its reciprocal condition is not
// `least` at least.
CALIBRISK_SHARED bool solve_conditioned(const Matrix& a, const Vector& b, double least, Vector& x);

// The inverse of a positive definite A; false where it has none, or its reciprocal condition is
// below `least`.
CALIBRISK_SHARED bool definite_inverse(const Matrix& a, double least, Matrix& inverse);

// Lower Cholesky factor of a positive definite A.
CALIBRISK_SHARED Matrix cholesky_factor(const Matrix& a);

// b' A^-1 b from that factor of A.
CALIBRISK_SHARED double inverse_square(const Matrix& factor, const Vector& b);

// R with R R' = A, which may be singular.
CALIBRISK_SHARED Matrix semidefinite_root(const Matrix& a);

// False where the eigenvalues do not converge.
CALIBRISK_SHARED bool small_eigen(const Matrix& a, SymEigen& out);

}  // namespace calibrisk

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DECOMPOSITIONS)

#include <Eigen/Cholesky>
#include <Eigen/LU>

namespace calibrisk {

Matrix inverse_of(const Matrix& a) { return a.inverse(); }

bool solve_invertible(const Matrix& a, const Vector& b, Vector& x) {
  const Eigen::FullPivLU<Matrix> factor(a);
  if (!factor.isInvertible()) return false;
  x = factor.solve(b);
  return true;
}

bool solve_conditioned(const Matrix& a, const Vector& b, double least, Vector& x) {
  const Eigen::PartialPivLU<Matrix> factor(a);
  if (!(factor.rcond() >= least)) return false;
  x = factor.solve(b);
  return true;
}

bool definite_inverse(const Matrix& a, double least, Matrix& inverse) {
  const Eigen::LLT<Matrix> factor(a);
  if (factor.info() != Eigen::Success || factor.rcond() < least) return false;
  inverse = factor.solve(Matrix::Identity(a.rows(), a.cols()));
  return true;
}

Matrix cholesky_factor(const Matrix& a) { return Eigen::LLT<Matrix>(a).matrixL(); }

double inverse_square(const Matrix& factor, const Vector& b) {
  return factor.triangularView<Eigen::Lower>().solve(b).squaredNorm();
}

Matrix semidefinite_root(const Matrix& a) {
  const Eigen::LDLT<Matrix> factor(a);
  const Matrix root =
      Matrix(factor.matrixL()) * factor.vectorD().cwiseMax(0.0).cwiseSqrt().asDiagonal();
  return factor.transpositionsP().transpose() * root;
}

}  // namespace calibrisk

#endif

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PRODUCTS)

#include <Eigen/Eigenvalues>

namespace calibrisk {

bool small_eigen(const Matrix& a, SymEigen& out) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(a);
  out = {solver.eigenvalues(), solver.eigenvectors()};
  return solver.info() == Eigen::Success;
}

}  // namespace calibrisk

#endif

#endif
