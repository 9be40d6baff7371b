// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over pairs of rows that the variance of a rung on local bases needs. They come from the
// n x n matrix of rows, from products of all columns as a dense matrix, or from sparse blocks of
// pairs of coordinates, whichever costs least; where that is too much, from random vectors.
#ifndef CALIBRISK_LADDER_LOCAL_SUMS_H
#define CALIBRISK_LADDER_LOCAL_SUMS_H

#include <calibrisk/ladder/random_sums.h>

#include <array>

namespace calibrisk {

namespace detail {

// What row i counts in coordinate j, times 1, a or the root of a.
class RowFactors {
 public:
  RowFactors(const std::vector<LocalCoordinate>& parts, const ConstMatrixRef& residuals,
             const RowWeights& weights)
      : parts_(parts), residuals_(residuals), weights_(weights) {}

  double plain(Index i, Index j) const { return weights_.root(i) * residuals_(i, j); }
  double scaled(Index i, Index j) const { return scale(i, j) * plain(i, j); }
  double rooted(Index i, Index j) const { return std::sqrt(scale(i, j)) * plain(i, j); }

 private:
  double scale(Index i, Index j) const { return parts_[static_cast<std::size_t>(j)].scale(i); }

  const std::vector<LocalCoordinate>& parts_;
  const ConstMatrixRef residuals_;
  const RowWeights& weights_;
};

// Blocks of a pair of coordinates, with the weights 1, a of the left, a of the right, both, and the
// root of both.
using PairBlocks = std::array<Matrix, 5>;

inline PairBlocks pair_blocks(const Engine& engine, const LocalBasis& left, const LocalBasis& right,
                              const LocalCoordinate& x, const LocalCoordinate& y,
                              const ConstVectorRef& e, const ConstVectorRef& f,
                              const RowWeights& weights, bool exact) {
  PairBlocks zero;
  for (int b = exact ? 0 : 4; b < 5; ++b) {
    zero[static_cast<std::size_t>(b)] = Matrix::Zero(left.columns(), right.columns());
  }
  const auto of_rows = [&](Index begin, Index size) {
    PairBlocks out = zero;
    LocalRow p, q;
    for (Index i = begin; i < begin + size; ++i) {
      const double v = weights.each(i), base = weights.copies(i) * v * v * e(i) * f(i);
      if (base == 0.0) continue;
      left.row(i, p);
      right.row(i, q);
      const double a = x.scale(i), c = y.scale(i), root = std::sqrt(a * c);
      for (int t = 0; t < q.size; ++t) {
        const double right_value = base * q.value[t];
        for (int s = 0; s < p.size; ++s) {
          const double term = right_value * p.value[s];
          const Index r = p.column[s], k = q.column[t];
          out[4](r, k) += root * term;
          if (exact) {
            out[0](r, k) += term;
            out[1](r, k) += a * term;
            out[2](r, k) += c * term;
            out[3](r, k) += a * c * term;
          }
        }
      }
    }
    return out;
  };
  PairBlocks out = parallel_reduce(engine, e.size(), rung_block, zero, of_rows,
                                   [](PairBlocks& total, const PairBlocks& part) {
                                     for (std::size_t b = 0; b < total.size(); ++b) {
                                       total[b] += part[b];
                                     }
                                   });
  for (int b = exact ? 0 : 4; b < 5; ++b) {
    Matrix& block = out[static_cast<std::size_t>(b)];
    block = x.whitener * block * y.whitener.transpose();
  }
  return out;
}

// Some coordinates in a row, with the nonzero values of all rows times right(l, j).
struct TableColumns {
  std::size_t first = 0, last = 0;
  Index columns = 0;
  std::vector<Matrix> inverses;  // of the Gram matrices
  SparseRows rows;

