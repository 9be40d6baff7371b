// SPDX-License-Identifier: GPL-3.0-or-later
// The noise of a mean over the pairs of rows of different clusters, whose rows may be dependent.
// Let H_cc' be the sum of w_i w_j h_ij over the rows i of cluster c and j of c'. Under calibration
// the mean has the variance 2 sum_{c != c'} H_cc'^2 over the squared weight of these pairs, and the
// trace sum_c H_cc.
#ifndef CALIBRISK_PAIRS_CLUSTER_NOISE_H
#define CALIBRISK_PAIRS_CLUSTER_NOISE_H

#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/pairs/line_pair.h>
#include <calibrisk/pairs/pair_sums.h>

namespace calibrisk {

struct ClusterNoise {
  double across = 0.0;    // sum_{c != c'} H_cc'^2
  double within = 0.0;    // sum_c H_cc
  double squares = 0.0;   // of the rows: sum of (w_i w_j h_ij)^2 across clusters
  double diagonal = 0.0;  // and of w_i^2 h_ii
};

// Rows in the order of their clusters, which are 1, 2, ...
inline ClusterNoise cluster_noise(const Engine& engine, const PairSource& source,
                                  const Labels& cluster, const ConstVectorRef& weights) {
  const Index n = source.size(), tile = 64;
  require(static_cast<Index>(cluster.size()) == n && weights.size() == n,
          "cluster_noise: one cluster and weight per row.");
  const auto at = [&](Index i) { return cluster[static_cast<std::size_t>(i)]; };
  for (Index i = 0; i < n; ++i) {
    require(at(i) >= 1 && (i == 0 || at(i) >= at(i - 1)), "cluster_noise: clusters in order.");
  }
  ClusterNoise out;
  Vector of_cluster = Vector::Zero(n > 0 ? at(n - 1) : 0);  // H_cc' of the one that is read
  Matrix tiles(tile, n);
  for (Index begin = 0; begin < n; begin += tile) {
    const Index size = std::min(tile, n - begin);
    auto band = tiles.topLeftCorner(size, begin + size);
    const double done = static_cast<double>(begin) / static_cast<double>(n),
                 next = static_cast<double>(begin + size) / static_cast<double>(n);
    detail::fill_band(engine, source, begin, band, {done * done, next * next});
    for (Index i = begin; i < begin + size; ++i) {
      for (Index j = 0; j <= i; ++j) {
        const double h = weights(i) * weights(j) * band(i - begin, j);
        if (i == j) out.diagonal += h;
        if (at(i) == at(j)) {
          out.within += i == j ? h : 2.0 * h;
        } else {
          of_cluster(at(j) - 1) += h;
          out.squares += 2.0 * h * h;
        }
      }
      if (i + 1 < n && at(i + 1) == at(i)) continue;
      out.across += 2.0 * of_cluster.squaredNorm();
      of_cluster.setZero();
    }
  }
  return out;
}

// The same of pairs on a line, x ascending and `d` with the weights, by two passes for each
// cluster: all pairs would take a time that grows with the square of the rows.
inline ClusterNoise cluster_noise(const Engine& engine, const LinePair& line,
                                  const ConstVectorRef& x, const ConstVectorRef& d,
                                  const RowClusters& clusters) {
  const Index n = x.size(), units = clusters.units(n);
  require(d.size() == n, "cluster_noise: one residual per row.");
  Vector decay = Vector::Ones(n);  // of the kernel, from the row before
  for (Index i = 1; i < n; ++i) decay(i) = std::exp((x(i - 1) - x(i)) / line.bandwidth);
  const auto of_cluster = [&](Index c, Index) {
    ClusterNoise own;
    Vector with = Vector::Zero(units);  // H_cc'
    double sum = 0.0, square = 0.0;     // of the rows of c that have been passed
    const auto pass = [&](Index i, double step) {
      sum *= step;
      square *= step * step;
      if (square < 1e-200) sum = square = 0.0;  // else as slow denormal numbers
      with(clusters.unit(i)) += d(i) * sum;
      if (clusters.unit(i) == c) {
        sum += d(i);
        square += d(i) * d(i);
      } else {
        own.squares += d(i) * d(i) * square;
      }
    };
    for (Index i = 0; i < n; ++i) pass(i, decay(i));
    sum = square = 0.0;
    for (Index i = n; i-- > 0;) pass(i, i + 1 < n ? decay(i + 1) : 1.0);
    for (const Index i : clusters.rows(c)) own.diagonal += d(i) * d(i);
    own.within = with(c) + own.diagonal;
    with(c) = 0.0;
    own.across = with.squaredNorm();
    return own;
  };
  const double scale = line.scale;
  return parallel_reduce(engine, units, 1, ClusterNoise(), of_cluster,
                         [scale](ClusterNoise& total, const ClusterNoise& own) {
                           total.across += scale * scale * own.across;
                           total.within += scale * own.within;
                           total.squares += scale * scale * own.squares;
                           total.diagonal += scale * own.diagonal;
                         });
}

}  // namespace calibrisk

#endif
