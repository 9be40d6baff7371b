// SPDX-License-Identifier: GPL-3.0-or-later
// Temperature scaling p = softmax(b l), b = 1/T, and its ensemble w1 softmax(b l) + w2 p + w3 / K.
#ifndef CALIBRISK_RECAL_TEMPERATURE_H
#define CALIBRISK_RECAL_TEMPERATURE_H

#include <calibrisk/math/roots.h>
#include <calibrisk/recal/class_scores.h>
#include <calibrisk/recal/mixture_weights.h>

#include <array>
#include <utility>

namespace calibrisk {

// The mean loss, its derivative in b and, for the log score, its second derivative
// mean Var_p(l) >= 0 (convex in b).
struct TemperatureLoss {
  double value = 0.0, slope = 0.0, curvature = 0.0;
};

constexpr Index temperature_rows = 512;  // of a block: sums of each row, and a few columns of them

// `of_rows`: derivatives of the rows' log losses, where they are asked for.
inline TemperatureLoss temperature_loss(const Engine& engine, const ClassScores& given,
                                        const Labels& y, const ConstVectorRef& weights, double b,
                                        Loss loss, Vector* of_rows = nullptr) {
  require(static_cast<Index>(y.size()) == given.rows(), "temperature_loss: one label per row.");
  const RowShares shares(weights, given.rows());
  TemperatureLoss total = parallel_reduce(
      engine, given.rows(), temperature_rows, TemperatureLoss(),
      [&](Index begin, Index size) {
        // sums of p, p l, and of p l^2 or of p^2, p^2 l, before p is divided by its sum
        ColumnArray sum = ColumnArray::Zero(size), first = sum, second = sum, tilted = sum;
        RowBlock p;
        given.by_columns(begin, size, [&](Index, const RowBlock& l) {
          p = b * l;
          exp_in_place(p);
          for (Index k = 0; k < l.cols(); ++k) {
            const auto p_k = p.col(k);
            const auto l_k = l.col(k);
            sum += p_k;
            first += p_k * l_k;
            if (loss == Loss::log) {
              second += p_k * l_k.square();
            } else {
              second += p_k.square();
              tilted += p_k.square() * l_k;
            }
          }
        });
        const ColumnArray w = shares.block(begin, size), mean = first / sum;
        TemperatureLoss part;
        for (Index i = 0; i < size; ++i) {
          const double l_y = given.score(begin + i, y[static_cast<std::size_t>(begin + i)] - 1);
          if (loss == Loss::log) {
            part.value += w[i] * (std::log(sum[i]) - b * l_y);
            part.slope += w[i] * (mean[i] - l_y);
            part.curvature += w[i] * (second[i] / sum[i] - mean[i] * mean[i]);
            if (of_rows != nullptr) (*of_rows)(begin + i) = mean[i] - l_y;
          } else {
            // sum_k 2 (p_k - e_k) p_k (l_k - mean)
            const double p_y = std::exp(b * l_y) / sum[i], square = sum[i] * sum[i];
            part.value += w[i] * (1.0 - 2.0 * p_y + second[i] / square);
            part.slope +=
                2.0 * w[i] * ((tilted[i] - mean[i] * second[i]) / square - p_y * (l_y - mean[i]));
          }
        }
        return part;
      },
      [](TemperatureLoss& sum, const TemperatureLoss& part) {
        sum.value += part.value;
        sum.slope += part.slope;
        sum.curvature += part.curvature;
      });
  const double scale = 1.0 / static_cast<double>(given.rows());
  return {scale * total.value, scale * total.slope, scale * total.curvature};
}

struct TemperatureFit {
  enum Place { inside, uniform, highest, lowest };  // T at the end of its range, or any
  double b = 1.0;
  Place place = inside;
  int passes = 0;
  double curvature = 0.0;    // of the log loss
  Vector of_rows;            // derivatives of the rows' log losses
  bool at_infinity = false;  // at an end, whether no range would have the optimum
};

// The best temperature within limits of b.
class TemperatureSearch {
 public:
  TemperatureSearch(const Engine& engine, const ClassScores& given, const Labels& y,
                    const ConstVectorRef& weights, Loss loss, std::pair<double, double> limits)
      : engine_(engine), given_(given), y_(y), weights_(weights), loss_(loss), limits_(limits) {
    require(limits.first > 0.0 && limits.second > limits.first, "A temperature has a range.");
  }

