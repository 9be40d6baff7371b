// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge on explicit features, all folds in one pass. A QR decomposition per fold block of
// [Phi D] leaves a small triangle R_b. The stacked triangles of the other folds have the training
// set's SVD, and the held-out rows' statistics come from R_f. Additive over folds like a Gram
// matrix, without squaring the condition number: ten digits at every ridge. Rows are streamed;
// memory O(n) for the order of rows only. Rows of weight w count as w rows in the training sets and
// the means: rows of [Phi D] times sqrt(w). Risks are over the pairs of rows of different clusters.
// h(p, p) is a smooth function of a scalar p: its sums over the rows of a fold are those over nodes
// where these are fewer (scalar_nodes.h).
#ifndef CALIBRISK_METHODS_RIDGE_EXPLICIT_H
#define CALIBRISK_METHODS_RIDGE_EXPLICIT_H

#include <calibrisk/kernels/taylor_features.h>
#include <calibrisk/linalg/qr_triangle.h>
#include <calibrisk/methods/fold_clusters.h>
#include <calibrisk/methods/ridge_spectrum.h>
#include <calibrisk/methods/scalar_nodes.h>
#include <calibrisk/pair_statistics.h>

#include <optional>

namespace calibrisk {

// Rows by fold: rows(f) are those with fold == f, in their order; 0 is the test set.
struct FoldRows {
  std::vector<Index> order;
  std::vector<Index> offset;

  FoldRows(const std::vector<int>& fold, Index n_folds)
      : order(fold.size()), offset(static_cast<std::size_t>(n_folds + 2), 0) {
    for (int f : fold) ++offset[static_cast<std::size_t>(f) + 1];
    for (std::size_t f = 1; f < offset.size(); ++f) offset[f] += offset[f - 1];
    std::vector<Index> next(offset.begin(), offset.end() - 1);
    for (std::size_t i = 0; i < fold.size(); ++i) {
      order[static_cast<std::size_t>(next[static_cast<std::size_t>(fold[i])]++)] =
          static_cast<Index>(i);
    }
  }
  Index folds() const { return static_cast<Index>(offset.size()) - 2; }
  Index size(Index f) const {
    return offset[static_cast<std::size_t>(f) + 1] - offset[static_cast<std::size_t>(f)];
  }
  const Index* rows(Index f) const { return order.data() + offset[static_cast<std::size_t>(f)]; }
};

// Features of rows of x: those of a Gaussian kernel of its only column, or x itself.
struct ExplicitFeatures {
  std::optional<TaylorFeatures> map;
  Index rank;

  explicit ExplicitFeatures(const TaylorFeatures& of) : map(of), rank(of.rank) {}
  explicit ExplicitFeatures(Index columns) : rank(columns) {}

  void evaluate(const ConstMatrixRef& x, MatrixRef out) const {
    if (map) return map->evaluate(x.col(0), out);
    out = x;
  }
};

namespace detail {

inline Matrix stack_rows(const std::vector<Matrix>& parts, Index cols) {
  Index rows = 0;
  for (const Matrix& part : parts) rows += part.rows();
  Matrix out(rows, cols);
  rows = 0;
  for (const Matrix& part : parts) {
    out.middleRows(rows, part.rows()) = part;
    rows += part.rows();
  }
  return out;
}

}  // namespace detail

class ExplicitRidge {
 public:
  // x: a column, or the features; residuals: [n x d]
  CALIBRISK_SHARED ExplicitRidge(const Engine& engine, const ExplicitFeatures& features,
                                 const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                 const std::vector<int>& fold, Index n_folds,
                                 const RowWeights& weights = RowWeights(),
                                 const RowClusters& clusters = RowClusters());

  const RidgeSpectrum& spectrum(Index f) const { return spectra_[static_cast<std::size_t>(f - 1)]; }

  CALIBRISK_SHARED RidgePath path(const Engine& engine, RidgeType type,
                                  const ConstVectorRef& ridges, const ConstMatrixRef& x,
                                  const ConstMatrixRef& residuals) const;

 private:
  static constexpr Index chunk = 1024;
  static constexpr Index chunks_per_task = 8, clusters_per_task = 64;

  PairWeight weight_of_fold(Index f) const {
    if (clusters_.given()) return clusters_.weight(weights_, f);
    PairWeight out;
    for (Index i = 0; i < rows_.size(f); ++i) out.add(weights_, rows_.rows(f)[i]);
    return out;
  }

