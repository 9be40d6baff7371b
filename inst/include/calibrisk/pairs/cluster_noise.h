// SPDX-License-Identifier: GPL-3.0-or-later
// The noise of a mean over the pairs of rows of different clusters, whose rows may be dependent.
// Let H_cc' be the sum of w_i w_j h_ij over the rows i of cluster c and j of c'. Under calibration
// the mean has the variance 2 sum_{c != c'} H_cc'^2 over the squared weight of these pairs, and the
// trace sum_c H_cc.
#ifndef CALIBRISK_PAIRS_CLUSTER_NOISE_H
#define CALIBRISK_PAIRS_CLUSTER_NOISE_H

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

}  // namespace calibrisk

#endif
