// SPDX-License-Identifier: GPL-3.0-or-later
// The difference of an error of two models on the same rows: its limits and its test. An error is a
// root r = value^(1/power) of a mean; the test is that of means, which are defined near 0 too.
#ifndef CALIBRISK_CLASSICAL_MODEL_DIFFERENCE_H
#define CALIBRISK_CLASSICAL_MODEL_DIFFERENCE_H

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace calibrisk {

// Rows of different folds contribute to each other's estimated gap. If the error is all noise, this
// doubles the variance of the mean of honest bounds; if the signs of the gaps are certain, it adds
// nothing. `share`: of the value that is not noise. From a power of 2 on the scale of
// tangent_bound() in R compensates for this.
inline double honest_inflation(double power, double share) {
  return power < 2.0 ? std::sqrt(2.0 - share) : 1.0;
}

// `bound`: honest lower bound of the value; `root`: what is reported; `low`, `high`: its own
// limits.
struct ModelError {
  double value, bound, root, low, high;
};

// Standard errors of the difference of means, and of that of roots at both roots' slopes.
struct DifferenceErrors {
  double of_values, of_roots;
};

struct DifferenceLimits {
  double std_error, low, high;
};

// Errors are biased upwards by the noise of their estimated gaps, more so for the model whose gaps
// are small compared with their noise. The difference of two errors is therefore biased. The
// difference of their honest lower bounds is biased the other way, or not at all if both models are
// calibrated. The interval contains both intervals and, except for an end beyond 0, all differences
// within the models' own limits. Without honest bounds it is the first of the two alone.
class ModelDifference {
 public:
  // `told`: both roots are distinguished from 0, so that they have slopes.
  ModelDifference(const ModelError& a, const ModelError& b, double power, bool told,
                  const DifferenceErrors& own)
      : a_(a), b_(b), power_(power), told_(told), own_(own) {}

  void set_bounds(const DifferenceErrors& errors) {
    const auto share = [](const ModelError& one) {
      return one.value > 0.0 ? one.bound / one.value : 0.0;
    };
    const double least = std::min(std::max(lesser(share(a_), share(b_)), 0.0), 1.0);
    const double by = honest_inflation(power_, least);
    bounds_ = {by * errors.of_values, by * errors.of_roots};
    honest_ = true;
  }

  // The value of a z-test of the means, of the smaller of both differences; 0 where they have
  // opposite signs, or the predictions are the same.
  double z() const {
    const double first = a_.value - b_.value, last = honest_ ? a_.bound - b_.bound : first;
    if (first == 0.0 || first * last <= 0.0) return 0.0;
    const double of_values = std::abs(first / own_.of_values);
    return honest_ ? lesser(of_values, std::abs(last / bounds_.of_values)) : of_values;
  }

  DifferenceLimits limits(double quantile) const {
    Range apart = around(a_.value - b_.value, own_.of_values, quantile);
    if (honest_) {
      const Range bound = around(a_.bound - b_.bound, bounds_.of_values, quantile);
      apart = {lesser(apart.first, bound.first), greater(apart.second, bound.second)};
    }
    const double difference = a_.root - b_.root, none = std::numeric_limits<double>::quiet_NaN();
    if (power_ != 1.0 && !told_) {
      const Range reach = of_own_limits(apart);
      return {none, reach.first, reach.second};
    }
    Range reach = around(difference, own_.of_roots, quantile);
    if (honest_) {
      const Range also = around(root(a_.bound) - root(b_.bound), bounds_.of_roots, quantile);
      reach = {end(lesser(reach.first, also.first), a_.low - b_.high),
               -end(-greater(reach.second, also.second), b_.low - a_.high)};
    }
    if (power_ != 1.0) reach = tested(reach, apart);
    return {own_.of_roots, reach.first, reach.second};
  }

 private:
  using Range = std::pair<double, double>;

  // not a number if one of both is not
  static double lesser(double x, double y) { return x < y || std::isnan(x) ? x : y; }
  static double greater(double x, double y) { return x > y || std::isnan(x) ? x : y; }
  static Range around(double value, double std_error, double quantile) {
    return {value - quantile * std_error, value + quantile * std_error};
  }
  double root(double value) const {
    return power_ == 1.0 ? value : std::pow(std::max(value, 0.0), 1.0 / power_);
  }
  // an end beyond 0 is the test's
  static double end(double paired, double apart) {
    return paired > 0.0 ? paired : lesser(lesser(apart, paired), 0.0);
  }

  // Limits of the roots that include 0 where the test, with the limits `apart` of the means,
  // rejects, or exclude 0 where it does not, get the end next to 0 that agrees with it.
  Range tested(const Range& reach, const Range& apart) const {
    const double sum = apart.first + apart.second + reach.first + reach.second;
    if (std::isnan(sum)) return reach;
    if (apart.first <= 0.0 && apart.second >= 0.0) {
      return {std::min(reach.first, 0.0), std::max(reach.second, 0.0)};
    }
    if (reach.first > 0.0 || reach.second < 0.0) return reach;
    const Range own = of_own_limits(apart);
    return apart.first > 0.0 ? Range{own.first, reach.second} : Range{reach.first, own.second};
  }

  // Smallest and largest difference of roots within their own limits. If the limits `apart` exclude
  // 0, which is when the test rejects, the end next to 0 is that of the roots that are so far
  // apart.
  Range of_own_limits(const Range& apart) const {
    const double difference = a_.root - b_.root;
    return {lesser(-most(b_, a_, -apart.first), difference),
            greater(most(a_, b_, apart.second), difference)};
  }
  double most(const ModelError& a, const ModelError& b, double apart) const {
    const double high = greater(a.high, 0.0), low = greater(b.low, 0.0);
    if (!(apart < 0.0)) return high - low;
    const double other =
        lesser(greater(b.high, 0.0), std::pow(std::pow(high, power_) - apart, 1.0 / power_));
    return lesser(high, std::pow(std::max(std::pow(other, power_) + apart, 0.0), 1.0 / power_)) -
           other;
  }

  ModelError a_, b_;
  double power_;
  bool told_, honest_ = false;
  DifferenceErrors own_, bounds_ = {0.0, 0.0};
};

}  // namespace calibrisk

#endif
