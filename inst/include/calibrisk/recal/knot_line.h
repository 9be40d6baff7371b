// SPDX-License-Identifier: GPL-3.0-or-later
// A function that is linear between knots, of many values.
#ifndef CALIBRISK_RECAL_KNOT_LINE_H
#define CALIBRISK_RECAL_KNOT_LINE_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace calibrisk {

// The line through ascending knots (x_k, y_k), constant on both sides of them. Its values have the
// digits of R's approx(rule = 2). Knots are found by the stretch of equal width that a value is in,
// which has one knot or none in most data.
class KnotLine {
 public:
  KnotLine(std::vector<double> x, std::vector<double> y) : x_(std::move(x)), y_(std::move(y)) {
    require(!x_.empty() && x_.size() == y_.size(), "knot_line: one value per knot.");
    require(std::adjacent_find(x_.begin(), x_.end(), [](double a, double b) { return !(a < b); }) ==
                x_.end(),
            "knot_line: knots ascend.");
    const std::size_t stretches = 4 * x_.size();
    scale_ = static_cast<double>(stretches) / (x_.back() - x_.front());
    if (!std::isfinite(scale_)) scale_ = 0.0;  // one stretch for all
    first_.assign(stretches + 1, 0);
    for (const double knot : x_) ++first_[stretch(knot) + 1];
    for (std::size_t s = 0; s < stretches; ++s) first_[s + 1] += first_[s];
  }

  double operator()(double v) const {
    if (!(v > x_.front())) return v <= x_.front() ? y_.front() : v;
    if (v >= x_.back()) return y_.back();
    // knots of earlier stretches are below v, those of later ones above
    const std::size_t own = stretch(v), begin = first_[own], end = first_[own + 1];
    std::size_t k = begin;
    if (end - begin <= 2) {
      // without a branch that the processor would have to guess
      k += static_cast<std::size_t>((begin < end) & (x_[begin] <= v));
      k += static_cast<std::size_t>((end - begin == 2) & (x_[end - 1] <= v));
    } else {
      k = static_cast<std::size_t>(std::upper_bound(&x_[begin], &x_[end - 1] + 1, v) - x_.data());
    }
    return y_[k - 1] + (y_[k] - y_[k - 1]) * ((v - x_[k - 1]) / (x_[k] - x_[k - 1]));
  }

 private:
  std::size_t stretch(double v) const {
    return std::min(static_cast<std::size_t>((v - x_.front()) * scale_), first_.size() - 2);
  }

  std::vector<double> x_, y_;
  double scale_ = 0.0;
  std::vector<std::size_t> first_;  // knots before each stretch
};

}  // namespace calibrisk

#endif
