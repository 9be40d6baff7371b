// SPDX-License-Identifier: GPL-3.0-or-later
// Moments of predicted means and variances.
#include "as_weights.h"
#include <calibrisk/classical/moments.h>

#include <Rmath.h>

#include <algorithm>
#include <cmath>
#include <vector>

// Estimates, standard errors and skewness in the columns of `table`, and the rows of both slopes.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_moments(Rcpp::NumericVector mean, Rcpp::NumericVector variance,
                       Rcpp::NumericVector outcome, Rcpp::Nullable<Rcpp::List> design) {
  calibrisk::require(variance.size() == mean.size() && outcome.size() == mean.size(),
                     "moments: one variance and outcome per row.");
  const RowDesign rows(design);
  const calibrisk::RowMoments of(rows.weights, rows.clusters, rows.strata, mean.size());
  const calibrisk::MomentTable found =
      calibrisk::moment_table(of, as_vector(mean), as_vector(variance), as_vector(outcome));
  calibrisk::Matrix table(9, 3);
  for (int k = 0; k < 9; ++k) {
    table.row(k) << found.of[k].value, found.of[k].std_error, found.of[k].skew;
  }
  return named_list(
      {{"table", table}, {"mean_row", found.mean_row}, {"variance_row", found.variance_row}});
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_skewed_quantile(Rcpp::NumericVector q, Rcpp::NumericVector skew) {
  calibrisk::require(q.size() == 1 || skew.size() == 1, "skewed_quantile: one of both is single.");
  Rcpp::NumericVector out(q.size() * skew.size());
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    out[i] = calibrisk::skewed_quantile(q[q.size() == 1 ? 0 : i], skew[skew.size() == 1 ? 0 : i]);
  }
  return out;
}

// Limits of an estimate by the skewness of its influence, at the quantile q.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_skewed_limits(double value, double std_error, Rcpp::NumericVector influence,
                                      Rcpp::Nullable<Rcpp::List> design, double q) {
  const RowDesign of(design);
  const calibrisk::RowMoments moments(of.weights, of.clusters, of.strata, influence.size());
  const double skew = moments.skew(as_vector(influence));
  return Rcpp::NumericVector::create(value - std_error * calibrisk::skewed_quantile(q, skew),
                                     value - std_error * calibrisk::skewed_quantile(-q, skew));
}

// Bias, slope, squared error, gap, slope of variances and ratio of `times` samples in which any
// column of `pool` may be the outcome of a row: [times x 6]. Draws in the order of the rows `at`.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_ensemble_null(Rcpp::NumericMatrix pool, Rcpp::IntegerVector at, int times,
                                      Rcpp::Nullable<Rcpp::List> design) {
  calibrisk::require(at.size() == pool.nrow(), "ensemble_null: all rows in an order.");
  const RowDesign rows(design);
  const calibrisk::RowMoments of(rows.weights, rows.clusters, rows.strata, pool.nrow());
  std::vector<int> pick(static_cast<std::size_t>(pool.nrow()));
  Rcpp::NumericMatrix out(times, 6);
  for (int t = 0; t < times; ++t) {
    for (const int i : at) {
      pick.at(static_cast<std::size_t>(i) - 1) = static_cast<int>(R_unif_index(pool.ncol()));
    }
    const auto picked = [&](calibrisk::Index i) { return pick[static_cast<std::size_t>(i)]; };
    const auto found = calibrisk::exchanged_moments(of, as_matrix(pool), picked);
    int column = 0;
    for (const int k : {0, 1, 2, 4, 5, 6}) out(t, column++) = found.of[k].value;
  }
  return out;
}

// Standard error of the weighted mean of rows that are means over all others only to first order:
// influence values.
//   rows         se^2 = sum (psi - mean)^2 / (n (n - 1))
//   copies       se^2 = n / (n - 1) sum w^2 (psi - mean)^2 / W1^2
//   clusters     se^2 = C / (C - 1) sum_c (sum_{i in c} w_i (psi_i - mean))^2 / W1^2
//   strata       those of the strata added up (ladder/row_strata.h)
// [[Rcpp::export(rng = false)]]
double cpp_row_std_error(Rcpp::NumericVector rows, Rcpp::Nullable<Rcpp::List> design) {
  const RowDesign of(design);
  const calibrisk::RowMoments moments(of.weights, of.clusters, of.strata, rows.size());
  const double error = moments.std_error(as_vector(rows));
  return std::isnan(error) ? NA_REAL : error;
}

