// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge in block Krylov spaces. Both ridges depend on a training set's Gram matrix K only
// through its action on the residuals D. They are therefore solved on span(D, K D, ..., K^(p - 1)
// D), one space per fold for all ridges of both methods. (This is Galerkin's method, block
// conjugate gradients.) The error falls faster than geometrically in p, and the sooner the larger
// the ridge: where K has no low rank, a few blocks stand for it. Rows must be sorted by fold, test
// rows (0) first. All spaces grow together, with one pass over the Gram matrix per block.
#ifndef CALIBRISK_METHODS_RIDGE_KRYLOV_H
#define CALIBRISK_METHODS_RIDGE_KRYLOV_H

#include <calibrisk/methods/fold_gram.h>
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
  CALIBRISK_SHARED KrylovSpace(const FoldGram& gram, const ConstMatrixRef& residuals, Index fold);

  Index n_obs() const { return basis_.rows(); }
  Index blocks() const { return static_cast<Index>(ends_.size()); }
  bool exhausted() const { return exhausted_; }
  Index rank(Index blocks) const {
    return ends_.empty() ? 0
                         : ends_[static_cast<std::size_t>(std::min(blocks, this->blocks()) - 1)];
  }
  // V [training rows x rank], and K V of the rows that do not train.
  auto basis(Index blocks) const { return basis_.leftCols(rank(blocks)); }
  UnseenFeatures unseen(Index blocks) const {
    const auto images = unseen_.leftCols(rank(blocks));
    return {images.bottomRows(rows_.out_end - rows_.out), images.topRows(rows_.first)};
  }
  // On all rows that tune: 0 where they are held out.
  CALIBRISK_SHARED Matrix of_tune_rows(const ConstMatrixRef& train) const;

  // Part of the trace of K outside the space, per row.
  double residual_trace(Index blocks) const {
    const double left = trace_ - projected_.diagonal().head(rank(blocks)).sum();
    return n_obs() > 0 ? std::max(left, 0.0) / static_cast<double>(n_obs()) : 0.0;
  }

  // The next block of V, of which add_images() then needs K V; empty where there is no further one.
  CALIBRISK_SHARED Index add_columns(const Engine& engine);

  // Its rows among all.
  CALIBRISK_SHARED void copy_columns(Index width, MatrixRef all_rows) const;

  CALIBRISK_SHARED void add_images(const Engine& engine, const ConstMatrixRef& images);

  // Residual of the equation relative to its right side, for ridges of one number of blocks: the
  // part of K V of the last block outside the space. It bounds the relative error of the fit on the
  // training rows.
  CALIBRISK_SHARED Vector equation_errors(const Engine& engine, RidgeType type,
                                          const RidgeSpectrum& s, Index blocks,
                                          const ConstVectorRef& ridges) const;

  CALIBRISK_SHARED RidgeSpectrum spectrum(const Engine& engine, Index blocks) const;

 private:
  // Splits all rows: the first ones test, those of [out, out_end) are held out, the others train.
  struct Rows {
    Index first, out, out_end, end;
    template <class All>
    Matrix train(const All& x) const {
      Matrix result(end - out_end + out - first, x.cols());
      result.topRows(out - first) = x.middleRows(first, out - first);
      result.bottomRows(end - out_end) = x.bottomRows(end - out_end);
      return result;
    }
    // to the rows that tune
    void scatter(const ConstMatrixRef& train, MatrixRef tune) const {
      tune.topRows(out - first) = train.topRows(out - first);
      tune.bottomRows(end - out_end) = train.bottomRows(end - out_end);
    }
  };

  CALIBRISK_SHARED void project_out(const Engine& engine, Matrix& w) const;

  // Appends an orthonormal basis of w without what lies in the space. Directions that are small
  // beside the others are taken out and treated again, so that they keep their digits; what is
  // rounding noise is dropped.
  CALIBRISK_SHARED void orthonormalise(const Engine& engine, Matrix w, double noise);

  Rows rows_;
  Matrix basis_, unseen_;
  Matrix targets_;               // D of the training rows
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
  CALIBRISK_SHARED KrylovRidge(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                               const ConstMatrixRef& residuals, const FoldBegin& begin);

  CALIBRISK_SHARED void extend(const Engine& engine, Index blocks, ProgressSpan span = {});

  const std::vector<KrylovSpace>& spaces() const { return spaces_; }

  CALIBRISK_SHARED const std::vector<RidgeSpectrum>& spectra(const Engine& engine, Index blocks);

  CALIBRISK_SHARED RidgePath path(const Engine& engine, RidgeType type, Index blocks,
                                  const ConstMatrixRef& residuals, const ConstVectorRef& ridges,
                                  ProgressSpan span = {});

  // [ridges x folds]
  CALIBRISK_SHARED Matrix equation_errors(const Engine& engine, RidgeType type, Index blocks,
                                          const ConstVectorRef& ridges);

 private:
  // Adds a block to all spaces with b blocks.
  CALIBRISK_SHARED void add_block(const Engine& engine, Index b);

  FoldGram gram_;
  std::vector<KrylovSpace> spaces_;
  std::map<Index, std::vector<RidgeSpectrum>> spectra_;  // by number of blocks
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
KrylovRidge::KrylovRidge(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                         const ConstMatrixRef& residuals, const FoldBegin& begin)
    : gram_(engine, kernel, x, begin) {
  for (Index f = 1; f <= fold_count(begin); ++f) spaces_.emplace_back(gram_, residuals, f);
  extend(engine, 1);
}

