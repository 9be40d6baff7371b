// SPDX-License-Identifier: GPL-3.0-or-later
// A rung on local bases. Each row has a few nonzero values, so that Gram matrices, leverages,
// smooths and all sums over pairs come from scattered sums and k x k products: linear in the rows,
// and never an n x k matrix.
#ifndef CALIBRISK_LADDER_LOCAL_RUNG_H
#define CALIBRISK_LADDER_LOCAL_RUNG_H

#include <calibrisk/ladder/local_basis.h>
#include <calibrisk/ladder/rung.h>

namespace calibrisk {

namespace detail {

// b_i' W b_i of a symmetric W and the like, over the nonzero values of a row.
inline double quadratic(const LocalRow& row, const Matrix& w) {
  double out = 0.0;
  for (int a = 0; a < row.size; ++a) {
    double sum = 0.0;
    for (int b = 0; b < a; ++b) sum += w(row.column[b], row.column[a]) * row.value[b];
    out += (2.0 * sum + w(row.column[a], row.column[a]) * row.value[a]) * row.value[a];
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
  Matrix out = parallel_reduce(  // above the diagonal: the columns of a row ascend
      engine, n, rung_block, Matrix(Matrix::Zero(k, k)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, k);
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          if (!uses(i)) continue;
          basis.row(i, row);
          const double v = weights(i);
          for (int a = 0; a < row.size; ++a) {
            for (int b = 0; b <= a; ++b) {
              part(row.column[b], row.column[a]) += v * row.value[a] * row.value[b];
            }
          }
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
  out.triangularView<Eigen::StrictlyLower>() = out.transpose();
  return out;
}

}  // namespace detail

// `bases`: one per column of the residuals. Without `moments` only psi, gaps and weights.
CALIBRISK_SHARED Rung local_rung(const Engine& engine, const std::vector<LocalBasis>& bases,
                                 const ConstMatrixRef& residuals, const RowWeights& weights,
                                 bool moments);

}  // namespace calibrisk

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RUNGS)
#include <calibrisk/ladder/local_sums.h>

namespace calibrisk {

namespace detail {

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

}  // namespace detail

Rung local_rung(const Engine& engine, const std::vector<LocalBasis>& bases,
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
  detail::sums_of_pairs(engine, bases, parts, residuals, weights, out.columns, sums);
  Vector own = Vector::Zero(n);
  for (const detail::LocalCoordinate& part : parts) own += part.scale.cwiseProduct(part.own);
  sums.own = sum_of_rows(engine, n, [&](Index i) {
    const double squared = weights.each(i) * weights.each(i) * own(i);
    return weights.copies(i) * squared * squared;
  });
  finish_rung(engine, residuals, weights, RowClusters(), sums, out);
  return out;
}

}  // namespace calibrisk
#endif

#endif
