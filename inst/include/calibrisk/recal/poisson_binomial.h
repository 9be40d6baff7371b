// SPDX-License-Identifier: GPL-3.0-or-later
// The number of successes of independent trials with their own probabilities: what a bin's count of
// events does under calibration.
#ifndef CALIBRISK_RECAL_POISSON_BINOMIAL_H
#define CALIBRISK_RECAL_POISSON_BINOMIAL_H

#include <calibrisk/types.h>

#include <cstddef>
#include <vector>

namespace calibrisk {

// Its distribution, exact: one trial at a time is added to the part above 1e-20. O(n sd).
class TrialCount {
 public:
  void add(double p) {
    const double q = 1.0 - p;
    mass_.push_back(0.0);
    for (std::size_t j = mass_.size() - 1; j > 0; --j) mass_[j] = q * mass_[j] + p * mass_[j - 1];
    mass_[0] *= q;
    while (mass_.size() > 1 && mass_.back() < 1e-20) mass_.pop_back();
    if (mass_.size() > 1 && mass_.front() < 1e-20) {
      std::size_t cut = 0;
      while (cut + 1 < mass_.size() && mass_[cut] < 1e-20) ++cut;
      // not at every step: shifting is linear
      if (cut > 32) {
        mass_.erase(mass_.begin(), mass_.begin() + static_cast<std::ptrdiff_t>(cut));
        first_ += static_cast<double>(cut);
      }
    }
  }
  // P(count = first + j)
  const std::vector<double>& mass() const { return mass_; }
  double first() const { return first_; }

 private:
  std::vector<double> mass_{1.0};
  double first_ = 0.0;
};

}  // namespace calibrisk

#endif
