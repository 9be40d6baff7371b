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
  FixedSum& operator+=(const FixedSum& other) {
    high_ += other.high_;
    low_ += other.low_;
    return *this;
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
  WidthCell& operator+=(const WidthCell& other) {
    rows += other.rows;
    events += other.events;
    residual += other.residual;
    square += other.square;
    return *this;
  }
};

// Bins of numbers in [0, 1] between the edges b / B of all these numbers B of bins: (edge, next
// edge], 0 in the first. Each is one division, and so are equal fractions of two numbers of bins.
class WidthBins {
 public:
  explicit WidthBins(const std::vector<int>& n_bins) {
    for (const int bins : n_bins) {
      for (int b = 1; b <= bins; ++b) edges_.push_back(static_cast<double>(b) / bins);
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    // products with a power of two are not rounded
    std::size_t places = 1, bin = 0;
    while (places < 8 * edges_.size()) places *= 2;
    scale_ = static_cast<double>(places);
    for (std::size_t place = 0; place <= places; ++place) {
      while (edges_[bin] * scale_ < static_cast<double>(place)) ++bin;
      first_.push_back(static_cast<std::uint32_t>(bin));
    }
  }
  std::size_t size() const { return edges_.size(); }
  std::size_t of(double x) const {
    std::size_t bin = first_[static_cast<std::size_t>(x * scale_)];
    while (x > edges_[bin]) ++bin;
    return bin;
  }

 private:
  std::vector<double> edges_;         // upper ones
  std::vector<std::uint32_t> first_;  // bin of the lower end of each of so many parts of [0, 1]
  double scale_ = 1.0;
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

// The cells of one of the numbers of bins.
inline std::vector<WidthCell> cells_of_bins(const std::vector<WidthCell>& cells,
                                            const WidthBins& bins, int n_bins, int n_folds) {
  std::vector<WidthCell> out;
  for (std::size_t f = 0; f < static_cast<std::size_t>(n_folds); ++f) {
    std::size_t cell = f * bins.size();
    for (int b = 1; b <= n_bins; ++b) {
      out.emplace_back();
      const std::size_t end = f * bins.size() + bins.of(static_cast<double>(b) / n_bins);
      while (cell <= end) out.back() += cells[cell++];
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
