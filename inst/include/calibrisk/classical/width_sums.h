// SPDX-License-Identifier: GPL-3.0-or-later
// Binned errors of equal width from the sums of their cells.
#ifndef CALIBRISK_CLASSICAL_WIDTH_SUMS_H
#define CALIBRISK_CLASSICAL_WIDTH_SUMS_H

#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/classical/width_cells.h>
#include <calibrisk/types.h>

#include <cstddef>
#include <vector>

namespace calibrisk {

// Sums of the cells [bins x folds] of bins that have rows.
struct WidthSums {
  std::vector<int> used;
  Matrix size, events, d, d2;
  BinTable bins() const { return bins_of_sums(size, d, d2, events); }
  CellBound bound(const BinTable& table, double p) const {
    return cell_bound(size, d, d2, table, p);
  }
};

inline WidthSums width_sums(const std::vector<WidthCell>& cells, int n_bins, int n_folds) {
  const auto cell = [&](int bin, int fold) -> const WidthCell& {
    return cells[static_cast<std::size_t>(bin + n_bins * fold)];
  };
  WidthSums out;
  for (int bin = 0; bin < n_bins; ++bin) {
    bool any = false;
    for (int f = 0; f < n_folds && !any; ++f) any = cell(bin, f).rows > 0;
    if (any) out.used.push_back(bin);
  }
  const auto rows = static_cast<Index>(out.used.size());
  for (Matrix* sums : {&out.size, &out.events, &out.d, &out.d2}) sums->resize(rows, n_folds);
  for (Index b = 0; b < rows; ++b) {
    for (int f = 0; f < n_folds; ++f) {
      const WidthCell& own = cell(out.used[static_cast<std::size_t>(b)], f);
      out.size(b, f) = static_cast<double>(own.rows);
      out.events(b, f) = static_cast<double>(own.events);
      out.d(b, f) = own.residual.value();
      out.d2(b, f) = own.square.value();
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
