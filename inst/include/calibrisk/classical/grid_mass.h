// SPDX-License-Identifier: GPL-3.0-or-later
// Linear binning: weights of values in [0, 1] shared between the two nearest of the
// grid points 0, 1/cells, ..., 1. Keeps the total and the mean.
#ifndef CALIBRISK_CLASSICAL_GRID_MASS_H
#define CALIBRISK_CLASSICAL_GRID_MASS_H

#include <algorithm>
#include <cstddef>
#include <vector>

namespace calibrisk {

inline std::vector<double> grid_mass(const double* x, const double* weight, std::size_t n,
                                     std::size_t cells) {
  std::vector<double> mass(cells + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double place = x[i] * static_cast<double>(cells);
    const std::size_t below = std::min(static_cast<std::size_t>(place), cells - 1);
    const double right = place - static_cast<double>(below);
    mass[below] += weight[i] * (1.0 - right);
    mass[below + 1] += weight[i] * right;
  }
  return mass;
}

}  // namespace calibrisk

#endif
