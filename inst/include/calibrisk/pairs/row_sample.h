// SPDX-License-Identifier: GPL-3.0-or-later
// Some rows whose pairs stand for those of all, where a sum over pairs does not factor into sums
// over rows. Terms are about in proportion to the sizes of both rows, and so is the probability of
// a row: few large rows, as of rare classes and unequal weights, are all among them.
#ifndef CALIBRISK_PAIRS_ROW_SAMPLE_H
#define CALIBRISK_PAIRS_ROW_SAMPLE_H

#include <calibrisk/classical/row_folds.h>

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

// All rows below twice `most`, else about so many, by numbers that follow from their `values`, so
// that no order of the rows changes which.
inline RowSample sample_rows(const ConstMatrixRef& values, const Vector& size, Index most) {
  const Index n = values.rows();
  const double total = size.sum();
  if (n < 2 * most || !(total > 0.0) || !std::isfinite(total)) return RowSample::all(n);
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
  const Matrix together = values;
  const std::vector<int> label(static_cast<std::size_t>(n), 0);
  const std::vector<std::uint64_t> keys = row_keys(
      together.data(), label.size(), static_cast<std::size_t>(values.cols()), label.data());
  std::vector<std::uint64_t> number(keys.size(), 0);
  for_repeated(keys, [&](std::size_t i, std::uint64_t found) { number[i] = found; });
  RowSample out;
  std::vector<double> count;
  double taken = 0.0, taken_squares = 0.0, counted = 0.0;
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (!(share(i) > 0.0) || counter_number(keys[row], number[row]) >= share(i)) continue;
    out.at.push_back(i);
    count.push_back(1.0 / share(i));
    counted += size(i) / share(i);
  }
  if (out.at.size() < 2) return RowSample::all(n);
  out.count = Eigen::Map<const Vector>(count.data(), static_cast<Index>(count.size()));
  out.count *= total / counted;
  for (std::size_t b = 0; b < out.at.size(); ++b) {
    const double own = out.count(static_cast<Index>(b)) * size(out.at[b]);
    taken += own;
    taken_squares += own * own;
  }
  const double drawn = taken * taken - taken_squares;
  if (drawn > 0.0) out.pairs = (total * total - size.squaredNorm()) / drawn;
  return out;
}

}  // namespace calibrisk

#endif