  // [Phi D] of some rows.
  CALIBRISK_SHARED void gather(const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                               const Index* rows, MatrixRef out) const;

  // The same times the roots of the weights.
  void gather_rooted(const ConstMatrixRef& x, const ConstMatrixRef& residuals, const Index* rows,
                     MatrixRef out) const {
    gather(x, residuals, rows, out);
    if (weights_.all_equal()) return;
    for (Index i = 0; i < out.rows(); ++i) out.row(i) *= std::sqrt(weights_(rows[i]));
  }

  // Fewer rows with the same inner products of columns.
  CALIBRISK_SHARED Matrix triangle_of_rows(const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                           const Index* rows, Index n) const;

  CALIBRISK_SHARED Matrix triangle(const Engine& engine, const ConstMatrixRef& x,
                                   const ConstMatrixRef& residuals, Index f) const;

  CALIBRISK_SHARED RidgeSpectrum spectrum_without(Index f) const;

  // R[, Phi] V: the inner products of a block's features in the basis of a spectrum.
  CALIBRISK_SHARED Matrix in_basis(Index block, const RidgeSpectrum& s) const;

  CALIBRISK_SHARED void path_of_fold(const Engine& engine, RidgeType type,
                                     const ConstVectorRef& ridges, const ConstMatrixRef& x,
                                     const ConstMatrixRef& residuals, Index f,
                                     RidgePath& out) const;

  // Sums over the rows of a fold [2 x ridges]: sums of w h(p, p), and of (|e|^2 - h(p, p))^2
  // times the squared weights.
  CALIBRISK_SHARED Matrix within_draws(const Engine& engine, RidgeType type, const RidgeSpectrum& s,
                                       const std::vector<Matrix>& maps, const ConstMatrixRef& x,
                                       const ConstMatrixRef& residuals, Index f) const;

  CALIBRISK_SHARED SummedRows summed_rows(const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                          Index f) const;

  // The same of clusters: all their pairs of rows, which are those of the rows of a triangle.
  CALIBRISK_SHARED Matrix within_clusters(const Engine& engine, RidgeType type,
                                          const RidgeSpectrum& s, const std::vector<Matrix>& maps,
                                          const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                          Index f) const;

