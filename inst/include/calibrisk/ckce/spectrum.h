// SPDX-License-Identifier: GPL-3.0-or-later
// The conditional kernel calibration error and its relatives as filters of one
// spectrum. With K ~ P P', P'P = diag(s), residuals D and c = n ridge,
//   CKCE = sum_t a_t / (s_t + c)^2,  a_t = |row t of P'D|^2
// (Moskvichev & Sejdinovic 2025; || C_{Y|Q} - C_{Z|Q} ||_HS^2 of the regularised
// conditional mean operators), so that a ridge path costs O(rank) per value.
#ifndef CALIBRISK_CKCE_SPECTRUM_H
#define CALIBRISK_CKCE_SPECTRUM_H

#include <calibrisk/engine.h>

#include <limits>

namespace calibrisk {

struct Spectrum {
  Index n_obs = 0;
  Vector values;                 // s_t, [r]
  Vector energy;                 // a_t, [r]
  Vector energy_residual;        // sum_i P_it^2 |d_i|^2: the diagonal's share, [r]
  Vector energy_null;            // sum_i P_it^2 E(|d_i|^2 | q_i) under calibration, [r]
  double trace_residual = 0.0;   // tr G = sum_i |d_i|^2
  double norm_residual = 0.0;    // at least |G|_2, see FactorMoments
  double trace_remainder = 0.0;  // tr(K - P P') >= 0
};

// One ridge's numbers.
struct CkceValues {
  double estimate = 0.0;      // CKCE
  double diagonal = 0.0;      // sum_i M_ii G_ii, M = A^-1 K A^-1, A = K + c I
  double null_mean = 0.0;     // sum_i M_ii E(G_ii | q_i): CKCE's mean under calibration
  double squares = 0.0;       // sum_{i != j} M_ij^2 G_ij^2, see noise.h; 0 unless asked for
  double known = 0.0;         // and its expectation under calibration
  double cce2 = 0.0;          // (1/n) sum_i |gap(q_i)|^2, two-step ridge (Gruber & Bach 2025)
  double residual_mse = 0.0;  // (1/n) |D - K A^-1 D|^2
  double error_bound = 0.0;   // of |CKCE - estimate|
};

// |G|_2 tr(R) / c^2. With X = A^-1 and Y = (A - R)^-1 the difference of both M is
//   (c X - 1/2) Z + Z (c Y - 1/2),  Z = X R Y,
// whose trace norm is at most that of Z, since 0 <= c X, c Y <= 1; |X|_2 and |Y|_2 are at most 1 /
// c.
inline double ckce_error_bound(double norm_residual, double trace_remainder, double c) {
  return norm_residual * trace_remainder / (c * c);
}

CALIBRISK_SHARED CkceValues ckce_values(const Spectrum& spectrum, double ridge);

// Sums over rows that a factor F (n x r, K ~ F F') leaves behind: additive over row
// blocks, O(r^2) memory.
struct FactorMoments {
  Matrix gram;      // F'F
  Matrix cross;     // F'D
  Matrix residual;  // F' diag(|d_i|^2) F
  Matrix null;      // F' diag(v_i) F, v_i = E(|d_i|^2 | q_i)
  double trace_residual = 0.0;
  // at least |G|_2: the largest eigenvalue of D'D, or their sum
  double norm_residual = 0.0;
  Index n_obs = 0;

  FactorMoments(Index rank, Index d)
      : gram(Matrix::Zero(rank, rank)),
        cross(Matrix::Zero(rank, d)),
        residual(Matrix::Zero(rank, rank)),
        null(Matrix::Zero(rank, rank)) {}

  // `diagonals` FALSE leaves out the two weighted products (two thirds of the cost).
  CALIBRISK_SHARED void add(const Engine& engine, const ConstMatrixRef& f,
                            const ConstMatrixRef& residuals, const ConstVectorRef& variances,
                            bool diagonals);

  // Gram matrix and cross products of all columns of f, of which the first are known; no weighted
  // products.
  CALIBRISK_SHARED void widen(const Engine& engine, const ConstMatrixRef& f,
                              const ConstMatrixRef& residuals);

