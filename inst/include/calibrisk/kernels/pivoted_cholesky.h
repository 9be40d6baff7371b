// SPDX-License-Identifier: GPL-3.0-or-later
// Pivoted Cholesky K ~ L L' of a kernel's Gram matrix, which is never formed: the row
// with the largest residual diagonal becomes a pivot until the mean residual diagonal
// is at most a tolerance. The first pivots are chosen one by one; then a block of the
// largest residuals at a time, so that a matrix product carries the work.
#ifndef CALIBRISK_KERNELS_PIVOTED_CHOLESKY_H
#define CALIBRISK_KERNELS_PIVOTED_CHOLESKY_H

#include <calibrisk/engine.h>
#include <calibrisk/kernels/kernel_factor.h>
#include <calibrisk/linalg/pack_solve.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace calibrisk {

struct CholeskyOptions {
  double tolerance = 1e-12;                            // on the mean residual diagonal
  Index max_rank = std::numeric_limits<Index>::max();  // at most this many pivots
  Index greedy = 64;  // this many are chosen one at a time, the exact greedy order
  Index block = 64;   // then candidates per block
  Index enough = std::numeric_limits<Index>::max();  // stop at the first step past this rank
};

namespace detail {

constexpr Index factor_rows = 512;  // rows per task

template <class Task>
void for_row_blocks(const Engine& engine, Index n, const Task& task) {
  const Index n_blocks = (n + factor_rows - 1) / factor_rows;
  engine.executor.run(n_blocks, [&](Index b) {
    const Index begin = b * factor_rows;
    task(begin, std::min(factor_rows, n - begin));
  });
}

// All that may be needed, while that is cheap: memory without numbers costs little, copies do.
inline void reserve_columns(Matrix& l, Index needed, Index limit) {
  constexpr Index cheap = Index(1) << 24;  // numbers
  if (needed <= l.cols()) return;
  l.conservativeResize(
      Eigen::NoChange,
      std::min(limit, std::max({needed, l.cols() + l.cols() / 2 + 64, cheap / l.rows()})));
}

}  // namespace detail

// Goes on from where `factor` stopped (with the same x), towards a smaller tolerance or a
// larger rank. Stops too where the largest residual is rounding noise: the rank is then
// numerically full. Cost n r^2 + n r q, memory n r.
CALIBRISK_SHARED void extend_factor(const Engine& engine, const ConstMatrixRef& x,
                                    const CholeskyOptions& options, KernelFactor& factor,
                                    ProgressSpan span = {});

// l(x) of new points, [m x r]: the triangle's forward substitution on k(x, pivots). The
// rows that the factor was built on get their rows of L. Cost m r (r + q).
CALIBRISK_SHARED Matrix factor_features(const Engine& engine, const Kernel& kernel,
                                        const ConstMatrixRef& pivot_rows,
                                        const ConstMatrixRef& triangle, const ConstMatrixRef& x);

// A factor without columns, to be extended.
inline KernelFactor empty_factor(const Kernel& kernel, const ConstMatrixRef& x) {
  KernelFactor factor;
  factor.kernel = kernel;
  factor.residual = gram_diagonal(kernel, x);
  factor.l.resize(x.rows(), 0);
  return factor;
}

inline KernelFactor pivoted_cholesky(const Engine& engine, const Kernel& kernel,
                                     const ConstMatrixRef& x, const CholeskyOptions& options,
                                     ProgressSpan span = {}) {
  KernelFactor factor = empty_factor(kernel, x);
  extend_factor(engine, x, options, factor, span);
  return factor;
}

inline Matrix factor_features(const Engine& engine, const KernelFactor& factor,
                              const ConstMatrixRef& x) {
  return factor_features(engine, factor.kernel, factor.pivot_rows, factor.triangle(), x);
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_FACTORS)