void KrylovRidge::extend(const Engine& engine, Index blocks, ProgressSpan span) {
  Index done = spaces_.empty() ? 0 : blocks;
  for (const KrylovSpace& space : spaces_) done = std::min(done, space.blocks());
  for (Index b = done; b < blocks; ++b) {
    add_block(engine, b);
    engine.progress.advance(span.part(b - done, blocks - done).to);
  }
}

const std::vector<RidgeSpectrum>& KrylovRidge::spectra(const Engine& engine, Index blocks) {
  std::vector<RidgeSpectrum>& out = spectra_[blocks];
  if (out.empty()) {
    for (const KrylovSpace& space : spaces_) out.push_back(space.spectrum(engine, blocks));
  }
  return out;
}

RidgePath KrylovRidge::path(const Engine& engine, RidgeType type, Index blocks,
                            const ConstMatrixRef& residuals, const ConstVectorRef& ridges,
                            ProgressSpan span) {
  const auto features = [&](Index f) {
    return spaces_[static_cast<std::size_t>(f - 1)].unseen(blocks);
  };
  return factor_path(engine, type, spectra(engine, blocks), features, residuals, gram_.begin(),
                     ridges, span);
}

Matrix KrylovRidge::equation_errors(const Engine& engine, RidgeType type, Index blocks,
                                    const ConstVectorRef& ridges) {
  const std::vector<RidgeSpectrum>& bases = spectra(engine, blocks);
  Matrix out(ridges.size(), static_cast<Index>(spaces_.size()));
  for (std::size_t f = 0; f < spaces_.size(); ++f) {
    out.col(static_cast<Index>(f)) =
        spaces_[f].equation_errors(engine, type, bases[f], blocks, ridges);
  }
  return out;
}

KrylovSpace::KrylovSpace(const FoldGram& gram, const ConstMatrixRef& residuals, Index fold)
    : rows_{gram.begin()[1], gram.begin()[static_cast<std::size_t>(fold)],
            gram.begin()[static_cast<std::size_t>(fold) + 1], gram.rows()} {
  targets_ = rows_.train(residuals);
  basis_.resize(targets_.rows(), 0);
  unseen_.resize(gram.rows() - targets_.rows(), 0);
  trace_ = rows_.train(gram.diagonal()).sum();
  next_ = targets_;
}

Matrix KrylovSpace::of_tune_rows(const ConstMatrixRef& train) const {
  Matrix out = Matrix::Zero(rows_.end - rows_.first, train.cols());
  rows_.scatter(train, out);
  return out;
}

