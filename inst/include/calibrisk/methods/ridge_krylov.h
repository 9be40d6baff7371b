// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge in block Krylov spaces. All that both ridges ask of a training set's Gram matrix K
// is how it acts on the residuals D, so they are solved on span(D, K D, ..., K^(p - 1) D), one
// space per fold for all ridges of both methods (Galerkin: the block conjugate gradient method).
// The error falls faster than geometrically in p, and the sooner the larger the ridge: where K has
// no low rank, a few blocks stand for it. Rows must be sorted by fold, test rows (0) first.
#ifndef CALIBRISK_METHODS_RIDGE_KRYLOV_H
#define CALIBRISK_METHODS_RIDGE_KRYLOV_H

#include <calibrisk/kernels/gram.h>
#include <calibrisk/methods/ridge_factor.h>

#include <map>

namespace calibrisk {

namespace detail {

// Appends the columns of `part` to the first `used` of `to`.
inline void append_columns(Matrix& to, Index used, const ConstMatrixRef& part) {
  const Index needed = used + part.cols();
  if (needed > to.cols()) to.conservativeResize(Eigen::NoChange, std::max(needed, 2 * to.cols()));
  to.middleCols(used, part.cols()) = part;
}

}  // namespace detail

// The space of one training set; columns beyond `rank` are room to grow.
class KrylovSpace {
 public:
  // gram: all rows; `first` of them are test rows, those of [out, out_end) are held out.
  KrylovSpace(const Engine& engine, const Matrix& gram, const ConstMatrixRef& residuals,
              Index first, Index out, Index out_end)
      : first_(first), out_(out), out_end_(out_end) {
    const Index n = gram.rows();
    basis_.resize(n - first, 0);
    images_.resize(n, 0);
    targets_ = masked(residuals.bottomRows(n - first));
    trace_ =
        gram.diagonal().segment(first, out - first).sum() + gram.diagonal().tail(n - out_end).sum();
    add_block(engine, gram, targets_, 0.0);
  }

  Index n_obs() const { return images_.rows() - first_ - (out_end_ - out_); }
  Index blocks() const { return static_cast<Index>(ends_.size()); }
  bool exhausted() const { return exhausted_; }
  Index rank(Index blocks) const {
    return ends_.empty() ? 0
                         : ends_[static_cast<std::size_t>(std::min(blocks, this->blocks()) - 1)];
  }
  // V [tune rows x rank] and K V [rows x rank], K that of all rows.
  auto basis(Index blocks) const { return basis_.leftCols(rank(blocks)); }
  auto images(Index blocks) const { return images_.leftCols(rank(blocks)); }

  // Part of the trace of K outside the space, per row.
  double residual_trace(Index blocks) const {
    const double left = trace_ - projected_.diagonal().head(rank(blocks)).sum();
    return n_obs() > 0 ? std::max(left, 0.0) / static_cast<double>(n_obs()) : 0.0;
  }

  void extend(const Engine& engine, const Matrix& gram, Index blocks) {
    while (this->blocks() < blocks && !exhausted_) add_block(engine, gram, next_, 1e-15 * trace_);
  }

  // How far the solution is from solving the equation, relative to its right side, for ridges of
  // one number of blocks: what K V of the last block has outside the space. It bounds the relative
  // error of the fit on the training rows.
  Vector equation_errors(const Engine& engine, RidgeType type, const RidgeSpectrum& s, Index blocks,
                         const ConstVectorRef& ridges) const {
    Vector out = Vector::Zero(ridges.size());
    if (this->blocks() == 0) return out;  // no residuals
    const Matrix& outside =
        outside_[static_cast<std::size_t>(std::min(blocks, this->blocks()) - 1)];
    const Matrix last = s.basis.bottomRows(outside.rows());
    const Matrix products = engine.dense.multiply_a_bt(s.targets, s.targets);
    for (Index v = 0; v < ridges.size(); ++v) {
      double squared = 0.0;
      if (type == RidgeType::two_step) {
        const Matrix y = last * two_step_weights(s, ridges(v));
        squared = (outside * y).cwiseProduct(y).sum() / s.targets.squaredNorm();
      } else {
        Matrix z = engine.dense.multiply_a_bt(
            kronecker_core(engine, s, products, ridges(v), s.rank()), last);
        const Matrix corner = outside * (last * z);
        z = s.values.asDiagonal() * z;
        squared = 2.0 * engine.dense.crossprod(z).cwiseProduct(outside).sum() +
                  corner.cwiseProduct(corner.transpose()).sum();
        squared /= engine.dense.crossprod(s.targets).squaredNorm();
      }
      out(v) = std::sqrt(std::max(squared, 0.0));
    }
    return out;
  }

