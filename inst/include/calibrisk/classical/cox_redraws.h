// SPDX-License-Identifier: GPL-3.0-or-later
// Cox's regressions of weighted outcomes that are redrawn from the predictions. Where weights
// depend on the prediction, few rows make the scores, and Wald's statistics of calibrated
// predictions are neither normal nor symmetric. Those of redrawn outcomes, each with its own robust
// error, have the distribution of the statistics that are seen, if weights do not depend on the
// outcome.
#ifndef CALIBRISK_CLASSICAL_COX_REDRAWS_H
#define CALIBRISK_CLASSICAL_COX_REDRAWS_H

#include <calibrisk/classical/logistic.h>
#include <calibrisk/engine.h>
#include <calibrisk/joint/law.h>
#include <calibrisk/joint/rows.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/short_work.h>

#include <array>
#include <cstdint>

namespace calibrisk {

constexpr std::uint64_t cox_key = 20261203;

namespace detail {

// With few redraws that have finite estimates nothing is said on their distribution.
constexpr std::size_t fewest_cox_redraws = 100;

// Regressions of the outcomes y on (1, z), from (0, 1) on, and on 1 with the offset z.
class CoxRows {
 public:
  using Array = Eigen::ArrayXd;

  CoxRows(const Vector& z, const Vector& weight) : z_(z), weight_(weight) {
    rates(0.0, 1.0, start_);
    bend_ = start_ * (1.0 - start_) * weight_.array();
  }

  // Wald's statistics of the intercept, the slope, the calibration in the large and of the first
  // two together; NaN without a finite estimate.
  std::array<double, 4> statistics(const Vector& y) const {
    std::array<double, 4> out;
    out.fill(std::numeric_limits<double>::quiet_NaN());
    if (y.minCoeff() == y.maxCoeff()) return out;
    Array rate, bend;
    double theta[2] = {0.0, 1.0};
    if (newton(y, theta, 2, rate, bend) || fitted(y, theta, 2)) {
      const Eigen::Vector2d off(theta[0], theta[1] - 1.0);
      const Eigen::Matrix2d v = covariance(y, theta, 2, rate, bend);
      for (int k = 0; k < 2; ++k) out[static_cast<std::size_t>(k)] = off(k) / std::sqrt(v(k, k));
      out[3] = off.dot(inverted(v) * off);
    }
    theta[0] = 0.0;
    theta[1] = 1.0;
    if (newton(y, theta, 1, rate, bend) || fitted(y, theta, 1)) {
      out[2] = theta[0] / std::sqrt(covariance(y, theta, 1, rate, bend)(0, 0));
    }
    return out;
  }

 private:
  void rates(double level, double slope, Array& out) const {
    out = -(level + slope * z_.array());
    out = out.min(700.0);
    exp_in_place(out);
    out = 1.0 / (1.0 + out);
  }

  static Eigen::Matrix2d inverted(const Eigen::Matrix2d& m) {
    Eigen::Matrix2d out;
    out << m(1, 1), -m(0, 1), -m(1, 0), m(0, 0);
    return out / (m(0, 0) * m(1, 1) - m(0, 1) * m(1, 0));
  }

  // sums of v, v z, v z^2: one column, or both
  static Eigen::Matrix2d gram(const Array& v, const Vector& z, int columns) {
    Eigen::Matrix2d out = Eigen::Matrix2d::Identity();
    out(0, 0) = v.sum();
    if (columns == 1) return out;
    const Array first = v * z.array();
    out(0, 1) = out(1, 0) = first.sum();
    out(1, 1) = (first * z.array()).sum();
    return out;
  }

  // Without step halving, which calibrated predictions hardly need.
  bool newton(const Vector& y, double* theta, int columns, Array& rate, Array& bend) const {
    double before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 12; ++step) {
      if (step > 0) rates(theta[0], theta[1], rate);
      const Array& at = step == 0 ? start_ : rate;
      if (step > 0) bend = at * (1.0 - at) * weight_.array();
      const Array pull = weight_.array() * (y.array() - at);
      const Eigen::Vector2d slope(pull.sum(), columns == 1 ? 0.0 : (pull * z_.array()).sum());
      const Eigen::Matrix2d curvature = gram(step == 0 ? bend_ : bend, z_, columns);
      const Eigen::Vector2d move = inverted(curvature) * slope;
      const double decrement = move.dot(slope);
      if (!(decrement >= 0.0) || (step > 1 && decrement > before)) return false;
      theta[0] += move(0);
      theta[1] += move(1);
      if (decrement < 1e-12) return true;
      before = decrement;
    }
    return false;
  }

