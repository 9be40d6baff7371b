// SPDX-License-Identifier: GPL-3.0-or-later
// The quadratic path: the risk of any function h(p_i, p_j) as a sum over ordered pairs
// i != j of (<e_i, e_j> - h_ij)^2, in tiles. No m x m matrix is ever held. Products of a
// tile go to the host's BLAS on the main thread, its squares to the workers.
#ifndef CALIBRISK_PAIR_TILES_H
#define CALIBRISK_PAIR_TILES_H

#include <calibrisk/pair_statistics.h>

#include <cmath>
#include <functional>

namespace calibrisk {

struct RiskNumbers {
  Index n_obs = 0;
  double risk = not_a_number;
  double zero_risk = not_a_number;  // of h = 0 on the same rows
  double n_missing = 0;             // ordered pairs, diagonal included, where h is NaN
  bool clipped = false;             // R was negative by rounding and is set to 0
};

struct PairRisk : RiskNumbers {
  Vector projections;  // r_i, mean R; NaN for rows that were left out
  Vector zero_projections;
  Vector squared;  // h(p_i, p_i)
};

// A host's memory for the rows of a risk, which then need no copy.
struct RiskRows {
  VectorRef projections, zero_projections, squared;
};

// The risk of n rows, from write(rows), which returns its numbers.
template <class Write>
PairRisk owned_risk(Index n, const Write& write) {
  PairRisk out;
  for (Vector* rows : {&out.projections, &out.zero_projections, &out.squared}) rows->resize(n);
  static_cast<RiskNumbers&>(out) =
      write(RiskRows{out.projections, out.zero_projections, out.squared});
  return out;
}

// Writes the rows of a risk and returns its numbers.
inline RiskNumbers write_rows(const PairRisk& risk, RiskRows rows) {
  rows.projections = risk.projections;
  rows.zero_projections = risk.zero_projections;
  rows.squared = risk.squared;
  return risk;
}

namespace detail {

inline void finish(RiskNumbers& out, VectorRef projections, VectorRef zero_projections) {
  if (out.n_obs < 2) {
    projections.setConstant(not_a_number);
    zero_projections.setConstant(not_a_number);
  }
  if (out.risk < 0) {
    out.risk = 0;
    out.clipped = true;
  }
  if (out.zero_risk < 0) out.zero_risk = 0;
}

inline void finish(PairRisk& out) { finish(out, out.projections, out.zero_projections); }

constexpr Index tile_size = 1024;
constexpr Index strip_size = 64;  // columns of a tile per task
constexpr Index flip_size = 16;   // columns of a transposed piece, small enough for the cache

}  // namespace detail

// Symmetric h = phi'M phi: one product [E, -Phi M][E, Phi]' per tile of the lower triangle.
CALIBRISK_SHARED PairRisk pair_risk_tiled(const Engine& engine, const ConstMatrixRef& residuals,
                                          const ConstMatrixRef& features,
                                          const ConstMatrixRef& core);

// h(p_i, p_j) for a tile whose first row, first column and size are given; called on the
// main thread, its result is read until the next call.
using PairTile = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
using PairTiles = std::function<PairTile(Index row, Index col, Index n_rows, Index n_cols)>;

// Any h, symmetric or not. Missing (NaN) values make the risk NaN, or are left out with
// `skip_missing`: then the mean is over the pairs that are there, rows without any are dropped.
CALIBRISK_SHARED PairRisk pair_risk_of_function(const Engine& engine,
                                                const ConstMatrixRef& residuals,
                                                const PairTiles& tiles, bool skip_missing);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RISKS)
namespace detail {

// Per row i: the sum over j of (l_ij + l_ji) / 2, and how many of these pairs are missing.
struct LossSums {
  Vector loss;
  Vector missing;
  Index n_missing = 0;

  explicit LossSums(Index n_obs) : loss(Vector::Zero(n_obs)), missing(Vector::Zero(n_obs)) {}
};

// One strip's sums over rows and columns; strips are merged in order.
struct StripSums {
  Vector row, row_missing;
  Vector col, col_missing;
  Index n_missing = 0;

  StripSums() = default;
  StripSums(Index n_rows, Index n_cols) : row(Vector::Zero(n_rows)), col(Vector::Zero(n_cols)) {}

