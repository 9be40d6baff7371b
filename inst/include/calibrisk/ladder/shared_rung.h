// SPDX-License-Identifier: GPL-3.0-or-later
// A rung on one dense basis that all coordinates share, on all rows or on disjoint groups of rows
// with a basis each. Rows come in blocks, products go through the host's BLAS.
#ifndef CALIBRISK_LADDER_SHARED_RUNG_H
#define CALIBRISK_LADDER_SHARED_RUNG_H

#include <calibrisk/ladder/rung.h>

namespace calibrisk {

// The rows of one group and how to make their columns.
struct SharedGroup {
  std::vector<Index> rows;
  std::function<Matrix(const std::vector<Index>& rows)> columns;
};

namespace detail {

constexpr Index shared_rows = 4096;

// task(rows of a block, their columns)
template <class Task>
void for_shared_blocks(const Engine& engine, const SharedGroup& group, const Task& task) {
  const auto n = static_cast<Index>(group.rows.size());
  for (Index begin = 0; begin < n; begin += shared_rows) {
    const auto from = group.rows.begin() + begin;
    const std::vector<Index> rows(from, from + std::min(shared_rows, n - begin));
    task(rows, group.columns(rows));
    engine.progress.advance(0.0);
  }
}

// Columns e_j * b (all coordinates side by side), each row times its weight.
inline Matrix stacked(const Matrix& basis, const Matrix& e, const Vector& weight) {
  Matrix out(basis.rows(), basis.cols() * e.cols());
  for (Index j = 0; j < e.cols(); ++j) {
    out.middleCols(j * basis.cols(), basis.cols()) =
        (e.col(j).array() * weight.array()).matrix().asDiagonal() * basis;
  }
  return out;
}

// The sums over pairs of a group with fewer rows than columns, from its n x n matrix of pairs
//   H_ij = v_i v_j <b_i, b_j> <e_i, e_j>,  s = H times the roots of a_i a_j, v^2 the squares of a
// row's copies:
// |s|^2 and tr s^3 are those of the columns, and <T2, T0> = sum_ij a_j^2 H_ij^2.
inline void pairs_of_rows(const Engine& engine, const Matrix& basis, const Matrix& e,
                          const Vector& pair, const Vector& a, RungSums& sums) {
  const Matrix rows = pair.asDiagonal() * basis;
  Matrix s = engine.dense.multiply_a_bt(rows, rows);
  s.array() *= engine.dense.multiply_a_bt(e, e).array();
  if (sums.exact) sums.t20 += s.colwise().squaredNorm().transpose().cwiseProduct(a).dot(a);
  const Vector root = a.cwiseSqrt();
  s.array().colwise() *= root.array();
  s *= root.asDiagonal();
  const double squares = s.squaredNorm();
  sums.s2 += squares;
  sums.t11 += squares;  // one leverage serves all coordinates: T1 is S
  sums.s3 += trace_cube(engine, s);
}

inline void shared_group(const Engine& engine, const SharedGroup& group,
                         const ConstMatrixRef& residuals, const RowWeights& weights, bool moments,
                         RungSums& sums, Rung& rung) {
  const Index d = residuals.cols();
  Matrix gram;
  for_shared_blocks(engine, group, [&](const std::vector<Index>& rows, Matrix columns) {
    if (gram.size() == 0) gram = Matrix::Zero(columns.cols(), columns.cols());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      columns.row(static_cast<Index>(r)) *= std::sqrt(weights(rows[r]));
    }
    gram += engine.dense.crossprod(columns);
  });
  const Matrix whitener = whitening(gram), turned = whitener.transpose();
  const Index k = whitener.rows(), all = k * d;
  rung.columns += all;

