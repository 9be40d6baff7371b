// SPDX-License-Identifier: GPL-3.0-or-later
// The test of rows whose variances are not known: of clusters, or with weights that may depend on
// the outcome. Sums over independent clusters of w_i e_i phi_i have mean 0 at calibration, so a
// flip of their signs is as likely as the sample. Every part has a norm, or is the largest of
// several
//   Q = |W S| / sqrt(N),  S = sum_g s_g c_g,  c_g = sum_{i in g} w_i e_i phi_i,  N = sum_i w_i,
// with W' W the inverse of sum_i w_i phi_i phi_i': the root of the calibration error's projection
// on phi, and its noise. With q the critical values of the parts at their common level all norms of
// the noise are at most q with probability 1 - alpha, and the error is at least the largest Q - q.
// Too few events also mean too small squares of residuals, and few clusters do not average that
// out. If the squares at calibration are r > 1 times those seen, the noise at calibration is taken
// to be r^(1/4) times that of the flips.
#ifndef CALIBRISK_JOINT_FLIPS_H
#define CALIBRISK_JOINT_FLIPS_H

#include <calibrisk/joint/flip_test.h>
#include <calibrisk/ladder/local_rung.h>
#include <calibrisk/ladder/row_weights.h>

#include <array>

namespace calibrisk {

// Sums of squares of a column phi, those expected at calibration and those observed. As weights may
// depend on the outcome, those of events and of others have means of their own.
struct ColumnSquares {
  double known = 0.0, seen = 0.0;

  ColumnSquares& operator+=(const ColumnSquares& other) {
    known += other.known;
    seen += other.seen;
    return *this;
  }
  // half of the way (in logarithms) from the observed ones to the expected ones, where these are
  // larger
  double null_ratio() const { return seen > 0.0 ? std::sqrt(std::max(known / seen, 1.0)) : 1.0; }
};

CALIBRISK_SHARED ColumnSquares column_squares(const JointRows& rows, const Vector& e,
                                              const Vector& phi);

// The clusters (1 ... C) of rows as given, for the sorted rows; none where none are given.
inline RowClusters sorted_clusters(const JointRows& rows, const Labels& cluster) {
  if (cluster.empty()) return RowClusters();
  Labels sorted;
  for (const int i : rows.order) sorted.push_back(cluster[static_cast<std::size_t>(i)]);
  return RowClusters(sorted);
}

// The test of a scalar notion, on the sum of residuals, the slope in the logit, and hats on 8 and
// on as many knots as the rows ask for. `cluster`: of the rows as given, empty where each is its
// own.
CALIBRISK_SHARED FlipResult joint_flips(const Engine& engine, const JointRows& rows,
                                        const Vector& e, const Labels& cluster,
                                        std::vector<std::vector<double>> knots, Index redraws,
                                        double alpha);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_FLIPS)
FlipResult joint_flips(const Engine& engine, const JointRows& rows, const Vector& e,
                       const Labels& cluster, std::vector<std::vector<double>> knots, Index redraws,
                       double alpha) {
  const Index n = rows.size();
  std::vector<double> shares = {5.0},
                      nulls = {column_squares(rows, e, Vector::Ones(n)).null_ratio()};
  LocalBasis basis;
  basis.add(LocalTerm(), 1);
  const Vector known = rows.weighted(rows.variance);
  const Vector slope = rows.logit.array() - known.dot(rows.logit) / known.sum();
  std::array<HatPositions, 2> hats;
  std::vector<Index> first = {0};
  if (!rows.constant()) {
    LocalTerm term;
    term.factor = slope.data();
    first.push_back(basis.columns());
    shares.push_back(4.0);
    nulls.push_back(column_squares(rows, e, slope).null_ratio());
    basis.add(term, 1);
    knots = rung_knots(rows, std::move(knots));
    for (std::size_t m = 0; m < 2; ++m) {
      if (knots[m].size() < 2 || (m == 1 && knots[1] == knots[0])) continue;
      hats[m] = hat_positions(engine, rows.p, knots[m]);
      LocalTerm hat;
      hat.hats = &hats[m];
      first.push_back(basis.columns());
      shares.push_back(1.0);
      nulls.push_back(nulls[0]);
      basis.add(hat, static_cast<Index>(knots[m].size()));
    }
  }
  const Matrix gram = detail::local_gram(engine, basis, n, rows.counts, [](Index) { return true; });
  std::vector<FlipPart> parts;
  for (std::size_t m = 0; m < first.size(); ++m) {
    const Index end = m + 1 < first.size() ? first[m + 1] : basis.columns(), k = end - first[m];
    parts.push_back({static_cast<int>(m),
                     shares[m],
                     {{first[m], whitening(gram.block(first[m], first[m], k, k)), nulls[m]}}});
  }

  // residuals of the other sign are the same test
  const double turn = rows.mean(e) < 0.0 ? -1.0 : 1.0;
  FlipSums sums(basis.columns());
  LocalRow row;
  const auto add = [&](Index i, double copies) {
    const double term = turn * rows.weight(i) * e(i) / copies;
    for (int a = 0; a < row.size; ++a) sums.add(row.column[a], term * row.value[a]);
  };
  const RowClusters clusters = sorted_clusters(rows, cluster);
  for (Index c = 0; c < clusters.units(n); ++c) {
    if (clusters.given()) {
      for (const Index i : clusters.rows(c)) {
        basis.row(i, row);
        add(i, 1.0);
      }
      sums.close();
      continue;
    }
    // without clusters every copy has a sign of its own
    const double copies = std::nearbyint(rows.copies(c));
    basis.row(c, row);
    for (double d = 0.0; d < copies; ++d) {
      add(c, copies);
      sums.close();
    }
  }
  return flip_test(engine, sums, std::move(parts), rows.total, redraws, alpha);
}

ColumnSquares column_squares(const JointRows& rows, const Vector& e, const Vector& phi) {
  std::array<double, 2> sum = {0.0, 0.0}, square = {0.0, 0.0}, mean;
  const auto event = [&](Index i) { return static_cast<std::size_t>(rows.p(i) - e(i) > 0.5); };
  for (Index i = 0; i < rows.size(); ++i) {
    sum[event(i)] += rows.weight(i);
    square[event(i)] += rows.weight(i) * rows.each(i);
  }
  for (std::size_t y = 0; y < 2; ++y) {
    const std::size_t from = sum[y] > 0.0 ? y : 1 - y;
    mean[y] = square[from] / sum[from];
  }
  ColumnSquares out;
  for (Index i = 0; i < rows.size(); ++i) {
    const double p = rows.p(i), factor = rows.weight(i) * phi(i) * phi(i);
    out.known += factor * rows.variance(i) * ((1.0 - p) * mean[1] + p * mean[0]);
    out.seen += factor * mean[event(i)] * e(i) * e(i);
  }
  return out;
}
#endif

}  // namespace calibrisk

#endif
