// SPDX-License-Identifier: GPL-3.0-or-later
// Errors of a ridge regression of the rows of each cluster, from those of all others.
#ifndef CALIBRISK_CKCE_LEFT_OUT_CLUSTERS_H
#define CALIBRISK_CKCE_LEFT_OUT_CLUSTERS_H

#include <calibrisk/engine.h>
#include <calibrisk/linalg/small_algebra.h>

#include <cmath>
#include <limits>
#include <vector>

namespace calibrisk {

// |(I - S_cc)^-1 (T - S T)_c|^2, summed over the clusters c of rows: S = P diag(filter) P', for
// each column of filters. Infinite where a cluster is all of its own fit. Clusters of a row that
// stands for `copies` (empty: 1) are single copies, each with its share of S_cc.
inline Vector errors_without_clusters(const Engine& engine, const ConstMatrixRef& p,
                                      const ConstMatrixRef& filters, const ConstMatrixRef& targets,
                                      const Labels& cluster, const Vector& copies = Vector()) {
  require(copies.size() == 0 || copies.size() == p.rows(),
          "errors_without_clusters: one count per row.");
  require(static_cast<Index>(cluster.size()) == p.rows() && targets.rows() == p.rows() &&
              filters.rows() == p.cols(),
          "errors_without_clusters: one cluster and target per row.");
  std::vector<std::vector<Index>> members;
  for (Index i = 0; i < p.rows(); ++i) {
    const int c = cluster[static_cast<std::size_t>(i)];
    require(c >= 1, "errors_without_clusters: clusters are 1, 2, ...");
    if (static_cast<std::size_t>(c) > members.size()) members.resize(static_cast<std::size_t>(c));
    members[static_cast<std::size_t>(c) - 1].push_back(i);
  }
  const Matrix onto = engine.dense.multiply_at_b(p, targets);
  Vector out = Vector::Zero(filters.cols());
  for (Index v = 0; v < filters.cols(); ++v) {
    const Matrix smoother = p * filters.col(v).asDiagonal();
    const Matrix error = targets - engine.dense.multiply(smoother, onto);
    for (const auto& rows : members) {
      const Matrix own = take_rows(smoother, rows), axes = take_rows(p, rows);
      Matrix left = -(own * axes.transpose());
      if (copies.size() > 0) left /= copies(rows.front());
      left.diagonal().array() += 1.0;
      const double square = (inverse_of(left) * take_rows(error, rows)).squaredNorm();
      out(v) += std::isfinite(square) ? square : std::numeric_limits<double>::infinity();
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