  // The weighted products, of rows that the others have.
  CALIBRISK_SHARED void add_diagonals(const Engine& engine, const ConstMatrixRef& f,
                                      const ConstMatrixRef& residuals,
                                      const ConstVectorRef& variances);

 private:
  void count(const ConstMatrixRef& residuals) {
    trace_residual += residuals.rowwise().squaredNorm().sum();
    norm_residual = trace_residual;
    n_obs += residuals.rows();
  }
};

namespace detail {

// task(begin, rows) of blocks of F, of which there are weighted copies.
template <class Task>
void for_moment_blocks(Index n, const Task& task) {
  constexpr Index block = 16384;
  for (Index i = 0; i < n; i += block) task(i, std::min(block, n - i));
}

}  // namespace detail

CALIBRISK_SHARED FactorMoments factor_moments(const Engine& engine, const ConstMatrixRef& f,
                                              const ConstMatrixRef& residuals,
                                              const ConstVectorRef& variances, bool diagonals);

// With the weighted moments too, if `diagonals` asks for them.
CALIBRISK_SHARED FactorMoments all_moments(const Engine& engine, const ConstMatrixRef& f,
                                           FactorMoments moments, const ConstMatrixRef& residuals,
                                           const ConstVectorRef& variances, bool diagonals);

// The spectrum of a factor's moments, and the rotation V with P = F V.
struct RotatedSpectrum {
  Spectrum spectrum;
  Matrix rotation;  // [r x r'], directions whose eigenvalue is rounding noise dropped
};

CALIBRISK_SHARED RotatedSpectrum spectrum_of(const Engine& engine, const FactorMoments& moments,
                                             double trace_remainder);

// Those numbers of a single ridge, by a Cholesky factor instead of the spectrum. With c = n ridge
// and H = (F'F + c I)^-1 F'D they are |H|^2 and the like. The spectrum where c is as good as 0,
// which only its dropped directions bear.
CALIBRISK_SHARED CkceValues ckce_of_moments(const Engine& engine, const FactorMoments& moments,
                                            double trace_remainder, double ridge, bool diagonals);

// The spectrum of a whole Gram matrix, by its eigendecomposition (n^3); P for the
// row-wise quantities. Eigenvalues below n eps s_1 are rounding noise and dropped:
// over (s + c)^2 with a tiny c they would explode.
struct FactoredSpectrum {
  Spectrum spectrum;
  Matrix factor;  // P, [n x r], P'P = diag(values); empty unless asked for
};

CALIBRISK_SHARED FactoredSpectrum factored_spectrum(const Engine& engine, Matrix gram,
                                                    const ConstMatrixRef& residuals,
                                                    const ConstVectorRef& variances);

// Leave-one-out error of the conditional mean operator for targets T (n x d), c held
// fixed: (1/n) sum_i |(T - S T)_i|^2 / (1 - S_ii)^2, S = P diag(1 / (s + c)) P'.
// Cost O(n r d) per ridge.
CALIBRISK_SHARED double leave_one_out(const Engine& engine, const ConstMatrixRef& factor,
                                      const Spectrum& spectrum, const ConstMatrixRef& targets,
                                      double ridge);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE)
CkceValues ckce_values(const Spectrum& spectrum, double ridge) {
  const double n = static_cast<double>(spectrum.n_obs), c = n * ridge;
  const auto shifted = spectrum.values.array() + c;
  const Eigen::ArrayXd filter = 1.0 / shifted.square();
  CkceValues out;
  out.estimate = (spectrum.energy.array() * filter).sum();
  out.diagonal = (spectrum.energy_residual.array() * filter).sum();
  out.null_mean = (spectrum.energy_null.array() * filter).sum();
  out.cce2 = (spectrum.values.array() * spectrum.energy.array() * filter).sum() / n;
  out.residual_mse =
      (spectrum.trace_residual -
       (spectrum.energy.array() * (spectrum.values.array() + 2.0 * c) * filter).sum()) /
      n;
  out.error_bound = ckce_error_bound(spectrum.norm_residual, spectrum.trace_remainder, c);
  return out;
}

