// SPDX-License-Identifier: GPL-3.0-or-later
// Quantiles of the number of successes of independent trials with their own probabilities:
// what a bin's count of events does under calibration.
#ifndef CALIBRISK_RECAL_POISSON_BINOMIAL_H
#define CALIBRISK_RECAL_POISSON_BINOMIAL_H

#include <calibrisk/types.h>

#include <algorithm>

namespace calibrisk {

// Smallest counts whose distribution function reaches each level (increasing). Exact, by
// adding one trial at a time to the part of the distribution above 1e-20: O(n sd).
inline std::vector<double> poisson_binomial_quantiles(const ConstVectorRef& prob,
                                                      const std::vector<double>& levels) {
  std::vector<double> mass(1, 1.0);  // P(count = first + j)
  std::size_t first = 0;
  for (Index i = 0; i < prob.size(); ++i) {
    const double p = prob[i], q = 1.0 - p;
    mass.push_back(0.0);
    for (std::size_t j = mass.size() - 1; j > 0; --j) mass[j] = q * mass[j] + p * mass[j - 1];
    mass[0] *= q;
    while (mass.size() > 1 && mass.back() < 1e-20) mass.pop_back();
    if (mass.size() > 1 && mass.front() < 1e-20) {
      std::size_t cut = 0;
      while (cut + 1 < mass.size() && mass[cut] < 1e-20) ++cut;
      // not at every step: shifting is linear
      if (cut > 32) {
        mass.erase(mass.begin(), mass.begin() + static_cast<std::ptrdiff_t>(cut));
        first += cut;
      }
    }
  }
  std::vector<double> out;
  for (const double level : levels) {
    double sum = 0.0;
    std::size_t j = 0;
    for (; j + 1 < mass.size(); ++j) {
      sum += mass[j];
      if (sum >= level) break;
    }
    out.push_back(static_cast<double>(first + j));
  }
  return out;
}

}  // namespace calibrisk

#endif
