// SPDX-License-Identifier: GPL-3.0-or-later
// Exact U-statistic risk of a pair form h(p, p') = phi(p)' M phi(p') and its Hajek projections, in
// linear time from S, C, G (Gruber & Bach 2025, Eq. 20; see pair_statistics.h). If the rank is
// large compared with the number of rows, the tiled quadratic form is cheaper and is used.
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

CALIBRISK_SHARED CoreProducts core_products(const Engine& engine, const PairStatistics& stats,
                                            const ConstMatrixRef& core);

}  // namespace detail

// R from the statistics and sum_i delta_i^2; what a path over many cores needs.
CALIBRISK_SHARED double pair_risk_value(const Engine& engine, const PairStatistics& stats,
                                        const ConstMatrixRef& core, double delta_squares);

// Each row's terms of r_i, and |e_i|^2 and h(p_i, p_i).
struct PairRows {
  Vector residual, cross, feature;
  Vector length, squared;
};

CALIBRISK_SHARED PairRisk pair_risk_of_rows(const PairRows& rows);

namespace detail {

// All of it in one pass, where no product has many columns: the rows' terms stay in a worker's
// cache. features(begin, size): rows of the features.
template <class Features>
RiskNumbers narrow_pair_risk(const Engine& engine, const PairStatistics& stats,
                             const CoreProducts& products, const ConstMatrixRef& residuals,
                             const Features& features, const ConstMatrixRef& core, RiskRows rows) {
  struct Sums {
    double losses = 0.0, delta_squares = 0.0, residual = 0.0, fourth = 0.0;
  };
  const Index n = residuals.rows();
  const double others = static_cast<double>(n) - 1.0;
  RiskNumbers out;
  out.n_obs = n;
  const Sums sums = parallel_reduce(
      engine, n, narrow_block, Sums(),
      [&](Index begin, Index size) {
        const auto e = residuals.middleRows(begin, size);
        const auto phi = features(begin, size);
        const auto terms = [size](const ConstMatrixRef& a, const ConstMatrixRef& q,
                                  const ConstMatrixRef& b) {
          Vector forms(size);
          row_forms(a, q, b, forms);
          return forms;
        };
        const Vector residual = terms(e, stats.residual, e), length = terms(e, Matrix(0, 0), e),
                     squared = terms(phi, core, phi);
        const Vector losses =
            pair_losses(residual, terms(e, products.cross, phi), terms(phi, products.feature, phi));
        const Vector delta_squares = (length - squared).array().square();
        const Vector fourth = length.array().square();
        rows.squared.segment(begin, size) = squared;
        rows.projections.segment(begin, size) = (losses - delta_squares) / others;
        rows.zero_projections.segment(begin, size) = (residual - fourth) / others;
        return Sums{losses.sum(), delta_squares.sum(), residual.sum(), fourth.sum()};
      },
      [](Sums& total, const Sums& part) {
        total.losses += part.losses;
        total.delta_squares += part.delta_squares;
        total.residual += part.residual;
        total.fourth += part.fourth;
      });
  out.risk = pair_risk_value(sums.losses, sums.delta_squares, static_cast<double>(n));
  out.zero_risk = pair_risk_value(sums.residual, sums.fourth, static_cast<double>(n));
  finish(out, rows.projections, rows.zero_projections);
  return out;
}

}  // namespace detail

CALIBRISK_SHARED RiskNumbers pair_risk_linear(const Engine& engine, const ConstMatrixRef& residuals,
                                              const ConstMatrixRef& features,
                                              const ConstMatrixRef& core, RiskRows out);

CALIBRISK_SHARED PairRisk pair_risk_linear(const Engine& engine, const ConstMatrixRef& residuals,
                                           const ConstMatrixRef& features,
                                           const ConstMatrixRef& core);

// Multiplications of the two forms; the elementwise part of a tile counts as eight.
inline bool linear_is_cheaper(double m, double d, double r) {
  const double linear = 2.5 * m * (d + r) * (d + r) + 2.0 * r * r * r;
  const double tiled = 0.5 * m * m * (d + r + 8.0) + m * r * r;
  return linear <= tiled;
}

CALIBRISK_SHARED RiskNumbers pair_risk(const Engine& engine, const ConstMatrixRef& residuals,
                                       const ConstMatrixRef& features, const ConstMatrixRef& core,
                                       RiskRows rows);

