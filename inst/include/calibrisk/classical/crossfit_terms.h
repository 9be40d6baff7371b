// SPDX-License-Identifier: GPL-3.0-or-later
// The terms of the cross-fitted lower bound of a binned error (R/crossfit.R), cell by cell.
#ifndef CALIBRISK_CLASSICAL_CROSSFIT_TERMS_H
#define CALIBRISK_CLASSICAL_CROSSFIT_TERMS_H

#include <algorithm>
#include <cmath>

namespace calibrisk {

// The mean residual of a bin in the other folds, from the sums of weights and residuals of the bin
// and of one fold; 0 where the others have next to no weight.
inline double gap_of_others(double bin_size, double bin_d, double size, double d) {
  constexpr double no_gap = 1e-13;  // a mean of 0 up to rounding has no sign
  const double others = bin_size - size, gap = (bin_d - d) / others;
  return others >= 1e-9 * bin_size && std::abs(gap) >= no_gap ? gap : 0.0;
}

// sign(gap) |gap|^(p - 1)
inline double gap_slope(double gap, double p) {
  return gap == 0.0 ? 0.0 : std::copysign(std::pow(std::abs(gap), p - 1.0), gap);
}

// The scale of the gaps at which the mean of all terms is largest, from the sums of
// gap_slope() d and of w |gap|^p.
inline double gap_scale(double product, double power) {
  return power > 0.0 ? std::max(product / power, 0.0) : 0.0;
}

// The term of a row with the residual d is slope d - offset.
struct CrossfitTerm {
  double slope, offset;
};

inline CrossfitTerm crossfit_term(double scale, double gap, double p) {
  return {p * std::pow(scale, p - 1.0) * gap_slope(gap, p),
          (p - 1.0) * std::pow(scale, p) * std::pow(std::abs(gap), p)};
}

}  // namespace calibrisk

#endif