namespace detail {

// One greedy pivot: l = (k_j - L l_j) / sqrt(pivot).
inline void greedy_step(const Engine& engine, const ConstMatrixRef& x, KernelFactor& f, Index j) {
  const Index t = f.rank();
  const Vector at_pivot = f.l.row(j).head(t);
  const Matrix row = x.row(j);
  const double root = std::sqrt(f.residual(j));
  for_row_blocks(engine, x.rows(), [&](Index begin, Index size) {
    auto column = f.l.block(begin, t, size, 1);
    gram_block(f.kernel, x.middleRows(begin, size), row, column);
    column.noalias() -= f.l.block(begin, 0, size, t) * at_pivot;
    column /= root;
    auto residual = f.residual.segment(begin, size).array();
    residual = (residual - column.col(0).array().square()).max(0.0);
  });
  for (Index p : f.pivots) f.l(p, t) = 0.0;
  f.l(j, t) = root;
  f.residual(j) = 0.0;
  f.pivots.push_back(j);
}

// Pivots of a block, in order: positions among its rows.
struct BlockPivots {
  std::vector<Index> accepted;
  Matrix triangle;  // their Cholesky factor
};

// Greedy Cholesky of a block's own residuals, `work`: those that stay large while the others are
// taken out. At least one is accepted.
inline BlockPivots block_pivots(const Matrix& work, Index limit) {
  constexpr double keep = 0.2;  // of the block's largest residual
  const Index size = work.rows();
  Matrix lower = Matrix::Zero(size, size);  // rows: candidates, columns: accepted
  Vector left = work.diagonal();
  BlockPivots out;
  const double floor = keep * left.maxCoeff();
  while (static_cast<Index>(out.accepted.size()) < std::min(size, limit)) {
    Index best;
    const double pivot = left.maxCoeff(&best);
    if (!out.accepted.empty() && pivot < floor) break;
    const Index s = static_cast<Index>(out.accepted.size());
    Vector column = work.col(best) - lower.leftCols(s) * lower.row(best).head(s).transpose();
    column /= std::sqrt(pivot);
    for (Index a : out.accepted) column(a) = 0.0;
    column(best) = std::sqrt(pivot);
    left = (left.array() - column.array().square()).max(0.0);
    lower.col(s) = column;
    out.accepted.push_back(best);
    for (Index a : out.accepted) left(a) = 0.0;
  }
  out.triangle = take_rows(lower, out.accepted).leftCols(static_cast<Index>(out.accepted.size()));
  return out;
}

// A block of the largest residuals, of which block_pivots() become pivots: a row's new features are
// (k - l A') T'^-1, where A are the features of the pivots and T is their triangle.
inline void block_step(const Engine& engine, const ConstMatrixRef& x, KernelFactor& f,
                       const std::vector<Index>& candidates, Index limit) {
  const Index n = x.rows(), t = f.rank(), size = static_cast<Index>(candidates.size());
  Matrix rows = take_rows(x, candidates),
         at_rows = take_rows(ConstMatrixRef(f.l.leftCols(t)), candidates);
  Matrix work(size, size);
  gram_block(f.kernel, rows, rows, work);
  add_pack_product(pack_product(false, true, -1.0, at_rows, at_rows, work));
  for (Index i = 0; i < size; ++i) {
    work(i, i) = f.residual(candidates[static_cast<std::size_t>(i)]);
  }
  const BlockPivots block = block_pivots(work, limit);
  rows = take_rows(rows, block.accepted);
  at_rows = take_rows(at_rows, block.accepted);

  const Index b = rows.rows();
  for_row_blocks(engine, n, [&](Index begin, Index m) {
    auto out = f.l.block(begin, t, m, b);
    gram_block(f.kernel, x.middleRows(begin, m), rows, out);
    add_pack_product(pack_product(false, true, -1.0, f.l.block(begin, 0, m, t), at_rows, out));
    solve_from_right(block.triangle, out, add_pack_product);
    Vector squares = out.col(0).cwiseAbs2();
    for (Index j = 1; j < b; ++j) squares += out.col(j).cwiseAbs2();
    auto residual = f.residual.segment(begin, m);
    residual = (residual - squares).cwiseMax(0.0);
  });
  for (Index p : f.pivots) f.l.block(p, t, 1, b).setZero();
  for (Index i = 0; i < b; ++i) {
    const Index row =
        candidates[static_cast<std::size_t>(block.accepted[static_cast<std::size_t>(i)])];
    f.l.block(row, t, 1, b) = block.triangle.row(i);
    f.residual(row) = 0.0;
    f.pivots.push_back(row);
  }
}

// The `size` rows with the largest residuals, largest first, ties by row.
inline std::vector<Index> largest_rows(const Vector& residual, Index size, double floor) {
  std::vector<Index> rows(static_cast<std::size_t>(residual.size()));
  std::iota(rows.begin(), rows.end(), Index(0));
  size = std::min(size, residual.size());
  std::partial_sort(rows.begin(), rows.begin() + size, rows.end(), [&](Index a, Index b) {
    return residual(a) != residual(b) ? residual(a) > residual(b) : a < b;
  });
  while (size > 1 && residual(rows[static_cast<std::size_t>(size - 1)]) <= floor) --size;
  rows.resize(static_cast<std::size_t>(size));
  return rows;
}

inline void collect_pivot_rows(const ConstMatrixRef& x, KernelFactor& factor) {
  factor.pivot_rows.resize(factor.rank(), x.cols());
  for (Index i = 0; i < factor.rank(); ++i) {
    factor.pivot_rows.row(i) = x.row(factor.pivots[static_cast<std::size_t>(i)]);
  }
}

}  // namespace detail

