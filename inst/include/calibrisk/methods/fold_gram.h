// SPDX-License-Identifier: GPL-3.0-or-later
// Gram matrix of rows sorted by fold, and its products with columns of all training sets at once.
// Only blocks K[f, g] of two folds with f <= g are held, of test rows (0) those with other folds:
// test rows never train, and a training set leaves out one fold.
#ifndef CALIBRISK_METHODS_FOLD_GRAM_H
#define CALIBRISK_METHODS_FOLD_GRAM_H

#include <calibrisk/kernels/gram.h>

#include <vector>

namespace calibrisk {

// begin[f], ..., begin[f + 1] - 1: the rows of fold f; 0 is the test set.
using FoldBegin = std::vector<Index>;

inline Index fold_count(const FoldBegin& begin) { return static_cast<Index>(begin.size()) - 2; }

namespace detail {

inline Index fold_size(const FoldBegin& begin, Index f) {
  return begin[static_cast<std::size_t>(f) + 1] - begin[static_cast<std::size_t>(f)];
}

template <class Rows>
auto fold_rows(Rows&& rows, const FoldBegin& begin, Index f) {
  return rows.middleRows(begin[static_cast<std::size_t>(f)], fold_size(begin, f));
}

}  // namespace detail

// Columns for the training set without fold f: `width` of them from `start` on in the columns of
// all sets.
struct FoldColumns {
  Index fold, start, width;
};

class FoldGram {
 public:
  CALIBRISK_SHARED FoldGram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                            const FoldBegin& begin);

  const FoldBegin& begin() const { return begin_; }
  Index rows() const { return begin_.back(); }
  const Vector& diagonal() const { return diagonal_; }

  // K Q, [rows x columns], for Q [rows x columns] of which neither test rows nor, in columns of a
  // training set, the rows that it leaves out are read.
  CALIBRISK_SHARED Matrix multiply(const Engine& engine, const Matrix& q,
                                   const std::vector<FoldColumns>& sets) const;

 private:
  const Matrix& block(Index f, Index g) const {
    return blocks_[static_cast<std::size_t>((g - 1) * (g + 2) / 2 + f)];
  }

  // out_f += K[f, g] q_g, or out_g += K[f, g]' q_f, on the columns of the sets that train with the
  // rows read.
  CALIBRISK_SHARED void add(const Engine& engine, bool transposed, Index f, Index g,
                            const Matrix& q, const std::vector<FoldColumns>& sets,
                            Matrix& out) const;

  FoldBegin begin_;
  Vector diagonal_;
  std::vector<Matrix> blocks_;  // by g, then f
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RIDGE)
FoldGram::FoldGram(const Engine& engine, const Kernel& kernel, const ConstMatrixRef& x,
                   const FoldBegin& begin)
    : begin_(begin), diagonal_(gram_diagonal(kernel, x)) {
  for (Index g = 1; g <= fold_count(begin); ++g) {
    for (Index f = 0; f < g; ++f) {
      blocks_.push_back(
          gram(engine, kernel, detail::fold_rows(x, begin, f), detail::fold_rows(x, begin, g)));
    }
    blocks_.push_back(gram(engine, kernel, detail::fold_rows(x, begin, g)));
  }
}

Matrix FoldGram::multiply(const Engine& engine, const Matrix& q,
                          const std::vector<FoldColumns>& sets) const {
  Matrix out = Matrix::Zero(q.rows(), q.cols());
  for (Index g = 1; g <= fold_count(begin_); ++g) {
    for (Index f = 0; f <= g; ++f) {
      add(engine, false, f, g, q, sets, out);
      if (f > 0 && f < g) add(engine, true, f, g, q, sets, out);
    }
  }
  return out;
}

void FoldGram::add(const Engine& engine, bool transposed, Index f, Index g, const Matrix& q,
                   const std::vector<FoldColumns>& sets, Matrix& out) const {
  const Index read = transposed ? f : g, written = transposed ? g : f;
  const auto from = detail::fold_rows(q, begin_, read);
  auto to = detail::fold_rows(out, begin_, written);
  const auto stretch = [&](Index start, Index end) {
    engine.dense.gemm(transposed, false, 1.0, block(f, g), from.middleCols(start, end - start), 1.0,
                      to.middleCols(start, end - start));
  };
  Index start = 0;
  for (const FoldColumns& set : sets) {
    if (set.fold != read) continue;
    stretch(start, set.start);
    start = set.start + set.width;
  }
  stretch(start, q.cols());
}
#endif

}  // namespace calibrisk

#endif
