// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge in the eigenbasis of a training set. With any factor K = L L' of its Gram
// matrix, the thin SVD L = U diag(sigma) V', l(p) the feature of the same factor and D the
// residuals: phi(p) = V'l(p), s = sigma^2, a = diag(sigma) U'D, and (Gruber & Bach 2025,
// Eqs. 27-34), for a ridge lambda and n training rows,
//   Kronecker ridge   h(p, p') = phi(p)' M phi(p'),  M_ij = <a_i, a_j> / (s_i s_j + lambda n^2)
//   two-step ridge    gap(p) = W' phi(p),            W_i. = a_i / (s_i + lambda n)
#ifndef CALIBRISK_METHODS_RIDGE_SPECTRUM_H
#define CALIBRISK_METHODS_RIDGE_SPECTRUM_H

#include <calibrisk/engine.h>
#include <calibrisk/linalg/jacobi_svd.h>

#include <vector>

namespace calibrisk {

struct RidgeSpectrum {
  Matrix basis;        // V [r x s]
  Vector values;       // s [s], descending
  Matrix targets;      // a [s x d]
  double n_obs = 0.0;  // training rows, or the sum of their weights

  Index rank() const { return values.size(); }
};

// Results of a path over ridges, [ridges x folds]; NaN if there are too few rows.
struct RidgePath {
  Matrix risk;          // exact U-statistic on the held-out rows
  Matrix squared;       // mean h(p, p) there
  Matrix squared_test;  // mean h(p, p) on the test rows
  Matrix rank;          // eigenvectors that the risk used
};

enum class RidgeType { kronecker, two_step };

// lambda n^2, what is added to products of eigenvalues.
inline double kronecker_shift(const RidgeSpectrum& spectrum, double ridge) {
  return ridge * spectrum.n_obs * spectrum.n_obs;
}

// The first `rank` rows and columns of M; products: <a_i, a_j>.
CALIBRISK_SHARED Matrix kronecker_core(const Engine& engine, const RidgeSpectrum& spectrum,
                                       const ConstMatrixRef& products, double ridge, Index rank);

CALIBRISK_SHARED Matrix kronecker_core(const Engine& engine, const RidgeSpectrum& spectrum,
                                       double ridge);

// W [s x d]
CALIBRISK_SHARED Matrix two_step_weights(const RidgeSpectrum& spectrum, double ridge);

// From the Gram matrix L'L of the training rows and L'D. An eigenvalue that is rounding noise
// below zero becomes 0, but its vector stays: a small s still has its products a_i a_j.
CALIBRISK_SHARED RidgeSpectrum spectrum_of_gram(const Engine& engine, Matrix gram,
                                                const ConstMatrixRef& cross, double n_obs);

// From a matrix [A B] whose columns have the inner products of [L D], such as the triangle
// of their QR decomposition. Sees sigma, not its square: twice the digits of the Gram route.
CALIBRISK_SHARED RidgeSpectrum spectrum_of_columns(const ConstMatrixRef& a, const ConstMatrixRef& b,
                                                   double n_obs);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
Matrix kronecker_core(const Engine& engine, const RidgeSpectrum& spectrum,
                      const ConstMatrixRef& products, double ridge, Index rank) {
  const double shift = kronecker_shift(spectrum, ridge);
  const auto s = spectrum.values.head(rank).array();
  Matrix core(rank, rank);
  constexpr Index columns = 64;
  engine.executor.run((rank + columns - 1) / columns, [&](Index t) {
    for (Index j = t * columns; j < std::min(rank, (t + 1) * columns); ++j) {
      core.col(j).array() = products.col(j).head(rank).array() / (s * s(j) + shift);
    }
  });
  return core;
}

Matrix kronecker_core(const Engine& engine, const RidgeSpectrum& spectrum, double ridge) {
  return kronecker_core(engine, spectrum,
                        engine.dense.multiply_a_bt(spectrum.targets, spectrum.targets), ridge,
                        spectrum.rank());
}

Matrix two_step_weights(const RidgeSpectrum& spectrum, double ridge) {
  const double shift = ridge * spectrum.n_obs;
  return (spectrum.values.array() + shift).inverse().matrix().asDiagonal() * spectrum.targets;
}

RidgeSpectrum spectrum_of_gram(const Engine& engine, Matrix gram, const ConstMatrixRef& cross,
                               double n_obs) {
  SymEigen eigen = engine.dense.sym_eigen(std::move(gram));
  RidgeSpectrum out;
  out.n_obs = n_obs;
  out.values = eigen.values.reverse().cwiseMax(0.0);
  out.basis = eigen.vectors.rowwise().reverse();
  out.targets = engine.dense.multiply_at_b(out.basis, cross);
  return out;
}

RidgeSpectrum spectrum_of_columns(const ConstMatrixRef& a, const ConstMatrixRef& b, double n_obs) {
  if (a.rows() == 0) return {Matrix(a.cols(), 0), Vector(0), Matrix(0, b.cols()), n_obs};
  const ThinSvd svd = jacobi_svd(a);
  RidgeSpectrum out;
  out.n_obs = n_obs;
  out.values = svd.values.array().square();
  out.basis = svd.v;
  out.targets = svd.values.asDiagonal() * (svd.u.transpose() * b);
  return out;
}
#endif

}  // namespace calibrisk

#endif
