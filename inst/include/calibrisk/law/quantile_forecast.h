// SPDX-License-Identifier: GPL-3.0-or-later
// Forecasts of quantiles q_1 <= ... <= q_K at levels a_1 < ... < a_K: the quantile function is
// linear between the levels. Beyond the outer ones the tails are exponential, with the density of
// the segment next to them. Equal quantiles are a point with the probability between their levels.
#ifndef CALIBRISK_LAW_QUANTILE_FORECAST_H
#define CALIBRISK_LAW_QUANTILE_FORECAST_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

class QuantileForecast {
 public:
  QuantileForecast(const ConstMatrixRef& values, const ConstMatrixRef& levels, Index row)
      : values_(values.row(row)), levels_(levels.row(row)), last_(values.cols() - 1) {
    require(last_ >= 1 && levels_.size() == values_.size(), "A forecast has two levels or more.");
    low_ = levels_[0] * (values_[1] - values_[0]) / (levels_[1] - levels_[0]);
    high_ = (1.0 - levels_[last_]) * (values_[last_] - values_[last_ - 1]) /
            (levels_[last_] - levels_[last_ - 1]);
  }

  // P(Y <= y), or P(Y < y) where `open`.
  double cdf(double y, bool open) const {
    const Index at = count([&](double q) { return open ? q < y : q <= y; }, values_);
    if (at == 0) return levels_[0] * decay(values_[0] - y, low_);
    if (at > last_) return 1.0 - (1.0 - levels_[last_]) * decay(y - values_[last_], high_);
    return levels_[at - 1] + share_below(at, y) * (levels_[at] - levels_[at - 1]);
  }

  double quantile(double u) const {
    const Index at = count([&](double level) { return level < u; }, levels_);
    if (at == 0) return values_[0] + low_ * std::log(u / levels_[0]);
    if (at > last_) {
      return values_[last_] - high_ * std::log((1.0 - u) / (1.0 - levels_[last_]));
    }
    return values_[at - 1] + (u - levels_[at - 1]) / (levels_[at] - levels_[at - 1]) * width(at);
  }

  double log_density(double y) const {
    const Index at = count([&](double q) { return q <= y; }, values_);
    if (at == 0) return std::log(levels_[0] / low_) - (values_[0] - y) / low_;
    if (at > last_) {
      return std::log((1.0 - levels_[last_]) / high_) - (y - values_[last_]) / high_;
    }
    return std::log((levels_[at] - levels_[at - 1]) / width(at));
  }

  // Of a mixture of uniform distributions and two exponential ones.
  double mean() const {
    double sum =
        levels_[0] * (values_[0] - low_) + (1.0 - levels_[last_]) * (values_[last_] + high_);
    for (Index j = 1; j <= last_; ++j) sum += (levels_[j] - levels_[j - 1]) * middle(j);
    return sum;
  }
  double variance() const {
    const double centre = mean();
    const auto spread = [&](double of) { return (of - centre) * (of - centre); };
    double sum = levels_[0] * (spread(values_[0] - low_) + low_ * low_) +
                 (1.0 - levels_[last_]) * (spread(values_[last_] + high_) + high_ * high_);
    for (Index j = 1; j <= last_; ++j) {
      sum += (levels_[j] - levels_[j - 1]) * (spread(middle(j)) + width(j) * width(j) / 12.0);
    }
    return sum;
  }

  // int (F - 1{x >= y})^2 dx piece by piece.
  double crps(double y) const {
    double sum = tail_crps(y, values_[0], levels_[0], low_) +
                 tail_crps(-y, -values_[last_], 1.0 - levels_[last_], high_);
    const auto square = [](double p, double q) { return (p * p + p * q + q * q) / 3.0; };
    for (Index j = 1; j <= last_; ++j) {
      const double a = levels_[j - 1], b = levels_[j], share = share_below(j, y);
      const double cut = a + share * (b - a);
      sum += width(j) * (share * square(a, cut) + (1.0 - share) * square(1.0 - cut, 1.0 - b));
    }
    return sum;
  }

 private:
  template <class Below>
  static Index count(const Below& below, const Vector& of) {
    return std::count_if(of.data(), of.data() + of.size(), below);
  }
  double width(Index j) const { return values_[j] - values_[j - 1]; }
  double middle(Index j) const { return (values_[j - 1] + values_[j]) / 2.0; }
  // The share of the segment that ends at quantile j below y.
  double share_below(Index j, double y) const {
    if (!(width(j) > 0.0)) return 0.0;
    return std::min(std::max((y - values_[j - 1]) / width(j), 0.0), 1.0);
  }
  static double decay(double gap, double scale) {
    return scale > 0.0 ? std::exp(-std::max(gap, 0.0) / scale) : 0.0;
  }
  // Up to the lowest quantile q: F = level exp((x - q) / scale).
  static double tail_crps(double y, double q, double level, double scale) {
    const double gap = std::max(q - y, 0.0);
    const double at = scale > 0.0 ? std::exp(-gap / scale) : (gap == 0.0 ? 1.0 : 0.0);
    const double below = level * level * scale / 2.0 * at * at;
    // int_y^q (1 - F)^2
    return below + gap - 2.0 * level * scale * (1.0 - at) +
           level * level * scale / 2.0 * (1.0 - at * at);
  }

  Vector values_, levels_;
  Index last_;
  double low_, high_;  // scales of the tails
};

}  // namespace calibrisk

#endif
