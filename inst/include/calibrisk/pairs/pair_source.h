// SPDX-License-Identifier: GPL-3.0-or-later
// A symmetric n x n function of pairs of observations that is never stored: whoever
// needs it asks for a block. The matrix H of the squared kernel calibration error is a
// product of two sources, a kernel on the predictions and the marginalised target
// kernel h_Y (Widmann et al. 2021, section 3.2; see targets/).
#ifndef CALIBRISK_PAIRS_PAIR_SOURCE_H
#define CALIBRISK_PAIRS_PAIR_SOURCE_H

#include <calibrisk/kernels/kernel.h>
#include <calibrisk/types.h>

#include <memory>
#include <utility>
#include <vector>

namespace calibrisk {

using MatrixView = Eigen::Map<const Matrix>;  // a view of the host's data, never a copy

class PairSource {
 public:
  virtual ~PairSource() = default;
  virtual Index size() const = 0;
  // out(a, b) = value(i + a, j + b); safe in workers.
  virtual void block(Index i, Index j, MatrixRef out) const = 0;
  // The block, and the second moments of its values if outcomes are drawn from the predictions; on
  // the diagonal the squared means. Without a closed form, or outcomes, the squared values.
  virtual void moments(Index i, Index j, MatrixRef out, MatrixRef second) const {
    block(i, j, out);
    second = out.cwiseAbs2();
  }
  virtual Vector diagonal() const {
    Vector out(size());
    for (Index i = 0; i < size(); ++i) block(i, i, out.segment(i, 1));
    return out;
  }
  // Kernel evaluations per entry, roughly: loops cut their tasks by it, so that they can report
  // and be interrupted.
  virtual double cost() const { return 1.0; }
};

using PairSourcePtr = std::unique_ptr<PairSource>;

// k(x_i, x_j)
class KernelSource : public PairSource {
 public:
  KernelSource(Kernel kernel, MatrixView features)
      : kernel_(std::move(kernel)), features_(features) {}
  Index size() const override { return features_.rows(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  Vector diagonal() const override { return gram_diagonal(kernel_, features_); }

 private:
  Kernel kernel_;
  MatrixView features_;
};

// A matrix that the host has already.
class StoredSource : public PairSource {
 public:
  explicit StoredSource(MatrixView values) : values_(values) {
    require(values.rows() == values.cols(), "A stored pair matrix must be square.");
  }
  Index size() const override { return values_.rows(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED Vector diagonal() const override;

 private:
  MatrixView values_;
};

// <left_i, right_j>: h_Y of a finite outcome space, with right = left M.
class InnerProductSource : public PairSource {
 public:
  InnerProductSource(MatrixView left, MatrixView right) : left_(left), right_(right) {
    require(left.rows() == right.rows() && left.cols() == right.cols(),
            "Both factors of an inner product must have the same shape.");
  }
  Index size() const override { return left_.rows(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;

 private:
  MatrixView left_, right_;
};

// scale * (sum or product of sources).
class ComposedSource : public PairSource {
 public:
  ComposedSource(bool product, double scale, std::vector<PairSourcePtr> parts)
      : product_(product), scale_(scale), parts_(std::move(parts)) {
    require(!parts_.empty(), "A composed pair source needs parts.");
    for (const auto& part : parts_) {
      require(part->size() == size(), "Parts of a pair source must have the same size.");
    }
  }
  Index size() const override { return parts_[0]->size(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void moments(Index i, Index j, MatrixRef out, MatrixRef second) const override;
  CALIBRISK_SHARED Vector diagonal() const override;
  double cost() const override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->cost();
    return total;
  }

 private:
  bool product_;
  double scale_;
  std::vector<PairSourcePtr> parts_;
};

// Rows begin, begin + 1, ... of another source.
class SliceSource : public PairSource {
 public:
  SliceSource(const PairSource& source, Index begin, Index size)
      : source_(source), begin_(begin), size_(size) {}
  Index size() const override { return size_; }
  void block(Index i, Index j, MatrixRef out) const override {
    source_.block(begin_ + i, begin_ + j, out);
  }
  void moments(Index i, Index j, MatrixRef out, MatrixRef second) const override {
    source_.moments(begin_ + i, begin_ + j, out, second);
  }
  double cost() const override { return source_.cost(); }

 private:
  const PairSource& source_;
  Index begin_, size_;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PAIRS)
void KernelSource::block(Index i, Index j, MatrixRef out) const {
  gram_block(kernel_, features_.middleRows(i, out.rows()), features_.middleRows(j, out.cols()),
             out);
}

void StoredSource::block(Index i, Index j, MatrixRef out) const {
  out = values_.block(i, j, out.rows(), out.cols());
}

Vector StoredSource::diagonal() const { return values_.diagonal(); }

void InnerProductSource::block(Index i, Index j, MatrixRef out) const {
  row_products(left_.middleRows(i, out.rows()), right_.middleRows(j, out.cols()), out);
}

void ComposedSource::block(Index i, Index j, MatrixRef out) const {
  parts_[0]->block(i, j, out);
  if (parts_.size() > 1) {
    Matrix other(out.rows(), out.cols());
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      parts_[p]->block(i, j, other);
      if (product_) {
        out.array() *= other.array();
      } else {
        out += other;
      }
    }
  }
  if (scale_ != 1.0) out *= scale_;
}

void ComposedSource::moments(Index i, Index j, MatrixRef out, MatrixRef second) const {
  if (!product_) return PairSource::moments(i, j, out, second);
  parts_[0]->moments(i, j, out, second);
  Matrix other(out.rows(), out.cols()), square(out.rows(), out.cols());
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    parts_[p]->moments(i, j, other, square);
    out.array() *= other.array();
    second.array() *= square.array();
  }
  out *= scale_;
  second *= scale_ * scale_;
}

Vector ComposedSource::diagonal() const {
  Vector out = parts_[0]->diagonal();
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    if (product_) {
      out.array() *= parts_[p]->diagonal().array();
    } else {
      out += parts_[p]->diagonal();
    }
  }
  return out * scale_;
}
#endif

}  // namespace calibrisk

#endif
