// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over the pairs of a source H, in tiles, without storing it: all that the
// unbiased, biased and block estimators and their standard errors need. The same sums from a factor
// of the kernel: pairs/factor_sums.h.
#ifndef CALIBRISK_PAIRS_PAIR_SUMS_H
#define CALIBRISK_PAIRS_PAIR_SUMS_H

#include <calibrisk/engine.h>
#include <calibrisk/pairs/pair_source.h>
#include <calibrisk/short_work.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

struct PairSums {
  Vector off_diagonal;   // sum_{j != i} H_ij, per row
  Vector diagonal;       // H_ii
  double squares = 0.0;  // sum_{i != j} H_ij^2; of tiles alone
  double known = 0.0;    // its expectation if outcomes are drawn from the predictions
  double trace = 0.0;    // and that of the sum of the diagonal
};

// The sums over all pairs and over i = j of n rows.
struct PairTotals {
  double all = 0.0;
  double diagonal = 0.0;
  double n = 0.0;
  double unbiased() const { return (all - diagonal) / (n * (n - 1.0)); }
};

inline PairTotals totals(const PairSums& sums) {
  const double diagonal = sums.diagonal.sum();
  return {sums.off_diagonal.sum() + diagonal, diagonal, static_cast<double>(sums.diagonal.size())};
}

// Depends on n alone, so that the order of the sums does too.
inline Index pair_tile(Index n) { return n <= 2048 ? 64 : 256; }

namespace detail {

// A tile is asked for in strips, which stay in the cache until they are summed.
constexpr Index strip_columns = 32;

// Evaluations that one task may take: some hundredths of a second, so that a batch of tasks ends
// before anybody who interrupts it loses patience.
constexpr double task_evaluations = 1e6;

// h = rows begin, ..., begin + rows - 1 against columns 0, ..., cols - 1, in parallel tasks that
// are the smaller the more an entry costs.
CALIBRISK_SHARED void fill_band(const Engine& engine, const PairSource& source, Index begin,
                                MatrixRef h, ProgressSpan span);

}  // namespace detail

// Cost n^2 / 2 evaluations, memory O(n) per worker. `known`: whether the moments of the null too.
CALIBRISK_SHARED PairSums pair_sums(const Engine& engine, const PairSource& source,
                                    ProgressSpan span = {}, bool known = false);

// Totals of K_ij <d_i, d_j> where K is stored.
CALIBRISK_SHARED PairTotals pair_totals(const Engine& engine, const Matrix& k, const Matrix& d);

struct BlockSums {
  Vector unbiased;  // eta_b, the U-statistic of each block; NaN for blocks of one row
  Vector biased;    // the V-statistic of each block
  Vector squares;   // mean of H_ij^2 over the block's pairs
  Vector known;     // and its expectation under calibration
};

// The floor(n / size) consecutive blocks of `size` rows; trailing rows are left out.
// Cost n size / 2 evaluations.
CALIBRISK_SHARED BlockSums block_sums(const Engine& engine, const PairSource& source, Index size);

