// SPDX-License-Identifier: GPL-3.0-or-later
// Orders of rows as numbers from 1, and values in them.
#ifndef CALIBRISK_ROW_NUMBERS_H
#define CALIBRISK_ROW_NUMBERS_H

#include "r_values.h"
#include <calibrisk/math/row_order.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
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

// The folds of rows in the order of positions counted from 1, and the largest one.
inline std::pair<std::vector<int>, std::size_t> sorted_folds(const Rcpp::IntegerVector& fold,
                                                             const Rcpp::IntegerVector& order) {
  calibrisk::require(fold.size() == order.size(), "sorted_rows: one fold per row.");
  const auto n = static_cast<std::size_t>(fold.size());
  const int *own = fold.begin(), *row = order.begin();
  std::vector<int> sorted(n);
  int most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    calibrisk::require(own[i] > 0 && own[i] < 10000, "sorted_rows: folds are 1, 2, ...");
    most = std::max(most, own[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    calibrisk::require(row[i] > 0 && row[i] <= fold.size(), "sorted_rows: an order of rows.");
    sorted[i] = own[row[i] - 1];
  }
  return {std::move(sorted), static_cast<std::size_t>(most)};
}

#endif
