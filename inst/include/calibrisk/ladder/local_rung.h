// SPDX-License-Identifier: GPL-3.0-or-later
// A rung on local bases. Each row has a few nonzero values, so that Gram matrices, leverages,
// smooths and all sums over pairs come from scattered sums and k x k products: linear in the rows,
// and never an n x k matrix.
#ifndef CALIBRISK_LADDER_LOCAL_RUNG_H
#define CALIBRISK_LADDER_LOCAL_RUNG_H

#include <calibrisk/ladder/local_basis.h>
#include <calibrisk/ladder/rung.h>

#include <array>

namespace calibrisk {

namespace detail {

// b_i' W b_i and the like, over the nonzero values of a row.
inline double quadratic(const LocalRow& row, const Matrix& w) {
  double out = 0.0;
  for (int a = 0; a < row.size; ++a) {
    double sum = 0.0;
    for (int b = 0; b < row.size; ++b) sum += w(row.column[b], row.column[a]) * row.value[b];
    out += sum * row.value[a];
  }
  return out;
}

inline double linear(const LocalRow& row, const Vector& c) {
  double out = 0.0;
  for (int a = 0; a < row.size; ++a) out += c(row.column[a]) * row.value[a];
  return out;
}

// The Gram matrix of the rows with uses(i).
template <class Uses>
Matrix local_gram(const Engine& engine, const LocalBasis& basis, Index n, const RowWeights& weights,
                  const Uses& uses) {
  const Index k = basis.columns();
  return parallel_reduce(
      engine, n, rung_block, Matrix(Matrix::Zero(k, k)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, k);
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          if (!uses(i)) continue;
          basis.row(i, row);
          const double v = weights(i);
          for (int a = 0; a < row.size; ++a) {
            for (int b = 0; b < row.size; ++b) {
              part(row.column[b], row.column[a]) += v * row.value[a] * row.value[b];
            }
          }
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
}

// The result of one coordinate: its smooth without the row, and the input of pairs of coordinates.
struct LocalCoordinate {
  Matrix whitener;  // [kept x columns]
  Vector scale;     // [n] a
  Vector weights;   // of its columns, for gaps of new rows
  Vector own;       // [n] e^2 |b|^2, of the orthonormal basis, where it is asked for
};

// `half` is empty where moments are not asked for.
inline LocalCoordinate smooth_coordinate(const Engine& engine, const LocalBasis& basis,
                                         const ConstVectorRef& e, const RowWeights& weights,
                                         VectorRef gap, VectorRef half) {
  const Index n = e.size(), k = basis.columns();
  const auto add = [](auto& total, const auto& part) { total += part; };
  LocalCoordinate out;
  const auto all = [](Index) { return true; };
  out.whitener = whitening(local_gram(engine, basis, n, weights, all));
  const Matrix inverse = out.whitener.transpose() * out.whitener;

  out.scale.resize(n);
  const bool moments = half.size() > 0;
  if (moments) out.own.resize(n);
  Vector leverage(n);
  // of e, and of a e
  const Matrix sums = parallel_reduce(
      engine, n, rung_block, Matrix(Matrix::Zero(k, 2)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, 2);
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          basis.row(i, row);
          const double norm = quadratic(row, inverse);
          leverage(i) = weights.each(i) * norm;
          out.scale(i) = left_out_scale(leverage(i));
          if (moments) out.own(i) = e(i) * e(i) * norm;
          const double term = weights(i) * e(i);
          for (int a = 0; a < row.size; ++a) {
            part(row.column[a], 0) += term * row.value[a];
            part(row.column[a], 1) += term * out.scale(i) * row.value[a];
          }
        }
        return part;
      },
      add);
  out.weights = inverse * sums.col(0);
  const Vector scaled_weights = inverse * sums.col(1);
  parallel_for(engine, (n + rung_block - 1) / rung_block, [&](Index task) {
    LocalRow row;
    for (Index i = task * rung_block; i < std::min(n, (task + 1) * rung_block); ++i) {
      basis.row(i, row);
      gap(i) = out.scale(i) * (linear(row, out.weights) - leverage(i) * e(i));
      if (!moments) continue;
      const double scaled = linear(row, scaled_weights) - leverage(i) * out.scale(i) * e(i);
      half(i) = e(i) * (gap(i) + scaled) / 2.0;
    }
  });
  return out;
}

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

// M_il = sum_j left(i, j) right(l, j) <b_ij, b_lj> of all pairs of rows, in the orthonormal basis
// of each coordinate; as `symmetric`, with left = right, the half of it that has i >= l.
template <class Left, class Right>
Matrix row_pair_products(const Engine& engine, const std::vector<LocalBasis>& bases,
                         const std::vector<LocalCoordinate>& parts, Index n, bool symmetric,
                         const Left& left, const Right& right) {
  constexpr Index panel = 64;
  Matrix out = Matrix::Zero(n, n);
  for (std::size_t j = 0; j < bases.size(); ++j) {
    const auto at = static_cast<Index>(j);
    const Matrix inverse = parts[j].whitener.transpose() * parts[j].whitener;
    Matrix smooth = Matrix::Zero(inverse.cols(), n);
    LocalRow own;
    for (Index i = 0; i < n; ++i) {
      bases[j].row(i, own);
      const double factor = left(i, at);
      for (int a = 0; a < own.size; ++a) {
        smooth.col(i) += factor * own.value[a] * inverse.col(own.column[a]);
      }
    }
    const Matrix columns = smooth.transpose();
    parallel_for(engine, (n + panel - 1) / panel, [&](Index task) {
      LocalRow row;
      for (Index l = task * panel; l < std::min(n, (task + 1) * panel); ++l) {
        const double factor = right(l, at);
        if (factor == 0.0) continue;
        bases[j].row(l, row);
        const Index size = symmetric ? n - l : n;
        for (int a = 0; a < row.size; ++a) {
          out.col(l).tail(size) += factor * row.value[a] * columns.col(row.column[a]).tail(size);
        }
      }
    });
  }
  return out;
}

// The sums over pairs from n x n matrices of rows: |S|^2 and tr S^3 are those of the columns, and
// <T2, T0> = |M|^2, <T1, T1'> = <M, M'> with M = sum_j X_j (A_j X_j)'.
inline void sums_of_rows(const Engine& engine, const std::vector<LocalBasis>& bases,
                         const std::vector<LocalCoordinate>& parts, const ConstMatrixRef& residuals,
                         const RowWeights& weights, RungSums& sums) {
  const Index n = residuals.rows();
  const auto plain = [&](Index i, Index j) {
    return std::sqrt(weights.copies(i)) * weights.each(i) * residuals(i, j);
  };
  const auto scaled = [&](Index i, Index j) {
    return parts[static_cast<std::size_t>(j)].scale(i) * plain(i, j);
  };
  const auto rooted = [&](Index i, Index j) {
    return std::sqrt(parts[static_cast<std::size_t>(j)].scale(i)) * plain(i, j);
  };
  if (sums.exact) {
    const Matrix pairs = row_pair_products(engine, bases, parts, n, false, plain, scaled);
    sums.t20 = pairs.squaredNorm();
    sums.t11 = pairs.cwiseProduct(pairs.transpose()).sum();
  }
  Matrix s = row_pair_products(engine, bases, parts, n, true, rooted, rooted);
  s.triangularView<Eigen::StrictlyUpper>() = s.transpose();
  sums.s2 = s.squaredNorm();
  sums.s3 = trace_cube(engine, s);
}

// The sums over pairs from blocks of pairs of coordinates.
inline void sums_of_columns(const Engine& engine, const std::vector<LocalBasis>& bases,
                            const std::vector<LocalCoordinate>& parts,
                            const ConstMatrixRef& residuals, const RowWeights& weights,
                            Index columns, RungSums& sums) {
  const Index d = residuals.cols();
  std::vector<Index> first(bases.size() + 1, 0);
  for (std::size_t j = 0; j < bases.size(); ++j) first[j + 1] = first[j] + parts[j].whitener.rows();
  const bool bounded = columns > bound_columns;
  Matrix s = bounded ? Matrix() : Matrix(columns, columns);
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
    if (bounded) return;
    s.block(first[j], first[l], blocks[4].rows(), blocks[4].cols()) = blocks[4];
    if (j != l) {
      s.block(first[l], first[j], blocks[4].cols(), blocks[4].rows()) = blocks[4].transpose();
    }
  });
  Matrix norms(d, d);
  for (std::size_t t = 0; t < pairs.size(); ++t) {
    sums.t20 += found[t].t20;
    sums.t11 += found[t].t11;
    sums.s2 += found[t].s2;
    const double norm = std::sqrt(found[t].s2 / (pairs[t].first == pairs[t].second ? 1.0 : 2.0));
    norms(pairs[t].first, pairs[t].second) = norms(pairs[t].second, pairs[t].first) = norm;
  }
  // largest eigenvalue at most that of the blocks' norms: tr S^3 <= it times |S|^2
  sums.s3 = bounded ? engine.dense.sym_eigen(norms).values(d - 1) * sums.s2 : trace_cube(engine, s);
}

}  // namespace detail

