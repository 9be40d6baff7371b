// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of squared errors that are quadratic in the residuals: of means over pairs, and of nested
// bases (rungs), for notions and designs whose outcomes are not redrawn. If predictions are
// calibrated, the value psi has variance `noise` and the shape of a Pearson III law; at a squared
// error x its variance is noise + slope x. If variances are estimated from few independent units
// (clusters, weights), Student's quantiles of `df` degrees of freedom stand for the normal ones:
// far out, where R's gamma law is taken by logarithms.
#ifndef CALIBRISK_NESTED_LIMITS_H
#define CALIBRISK_NESTED_LIMITS_H

#include "r_values.h"
#include <Rmath.h>
#include <calibrisk/math/growing_variance.h>
#include <calibrisk/math/roots.h>

#include <cmath>
#include <vector>

// The value whose upper tail is that of the normal quantile z, by the nearer tail.
inline double pearson3_quantile(double z, double skew) {
  if (skew < 1e-3) return z;
  const double shape = 4.0 / (skew * skew);
  const double tail = R::pnorm(std::abs(z), 0.0, 1.0, 0, 1);
  return (R::qgamma(tail, shape, 1.0, z < 0.0, 1) - shape) / std::sqrt(shape);
}

inline double pearson3_log_tail(double x, double skew) {
  if (skew < 1e-3) return R::pnorm(x, 0.0, 1.0, 0, 1);
  const double shape = 4.0 / (skew * skew);
  return R::pgamma(shape + x * std::sqrt(shape), shape, 1.0, 0, 1);
}

struct Rung {
  double psi, noise, skew, slope;

  // The largest x with psi >= x - z sqrt(noise + slope x).
  double high(double z) const {
    const double seen = std::max(psi, 0.0);
    return calibrisk::growing_limit(seen, noise + slope * seen, slope, z);
  }
  // The x that a test at z does not reject: 0 where it does not reject 0, and at most psi where z
  // is negative.
  double low(double z) const {
    const auto excess = [&](double x) {
      const double variance = noise + slope * x;
      return psi - x -
             pearson3_quantile(z, skew * std::pow(noise / variance, 1.5)) * std::sqrt(variance);
    };
    return psi > 0.0 ? calibrisk::bracketed_root(excess, 0.0, psi, 1e-14 * psi) : 0.0;
  }
  double statistic() const { return psi / std::sqrt(noise); }
  // above 0, which outcomes have that were predicted to be impossible
  double p_value(double df) const {
    const double tail = pearson3_log_tail(statistic(), skew);
    return std::max(
        1e-300, R_FINITE(df) ? R::pt(R::qnorm(tail, 0.0, 1.0, 0, 1), df, 0, 0) : std::exp(tail));
  }
};

// The squared residuals of rows: their mean, its standard error and third central moment, the
// effective numbers of independent rows or clusters (`size`) and of rows, and the largest square
// that there can be. Failures are counted in units of the largest.
struct SquareFacts {
  double mean, error, third, size, rows, largest, df;

  bool certain() const { return mean == 0.0 && df > 0.0; }
  // 1 without failures, 0 from `most` on
  double lack(double most) const { return std::max(0.0, 1.0 - rows * mean / largest / most); }
  // The share that a sample without failures says nothing of: none of `size` rows or clusters has
  // the probability `tail`.
  double unseen(double tail) const { return 1.0 - std::pow(tail, 1.0 / size); }
  double quantile(double tail) const { return R::qt(tail, df, 0, 0); }

  // Upper limit of the root of the mean, which no calibration error exceeds. The variance of a mean
  // of few large squares grows with the mean, by their skewness: the limit is the largest mean that
  // a normal test with this variance does not reject.
  double root_limit(double tail) const {
    if (ISNAN(error)) return std::sqrt(largest);  // nothing is known from a single row
    if (df < 1.0) return NA_REAL;
    const double variance = error * error;
    const double high = calibrisk::growing_limit(
        mean, variance, calibrisk::slope_of_mean(variance, third), quantile(tail));
    return std::sqrt(std::min(largest, std::max(high, largest * unseen(tail) * lack(1.0))));
  }
  // The largest squared error of gaps whose failures would all be unseen: a share u of the rows, at
  // most all of it in the rows of one column of the basis. Of k columns a gap of u k in one has the
  // square u^2 k.
  double unseen_error(double columns, double tail) const {
    const double u = unseen(tail);
    return largest * std::min(u * u * std::max(columns, 1.0), u) * lack(3.0);
  }
};

inline SquareFacts square_facts(const Rcpp::List& facts, double df) {
  return {number_field(facts, "mean"),
          number_field(facts, "error"),
          number_field(facts, "third"),
          number_field(facts, "size"),
          number_field(facts, "rows"),
          number_field(facts, "largest"),
          df};
}

struct Upper {
  double error, root_brier, unseen;  // the last one squared
};

// Each limit is missed with the probability `tail`. `columns`: of the finest basis.
inline Upper upper_limits(const std::vector<Rung>& rungs, const SquareFacts& facts, double columns,
                          double tail) {
  const double bound = facts.root_limit(tail), unseen = facts.unseen_error(columns, tail);
  if ((rungs.empty() && !facts.certain()) || ISNAN(bound)) return {bound, bound, unseen};
  const double z = facts.quantile(tail);
  double most = unseen;
  for (const Rung& rung : rungs) most = std::max(most, rung.high(z));
  return {std::min(bound, std::sqrt(most)), bound, unseen};
}

// See limits.cpp.
Rcpp::List cpp_nested_headline(const Rcpp::NumericMatrix& numbers,
                               const Rcpp::NumericMatrix& products, const Rcpp::List& facts,
                               double columns, double df, double level);

#endif
