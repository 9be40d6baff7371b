// SPDX-License-Identifier: GPL-3.0-or-later
// CKCE in its dual form: Cholesky of A = K + c I, H = A^-1 D,
//   CKCE = <H, D> - c |H|^2  (= tr H'KH, used where c is so large that this cancels).
// Cost n^3 / 3 per ridge, memory 2 n^2; the row-wise quantities need A^-1, n^3 more.
#ifndef CALIBRISK_CKCE_DUAL_H
#define CALIBRISK_CKCE_DUAL_H

#include <calibrisk/ckce/noise.h>

namespace calibrisk {

// n ridge over the trace of K, below which the dual form loses digits: its relative error is about
// eps / share^2 where K has few large eigenvalues.
constexpr double smallest_dual_share = 1e-4;

CALIBRISK_SHARED CkceValues ckce_dual(const Engine& engine, const ConstMatrixRef& gram,
                                      const ConstMatrixRef& residuals,
                                      const ConstVectorRef& variances, double ridge, bool diagonals,
                                      Vector* influence = nullptr, const RowSample& noise_rows = {},
                                      const OutcomeMoments& moments = {});

// (1/n) sum_i |(A^-1 T)_i|^2 / ((A^-1)_ii)^2, the leave-one-out error with c fixed.
CALIBRISK_SHARED double leave_one_out_dual(const Engine& engine, const ConstMatrixRef& gram,
                                           const ConstMatrixRef& targets, double ridge);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE_GRAM)
namespace detail {

inline Matrix shifted_cholesky(const Engine& engine, const ConstMatrixRef& gram, double c) {
  Matrix l = gram;
  l.diagonal().array() += c;
  if (!engine.dense.cholesky(l)) {
    throw std::runtime_error("K + n ridge I is not numerically positive definite.");
  }
  return l;
}

constexpr Index whole_triangle = 96;  // larger ones are taken by halves

// x <- L^-1: half of it is zero.
inline void lower_inverse(const Engine& engine, const ConstMatrixRef& l, MatrixRef x) {
  const Index n = l.rows(), half = n / 2, rest = n - half;
  if (n <= whole_triangle) {
    x.setIdentity();
    return engine.dense.solve_lower(l, false, x);
  }
  lower_inverse(engine, l.topLeftCorner(half, half), x.topLeftCorner(half, half));
  lower_inverse(engine, l.bottomRightCorner(rest, rest), x.bottomRightCorner(rest, rest));
  x.topRightCorner(half, rest).setZero();
  const Matrix below =
      engine.dense.multiply(l.bottomLeftCorner(rest, half), x.topLeftCorner(half, half));
  x.bottomLeftCorner(rest, half) = -engine.dense.multiply(x.bottomRightCorner(rest, rest), below);
}

// out <- X'X of a lower triangle.
inline void lower_square(const Engine& engine, const ConstMatrixRef& x, MatrixRef out) {
  const Index n = x.rows(), half = n / 2, rest = n - half;
  if (n <= whole_triangle) {
    out = engine.dense.crossprod(x);
    return;
  }
  lower_square(engine, x.topLeftCorner(half, half), out.topLeftCorner(half, half));
  lower_square(engine, x.bottomRightCorner(rest, rest), out.bottomRightCorner(rest, rest));
  const auto below = x.bottomLeftCorner(rest, half);
  out.topLeftCorner(half, half) += engine.dense.crossprod(below);
  out.bottomLeftCorner(rest, half) =
      engine.dense.multiply_at_b(x.bottomRightCorner(rest, rest), below);
  out.topRightCorner(half, rest) = out.bottomLeftCorner(rest, half).transpose();
}

// A^-1 from its Cholesky factor.
inline Matrix inverse_from_cholesky(const Engine& engine, const Matrix& l) {
  Matrix inverse(l.rows(), l.cols()), out(l.rows(), l.cols());
  lower_inverse(engine, l, inverse);
  lower_square(engine, inverse, out);
  return out;
}

// diag(A^-1 K A^-1) from B = A^-1: A^-1 K = I - c A^-1, so B_ii - c (B^2)_ii; the
// product itself where c dwarfs K.
inline Vector dual_weights(const Engine& engine, const ConstMatrixRef& gram, const Matrix& b,
                           double c) {
  if (c > gram.trace()) {
    return engine.dense.multiply(b, gram).cwiseProduct(b).rowwise().sum();
  }
  return b.diagonal() - c * b.rowwise().squaredNorm();
}

}  // namespace detail

CkceValues ckce_dual(const Engine& engine, const ConstMatrixRef& gram,
                     const ConstMatrixRef& residuals, const ConstVectorRef& variances, double ridge,
                     bool diagonals, Vector* influence, const RowSample& noise_rows,
                     const OutcomeMoments& moments) {
  const double n = static_cast<double>(gram.rows()), c = n * ridge;
  const Matrix l = detail::shifted_cholesky(engine, gram, c);
  Matrix h = residuals;
  engine.dense.solve_lower(l, false, h);
  engine.dense.solve_lower(l, true, h);
  CkceValues out;
  const double squared = h.squaredNorm();
  if (c > gram.trace()) {
    out.estimate = engine.dense.multiply(gram, h).cwiseProduct(h).sum();
  } else {
    out.estimate = h.cwiseProduct(residuals).sum() - c * squared;
  }
  if (influence != nullptr) {
    // K A^-1 H = H - c A^-1 H, as a product where that cancels; see influence.h
    Matrix twice = h;
    engine.dense.solve_lower(l, false, twice);
    engine.dense.solve_lower(l, true, twice);
    if (c > gram.trace()) {
      twice = engine.dense.multiply(gram, twice);
    } else {
      twice = h - c * twice;
    }
    *influence = c * twice.cwiseProduct(h).rowwise().sum();
  }
  out.cce2 = (residuals - c * h).squaredNorm() / n;
  out.residual_mse = c * c * squared / n;
  if (diagonals) {
    const Matrix b = detail::inverse_from_cholesky(engine, l);
    const Vector weights = detail::dual_weights(engine, gram, b, c);
    out.diagonal = weights.dot(residuals.rowwise().squaredNorm());
    out.null_mean = weights.dot(variances);
    if (!noise_rows.at.empty()) {
      dual_noise(engine, gram, residuals, b, c, noise_rows, moments, out);
    }
  }
  return out;
}

double leave_one_out_dual(const Engine& engine, const ConstMatrixRef& gram,
                          const ConstMatrixRef& targets, double ridge) {
  const double n = static_cast<double>(gram.rows());
  const Matrix l = detail::shifted_cholesky(engine, gram, n * ridge);
  const Matrix b = detail::inverse_from_cholesky(engine, l);
  const Vector errors = engine.dense.multiply(b, targets).rowwise().squaredNorm();
  return (errors.array() / b.diagonal().array().square()).sum() / n;
}
#endif

}  // namespace calibrisk

#endif
