// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over bins of equal width and folds, of rows in any order.
#ifndef CALIBRISK_CLASSICAL_WIDTH_CELLS_H
#define CALIBRISK_CLASSICAL_WIDTH_CELLS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace calibrisk {

// A sum of up to 2^31 numbers in [-1, 1], each cut off at 2^-62: whole numbers, whose sum no order
// of the rows changes.
class FixedSum {
 public:
  void add(double x) {
    const auto value = static_cast<std::int64_t>(x * 0x1p62);
    high_ += value >> 32;
    low_ += value & 0xffffffff;
  }
  double value() const {
    return static_cast<double>(high_) * 0x1p-30 + static_cast<double>(low_) * 0x1p-62;
  }

 private:
  std::int64_t high_ = 0, low_ = 0;
};

struct WidthCell {
  std::int64_t rows = 0, events = 0;
  FixedSum residual, square;
};

// Bins ((b - 1) / B, b / B], 0 in the first; x in [0, 1]. Cell `bin + (fold - 1) n_bins`; folds 1,
// 2, ..., or none.
inline std::vector<WidthCell> width_cells(const double* x, const int* y, const int* fold,
                                          std::size_t n, int n_bins, int n_folds) {
  const auto bins = static_cast<std::size_t>(n_bins);
  std::vector<double> edges(bins + 1);
  for (std::size_t b = 0; b <= bins; ++b) {
    edges[b] = static_cast<double>(b) / static_cast<double>(bins);
  }
  std::vector<WidthCell> out(bins * static_cast<std::size_t>(n_folds));
  for (std::size_t i = 0; i < n; ++i) {
    // rounding takes the product to the next bin at most
    auto bin = std::min(static_cast<std::size_t>(x[i] * static_cast<double>(bins)), bins - 1);
    bin -= static_cast<std::size_t>(bin > 0 && x[i] <= edges[bin]);
    bin += static_cast<std::size_t>(x[i] > edges[bin + 1]);
    if (fold != nullptr) bin += bins * static_cast<std::size_t>(fold[i] - 1);
    WidthCell& cell = out[bin];
    const double residual = x[i] - y[i];
    ++cell.rows;
    cell.events += y[i];
    cell.residual.add(residual);
    cell.square.add(residual * residual);
  }
  return out;
}

}  // namespace calibrisk

#endif
