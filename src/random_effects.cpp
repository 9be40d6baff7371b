// SPDX-License-Identifier: GPL-3.0-or-later
// Summaries of groups and of completed data sets.
#include "r_values.h"
#include <calibrisk/classical/random_effects.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

using calibrisk::Vector;

namespace {

// Scales on which a number is about normal: to it, back, and the derivative of the way back. A root
// has limits that do not come from a standard error.
struct Scale {
  enum class Kind { own, log, logit, root, skill } kind = Kind::own;

  explicit Scale(const std::string& name) {
    if (name == "log") kind = Kind::log;
    if (name == "logit") kind = Kind::logit;
    if (name == "root") kind = Kind::root;
    if (name == "skill") kind = Kind::skill;
  }
  double to(double v) const {
    if (kind == Kind::log) return std::log(v);
    if (kind == Kind::logit) return R::qlogis(v, 0.0, 1.0, 1, 0);
    return kind == Kind::root ? v * v : v;
  }
  double back(double v) const {
    if (std::isnan(v)) return v;
    if (kind == Kind::log) return std::exp(v);
    if (kind == Kind::logit) return R::plogis(v, 0.0, 1.0, 1, 0);
    if (kind == Kind::root) return std::sqrt(std::max(v, 0.0));
    return kind == Kind::skill ? std::min(v, 1.0) : v;
  }
  double slope(double v) const {
    if (kind == Kind::log) return std::exp(v);
    if (kind == Kind::logit) return R::dlogis(v, 0.0, 1.0, 0);
    return kind == Kind::root ? NA_REAL : 1.0;
  }
};

// Rubin's rules for m data sets of estimates on the scale of their intervals: `sides`, [m x 2], are
// the distances of the limits over their quantile, `complete` the degrees of freedom of complete
// data, `null` a value to test or NaN. The mean, its error, limits, the p-value, degrees of freedom
// and the fraction of missing information; the last ones are missing unless all are known.
std::array<double, 7> pooled(const Vector& values, const calibrisk::Matrix& sides, double complete,
                             double level, double null) {
  const calibrisk::Matrix squares = sides.cwiseAbs2();
  const double m = static_cast<double>(values.size()), mean = values.mean();
  const double within = sides.rowwise().mean().cwiseAbs2().mean();
  const double spread = (values.array() - mean).square().sum() / (m - 1.0);
  const double between = (1.0 + 1.0 / m) * spread, total = within + between;
  std::array<double, 7> out;
  out.fill(NA_REAL);
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

}  // namespace

// Rubin's rules for numbers of m data sets, [numbers x m], each with the name of its scale, the
// value to test (NA: none), the degrees of freedom of its intervals, infinite for plain rows, and
// the number of rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pooled(Rcpp::NumericMatrix estimate, Rcpp::NumericMatrix low,
                      Rcpp::NumericMatrix high, Rcpp::NumericMatrix std_error,
                      Rcpp::CharacterVector scale, Rcpp::NumericVector null, double level,
                      Rcpp::NumericVector df, Rcpp::NumericVector n) {
  const int rows = estimate.nrow(), m = estimate.ncol();
  calibrisk::require(low.nrow() == rows && high.nrow() == rows && std_error.nrow() == rows &&
                         scale.size() == rows && null.size() == rows && df.size() == rows &&
                         n.size() == rows,
                     "pooled: a row for each number.");
  calibrisk::Matrix out(rows, 7);
  for (int i = 0; i < rows; ++i) {
    const Scale of(Rcpp::as<std::string>(scale[i]));
    const double quantile = R::qt((1.0 + level) / 2.0, std::max(df[i], 1.0), 1, 0);
    Vector at(m);
    calibrisk::Matrix sides(m, 2);
    for (int j = 0; j < m; ++j) {
      at(j) = of.to(estimate(i, j));
      double above = high(i, j);
      // an end at the largest value is nearer than the error says
      const double far = estimate(i, j) + quantile * std_error(i, j);
      if (of.kind == Scale::Kind::skill && !(above >= far)) above = std::isnan(above) ? above : far;
      sides.row(j) << (at(j) - of.to(low(i, j))) / quantile, (of.to(above) - at(j)) / quantile;
    }
    const double complete = std::isfinite(df[i]) ? df[i] : n[i] - 1.0;
    const auto found = pooled(at, sides, complete, level, of.to(null[i]));
    out.row(i) << of.back(found[0]), found[1] * of.slope(found[0]), of.back(found[2]),
        of.back(found[3]), found[4], found[5], found[6];
  }
  const auto column = [&](int k) { return Vector(out.col(k)); };
  return named_list({{"estimate", column(0)},
                     {"std.error", column(1)},
                     {"conf.low", column(2)},
                     {"conf.high", column(3)},
                     {"p.value", column(4)},
                     {"df", column(5)},
                     {"fmi", column(6)}});
}

