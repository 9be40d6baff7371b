// SPDX-License-Identifier: GPL-3.0-or-later
// Logistic regression with an offset, logit P(y = 1) = offset + x' theta, weighted and penalised by
// sum_j ridge_j (theta_j - centre_j)^2: Newton's method with step halving. A step moves no logit by
// more than `longest`: where predictions are almost 0 or 1 the loss is almost linear, and a full
// step leads nowhere. Cox's calibration model has the columns 1 and the logit of the prediction.
// Outcomes that the columns separate have no optimum, and the loss may go to 0 all the same:
// callers look for that.
#ifndef CALIBRISK_CLASSICAL_LOGISTIC_H
#define CALIBRISK_CLASSICAL_LOGISTIC_H

#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/math/vector_exp.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace calibrisk {

struct LogisticFit {
  Vector theta;
  Matrix inverse;           // of the loss' second derivative; NaN where that is singular
  double loss = 0.0;        // weighted negative log-likelihood, with the penalty
  double first_loss = 0.0;  // at the start
  int iterations = 0;
  bool converged = false;
};

class LogisticRegression {
 public:
  // `weight` and `offset` may be empty: 1 and 0.
  LogisticRegression(ConstMatrixRef x, ConstVectorRef y, ConstVectorRef weight,
                     ConstVectorRef offset)
      : x_(x), y_(y), weight_(weight), offset_(offset) {
    const auto fits = [&](Index size) { return size == 0 || size == x.rows(); };
    require(y.size() == x.rows() && fits(weight.size()) && fits(offset.size()),
            "A regression has an outcome, a weight and an offset per row.");
  }

  LogisticFit fit(const Vector& start, const Vector& centre, const Vector& ridge,
                  int max_iterations = 100) const {
    const Index p = x_.cols();
    require(start.size() == p && centre.size() == p && ridge.size() == p,
            "A regression has a start, a centre and a penalty per column.");
    LogisticFit out;
    out.theta = start;
    out.inverse = Matrix::Constant(p, p, std::numeric_limits<double>::quiet_NaN());
    const Vector reach = x_.cwiseAbs().colwise().maxCoeff();
    constexpr double longest = 10.0;
    Moments at = moments(out.theta, centre, ridge);
    out.first_loss = at.loss;
    while (out.iterations < max_iterations) {
      ++out.iterations;
      const Vector scale = at.curvature.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
      const Matrix scaled = scale.asDiagonal() * at.curvature * scale.asDiagonal();
      if (!scaled.allFinite()) break;
      Matrix inverse;
      if (!definite_inverse(scaled, 1e-12, inverse)) {
        out.inverse.setConstant(std::numeric_limits<double>::quiet_NaN());
        break;  // flat: dependent columns, or outcomes far on their sides
      }
      out.inverse = scale.asDiagonal() * inverse * scale.asDiagonal();
      const Vector step = -(out.inverse * at.slope);
      // twice the loss that a full step would still save
      const double decrement = -step.dot(at.slope), size = 1.0 + std::abs(at.loss);
      if (decrement < 1e-16 * size) {  // less than the loss' digits show, not theta's
        out.theta += step;
        out.converged = true;
        break;
      }
      // up to rounding of the sum, which would halve the last steps or end the search before them
      const double most = at.loss + std::max(1e-13, 1e-16 * static_cast<double>(x_.rows())) * size;
      double length = std::min(1.0, longest / step.cwiseAbs().dot(reach));
      Moments next = moments(out.theta + length * step, centre, ridge);
      while (!(next.loss <= most) && length > 1e-8) {
        length *= 0.5;
        next = moments(out.theta + length * step, centre, ridge);
      }
      if (!(next.loss <= most)) break;
      out.theta += length * step;
      at = next;
    }
    out.loss = at.loss;
    return out;
  }

 private:
  struct Moments {
    double loss = 0.0;
    Vector slope;
    Matrix curvature;
  };

  Moments moments(const Vector& theta, const Vector& centre, const Vector& ridge) const {
    Moments m;
    m.slope = 2.0 * ridge.cwiseProduct(theta - centre);
    m.curvature = Matrix((2.0 * ridge).asDiagonal());
    m.loss = ridge.dot((theta - centre).cwiseAbs2());
    Vector eta, tail, loss, gap, bend;  // of a block, whose columns stay in the first cache
    Matrix bent;
    constexpr Index block = 512;
    for (Index from = 0; from < x_.rows(); from += block) {
      const Index n = std::min(block, x_.rows() - from);
      const auto x = x_.middleRows(from, n);
      const auto y = y_.segment(from, n).array();
      eta.noalias() = x * theta;
      if (offset_.size() > 0) eta += offset_.segment(from, n);
      tail = -eta.cwiseAbs();
      exp_in_place(tail.array());
      const auto z = eta.array(), t = tail.array();
      loss = z.max(0.0) - y * z + log1p_up_to_1(t);
      gap = (z >= 0.0).select(1.0, t) / (1.0 + t) - y;
      bend = t / (1.0 + t).square();
      if (weight_.size() > 0) {
        const auto w = weight_.segment(from, n);
        for (Vector* v : {&loss, &gap, &bend}) *v = v->cwiseProduct(w);
      }
      m.loss += loss.sum();
      m.slope.noalias() += x.transpose() * gap;
      bent.noalias() = bend.asDiagonal() * x;
      m.curvature.noalias() += x.transpose() * bent;
    }
    return m;
  }

  // log(1 + t) = 2 atanh(t / (2 + t)) for 0 <= t <= 1, by its series: the argument is at most 1/3.
  static Eigen::ArrayXd log1p_up_to_1(const Eigen::ArrayXd& t) {
    const Eigen::ArrayXd s = t / (2.0 + t), square = s.square();
    Eigen::ArrayXd sum = Eigen::ArrayXd::Constant(t.size(), 1.0 / 33.0);
    for (int k = 31; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    return 2.0 * s * sum;
  }

  const ConstMatrixRef x_;
  const ConstVectorRef y_, weight_, offset_;
};

// Whether the outcomes of one predictor do not overlap, or are all equal.
inline bool are_apart(const ConstVectorRef& z, const ConstVectorRef& y) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  double low[2] = {infinite, infinite}, high[2] = {-infinite, -infinite};
  for (Index i = 0; i < y.size(); ++i) {
    const int event = y(i) == 1.0 ? 1 : 0;
    low[event] = std::min(low[event], z(i));
    high[event] = std::max(high[event], z(i));
  }
  return high[0] <= low[1] || low[0] >= high[1];
}

}  // namespace calibrisk

#endif
