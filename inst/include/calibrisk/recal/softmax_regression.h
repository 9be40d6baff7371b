// SPDX-License-Identifier: GPL-3.0-or-later
// Maps softmax(W l + b) of log-probabilities l: vector scaling (W is a diagonal), matrix scaling
// and Dirichlet calibration. Parameters are the diagonal of W, or W by columns, and then b. The
// objective is a mean proper score with penalties on W (its diagonal less 1, or what is off it) and
// on b, both divided by their number. Cost of a value and of a product with the second derivative:
// O(n K^2), O(n K) for a diagonal, parallel over rows.
#ifndef CALIBRISK_RECAL_SOFTMAX_REGRESSION_H
#define CALIBRISK_RECAL_SOFTMAX_REGRESSION_H

#include <calibrisk/recal/softmax_loss.h>

#include <limits>

namespace calibrisk {

// The full W among parameters.
inline Eigen::Map<const Matrix> full_weights(const ConstVectorRef& theta, Index k) {
  return {theta.data(), k, k};
}

// Scores W l + b of some rows.
inline RowBlock linear_scores(const ConstVectorRef& theta, const ConstMatrixRef& l, bool diagonal) {
  const Index k = l.cols();
  RowBlock scores = diagonal ? RowBlock(l.array().rowwise() * theta.head(k).transpose().array())
                             : RowBlock(l * full_weights(theta, k).transpose());
  scores.rowwise() += theta.tail(k).transpose().array();
  return scores;
}

// Rows of a block: a full W is read for each of them.
inline Index linear_rows(Index k, bool diagonal) {
  return diagonal ? recal_rows(k) : std::max(recal_rows(k), k);
}

// softmax(W l + b) of all rows.
inline Matrix linear_map(const Engine& engine, const ConstVectorRef& theta, const ConstMatrixRef& l,
                         bool diagonal) {
  const Index k = l.cols(), rows = linear_rows(k, diagonal);
  require(theta.size() == (diagonal ? k : k * k) + k, "A linear map has weights and intercepts.");
  Matrix out(l.rows(), k);
  parallel_for(engine, (l.rows() + rows - 1) / rows, [&](Index block) {
    const Index begin = block * rows, size = std::min(rows, l.rows() - begin);
    RowBlock s = linear_scores(theta, l.middleRows(begin, size), diagonal);
    softmax_rows(s);
    out.middleRows(begin, size) = s.matrix();
  });
  return out;
}

class SoftmaxRegression {
 public:
  struct Objective {
    Loss loss;
    double weight_penalty, intercept_penalty;
    bool diagonal;
  };
  struct Point {
    double value = 0.0;
    Vector gradient;
    // Infinite where a sum overflowed.
    double steepest() const {
      return gradient.allFinite() ? gradient.lpNorm<Eigen::Infinity>()
                                  : std::numeric_limits<double>::infinity();
    }
  };

  // `weights` may be empty.
  SoftmaxRegression(const Engine& engine, const ConstMatrixRef& l, const Labels& y,
                    const ConstVectorRef& weights, const Objective& objective)
      : engine_(engine),
        l_(l),
        y_(y),
        shares_(weights, l.rows()),
        objective_(objective),
        k_(l.cols()),
        block_(linear_rows(k_, objective.diagonal)),
        n_weights_(objective.diagonal ? k_ : k_ * k_) {
    require(static_cast<Index>(y.size()) == l.rows(), "A softmax regression has a label per row.");
    const auto k = static_cast<double>(k_);
    const double n_penalised = objective.diagonal ? k : std::max(k * (k - 1.0), 1.0);
    pull_ = Vector::Constant(n_weights_ + k_, objective.weight_penalty / n_penalised);
    if (!objective.diagonal) Eigen::Map<Matrix>(pull_.data(), k_, k_).diagonal().setZero();
    pull_.tail(k_).setConstant(objective.intercept_penalty / k);
  }