  ExplicitFeatures features_;
  Index d_;
  FoldRows rows_;
  RowWeights weights_;
  FoldClusters clusters_;
  std::vector<Matrix> triangles_;       // [0]: test rows
  std::vector<RidgeSpectrum> spectra_;  // [f - 1]
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_EXPLICIT)
ExplicitRidge::ExplicitRidge(const Engine& engine, const ExplicitFeatures& features,
                             const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                             const std::vector<int>& fold, Index n_folds, const RowWeights& weights,
                             const RowClusters& clusters)
    : features_(features),
      d_(residuals.cols()),
      rows_(fold, n_folds),
      weights_(weights),
      clusters_(clusters, fold, n_folds) {
  require(x.cols() == (features.map ? 1 : features.rank), "Features must have their columns.");
  for (Index f = 0; f <= n_folds; ++f) triangles_.push_back(triangle(engine, x, residuals, f));
  for (Index f = 1; f <= n_folds; ++f) spectra_.push_back(spectrum_without(f));
}

RidgePath ExplicitRidge::path(const Engine& engine, RidgeType type, const ConstVectorRef& ridges,
                              const ConstMatrixRef& x, const ConstMatrixRef& residuals) const {
  const Index n_ridges = ridges.size(), n_folds = rows_.folds();
  RidgePath out;
  const Matrix missing = Matrix::Constant(n_ridges, n_folds, not_a_number);
  out.risk = out.squared = out.squared_test = missing;
  out.rank = Matrix::Zero(n_ridges, n_folds);
  for (Index f = 1; f <= n_folds; ++f) path_of_fold(engine, type, ridges, x, residuals, f, out);
  return out;
}

void ExplicitRidge::gather(const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                           const Index* rows, MatrixRef out) const {
  const Index size = out.rows();
  Matrix part(size, x.cols());
  for (Index i = 0; i < size; ++i) {
    part.row(i) = x.row(rows[i]);
    out.row(i).tail(d_) = residuals.row(rows[i]);
  }
  features_.evaluate(part, out.leftCols(features_.rank));
}

Matrix ExplicitRidge::triangle_of_rows(const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                       const Index* rows, Index n) const {
  Matrix out(0, features_.rank + d_);
  for (Index begin = 0; begin < n; begin += chunk) {
    const Index size = std::min(chunk, n - begin);
    Matrix stacked(out.rows() + size, out.cols());
    stacked.topRows(out.rows()) = out;
    gather_rooted(x, residuals, rows + begin, stacked.bottomRows(size));
    out = qr_triangle(stacked);
  }
  return out;
}

Matrix ExplicitRidge::triangle(const Engine& engine, const ConstMatrixRef& x,
                               const ConstMatrixRef& residuals, Index f) const {
  const Index per_task = chunk * chunks_per_task;
  const Index n_tasks = (rows_.size(f) + per_task - 1) / per_task;
  std::vector<Matrix> parts(static_cast<std::size_t>(n_tasks));
  parallel_for(engine, n_tasks, [&](Index t) {
    const Index begin = t * per_task;
    parts[static_cast<std::size_t>(t)] = triangle_of_rows(
        x, residuals, rows_.rows(f) + begin, std::min(per_task, rows_.size(f) - begin));
  });
  return qr_triangle(detail::stack_rows(parts, features_.rank + d_));
}

RidgeSpectrum ExplicitRidge::spectrum_without(Index f) const {
  std::vector<Matrix> others;
  double n_obs = 0.0;
  for (Index b = 1; b <= rows_.folds(); ++b) {
    if (b == f) continue;
    others.push_back(triangles_[static_cast<std::size_t>(b)]);
    n_obs += weight_of_fold(b).total;
  }
  const Index cols = features_.rank + d_;
  const Matrix r = qr_triangle(detail::stack_rows(others, cols));
  return spectrum_of_columns(r.leftCols(features_.rank), r.rightCols(d_), n_obs);
}

Matrix ExplicitRidge::in_basis(Index block, const RidgeSpectrum& s) const {
  return triangles_[static_cast<std::size_t>(block)].leftCols(features_.rank) * s.basis;
}

void ExplicitRidge::path_of_fold(const Engine& engine, RidgeType type, const ConstVectorRef& ridges,
                                 const ConstMatrixRef& x, const ConstMatrixRef& residuals, Index f,
                                 RidgePath& out) const {
  const RidgeSpectrum& s = spectrum(f);
  const Index m = rows_.size(f), d = d_, n_ridges = ridges.size();
  const double n_test = weight_of_fold(0).total;
  const Matrix held_out = in_basis(f, s), test = in_basis(0, s);
  const Matrix errors = triangles_[static_cast<std::size_t>(f)].rightCols(d);
  const Matrix error_pairs = errors * errors.transpose();
  std::vector<Matrix> maps;  // cores M, or weights W
  Vector losses(n_ridges);
  for (Index v = 0; v < n_ridges; ++v) {
    out.rank(v, f - 1) = static_cast<double>(s.rank());
    Matrix h;
    double on_test;
    if (type == RidgeType::kronecker) {
      maps.push_back(
          kronecker_core(engine, s, s.targets * s.targets.transpose(), ridges(v), s.rank()));
      h = held_out * maps.back() * held_out.transpose();
      on_test = (test * maps.back()).cwiseProduct(test).sum();
    } else {
      maps.push_back(two_step_weights(s, ridges(v)));
      const Matrix gap = held_out * maps.back();
      h = gap * gap.transpose();
      on_test = (test * maps.back()).squaredNorm();
    }
    // rows of the triangle stand for the held-out rows: the same inner products, and so the
    // same |E E' - H|^2, without the cancellation of its terms
    losses(v) = (error_pairs - h).squaredNorm();
    if (n_test > 0.0) out.squared_test(v, f - 1) = on_test / n_test;
  }

  const Matrix sums = clusters_.given() ? within_clusters(engine, type, s, maps, x, residuals, f)
                                        : within_draws(engine, type, s, maps, x, residuals, f);
  const PairWeight weight = weight_of_fold(f);
  for (Index v = 0; v < n_ridges && m > 0; ++v) {
    out.squared(v, f - 1) = sums(0, v) / weight.total;
    out.risk(v, f - 1) = weighted_pair_risk(losses(v), sums(1, v), weight.value());
  }
}

Matrix ExplicitRidge::within_draws(const Engine& engine, RidgeType type, const RidgeSpectrum& s,
                                   const std::vector<Matrix>& maps, const ConstMatrixRef& x,
                                   const ConstMatrixRef& residuals, Index f) const {
  const Index n_ridges = static_cast<Index>(maps.size());
  const SummedRows points = at_nodes(summed_rows(x, residuals, f));
  Matrix sums = parallel_reduce(
      engine, points.x.rows(), chunk, Matrix(Matrix::Zero(2, n_ridges)),
      [&](Index begin, Index size) {
        Matrix features(size, features_.rank), part(2, n_ridges);
        features_.evaluate(points.x.middleRows(begin, size), features);
        const Matrix phi = features * s.basis;
        const auto of = [&](const Vector& all) { return all.segment(begin, size).array(); };
        Matrix product(size, maps.front().cols());
        Eigen::ArrayXd squared(size);
        for (Index v = 0; v < n_ridges; ++v) {
          const Matrix& map = maps[static_cast<std::size_t>(v)];
          product.noalias() = phi * map;
          squared.setZero();
          for (Index k = 0; k < product.cols(); ++k) {
            squared += product.col(k).array() *
                       (type == RidgeType::kronecker ? phi : product).col(k).array();
          }
          part(0, v) = (of(points.total) * squared).sum();
          part(1, v) = ((of(points.squares) * squared - 2.0 * of(points.lengths)) * squared).sum();
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
  sums.row(1).array() += points.fourth;
  return sums;
}

SummedRows ExplicitRidge::summed_rows(const ConstMatrixRef& x, const ConstMatrixRef& residuals,
                                      Index f) const {
  const Index m = rows_.size(f);
  SummedRows out{Matrix(m, x.cols()), Vector(m), Vector(m), Vector(m)};
  for (Index i = 0; i < m; ++i) {
    const Index row = rows_.rows(f)[i];
    const double length = residuals.row(row).squaredNorm();
    out.x.row(i) = x.row(row);
    out.total(i) = weights_(row);
    out.squares(i) = weights_.squares(row);
    out.lengths(i) = out.squares(i) * length;
    out.fourth += out.lengths(i) * length;
  }
  return out;
}

Matrix ExplicitRidge::within_clusters(const Engine& engine, RidgeType type, const RidgeSpectrum& s,
                                      const std::vector<Matrix>& maps, const ConstMatrixRef& x,
                                      const ConstMatrixRef& residuals, Index f) const {
  const Index r = features_.rank, cols = r + d_, n_ridges = static_cast<Index>(maps.size());
  return parallel_reduce(
      engine, clusters_.count(f), clusters_per_task, Matrix(Matrix::Zero(2, n_ridges)),
      [&](Index first, Index count) {
        std::vector<Matrix> parts;
        for (Index c = first; c < first + count; ++c) {
          const Index size = clusters_.size(f, c);
          const Index* own = clusters_.rows(f, c);
          if (size > cols) {
            parts.push_back(triangle_of_rows(x, residuals, own, size));
          } else {
            parts.emplace_back(size, cols);
            gather_rooted(x, residuals, own, parts.back());
          }
        }
        const Matrix rows = detail::stack_rows(parts, cols);
        // columns are rows: their products are of neighbours in memory
        const Matrix phi = (rows.leftCols(r) * s.basis).transpose();
        const Matrix errors = rows.rightCols(d_).transpose();
        Matrix sums = Matrix::Zero(2, n_ridges), product;
        for (Index v = 0; v < n_ridges; ++v) {
          product.noalias() = maps[static_cast<std::size_t>(v)].transpose() * phi;
          const Matrix& other = type == RidgeType::kronecker ? phi : product;
          Index begin = 0;
          for (const Matrix& part : parts) {
            for (Index a = begin; a < begin + part.rows(); ++a) {
              for (Index b = begin; b <= a; ++b) {
                const double h = product.col(a).dot(other.col(b));
                const double loss = errors.col(a).dot(errors.col(b)) - h;
                sums(1, v) += (a == b ? 1.0 : 2.0) * loss * loss;
                if (a == b) sums(0, v) += h;
              }
            }
            begin += part.rows();
          }
        }
        return sums;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
}
#endif

}  // namespace calibrisk

#endif