  RidgeSpectrum spectrum(const Engine& engine, Index blocks) const {
    const Index q = rank(blocks);
    return spectrum_of_gram(engine, projected_.topLeftCorner(q, q),
                            engine.dense.multiply_at_b(basis(blocks), targets_), n_obs());
  }

 private:
  Matrix masked(Matrix tune_rows) const {
    tune_rows.middleRows(out_ - first_, out_end_ - out_).setZero();
    return tune_rows;
  }

  // K Q: only training rows of Q are not zero.
  Matrix image(const Engine& engine, const Matrix& gram, const Matrix& q) const {
    const Index before = out_ - first_, after = gram.rows() - out_end_;
    Matrix result(gram.rows(), q.cols());
    engine.dense.gemm(false, false, 1.0, gram.middleCols(first_, before), q.topRows(before), 0.0,
                      result);
    engine.dense.gemm(false, false, 1.0, gram.rightCols(after), q.bottomRows(after), 1.0, result);
    return result;
  }

  void project_out(const Engine& engine, Matrix& w) const {
    const auto v = basis_.leftCols(used_);
    if (used_ > 0)
      engine.dense.gemm(false, false, -1.0, v, engine.dense.multiply_at_b(v, w), 1.0, w);
  }

  // An orthonormal basis of w without what lies in the space, as the next block. Directions that
  // are small beside the others are taken out and treated again, so that they keep their digits;
  // what is rounding noise is dropped.
  void add_block(const Engine& engine, const Matrix& gram, Matrix w, double noise) {
    constexpr double keep = 1e-4;
    const Index begin = used_;
    const double size = w.size() > 0 ? w.cwiseAbs().maxCoeff() : 0.0;
    if (size > 0.0) w /= size;  // directions only: no overflow of squares
    double floor = 0.0;
    while (w.cols() > 0 && used_ < n_obs()) {
      const SymEigen eigen = engine.dense.sym_eigen(engine.dense.crossprod(w));
      const double largest = std::sqrt(std::max(eigen.values(w.cols() - 1), 0.0));
      if (floor == 0.0) floor = std::max(1e-13 * largest, noise / size);
      if (!(largest > floor)) break;
      Index small = 0;
      while (std::sqrt(std::max(eigen.values(small), 0.0)) < keep * largest) ++small;
      small = std::max(small, w.cols() - (n_obs() - used_));
      const Index large = w.cols() - small;
      const Vector inverse = eigen.values.tail(large).array().rsqrt();
      Matrix q = engine.dense.multiply(w, eigen.vectors.rightCols(large) * inverse.asDiagonal());
      project_out(engine, q);
      Matrix lower = engine.dense.crossprod(q);
      if (!engine.dense.cholesky(lower)) break;
      Matrix transposed = q.transpose();
      engine.dense.solve_lower(lower, false, transposed);
      detail::append_columns(basis_, used_, transposed.transpose());
      used_ += large;
      if (small == 0) break;
      w = engine.dense.multiply(w, eigen.vectors.leftCols(small));
      project_out(engine, w);
      project_out(engine, w);
    }
    if (used_ == begin) {
      exhausted_ = true;
      return;
    }
    const Index width = used_ - begin, before = ends_.size() > 1 ? ends_[ends_.size() - 2] : 0;
    const Matrix next = image(engine, gram, basis_.middleCols(begin, width));
    detail::append_columns(images_, begin, next);
    // V'K V is block tridiagonal
    const auto near = basis_.middleCols(before, used_ - before);
    const Matrix columns = engine.dense.multiply_at_b(near, next.bottomRows(basis_.rows()));
    projected_.conservativeResize(used_, used_);
    projected_.rightCols(width).setZero();
    projected_.bottomRows(width).setZero();
    projected_.bottomRightCorner(used_ - before, width) = columns;
    projected_.bottomRightCorner(width, used_ - before) = columns.transpose();
    ends_.push_back(used_);
    next_ = masked(next.bottomRows(basis_.rows()));
    engine.dense.gemm(false, false, -1.0, near, columns, 1.0, next_);
    outside_.push_back(engine.dense.crossprod(next_));
    if (used_ == n_obs()) exhausted_ = true;
  }

