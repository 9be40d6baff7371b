// SPDX-License-Identifier: GPL-3.0-or-later
// Standard errors of CKCE. At a fixed ridge it is a smooth function of the means of f f' and f d',
// where f are the features of a prediction and d is its residual. With C = F'F / n, A = C + ridge
// I, w = A^-1 F'D / n and v = A^-1 w, CKCE = |w|^2, and its influence function is
//   2 <v'f_i, d_i - w'f_i> minus its mean
// (the infinitesimal jackknife). With c = n ridge, H = (K + c I)^-1 D this is 2 n q_i,
//   q_i = c <(K (K + c I)^-1 H)_i, H_i>.
#ifndef CALIBRISK_CKCE_INFLUENCE_H
#define CALIBRISK_CKCE_INFLUENCE_H

#include <calibrisk/ckce/spectrum.h>
#include <calibrisk/linalg/pivoted_qr.h>

namespace calibrisk {

// From a factor F whose spectrum is known. In its eigenbasis P, with b_t = row t of P'D,
//   w'f_i = sum_t P_it b_t / (s_t + c),  v'f_i / n = sum_t P_it b_t / (s_t + c)^2,
// so that all ridges' are combinations of a few u_ik = sum_t P_it b_t g_kt: filters of
// neighbouring ridges are nearly collinear. A ridge then costs O(n k^2), not O(n r d), with
//   q_i = sum_k beta_k <u_ik, d_i> - sum_kl beta_k alpha_l <u_ik, u_il>.
class InfluenceWeights {
 public:
  // rotation: P = F rotation; none where F = P. cross: F'D.
  CALIBRISK_SHARED InfluenceWeights(const Engine& engine, const Spectrum& spectrum,
                                    const Matrix* rotation, const Matrix& cross,
                                    const ConstVectorRef& ridges);

  // Adds to the rows first, first + 1, ... of the result, from these rows of F and D.
  CALIBRISK_SHARED void fill(const Engine& engine, const ConstMatrixRef& f,
                             const ConstMatrixRef& residuals, Index first, Matrix& out) const;

 private:
  // The filters' common basis, and with it combination_: rows <u_k, d>, then <u_k, u_l> for
  // l <= k; a column per ridge. A filter is cut where its error in v'f is below 1e-7 of v'f
  // and in w'f below 1e-7 of the residual d - w'f (root mean squares over the rows).
  CALIBRISK_SHARED Matrix filter_basis(const Spectrum& spectrum, const ConstVectorRef& ridges);

  // Sets combination_ from the filters' coordinates in the basis, and hands the basis on.
  CALIBRISK_SHARED Matrix combine(Matrix basis, const Matrix& coefficients);

  // [m x (k + k (k + 1) / 2)], in the order of combination_'s rows
  CALIBRISK_SHARED Matrix inner_products(const Engine& engine, const Matrix& u,
                                         const ConstMatrixRef& residuals) const;

  Matrix products_;
  Matrix combination_;  // [(k + k (k + 1) / 2) x ridges]
};

// q_i of a factor in memory, [n x ridges]. Everything adds up over the columns of D: some at a
// time, since the filters make several copies of each.
CALIBRISK_SHARED Matrix factor_influence(const Engine& engine, const Spectrum& spectrum,
                                         const Matrix* rotation, const ConstMatrixRef& f,
                                         const Matrix& cross, const ConstMatrixRef& residuals,
                                         const ConstVectorRef& ridges);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CKCE)
Matrix factor_influence(const Engine& engine, const Spectrum& spectrum, const Matrix* rotation,
                        const ConstMatrixRef& f, const Matrix& cross,
                        const ConstMatrixRef& residuals, const ConstVectorRef& ridges) {
  constexpr Index width = 256;
  Matrix out = Matrix::Zero(f.rows(), ridges.size());
  for (Index j = 0; j < residuals.cols(); j += width) {
    const Index d = std::min(width, residuals.cols() - j);
    const InfluenceWeights weights(engine, spectrum, rotation, cross.middleCols(j, d), ridges);
    weights.fill(engine, f, residuals.middleCols(j, d), 0, out);
  }
  return out;
}

InfluenceWeights::InfluenceWeights(const Engine& engine, const Spectrum& spectrum,
                                   const Matrix* rotation, const Matrix& cross,
                                   const ConstVectorRef& ridges) {
  const Matrix turned = rotation ? engine.dense.multiply_at_b(*rotation, cross) : cross;
  const Matrix basis = filter_basis(spectrum, ridges);  // g_k, [r x k]
  const Index d = cross.cols(), k = basis.cols();
  Matrix products(turned.rows(), k * d);
  for (Index a = 0; a < k; ++a) {
    products.middleCols(a * d, d) = basis.col(a).asDiagonal() * turned;
  }
  products_ = rotation ? engine.dense.multiply(*rotation, products) : products;
}

