// SPDX-License-Identifier: GPL-3.0-or-later
// Predictions in ascending order, with what each row counts: its weight v in every mean and the
// number c of copies that it stands for, each of weight v / c. A sum over a row's copies of
// weight^k is v^k / c^(k - 1).
#ifndef CALIBRISK_JOINT_ROWS_H
#define CALIBRISK_JOINT_ROWS_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace calibrisk {

struct JointRows {
  bool turned = false;          // p and outcomes are those of the other event, 1 - p and 1 - y
  std::vector<Index> order;     // row i is the given row order[i]
  Vector p, logit, variance;    // variance under calibration, above 0
  Vector weight, copies, each;  // v, c, v / c
  double total = 0.0;           // of the weights
  double count = 0.0;           // of the copies

  Index size() const { return p.size(); }
  // one prediction, up to rounding
  bool constant() const { return logit(size() - 1) - logit(0) <= 1e-9; }
  bool equal_copies() const { return each.minCoeff() == each.maxCoeff(); }
  // as many equal copies would have a mean of the same variance
  double effective() const { return total * total / weight.dot(each); }

  Vector sorted(const ConstVectorRef& given) const {
    Vector out(size());
    for (Index i = 0; i < size(); ++i) out(i) = given(order[static_cast<std::size_t>(i)]);
    return out;
  }
  Vector as_given(const ConstVectorRef& values) const {
    Vector out(size());
    for (Index i = 0; i < size(); ++i) out(order[static_cast<std::size_t>(i)]) = values(i);
    return out;
  }
  double mean(const ConstVectorRef& values) const { return weight.dot(values) / total; }
  // of the given outcomes
  Vector residuals(const ConstVectorRef& outcomes) const {
    Vector out = sorted(outcomes);
    if (turned) out = 1.0 - out.array();
    out = p - out;
    return out;
  }
};

namespace detail {

// Probability of the less likely outcome.
inline double rarer(double p) { return std::min(p, 1.0 - p); }

// Which of two complementary events is the rarer one, so that both have the same rows. The mean
// prediction says it; where that is 1/2, the third moment; and where the predictions are as good as
// symmetric, the outcomes, if there are any.
inline bool turns_events(const ConstVectorRef& p, const ConstVectorRef& weights,
                         const ConstVectorRef& outcomes) {
  double total = 0.0, mean = 0.0, cube = 0.0, excess = 0.0, outer = 0.0;
  for (Index i = 0; i < p.size(); ++i) {
    const double w = weights.size() == 0 ? 1.0 : weights(i), x = p(i) - 0.5;
    total += w;
    mean += w * x;
    cube += w * x * x * x;
    if (outcomes.size() == 0) continue;
    excess += w * (p(i) - outcomes(i));
    outer += w * (p(i) - outcomes(i)) * x * x;
  }
  for (const double sum : {mean, cube, excess, outer}) {
    if (std::abs(sum) > 1e-9 * total) return sum > 0.0;
  }
  return false;
}

}  // namespace detail

// `weights` and `copies` may be empty: 1 for every row, and the weights as copies where
// `copies_are_weights`. Rows of weight 0 must be left out. `ties` (outcomes) orders rows that have
// the same prediction and the same weight, so that sums over rows do not depend on the given order.
// Events that are likelier than not are turned into their complements.
inline JointRows joint_rows(const ConstVectorRef& p, const ConstVectorRef& weights,
                            const ConstVectorRef& copies, const ConstVectorRef& ties) {
  const Index n = p.size();
  const auto at = [](const ConstVectorRef& values, Index i) {
    return values.size() == 0 ? 1.0 : values(i);
  };
  JointRows out;
  out.turned = detail::turns_events(p, weights, ties);
  const double tie = out.turned ? -1.0 : 1.0;
  // by the prediction alone first: most have no tie
  std::vector<std::pair<double, Index>> keys(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    keys[static_cast<std::size_t>(i)] = {out.turned ? 1.0 - p(i) : p(i), i};
  }
  std::sort(keys.begin(), keys.end());
  const auto before = [&](const auto& a, const auto& b) {
    const auto rest = [&](Index i) {
      return std::make_tuple(at(weights, i), at(copies, i), tie * at(ties, i), i);
    };
    return rest(a.second) < rest(b.second);
  };
  for (auto begin = keys.begin(); begin != keys.end();) {
    auto end = begin + 1;
    while (end != keys.end() && end->first == begin->first) ++end;
    if (end - begin > 1) std::sort(begin, end, before);
    begin = end;
  }
  out.order.resize(keys.size());
  out.p.resize(n);
  out.logit.resize(n);
  out.variance.resize(n);
  out.weight.resize(n);
  out.copies.resize(n);
  out.each.resize(n);
  for (Index i = 0; i < n; ++i) {
    const auto& key = keys[static_cast<std::size_t>(i)];
    const double value = key.first, weight = at(weights, key.second),
                 number = at(copies, key.second);
    out.order[static_cast<std::size_t>(i)] = key.second;
    out.p(i) = value;
    const double inside = std::min(std::max(value, 1e-12), 1.0 - 1e-12);
    out.logit(i) = std::min(std::max(std::log(inside / (1.0 - inside)), -12.0), 12.0);
    out.variance(i) = inside * (1.0 - inside);
    out.weight(i) = weight;
    out.copies(i) = number;
    out.each(i) = weight / number;
  }
  out.total = out.weight.sum();
  out.count = out.copies.sum();
  return out;
}

// Distinct type-1 quantiles at ascending shares; all values where there are no more of them.
inline std::vector<double> joint_knots(const JointRows& rows, const std::vector<double>& shares) {
  std::vector<double> out;
  for (Index i = 0; i < rows.size() && out.size() <= shares.size(); ++i) {
    if (out.empty() || out.back() != rows.p(i)) out.push_back(rows.p(i));
  }
  if (out.size() <= shares.size()) return out;
  out.clear();
  double sum = 0.0;
  std::size_t next = 0;
  for (Index i = 0; i < rows.size() && next < shares.size(); ++i) {
    sum += rows.weight(i);
    while (next < shares.size() && sum >= (shares[next] - 1e-12) * rows.total) {
      if (out.empty() || out.back() != rows.p(i)) out.push_back(rows.p(i));
      ++next;
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
