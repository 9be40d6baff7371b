// SPDX-License-Identifier: GPL-3.0-or-later
// Binned canonical calibration error in L1 (sum over classes, no factor 1/2): every
// coordinate of the simplex is cut into equal, right-closed intervals (0 belongs to the
// first); only occupied cells are stored. Moskvichev & Sejdinovic 2025, section 4.2.
//   binmean   sum_b (n_b / n) | mean_b(onehot(y)) - mean_b(q) |_1
//   pointwise (1/n) sum_i | mean_b(i)(onehot(y)) - q_i |_1
#ifndef CALIBRISK_CANONICAL_ECE_H
#define CALIBRISK_CANONICAL_ECE_H

#include <calibrisk/types.h>

#include <algorithm>
#include <string>
#include <unordered_map>

namespace calibrisk {

struct CanonicalEce {
  double binmean = 0.0;
  double pointwise = 0.0;
  Index occupied = 0;
};

// Interval of v among edges k / n_bins, compared with the edges themselves: a product
// n_bins * v rounds across them.
inline int uniform_bin(double v, int n_bins) {
  int bin = std::clamp(static_cast<int>(std::ceil(v * n_bins)) - 1, 0, n_bins - 1);
  while (bin > 0 && v <= static_cast<double>(bin) / n_bins) --bin;
  while (bin < n_bins - 1 && v > static_cast<double>(bin + 1) / n_bins) ++bin;
  return bin;
}

// Cell of every row, numbered in order of appearance.
inline std::vector<Index> simplex_cells(const ConstMatrixRef& probs, int n_bins, Index& occupied) {
  const Index n = probs.rows(), m = probs.cols();
  std::vector<Index> cell(static_cast<std::size_t>(n));
  std::unordered_map<std::string, Index> known;
  std::string key(static_cast<std::size_t>(m) * sizeof(int), '\0');
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) {
      const int bin = uniform_bin(probs(i, j), n_bins);
      std::copy_n(reinterpret_cast<const char*>(&bin), sizeof(int),
                  key.begin() + static_cast<std::ptrdiff_t>(j * static_cast<Index>(sizeof(int))));
    }
    cell[static_cast<std::size_t>(i)] =
        known.emplace(key, static_cast<Index>(known.size())).first->second;
  }
  occupied = static_cast<Index>(known.size());
  return cell;
}

// labels 1..m. Cost O(n m).
inline CanonicalEce canonical_ece(const ConstMatrixRef& probs, const Labels& labels, int n_bins) {
  const Index n = probs.rows(), m = probs.cols();
  CanonicalEce out;
  const std::vector<Index> cell = simplex_cells(probs, n_bins, out.occupied);
  Matrix outcome = Matrix::Zero(m, out.occupied), predicted = outcome;  // sums per cell
  Vector count = Vector::Zero(out.occupied);
  for (Index i = 0; i < n; ++i) {
    const Index b = cell[static_cast<std::size_t>(i)];
    count(b) += 1.0;
    outcome(labels[static_cast<std::size_t>(i)] - 1, b) += 1.0;
    predicted.col(b) += probs.row(i).transpose();
  }
  out.binmean = (outcome - predicted).cwiseAbs().sum() / static_cast<double>(n);
  for (Index i = 0; i < n; ++i) {
    const Index b = cell[static_cast<std::size_t>(i)];
    out.pointwise += (outcome.col(b) / count(b) - probs.row(i).transpose()).lpNorm<1>();
  }
  out.pointwise /= static_cast<double>(n);
  return out;
}

}  // namespace calibrisk

#endif