// The covariance matrix of the means of columns, whose diagonal has the squares of these errors.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_row_covariance(Rcpp::NumericMatrix columns,
                                       Rcpp::Nullable<Rcpp::List> design) {
  const RowDesign of(design);
  const calibrisk::RowMoments moments(of.weights, of.clusters, of.strata, columns.nrow());
  return wrap_matrix(moments.covariance(as_matrix(columns)));
}

// Limits of estimates and two-sided p-values, from draws of the null in columns: the limits of the
// draws shifted to the estimate, or where `scaled` multiplied. They are at the ranks at which the
// p-value is one minus the level. [3 x estimates]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_null_limits(Rcpp::NumericMatrix draws, Rcpp::NumericVector seen,
                                    Rcpp::NumericVector target, Rcpp::LogicalVector scaled,
                                    double level) {
  const int n = draws.nrow(), k = draws.ncol();
  calibrisk::require(seen.size() == k && target.size() == k && scaled.size() == k,
                     "null_limits: a column per estimate.");
  const double share = std::floor((n + 1.0) * (1.0 - level) / 2.0);
  const auto rank = static_cast<std::ptrdiff_t>(std::max(1.0, share));
  Rcpp::NumericMatrix out(3, k);
  for (int j = 0; j < k; ++j) {
    std::vector<double> of(draws.column(j).begin(), draws.column(j).end());
    std::sort(of.begin(), of.end());
    // equal up to rounding counts, on both sides
    const double most = std::max({std::abs(seen[j]), std::abs(of.front()), std::abs(of.back())});
    const double slack = 1e-12 * most;
    const auto above = of.end() - std::lower_bound(of.begin(), of.end(), seen[j] - slack);
    const auto below = std::upper_bound(of.begin(), of.end(), seen[j] + slack) - of.begin();
    const auto reached = static_cast<double>(std::min(above, below));
    const double ends[2] = {of[static_cast<std::size_t>(n - rank)],
                            of[static_cast<std::size_t>(rank - 1)]};
    for (int side = 0; side < 2; ++side) {
      const double limit =
          scaled[j] ? seen[j] * target[j] / ends[side] : seen[j] + target[j] - ends[side];
      out(side, j) = std::isfinite(limit) ? limit : NA_REAL;
    }
    out(2, j) = std::min(1.0, 2.0 * (1.0 + reached) / (n + 1.0));
  }
  return out;
}

// Sums of outcomes' deviations times the columns of `linear`, then of their squares times those of
// `squared`, in `size` draws of normal outcomes by R's generator: as many of every row as there are
// copies. Around their mean the squares are independent of it.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_normal_null(Rcpp::NumericVector deviation, Rcpp::NumericVector copies,
                                    Rcpp::NumericMatrix linear, Rcpp::NumericMatrix squared,
                                    int size) {
  const calibrisk::Index n = deviation.size();
  calibrisk::require(copies.size() == n && linear.nrow() == n && squared.nrow() == n,
                     "normal_null: one count per row.");
  calibrisk::Matrix out(size, linear.ncol() + squared.ncol());
  calibrisk::Vector sums(n), squares(n);
  for (calibrisk::Index t = 0; t < size; ++t) {
    for (calibrisk::Index i = 0; i < n; ++i) {
      const double z = norm_rand(), around = copies[i] > 1 ? R::rchisq(copies[i] - 1.0) : 0.0;
      // of one copy's share
      sums(i) = deviation[i] * z / std::sqrt(copies[i]);
      squares(i) = deviation[i] * deviation[i] * (z * z + around) / copies[i];
    }
    out.row(t).head(linear.ncol()) = sums.transpose() * as_matrix(linear);
    out.row(t).tail(squared.ncol()) = squares.transpose() * as_matrix(squared);
  }
  return wrap_matrix(out);
}
