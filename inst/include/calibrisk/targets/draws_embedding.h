// SPDX-License-Identifier: GPL-3.0-or-later
// Predictions given by S draws, through their mean embeddings: with features phi(x)'phi(y) =
// k(x, y) and m_i = mean_s phi(z_is), E k(Z_i, Z_j) = m_i'm_j and E k(Z_i, y) = m_i'phi(y).
// The features are those of a pivoted Cholesky factor: rank r instead of S^2 evaluations per
// pair. Used only where they reproduce the kernel at every draw: to rounding, or as near to it as a
// few rounds come; `missed` says how near.
#ifndef CALIBRISK_TARGETS_DRAWS_EMBEDDING_H
#define CALIBRISK_TARGETS_DRAWS_EMBEDDING_H

#include <calibrisk/engine.h>
#include <calibrisk/kernels/pivoted_cholesky.h>
#include <calibrisk/targets/target.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

struct DrawsEmbedding {
  bool found = false;
  double missed = 0.0;  // largest share of k(x, x) that the features of a draw lack
  Matrix mean;          // m_i, [n x r]
  Vector own;           // E k(Z_i, Z_i') over pairs of different draws, minus |m_i|^2
  Matrix pivot_rows, triangle;
};

namespace detail {

// The share of k(x, x) that features may miss, which bounds the errors of the kernel's entries. The
// first value is the goal, the second is accepted if a few rounds do not reach it.
constexpr double embedding_tolerance = 1e-12, embedding_limit = 1e-6;

// Rows to choose pivots from: draws and outcomes evenly spaced, and the ends of every axis.
CALIBRISK_SHARED Matrix embedding_candidates(const ConstMatrixRef& draws, const ConstMatrixRef& y);

}  // namespace detail

// draws: [n x S d], draw-major; y: [n x d]. Cost n S r^2 / 2 and r evaluations per draw and round,
// of which there are at most four; found = false where 256 features miss more than the limit or
// where direct sums are cheaper.
CALIBRISK_SHARED DrawsEmbedding embed_draws(const Engine& engine, const Kernel& kernel,
                                            const ConstMatrixRef& draws, const ConstMatrixRef& y);

// h_Y from an embedding. Outcomes that the features miss (redrawn ones may lie outside the draws)
// take the direct mean over draws.
class EmbeddedDrawsTarget : public DrawsTarget {
 public:
  // missed: as in DrawsEmbedding
  CALIBRISK_SHARED EmbeddedDrawsTarget(Kernel kernel, MatrixView draws, MatrixView outcome,
                                       MatrixView mean, Eigen::Map<const Vector> own,
                                       MatrixView pivot_rows, MatrixView triangle, double missed);

