// SPDX-License-Identifier: GPL-3.0-or-later
// One rung of the ladder: the leave-one-out projection of the residuals on a basis. With B the
// basis of a coordinate (orthonormal in the weights v), h_i its leverage, a_i = 1 / (1 - h_i):
//   g_i   = a_i (b_i' sum_l v_l b_l e_l - h_i e_i)        gap without the row's own outcome
//   psi   = sum_i v_i <e_i, g_i> / V                      squared error that the basis sees
//   noise = its variance where predictions are calibrated, skew its skewness there
//   drift = the further variance per unit of psi, from row-wise influences `half`
// A zero diagonal removes the outcomes' noise for any variances (Kline, Saggio and Soelvsten 2020).
// If rows belong to clusters, the row's whole cluster is left out (cluster_rung.h).
#ifndef CALIBRISK_LADDER_RUNG_H
#define CALIBRISK_LADDER_RUNG_H

#include <calibrisk/engine.h>
#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/math/counter_uniform.h>

#include <cmath>

namespace calibrisk {

constexpr double largest_leverage = 0.95;  // a row that is nearly its own basis says nothing
// Up to so many units (rows or clusters) or columns of all coordinates, whichever are fewer, and so
// many units, variances are exact. Beyond, one product serves for all of them, which is too small
// by a part of the order of the leverages. More columns than `bound_columns` are too many for a
// matrix of theirs: the skewness of clusters is a bound, local bases of rows take random_sums.h.
constexpr Index exact_columns = 2000;
constexpr Index exact_rows = 20000;
constexpr Index bound_columns = 5000;

struct Rung {
  double psi = 0.0, noise = 0.0, skew = 0.0, linear = 0.0;
  Index columns = 0;            // of all coordinates, after dependent ones are dropped
  Vector half;                  // [n]: influence of row i is 2 half_i
  Matrix gap;                   // [n x d]
  std::vector<Matrix> weights;  // of the basis' columns, for gaps of new rows
};

// Sums over pairs of rows that variance and skewness need, in the orthonormal basis:
//   t20 = <T2, T0>, t11 = <T1, T1'>, s2 = |S|^2, s3 = tr S^3 and `own`, the rows' pairs with
//   themselves.
struct RungSums {
  double t20 = 0.0, t11 = 0.0, own = 0.0;
  double s2 = 0.0, s3 = 0.0;
  bool exact = true;
};

inline bool rung_is_exact(Index units, Index columns) {
  return std::min(units, columns) <= exact_columns && units <= exact_rows;
}

inline double left_out_scale(double leverage) {
  return leverage > largest_leverage ? 0.0 : 1.0 / (1.0 - leverage);
}

// Rows of a task.
constexpr Index rung_block = 8192;

// sum_i f(i), the same for any number of threads.
template <class RowTerm>
double sum_of_rows(const Engine& engine, Index n, const RowTerm& term) {
  return parallel_reduce(
      engine, n, rung_block, 0.0,
      [&](Index begin, Index size) {
        double sum = 0.0;
        for (Index i = begin; i < begin + size; ++i) sum += term(i);
        return sum;
      },
      [](double& total, double part) { total += part; });
}

// tr S^3 = <S^2, S> of a symmetric matrix, panel by panel; what lies above the diagonal counts
// twice.
CALIBRISK_SHARED double trace_cube(const Engine& engine, const Matrix& s);

// Largest eigenvalue of a positive semidefinite matrix. Of many columns it is that of the
// tridiagonal matrix of Lanczos, grown until its eigenvector solves the equation.
CALIBRISK_SHARED double largest_eigenvalue(const Engine& engine, const Matrix& s);

// sum_i v_i <x_i, y_i>, column by column.
CALIBRISK_SHARED double sum_of_products(const Engine& engine, const RowWeights& weights,
                                        const ConstMatrixRef& x, const ConstMatrixRef& y);

// sum_i v_i <g_i, g'_i> for the gaps g and g' of every two rungs.
CALIBRISK_SHARED Matrix gap_products(const Engine& engine, const std::vector<ConstMatrixRef>& gaps,
                                     const RowWeights& weights);

// psi of these gaps.
CALIBRISK_SHARED double gap_square(const Engine& engine, const ConstMatrixRef& residuals,
                                   const RowWeights& weights, const Matrix& gap);

// From gaps, half influences and sums to the numbers that limits need.
CALIBRISK_SHARED void finish_rung(const Engine& engine, const ConstMatrixRef& residuals,
                                  const RowWeights& weights, const RowClusters& clusters,
                                  const RungSums& sums, Rung& rung);

// The largest variance of a linear statistic of the residuals, of rows or of clusters: the same of
// all rungs.
CALIBRISK_SHARED double residual_scatter(const Engine& engine, const ConstMatrixRef& residuals,
                                         const RowWeights& weights, const RowClusters& clusters);

// Whitening of a basis from its Gram matrix: R with R G R' = I on the columns that are kept, in the
// order of the largest remainders. Remainders that differ only by rounding are in column order. A
// column whose remainder is below 1e-10 of its square is dropped.
CALIBRISK_SHARED Matrix whitening(const Matrix& gram);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)
double trace_cube(const Engine& engine, const Matrix& s) {
  constexpr Index panel = 256;
  double out = 0.0;
  Matrix product;
  for (Index begin = 0; begin < s.cols(); begin += panel) {
    const Index size = std::min(panel, s.cols() - begin), end = begin + size;
    product.resize(end, size);
    engine.dense.gemm(false, false, 1.0, s.topRows(end), s.middleCols(begin, size), 0.0, product);
    const auto columns = s.middleCols(begin, size);
    out += 2.0 * product.topRows(begin).cwiseProduct(columns.topRows(begin)).sum();
    out += product.bottomRows(size).cwiseProduct(columns.middleRows(begin, size)).sum();
    engine.progress.advance(0.0);
  }
  return out;
}