// `bases`: one per column of the residuals. Without `moments` only psi, gaps and weights.
inline Rung local_rung(const Engine& engine, const std::vector<LocalBasis>& bases,
                       const ConstMatrixRef& residuals, const RowWeights& weights, bool moments) {
  const Index n = residuals.rows(), d = residuals.cols();
  require(static_cast<Index>(bases.size()) == d, "There must be a basis for every coordinate.");
  Rung out;
  out.gap.resize(n, d);
  Matrix half(moments ? n : 0, d);
  std::vector<detail::LocalCoordinate> parts(bases.size());
  for_columns(engine, d, [&](const Engine& within, Index j) {
    const auto at = static_cast<std::size_t>(j);
    parts[at] = detail::smooth_coordinate(within, bases[at], residuals.col(j), weights,
                                          out.gap.col(j), half.col(j));
  });
  for (const detail::LocalCoordinate& part : parts) {
    out.weights.push_back(part.weights);
    out.columns += part.whitener.rows();
  }
  if (!moments) {
    out.psi = gap_square(engine, residuals, weights, out.gap);
    return out;
  }
  out.half = half.rowwise().sum();
  RungSums sums;
  sums.exact = rung_is_exact(static_cast<Index>(weights.count(n)), out.columns);
  // fewer rows than columns, whose pairs cost less than those of coordinates
  if (n < out.columns && n <= 10 * d && n <= bound_columns) {
    detail::sums_of_rows(engine, bases, parts, residuals, weights, sums);
  } else {
    detail::sums_of_columns(engine, bases, parts, residuals, weights, out.columns, sums);
  }
  sums.own = sum_of_rows(engine, n, [&](Index i) {
    double own = 0.0;
    for (const detail::LocalCoordinate& part : parts) own += part.scale(i) * part.own(i);
    const double squared = weights.each(i) * weights.each(i) * own;
    return weights.copies(i) * squared * squared;
  });
  finish_rung(engine, residuals, weights, RowClusters(), sums, out);
  return out;
}

}  // namespace calibrisk

#endif