  Point at(const ConstVectorRef& theta) const {
    check_size(theta);
    const double scale = 1.0 / static_cast<double>(l_.rows());
    Point out;
    out.gradient = Vector::Zero(theta.size());
    out = parallel_reduce(
        engine_, l_.rows(), block_, out,
        [&](Index begin, Index size) {
          const auto l = l_.middleRows(begin, size);
          RowBlock s = linear_scores(theta, l, objective_.diagonal);
          Point part;
          part.value = softmax_loss_block(s, y_.data() + begin, shares_.block(begin, size),
                                          objective_.loss, true);
          part.gradient = of_parameters(s, l);
          return part;
        },
        [&](Point& total, const Point& part) {
          total.value += scale * part.value;
          total.gradient += scale * part.gradient;
        });
    Vector away = theta;
    if (objective_.diagonal) away.head(k_).array() -= 1.0;
    out.value += (pull_.array() * away.array().square()).sum();
    out.gradient.array() += 2.0 * pull_.array() * away.array();
    return out;
  }

  // Newton's method from theta for the log loss, which is convex. L-BFGS stops where the loss does
  // not move in its digits, when the parameters still do in half of theirs; these steps go on by
  // the gradient. Their systems are solved by conjugate gradients, with at most `products`
  // products.
  Vector newton(Vector theta, int steps = 40, int products = 4000) const {
    Point here = at(theta);
    for (int step = 0; step < steps && products > 0; ++step) {
      const Curvature curvature(*this, theta);
      // no more exact than the step itself is
      const Vector move =
          curvature.solve(here.gradient, std::min(0.05, std::sqrt(here.steepest())), products);
      const double slope = here.gradient.dot(move);
      double length = 1.0;
      Point ahead = at(theta - move);
      while (!is_better(here, ahead, length * slope) && length >= 1e-3) {
        length *= 0.5;
        ahead = at(theta - length * move);
      }
      // the last step, after which predictions no longer move in their digits
      if (!is_better(here, ahead, length * slope) || length * slope < 1e-24) break;
      theta -= length * move;
      here = ahead;
    }
    return theta;
  }

  // Whether every label has the largest score by what carries no penalty alone. Scaling that up
  // improves the loss for ever.
  bool separates(Vector theta) const {
    check_size(theta);
    theta = (pull_.array() > 0.0).select(0.0, theta);
    return 0 == parallel_reduce(
                    engine_, l_.rows(), block_, Index{0},
                    [&](Index begin, Index size) {
                      const RowBlock s =
                          linear_scores(theta, l_.middleRows(begin, size), objective_.diagonal);
                      Index misses = 0;
                      for (Index i = 0; i < size; ++i) {
                        const Index own = y_[static_cast<std::size_t>(begin + i)] - 1;
                        for (Index j = 0; j < k_; ++j) {
                          if (j != own && !(s(i, own) > s(i, j))) ++misses;
                        }
                      }
                      return misses;
                    },
                    [](Index& total, Index part) { total += part; });
  }

 private:
  // Near the optimum the loss has no digits left to fall in, but the gradient does.
  static bool is_better(const Point& here, const Point& ahead, double expected) {
    return ahead.steepest() < 0.5 * here.steepest() ||
           ahead.value < here.value - 1e-4 * expected - 1e-14 * std::abs(here.value);
  }

  void check_size(const ConstVectorRef& theta) const {
    require(theta.size() == n_weights_ + k_, "A softmax regression has weights and intercepts.");
  }

  // Derivatives in the scores of some rows -> in the parameters.
  Vector of_parameters(const RowBlock& d, const ConstMatrixRef& l) const {
    Vector out(n_weights_ + k_);
    if (objective_.diagonal) {
      out.head(k_) = (d * l.array()).colwise().sum().transpose();
    } else {
      Eigen::Map<Matrix>(out.data(), k_, k_).noalias() = d.matrix().transpose() * l;
    }
    out.tail(k_) = d.colwise().sum().transpose();
    return out;
  }