// H itself, for small n.
CALIBRISK_SHARED Matrix pair_matrix(const Engine& engine, const PairSource& source);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PAIRS)
namespace detail {

// One tile row of the lower triangle: rows begin.. against all rows up to their own.
inline PairSums sum_tile_row(const PairSource& source, Index begin, Index size, bool known) {
  PairSums out;
  out.off_diagonal = Vector::Zero(begin + size);
  out.diagonal = Vector::Zero(begin + size);
  Matrix strip(size, strip_columns), second(known ? size : 0, strip_columns);
  Vector rows = Vector::Zero(size);
  for (Index j = 0; j < begin + size; j += strip_columns) {
    const Index width = std::min(strip_columns, (j < begin ? begin : begin + size) - j);
    auto h = strip.leftCols(width);
    auto e = second.leftCols(width);
    if (known) {
      source.moments(begin, j, h, e);
    } else {
      source.block(begin, j, h);
    }
    double squares = 0.0;
    for (Index b = 0; b < width; ++b) {
      auto column = h.col(b);
      if (j >= begin) {
        const Index at = j + b - begin;
        out.diagonal(j + b) = column(at);
        column(at) = 0.0;
        if (known) {
          out.trace += std::sqrt(e(at, b));
          e(at, b) = 0.0;
        }
      } else {
        out.off_diagonal(j + b) = column.sum();
      }
      rows += column;
      squares += column.squaredNorm();
    }
    out.squares += j < begin ? 2.0 * squares : squares;
    if (known) out.known += (j < begin ? 2.0 : 1.0) * e.sum();
  }
  out.off_diagonal.tail(size) += rows;
  return out;
}

// Are entries so expensive that a row of a tile is too much for one task?
inline bool costly(const PairSource& source) {
  return source.cost() * 64.0 * static_cast<double>(source.size()) > 64.0 * task_evaluations;
}

void fill_band(const Engine& engine, const PairSource& source, Index begin, MatrixRef h,
               ProgressSpan span) {
  const double entries = task_evaluations / source.cost();
  const auto at_most = [](double bound, Index limit) {
    return std::max<Index>(1, static_cast<Index>(std::min(bound, static_cast<double>(limit))));
  };
  const Index width = at_most(entries, 64),
              height = at_most(entries / static_cast<double>(width), h.rows());
  const Index row_tiles = (h.rows() + height - 1) / height,
              col_tiles = (h.cols() + width - 1) / width;
  parallel_for(
      engine, row_tiles * col_tiles,
      [&](Index t) {
        const Index i = (t % row_tiles) * height, j = (t / row_tiles) * width;
        source.block(begin + i, j,
                     h.block(i, j, std::min(height, h.rows() - i), std::min(width, h.cols() - j)));
      },
      span);
}

// The same sums with the parallel loop inside a tile row; memory O(n tile).
inline PairSums sum_costly_pairs(const Engine& engine, const PairSource& source,
                                 ProgressSpan span) {
  // costly sources have no moments of their own
  const Index n = source.size(), tile = 64;
  PairSums out{Vector::Zero(n), Vector::Zero(n)};
  Matrix h(tile, n);
  const double pairs = 0.5 * static_cast<double>(n) * static_cast<double>(n);
  for (Index begin = 0; begin < n; begin += tile) {
    const Index size = std::min(tile, n - begin), width = begin + size;
    const double before = 0.5 * static_cast<double>(begin) * static_cast<double>(begin),
                 after = 0.5 * static_cast<double>(width) * static_cast<double>(width);
    const double step = span.to - span.from;
    auto band = h.topLeftCorner(size, width);
    fill_band(engine, source, begin, band,
              {span.from + step * before / pairs, span.from + step * after / pairs});
    out.diagonal.segment(begin, size) = band.rightCols(size).diagonal();
    band.rightCols(size).diagonal().setZero();
    out.off_diagonal.segment(begin, size) += band.rowwise().sum();
    out.off_diagonal.head(begin) += band.leftCols(begin).colwise().sum().transpose();
    out.squares += 2.0 * band.leftCols(begin).squaredNorm() + band.rightCols(size).squaredNorm();
  }
  out.known = out.squares;
  out.trace = out.diagonal.sum();
  return out;
}

}  // namespace detail

PairSums pair_sums(const Engine& engine, const PairSource& source, ProgressSpan span, bool known) {
  if (detail::costly(source)) return detail::sum_costly_pairs(engine, source, span);
  const Index n = source.size(), tile = pair_tile(n);
  PairSums total{Vector::Zero(n), Vector::Zero(n)};
  // an evaluation takes ten operations
  const double operations = 5.0 * source.cost() * static_cast<double>(n) * static_cast<double>(n);
  return parallel_reduce(
      engine_for(engine, operations), n, tile, std::move(total),
      [&](Index begin, Index size) { return detail::sum_tile_row(source, begin, size, known); },
      [](PairSums& sum, const PairSums& part) {
        const Index m = part.diagonal.size();
        sum.off_diagonal.head(m) += part.off_diagonal;
        sum.diagonal.head(m) += part.diagonal;
        sum.squares += part.squares;
        sum.known += part.known;
        sum.trace += part.trace;
      },
      span);
}

