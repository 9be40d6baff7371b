// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge on explicit features of scalars, all folds in one pass. A QR decomposition per fold
// block of [Phi D] leaves a small triangle R_b. The stacked triangles of the other folds have the
// training set's SVD, and the held-out rows' statistics come from R_f. Additive over folds like a
// Gram matrix, without squaring the condition number: ten digits at every ridge. Rows are streamed;
// memory O(n) for the order of rows only. Rows of weight w count as w rows in the training sets and
// the means: rows of [Phi D] times sqrt(w).
#ifndef CALIBRISK_METHODS_RIDGE_SCALAR_H
#define CALIBRISK_METHODS_RIDGE_SCALAR_H

#include <calibrisk/kernels/taylor_features.h>
#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/linalg/qr_triangle.h>
#include <calibrisk/methods/ridge_spectrum.h>
#include <calibrisk/pair_statistics.h>

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
  Index row(Index f, Index i) const {
    return order[static_cast<std::size_t>(offset[static_cast<std::size_t>(f)] + i)];
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

class ScalarRidge {
 public:
  // x: [n]; residuals: [n x d]
  ScalarRidge(const Engine& engine, const TaylorFeatures& features, const ConstVectorRef& x,
              const ConstMatrixRef& residuals, const std::vector<int>& fold, Index n_folds,
              const RowWeights& weights = RowWeights())
      : features_(features), d_(residuals.cols()), rows_(fold, n_folds), weights_(weights) {
    for (Index f = 0; f <= n_folds; ++f) triangles_.push_back(triangle(engine, x, residuals, f));
    for (Index f = 1; f <= n_folds; ++f) spectra_.push_back(spectrum_without(f));
  }

  const TaylorFeatures& features() const { return features_; }
  const RidgeSpectrum& spectrum(Index f) const { return spectra_[static_cast<std::size_t>(f - 1)]; }

  RidgePath path(const Engine& engine, RidgeType type, const ConstVectorRef& ridges,
                 const ConstVectorRef& x, const ConstMatrixRef& residuals) const {
    const Index n_ridges = ridges.size(), n_folds = rows_.folds();
    RidgePath out;
    const Matrix missing = Matrix::Constant(n_ridges, n_folds, not_a_number);
    out.risk = out.squared = out.squared_test = missing;
    out.rank = Matrix::Zero(n_ridges, n_folds);
    for (Index f = 1; f <= n_folds; ++f) path_of_fold(engine, type, ridges, x, residuals, f, out);
    return out;
  }

 private:
  static constexpr Index chunk = 1024;
  static constexpr Index chunks_per_task = 8;

  PairWeight weight_of_fold(Index f) const {
    PairWeight out;
    for (Index i = 0; i < rows_.size(f); ++i) out.add(weights_, rows_.row(f, i));
    return out;
  }

  // [Phi D] of some rows of fold f.
  void gather(const ConstVectorRef& x, const ConstMatrixRef& residuals, Index f, Index begin,
              MatrixRef out) const {
    const Index r = features_.rank, size = out.rows();
    Vector part(size);
    for (Index i = 0; i < size; ++i) {
      const Index row = rows_.row(f, begin + i);
      part(i) = x(row);
      out.row(i).tail(d_) = residuals.row(row);
    }
    features_.evaluate(part, out.leftCols(r));
  }

  Matrix triangle(const Engine& engine, const ConstVectorRef& x, const ConstMatrixRef& residuals,
                  Index f) const {
    const Index cols = features_.rank + d_, per_task = chunk * chunks_per_task;
    const Index n_tasks = (rows_.size(f) + per_task - 1) / per_task;
    std::vector<Matrix> parts(static_cast<std::size_t>(n_tasks));
    parallel_for(engine, n_tasks, [&](Index t) {
      Matrix& part = parts[static_cast<std::size_t>(t)];
      part.resize(0, cols);
      const Index end = std::min((t + 1) * per_task, rows_.size(f));
      for (Index begin = t * per_task; begin < end; begin += chunk) {
        const Index size = std::min(chunk, end - begin);
        Matrix stacked(part.rows() + size, cols);
        stacked.topRows(part.rows()) = part;
        gather(x, residuals, f, begin, stacked.bottomRows(size));
        if (!weights_.all_equal()) {
          for (Index i = 0; i < size; ++i) {
            stacked.row(part.rows() + i) *= std::sqrt(weights_(rows_.row(f, begin + i)));
          }
        }
        part = qr_triangle(stacked);
      }
    });
    return qr_triangle(detail::stack_rows(parts, cols));
  }

  RidgeSpectrum spectrum_without(Index f) const {
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

  // R[, Phi] V: the inner products of a block's features in the basis of a spectrum.
  Matrix in_basis(Index block, const RidgeSpectrum& s) const {
    return triangles_[static_cast<std::size_t>(block)].leftCols(features_.rank) * s.basis;
  }

  void path_of_fold(const Engine& engine, RidgeType type, const ConstVectorRef& ridges,
                    const ConstVectorRef& x, const ConstMatrixRef& residuals, Index f,
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

    // The diagonal needs the rows: sum h(p, p) and sum (|e|^2 - h(p, p))^2.
    const Index r = features_.rank;
    const Matrix sums = parallel_reduce(
        engine, m, chunk, Matrix(Matrix::Zero(2, n_ridges)),
        [&](Index begin, Index size) {
          Matrix rows(size, r + d), part(2, n_ridges);
          gather(x, residuals, f, begin, rows);
          const Matrix phi = rows.leftCols(r) * s.basis;
          const Eigen::ArrayXd lengths = rows.rightCols(d).rowwise().squaredNorm().array();
          Matrix product(size, maps.front().cols());
          Eigen::ArrayXd squared(size), weights(size), squares(size);
          for (Index i = 0; i < size; ++i) {
            weights(i) = weights_(rows_.row(f, begin + i));
            squares(i) = weights_.squares(rows_.row(f, begin + i));
          }
          for (Index v = 0; v < n_ridges; ++v) {
            const Matrix& map = maps[static_cast<std::size_t>(v)];
            product.noalias() = phi * map;
            squared.setZero();
            for (Index k = 0; k < product.cols(); ++k) {
              squared += product.col(k).array() *
                         (type == RidgeType::kronecker ? phi : product).col(k).array();
            }
            part(0, v) = (weights * squared).sum();
            part(1, v) = (squares * (lengths - squared).square()).sum();
          }
          return part;
        },
        [](Matrix& total, const Matrix& part) { total += part; });
    const PairWeight weight = weight_of_fold(f);
    for (Index v = 0; v < n_ridges && m > 0; ++v) {
      out.squared(v, f - 1) = sums(0, v) / weight.total;
      out.risk(v, f - 1) = weighted_pair_risk(losses(v), sums(1, v), weight.value());
    }
  }

  TaylorFeatures features_;
  Index d_;
  FoldRows rows_;
  RowWeights weights_;
  std::vector<Matrix> triangles_;       // [0]: test rows
  std::vector<RidgeSpectrum> spectra_;  // [f - 1]
};

}  // namespace calibrisk

#endif