double largest_eigenvalue(const Engine& engine, const Matrix& s) {
  constexpr Index few = 200, step = 16;
  constexpr double tolerance = 1e-12;
  const Index k = s.cols();
  if (k <= few) return engine.dense.sym_eigen(s).values(k - 1);
  Matrix basis(k, 0), tridiagonal;
  Vector next(k);
  for (Index i = 0; i < k; ++i) next(i) = counter_number(0, static_cast<std::uint64_t>(i)) - 0.5;
  next.normalize();
  double left = 0.0, value = 0.0;  // norm of what the basis leaves of s times its last vector
  for (Index t = 0; t < k; ++t) {
    basis.conservativeResize(k, t + 1);
    basis.col(t) = next;
    tridiagonal.conservativeResizeLike(Matrix::Zero(t + 1, t + 1));
    if (t > 0) tridiagonal(t, t - 1) = tridiagonal(t - 1, t) = left;
    next.noalias() = s * basis.col(t);
    tridiagonal(t, t) = next.dot(basis.col(t));
    for (int pass = 0; pass < 2; ++pass) next -= basis * (basis.transpose() * next).eval();
    left = next.norm();
    if ((t + 1) % step == 0 || t + 1 == k || left == 0.0) {
      const SymEigen spectrum = engine.dense.sym_eigen(tridiagonal);
      value = spectrum.values(t);
      if (left * std::abs(spectrum.vectors(t, t)) <= tolerance * value) break;
    }
    next /= left;
  }
  return value;
}

double sum_of_products(const Engine& engine, const RowWeights& weights, const ConstMatrixRef& x,
                       const ConstMatrixRef& y) {
  const Index n = x.rows();
  Vector v(n);
  for (Index i = 0; i < n; ++i) v(i) = weights(i);
  return parallel_reduce(
      engine, n, rung_block, 0.0,
      [&](Index begin, Index size) {
        double sum = 0.0;
        for (Index j = 0; j < x.cols(); ++j) {
          const auto part = [&](const auto& of) { return of.segment(begin, size).array(); };
          sum += (part(v) * part(x.col(j)) * part(y.col(j))).sum();
        }
        return sum;
      },
      [](double& total, double part) { total += part; });
}

Matrix gap_products(const Engine& engine, const std::vector<ConstMatrixRef>& gaps,
                    const RowWeights& weights) {
  const auto m = static_cast<Index>(gaps.size());
  Matrix out(m, m);
  for (Index a = 0; a < m; ++a) {
    for (Index b = 0; b <= a; ++b) {
      out(a, b) = out(b, a) = sum_of_products(engine, weights, gaps[static_cast<std::size_t>(a)],
                                              gaps[static_cast<std::size_t>(b)]);
    }
  }
  return out;
}

double gap_square(const Engine& engine, const ConstMatrixRef& residuals, const RowWeights& weights,
                  const Matrix& gap) {
  return sum_of_products(engine, weights, residuals, gap) / weights.total(residuals.rows());
}