  TemperatureFit best() {
    fit_.b = std::min(std::max(1.0, limits_.first), limits_.second);
    const Labelled labels = labelled();
    if (labels.spread < 1e-12) {
      fit_.place = TemperatureFit::uniform;
    } else if (loss_ == Loss::log) {
      log_optimum();
    } else {
      brier_optimum(limits_, true);
    }
    // T -> 0 is best if every label has the largest probability, T -> Inf if labels have, on
    // average, at most the mean logarithm
    fit_.at_infinity = fit_.place == TemperatureFit::lowest    ? labels.below == 0.0
                       : fit_.place == TemperatureFit::highest ? labels.above_mean <= 0.0
                                                               : false;
    if (loss_ == Loss::log) {
      fit_.of_rows.resize(given_.rows());
      fit_.curvature = at(fit_.b, &fit_.of_rows).curvature;
    }
    return fit_;
  }

 private:
  // Of the scores l: the largest max - mean, the smallest l_y - max, the mean of l_y - mean.
  struct Labelled {
    double spread = 0.0, below = 0.0, above_mean = 0.0;
  };
  Labelled labelled() const {
    const RowShares shares(weights_, given_.rows());
    return parallel_reduce(
        engine_, given_.rows(), temperature_rows, Labelled(),
        [&](Index begin, Index size) {
          ColumnArray mean = ColumnArray::Zero(size);
          given_.by_columns(begin, size, [&](Index, const RowBlock& l) { mean += row_sums(l); });
          mean /= static_cast<double>(given_.classes());
          const ColumnArray w = shares.block(begin, size);
          Labelled part;
          part.spread = -mean.minCoeff();
          for (Index i = 0; i < size; ++i) {
            const double l_y = given_.score(begin + i, y_[static_cast<std::size_t>(begin + i)] - 1);
            part.below = std::min(part.below, l_y);
            part.above_mean += w[i] * (l_y - mean[i]);
          }
          return part;
        },
        [](Labelled& total, const Labelled& part) {
          total.spread = std::max(total.spread, part.spread);
          total.below = std::min(total.below, part.below);
          total.above_mean += part.above_mean;
        });
  }

  TemperatureLoss at(double b, Vector* of_rows = nullptr) {
    ++fit_.passes;
    return temperature_loss(engine_, given_, y_, weights_, b, loss_, of_rows);
  }

  void end_at(bool low) {
    fit_.b = low ? limits_.first : limits_.second;
    fit_.place = low ? TemperatureFit::highest : TemperatureFit::lowest;
  }

  // Newton's method for the root of the increasing slope; steps that leave what brackets it are
  // replaced by the geometric mean of that.
  void log_optimum() {
    if (at(limits_.first).slope >= 0.0) return end_at(true);
    if (at(limits_.second).slope <= 0.0) return end_at(false);
    double lo = limits_.first, hi = limits_.second, &b = fit_.b;
    for (int step = 0; step < 100; ++step) {
      const TemperatureLoss here = at(b);
      if (here.slope == 0.0) return;
      (here.slope > 0.0 ? hi : lo) = b;
      double next = b - here.slope / here.curvature;
      if (!(next > lo && next < hi)) next = std::sqrt(lo * hi);
      const bool done = std::abs(next - b) <= 1e-9 * b;  // the error is its square
      b = next;
      if (done) return;
    }
  }