CALIBRISK_SHARED PairRisk pair_risk(const Engine& engine, const ConstMatrixRef& residuals,
                                    const ConstMatrixRef& features, const ConstMatrixRef& core);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RISKS)
namespace detail {

CoreProducts core_products(const Engine& engine, const PairStatistics& stats,
                           const ConstMatrixRef& core) {
  if (core.size() == 0) return {stats.cross, stats.feature};
  CoreProducts out;
  out.cross = engine.dense.multiply(stats.cross, core);
  out.feature = engine.dense.multiply(engine.dense.multiply(core, stats.feature), core);
  return out;
}

}  // namespace detail

double pair_risk_value(const Engine& engine, const PairStatistics& stats,
                       const ConstMatrixRef& core, double delta_squares) {
  const detail::CoreProducts products = detail::core_products(engine, stats, core);
  const double losses =
      pair_losses(stats.residual.squaredNorm(), products.cross.cwiseProduct(stats.cross).sum(),
                  products.feature.cwiseProduct(stats.feature).sum());
  return pair_risk_value(losses, delta_squares, static_cast<double>(stats.n_obs));
}

PairRisk pair_risk_of_rows(const PairRows& rows) {
  PairRisk out;
  out.n_obs = rows.residual.size();
  out.squared = rows.squared;
  const double m = static_cast<double>(out.n_obs);
  const Vector losses = pair_losses(rows.residual, rows.cross, rows.feature);
  const Vector delta_squares = (rows.length - rows.squared).array().square();
  const Vector fourth = rows.length.array().square();
  out.risk = pair_risk_value(losses.sum(), delta_squares.sum(), m);
  out.zero_risk = pair_risk_value(rows.residual.sum(), fourth.sum(), m);
  out.projections = pair_risk_rows(losses, delta_squares);
  out.zero_projections = pair_risk_rows(rows.residual, fourth);
  detail::finish(out);
  return out;
}

RiskNumbers pair_risk_linear(const Engine& engine, const ConstMatrixRef& residuals,
                             const ConstMatrixRef& features, const ConstMatrixRef& core,
                             RiskRows out) {
  const PairStatistics stats = pair_statistics(engine, residuals, features);
  const detail::CoreProducts products = detail::core_products(engine, stats, core);
  if (detail::is_narrow(stats.residual) && detail::is_narrow(products.feature)) {
    const auto rows = [&](Index begin, Index size) { return features.middleRows(begin, size); };
    return detail::narrow_pair_risk(engine, stats, products, residuals, rows, core, out);
  }
  PairRows rows;
  rows.residual = row_products(engine, residuals, stats.residual, residuals);
  rows.cross = row_products(engine, residuals, products.cross, features);
  rows.feature = row_products(engine, features, products.feature, features);
  rows.length = row_products(engine, residuals, Matrix(0, 0), residuals);
  rows.squared = pair_squared(engine, features, core);
  return write_rows(pair_risk_of_rows(rows), out);
}

PairRisk pair_risk_linear(const Engine& engine, const ConstMatrixRef& residuals,
                          const ConstMatrixRef& features, const ConstMatrixRef& core) {
  return owned_risk(residuals.rows(), [&](RiskRows rows) {
    return pair_risk_linear(engine, residuals, features, core, rows);
  });
}

RiskNumbers pair_risk(const Engine& engine, const ConstMatrixRef& residuals,
                      const ConstMatrixRef& features, const ConstMatrixRef& core, RiskRows rows) {
  const bool linear = linear_is_cheaper(static_cast<double>(residuals.rows()),
                                        static_cast<double>(residuals.cols()),
                                        static_cast<double>(features.cols()));
  return linear ? pair_risk_linear(engine, residuals, features, core, rows)
                : write_rows(pair_risk_tiled(engine, residuals, features, core), rows);
}

PairRisk pair_risk(const Engine& engine, const ConstMatrixRef& residuals,
                   const ConstMatrixRef& features, const ConstMatrixRef& core) {
  return owned_risk(residuals.rows(), [&](RiskRows rows) {
    return pair_risk(engine, residuals, features, core, rows);
  });
}
#endif

}  // namespace calibrisk

#endif
