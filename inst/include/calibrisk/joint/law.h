// SPDX-License-Identifier: GPL-3.0-or-later
// One p-value of several statistics: the smallest of their p-values over their shares, t, against
// its own distribution among the redraws (Westfall and Young 1993). With S_m(x) the share of
// redraws whose statistic m is at least x and w_m its share of the level,
//   t = min_m S_m(T_m) / w_m,   p = (1 + #{t* <= t}) / (R + 1),
// and p < alpha exactly where some part has S_m(T_m) < w_m t_alpha.
#ifndef CALIBRISK_JOINT_LAW_H
#define CALIBRISK_JOINT_LAW_H

#include <calibrisk/math/row_order.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace calibrisk {

// 1 - .95 is more than .05.
inline double rejected_level(double level) { return std::nearbyint((1.0 - level) * 1e12) / 1e12; }

// Survival function of one statistic from its redraws: ranks, and beyond the highest 2 % an
// exponential tail.
class RedrawnTail {
 public:
  // ascending
  explicit RedrawnTail(std::vector<double> redrawn) : sorted_(std::move(redrawn)) {
    const std::size_t size = sorted_.size();
    const std::size_t m = std::min(std::max<std::size_t>(5, size / 50), size - 1);
    from_ = sorted_[size - m - 1];
    for (std::size_t r = size - m; r < size; ++r) beta_ += sorted_[r];
    beta_ = beta_ / static_cast<double>(m) - from_;
    share_ = static_cast<double>(m + 1) / redraws();
  }

  double survival(double x) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), x);
    return survival(x, static_cast<std::size_t>(at - sorted_.begin()), 1.0);
  }
  // where so many redraws are below x; `itself`: 0 for a redraw, which is left out, else 1
  double survival(double x, std::size_t below, double itself) const {
    if (beta_ > 0.0 && x > from_) {
      return (share_ - (1.0 - itself) / redraws()) * std::exp(-(x - from_) / beta_);
    }
    return (itself + static_cast<double>(sorted_.size() - below)) / redraws();
  }
  // the largest x whose survival is at least s
  double edge(double s) const {
    if (s < share_) return beta_ > 0.0 ? from_ - beta_ * std::log(s / share_) : sorted_.back();
    const double above = std::ceil(s * redraws() - 1.0 - 1e-9);
    const auto at = static_cast<std::size_t>(
        std::min(std::max(static_cast<double>(sorted_.size()) - above, 0.0),
                 static_cast<double>(sorted_.size()) - 1.0));
    return sorted_[at];
  }
  // the least redrawn value above x, or infinity
  double beyond(double x) const {
    const auto at = std::upper_bound(sorted_.begin(), sorted_.end(), x);
    return at == sorted_.end() ? std::numeric_limits<double>::infinity() : *at;
  }

 private:
  double redraws() const { return static_cast<double>(sorted_.size() + 1); }
  std::vector<double> sorted_;
  double from_ = 0.0, beta_ = 0.0, share_ = 0.0;
};

class JointLaw {
 public:
  // `redrawn`: [redraws x parts]
  CALIBRISK_SHARED JointLaw(const Matrix& redrawn, std::vector<double> shares);

  std::size_t parts() const { return shares_.size(); }
  double share(std::size_t m) const { return shares_[m]; }
  const RedrawnTail& tail(std::size_t m) const { return tails_[m]; }

  // p-values of the parts, over their shares
  std::vector<double> weighted(const Vector& observed) const {
    std::vector<double> out;
    for (std::size_t m = 0; m < parts(); ++m) {
      out.push_back(tails_[m].survival(observed(static_cast<Index>(m))) / shares_[m]);
    }
    return out;
  }
  // below the tenth smallest in proportion to t
  double p_value(double t) const {
    const auto count = static_cast<std::size_t>(
        std::upper_bound(smallest_.begin(), smallest_.end(), t) - smallest_.begin());
    if (count >= few) return static_cast<double>(count + 1) / redraws();
    return std::max(1e-16, (few + 1.0) / redraws() * std::min(1.0, t / smallest_[few - 1]));
  }
  // the least t with a p-value of at least alpha
  double threshold(double alpha) const {
    const double rank = alpha * redraws();
    if (rank <= few + 1.0) return smallest_[few - 1] * rank / (few + 1.0);
    const auto at = static_cast<std::size_t>(std::ceil(rank - 1e-9)) - 1;
    return smallest_[std::min(at, smallest_.size()) - 1];
  }

 private:
  static constexpr std::size_t few = 10;
  double redraws() const { return static_cast<double>(smallest_.size() + 1); }
  std::vector<double> shares_;
  std::vector<RedrawnTail> tails_;
  std::vector<double> smallest_;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)
JointLaw::JointLaw(const Matrix& redrawn, std::vector<double> shares) : shares_(std::move(shares)) {
  require(redrawn.rows() >= 20 && redrawn.cols() == static_cast<Index>(shares_.size()),
          "The law needs at least twenty redraws of every part.");
  smallest_.assign(static_cast<std::size_t>(redrawn.rows()),
                   std::numeric_limits<double>::infinity());
  RowOrder order(smallest_.size());
  for (std::size_t m = 0; m < shares_.size(); ++m) {
    const auto part = redrawn.col(static_cast<Index>(m));
    std::vector<double> sorted =
        sort_values(order, [&](std::size_t r) { return part(static_cast<Index>(r)); });
    tails_.emplace_back(sorted);
    std::size_t below = 0;
    for (std::size_t at = 0; at < sorted.size(); ++at) {
      if (sorted[at] > sorted[below]) below = at;
      double& least = smallest_[order[at]];
      least = std::min(least, tails_[m].survival(sorted[at], below, 0.0) / shares_[m]);
    }
  }
  smallest_ = sort_values(order, [&](std::size_t r) { return smallest_[r]; });
}
#endif

}  // namespace calibrisk

#endif