void finish_rung(const Engine& engine, const ConstMatrixRef& residuals, const RowWeights& weights,
                 const RowClusters& clusters, const RungSums& sums, Rung& rung) {
  const Index n = residuals.rows(), units = clusters.units(n);
  const double total = weights.total(n), square = total * total;
  rung.psi = gap_square(engine, residuals, weights, rung.gap);
  rung.noise = sums.exact ? (sums.t20 + sums.t11 - 2.0 * sums.own) / square
                          : 2.0 * (sums.s2 - sums.own) / square;
  const double cube = std::pow(2.0 * sums.s2, 1.5);
  rung.skew = rung.noise > 0.0 && cube > 0.0 ? std::min(8.0 * sums.s3 / cube, 2.8) : 0.0;

  const auto square_of = [](double x) { return x * x; };
  double squares;
  if (clusters.given()) {
    Vector unit_sums = Vector::Zero(units);
    for (Index i = 0; i < n; ++i) {
      unit_sums(clusters.unit(i)) += weights(i) * (rung.half(i) - rung.psi);
    }
    squares = unit_sums.squaredNorm();
  } else {
    squares = sum_of_rows(
        engine, n, [&](Index i) { return square_of(weights.root(i) * (rung.half(i) - rung.psi)); });
  }
  const double size = clusters.given() ? static_cast<double>(units) : weights.count(n);
  const double variance = 4.0 * size / (size - 1.0) * squares / square;
  rung.linear = std::max(0.0, variance - 2.0 * rung.noise);
}

double residual_scatter(const Engine& engine, const ConstMatrixRef& residuals,
                        const RowWeights& weights, const RowClusters& clusters) {
  const Index n = residuals.rows(), d = residuals.cols();
  const double total = weights.total(n), square = total * total;
  if (d == 1 && !clusters.given()) {
    return 4.0 / square * sum_of_rows(engine, n, [&](Index i) {
             const double e = weights.root(i) * residuals(i, 0);
             return e * e;
           });
  }
  const auto spread = [&](const Matrix& parts) {
    return 4.0 * largest_eigenvalue(engine, engine.dense.crossprod(parts)) / square;
  };
  Matrix scaled(n, d);
  for (Index i = 0; i < n; ++i) scaled.row(i) = weights.root(i) * residuals.row(i);
  const double of_rows = spread(scaled);
  if (!clusters.given()) return of_rows;
  Matrix unit_sums = Matrix::Zero(clusters.units(n), d);
  for (Index i = 0; i < n; ++i) {
    unit_sums.row(clusters.unit(i)) += weights(i) * residuals.row(i);
  }
  return std::max(of_rows, spread(unit_sums));
}

Matrix whitening(const Matrix& gram) {
  constexpr double tolerance = 1e-10, equal = 1e-9;
  const Index k = gram.rows();
  Vector scale = gram.diagonal();
  for (Index c = 0; c < k; ++c) scale(c) = scale(c) > 0.0 ? 1.0 / std::sqrt(scale(c)) : 0.0;
  Matrix work = scale.asDiagonal() * gram * scale.asDiagonal();
  std::vector<Index> pivots;
  Vector left = work.diagonal();
  Matrix columns(k, k);
  while (static_cast<Index>(pivots.size()) < k) {
    const double largest = left.maxCoeff();
    if (!(largest > tolerance)) break;
    Index at = 0;
    while (left(at) < (1.0 - equal) * largest) ++at;
    const auto t = static_cast<Index>(pivots.size());
    const double root = std::sqrt(left(at));
    Vector column = work.col(at);
    if (t > 0) column.noalias() -= columns.leftCols(t) * columns.row(at).head(t).transpose();
    column /= root;
    columns.col(t) = column;
    left.array() -= column.array().square();
    for (Index p : pivots) left(p) = 0.0;
    left(at) = 0.0;
    pivots.push_back(at);
  }
  const auto r = static_cast<Index>(pivots.size());
  Matrix triangle(r, r);
  for (Index i = 0; i < r; ++i) {
    triangle.row(i) = columns.row(pivots[static_cast<std::size_t>(i)]).head(r);
  }
  Matrix inverse = Matrix::Identity(r, r);
  triangle.triangularView<Eigen::Lower>().solveInPlace(inverse);
  Matrix out = Matrix::Zero(r, k);
  for (Index i = 0; i < r; ++i) {
    const Index column = pivots[static_cast<std::size_t>(i)];
    out.col(column) = inverse.col(i) * scale(column);
  }
  return out;
}
#endif

}  // namespace calibrisk

#endif
