// SPDX-License-Identifier: GPL-3.0-or-later
// Predictions in ascending order, with what each row counts: its weight v in every mean and the
// number c of copies that it stands for, each of weight v / c. A sum over a row's copies of
// weight^k is v^k / c^(k - 1).
#ifndef CALIBRISK_JOINT_ROWS_H
#define CALIBRISK_JOINT_ROWS_H

#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/math/row_order.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace calibrisk {

struct JointRows {
  bool turned = false;        // p and outcomes are those of the other event, 1 - p and 1 - y
  std::vector<int> order;     // row i is the given row order[i]
  Vector p, logit, variance;  // variance under calibration, above 0
  RowWeights counts;          // v and c
  double total = 0.0;         // of the weights
  double count = 0.0;         // of the copies

  Index size() const { return p.size(); }
  double weight(Index i) const { return counts(i); }
  double copies(Index i) const { return counts.copies(i); }
  double each(Index i) const { return counts.each(i); }
  // one prediction, up to rounding
  bool constant() const { return logit(size() - 1) - logit(0) <= 1e-9; }
  bool equal_copies() const {
    Index i = 1;
    while (!counts.all_equal() && i < size() && each(i) == each(0)) ++i;
    return counts.all_equal() || i == size();
  }
  // as many equal copies would have a mean of the same variance
  double effective() const {
    double squares = 0.0;
    for (Index i = 0; i < size(); ++i) squares += counts.squares(i);
    return total * total / squares;
  }

  Vector sorted(const ConstVectorRef& given) const {
    Vector out(size());
    for (Index i = 0; i < size(); ++i) out(i) = given(order[static_cast<std::size_t>(i)]);
    return out;
  }
  template <class Values>
  double mean(const Eigen::MatrixBase<Values>& values) const {
    if (counts.all_equal()) return values.sum() / total;
    double sum = 0.0;
    for (Index i = 0; i < size(); ++i) sum += weight(i) * values.coeff(i);
    return sum / total;
  }
  Vector weighted(Vector values) const {
    for (Index i = 0; i < size(); ++i) values(i) *= weight(i);
    return values;
  }
  // of the given outcomes
  Vector residuals(const ConstVectorRef& outcomes) const {
    Vector out = sorted(outcomes);
    for (Index i = 0; i < size(); ++i) out(i) = p(i) - (turned ? 1.0 - out(i) : out(i));
    return out;
  }
};

namespace detail {

// Probability of the less likely outcome.
inline double rarer(double p) { return std::min(p, 1.0 - p); }

}  // namespace detail

// `weights` and `copies` may be empty: 1 for every row. Rows of weight 0 must be left out. `ties`
// (outcomes) orders rows that have the same prediction and the same weight, so that sums over rows
// do not depend on the given order. Events that are likelier than not are turned into their
// complements.
CALIBRISK_SHARED JointRows joint_rows(const ConstVectorRef& p, const ConstVectorRef& weights,
                                      const ConstVectorRef& copies, const ConstVectorRef& ties);

// Distinct type-1 quantiles at ascending shares; all values where there are no more of them.
CALIBRISK_SHARED std::vector<double> joint_knots(const JointRows& rows,
                                                 const std::vector<double>& shares);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)

namespace detail {

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

JointRows joint_rows(const ConstVectorRef& p, const ConstVectorRef& weights,
                     const ConstVectorRef& copies, const ConstVectorRef& ties) {
  const Index n = p.size();
  const auto at = [](const ConstVectorRef& values, std::size_t i) {
    return values.size() == 0 ? 1.0 : values(static_cast<Index>(i));
  };
  JointRows out;
  out.turned = detail::turns_events(p, weights, ties);
  const auto event = [&](std::size_t i) { return out.turned ? 1.0 - at(p, i) : at(p, i); };
  for (Vector* values : {&out.p, &out.logit, &out.variance}) values->resize(n);
  out.order.resize(static_cast<std::size_t>(n));
  RowOrder sorted(static_cast<std::size_t>(n), out.logit.data(), out.variance.data());
  const auto place = [&] {
    sorted.sort(event);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      out.order[i] = static_cast<int>(sorted[i]);
      out.p(static_cast<Index>(i)) = event(sorted[i]);
    }
  };
  place();
  if (std::adjacent_find(out.p.data(), out.p.data() + n) != out.p.data() + n) {
    // equal predictions by what else the rows are, the last of which is sorted first
    if (ties.size() > 0) {
      sorted.sort([&](std::size_t i) { return out.turned ? -at(ties, i) : at(ties, i); });
    }
    if (copies.size() > 0) sorted.sort([&](std::size_t i) { return at(copies, i); });
    if (weights.size() > 0) sorted.sort([&](std::size_t i) { return at(weights, i); });
    place();
  }
  for (Index i = 0; i < n; ++i) {
    const double inside = std::min(std::max(out.p(i), 1e-12), 1.0 - 1e-12);
    out.logit(i) = std::min(std::max(std::log(inside / (1.0 - inside)), -12.0), 12.0);
    out.variance(i) = inside * (1.0 - inside);
  }
  const auto ordered = [&](const ConstVectorRef& values) {
    return values.size() > 0 ? out.sorted(values) : Vector();
  };
  out.counts = RowWeights(ordered(weights), ordered(copies));
  out.total = out.counts.total(n);
  out.count = out.counts.count(n);
  return out;
}

std::vector<double> joint_knots(const JointRows& rows, const std::vector<double>& shares) {
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

#endif

}  // namespace calibrisk

#endif
