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

// Bins ((b - 1) / B, b / B], 0 in the first, of numbers in [0, 1].
class WidthBins {
 public:
  explicit WidthBins(int n_bins) : bins_(static_cast<std::size_t>(n_bins)), edges_(bins_ + 1) {
    for (std::size_t b = 0; b <= bins_; ++b) {
      edges_[b] = static_cast<double>(b) / static_cast<double>(bins_);
    }
  }
  std::size_t size() const { return bins_; }
  std::size_t of(double x) const {
    // rounding takes the product to the next bin at most
    auto bin = std::min(static_cast<std::size_t>(x * static_cast<double>(bins_)), bins_ - 1);
    bin -= static_cast<std::size_t>(bin > 0 && x <= edges_[bin]);
    return bin + static_cast<std::size_t>(x > edges_[bin + 1]);
  }

 private:
  std::size_t bins_;
  std::vector<double> edges_;
};

// Cell `bin + (fold - 1) n_bins`; folds 1, 2, ..., or none. An event is an outcome `event`.
inline std::vector<WidthCell> width_cells(const double* x, const int* y, const int* fold,
                                          std::size_t n, const WidthBins& bins, int n_folds,
                                          int event = 1) {
  std::vector<WidthCell> out(bins.size() * static_cast<std::size_t>(n_folds));
  for (std::size_t i = 0; i < n; ++i) {
    auto bin = bins.of(x[i]);
    if (fold != nullptr) bin += bins.size() * static_cast<std::size_t>(fold[i] - 1);
    WidthCell& cell = out[bin];
    const int happened = y[i] == event;
    const double residual = x[i] - happened;
    ++cell.rows;
    cell.events += happened;
    cell.residual.add(residual);
    cell.square.add(residual * residual);
  }
  return out;
}

}  // namespace calibrisk

#endif
