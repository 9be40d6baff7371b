// SPDX-License-Identifier: GPL-3.0-or-later
// The cross-fitted lower bound of a binned error (R/crossfit.R) where bins are as many as rows: two
// passes over the rows, without tables of bins and folds.
#ifndef CALIBRISK_CLASSICAL_CROSSFIT_BOUND_H
#define CALIBRISK_CLASSICAL_CROSSFIT_BOUND_H

#include <calibrisk/classical/crossfit_terms.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace calibrisk {

struct CrossfitBound {
  double mean = 0.0, squares = 0.0, known = 0.0;
};

// Rows in the order of their bins: residuals d, weights w (nullptr: 1) and folds 1, ..., n_folds.
// `ends`: the number of rows up to the end of each bin. The gap of a cell is the mean residual of
// its bin in the other folds. `squares`: the sum of w (psi - mean)^2 of the terms psi of the rows;
// `known`: the mean variance of a term if outcomes are drawn from the predictions, |d| - d^2 that
// of a residual.
inline CrossfitBound crossfit_bound(const double* d, const double* w, const int* fold,
                                    const std::vector<std::size_t>& ends, int n_folds, double p) {
  struct Cell {
    double size = 0.0, d = 0.0, square = 0.0, variance = 0.0;
  };
  std::vector<Cell> cells(static_cast<std::size_t>(n_folds));
  // visit(cell, sign, size of the gap) for every bin and fold
  const auto each_cell = [&](const auto& visit) {
    std::size_t row = 0;
    for (const std::size_t end : ends) {
      std::fill(cells.begin(), cells.end(), Cell());
      Cell all;
      for (; row < end; ++row) {
        const double weight = w == nullptr ? 1.0 : w[row];
        Cell& own = cells[static_cast<std::size_t>(fold[row] - 1)];
        own.size += weight;
        own.d += weight * d[row];
        own.square += weight * d[row] * d[row];
        own.variance += weight * std::abs(d[row]) * (1.0 - std::abs(d[row]));
        all.size += weight;
        all.d += weight * d[row];
      }
      for (const Cell& own : cells) visit(own, gap_of_others(all.size, all.d, own.size, own.d));
    }
  };
  // the scale of all gaps is known at the end of the first pass
  double total = 0.0, product = 0.0, power = 0.0;
  each_cell([&](const Cell& cell, double gap) {
    total += cell.size;
    product += gap_slope(gap, p) * cell.d;
    power += cell.size * std::pow(std::abs(gap), p);
  });
  const double scale = gap_scale(product, power);
  CrossfitBound out;
  each_cell([&](const Cell& cell, double gap) {
    const auto [slope, offset] = crossfit_term(scale, gap, p);
    out.mean += slope * cell.d - offset * cell.size;
    out.squares +=
        slope * slope * cell.square - 2.0 * slope * offset * cell.d + offset * offset * cell.size;
    out.known += slope * slope * cell.variance;
  });
  out.known /= total;
  out.mean /= total;
  out.squares -= total * out.mean * out.mean;
  return out;
}

}  // namespace calibrisk

#endif