// The random-effects summary of a number of groups, of which those without a finite value or error
// are left out; `df`: of the errors. `low` and `high` are simultaneous limits of all groups.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_group_effects(Rcpp::NumericVector estimate, Rcpp::NumericVector std_error,
                             Rcpp::NumericVector df, std::string scale, double level) {
  const Scale of(scale);
  const R_xlen_t n = estimate.size();
  calibrisk::require(std_error.size() == n && df.size() == n, "group_effects: an error each.");
  const double simultaneous =
      R::qnorm(1.0 - (1.0 - level) / 2.0 / static_cast<double>(n), 0, 1, 1, 0);
  std::vector<double> values, variances, degrees;
  std::vector<R_xlen_t> known;
  Rcpp::NumericVector low(n, NA_REAL), high(n, NA_REAL), weight(n, NA_REAL);
  for (R_xlen_t i = 0; i < n; ++i) {
    const double value = of.to(estimate[i]), error = std_error[i] / of.slope(value);
    if (!(std::isfinite(value) && std::isfinite(error) && error > 0.0)) continue;
    known.push_back(i);
    values.push_back(value);
    variances.push_back(error * error);
    degrees.push_back(df[i]);
    low[i] = of.back(value - simultaneous * error);
    high[i] = of.back(value + simultaneous * error);
  }
  const std::size_t k = known.size();
  calibrisk::RandomEffects found;
  found.mean = k == 1 ? values[0] : NA_REAL;
  found.tau2 = found.q = NA_REAL;
  double p = NA_REAL;
  std::array<double, 4> limits;
  limits.fill(NA_REAL);
  if (k > 1) {
    const auto view = [k](const std::vector<double>& v) {
      return Eigen::Map<const Vector>(v.data(), static_cast<calibrisk::Index>(k));
    };
    found = calibrisk::random_effects(view(values), view(variances), view(degrees));
    p = R::pf(found.f, found.df1, found.df2, 0, 0);
    const double of_q = static_cast<double>(k) - 1.0, z = R::qnorm((1.0 + level) / 2.0, 0, 1, 1, 0);
    constexpr int parts = 100;
    Vector quantiles(parts);
    for (int j = 0; j < parts; ++j) quantiles(j) = R::qchisq((j + 0.5) / parts, of_q, 1, 0);
    const calibrisk::GroupMean of_mean(view(values), view(variances), quantiles);
    limits[0] = of_mean.limit(z, -1.0, false);
    limits[1] = of_mean.limit(z, 1.0, false);
    if (k > 2) limits[2] = of_mean.limit(z, -1.0, true);
    if (k > 2) limits[3] = of_mean.limit(z, 1.0, true);
  }
  for (std::size_t i = 0; i < k; ++i) {
    weight[known[i]] = k > 1 ? found.weights(static_cast<calibrisk::Index>(i)) : 1.0;
  }
  return named_list(
      {{"summary", named_list({{"k", static_cast<int>(k)},
                               {"estimate", of.back(found.mean)},
                               {"conf.low", of.back(limits[0])},
                               {"conf.high", of.back(limits[1])},
                               {"pred.low", of.back(limits[2])},
                               {"pred.high", of.back(limits[3])},
                               {"tau", std::sqrt(found.tau2)},
                               {"statistic", found.q},
                               {"p.value", p}})},
       {"groups", named_list({{"conf.low", low}, {"conf.high", high}, {"weight", weight}})}});
}