  // Second derivative of the log loss, sum_i share_i (diag(p_i) - p_i p_i') x l_i l_i' with l_i
  // closed by a 1, and of the penalties.
  class Curvature {
   public:
    Curvature(const SoftmaxRegression& of, const Vector& theta)
        : of_(of), probs_(linear_map(of.engine_, theta, of.l_, of.objective_.diagonal)) {
      const Index n = of.l_.rows(), k = of.k_, width = of.objective_.diagonal ? 2 : k + 1;
      share_ = of.shares_.block(0, n) / static_cast<double>(n);
      diagonal_.resize(theta.size());
      Matrix rows(n, width);
      for (Index c = 0; c < k; ++c) {
        const Vector root = (share_ * probs_.col(c).array() * (1.0 - probs_.col(c).array())).sqrt();
        if (of.objective_.diagonal) {
          rows.col(0) = root.cwiseProduct(of.l_.col(c));
        } else {
          rows.leftCols(k) = root.asDiagonal() * of.l_;
        }
        rows.col(width - 1) = root;
        Matrix block = of.engine_.dense.crossprod(rows);
        for (Index j = 0; j < width; ++j) {
          block(j, j) = (block(j, j) + 2.0 * of.pull_(position(c, j))) * (1.0 + 1e-10) + 1e-300;
        }
        const Vector diagonal = block.diagonal();
        for (Index j = 0; j < width; ++j) diagonal_(position(c, j)) = diagonal(j);
        if (!of.engine_.dense.cholesky(block)) block = diagonal.cwiseSqrt().asDiagonal();
        factors_.push_back(block);
      }
    }

    // x with (second derivative) x = b by conjugate gradients, whose steps are taken off
    // `products`; b is in its range.
    Vector solve(const Vector& b, double tolerance, int& products) const {
      Vector x = Vector::Zero(b.size()), residual = b, direction = near(b);
      double size = residual.dot(direction);
      const double goal = tolerance * tolerance * size;
      const int last = products - std::min(products, 300);
      while (products > last && size > goal) {
        const Vector image = times(direction);
        --products;
        const double curvature = direction.dot(image);
        // constant predictions leave directions that the loss does not know: rounding alone is left
        const double rounding = 1e-14 * direction.cwiseAbs2().dot(diagonal_);
        if (!(curvature > rounding && std::isfinite(curvature))) break;
        x += size / curvature * direction;
        residual -= size / curvature * image;
        const Vector next = near(residual);
        const double before = size;
        size = residual.dot(next);
        direction = next + size / before * direction;
      }
      return x;
    }

   private:
    Vector times(const Vector& direction) const {
      return parallel_reduce(
          of_.engine_, of_.l_.rows(), of_.block_, Vector(2.0 * of_.pull_.cwiseProduct(direction)),
          [&](Index begin, Index size) {
            const auto l = of_.l_.middleRows(begin, size);
            const auto p = probs_.middleRows(begin, size).array();
            RowBlock moved = p * linear_scores(direction, l, of_.objective_.diagonal);
            const ColumnArray sum = row_sums(moved);
            moved -= p.colwise() * sum;
            moved.colwise() *= share_.segment(begin, size);
            return of_.of_parameters(moved, l);
          },
          [](Vector& total, const Vector& part) { total += part; });
    }

    // Solves with the blocks of each class alone.
    Vector near(const Vector& b) const {
      Vector out(b.size());
      for (Index c = 0; c < of_.k_; ++c) {
        const Matrix& factor = factors_[static_cast<std::size_t>(c)];
        Vector own(factor.rows());
        for (Index j = 0; j < own.size(); ++j) own(j) = b(position(c, j));
        factor.triangularView<Eigen::Lower>().solveInPlace(own);
        factor.triangularView<Eigen::Lower>().transpose().solveInPlace(own);
        for (Index j = 0; j < own.size(); ++j) out(position(c, j)) = own(j);
      }
      return out;
    }

    // Places of a class's weights, and last of its intercept, among all parameters.
    Index position(Index c, Index j) const { return c + of_.k_ * j; }

    const SoftmaxRegression& of_;
    const Matrix probs_;
    ColumnArray share_;
    Vector diagonal_;
    std::vector<Matrix> factors_;
  };

  const Engine engine_;
  const ConstMatrixRef l_;
  const Labels y_;
  const RowShares shares_;
  const Objective objective_;
  const Index k_, block_, n_weights_;
  Vector pull_;
};

}  // namespace calibrisk

#endif