  // The Brier score need not be convex in b: the best of a grid, finer ones about it until the
  // slopes beside it have a root between them, and that root.
  void brier_optimum(std::pair<double, double> range, bool first) {
    constexpr int last = 32;
    std::array<double, last + 1> grid, value;
    const double width = std::log(range.second / range.first) / last;
    int best = 0;
    for (int j = 0; j <= last; ++j) {
      const auto i = static_cast<std::size_t>(j);
      grid[i] = j == last ? range.second : range.first * std::exp(j * width);
      value[i] = at(grid[i]).value;
      if (value[i] < value[static_cast<std::size_t>(best)]) best = j;
    }
    const auto of = [&](int j) { return static_cast<std::size_t>(j); };
    if (first) {
      // separable labels: the score is 0, as good as 0, from some temperature down
      if (value[last] <= value[of(best)] + 1e-15) return end_at(false);
      if (best == 0) return end_at(true);
    }
    fit_.b = grid[of(best)];
    const double lo = grid[of(std::max(best - 1, 0))], hi = grid[of(std::min(best + 1, last))];
    if (hi - lo < 1e-10 * fit_.b) return;
    const auto falls = [&](double b) { return -at(b).slope; };
    if (falls(lo) > 0.0 && falls(hi) < 0.0) {
      fit_.b = bracketed_root(falls, lo, hi, 1e-14 * hi);
    } else {
      brier_optimum({lo, hi}, false);
    }
  }

  const Engine engine_;
  const ClassScores& given_;
  const Labels& y_;
  const ConstVectorRef weights_;
  const Loss loss_;
  const std::pair<double, double> limits_;
  TemperatureFit fit_;
};

// The parts of the ensemble, of some rows: probabilities of the temperature, and as they are. Those
// of T = 1 are as they are.
inline void ensemble_parts(const ClassScores& given, double b, Index begin, Index size,
                           RowBlock& tempered, RowBlock& probs) {
  given.probs(begin, size, probs);
  tempered = probs;
  if (b != 1.0) given.softmax(b, begin, size, tempered);
}

// Weights of the ensemble that are best for a loss; shares of the rows sum to 1.
inline MixtureWeights ensemble_weights(const Engine& engine, const ClassScores& given,
                                       const Labels& y, const ConstVectorRef& share, double b,
                                       Loss loss) {
  require(share.size() == given.rows() && static_cast<Index>(y.size()) == given.rows(),
          "An ensemble has a share and a label per row.");
  const double uniform = 1.0 / static_cast<double>(given.classes());
  Matrix own(given.rows(), 3);  // what each part gives the label
  own.col(2).setConstant(uniform);
  using Moments = std::array<double, 3>;  // sums over rows and classes of tt, tp and pp
  const Moments sums = parallel_reduce(
      engine, given.rows(), recal_rows(given.classes()), Moments{},
      [&](Index begin, Index size) {
        RowBlock t, p;
        ensemble_parts(given, b, begin, size, t, p);
        for (Index i = 0; i < size; ++i) {
          const Index k = y[static_cast<std::size_t>(begin + i)] - 1;
          own(begin + i, 0) = t(i, k);
          own(begin + i, 1) = p(i, k);
        }
        if (loss == Loss::log) return Moments{};
        const ColumnArray w = share.segment(begin, size).array();
        return Moments{(w * row_sums(t.square())).sum(), (w * row_sums(t * p)).sum(),
                       (w * row_sums(p.square())).sum()};
      },
      [](Moments& total, const Moments& part) {
        for (std::size_t j = 0; j < 3; ++j) total[j] += part[j];
      });
  if (loss == Loss::log) return mixture_weights(own, share);
  Eigen::Matrix3d products = Eigen::Matrix3d::Constant(uniform);  // of what sums to 1 with 1 / K
  products.topLeftCorner<2, 2>() << sums[0], sums[1], sums[1], sums[2];
  MixtureWeights out;
  out.weights = simplex_least_squares(products, own.transpose() * share);
  return out;
}

// The ensemble of all rows; temperature scaling has the weights (1, 0, 0).
inline void ensemble_map(const Engine& engine, const ClassScores& given, double b,
                         const ConstVectorRef& weights, MatrixRef out) {
  require(weights.size() == 3 && out.rows() == given.rows() && out.cols() == given.classes(),
          "An ensemble has three weights, and a column per class.");
  const double rest = weights[2] / static_cast<double>(given.classes());
  given.for_blocks(engine, [&](Index begin, Index size) {
    auto to = out.middleRows(begin, size).array();
    if (weights[0] == 1.0) return given.softmax(b, begin, size, to);
    RowBlock t, p;
    ensemble_parts(given, b, begin, size, t, p);
    to = weights[0] * t + weights[1] * p + rest;
  });
}

}  // namespace calibrisk

#endif
