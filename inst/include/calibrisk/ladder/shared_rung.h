// SPDX-License-Identifier: GPL-3.0-or-later
// A rung on one dense basis that all coordinates share, on all rows or on disjoint groups of rows
// with a basis each. Rows come in blocks, products go through the host's BLAS.
#ifndef CALIBRISK_LADDER_SHARED_RUNG_H
#define CALIBRISK_LADDER_SHARED_RUNG_H

#include <calibrisk/ladder/rung.h>
#include <calibrisk/linalg/pack_product.h>

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

}  // namespace detail

CALIBRISK_SHARED Rung shared_rung(const Engine& engine, const std::vector<SharedGroup>& groups,
                                  const ConstMatrixRef& residuals, const RowWeights& weights,
                                  bool moments);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSE_RUNGS)
namespace detail {

// Columns e_j * b (all coordinates side by side), each row times its weight.
inline Matrix stacked(const Matrix& basis, const Matrix& e, const Vector& weight) {
  Matrix out(basis.rows(), basis.cols() * e.cols());
  for (Index j = 0; j < e.cols(); ++j) {
    out.middleCols(j * basis.cols(), basis.cols()) =
        (e.col(j).array() * weight.array()).matrix().asDiagonal() * basis;
  }
  return out;
}

// Rows of a group: basis, residuals, the roots of their weights, and a of rung.h.
struct SharedRows {
  Matrix basis, e;
  Vector pair, a;

  SharedRows(Index n, Index columns, Index coordinates)
      : basis(n, columns), e(n, coordinates), pair(n), a(n) {}
};

// <T2, T0> = sum_ij a_j^2 H_ij^2 with H_ij = v_i v_j <b_i, b_j> <e_i, e_j>, v^2 the squares of a
// row's copies, from tiles of the pairs on and below the diagonal that stay in the cache.
inline double pair_squares(const Engine& engine, const SharedRows& rows) {
  constexpr Index side = 256;
  const Index n = rows.basis.rows();
  const Matrix b = rows.pair.asDiagonal() * rows.basis;
  const Vector squares = rows.a.cwiseAbs2();
  Vector sums = Vector::Zero((n + side - 1) / side);
  parallel_for(engine, sums.size(), [&](Index task) {
    const Index at = task * side, size = std::min(side, n - at);
    Matrix h(side, size), e(side, size);
    for (Index begin = at; begin < n; begin += side) {
      const Index m = std::min(side, n - begin);
      h.setZero();
      e.setZero();
      add_pack_product(pack_product(false, true, 1.0, b.middleRows(begin, m),
                                    b.middleRows(at, size), h.topRows(m)));
      add_pack_product(pack_product(false, true, 1.0, rows.e.middleRows(begin, m),
                                    rows.e.middleRows(at, size), e.topRows(m)));
      h.array() *= e.array();
      for (Index j = 0; j < size; ++j) {
        const Index first = begin == at ? j + 1 : 0;
        const double own = squares(at + j);
        if (begin == at) sums(task) += own * h(j, j) * h(j, j);
        sums(task) += (h.col(j).segment(first, m - first).array().square() *
                       (squares.segment(begin + first, m - first).array() + own))
                          .sum();
      }
    }
  });
  return sums.sum();
}

// The sums over pairs of a group with fewer rows than columns, from its n x n matrix of pairs s = H
// times the roots of a_i a_j: |s|^2 and tr s^3 are those of the columns.
inline void pairs_of_rows(const Engine& engine, const SharedRows& kept, RungSums& sums) {
  const Matrix rows = kept.pair.asDiagonal() * kept.basis;
  Matrix s = engine.dense.multiply_a_bt(rows, rows);
  s.array() *= engine.dense.multiply_a_bt(kept.e, kept.e).array();
  if (sums.exact)
    sums.t20 += s.colwise().squaredNorm().transpose().cwiseProduct(kept.a).dot(kept.a);
  const Vector root = kept.a.cwiseSqrt();
  s.array().colwise() *= root.array();
  s *= root.asDiagonal();
  const double squares = s.squaredNorm();
  sums.s2 += squares;
  sums.t11 += squares;  // one leverage serves all coordinates: T1 is S
  sums.s3 += trace_cube(engine, s);
}

// Turns the columns of a group into orthonormal ones, rows counted by their weights.
inline Matrix group_whitener(const Engine& engine, const SharedGroup& group,
                             const RowWeights& weights) {
  Matrix gram;
  for_shared_blocks(engine, group, [&](const std::vector<Index>& rows, Matrix columns) {
    if (gram.size() == 0) gram = Matrix::Zero(columns.cols(), columns.cols());
    Vector root(columns.rows());
    for (Index r = 0; r < root.size(); ++r) {
      root(r) = std::sqrt(weights(rows[static_cast<std::size_t>(r)]));
    }
    columns.array().colwise() *= root.array();
    gram += engine.dense.crossprod(columns);
  });
  return whitening(gram);
}

inline void shared_group(const Engine& engine, const SharedGroup& group,
                         const ConstMatrixRef& residuals, const RowWeights& weights, bool moments,
                         RungSums& sums, Rung& rung) {
  const Index d = residuals.cols();
  const Matrix whitener = group_whitener(engine, group, weights), turned = whitener.transpose();
  const Index k = whitener.rows(), all = k * d;
  rung.columns += all;

  Matrix sum = Matrix::Zero(k, d), scaled_sum = Matrix::Zero(k, d);
  const auto n = static_cast<Index>(group.rows.size());
  const bool by_rows = moments && n < all, by_columns = moments && !by_rows;
  // multiplications: n^2 (k + d) of pairs, 2 n (k d)^2 of T0 and T2
  const bool by_pairs = by_columns && sums.exact && n * (k + d) < 2 * all * all;
  const bool by_squares = by_columns && sums.exact && !by_pairs, keeps = by_rows || by_pairs;
  SharedRows kept(keeps ? n : 0, k, d);
  Matrix t0, t2, s;
  Index begin = 0;
  if (by_columns) s = Matrix::Zero(all, all);
  if (by_squares) t0 = t2 = s;
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
    if (keeps) {
      kept.basis.middleRows(begin, m) = basis;
      kept.e.middleRows(begin, m) = e;
      kept.pair.segment(begin, m) = pair;
      kept.a.segment(begin, m) = a;
      begin += m;
    }
    if (!by_columns) return;
    s += engine.dense.crossprod(stacked(basis, e, (pair.array() * a.array().sqrt()).matrix()));
    if (!by_squares) return;
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
    pairs_of_rows(engine, kept, sums);
    return;
  }
  // one leverage serves all coordinates: T1 is S
  sums.s2 += s.squaredNorm();
  sums.s3 += trace_cube(engine, s);
  sums.t11 += s.squaredNorm();
  if (by_pairs) sums.t20 += pair_squares(engine, kept);
  if (by_squares) sums.t20 += t2.cwiseProduct(t0).sum();
}

}  // namespace detail

Rung shared_rung(const Engine& engine, const std::vector<SharedGroup>& groups,
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
#endif

}  // namespace calibrisk

#endif
