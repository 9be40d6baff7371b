// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge on a factor K ~ L L' of all rows: folds only restrict rows. A training
// set's Gram matrix L'L is the total minus the fold's own block, its eigenbasis serves all
// ridges of both methods. Rows must be sorted by fold, test rows (0) first.
#ifndef CALIBRISK_METHODS_RIDGE_FACTOR_H
#define CALIBRISK_METHODS_RIDGE_FACTOR_H

#include <calibrisk/methods/fold_gram.h>
#include <calibrisk/methods/ridge_spectrum.h>
#include <calibrisk/pair_statistics.h>

namespace calibrisk {

// One spectrum per fold, of the training rows outside it.
CALIBRISK_SHARED std::vector<RidgeSpectrum> factor_spectra(const Engine& engine,
                                                           const ConstMatrixRef& l,
                                                           const ConstMatrixRef& residuals,
                                                           const FoldBegin& begin,
                                                           ProgressSpan span = {});

// l(p) of the rows that a training set has not seen.
struct UnseenFeatures {
  ConstMatrixRef held_out, test;
};

// All ridges of one fold; writes column f - 1 of `out`.
CALIBRISK_SHARED void factor_path_kronecker(const Engine& engine, const RidgeSpectrum& s,
                                            const UnseenFeatures& l,
                                            const ConstMatrixRef& residuals, const FoldBegin& begin,
                                            Index f, const ConstVectorRef& ridges, RidgePath& out,
                                            ProgressSpan span);

CALIBRISK_SHARED void factor_path_two_step(const Engine& engine, const RidgeSpectrum& s,
                                           const UnseenFeatures& l, const ConstMatrixRef& residuals,
                                           const FoldBegin& begin, Index f,
                                           const ConstVectorRef& ridges, RidgePath& out,
                                           ProgressSpan span);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
std::vector<RidgeSpectrum> factor_spectra(const Engine& engine, const ConstMatrixRef& l,
                                          const ConstMatrixRef& residuals, const FoldBegin& begin,
                                          ProgressSpan span) {
  using detail::fold_rows;
  const Index n_folds = fold_count(begin), r = l.cols();
  Matrix gram = Matrix::Zero(r, r), cross = Matrix::Zero(r, residuals.cols());
  std::vector<Matrix> grams, crosses;
  Index n_obs = 0;
  for (Index f = 1; f <= n_folds; ++f) {
    grams.push_back(engine.dense.crossprod(fold_rows(l, begin, f)));
    crosses.push_back(
        engine.dense.multiply_at_b(fold_rows(l, begin, f), fold_rows(residuals, begin, f)));
    gram += grams.back();
    cross += crosses.back();
    n_obs += detail::fold_size(begin, f);
  }
  std::vector<RidgeSpectrum> out;
  for (Index f = 1; f <= n_folds; ++f) {
    const std::size_t at = static_cast<std::size_t>(f - 1);
    grams[at] = gram - grams[at];
    out.push_back(spectrum_of_gram(engine, std::move(grams[at]), cross - crosses[at],
                                   static_cast<double>(n_obs - detail::fold_size(begin, f))));
    const ProgressSpan part = span.part(f - 1, n_folds);
    engine.progress.advance(part.to);
  }
  return out;
}

namespace detail {

// Eigenvectors with small s hardly matter at a large ridge. With w_i = |a_i| |phi_i| (norms
// over d and over the held-out rows), leaving out all pairs with i or j >= q changes H by at
// most 2 sum_{i >= q} w_i sum_j w_j / (s_i s_j + shift) in the Frobenius norm, and the sum
// of its diagonal as well. Smallest q where that is below 1e-8 of either's scale; what is
// really left out is far less, eigenvectors being nearly orthogonal on the held-out rows.
inline Index kronecker_rank(const RidgeSpectrum& s, const Vector& weights, double shift,
                            double pair_norm) {
  const auto values = s.values.array();
  const double diagonal = (weights.array().square() / (values.square() + shift)).sum();
  const double allowed = 1e-8 * std::min(diagonal, pair_norm);
  double dropped = 0.0;
  Index q = s.rank();
  while (q > 1) {
    const Index i = q - 1;
    dropped += 2.0 * weights(i) * (weights.array() / (values * values(i) + shift)).sum();
    if (dropped > allowed) break;
    --q;
  }
  return q;
}

// The losses of H = Phi M Phi' from P = Phi M and G = Phi'Phi: <C M, C> = <E'P, C> and
// tr(M G M G) = <P'P, G>. Costs m r^2; no m x m and no r x r product.
inline double kronecker_losses(const Engine& engine, const ConstMatrixRef& p,
                               const ConstMatrixRef& gram, const ConstMatrixRef& cross,
                               const ConstMatrixRef& errors, double error_norm) {
  return pair_losses(error_norm, engine.dense.multiply_at_b(errors, p).cwiseProduct(cross).sum(),
                     engine.dense.crossprod(p).cwiseProduct(gram).sum());
}

}  // namespace detail

void factor_path_kronecker(const Engine& engine, const RidgeSpectrum& s, const UnseenFeatures& l,
                           const ConstMatrixRef& residuals, const FoldBegin& begin, Index f,
                           const ConstVectorRef& ridges, RidgePath& out, ProgressSpan span) {
  using namespace detail;
  const Index m = fold_size(begin, f), n_test = fold_size(begin, 0);
  const double rows = static_cast<double>(m);
  const Matrix errors = fold_rows(residuals, begin, f);
  const Vector lengths = errors.rowwise().squaredNorm();
  const Matrix phi = engine.dense.multiply(l.held_out, s.basis);
  const Matrix gram = engine.dense.crossprod(phi);
  const Matrix cross = engine.dense.multiply_at_b(errors, phi);
  Matrix test_gram;
  if (n_test > 0) {
    test_gram = engine.dense.crossprod(engine.dense.multiply(l.test, s.basis));
  }
  const Matrix products = engine.dense.multiply_a_bt(s.targets, s.targets);
  Vector weights = gram.diagonal().array().max(0.0).sqrt();
  if (n_test > 0) {
    weights = weights.array().max(test_gram.diagonal().array().max(0.0).sqrt() *
                                  std::sqrt(rows / static_cast<double>(n_test)));
  }
  weights.array() *= products.diagonal().array().max(0.0).sqrt();
  const double error_norm = engine.dense.crossprod(errors).squaredNorm();
  const double pair_norm = std::sqrt(std::max(error_norm - lengths.squaredNorm(), 0.0));

  for (Index v = 0; v < ridges.size(); ++v) {
    const Index q = kronecker_rank(s, weights, kronecker_shift(s, ridges(v)), pair_norm);
    const Matrix core = kronecker_core(engine, s, products, ridges(v), q);
    const auto used = phi.leftCols(q);
    const Matrix p = engine.dense.multiply(used, core);
    const Vector squared = p.cwiseProduct(used).rowwise().sum();
    const double losses = kronecker_losses(engine, p, gram.topLeftCorner(q, q), cross.leftCols(q),
                                           errors, error_norm);
    out.squared(v, f - 1) = squared.sum() / rows;
    out.risk(v, f - 1) = pair_risk_value(losses, (lengths - squared).squaredNorm(), rows);
    if (n_test > 0) {
      out.squared_test(v, f - 1) =
          core.cwiseProduct(test_gram.topLeftCorner(q, q)).sum() / static_cast<double>(n_test);
    }
    out.rank(v, f - 1) = static_cast<double>(q);
    engine.progress.advance(span.part(v, ridges.size()).to);
  }
}
void factor_path_two_step(const Engine& engine, const RidgeSpectrum& s, const UnseenFeatures& l,
                          const ConstMatrixRef& residuals, const FoldBegin& begin, Index f,
                          const ConstVectorRef& ridges, RidgePath& out, ProgressSpan span) {
  using namespace detail;
  const Index m = fold_size(begin, f), n_test = fold_size(begin, 0);
  const double rows = static_cast<double>(m);
  const Matrix errors = fold_rows(residuals, begin, f);
  const Vector lengths = errors.rowwise().squaredNorm();
  const double error_norm = engine.dense.crossprod(errors).squaredNorm();
  // Whichever are fewer go to the other's basis: the rows, or the weights of all ridges.
  const bool turn_rows = m + n_test < ridges.size() * errors.cols();
  const Matrix phi = turn_rows ? engine.dense.multiply(l.held_out, s.basis) : Matrix();
  const Matrix phi_test = turn_rows ? engine.dense.multiply(l.test, s.basis) : Matrix();
  const UnseenFeatures used = turn_rows ? UnseenFeatures{phi, phi_test} : l;
  for (Index v = 0; v < ridges.size(); ++v) {
    Matrix weights = two_step_weights(s, ridges(v));
    if (!turn_rows) weights = engine.dense.multiply(s.basis, weights);
    const Matrix gap = engine.dense.multiply(used.held_out, weights);
    const Vector squared = gap.rowwise().squaredNorm();
    const double losses =
        pair_losses(error_norm, engine.dense.multiply_at_b(errors, gap).squaredNorm(),
                    engine.dense.crossprod(gap).squaredNorm());
    out.squared(v, f - 1) = squared.sum() / rows;
    out.risk(v, f - 1) = pair_risk_value(losses, (lengths - squared).squaredNorm(), rows);
    if (n_test > 0) {
      out.squared_test(v, f - 1) =
          engine.dense.multiply(used.test, weights).squaredNorm() / static_cast<double>(n_test);
    }
    engine.progress.advance(span.part(v, ridges.size()).to);
  }
}
#endif

// features(f): the UnseenFeatures in which the spectrum of fold f has its basis.
template <class Features>
RidgePath factor_path(const Engine& engine, RidgeType type,
                      const std::vector<RidgeSpectrum>& spectra, const Features& features,
                      const ConstMatrixRef& residuals, const FoldBegin& begin,
                      const ConstVectorRef& ridges, ProgressSpan span = {}) {
  const Index n_folds = fold_count(begin);
  RidgePath out;
  const Matrix missing = Matrix::Constant(ridges.size(), n_folds, not_a_number);
  out.risk = out.squared = out.squared_test = missing;
  out.rank = Matrix::Zero(ridges.size(), n_folds);
  for (Index f = 1; f <= n_folds; ++f) {
    const RidgeSpectrum& s = spectra[static_cast<std::size_t>(f - 1)];
    out.rank.col(f - 1).setConstant(static_cast<double>(s.rank()));
    if (detail::fold_size(begin, f) == 0) continue;
    const auto path = type == RidgeType::kronecker ? factor_path_kronecker : factor_path_two_step;
    path(engine, s, features(f), residuals, begin, f, ridges, out, span.part(f - 1, n_folds));
  }
  return out;
}

}  // namespace calibrisk

#endif