  template <class Right>
  TableColumns(const std::vector<LocalBasis>& bases, const std::vector<LocalCoordinate>& parts,
               std::size_t from, Index n, const Right& right)
      : first(from), last(from) {
    constexpr Index most = 64;  // a table of 32 kB, which stays in the first cache
    for (; last < bases.size(); ++last) {
      if (last > first && columns + bases[last].columns() > most) break;
      columns += bases[last].columns();
      inverses.push_back(parts[last].whitener.transpose() * parts[last].whitener);
    }
    LocalRow row;
    rows.begin.push_back(0);
    for (Index l = 0; l < n; ++l) {
      Index begin = 0;
      for (std::size_t j = first; j < last; ++j) {
        bases[j].row(l, row);
        const double factor = right(l, static_cast<Index>(j));
        for (int a = 0; a < row.size && factor != 0.0; ++a) {
          rows.column.push_back(static_cast<std::int32_t>(begin + row.column[a]));
          rows.value.push_back(factor * row.value[a]);
        }
        begin += bases[j].columns();
      }
      rows.row.push_back(static_cast<std::int32_t>(l));
      rows.begin.push_back(rows.column.size());
    }
  }

  // left(i, j) times the smooth of each row of a tile, [row_tile x columns].
  template <class Left>
  Matrix table(const std::vector<LocalBasis>& bases, Index begin, Index size,
               const Left& left) const {
    Matrix smooth = Matrix::Zero(columns, row_tile);
    LocalRow row;
    for (Index r = 0; r < size; ++r) {
      Index at = 0;
      for (std::size_t j = first; j < last; ++j) {
        const Matrix& inverse = inverses[j - first];
        bases[j].row(begin + r, row);
        const double factor = left(begin + r, static_cast<Index>(j));
        for (int a = 0; a < row.size; ++a) {
          smooth.col(r).segment(at, inverse.cols()) +=
              factor * row.value[a] * inverse.col(row.column[a]);
        }
        at += inverse.cols();
      }
    }
    return smooth.transpose();
  }
};

// M_il = sum_j left(i, j) right(l, j) <b_ij, b_lj> of all pairs of rows, in the orthonormal basis
// of each coordinate; as `symmetric`, with left = right, the half of it that has i >= l.
template <class Left, class Right>
Matrix row_pair_products(const Engine& engine, const std::vector<LocalBasis>& bases,
                         const std::vector<LocalCoordinate>& parts, Index n, bool symmetric,
                         const Left& left, const Right& right) {
  constexpr std::size_t most_values = std::size_t{1} << 21;  // held at a time
  const Index n_tiles = (n + row_tile - 1) / row_tile;
  std::vector<Matrix> tiles(static_cast<std::size_t>(n_tiles), Matrix::Zero(row_tile, n));
  for (std::size_t next = 0; next < bases.size();) {
    std::vector<TableColumns> held;
    for (std::size_t values = 0; next < bases.size() && values < most_values;) {
      held.emplace_back(bases, parts, next, n, right);
      values += held.back().rows.value.size();
      next = held.back().last;
    }
    parallel_for(engine, n_tiles, [&](Index t) {
      const Index begin = t * row_tile, size = std::min(row_tile, n - begin);
      double* tile = tiles[static_cast<std::size_t>(t)].data();
      for (const TableColumns& of : held) {
        const Matrix table = of.table(bases, begin, size, left);
        add_row_tile({table.data(), &of.rows, symmetric ? begin + size : n, tile});
      }
    });
  }
  Matrix out(n, n);
  for (Index t = 0; t < n_tiles; ++t) {
    const Index size = std::min(row_tile, n - t * row_tile);
    Matrix& tile = tiles[static_cast<std::size_t>(t)];
    out.middleRows(t * row_tile, size) = tile.topRows(size);
    tile.resize(0, 0);
  }
  return out;
}

// The sums over pairs from n x n matrices of rows: |S|^2 and tr S^3 are those of the columns, and
// <T2, T0> = |M|^2, <T1, T1'> = <M, M'> with M = sum_j X_j (A_j X_j)'.
inline void sums_of_rows(const Engine& engine, const std::vector<LocalBasis>& bases,
                         const std::vector<LocalCoordinate>& parts, const ConstMatrixRef& residuals,
                         const RowWeights& weights, RungSums& sums) {
  const Index n = residuals.rows();
  const RowFactors factors(parts, residuals, weights);
  const auto rooted = [&](Index i, Index j) { return factors.rooted(i, j); };
  if (sums.exact) {
    const Matrix pairs = row_pair_products(
        engine, bases, parts, n, false, [&](Index i, Index j) { return factors.plain(i, j); },
        [&](Index i, Index j) { return factors.scaled(i, j); });
    sums.t20 = pairs.squaredNorm();
    sums.t11 = pairs.cwiseProduct(pairs.transpose()).sum();
  }
  Matrix s = row_pair_products(engine, bases, parts, n, true, rooted, rooted);
  s.triangularView<Eigen::StrictlyUpper>() = s.transpose();
  sums.s2 = s.squaredNorm();
  sums.s3 = trace_cube(engine, s);
}

// The sums over pairs from products of all columns, blocks of rows in a dense matrix.
inline void sums_of_dense(const Engine& engine, const std::vector<LocalBasis>& bases,
                          const std::vector<LocalCoordinate>& parts,
                          const ConstMatrixRef& residuals, const RowWeights& weights,
                          RungSums& sums) {
  const Index n = residuals.rows();
  const RowFactors factors(parts, residuals, weights);
  std::vector<Index> first(bases.size() + 1, 0);
  for (std::size_t j = 0; j < bases.size(); ++j) first[j + 1] = first[j] + parts[j].whitener.rows();
  const Index columns = first.back(), block = std::max<Index>(64, 1000000 / columns);
  Matrix s = Matrix::Zero(columns, columns), t0, t1, t2;
  if (sums.exact) t0 = t1 = t2 = s;
  for (Index begin = 0; begin < n; begin += block) {
    const Index size = std::min(block, n - begin);
    Matrix plain(size, columns), scaled(size, columns), rooted(size, columns);
    parallel_for(engine, static_cast<Index>(bases.size()), [&](Index j) {
      const auto at = static_cast<std::size_t>(j);
      const Index width = first[at + 1] - first[at];
      LocalRow row;
      Vector value(width);
      for (Index i = 0; i < size; ++i) {
        bases[at].row(begin + i, row);
        value.setZero();
        for (int a = 0; a < row.size; ++a) {
          value += row.value[a] * parts[at].whitener.col(row.column[a]);
        }
        rooted.row(i).segment(first[at], width) = factors.rooted(begin + i, j) * value;
        if (!sums.exact) continue;
        plain.row(i).segment(first[at], width) = factors.plain(begin + i, j) * value;
        scaled.row(i).segment(first[at], width) = factors.scaled(begin + i, j) * value;
      }
    });
    s += engine.dense.crossprod(rooted);
    if (!sums.exact) continue;
    t0 += engine.dense.crossprod(plain);
    t1 += engine.dense.multiply_at_b(plain, scaled);
    t2 += engine.dense.crossprod(scaled);
  }
  sums.t20 = sums.exact ? t2.cwiseProduct(t0).sum() : 0.0;
  sums.t11 = sums.exact ? t1.cwiseProduct(t1.transpose()).sum() : 0.0;
  sums.s2 = s.squaredNorm();
  sums.s3 = trace_cube(engine, s);
}

// The sums over pairs from blocks of pairs of coordinates.
inline void sums_of_columns(const Engine& engine, const std::vector<LocalBasis>& bases,
                            const std::vector<LocalCoordinate>& parts,
                            const ConstMatrixRef& residuals, const RowWeights& weights,
                            RungSums& sums) {
  const Index d = residuals.cols();
  std::vector<Index> first(bases.size() + 1, 0);
  for (std::size_t j = 0; j < bases.size(); ++j) first[j + 1] = first[j] + parts[j].whitener.rows();
  Matrix s(first.back(), first.back());
  struct PairSums {
    double t20 = 0.0, t11 = 0.0, s2 = 0.0;
  };
  std::vector<std::pair<Index, Index>> pairs;
  for (Index j = 0; j < d; ++j) {
    for (Index l = j; l < d; ++l) pairs.emplace_back(j, l);
  }
  std::vector<PairSums> found(pairs.size());
  for_columns(engine, static_cast<Index>(pairs.size()), [&](const Engine& within, Index task) {
    const auto at = static_cast<std::size_t>(task);
    const auto j = static_cast<std::size_t>(pairs[at].first);
    const auto l = static_cast<std::size_t>(pairs[at].second);
    const PairBlocks blocks =
        pair_blocks(within, bases[j], bases[l], parts[j], parts[l], residuals.col(pairs[at].first),
                    residuals.col(pairs[at].second), weights, sums.exact);
    const double twice = j == l ? 1.0 : 2.0;
    if (sums.exact) {
      found[at].t20 = twice * blocks[3].cwiseProduct(blocks[0]).sum();
      found[at].t11 = twice * blocks[1].cwiseProduct(blocks[2]).sum();
    }
    found[at].s2 = twice * blocks[4].squaredNorm();
    s.block(first[j], first[l], blocks[4].rows(), blocks[4].cols()) = blocks[4];
    if (j != l) {
      s.block(first[l], first[j], blocks[4].cols(), blocks[4].rows()) = blocks[4].transpose();
    }
  });
  for (const PairSums& of : found) {
    sums.t20 += of.t20;
    sums.t11 += of.t11;
    sums.s2 += of.s2;
  }
  sums.s3 = trace_cube(engine, s);
}

// `columns`: of all coordinates, without those that are dropped.
inline void sums_of_pairs(const Engine& engine, const std::vector<LocalBasis>& bases,
                          const std::vector<LocalCoordinate>& parts,
                          const ConstMatrixRef& residuals, const RowWeights& weights, Index columns,
                          RungSums& sums) {
  const Index n = residuals.rows(), d = residuals.cols();
  const bool few_rows = n < columns && n <= 10 * d && n <= bound_columns;
  double values = 0.0;
  for (const LocalBasis& basis : bases) values += basis.values();
  // nanoseconds, measured: of a value of a pair of rows, of a product, of a value of a sparse
  // block, of a value of a row with random vectors, and how long exact sums may take
  constexpr double of_tile = 0.05, of_product = 0.06, of_block = 1.2, of_vectors = 60.0;
  constexpr double longest = 3e8;
  const double rows = static_cast<double>(n), k = static_cast<double>(columns);
  const double cube = of_product / 2.0;
  const double by_rows =
      rows * rows * values * (sums.exact ? 1.5 : 0.5) * of_tile + cube * rows * rows * rows;
  const double by_dense = rows * k * k * (sums.exact ? 2.5 : 0.5) * of_product + cube * k * k * k;
  const double by_blocks =
      rows * values * values / 2.0 * (sums.exact ? 5.0 : 1.0) * of_block + cube * k * k * k;
  const double by_columns = std::min(by_dense, by_blocks);
  const bool of_rows = few_rows || (d > 1 && n <= bound_columns && by_rows < by_columns);
  const double least = of_rows ? by_rows : by_columns;
  const bool too_large = columns > bound_columns && !few_rows;
  if (too_large || (least > longest && least > 2.0 * rows * values * of_vectors)) {
    sums_of_random_vectors(engine, bases, parts, residuals, weights, sums);
  } else if (of_rows) {
    sums_of_rows(engine, bases, parts, residuals, weights, sums);
  } else if (d > 1 && by_dense < by_blocks) {
    sums_of_dense(engine, bases, parts, residuals, weights, sums);
  } else {
    sums_of_columns(engine, bases, parts, residuals, weights, sums);
  }
}

}  // namespace detail

}  // namespace calibrisk

#endif
