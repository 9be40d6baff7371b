// SPDX-License-Identifier: GPL-3.0-or-later
// The sums over rows that every quantity of a pair form needs (Gruber & Bach 2025):
//   S = E'E (d x d), C = E'Phi (d x r), G = Phi'Phi (r x r)
// for residuals E and features Phi. They add over blocks of rows and subtract over folds.
//
// And the exact risk of h(p, p') = phi(p)' M phi(p') and its Hajek projections (Eq. 20), whose mean
// it is:
//   R   = [ |S|^2 - 2 <C M, C> + tr(M G M G) - sum_i delta_i^2 ] / (n (n - 1))
//   r_i = [ e_i'S e_i - 2 e_i'C M phi_i + phi_i'M G M phi_i - delta_i^2 ] / (n - 1)
// with delta_i = |e_i|^2 - phi_i'M phi_i. Estimators differ in how they come by G; the formula is
// here.
#ifndef CALIBRISK_PAIR_STATISTICS_H
#define CALIBRISK_PAIR_STATISTICS_H

#include <calibrisk/engine.h>
#include <calibrisk/math/row_forms.h>
#include <calibrisk/math/row_pairs.h>

#include <limits>

namespace calibrisk {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Squared differences of <e_i, e_j> and h_ij, i = j included: summed over all pairs (numbers) or
// over the pairs of each row (vectors), from the terms in S, C and G.
template <class Terms>
Terms pair_losses(const Terms& residual, const Terms& cross, const Terms& feature) {
  return residual - 2.0 * cross + feature;
}

// R; without two rows there is no pair.
inline double pair_risk_value(double losses, double delta_squares, double n_obs) {
  return n_obs < 2 ? not_a_number : (losses - delta_squares) / (n_obs * (n_obs - 1.0));
}

// R where rows have weights: `pairs` is the weight of all pairs (PairWeight), and what is taken off
// are the squares of each copy with itself, times its squared weight.
inline double weighted_pair_risk(double losses, double delta_squares, double pairs) {
  return pairs > 0.0 ? (losses - delta_squares) / pairs : not_a_number;
}

// The r_i.
inline Vector pair_risk_rows(const Vector& losses, const Vector& delta_squares) {
  if (losses.size() < 2) return Vector::Constant(losses.size(), not_a_number);
  return (losses - delta_squares) / (static_cast<double>(losses.size()) - 1.0);
}

struct PairStatistics {
  Index n_obs = 0;
  Matrix residual;  // S
  Matrix cross;     // C
  Matrix feature;   // G

  PairStatistics() = default;
  PairStatistics(Index d, Index r)
      : residual(Matrix::Zero(d, d)), cross(Matrix::Zero(d, r)), feature(Matrix::Zero(r, r)) {}

  PairStatistics& operator+=(const PairStatistics& other) {
    n_obs += other.n_obs;
    residual += other.residual;
    cross += other.cross;
    feature += other.feature;
    return *this;
  }
  PairStatistics& operator-=(const PairStatistics& other) {
    n_obs -= other.n_obs;
    residual -= other.residual;
    cross -= other.cross;
    feature -= other.feature;
    return *this;
  }
};

namespace detail {

constexpr Index row_block = 256;
// Products with fewer columns than this run in the workers, by Eigen; wider ones on
// the main thread, by the host's BLAS.
constexpr Index wide = 48;

CALIBRISK_SHARED PairStatistics statistics_of_block(const ConstMatrixRef& residuals,
                                                    const ConstMatrixRef& features);

// features(begin, size): rows of the features, of which there are r.
template <class Features>
PairStatistics narrow_statistics(const Engine& engine, const ConstMatrixRef& residuals, Index r,
                                 const Features& features) {
  return parallel_reduce(
      engine, residuals.rows(), row_block, PairStatistics(residuals.cols(), r),
      [&](Index begin, Index size) {
        return statistics_of_block(residuals.middleRows(begin, size), features(begin, size));
      },
      [](PairStatistics& total, const PairStatistics& part) { total += part; });
}

}  // namespace detail

CALIBRISK_SHARED PairStatistics pair_statistics(const Engine& engine,
                                                const ConstMatrixRef& residuals,
                                                const ConstMatrixRef& features);

namespace detail {

constexpr Index narrow_block = 256;

}  // namespace detail

// a_i' Q b_i for every row i; an empty Q is the identity.
CALIBRISK_SHARED Vector row_products(const Engine& engine, const ConstMatrixRef& a,
                                     const ConstMatrixRef& q, const ConstMatrixRef& b);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RISKS)
namespace detail {

PairStatistics statistics_of_block(const ConstMatrixRef& residuals,
                                   const ConstMatrixRef& features) {
  const Index d = residuals.cols(), r = features.cols();
  PairStatistics out(d, r);
  out.n_obs = residuals.rows();
  const Matrix products = column_products(residuals, features);
  out.residual = products.topLeftCorner(d, d).selfadjointView<Eigen::Lower>();
  out.cross = products.bottomLeftCorner(r, d).transpose();
  out.feature = products.bottomRightCorner(r, r).selfadjointView<Eigen::Lower>();
  return out;
}

}  // namespace detail

PairStatistics pair_statistics(const Engine& engine, const ConstMatrixRef& residuals,
                               const ConstMatrixRef& features) {
  require(residuals.rows() == features.rows(), "Residuals and features must have equal rows.");
  const Index d = residuals.cols(), r = features.cols();
  if (d + r >= detail::wide) {
    PairStatistics out(d, r);
    out.n_obs = residuals.rows();
    out.residual = engine.dense.crossprod(residuals);
    engine.dense.gemm(true, false, 1.0, residuals, features, 0.0, out.cross);
    out.feature = engine.dense.crossprod(features);
    return out;
  }
  return detail::narrow_statistics(engine, residuals, r, [&](Index begin, Index size) {
    return features.middleRows(begin, size);
  });
}

namespace detail {

// Whether a block's product with Q is one of few columns: then workers have it in their cache.
inline bool is_narrow(const ConstMatrixRef& q) {
  return q.rows() <= few_columns && q.cols() <= few_columns;
}

}  // namespace detail

Vector row_products(const Engine& engine, const ConstMatrixRef& a, const ConstMatrixRef& q,
                    const ConstMatrixRef& b) {
  require(a.rows() == b.rows(), "Both sides must have equal rows.");
  Vector out(a.rows());
  const bool by_host = !detail::is_narrow(q);
  const Index block = by_host ? detail::row_block : detail::narrow_block;
  const Index n_blocks = (a.rows() + block - 1) / block;
  if (by_host) {
    Matrix product;
    for (Index t = 0; t < n_blocks; ++t) {
      const Index begin = t * block, size = std::min(block, a.rows() - begin);
      product.resize(size, q.cols());
      engine.dense.gemm(false, false, 1.0, a.middleRows(begin, size), q, 0.0, product);
      row_forms(product, Matrix(0, 0), b.middleRows(begin, size), out.segment(begin, size));
    }
    return out;
  }
  parallel_for(engine, n_blocks, [&](Index t) {
    const Index begin = t * block, size = std::min(block, a.rows() - begin);
    row_forms(a.middleRows(begin, size), q, b.middleRows(begin, size), out.segment(begin, size));
  });
  return out;
}
#endif

}  // namespace calibrisk

#endif
