// SPDX-License-Identifier: GPL-3.0-or-later
// Summaries of groups and of completed data sets.
#include "r_values.h"
#include <calibrisk/classical/random_effects.h>

#include <cmath>

// Of estimates of two groups or more, their variances and the degrees of freedom of these.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_random_effects(Rcpp::NumericVector value, Rcpp::NumericVector variance,
                              Rcpp::NumericVector df) {
  const calibrisk::RandomEffects of =
      calibrisk::random_effects(as_vector(value), as_vector(variance), as_vector(df));
  return named_list({{"mean", of.mean},
                     {"error", of.error},
                     {"tau2", of.tau2},
                     {"q", of.q},
                     {"p", R::pf(of.f, of.df1, of.df2, 0, 0)},
                     {"weights", of.weights}});
}

// Rubin's rules for m data sets of estimates on the scale of their intervals: `sides`, [m x 2], are
// the distances of the limits over their quantile, `complete` the degrees of freedom of complete
// data, `null` a value to test or NaN. The mean, its error, limits, the p-value, degrees of freedom
// and the fraction of missing information; the last ones are missing unless all are known.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_pooled(Rcpp::NumericVector at, Rcpp::NumericMatrix sides, double complete,
                               double level, double null) {
  const auto values = as_vector(at);
  const auto squares = as_matrix(sides).cwiseAbs2();
  const double m = static_cast<double>(values.size()), mean = values.mean();
  const double within = as_matrix(sides).rowwise().mean().cwiseAbs2().mean();
  const double spread = (values.array() - mean).square().sum() / (m - 1.0);
  const double between = (1.0 + 1.0 / m) * spread, total = within + between;
  Rcpp::NumericVector out(7, NA_REAL);
  out[0] = mean;
  if (!(complete >= 1.0 && std::isfinite(total) && within > 0.0)) return out;
  const double seen = (complete + 1.0) / (complete + 3.0) * complete * within / total;
  const double share = between / total, df = 1.0 / (share * share / (m - 1.0) + 1.0 / seen);
  const double below = std::sqrt(squares.col(0).mean() + between),
               above = std::sqrt(squares.col(1).mean() + between);
  const double quantile = R::qt((1.0 + level) / 2.0, df, 1, 0);
  out[1] = std::sqrt(total);
  out[2] = mean - quantile * below;
  out[3] = mean + quantile * above;
  // the limit on the side of the null is the one that may exclude it
  const double gap = mean - null;
  if (!std::isnan(gap))
    out[4] = 2.0 * R::pt(-std::abs(gap) / (gap < 0.0 ? above : below), df, 1, 0);
  out[5] = df;
  out[6] = (between + within * 2.0 / (df + 3.0)) / total;
  return out;
}
