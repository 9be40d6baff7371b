// SPDX-License-Identifier: GPL-3.0-or-later
// Exact U-statistic risk of a pair form h(p, p') = phi(p)' M phi(p') and its Hajek
// projections (Gruber & Bach 2025, Eq. 20), in linear time from S, C, G:
//   R   = [ |S|^2 - 2 <C M, C> + tr(M G M G) - sum_i delta_i^2 ] / (m (m - 1))
//   r_i = [ e_i'S e_i - 2 e_i'C M phi_i + phi_i'M G M phi_i - delta_i^2 ] / (m - 1)
// with delta_i = |e_i|^2 - phi_i'M phi_i. The mean of the r_i is R. Where the rank is
// large against the number of rows the tiled quadratic form is cheaper and is used.
#ifndef CALIBRISK_PAIR_RISK_H
#define CALIBRISK_PAIR_RISK_H

#include <calibrisk/pair_statistics.h>
#include <calibrisk/pair_tiles.h>

namespace calibrisk {

// h(p_i, p_i) = phi_i'M phi_i; an empty core is the identity.
inline Vector pair_squared(const Engine& engine, const ConstMatrixRef& features,
                           const ConstMatrixRef& core) {
  return row_products(engine, features, core, features);
}

namespace detail {

// C M and M G M, C and G where the core is the identity.
struct CoreProducts {
  Matrix cross;    // C M
  Matrix feature;  // M G M
};

inline CoreProducts core_products(const Engine& engine, const PairStatistics& stats,
                                  const ConstMatrixRef& core) {
  if (core.size() == 0) return {stats.cross, stats.feature};
  CoreProducts out;
  out.cross = engine.dense.multiply(stats.cross, core);
  out.feature = engine.dense.multiply(engine.dense.multiply(core, stats.feature), core);
  return out;
}

inline double risk_of_sums(double pairs_sum, Index n_obs) {
  if (n_obs < 2) return not_a_number;
  const double m = static_cast<double>(n_obs);
  return pairs_sum / (m * (m - 1.0));
}

}  // namespace detail

// R from the statistics and sum_i delta_i^2; what a path over many cores needs.
inline double pair_risk_value(const Engine& engine, const PairStatistics& stats,
                              const ConstMatrixRef& core, double delta_squares) {
  const detail::CoreProducts products = detail::core_products(engine, stats, core);
  const double total = stats.residual.squaredNorm() -
                       2.0 * products.cross.cwiseProduct(stats.cross).sum() +
                       products.feature.cwiseProduct(stats.feature).sum() - delta_squares;
  return detail::risk_of_sums(total, stats.n_obs);
}

inline PairRisk pair_risk_linear(const Engine& engine, const ConstMatrixRef& residuals,
                                 const ConstMatrixRef& features, const ConstMatrixRef& core) {
  const Index m = residuals.rows();
  const double rest = static_cast<double>(m) - 1.0;
  const PairStatistics stats = pair_statistics(engine, residuals, features);
  const detail::CoreProducts products = detail::core_products(engine, stats, core);
  const Matrix identity(0, 0);

  PairRisk out;
  out.n_obs = m;
  out.squared = pair_squared(engine, features, core);
  const Vector lengths = row_products(engine, residuals, identity, residuals);
  const Vector own = row_products(engine, residuals, stats.residual, residuals);
  const Vector cross = row_products(engine, residuals, products.cross, features);
  const Vector feature = row_products(engine, features, products.feature, features);
  const Vector delta_squares = (lengths - out.squared).array().square();
  const Vector fourth = lengths.array().square();

  const double total = stats.residual.squaredNorm() -
                       2.0 * products.cross.cwiseProduct(stats.cross).sum() +
                       products.feature.cwiseProduct(stats.feature).sum() - delta_squares.sum();
  out.risk = detail::risk_of_sums(total, m);
  out.zero_risk = detail::risk_of_sums(stats.residual.squaredNorm() - fourth.sum(), m);
  out.projections = (own - 2.0 * cross + feature - delta_squares) / rest;
  out.zero_projections = (own - fourth) / rest;
  detail::finish(out);
  return out;
}

// Multiplications of the two forms; the elementwise part of a tile counts as eight.
inline bool linear_is_cheaper(double m, double d, double r) {
  const double linear = 2.5 * m * (d + r) * (d + r) + 2.0 * r * r * r;
  const double tiled = 0.5 * m * m * (d + r + 8.0) + m * r * r;
  return linear <= tiled;
}

inline PairRisk pair_risk(const Engine& engine, const ConstMatrixRef& residuals,
                          const ConstMatrixRef& features, const ConstMatrixRef& core) {
  const bool linear = linear_is_cheaper(static_cast<double>(residuals.rows()),
                                        static_cast<double>(residuals.cols()),
                                        static_cast<double>(features.cols()));
  return linear ? pair_risk_linear(engine, residuals, features, core)
                : pair_risk_tiled(engine, residuals, features, core);
}

}  // namespace calibrisk

#endif
