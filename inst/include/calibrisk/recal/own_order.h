// SPDX-License-Identifier: GPL-3.0-or-later
// Log-probabilities of rows and classes in an order that their values alone give, and what a
// network starts from. The path of an optimiser through a surface with many minima depends on the
// last digits of its sums, which depend on the order of their terms.
#ifndef CALIBRISK_RECAL_OWN_ORDER_H
#define CALIBRISK_RECAL_OWN_ORDER_H

#include <calibrisk/math/weighted_quantile.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

namespace calibrisk {

// Rows with labels 1..K; weights and copies may be empty.
struct OwnOrder {
  Matrix logs;
  Labels labels;
  Vector weights, copies;

  OwnOrder(const ConstMatrixRef& of, const Labels& y, const ConstVectorRef& w,
           const ConstVectorRef& c) {
    const Index n = of.rows(), k = of.cols();
    require(static_cast<Index>(y.size()) == n && (w.size() == 0 || w.size() == n) &&
                (c.size() == 0 || c.size() == n),
            "own_order: a label for each row.");
    using Key = std::tuple<double, double, double, double>;
    std::vector<Key> keys;
    for (Index i = 0; i < n; ++i) {
      const int label = y[static_cast<std::size_t>(i)];
      require(label >= 1 && label <= k, "own_order: labels are 1, ..., K.");
      keys.emplace_back(of(i, label - 1), of.row(i).maxCoeff(), of.row(i).minCoeff(),
                        w.size() == 0 ? 1.0 : w(i));
    }
    const auto sorted = [](const auto& values) {
      std::vector<std::size_t> order(values.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
      return order;
    };
    const std::vector<std::size_t> rows = sorted(keys);
    std::vector<double> sums;
    for (Index j = 0; j < k; ++j) {
      long double sum = 0.0L;
      for (const std::size_t row : rows) {
        const auto i = static_cast<Index>(row);
        sum += of(i, j) * (c.size() == 0 ? 1.0 : c(i));
      }
      sums.push_back(static_cast<double>(sum));
    }
    const std::vector<std::size_t> classes = sorted(sums);
    std::vector<int> place(classes.size());
    for (std::size_t j = 0; j < classes.size(); ++j) place[classes[j]] = static_cast<int>(j) + 1;
    logs.resize(n, k);
    weights.resize(w.size());
    copies.resize(c.size());
    for (Index i = 0; i < n; ++i) {
      const auto row = rows[static_cast<std::size_t>(i)];
      for (Index j = 0; j < k; ++j) {
        logs(i, j) =
            of(static_cast<Index>(row), static_cast<Index>(classes[static_cast<std::size_t>(j)]));
      }
      labels.push_back(place[static_cast<std::size_t>(y[row] - 1)]);
      if (w.size() > 0) weights(i) = w(static_cast<Index>(row));
      if (c.size() > 0) copies(i) = c(static_cast<Index>(row));
    }
  }
};

// Standard deviation of all numbers of the rows, and the places k / m - 1 / (2 m) of their
// quantiles; `copies` of the rows may be empty.
struct NumberSpread {
  double deviation = 0.0;
  Vector quantiles;

  NumberSpread(const Matrix& of, const ConstVectorRef& copies, Index m) : quantiles(m) {
    const Index n = of.rows(), size = of.size();
    const auto sum = [&](const auto& term) {
      long double total = 0.0L;
      for (Index i = 0; i < size; ++i) total += static_cast<long double>(term(of.data()[i], i % n));
      return total;
    };
    const auto each = [&](Index row) { return copies.size() == 0 ? 1.0 : copies(row); };
    const auto count = static_cast<double>(sum([&](double, Index row) { return each(row); }));
    double mean = 0.0;
    if (copies.size() == 0) {  // as var() in R: the mean of what is left of the first mean
      const long double first = sum([](double x, Index) { return x; }) / size;
      mean = static_cast<double>(
          first + sum([&](double x, Index) { return static_cast<long double>(x) - first; }) / size);
    } else {
      mean = static_cast<double>(sum([&](double x, Index row) { return x * each(row); })) / count;
    }
    const auto squares = sum([&](double x, Index row) -> long double {
      if (copies.size() == 0)
        return (static_cast<long double>(x) - mean) * (static_cast<long double>(x) - mean);
      const double off = x - mean;
      return off * off * each(row);
    });
    deviation = copies.size() == 0 ? std::sqrt(static_cast<double>(squares / (size - 1)))
                                   : std::sqrt(static_cast<double>(squares) / (count - 1.0));
    const auto share = [&](Index j) {
      return (static_cast<double>(j) + 0.5) / static_cast<double>(m);
    };
    if (copies.size() > 0) {
      const Vector values = Eigen::Map<const Vector>(of.data(), size),
                   weight = copies.replicate(of.cols(), 1);
      const WeightedQuantiles weighted(values, weight, weight);
      for (Index j = 0; j < m; ++j) quantiles(j) = weighted.between(share(j));
      return;
    }
    std::vector<double> values(of.data(), of.data() + size);
    std::sort(values.begin(), values.end());
    for (Index j = 0; j < m; ++j) {
      const double at = 1.0 + static_cast<double>(size - 1) * share(j), below = std::floor(at);
      const double low = values[static_cast<std::size_t>(below) - 1],
                   high = values[static_cast<std::size_t>(std::ceil(at)) - 1], part = at - below;
      quantiles(j) = part > 0.0 && high != low ? (1.0 - part) * low + part * high : low;
    }
  }
};

}  // namespace calibrisk

#endif
