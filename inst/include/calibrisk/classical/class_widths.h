// SPDX-License-Identifier: GPL-3.0-or-later
// Binned errors of equal width from the sums of their cells: of one problem, and the mean over the
// classes of several.
#ifndef CALIBRISK_CLASSICAL_CLASS_WIDTHS_H
#define CALIBRISK_CLASSICAL_CLASS_WIDTHS_H

#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/classical/width_cells.h>
#include <calibrisk/types.h>

#include <algorithm>
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

// `known`: the sum over the classes of (1 / K)^2 times the known variance of the bound.
struct ClassWidths {
  double power = 0.0, noise = 0.0, bound = 0.0, known = 0.0;
  int n_bins = 0;
};

// `probs` [n x K] by columns, labels 1, ..., K, finite p. To `rows` and `bound_rows` the influences
// on both means are added. `step` is called once for each class.
template <class Step>
ClassWidths class_widths(const double* probs, const int* truth, const int* fold, std::size_t n,
                         int n_classes, int n_bins, int n_folds, double p, double* rows,
                         double* bound_rows, const Step& step) {
  const WidthBins width({n_bins});
  const double share = 1.0 / n_classes;
  ClassWidths out;
  std::vector<Index> place(static_cast<std::size_t>(n_bins));
  for (int k = 0; k < n_classes; ++k) {
    step();
    const double* x = probs + static_cast<std::size_t>(k) * n;
    const WidthSums sums =
        width_sums(width_cells(x, truth, fold, n, width, n_folds, k + 1), n_bins, n_folds);
    const BinTable bins = sums.bins();
    const BinTerms terms = bin_terms(bins, static_cast<double>(n), p, false);
    const CellBound bound = sums.bound(bins, p);
    out.power += share * terms.power;
    out.noise += share * share * terms.noise;
    out.bound += share * bound.mean;
    out.known += share * share * bound.known;
    out.n_bins = std::max(out.n_bins, static_cast<int>(sums.used.size()));
    for (std::size_t b = 0; b < sums.used.size(); ++b) {
      place[static_cast<std::size_t>(sums.used[b])] = static_cast<Index>(b);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Index b = place[width.of(x[i])], f = fold[i] - 1;
      const double residual = x[i] - (truth[i] == k + 1);
      rows[i] += share * (terms.offset(b) + terms.slope(b) * residual);
      bound_rows[i] += share * (bound.slope(b, f) * residual - bound.offset(b, f));
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