PairTotals pair_totals(const Engine& engine, const Matrix& k, const Matrix& d) {
  std::vector<PairSourcePtr> parts;
  parts.push_back(std::make_unique<StoredSource>(MatrixView(k.data(), k.rows(), k.cols())));
  const MatrixView view(d.data(), d.rows(), d.cols());
  parts.push_back(std::make_unique<InnerProductSource>(view, view));
  return totals(pair_sums(engine, ComposedSource(true, 1.0, std::move(parts))));
}

BlockSums block_sums(const Engine& engine, const PairSource& source, Index size) {
  require(size >= 1 && size <= source.size(), "A block has between 1 and n rows.");
  const Index n_blocks = source.size() / size;
  BlockSums out{Vector(n_blocks), Vector(n_blocks), Vector(n_blocks), Vector(n_blocks)};
  const double n = static_cast<double>(size), n_pairs = n * (n - 1.0);
  auto store = [&](Index b, double off_diagonal, double diagonal, double squares, double known) {
    out.unbiased(b) = off_diagonal / n_pairs;
    out.biased(b) = (off_diagonal + diagonal) / (n * n);
    out.squares(b) = squares / n_pairs;
    out.known(b) = known / n_pairs;
  };
  const double block_cost = source.cost() * n * n;
  if (size > 256 || block_cost > detail::task_evaluations) {  // parallel inside each
    for (Index b = 0; b < n_blocks; ++b) {
      const PairSums sums = pair_sums(engine, SliceSource(source, b * size, size),
                                      ProgressSpan{}.part(b, n_blocks), true);
      store(b, sums.off_diagonal.sum(), sums.diagonal.sum(), sums.squares, sums.known);
    }
    return out;
  }
  const Index per_task = std::max<Index>(
      1, std::min(4096 / (size * size), static_cast<Index>(detail::task_evaluations / block_cost)));
  parallel_for(engine, (n_blocks + per_task - 1) / per_task, [&](Index t) {
    Matrix h(size, size), second(size, size);
    const Index end = std::min(n_blocks, (t + 1) * per_task);
    for (Index b = t * per_task; b < end; ++b) {
      source.moments(b * size, b * size, h, second);
      const double diagonal = h.diagonal().sum();
      h.diagonal().setZero();
      second.diagonal().setZero();
      store(b, h.sum(), diagonal, h.squaredNorm(), second.sum());
    }
  });
  return out;
}

Matrix pair_matrix(const Engine& engine, const PairSource& source) {
  const Index n = source.size(), tile = pair_tile(n), n_tiles = (n + tile - 1) / tile;
  Matrix out(n, n);
  if (detail::costly(source)) {
    for (Index t = 0; t < n_tiles; ++t) {
      const Index i = t * tile, m = std::min(tile, n - i);
      const double done = static_cast<double>(i) / static_cast<double>(n),
                   next = static_cast<double>(i + m) / static_cast<double>(n);
      detail::fill_band(engine, source, i, out.block(i, 0, m, i + m), {done * done, next * next});
      out.block(0, i, i, m) = out.block(i, 0, m, i).transpose();
    }
    return out;
  }
  parallel_for(engine, n_tiles, [&](Index a) {
    const Index i = a * tile, m = std::min(tile, n - i);
    for (Index j = 0; j <= i; j += tile) {
      const Index k = std::min(tile, n - j);
      source.block(i, j, out.block(i, j, m, k));
      if (i != j) out.block(j, i, k, m) = out.block(i, j, m, k).transpose();
    }
  });
  return out;
}
#endif

}  // namespace calibrisk

#endif
