// SPDX-License-Identifier: GPL-3.0-or-later
// Quantiles of weighted values, of the types of quantile() in R.
#ifndef CALIBRISK_MATH_WEIGHTED_QUANTILE_H
#define CALIBRISK_MATH_WEIGHTED_QUANTILE_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace calibrisk {

// Sorted values and the weight up to each: equal values by their weights, so that no order of the
// rows matters.
struct WeightedQuantiles {
  std::vector<double> value, weight, copies, upto;

  // `copies_of` may be empty: one for each.
  WeightedQuantiles(const ConstVectorRef& values, const ConstVectorRef& weights,
                    const ConstVectorRef& copies_of) {
    const Index n = values.size();
    require(n > 0 && weights.size() == n && (copies_of.size() == 0 || copies_of.size() == n),
            "weighted_quantile: one weight per value.");
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return values(a) < values(b) || (values(a) == values(b) && weights(a) < weights(b));
    });
    long double sum = 0.0L;
    for (const Index i : order) {
      value.push_back(values(i));
      weight.push_back(weights(i));
      copies.push_back(copies_of.size() == 0 ? 1.0 : copies_of(i));
      upto.push_back(static_cast<double>(sum += weights(i)));
    }
  }

  // Type 1: the first value up to which the share has been reached (up to rounding).
  double reached(double share) const {
    const double at = share * upto.back() * (1.0 - 1e-12);
    const auto k = std::lower_bound(upto.begin(), upto.end(), at) - upto.begin();
    return value[std::min(static_cast<std::size_t>(k), value.size() - 1)];
  }

  // Type 7, interpolated: with m_k the sum of the weights before the k-th value plus half its own,
  // that value is the quantile at (m_k - m_1) / (m_n - m_1). One that stands for several equal ones
  // is the quantile between those of the first and the last of them.
  double between(double share) const {
    const auto half = [&](std::size_t k) { return (weight[k] - weight[k] / copies[k]) / 2.0; };
    const auto first = [&](std::size_t k) { return upto[k] - weight[k] / 2.0 - half(k); };
    const auto last = [&](std::size_t k) { return upto[k] - weight[k] / 2.0 + half(k); };
    const std::size_t n = value.size();
    const double start = first(0), range = last(n - 1) - start;
    const auto place = [&](double middle) { return (middle - start) / range; };
    std::size_t k = 0, end = n;  // the last one whose first copy is not above the share
    while (end - k > 1) {
      const std::size_t middle = (k + end) / 2;
      (place(first(middle)) <= share ? k : end) = middle;
    }
    if (k + 1 == n || share <= place(last(k))) return value[k];
    const double low = place(last(k)), high = place(first(k + 1));
    return value[k] + (value[k + 1] - value[k]) * ((share - low) / (high - low));
  }
};

// Those of equal weights: a few without a sort.
class EqualQuantiles {
 public:
  EqualQuantiles(const ConstVectorRef& values, bool few)
      : value_(values.data(), values.data() + values.size()), sorted_(!few) {
    require(!value_.empty(), "quantile: there must be a value.");
    if (sorted_) std::sort(value_.begin(), value_.end());
  }

  double reached(double share) {
    return at(std::max(std::ceil(share * size() * (1.0 - 1e-12)), 1.0) - 1.0);
  }

  double between(double share) {
    const double place = share * (size() - 1.0), below = std::floor(place);
    const double low = at(below);
    return place == below ? low : low + (at(below + 1.0) - low) * (place - below);
  }

 private:
  double size() const { return static_cast<double>(value_.size()); }
  double at(double place) {
    const auto nth = value_.begin() + static_cast<Index>(place);
    if (!sorted_) std::nth_element(value_.begin(), nth, value_.end());
    return *nth;
  }

  std::vector<double> value_;
  bool sorted_;
};

}  // namespace calibrisk

#endif