FactorMoments factor_moments(const Engine& engine, const ConstMatrixRef& f,
                             const ConstMatrixRef& residuals, const ConstVectorRef& variances,
                             bool diagonals) {
  FactorMoments moments(f.cols(), residuals.cols());
  detail::for_moment_blocks(f.rows(), [&](Index i, Index m) {
    moments.add(engine, f.middleRows(i, m), residuals.middleRows(i, m), variances.segment(i, m),
                diagonals);
  });
  return moments;
}

FactorMoments all_moments(const Engine& engine, const ConstMatrixRef& f, FactorMoments moments,
                          const ConstMatrixRef& residuals, const ConstVectorRef& variances,
                          bool diagonals) {
  if (diagonals) {
    detail::for_moment_blocks(f.rows(), [&](Index i, Index m) {
      moments.add_diagonals(engine, f.middleRows(i, m), residuals.middleRows(i, m),
                            variances.segment(i, m));
    });
  }
  return moments;
}

namespace detail {

// The first eigenvalue of a Gram matrix (ascending) that is above rounding noise.
inline Index first_above_noise(const Vector& values) {
  const Index n = values.size();
  const double unit = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  Index first = 0;
  while (first < n && !(values(first) > unit * values(n - 1))) ++first;
  return first;
}

// diag(V' A V)
inline Vector rotated_diagonal(const Engine& engine, const Matrix& v, const Matrix& a) {
  return engine.dense.multiply(a, v).cwiseProduct(v).colwise().sum().transpose();
}

}  // namespace detail

RotatedSpectrum spectrum_of(const Engine& engine, const FactorMoments& moments,
                            double trace_remainder) {
  SymEigen eigen = engine.dense.sym_eigen(moments.gram);
  const Index rank = eigen.values.size();
  const Index first = detail::first_above_noise(eigen.values);
  RotatedSpectrum out;
  out.rotation = eigen.vectors.rightCols(rank - first);
  out.spectrum.values = eigen.values.tail(rank - first);
  out.spectrum.n_obs = moments.n_obs;
  out.spectrum.energy =
      engine.dense.multiply_at_b(out.rotation, moments.cross).rowwise().squaredNorm();
  out.spectrum.energy_residual = detail::rotated_diagonal(engine, out.rotation, moments.residual);
  out.spectrum.energy_null = detail::rotated_diagonal(engine, out.rotation, moments.null);
  out.spectrum.trace_residual = moments.trace_residual;
  out.spectrum.norm_residual = moments.norm_residual;
  out.spectrum.trace_remainder = trace_remainder;
  return out;
}

CkceValues ckce_of_moments(const Engine& engine, const FactorMoments& moments,
                           double trace_remainder, double ridge, bool diagonals) {
  const double n = static_cast<double>(moments.n_obs), c = n * ridge;
  Matrix l = moments.gram;
  l.diagonal().array() += c;
  if (c < 1e-6 * moments.gram.trace() || !engine.dense.cholesky(l)) {
    return ckce_values(spectrum_of(engine, moments, trace_remainder).spectrum, ridge);
  }
  const auto solve = [&](Matrix b) {
    engine.dense.solve_lower(l, false, b);
    engine.dense.solve_lower(l, true, b);
    return b;
  };
  const Matrix h = solve(moments.cross);
  CkceValues out;
  out.estimate = h.squaredNorm();
  const double fit = moments.cross.cwiseProduct(h).sum();
  out.cce2 = (fit - c * out.estimate) / n;
  out.residual_mse = (moments.trace_residual - fit - c * out.estimate) / n;
  out.error_bound = ckce_error_bound(moments.norm_residual, trace_remainder, c);
  if (!diagonals) return out;
  const Matrix b = solve(Matrix::Identity(l.rows(), l.cols()));
  const Matrix square = engine.dense.multiply(b, b);
  out.diagonal = square.cwiseProduct(moments.residual).sum();
  out.null_mean = square.cwiseProduct(moments.null).sum();
  return out;
}