Index KrylovSpace::add_columns(const Engine& engine) {
  const Index begin = used_;
  if (!exhausted_) orthonormalise(engine, next_, blocks() == 0 ? 0.0 : 1e-15 * trace_);
  if (used_ == begin) exhausted_ = true;
  return used_ - begin;
}

void KrylovSpace::copy_columns(Index width, MatrixRef all_rows) const {
  rows_.scatter(basis_.middleCols(used_ - width, width),
                all_rows.bottomRows(rows_.end - rows_.first));
}

void KrylovSpace::add_images(const Engine& engine, const ConstMatrixRef& images) {
  const Index width = images.cols(), before = ends_.size() > 1 ? ends_[ends_.size() - 2] : 0;
  Matrix outside(unseen_.rows(), width);
  outside.topRows(rows_.first) = images.topRows(rows_.first);
  outside.bottomRows(rows_.out_end - rows_.out) =
      images.middleRows(rows_.out, rows_.out_end - rows_.out);
  detail::append_columns(unseen_, used_ - width, outside);
  // V'K V is block tridiagonal
  next_ = rows_.train(images);
  const auto near = basis_.middleCols(before, used_ - before);
  const Matrix columns = engine.dense.multiply_at_b(near, next_);
  projected_.conservativeResize(used_, used_);
  projected_.rightCols(width).setZero();
  projected_.bottomRows(width).setZero();
  projected_.bottomRightCorner(used_ - before, width) = columns;
  projected_.bottomRightCorner(width, used_ - before) = columns.transpose();
  ends_.push_back(used_);
  engine.dense.gemm(false, false, -1.0, near, columns, 1.0, next_);
  outside_.push_back(engine.dense.crossprod(next_));
  if (used_ == n_obs()) exhausted_ = true;
}

Vector KrylovSpace::equation_errors(const Engine& engine, RidgeType type, const RidgeSpectrum& s,
                                    Index blocks, const ConstVectorRef& ridges) const {
  Vector out = Vector::Zero(ridges.size());
  if (this->blocks() == 0) return out;  // no residuals
  const Matrix& outside = outside_[static_cast<std::size_t>(std::min(blocks, this->blocks()) - 1)];
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

RidgeSpectrum KrylovSpace::spectrum(const Engine& engine, Index blocks) const {
  const Index q = rank(blocks);
  return spectrum_of_gram(engine, projected_.topLeftCorner(q, q),
                          engine.dense.multiply_at_b(basis(blocks), targets_),
                          static_cast<double>(n_obs()));
}

void KrylovSpace::project_out(const Engine& engine, Matrix& w) const {
  const auto v = basis_.leftCols(used_);
  if (used_ > 0) engine.dense.gemm(false, false, -1.0, v, engine.dense.multiply_at_b(v, w), 1.0, w);
}

void KrylovSpace::orthonormalise(const Engine& engine, Matrix w, double noise) {
  constexpr double keep = 1e-4;
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
    if (lower.diagonal().minCoeff() < 0.5) {  // mostly in the space: what is left is inexact
      project_out(engine, q);
      lower = engine.dense.crossprod(q);
    }
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
}

void KrylovRidge::add_block(const Engine& engine, Index b) {
  std::vector<FoldColumns> sets;
  Index columns = 0;
  for (std::size_t f = 0; f < spaces_.size(); ++f) {
    if (spaces_[f].blocks() > b) continue;
    const Index width = spaces_[f].add_columns(engine);
    if (width > 0) sets.push_back({static_cast<Index>(f) + 1, columns, width});
    columns += width;
  }
  if (sets.empty()) return;
  Matrix q(gram_.rows(), columns);
  for (const FoldColumns& set : sets) {
    spaces_[static_cast<std::size_t>(set.fold - 1)].copy_columns(
        set.width, q.middleCols(set.start, set.width));
  }
  const Matrix images = gram_.multiply(engine, q, sets);
  for (const FoldColumns& set : sets) {
    spaces_[static_cast<std::size_t>(set.fold - 1)].add_images(
        engine, images.middleCols(set.start, set.width));
  }
}
#endif

}  // namespace calibrisk

#endif