void extend_factor(const Engine& engine, const ConstMatrixRef& x, const CholeskyOptions& options,
                   KernelFactor& factor, ProgressSpan span) {
  const Index n = x.rows(), limit = std::min(options.max_rank, n);
  const Vector diagonal = gram_diagonal(factor.kernel, x);
  const double noise =
      4.0 * std::numeric_limits<double>::epsilon() * (n > 0 ? diagonal.maxCoeff() : 0.0);
  const double start = std::max(factor.residual_trace(), 1e-300);
  while (factor.rank() < limit && factor.rank() < options.enough) {
    Index largest;
    factor.full = !(factor.residual.maxCoeff(&largest) > noise);
    if (factor.full) break;
    const double trace = factor.residual_trace();
    if (trace <= options.tolerance && factor.rank() > 0) break;  // a factor has a column
    if (options.tolerance < start) {
      const double done =
          std::log(trace / start) / std::log(std::max(options.tolerance, 1e-17) / start);
      engine.progress.advance(span.from +
                              (span.to - span.from) * std::min(std::max(done, 0.0), 1.0));
    }
    if (factor.rank() < options.greedy) {
      detail::reserve_columns(factor.l, factor.rank() + 1, limit);
      detail::greedy_step(engine, x, factor, largest);
    } else {
      const Index size = std::min(options.block, limit - factor.rank());
      detail::reserve_columns(factor.l, factor.rank() + size, limit);
      detail::block_step(engine, x, factor,
                         detail::largest_rows(factor.residual, options.block, noise), size);
    }
    factor.steps.push_back({factor.rank(), factor.residual_trace()});
  }
  if (factor.rank() == n) factor.full = true;
  if (factor.steps.empty()) factor.steps.push_back({0, factor.residual_trace()});  // k(x, x) = 0
  factor.l.conservativeResize(Eigen::NoChange, factor.rank());
  detail::collect_pivot_rows(x, factor);
}

Matrix factor_features(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& pivot_rows,
                       const ConstMatrixRef& triangle, const ConstMatrixRef& x) {
  require(triangle.rows() == pivot_rows.rows() && triangle.cols() == pivot_rows.rows(),
          "A factor has a row and a column for each of its pivots.");
  Matrix out(pivot_rows.rows(), x.rows());  // transposed, so that the solve is from the left
  constexpr Index tile = 256;
  parallel_for(engine, (x.rows() + tile - 1) / tile, [&](Index b) {
    const Index begin = b * tile, size = std::min(tile, x.rows() - begin);
    gram_block(kernel, pivot_rows, x.middleRows(begin, size), out.middleCols(begin, size));
  });
  engine.dense.solve_lower(triangle, false, out);
  return out.transpose();
}

#endif

}  // namespace calibrisk

#endif
