// SPDX-License-Identifier: GPL-3.0-or-later
// Orders of rows as numbers from 1, and values in them.
#ifndef CALIBRISK_ROW_NUMBERS_H
#define CALIBRISK_ROW_NUMBERS_H

#include <calibrisk/math/row_order.h>

#include <initializer_list>
#include <vector>

// Ascending in these numbers of n rows, of which the most important ones come last.
inline std::vector<int> ascending_rows(std::size_t n, std::initializer_list<const double*> by) {
  calibrisk::RowOrder sorted(n);
  for (const double* number : by) sorted.sort([number](std::size_t i) { return number[i]; });
  std::vector<int> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<int>(sorted[i]) + 1;
  return out;
}

// Values of sorted rows in the order of the data, and the other way round. No values stay none.
inline calibrisk::Vector in_data_order(const calibrisk::ConstVectorRef& values,
                                       const std::vector<int>& order) {
  calibrisk::Vector out(values.size());
  for (Eigen::Index i = 0; i < out.size(); ++i)
    out(order[static_cast<std::size_t>(i)] - 1) = values(i);
  return out;
}

inline calibrisk::Vector in_sorted_order(const calibrisk::ConstVectorRef& values,
                                         const std::vector<int>& order) {
  calibrisk::Vector out(values.size());
  for (Eigen::Index i = 0; i < out.size(); ++i)
    out(i) = values(order[static_cast<std::size_t>(i)] - 1);
  return out;
}

#endif
