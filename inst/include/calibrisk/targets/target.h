// SPDX-License-Identifier: GPL-3.0-or-later
// Target kernels with the outcome marginalised over the predictions:
//   h_Y(i, j) = k(y_i, y_j) - E k(Z_i, y_j) - E k(y_i, Z_j) + E k(Z_i, Z_j),
// Z_i and Z_j independent, also for i = j (Widmann et al. 2021, section 3.2).
#ifndef CALIBRISK_TARGETS_TARGET_H
#define CALIBRISK_TARGETS_TARGET_H

#include <calibrisk/pairs/outcome_moments.h>
#include <calibrisk/pairs/pair_source.h>

#include <vector>

namespace calibrisk {

class Target : public PairSource {
 public:
  // E k(Z_i, Z_j)
  virtual void inner(Index i, Index j, MatrixRef out) const = 0;
  // out(a, b) = E k(Z_{i+a}, t_b). points: [J x d]
  virtual void expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const = 0;
};

using TargetPtr = std::unique_ptr<Target>;

// E k(Z_i, Z_j) of a target as a source of its own (for the MMD between predictions).
class InnerSource : public PairSource {
 public:
  explicit InnerSource(const Target& target) : target_(target) {}
  Index size() const override { return target_.size(); }
  void block(Index i, Index j, MatrixRef out) const override { target_.inner(i, j, out); }
  double cost() const override { return target_.cost(); }

 private:
  const Target& target_;
};

// Predictions that are mixtures of K location-scale components (K = 1: the family itself),
// outcomes on the line. Columns are components; a component of weight 0 costs nothing.
template <class Pairing>
class LocationScaleTarget : public Target {
 public:
  LocationScaleTarget(Pairing pairing, MatrixView weight, MatrixView location, MatrixView scale,
                      MatrixView outcome)
      : pairing_(pairing), weight_(weight), location_(location), scale_(scale), y_(outcome) {
    require(outcome.cols() == 1, "Location-scale targets are univariate.");
  }
  Index size() const override { return y_.rows(); }

  void block(Index i, Index j, MatrixRef out) const override {
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) {
        out(a, b) = pairing_.value(y_(i + a, 0) - y_(j + b, 0)) - single(i + a, y_(j + b, 0)) -
                    single(j + b, y_(i + a, 0)) + both(i + a, j + b);
      }
    }
  }
  void inner(Index i, Index j, MatrixRef out) const override {
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) out(a, b) = both(i + a, j + b);
    }
  }
  void expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const override {
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) out(a, b) = single(i + a, points(b, 0));
    }
  }
  double cost() const override {
    const double components = static_cast<double>(weight_.cols());
    return 1.0 + components * (2.0 + components);
  }

 private:
  double single(Index i, double y) const {
    double sum = 0.0;
    for (Index k = 0; k < weight_.cols(); ++k) {
      const double w = weight_(i, k);
      if (w > 0) sum += w * pairing_.single(location_(i, k) - y, scale_(i, k));
    }
    return sum;
  }
  double both(Index i, Index j) const {
    double sum = 0.0;
    for (Index k = 0; k < weight_.cols(); ++k) {
      if (!(weight_(i, k) > 0)) continue;
      for (Index l = 0; l < weight_.cols(); ++l) {
        const double w = weight_(i, k) * weight_(j, l);
        if (w > 0) {
          sum += w * pairing_.both(location_(i, k) - location_(j, l), scale_(i, k), scale_(j, l));
        }
      }
    }
    return sum;
  }

  Pairing pairing_;
  MatrixView weight_, location_, scale_, y_;
};