  // differences: <e_i, e_j> - h_ij down one column of the tile.
  void add_column(Index c, VectorRef differences) {
    double sum = differences.squaredNorm();
    if (std::isnan(sum)) {
      if (row_missing.size() == 0) {
        row_missing = Vector::Zero(row.size());
        col_missing = Vector::Zero(col.size());
      }
      for (Index k = 0; k < differences.size(); ++k) {
        if (!std::isnan(differences[k])) continue;
        differences[k] = 0;
        row_missing[k] += 1;
        col_missing[c] += 1;
        ++n_missing;
      }
      sum = differences.squaredNorm();
    }
    row.array() += differences.array().square();
    col[c] += sum;
  }
};

// Adds a tile at rows i.., columns j..; fill(strip begin, size, buffer) writes its
// differences for some columns. Each pair counts `weight` towards its row and its column.
template <class Fill>
void add_tile(const Engine& engine, Index i, Index j, Index n_rows, Index n_cols, double weight,
              const Fill& fill, LossSums& sums) {
  const Index n_strips = (n_cols + strip_size - 1) / strip_size;
  std::vector<StripSums> strips(static_cast<std::size_t>(n_strips));
  engine.executor.run(n_strips, [&](Index s) {
    const Index begin = s * strip_size, size = std::min(strip_size, n_cols - begin);
    StripSums strip(n_rows, size);
    fill(begin, size, strip);
    strips[static_cast<std::size_t>(s)] = std::move(strip);
  });
  for (Index s = 0; s < n_strips; ++s) {
    const StripSums& strip = strips[static_cast<std::size_t>(s)];
    const Index begin = j + s * strip_size;
    sums.loss.segment(i, n_rows) += weight * strip.row;
    sums.loss.segment(begin, strip.col.size()) += weight * strip.col;
    if (strip.n_missing == 0) continue;
    sums.missing.segment(i, n_rows) += weight * strip.row_missing;
    sums.missing.segment(begin, strip.col.size()) += weight * strip.col_missing;
    sums.n_missing += strip.n_missing;
  }
}

inline Index tile_at(Index tile) { return tile * tile_size; }

inline Index tile_count(Index n_obs) { return (n_obs + tile_size - 1) / tile_size; }

inline void advance(const Engine& engine, Index row_tile, Index n_tiles) {
  const double done = static_cast<double>(row_tile + 1) / static_cast<double>(n_tiles);
  engine.progress.advance(done * done);
}

// |S|^2 and the baseline's projections need the residuals alone.
inline void add_zero_risk(const Engine& engine, const ConstMatrixRef& residuals, PairRisk& out) {
  const Matrix gram = pair_statistics(engine, residuals, Matrix(residuals.rows(), 0)).residual;
  const Vector lengths = row_products(engine, residuals, Matrix(0, 0), residuals);
  const Vector fourth = lengths.array().square();
  const Vector losses = row_products(engine, residuals, gram, residuals);
  out.zero_projections = pair_risk_rows(losses, fourth);
  out.zero_risk =
      pair_risk_value(losses.sum(), fourth.sum(), static_cast<double>(residuals.rows()));
}

}  // namespace detail

PairRisk pair_risk_tiled(const Engine& engine, const ConstMatrixRef& residuals,
                         const ConstMatrixRef& features, const ConstMatrixRef& core) {
  using namespace detail;
  const Index m = residuals.rows(), d = residuals.cols(), r = features.cols();
  PairRisk out;
  out.n_obs = m;
  Matrix left(m, d + r), right(m, d + r);
  left.leftCols(d) = residuals;
  right << residuals, features;
  if (core.size() == 0) {
    left.rightCols(r) = -features;
  } else {
    engine.dense.gemm(false, false, -1.0, features, core, 0.0, left.rightCols(r));
  }
  out.squared = -row_products(engine, left.rightCols(r), Matrix(0, 0), features);

  LossSums sums(m);
  Matrix tile;
  for (Index a = 0; a < tile_count(m); ++a) {
    const Index i = tile_at(a), n_rows = std::min(tile_size, m - i);
    for (Index b = 0; b <= a; ++b) {
      const Index j = tile_at(b), n_cols = std::min(tile_size, m - j);
      tile.resize(n_rows, n_cols);
      engine.dense.gemm(false, true, 1.0, left.middleRows(i, n_rows), right.middleRows(j, n_cols),
                        0.0, tile);
      if (a == b) tile.diagonal().setZero();
      add_tile(
          engine, i, j, n_rows, n_cols, a == b ? 0.5 : 1.0,
          [&](Index begin, Index size, StripSums& strip) {
            for (Index c = 0; c < size; ++c) strip.add_column(c, tile.col(begin + c));
          },
          sums);
    }
    advance(engine, a, tile_count(m));
  }
  add_zero_risk(engine, residuals, out);
  out.projections = sums.loss / (static_cast<double>(m) - 1.0);
  if (m >= 2) out.risk = out.projections.sum() / static_cast<double>(m);
  finish(out);
  return out;
}