  Index first_, out_, out_end_;
  Matrix basis_, images_;
  Matrix targets_;               // D, zero on the held-out rows
  Matrix projected_;             // V'K V
  Matrix next_;                  // K V of the last block without what lies in the space
  std::vector<Matrix> outside_;  // its squared norms, per block
  double trace_ = 0.0;
  Index used_ = 0;
  std::vector<Index> ends_;  // columns after each block
  bool exhausted_ = false;   // K V lies in the space of V: exact
};

// All folds of one kernel.
class KrylovRidge {
 public:
  KrylovRidge(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
              const ConstMatrixRef& residuals, const FoldBegin& begin)
      : begin_(begin), gram_(gram(engine, kernel, x)) {
    for (Index f = 1; f <= fold_count(begin); ++f) {
      spaces_.emplace_back(engine, gram_, residuals, begin[1], begin[static_cast<std::size_t>(f)],
                           begin[static_cast<std::size_t>(f) + 1]);
    }
  }

  void extend(const Engine& engine, Index blocks, ProgressSpan span = {}) {
    for (std::size_t f = 0; f < spaces_.size(); ++f) {
      spaces_[f].extend(engine, gram_, blocks);
      engine.progress.advance(
          span.part(static_cast<Index>(f), static_cast<Index>(spaces_.size())).to);
    }
  }

  const std::vector<KrylovSpace>& spaces() const { return spaces_; }

  const std::vector<RidgeSpectrum>& spectra(const Engine& engine, Index blocks) {
    std::vector<RidgeSpectrum>& out = spectra_[blocks];
    if (out.empty()) {
      for (const KrylovSpace& space : spaces_) out.push_back(space.spectrum(engine, blocks));
    }
    return out;
  }

  RidgePath path(const Engine& engine, RidgeType type, Index blocks,
                 const ConstMatrixRef& residuals, const ConstVectorRef& ridges,
                 ProgressSpan span = {}) {
    const auto features = [&](Index f) {
      return spaces_[static_cast<std::size_t>(f - 1)].images(blocks);
    };
    return factor_path(engine, type, spectra(engine, blocks), features, residuals, begin_, ridges,
                       span);
  }

  // [ridges x folds]
  Matrix equation_errors(const Engine& engine, RidgeType type, Index blocks,
                         const ConstVectorRef& ridges) {
    const std::vector<RidgeSpectrum>& bases = spectra(engine, blocks);
    Matrix out(ridges.size(), static_cast<Index>(spaces_.size()));
    for (std::size_t f = 0; f < spaces_.size(); ++f) {
      out.col(static_cast<Index>(f)) =
          spaces_[f].equation_errors(engine, type, bases[f], blocks, ridges);
    }
    return out;
  }

 private:
  FoldBegin begin_;
  Matrix gram_;
  std::vector<KrylovSpace> spaces_;
  std::map<Index, std::vector<RidgeSpectrum>> spectra_;  // by number of blocks
};

}  // namespace calibrisk

#endif
