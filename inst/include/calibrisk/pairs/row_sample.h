// SPDX-License-Identifier: GPL-3.0-or-later
// Some rows whose pairs stand for those of all, where a sum over pairs does not factor into sums
// over rows. Terms are about in proportion to the sizes of both rows, and so is the probability of
// a row: few large rows, as of rare classes and unequal weights, are all among them.
#ifndef CALIBRISK_PAIRS_ROW_SAMPLE_H
#define CALIBRISK_PAIRS_ROW_SAMPLE_H

#include <calibrisk/classical/row_folds.h>
#include <calibrisk/pairs/pair_source.h>

#include <numeric>
#include <vector>

namespace calibrisk {

struct RowSample {
  std::vector<Index> at;
  Vector count;        // what each stands for: the sizes that they count add up to that of all
  double pairs = 1.0;  // a pair of two rows i and j stands for this times count_i count_j

  static RowSample all(Index n) {
    RowSample out{std::vector<Index>(static_cast<std::size_t>(n)), Vector::Ones(n)};
    std::iota(out.at.begin(), out.at.end(), Index(0));
    return out;
  }
};

// All rows below twice `most`, else about so many of those whose size is not 0 (none where `most`
// is), by numbers that follow from their `values`, so that no order of the rows changes which.
inline RowSample sample_rows(const MatrixView& values, const Vector& size, Index most) {
  const Index n = values.rows();
  if (most == 0) return {};
  if (n < 2 * most) return RowSample::all(n);
  const double total = size.sum();
  // what is above 1 goes to the other rows
  Vector share = Vector::Zero(n);
  double sure = 0.0, rest = total, before = -1.0;
  while (sure > before && rest > 0.0) {
    const double factor = (static_cast<double>(most) - sure) / rest;
    before = sure;
    sure = rest = 0.0;
    for (Index i = 0; i < n; ++i) {
      share(i) = share(i) == 1.0 ? 1.0 : std::min(size(i) * factor, 1.0);
      (share(i) == 1.0 ? sure : rest) += share(i) == 1.0 ? 1.0 : size(i);
    }
  }
  const std::vector<int> label(static_cast<std::size_t>(n), 0);
  const std::vector<std::uint64_t> keys =
      row_keys(values.data(), label.size(), static_cast<std::size_t>(values.cols()), label.data());
  std::vector<double> number(keys.size());
  for_counted(keys, [&](std::size_t i, std::uint64_t found) {
    number[i] = counter_number(keys[i], found);
  });
  RowSample out;
  std::vector<double> count;
  double counted = 0.0, squares = 0.0;  // of the sizes that the rows stand for
  for (Index i = 0; i < n; ++i) {
    if (number[static_cast<std::size_t>(i)] >= share(i)) continue;
    out.at.push_back(i);
    count.push_back(1.0 / share(i));
    const double own = size(i) / share(i);
    counted += own;
    squares += own * own;
  }
  const double scale = total / counted;
  out.count = scale * Eigen::Map<const Vector>(count.data(), static_cast<Index>(count.size()));
  const double drawn = total * total - scale * scale * squares;
  if (drawn > 0.0) out.pairs = (total * total - size.squaredNorm()) / drawn;
  return out;
}

}  // namespace calibrisk

#endif
