// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted classes as they were given to a map, probabilities or logits, read in blocks of rows
// without a copy of the whole where they are logits. A single column is that of the second of two
// classes.
#ifndef CALIBRISK_RECAL_CLASS_SCORES_H
#define CALIBRISK_RECAL_CLASS_SCORES_H

#include <calibrisk/recal/softmax_loss.h>

#include <cmath>
#include <limits>

namespace calibrisk {

class ClassScores {
 public:
  // `floor`: the smallest probability whose logarithm is taken; of logits relative to the largest.
  ClassScores(const Engine& engine, const ConstMatrixRef& given, bool logits, double floor)
      : given_(given),
        logits_(logits),
        own_(given.cols() == 1 || !logits),
        floor_(std::log(floor)),
        top_(given.rows()) {
    if (own_) logs_.resize(rows(), classes());
    for_blocks(engine, [&](Index begin, Index size) {
      if (own_ && logits) {
        const ColumnArray z = given.col(0).segment(begin, size).array();
        const ColumnArray tail = (-z.abs()).exp().log1p();
        logs_.col(0).segment(begin, size) = ((-z).min(0.0) - tail).max(floor_);
        logs_.col(1).segment(begin, size) = (z.min(0.0) - tail).max(floor_);
      } else if (own_) {
        RowBlock p;
        probs(begin, size, p);
        logs_.middleRows(begin, size) = p.max(floor).log();
      }
      auto top = top_.segment(begin, size);
      top = numbers().col(0).segment(begin, size);
      for (Index k = 1; k < classes(); ++k) {
        top = top.cwiseMax(numbers().col(k).segment(begin, size));
      }
    });
  }

  Index rows() const { return given_.rows(); }
  Index classes() const { return std::max<Index>(given_.cols(), 2); }

  // Numbers whose softmax are the probabilities, at most 0 and 0 for the largest.
  double score(Index row, Index k) const {
    return std::max(numbers()(row, k) - top_(row),
                    own_ ? -std::numeric_limits<double>::infinity() : floor_);
  }
  // each(k, l): the scores of some rows, of a few columns from the k-th on, which stay in the first
  // cache.
  template <class Each>
  void by_columns(Index begin, Index size, const Each& each) const {
    const Index width = std::max<Index>(1, 2048 / size);
    RowBlock l;
    for (Index k = 0; k < classes(); k += width) {
      l = numbers().block(begin, k, size, std::min(width, classes() - k)).array();
      l.colwise() -= top_.segment(begin, size).array();
      if (!own_) l = l.max(floor_);
      each(k, l);
    }
  }

  // softmax(b l) of some rows, into an array of their size.
  template <class Out>
  void softmax(double b, Index begin, Index size, Out&& out) const {
    ColumnArray sum = ColumnArray::Zero(size);
    by_columns(begin, size, [&](Index first, RowBlock& l) {
      l *= b;
      exp_in_place(l);
      for (Index k = 0; k < l.cols(); ++k) sum += l.col(k);
      out.middleCols(first, l.cols()) = l;
    });
    sum = sum.inverse();
    for (Index k = 0; k < classes(); ++k) out.col(k) *= sum;
  }

  // The probabilities of some rows.
  void probs(Index begin, Index size, RowBlock& out) const {
    out.resize(size, classes());
    if (logits_) {
      softmax(1.0, begin, size, out);
    } else if (given_.cols() == 1) {
      out.col(1) = given_.col(0).segment(begin, size).array();
      out.col(0) = 1.0 - out.col(1);
    } else {
      out = given_.middleRows(begin, size).array();
    }
  }

  // Their logarithms, floored.
  void logs(Index begin, Index size, RowBlock& out) const {
    out = numbers().middleRows(begin, size).array();
    if (own_) return;
    ColumnArray sum = ColumnArray::Zero(size);
    by_columns(begin, size, [&](Index first, RowBlock& l) {
      out.middleCols(first, l.cols()) = l;
      exp_in_place(l);
      for (Index k = 0; k < l.cols(); ++k) sum += l.col(k);
    });
    out.colwise() -= sum.log();
  }

  // Losses of the rows; the log loss of a probability of 0 is infinite.
  Vector losses(const Engine& engine, const Labels& y, Loss loss) const {
    require(static_cast<Index>(y.size()) == rows(), "Class scores have a label per row.");
    Vector out(rows());
    for_blocks(engine, [&](Index begin, Index size) {
      RowBlock p;
      probs(begin, size, p);
      for (Index i = 0; i < size; ++i) {
        const double own = p(i, y[static_cast<std::size_t>(begin + i)] - 1);
        out(begin + i) = loss == Loss::log ? -std::log(own) : 1.0 - 2.0 * own;
      }
      if (loss == Loss::brier) out.segment(begin, size).array() += row_sums(p.square());
    });
    return out;
  }

  // task(begin, size) of blocks of rows, of which a copy stays in the second cache.
  template <class Task>
  void for_blocks(const Engine& engine, const Task& task) const {
    const Index block = std::min<Index>(512, std::max<Index>(32, 32768 / classes()));
    parallel_for(engine, (rows() + block - 1) / block,
                 [&](Index part) { task(part * block, std::min(block, rows() - part * block)); });
  }

 private:
  ConstMatrixRef numbers() const { return own_ ? ConstMatrixRef(logs_) : given_; }

  const ConstMatrixRef given_;
  const bool logits_, own_;
  const double floor_;
  Vector top_;
  Matrix logs_;  // of what are no logits of several classes
};

}  // namespace calibrisk

#endif
