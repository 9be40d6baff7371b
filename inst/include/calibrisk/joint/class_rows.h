// SPDX-License-Identifier: GPL-3.0-or-later
// Predictions of K classes in an order of their own: classes by the sums of their columns, rows by
// their probabilities of the classes in that order. Results then depend neither on the order of the
// rows nor on that of the classes.
#ifndef CALIBRISK_JOINT_CLASS_ROWS_H
#define CALIBRISK_JOINT_CLASS_ROWS_H

#include <calibrisk/joint/rows.h>

#include <array>
#include <cstdint>

namespace calibrisk {

constexpr std::uint64_t class_key = 20261126;  // of redrawn labels

struct ClassRows {
  std::vector<Index> classes, order;  // the given ones
  Matrix p;                           // [n x K]
  Matrix logs;                        // [K x n]: logarithms, at least -12
  std::vector<double> cumulative;     // a row's after the other, infinite from its last class on

  Index size() const { return p.rows(); }
  Index count() const { return p.cols(); }

  // 0, ..., K - 1, from labels of the given rows and classes (1, ..., K)
  std::vector<int> labels(const Labels& given) const {
    std::vector<int> place(classes.size() + 1), out;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      place[static_cast<std::size_t>(classes[k]) + 1] = static_cast<int>(k);
    }
    out.reserve(order.size());
    for (Index i : order) {
      out.push_back(place[static_cast<std::size_t>(given[static_cast<std::size_t>(i)])]);
    }
    return out;
  }
  // the class whose part of [0, 1) has u in it; never one of probability 0
  int drawn(Index i, double u) const {
    constexpr Index few = 32;  // counted without branches that nobody foresees
    const double* begin = cumulative.data() + i * count();
    if (count() > few) {
      return static_cast<int>(std::upper_bound(begin, begin + count(), u) - begin);
    }
    int out = 0;
    for (Index j = 0; j < count(); ++j) out += begin[j] <= u ? 1 : 0;
    return out;
  }
};

// `labels` (may be empty) orders classes whose columns have the same sums.
CALIBRISK_SHARED ClassRows class_rows(const ConstMatrixRef& given, const Labels& labels);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)
ClassRows class_rows(const ConstMatrixRef& given, const Labels& labels) {
  const Index n = given.rows(), k = given.cols();
  require(n > 0 && k > 2, "A test of classes has rows, and more than two classes.");
  ClassRows out;
  const auto rounded = [&](double sum) {
    return std::nearbyint(sum / static_cast<double>(n) * 1e9);
  };
  std::vector<std::array<double, 6>> keys(static_cast<std::size_t>(k));
  for (Index j = 0; j < k; ++j) {
    const auto p = given.col(j).array();
    double events = 0.0, inside = 0.0, outside = 0.0;
    for (Index i = 0; i < static_cast<Index>(labels.size()); ++i) {
      const int label = labels[static_cast<std::size_t>(i)];
      require(label >= 1 && label <= k, "A label is the number of a class.");
      outside += given(i, label - 1) * given(i, j);
      if (label != j + 1) continue;
      events += 1.0;
      inside += given(i, j);
    }
    keys[static_cast<std::size_t>(j)] = {-rounded(p.sum()),       rounded(p.square().sum()),
                                         rounded(p.cube().sum()), rounded(events),
                                         rounded(inside),         rounded(outside)};
    out.classes.push_back(j);
  }
  std::stable_sort(out.classes.begin(), out.classes.end(), [&](Index a, Index b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  out.order.resize(static_cast<std::size_t>(n));
  std::iota(out.order.begin(), out.order.end(), Index{0});
  std::sort(out.order.begin(), out.order.end(), [&](Index a, Index b) {
    for (const Index j : out.classes) {
      if (given(a, j) != given(b, j)) return given(a, j) < given(b, j);
    }
    return false;
  });
  out.p.resize(n, k);
  for (Index j = 0; j < k; ++j) {
    for (Index i = 0; i < n; ++i) {
      out.p(i, j) =
          given(out.order[static_cast<std::size_t>(i)], out.classes[static_cast<std::size_t>(j)]);
    }
  }
  out.logs = out.p.array().max(std::exp(-12.0)).log().transpose();
  out.cumulative.reserve(static_cast<std::size_t>(n * k));
  for (Index i = 0; i < n; ++i) {
    Index last = 0;
    for (Index j = 0; j < k; ++j) last = out.p(i, j) > 0.0 ? j : last;
    double sum = 0.0;
    for (Index j = 0; j < k; ++j) {
      sum += out.p(i, j);
      out.cumulative.push_back(j < last ? sum : std::numeric_limits<double>::infinity());
    }
  }
  return out;
}
#endif

}  // namespace calibrisk

#endif