  double cost() const override { return 2.0; }

  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void inner(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void expectation(Index i, const ConstMatrixRef& points,
                                    MatrixRef out) const override;

 private:
  struct Points {
    Matrix phi;                 // [r x m]
    std::vector<Index> missed;  // columns that the features do not reproduce
  };
  CALIBRISK_SHARED static Points slice(const Points& all, Index begin, Index size);
  CALIBRISK_SHARED Points embed(const ConstMatrixRef& x) const;
  // out(a, b) = E k(Z_{i + a}, x_b)
  CALIBRISK_SHARED void expectations(Index i, const ConstMatrixRef& x, const Points& points,
                                     MatrixRef out) const;

  double missed_;
  MatrixView mean_;
  Eigen::Map<const Vector> own_;
  MatrixView pivot_rows_, triangle_;
  Points outcome_;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_EMBEDDINGS)
namespace detail {

// phi(x) as columns; solved in place, safe in workers.
inline Matrix embed_points(const Kernel& kernel, const ConstMatrixRef& pivot_rows,
                           const ConstMatrixRef& triangle, const ConstMatrixRef& x) {
  Matrix out(pivot_rows.rows(), x.rows());
  gram_block(kernel, pivot_rows, x, out);
  triangle.triangularView<Eigen::Lower>().solveInPlace(out);
  return out;
}

// Draws of observation i as rows.
inline void gather_draws(const ConstMatrixRef& draws, Index i, MatrixRef out) {
  const Index d = out.cols();
  for (Index s = 0; s < out.rows(); ++s) out.row(s) = draws.block(i, s * d, 1, d);
}

Matrix embedding_candidates(const ConstMatrixRef& draws, const ConstMatrixRef& y) {
  constexpr Index most = 2048;
  const Index n = y.rows(), d = y.cols(), s = draws.cols() / d, total = n * s;
  std::vector<Matrix> rows;
  const auto add_draw = [&](Index i, Index k) { rows.push_back(draws.block(i, k * d, 1, d)); };
  const Index wanted = std::min(total, most);
  for (Index c = 0; c < wanted; ++c) {
    const Index at = c * total / wanted;
    add_draw(at / s, at % s);
  }
  const Index outcomes = std::min<Index>(n, most / 4);
  for (Index c = 0; c < outcomes; ++c) rows.push_back(y.row(c * n / outcomes));
  for (Index axis = 0; axis < d; ++axis) {
    Index row, low_i = 0, low_k = 0, high_i = 0, high_k = 0;
    for (Index k = 0; k < s; ++k) {
      const auto column = draws.col(k * d + axis);
      if (column.minCoeff(&row) < draws(low_i, low_k * d + axis)) low_i = row, low_k = k;
      if (column.maxCoeff(&row) > draws(high_i, high_k * d + axis)) high_i = row, high_k = k;
    }
    add_draw(low_i, low_k);
    add_draw(high_i, high_k);
    y.col(axis).minCoeff(&row);
    rows.push_back(y.row(row));
    y.col(axis).maxCoeff(&row);
    rows.push_back(y.row(row));
  }
  Matrix out(static_cast<Index>(rows.size()), d);
  for (std::size_t c = 0; c < rows.size(); ++c) out.row(static_cast<Index>(c)) = rows[c];
  return out;
}

}  // namespace detail

DrawsEmbedding embed_draws(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& draws,
                           const ConstMatrixRef& y) {
  constexpr Index max_rank = 256, rounds = 4;
  const Index n = y.rows(), d = y.cols(), s = draws.cols() / d;
  DrawsEmbedding out;
  Matrix candidates = detail::embedding_candidates(draws, y);
  const double largest = gram_diagonal(kernel, candidates).maxCoeff();
  const double tolerance = detail::embedding_tolerance * largest;
  const Index per_task = std::max<Index>(1, 1024 / s), n_tasks = (n + per_task - 1) / per_task;
  for (Index round = 0; round < rounds; ++round) {
    CholeskyOptions options;
    options.tolerance = 0.01 * tolerance;
    options.max_rank = max_rank;
    const KernelFactor factor = pivoted_cholesky(engine, kernel, candidates, options, {0.0, 0.0});
    const Index r = factor.rank();
    const bool last = round + 1 == rounds || r == max_rank;
    if (factor.residual.maxCoeff() > detail::embedding_limit * largest) return out;
    // r^2 / 2 flops per draw against S n / 2 evaluations
    if (static_cast<double>(r) * static_cast<double>(r) > 4.0 * static_cast<double>(n * s)) {
      return out;
    }
    out.pivot_rows = factor.pivot_rows;
    out.triangle = factor.triangle();
    out.mean.resize(n, r);
    out.own.resize(n);
    std::vector<Matrix> missed(static_cast<std::size_t>(n_tasks));  // the worst draw of each task
    Vector worst_share = Vector::Zero(n_tasks);
    parallel_for(
        engine, n_tasks,
        [&](Index t) {
          const Index begin = t * per_task, size = std::min(per_task, n - begin);
          Matrix x(size * s, d);
          for (Index a = 0; a < size; ++a) {
            detail::gather_draws(draws, begin + a, x.middleRows(a * s, s));
          }
          const Matrix phi = detail::embed_points(kernel, out.pivot_rows, out.triangle, x);
          const Vector diagonal = gram_diagonal(kernel, x);
          Index worst;
          const Vector left = diagonal - phi.colwise().squaredNorm().transpose();
          worst_share(t) = left.maxCoeff(&worst) / largest;
          if (worst_share(t) > detail::embedding_tolerance) {
            missed[static_cast<std::size_t>(t)] = x.row(worst);
            if (!last) return;
          }
          for (Index a = 0; a < size; ++a) {
            const Vector mean = phi.middleCols(a * s, s).rowwise().mean();
            out.mean.row(begin + a) = mean;
            out.own(begin + a) = (mean.squaredNorm() - diagonal.segment(a * s, s).mean()) /
                                 static_cast<double>(s - 1);
          }
        },
        ProgressSpan{}.part(round, rounds));
    std::vector<Index> with;
    for (Index t = 0; t < n_tasks; ++t) {
      if (missed[static_cast<std::size_t>(t)].size() > 0) with.push_back(t);
    }
    if (with.empty() || last) {
      out.missed = std::max(worst_share.maxCoeff(), detail::embedding_tolerance);
      out.found = out.missed <= detail::embedding_limit;
      return out;
    }
    const Index more = std::min<Index>(static_cast<Index>(with.size()), 1024);
    const Index have = candidates.rows();
    candidates.conservativeResize(have + more, Eigen::NoChange);
    for (Index c = 0; c < more; ++c) {
      const Index pick = c * static_cast<Index>(with.size()) / more;
      candidates.row(have + c) =
          missed[static_cast<std::size_t>(with[static_cast<std::size_t>(pick)])];
    }
  }
  return out;
}

EmbeddedDrawsTarget::EmbeddedDrawsTarget(Kernel kernel, MatrixView draws, MatrixView outcome,
                                         MatrixView mean, Eigen::Map<const Vector> own,
                                         MatrixView pivot_rows, MatrixView triangle, double missed)
    : DrawsTarget(std::move(kernel), draws, outcome),
      missed_(missed),
      mean_(mean),
      own_(own),
      pivot_rows_(pivot_rows),
      triangle_(triangle),
      outcome_(embed(outcome)) {}

void EmbeddedDrawsTarget::block(Index i, Index j, MatrixRef out) const {
  gram_block(kernel(), outcomes().middleRows(i, out.rows()), outcomes().middleRows(j, out.cols()),
             out);
  Matrix part(out.rows(), out.cols());
  expectations(i, outcomes().middleRows(j, out.cols()), slice(outcome_, j, out.cols()), part);
  out -= part;
  Matrix other(out.cols(), out.rows());
  expectations(j, outcomes().middleRows(i, out.rows()), slice(outcome_, i, out.rows()), other);
  out -= other.transpose();
  inner(i, j, part);
  out += part;
}

void EmbeddedDrawsTarget::inner(Index i, Index j, MatrixRef out) const {
  out.noalias() = mean_.middleRows(i, out.rows()) * mean_.middleRows(j, out.cols()).transpose();
  for (Index a = 0; a < out.rows(); ++a) {
    const Index b = i + a - j;
    if (b >= 0 && b < out.cols()) out(a, b) += own_(i + a);
  }
}

void EmbeddedDrawsTarget::expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const {
  expectations(i, points, embed(points), out);
}

EmbeddedDrawsTarget::Points EmbeddedDrawsTarget::slice(const Points& all, Index begin, Index size) {
  Points out{all.phi.middleCols(begin, size), {}};
  for (Index m : all.missed) {
    if (m >= begin && m < begin + size) out.missed.push_back(m - begin);
  }
  return out;
}

EmbeddedDrawsTarget::Points EmbeddedDrawsTarget::embed(const ConstMatrixRef& x) const {
  Points out{detail::embed_points(kernel(), pivot_rows_, triangle_, x), {}};
  const Vector diagonal = gram_diagonal(kernel(), x);
  for (Index m = 0; m < x.rows(); ++m) {
    const double left = diagonal(m) - out.phi.col(m).squaredNorm();
    if (left > missed_ * diagonal(m)) out.missed.push_back(m);
  }
  return out;
}

void EmbeddedDrawsTarget::expectations(Index i, const ConstMatrixRef& x, const Points& points,
                                       MatrixRef out) const {
  out.noalias() = mean_.middleRows(i, out.rows()) * points.phi;
  for (Index m : points.missed) singles(i, out.rows(), x.row(m), out.col(m));
}
#endif

}  // namespace calibrisk

#endif