  bool fitted(const Vector& y, double* theta, int columns) const {
    const Vector none, start = columns == 2 ? Vector(Vector::Unit(2, 1)) : Vector(Vector::Zero(1));
    Matrix x = Matrix::Ones(y.size(), columns);
    if (columns == 2) x.col(1) = z_;
    const LogisticRegression model(x, y, weight_, columns == 2 ? none : z_);
    const LogisticFit fit = model.fit(start, start, Vector::Zero(columns));
    theta[0] = fit.theta(0);
    theta[1] = columns == 2 ? fit.theta(1) : 1.0;
    return fit.converged && (columns == 1 || !are_apart(z_, y));
  }

  // The covariance of the weighted means of influence rows n H^-1 x_i (y_i - p_i) / (1 - h_i), h_i
  // the leverage.
  Eigen::Matrix2d covariance(const Vector& y, const double* theta, int columns, Array& rate,
                             Array& bend) const {
    rates(theta[0], theta[1], rate);
    bend = rate * (1.0 - rate) * weight_.array();
    Eigen::Matrix2d inverse = inverted(gram(bend, z_, columns));
    if (columns == 1) inverse(1, 1) = 0.0;
    const auto z = z_.array(), w = weight_.array();
    const Array leverage = bend * (inverse(0, 0) + (2.0 * inverse(0, 1) + inverse(1, 1) * z) * z);
    const Array first = w * (y.array() - rate) / (1.0 - leverage), second = first * z;
    const auto n = static_cast<double>(y.size());
    const Eigen::Vector2d mean(first.sum() / n, second.sum() / n);
    const Eigen::Vector2d cross((w * first).sum(), (w * second).sum());
    Eigen::Matrix2d sum;
    sum << first.square().sum(), (first * second).sum(), 0.0, second.square().sum();
    sum(1, 0) = sum(0, 1);
    sum += w.square().sum() * mean * mean.transpose() - mean * cross.transpose() -
           cross * mean.transpose();
    return n / (n - 1.0) * inverse * sum * inverse;
  }

  const Vector z_, weight_;
  Array start_, bend_;  // at the predictions
};

}  // namespace detail

// What redrawn outcomes say on Wald's statistics t of the intercept, the slope and the calibration
// in the large, and on the joint one: p-values, and how many errors below and above an estimate its
// limits are, which each miss with the probability `tail`. Without enough redraws p is 0.
struct CoxLaw {
  std::array<double, 4> p{};
  std::array<double, 3> below{}, above{};
};

// `p`: predictions; `z`: the logits that enter the regressions; `weight`: 1 on average.
inline CoxLaw cox_law(const Engine& engine, const Vector& p, const Vector& z, const Vector& weight,
                      const std::array<double, 4>& t, double tail, Index redraws) {
  const Index n = p.size();
  // in an order, and of an event, that do not depend on the given ones
  const JointRows rows = joint_rows(p, weight, Vector(), Vector());
  const double turn = rows.turned ? -1.0 : 1.0;
  const detail::CoxRows regressions(turn * rows.sorted(z), rows.sorted(weight));
  Matrix drawn(redraws, 4);
  constexpr Index block = 16;
  const Engine within =
      engine_for(engine, 50.0 * static_cast<double>(n) * static_cast<double>(redraws));
  parallel_for(within, (redraws + block - 1) / block, [&](Index task) {
    Vector y(n);
    for (Index r = task * block; r < std::min(redraws, (task + 1) * block); ++r) {
      for (Index i = 0; i < n; ++i) {
        const double u =
            counter_uniform(cox_key, static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(i));
        y(i) = u < rows.p(i) ? 1.0 : 0.0;
      }
      const std::array<double, 4> found = regressions.statistics(y);
      // intercepts of the other event have the other sign
      drawn.row(r) << turn * found[0], found[1], turn * found[2], found[3];
    }
  });
  const auto law = [&](Index column, double sign) {
    std::vector<double> sorted;
    for (Index r = 0; r < redraws; ++r) {
      const double one = std::nearbyint(sign * drawn(r, column) * 1e9) / 1e9;
      if (std::isfinite(one)) sorted.push_back(one);
    }
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  CoxLaw out;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto column = static_cast<Index>(k);
    const std::vector<double> up = law(column, 1.0);
    if (up.size() < detail::fewest_cox_redraws) continue;
    const RedrawnTail above(up);
    const double seen = std::nearbyint(t[k] * 1e9) / 1e9;
    if (k == 3) {
      out.p[k] = above.survival(seen);
      continue;
    }
    const RedrawnTail below(law(column, -1.0));
    out.p[k] = std::min(1.0, 2.0 * std::min(above.survival(seen), below.survival(-seen)));
    // statistics are rounded: one at the edge is within the limits
    out.below[k] = above.edge(tail) + 0.5e-9;
    out.above[k] = below.edge(tail) + 0.5e-9;
  }
  return out;
}

}  // namespace calibrisk

#endif