// Draws z_{i1}, ..., z_{iS} of each prediction, columns s d .. s d + d - 1. Means over all
// pairs of draws; on the diagonal over pairs of different draws, so that no entry is biased.
class DrawsTarget : public Target {
 public:
  CALIBRISK_SHARED DrawsTarget(Kernel kernel, MatrixView draws, MatrixView outcome);
  Index size() const override { return y_.rows(); }

  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void inner(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void expectation(Index i, const ConstMatrixRef& points,
                                    MatrixRef out) const override;
  double cost() const override {
    const double s = static_cast<double>(draws_);
    return 1.0 + s * (2.0 + s);
  }

 protected:
  Eigen::Block<const Matrix> of(Index i) const {
    return points_.block(i * draws_, 0, draws_, dimension_);
  }
  // out(a, b) = mean_s k(z_{i + a, s}, t_b)
  CALIBRISK_SHARED void singles(Index i, Index rows, const ConstMatrixRef& points,
                                MatrixRef out) const;

  const MatrixView& outcomes() const { return y_; }
  const Kernel& kernel() const { return kernel_; }

 private:
  Kernel kernel_;
  MatrixView y_;
  Index dimension_, draws_;
  Matrix points_;
};

// A finite outcome space 1..m with kernel matrix M: h_Y = (p_i - e_{y_i})' M (p_j - e_{y_j}).
class FiniteTarget : public Target {
 public:
  // residuals = probs - onehot, right = residuals M; probs and probs_right = probs M likewise.
  FiniteTarget(MatrixView residuals, MatrixView right, MatrixView probs, MatrixView probs_right,
               OutcomeMoments known = {})
      : residuals_(residuals),
        right_(right),
        probs_(probs),
        probs_right_(probs_right),
        known_(known) {}
  Index size() const override { return residuals_.rows(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void moments(Index i, Index j, MatrixRef out, MatrixRef second) const override;
  CALIBRISK_SHARED void inner(Index i, Index j, MatrixRef out) const override;
  // points: class indices, from 1
  CALIBRISK_SHARED void expectation(Index i, const ConstMatrixRef& points,
                                    MatrixRef out) const override;

 private:
  MatrixView residuals_, right_, probs_, probs_right_;
  OutcomeMoments known_;
};

// The linear target kernel <y, y'>: h_Y = <y_i - m_i, y_j - m_j>, m the mean of a prediction.
class LinearTarget : public Target {
 public:
  CALIBRISK_SHARED LinearTarget(MatrixView mean, MatrixView outcome);
  Index size() const override { return mean_.rows(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void inner(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void expectation(Index i, const ConstMatrixRef& points,
                                    MatrixRef out) const override;

 private:
  MatrixView mean_;
  Matrix residuals_;
};

// scale * sum of targets (a sum of target kernels).
class SumTarget : public Target {
 public:
  SumTarget(double scale, std::vector<TargetPtr> parts) : scale_(scale), parts_(std::move(parts)) {
    require(!parts_.empty(), "A sum of targets needs parts.");
  }
  Index size() const override { return parts_[0]->size(); }
  CALIBRISK_SHARED void block(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void inner(Index i, Index j, MatrixRef out) const override;
  CALIBRISK_SHARED void expectation(Index i, const ConstMatrixRef& points,
                                    MatrixRef out) const override;
  double cost() const override {
    double total = 0.0;
    for (const auto& part : parts_) total += part->cost();
    return total;
  }

 private:
  template <class Fill>
  void accumulate(MatrixRef out, const Fill& fill) const {
    fill(*parts_[0], out);
    Matrix other(out.rows(), out.cols());
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      fill(*parts_[p], other);
      out += other;
    }
    if (scale_ != 1.0) out *= scale_;
  }
  double scale_;
  std::vector<TargetPtr> parts_;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_TARGETS)
DrawsTarget::DrawsTarget(Kernel kernel, MatrixView draws, MatrixView outcome)
    : kernel_(std::move(kernel)),
      y_(outcome),
      dimension_(outcome.cols()),
      draws_(draws.cols() / outcome.cols()) {
  require(dimension_ > 0 && draws.cols() % dimension_ == 0 && draws_ >= 2,
          "There must be at least two draws of every prediction.");
  // Draw-major copy: points of one observation are consecutive rows.
  points_.resize(draws.rows() * draws_, dimension_);
  for (Index i = 0; i < draws.rows(); ++i) {
    for (Index s = 0; s < draws_; ++s) {
      points_.row(i * draws_ + s) = draws.block(i, s * dimension_, 1, dimension_);
    }
  }
}

void DrawsTarget::block(Index i, Index j, MatrixRef out) const {
  gram_block(kernel_, y_.middleRows(i, out.rows()), y_.middleRows(j, out.cols()), out);
  Matrix part(out.rows(), out.cols());
  expectation(i, y_.middleRows(j, out.cols()), part);
  out -= part;
  Matrix other(out.cols(), out.rows());
  expectation(j, y_.middleRows(i, out.rows()), other);
  out -= other.transpose();
  inner(i, j, part);
  out += part;
}

void DrawsTarget::inner(Index i, Index j, MatrixRef out) const {
  Matrix gram(draws_, draws_);
  const double s = static_cast<double>(draws_);
  for (Index b = 0; b < out.cols(); ++b) {
    for (Index a = 0; a < out.rows(); ++a) {
      gram_block(kernel_, of(i + a), of(j + b), gram);
      out(a, b) =
          i + a == j + b ? (gram.sum() - gram.trace()) / (s * (s - 1.0)) : gram.sum() / (s * s);
    }
  }
}

void DrawsTarget::expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const {
  singles(i, out.rows(), points, out);
}

void DrawsTarget::singles(Index i, Index rows, const ConstMatrixRef& points, MatrixRef out) const {
  Matrix gram(draws_, points.rows());
  for (Index a = 0; a < rows; ++a) {
    gram_block(kernel_, of(i + a), points, gram);
    out.row(a) = gram.colwise().mean();
  }
}

void FiniteTarget::block(Index i, Index j, MatrixRef out) const {
  row_products(residuals_.middleRows(i, out.rows()), right_.middleRows(j, out.cols()), out);
}

void FiniteTarget::moments(Index i, Index j, MatrixRef out, MatrixRef second) const {
  if (!known_.known()) return PairSource::moments(i, j, out, second);
  block(i, j, out);
  known_.block(i, j, second);
}

void FiniteTarget::inner(Index i, Index j, MatrixRef out) const {
  row_products(probs_.middleRows(i, out.rows()), probs_right_.middleRows(j, out.cols()), out);
}

void FiniteTarget::expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const {
  for (Index b = 0; b < out.cols(); ++b) {
    const Index k = static_cast<Index>(points(b, 0)) - 1;
    out.col(b) = probs_right_.col(k).segment(i, out.rows());
  }
}

LinearTarget::LinearTarget(MatrixView mean, MatrixView outcome)
    : mean_(mean), residuals_(outcome - mean) {}

void LinearTarget::block(Index i, Index j, MatrixRef out) const {
  out.noalias() =
      residuals_.middleRows(i, out.rows()) * residuals_.middleRows(j, out.cols()).transpose();
}

void LinearTarget::inner(Index i, Index j, MatrixRef out) const {
  out.noalias() = mean_.middleRows(i, out.rows()) * mean_.middleRows(j, out.cols()).transpose();
}

void LinearTarget::expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const {
  out.noalias() = mean_.middleRows(i, out.rows()) * points.transpose();
}

void SumTarget::block(Index i, Index j, MatrixRef out) const {
  accumulate(out, [&](const Target& part, MatrixRef to) { part.block(i, j, to); });
}

void SumTarget::inner(Index i, Index j, MatrixRef out) const {
  accumulate(out, [&](const Target& part, MatrixRef to) { part.inner(i, j, to); });
}

void SumTarget::expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const {
  accumulate(out, [&](const Target& part, MatrixRef to) { part.expectation(i, points, to); });
}
#endif

}  // namespace calibrisk

#endif