  Matrix sum = Matrix::Zero(k, d), scaled_sum = Matrix::Zero(k, d);
  const auto n = static_cast<Index>(group.rows.size());
  const bool by_rows = moments && n < all, by_columns = moments && !by_rows;
  Matrix t0, t2, s, kept, kept_residuals;
  Vector kept_pair(n), kept_a(n);
  if (by_rows) {
    kept.resize(n, k);
    kept_residuals.resize(n, d);
  }
  Index begin = 0;
  if (by_columns) s = Matrix::Zero(all, all);
  if (by_columns && sums.exact) t0 = t2 = s;
  for_shared_blocks(engine, group, [&](const std::vector<Index>& rows, const Matrix& columns) {
    const auto m = static_cast<Index>(rows.size());
    const Matrix basis = engine.dense.multiply(columns, turned);
    Matrix e(m, d), weighted(m, d), scaled(m, d);
    Vector pair(m), a(m);
    for (Index r = 0; r < m; ++r) {
      const Index i = rows[static_cast<std::size_t>(r)];
      const double norm = basis.row(r).squaredNorm();
      a(r) = left_out_scale(weights.each(i) * norm);
      e.row(r) = residuals.row(i);
      weighted.row(r) = weights(i) * e.row(r);
      scaled.row(r) = a(r) * weighted.row(r);
      pair(r) = weights.root(i);
      const double own = weights.each(i) * weights.each(i) * a(r) * norm * e.row(r).squaredNorm();
      sums.own += weights.copies(i) * own * own;
    }
    sum += engine.dense.multiply_at_b(basis, weighted);
    scaled_sum += engine.dense.multiply_at_b(basis, scaled);
    if (by_rows) {
      kept.middleRows(begin, m) = basis;
      kept_residuals.middleRows(begin, m) = e;
      kept_pair.segment(begin, m) = pair;
      kept_a.segment(begin, m) = a;
      begin += m;
    }
    if (!by_columns) return;
    s += engine.dense.crossprod(stacked(basis, e, (pair.array() * a.array().sqrt()).matrix()));
    if (!sums.exact) return;
    t0 += engine.dense.crossprod(stacked(basis, e, pair));
    t2 += engine.dense.crossprod(stacked(basis, e, (pair.array() * a.array()).matrix()));
  });
  for_shared_blocks(engine, group, [&](const std::vector<Index>& rows, const Matrix& columns) {
    const Matrix basis = engine.dense.multiply(columns, turned);
    const Matrix smooth = engine.dense.multiply(basis, sum);
    const Matrix scaled = engine.dense.multiply(basis, scaled_sum);
    for (Index r = 0; r < basis.rows(); ++r) {
      const Index i = rows[static_cast<std::size_t>(r)];
      const double h = weights.each(i) * basis.row(r).squaredNorm(), a = left_out_scale(h);
      rung.gap.row(i) = a * (smooth.row(r) - h * residuals.row(i));
      rung.half(i) =
          residuals.row(i).dot(rung.gap.row(i) + scaled.row(r) - h * a * residuals.row(i)) / 2.0;
    }
  });
  rung.weights.push_back(engine.dense.multiply(turned, sum));
  if (!moments) return;
  if (by_rows) {
    pairs_of_rows(engine, kept, kept_residuals, kept_pair, kept_a, sums);
    return;
  }
  // one leverage serves all coordinates: T1 is S
  sums.s2 += s.squaredNorm();
  sums.s3 += trace_cube(engine, s);
  sums.t11 += s.squaredNorm();
  if (sums.exact) sums.t20 += t2.cwiseProduct(t0).sum();
}

}  // namespace detail

inline Rung shared_rung(const Engine& engine, const std::vector<SharedGroup>& groups,
                        const ConstMatrixRef& residuals, const RowWeights& weights, bool moments) {
  const Index n = residuals.rows(), d = residuals.cols();
  Rung out;
  out.gap = Matrix::Zero(n, d);
  out.half = Vector::Zero(n);
  RungSums sums;
  if (moments) {
    double widest = 0.0;
    Index columns = 0;
    for (const SharedGroup& group : groups) {
      if (group.rows.empty()) continue;
      columns = std::max(columns, group.columns({group.rows[0]}).cols());
      double copies = 0.0;
      for (Index i : group.rows) copies += weights.copies(i);
      widest = std::max(widest, copies);
    }
    sums.exact = rung_is_exact(static_cast<Index>(widest), columns * d);
  }
  for (const SharedGroup& group : groups) {
    if (group.rows.empty()) {
      out.weights.emplace_back();
    } else {
      detail::shared_group(engine, group, residuals, weights, moments, sums, out);
    }
  }
  finish_rung(engine, residuals, weights, RowClusters(), sums, out);
  return out;
}

}  // namespace calibrisk

#endif