void InfluenceWeights::fill(const Engine& engine, const ConstMatrixRef& f,
                            const ConstMatrixRef& residuals, Index first, Matrix& out) const {
  constexpr Index block = 4096;  // rows whose u are held at once
  for (Index i = 0; i < f.rows(); i += block) {
    const Index m = std::min(block, f.rows() - i);
    const Matrix u = engine.dense.multiply(f.middleRows(i, m), products_);
    const Matrix terms = inner_products(engine, u, residuals.middleRows(i, m));
    out.middleRows(first + i, m) += engine.dense.multiply(terms, combination_);
  }
}

Matrix InfluenceWeights::filter_basis(const Spectrum& spectrum, const ConstVectorRef& ridges) {
  constexpr double tolerance = 1e-7;
  const double n = static_cast<double>(spectrum.n_obs);
  const Index n_ridges = ridges.size(), rank = spectrum.values.size();
  // |P_.t|^2 |b_t|^2: what direction t weighs in a mean square
  const Vector weight = (spectrum.values.array() * spectrum.energy.array()).sqrt();
  Matrix filters(rank, 2 * n_ridges);
  Vector scale(2 * n_ridges);
  for (Index v = 0; v < n_ridges; ++v) {
    const Vector once = (spectrum.values.array() + n * ridges(v)).inverse();
    filters.col(v) = weight.cwiseProduct(once);
    filters.col(n_ridges + v) = filters.col(v).cwiseProduct(once);
    const double residual =
        std::sqrt(std::max(n * ckce_values(spectrum, ridges(v)).residual_mse, 0.0));
    scale(v) = std::max(residual, 1e-6 * filters.col(v).norm());
    scale(n_ridges + v) = filters.col(n_ridges + v).norm();
  }
  scale = (scale.array() > 0.0).select(scale, 1.0);
  filters *= scale.cwiseInverse().asDiagonal();
  if (rank == 0) return combine(Matrix(0, 0), Matrix(0, 2 * n_ridges));
  const PivotedQr qr = pivoted_qr(std::move(filters));
  Index k = 0;
  while (k < qr.triangle.rows() && std::abs(qr.triangle(k, k)) > tolerance) ++k;
  Matrix basis = qr.basis.leftCols(k);
  for (Index t = 0; t < rank; ++t) {
    if (weight(t) > 0.0) {
      basis.row(t) /= weight(t);
    } else {
      basis.row(t).setZero();  // b_t = 0
    }
  }
  Matrix coefficients(k, 2 * n_ridges);
  for (Index j = 0; j < 2 * n_ridges; ++j) {
    const Index filter = qr.order[static_cast<std::size_t>(j)];
    coefficients.col(filter) = scale(filter) * qr.triangle.col(j).head(k);
  }
  return combine(std::move(basis), coefficients);
}

Matrix InfluenceWeights::combine(Matrix basis, const Matrix& coefficients) {
  const Index k = coefficients.rows(), n_ridges = coefficients.cols() / 2;
  combination_ = Matrix::Zero(k + k * (k + 1) / 2, n_ridges);
  for (Index v = 0; v < n_ridges; ++v) {
    const auto alpha = coefficients.col(v), beta = coefficients.col(n_ridges + v);
    combination_.col(v).head(k) = beta;
    Index at = k;
    for (Index a = 0; a < k; ++a) {
      for (Index b = 0; b < a; ++b) {
        combination_(at++, v) = -(beta(a) * alpha(b) + beta(b) * alpha(a));
      }
      combination_(at++, v) = -beta(a) * alpha(a);
    }
  }
  return basis;
}

Matrix InfluenceWeights::inner_products(const Engine& engine, const Matrix& u,
                                        const ConstMatrixRef& residuals) const {
  const Index d = residuals.cols(), k = u.cols() / std::max<Index>(d, 1), rows = 256;
  Matrix out = Matrix::Zero(u.rows(), combination_.rows());
  engine.executor.run((u.rows() + rows - 1) / rows, [&](Index task) {
    const Index i = task * rows, m = std::min(rows, u.rows() - i);
    // column by column, as they lie in memory
    const auto add = [&](const auto& x, const auto& y, Index to) {
      for (Index j = 0; j < d; ++j) {
        out.col(to).segment(i, m).array() += x.col(j).array() * y.col(j).array();
      }
    };
    const auto part = [&](Index a) { return u.block(i, a * d, m, d); };
    Index at = k;
    for (Index a = 0; a < k; ++a) {
      add(part(a), residuals.middleRows(i, m), a);
      for (Index b = 0; b <= a; ++b) add(part(a), part(b), at++);
    }
  });
  return out;
}
#endif

}  // namespace calibrisk

#endif