PairRisk pair_risk_of_function(const Engine& engine, const ConstMatrixRef& residuals,
                               const PairTiles& tiles, bool skip_missing) {
  using namespace detail;
  const Index m = residuals.rows();
  PairRisk out;
  out.n_obs = m;
  out.squared.resize(m);
  LossSums sums(m);
  Index missing_diagonal = 0;
  Matrix inner;
  for (Index a = 0; a < tile_count(m); ++a) {
    const Index i = tile_at(a), n_rows = std::min(tile_size, m - i);
    for (Index b = 0; b <= a; ++b) {
      const Index j = tile_at(b), n_cols = std::min(tile_size, m - j);
      inner.resize(n_rows, n_cols);
      engine.dense.gemm(false, true, 1.0, residuals.middleRows(i, n_rows),
                        residuals.middleRows(j, n_cols), 0.0, inner);
      const PairTile lower = tiles(i, j, n_rows, n_cols);
      if (a == b) {
        out.squared.segment(i, n_rows) = lower.diagonal();
        missing_diagonal += lower.diagonal().array().isNaN().count();
      }
      add_tile(
          engine, i, j, n_rows, n_cols, 0.5,
          [&](Index begin, Index size, StripSums& strip) {
            Vector differences(n_rows);
            for (Index c = 0; c < size; ++c) {
              differences = inner.col(begin + c) - lower.col(begin + c);
              if (a == b) differences[begin + c] = 0;  // no pair with itself
              strip.add_column(c, differences);
            }
          },
          sums);
      if (a == b) continue;
      const PairTile upper = tiles(j, i, n_cols, n_rows);
      add_tile(
          engine, j, i, n_cols, n_rows, 0.5,
          [&](Index begin, Index size, StripSums& strip) {
            Matrix differences(n_cols, flip_size);
            for (Index first = 0; first < size; first += flip_size) {
              const Index count = std::min(flip_size, size - first);
              differences.leftCols(count) = inner.middleRows(begin + first, count).transpose();
              for (Index c = 0; c < count; ++c) {
                differences.col(c) -= upper.col(begin + first + c);
                strip.add_column(first + c, differences.col(c));
              }
            }
          },
          sums);
    }
    advance(engine, a, tile_count(m));
  }
  add_zero_risk(engine, residuals, out);
  out.n_missing = static_cast<double>(sums.n_missing + missing_diagonal);
  const double rest = static_cast<double>(m) - 1.0;
  if (sums.n_missing == 0) {
    out.projections = sums.loss / rest;
    if (m >= 2) out.risk = out.projections.sum() / static_cast<double>(m);
    finish(out);
    return out;
  }
  out.projections = Vector::Constant(m, not_a_number);
  if (!skip_missing) return out;

  // R = sum of losses / number of pairs, a ratio; its projection is
  // R + (a_i - R w_i) / mean(w), a_i the losses and w_i the pairs of row i.
  const Vector pairs = rest - sums.missing.array();
  std::vector<Index> kept;
  for (Index k = 0; k < m; ++k) {
    if (pairs[k] > 0) kept.push_back(k);
  }
  out.n_obs = static_cast<Index>(kept.size());
  if (kept.empty()) return out;
  const double n_pairs = pairs.sum(), mean_pairs = n_pairs / static_cast<double>(kept.size());
  out.risk = sums.loss.sum() / n_pairs;
  Matrix kept_residuals(out.n_obs, residuals.cols());
  for (Index k = 0; k < out.n_obs; ++k) {
    const Index row = kept[static_cast<std::size_t>(k)];
    out.projections[row] = out.risk + (sums.loss[row] - out.risk * pairs[row]) / mean_pairs;
    kept_residuals.row(k) = residuals.row(row);
  }
  PairRisk zero;  // the baseline on the same rows
  add_zero_risk(engine, kept_residuals, zero);
  out.zero_risk = zero.zero_risk;
  out.zero_projections = Vector::Constant(m, not_a_number);
  for (Index k = 0; k < out.n_obs; ++k) {
    out.zero_projections[kept[static_cast<std::size_t>(k)]] = zero.zero_projections[k];
  }
  return out;
}
#endif

}  // namespace calibrisk

#endif
