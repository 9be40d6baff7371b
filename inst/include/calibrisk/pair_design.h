// SPDX-License-Identifier: GPL-3.0-or-later
// The risk of rows with weights, copies or clusters (ladder/row_weights.h) from that of plain rows.
// With residuals times the roots of the weights, and h times those of both rows,
//   w_i s_i = sum_{j != i} w_i w_j (<e_i, e_j> - h_ij)^2
// are sums of plain rows. The pairs of a row's copies are added, those within a cluster are taken
// off. With P_i the weight of the partners of a copy of row i,
//   r_i = s_i / P_i,  R = sum w_i s_i / sum w_i P_i
#ifndef CALIBRISK_PAIR_DESIGN_H
#define CALIBRISK_PAIR_DESIGN_H

#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/pair_risk.h>

#include <numeric>

namespace calibrisk {

namespace detail {

// Sums over partners, w_i s_i, in place of their means.
inline void turn_into_sums(PairRisk& risk) {
  const Index n = risk.projections.size();
  for (Vector* rows : {&risk.projections, &risk.zero_projections}) {
    if (n < 2) {
      rows->setZero();
    } else {
      *rows *= static_cast<double>(n) - 1.0;
    }
  }
}

}  // namespace detail

// plain(rows): the risk of these rows alone, with the roots of the weights.
template <class Plain>
PairRisk design_risk(const ConstMatrixRef& residuals, const RowWeights& weights,
                     const RowClusters& clusters, const Plain& plain) {
  const Index n = residuals.rows();
  std::vector<Index> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  PairRisk out = plain(rows);
  detail::turn_into_sums(out);
  Vector partners = Vector::Constant(n, weights.total(n));
  for (Index i = 0; i < n; ++i) {
    const double w = weights(i);
    out.squared(i) /= w;
    if (clusters.given()) continue;
    const double copies = w * (w - weights.each(i)), length = residuals.row(i).squaredNorm();
    partners(i) -= weights.each(i);
    // below 0 of less than a copy, as of rows that stand for those of a cell
    if (copies == 0.0) continue;
    out.projections(i) += copies * std::pow(length - out.squared(i), 2.0);
    out.zero_projections(i) += copies * length * length;
  }
  for (Index c = 0; clusters.given() && c < clusters.units(n); ++c) {
    const RowClusters::Rows own = clusters.rows(c);
    double size = 0.0;
    for (Index i : own) size += weights(i);
    for (Index i : own) partners(i) -= size;
    if (own.size() < 2) continue;
    PairRisk part = plain(std::vector<Index>(own.begin(), own.end()));
    detail::turn_into_sums(part);
    Index at = 0;
    for (Index i : own) {
      out.projections(i) -= part.projections(at);
      out.zero_projections(i) -= part.zero_projections(at++);
    }
  }
  double pairs = 0.0;
  for (Index i = 0; i < n; ++i) pairs += weights(i) * partners(i);
  // the partners within a single cluster are 0 up to rounding only
  const bool several = clusters.given() ? clusters.units(n) > 1 : weights.count(n) > 1.0;
  const auto mean = [&](const Vector& sums) {
    return pairs > 0.0 && several ? sums.sum() / pairs : not_a_number;
  };
  out.risk = mean(out.projections);
  out.zero_risk = mean(out.zero_projections);
  out.clipped = out.risk < -1e-12 * out.zero_risk;
  if (out.risk < 0.0) out.risk = 0.0;
  if (out.zero_risk < 0.0) out.zero_risk = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double size = several ? weights(i) * partners(i) : 0.0;
    out.projections(i) = size > 0.0 ? out.projections(i) / size : not_a_number;
    out.zero_projections(i) = size > 0.0 ? out.zero_projections(i) / size : not_a_number;
  }
  return out;
}

// Rows of x times the roots of their weights.
inline Matrix rooted_rows(const ConstMatrixRef& x, const std::vector<Index>& rows,
                          const RowWeights& weights) {
  Matrix out(static_cast<Index>(rows.size()), x.cols());
  for (Index i = 0; i < out.rows(); ++i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    out.row(i) = std::sqrt(weights(row)) * x.row(row);
  }
  return out;
}

inline RiskNumbers pair_risk(const Engine& engine, const ConstMatrixRef& residuals,
                             const ConstMatrixRef& features, const ConstMatrixRef& core,
                             const RowWeights& weights, const RowClusters& clusters, RiskRows out) {
  if (weights.all_equal() && !clusters.given()) {
    return pair_risk(engine, residuals, features, core, out);
  }
  // one thread for the few rows of a cluster
  const Executor one_thread;
  Progress quiet;
  const Engine alone{one_thread, engine.dense, quiet};
  const auto plain = [&](const std::vector<Index>& rows) {
    const bool whole = static_cast<Index>(rows.size()) == residuals.rows();
    return pair_risk(whole ? engine : alone, rooted_rows(residuals, rows, weights),
                     rooted_rows(features, rows, weights), core);
  };
  return write_rows(design_risk(residuals, weights, clusters, plain), out);
}

}  // namespace calibrisk

#endif
