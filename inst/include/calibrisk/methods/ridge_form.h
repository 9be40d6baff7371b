// SPDX-License-Identifier: GPL-3.0-or-later
// A fitted kernel ridge as a pair form: h(p, p') = phi(p)' M phi(p') with phi(p) = basis' l(p), and
// l(p) explicit features, those of a factor, or kernels with the rows that train.
#ifndef CALIBRISK_METHODS_RIDGE_FORM_H
#define CALIBRISK_METHODS_RIDGE_FORM_H

#include <calibrisk/kernels/gram.h>
#include <calibrisk/kernels/pivoted_cholesky.h>
#include <calibrisk/kernels/taylor_features.h>
#include <calibrisk/methods/ridge_spectrum.h>
#include <calibrisk/pair_risk.h>

#include <optional>

namespace calibrisk {

struct RidgeForm {
  enum class Map { taylor, factor, gram };
  Map map = Map::factor;
  TaylorFeatures taylor;
  Kernel kernel;
  Matrix rows, triangle;  // of a factor: its pivots; or the rows that train
  Matrix basis;
  Matrix core;  // empty where phi(p) estimates the residual at p: the identity

  Matrix features(const Engine& engine, const ConstMatrixRef& x) const;
};

// sum_j k(x_i, rows_j) basis_j: [m x r]
inline void gram_features(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& rows,
                          const ConstMatrixRef& basis, const ConstMatrixRef& x, MatrixRef out) {
  constexpr Index tile = 2048;
  for (Index begin = 0; begin < x.rows(); begin += tile) {
    const Index size = std::min(tile, x.rows() - begin);
    engine.dense.gemm(false, false, 1.0, gram(engine, kernel, x.middleRows(begin, size), rows),
                      basis, 0.0, out.middleRows(begin, size));
  }
}

inline Matrix RidgeForm::features(const Engine& engine, const ConstMatrixRef& x) const {
  Matrix out(x.rows(), basis.cols());
  if (map == Map::taylor) {
    taylor.evaluate(engine, x.col(0), basis, out);
  } else if (map == Map::gram) {
    gram_features(engine, kernel, rows, basis, x, out);
  } else {
    out = engine.dense.multiply(factor_features(engine, kernel, rows, triangle, x), basis);
  }
  return out;
}

// The basis and core of a ridge in its spectrum, of which a Kronecker ridge uses the first `rank`.
inline void set_ridge(const Engine& engine, const RidgeSpectrum& spectrum, RidgeType type,
                      double ridge, Index rank, RidgeForm& out) {
  if (type == RidgeType::two_step) {
    out.basis = engine.dense.multiply(spectrum.basis, two_step_weights(spectrum, ridge));
    return;
  }
  rank = std::min(rank, spectrum.rank());
  out.basis = spectrum.basis.leftCols(rank);
  out.core =
      kronecker_core(engine, spectrum,
                     engine.dense.multiply_a_bt(spectrum.targets, spectrum.targets), ridge, rank);
}

// The mean of the forms of several folds: features side by side, cores on the diagonal of one.
struct MeanForm {
  std::vector<RidgeForm> parts;

  Matrix features(const Engine& engine, const ConstMatrixRef& x) const {
    Index width = 0;
    for (const RidgeForm& part : parts) width += part.basis.cols();
    Matrix out(x.rows(), width);
    width = 0;
    for (const RidgeForm& part : parts) {
      out.middleCols(width, part.basis.cols()) = part.features(engine, x);
      width += part.basis.cols();
    }
    return out / std::sqrt(static_cast<double>(parts.size()));
  }

  // Empty: the identity.
  Matrix core() const {
    Index width = 0;
    for (const RidgeForm& part : parts) width += part.core.cols();
    Matrix out = Matrix::Zero(width, width);
    width = 0;
    for (const RidgeForm& part : parts) {
      out.block(width, width, part.core.rows(), part.core.cols()) = part.core;
      width += part.core.cols();
    }
    return out;
  }

  // h(p, p) of the rows of x
  Vector squared(const Engine& engine, const ConstMatrixRef& x) const {
    return pair_squared(engine, features(engine, x), core());
  }
};

}  // namespace calibrisk

#endif
