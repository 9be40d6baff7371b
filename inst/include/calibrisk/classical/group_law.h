// SPDX-License-Identifier: GPL-3.0-or-later
// Distribution of sum (O - E)^2 / V over groups of independent outcomes with known probabilities.
// With few events it is far from chi-squared: of 100 calibrated predictions with 5 events, 10% were
// rejected at 5%.
#ifndef CALIBRISK_CLASSICAL_GROUP_LAW_H
#define CALIBRISK_CLASSICAL_GROUP_LAW_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace calibrisk {

// Probabilities of O - E, in steps of 1.
struct DeviationLaw {
  double first = 0.0;
  Vector probability;
};

// Number of events of a group. Rows with p > 0.5 count rows without an event, downwards: the range
// of numbers with a probability worth counting then depends on the variance alone.
class GroupEvents {
 public:
  void add(double p, double copies) {
    rows_.push_back({p, copies});
    variance_ += copies * p * (1.0 - p);
    (p > 0.5 ? below_ : above_) += copies * std::min(p, 1.0 - p);
  }

  DeviationLaw deviations() const { return variance_ < 100.0 ? of_rows() : of_many(); }

 private:
  // beyond it a Poisson number of this mean has less than 1e-25
  static Index reach(double mean) {
    return static_cast<Index>(mean + 10.0 * std::sqrt(mean) + 25.0);
  }

  DeviationLaw of_rows() const {
    const Index down = below_ > 0.0 ? reach(below_) : 0, up = above_ > 0.0 ? reach(above_) : 0;
    Vector law = Vector::Zero(down + up + 1);
    law(down) = 1.0;
    bool reversed = false;
    // the last number with a probability worth counting
    Index last = down;
    for (const auto& [p, copies] : rows_) {
      if ((p > 0.5) != reversed) {
        law.reverseInPlace();
        reversed = !reversed;
        last = law.size() - 1;
      }
      const double rare = std::min(p, 1.0 - p);
      if (copies == 1.0) {
        if (law(last) > 1e-20 && last + 1 < law.size()) ++last;
        for (Index j = last; j > 0; --j) law(j) += rare * (law(j - 1) - law(j));
        law(0) *= 1.0 - rare;
      } else {
        add_binomial(copies, rare, law);
        last = law.size() - 1;
      }
    }
    if (reversed) law.reverseInPlace();
    return {below_ - above_ - static_cast<double>(down), std::move(law)};
  }

  static void add_binomial(double copies, double p, Vector& law) {
    const Index most = law.size() - 1;
    Vector binomial = Vector::Zero(law.size());
    binomial(0) = std::exp(copies * std::log1p(-p));
    for (Index k = 0; k < most; ++k) {
      const auto at = static_cast<double>(k);
      binomial(k + 1) = binomial(k) * std::max(copies - at, 0.0) / (at + 1.0) * (p / (1.0 - p));
    }
    for (Index j = most; j >= 0; --j) {
      law(j) = binomial.head(j + 1).dot(law.head(j + 1).reverse());
    }
  }

  // Normal probabilities.
  DeviationLaw of_many() const {
    const double sd = std::sqrt(variance_);
    const auto far = static_cast<Index>(12.0 * sd);
    const double first = std::ceil(above_ - below_) - (above_ - below_) - static_cast<double>(far);
    Vector law(2 * far + 1);
    for (Index k = 0; k < law.size(); ++k) {
      const double z = (first + static_cast<double>(k)) / sd;
      law(k) = std::exp(-0.5 * z * z) / (sd * std::sqrt(2.0 * M_PI));
    }
    return {first, std::move(law)};
  }

  std::vector<std::pair<double, double>> rows_;
  double variance_ = 0.0, below_ = 0.0, above_ = 0.0;
};

// P(sum >= the observed one) of independent terms, which are rounded to about a thousandth of the
// observed sum: the observed one is rounded likewise, so the test of the rounded sum is exact. No
// share of the sum that terms usually have is half a step, where the last bit would decide.
class RoundedSum {
 public:
  explicit RoundedSum(const Vector& observed) : step_(observed.sum() / 999.7318) {
    Index total = 0;
    for (Index g = 0; g < observed.size(); ++g) total += rounded(observed(g));
    below_.assign(static_cast<std::size_t>(total), 0.0);
    if (total > 0) below_[0] = 1.0;
  }

  // Adds the term scale (O - E)^2.
  void add(const DeviationLaw& law, double scale) {
    const std::size_t n = below_.size();
    std::vector<double> term(n, 0.0), sum(n, 0.0);
    double beyond = 0.0;
    for (Index k = 0; k < law.probability.size(); ++k) {
      const double off = law.first + static_cast<double>(k);
      const auto at = static_cast<std::size_t>(rounded(scale * off * off));
      (at < n ? term[at] : beyond) += law.probability(k);
    }
    double before = 0.0;
    for (const double p : below_) before += p;
    reached_ += before * beyond;
    for (std::size_t at = 0; at < n; ++at) {
      if (term[at] == 0.0) continue;
      for (std::size_t i = 0; i < n - at; ++i) sum[i + at] += term[at] * below_[i];
      for (std::size_t i = n - at; i < n; ++i) reached_ += term[at] * below_[i];
    }
    below_ = std::move(sum);
  }

  double p_value() const { return below_.empty() ? 1.0 : std::min(reached_, 1.0); }

 private:
  Index rounded(double term) const {
    return step_ > 0.0 ? static_cast<Index>(std::min(term / step_, 1e9) + 0.5) : 0;
  }

  double step_, reached_ = 0.0;
  std::vector<double> below_;  // probabilities of the rounded sums below the observed one
};

}  // namespace calibrisk

#endif
