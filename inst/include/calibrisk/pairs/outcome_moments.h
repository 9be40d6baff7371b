// SPDX-License-Identifier: GPL-3.0-or-later
// The known null of pairs. Residuals d_i = p_i - onehot(Y_i) of outcomes drawn from the predictions
// have the covariance C_i = diag(p_i) - p_i p_i'. With a target kernel's matrix M,
//   E <d_i, M d_j>^2 = tr(C_i M C_j M)
//     = p_i'(M o M) p_j - p_i'(M p_j)^2 - p_j'(M p_i)^2 + (p_i'M p_j)^2,  o and ^2 by entry,
//   E <d_i, M d_i> = tr(C_i M).
// A sample with few events shows less than this variance, or more, and never tests calibration.
#ifndef CALIBRISK_PAIRS_OUTCOME_MOMENTS_H
#define CALIBRISK_PAIRS_OUTCOME_MOMENTS_H

#include <calibrisk/engine.h>
#include <calibrisk/math/row_pairs.h>
#include <calibrisk/pairs/pair_source.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// probs, right = probs M and squares = probs (M o M), [n x m] each, and own = E <d_i, M d_i>, [n x
// 1]; without rows nothing is known. In sums from factors a pair counts weight_i weight_j; without
// rows: 1.
struct OutcomeMoments {
  MatrixView probs{nullptr, 0, 0}, right{nullptr, 0, 0}, squares{nullptr, 0, 0}, own{nullptr, 0, 0},
      weight{nullptr, 0, 0};

  bool known() const { return own.rows() > 0; }

  // E <d_i, M d_j>^2 of the rows i, ... with j, ...; of a row with itself (E <d, M d>)^2.
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const;

  // The same of the rows first, ... with `some` rows, through the engine's products.
  CALIBRISK_SHARED void products(const Engine& engine, Index first, const std::vector<Index>& some,
                                 MatrixRef out) const;

  // sum weight_i k_ii E <d_i, M d_i>
  CALIBRISK_SHARED double trace(const ConstVectorRef& diagonal) const;
};

// Those of some rows.
class OutcomeMomentRows {
 public:
  CALIBRISK_SHARED OutcomeMomentRows(const OutcomeMoments& all, const std::vector<Index>& rows);
  OutcomeMomentRows(const OutcomeMomentRows&) = delete;
  OutcomeMomentRows& operator=(const OutcomeMomentRows&) = delete;
  const OutcomeMoments& moments() const { return moments_; }

 private:
  Matrix taken_[5];
  OutcomeMoments moments_;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PAIRS)
void OutcomeMoments::block(Index i, Index j, MatrixRef out) const {
  const auto rows = [=](const MatrixView& x) { return x.middleRows(i, out.rows()); };
  const auto others = [=](const MatrixView& x) { return x.middleRows(j, out.cols()); };
  Matrix part(out.rows(), out.cols());
  const Matrix left = rows(right).cwiseAbs2(), other = others(squares) - others(right).cwiseAbs2();
  row_products(rows(probs), other, out);
  row_products(left, others(probs), part);
  out -= part;
  row_products(rows(probs), others(right), part);
  out += part.cwiseAbs2();
  out = out.cwiseMax(0.0);  // what rounding leaves of certain predictions
  for (Index b = std::max<Index>(0, i - j); b < out.cols() && j + b < i + out.rows(); ++b) {
    out(j + b - i, b) = own(j + b, 0) * own(j + b, 0);
  }
}

void OutcomeMoments::products(const Engine& engine, Index first, const std::vector<Index>& some,
                              MatrixRef out) const {
  const Index m = out.rows();
  const Matrix p = take_rows(probs, some), mp = take_rows(right, some);
  const Matrix left = right.middleRows(first, m).cwiseAbs2();
  engine.dense.gemm(false, true, 1.0, probs.middleRows(first, m), mp, 0.0, out);
  out = out.cwiseAbs2();
  const Matrix other = take_rows(squares, some) - mp.cwiseAbs2();
  engine.dense.gemm(false, true, 1.0, probs.middleRows(first, m), other, 1.0, out);
  engine.dense.gemm(false, true, -1.0, left, p, 1.0, out);
  out = out.cwiseMax(0.0);
  if (weight.rows() == 0) return;
  out = weight.col(0).segment(first, m).asDiagonal() * out;
  for (std::size_t b = 0; b < some.size(); ++b) {
    out.col(static_cast<Index>(b)) *= weight(some[b], 0);
  }
}

double OutcomeMoments::trace(const ConstVectorRef& diagonal) const {
  const Vector mean = own.col(0).cwiseProduct(diagonal);
  return weight.rows() > 0 ? weight.col(0).dot(mean) : mean.sum();
}

OutcomeMomentRows::OutcomeMomentRows(const OutcomeMoments& all, const std::vector<Index>& rows) {
  const MatrixView* from[] = {&all.probs, &all.right, &all.squares, &all.own, &all.weight};
  MatrixView* to[] = {&moments_.probs, &moments_.right, &moments_.squares, &moments_.own,
                      &moments_.weight};
  for (std::size_t k = 0; k < 5; ++k) {
    if (from[k]->rows() == 0) continue;
    taken_[k] = take_rows(*from[k], rows);
    new (to[k]) MatrixView(taken_[k].data(), taken_[k].rows(), taken_[k].cols());
  }
}
#endif

}  // namespace calibrisk

#endif