FactoredSpectrum factored_spectrum(const Engine& engine, Matrix gram,
                                   const ConstMatrixRef& residuals,
                                   const ConstVectorRef& variances) {
  const Index n = gram.rows();
  const Vector squares = residuals.rowwise().squaredNorm();
  SymEigen eigen = engine.dense.sym_eigen(std::move(gram));
  const Index first = detail::first_above_noise(eigen.values);
  FactoredSpectrum out;
  out.spectrum.values = eigen.values.tail(n - first);
  out.factor = eigen.vectors.rightCols(n - first) * out.spectrum.values.cwiseSqrt().asDiagonal();
  out.spectrum.n_obs = n;
  out.spectrum.energy = engine.dense.multiply_at_b(out.factor, residuals).rowwise().squaredNorm();
  const Matrix squared = out.factor.cwiseAbs2();
  out.spectrum.energy_residual = squared.transpose() * squares;
  out.spectrum.energy_null = squared.transpose() * variances;
  out.spectrum.trace_residual = squares.sum();
  return out;
}

double leave_one_out(const Engine& engine, const ConstMatrixRef& factor, const Spectrum& spectrum,
                     const ConstMatrixRef& targets, double ridge) {
  const double n = static_cast<double>(spectrum.n_obs), c = n * ridge;
  const Vector filter = (spectrum.values.array() + c).inverse();
  const Matrix weighted =
      filter.asDiagonal() * engine.dense.multiply_at_b(factor, targets);  // [r x d]
  const Matrix fitted = engine.dense.multiply(factor, weighted);
  const Vector leverage = factor.cwiseAbs2() * filter;
  const Vector errors = (targets - fitted).rowwise().squaredNorm();
  return (errors.array() / (1.0 - leverage.array()).square()).sum() / n;
}

void FactorMoments::add(const Engine& engine, const ConstMatrixRef& f,
                        const ConstMatrixRef& residuals, const ConstVectorRef& variances,
                        bool diagonals) {
  gram += engine.dense.crossprod(f);
  engine.dense.gemm(true, false, 1.0, f, residuals, 1.0, cross);
  count(residuals);
  if (diagonals) add_diagonals(engine, f, residuals, variances);
}

void FactorMoments::widen(const Engine& engine, const ConstMatrixRef& f,
                          const ConstMatrixRef& residuals) {
  const Index known = gram.cols(), rank = f.cols(), more = rank - known;
  if (n_obs == 0) {
    count(residuals);
    constexpr Index few = 256;
    if (residuals.cols() <= few && residuals.size() > 0) {
      norm_residual = engine.dense.sym_eigen(engine.dense.crossprod(residuals)).values.maxCoeff();
    }
  }
  if (more == 0) return;
  const auto added = f.rightCols(more);
  gram.conservativeResize(rank, rank);
  const Matrix between = engine.dense.multiply_at_b(f.leftCols(known), added);
  gram.topRightCorner(known, more) = between;
  gram.bottomLeftCorner(more, known) = between.transpose();
  gram.bottomRightCorner(more, more) = engine.dense.crossprod(added);
  cross.conservativeResize(rank, residuals.cols());
  engine.dense.gemm(true, false, 1.0, added, residuals, 0.0, cross.bottomRows(more));
  residual.setZero(rank, rank);
  null.setZero(rank, rank);
}

void FactorMoments::add_diagonals(const Engine& engine, const ConstMatrixRef& f,
                                  const ConstMatrixRef& residuals,
                                  const ConstVectorRef& variances) {
  // vectors: as expressions they would be evaluated for every column
  const Vector size = residuals.rowwise().norm(), deviation = variances.cwiseMax(0.0).cwiseSqrt();
  Matrix scaled = size.asDiagonal() * f;
  residual += engine.dense.crossprod(scaled);
  scaled = deviation.asDiagonal() * f;
  null += engine.dense.crossprod(scaled);
}
#endif

}  // namespace calibrisk

#endif
