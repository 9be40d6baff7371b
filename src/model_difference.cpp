// SPDX-License-Identifier: GPL-3.0-or-later
// Paired differences of an error of several models.
#include <calibrisk/classical/model_difference.h>

#include <Rcpp.h>

#include <algorithm>
#include <cmath>

// `errors`: a row per number of ModelError, a column per model; `std_errors`: of the values and the
// roots, a column for the errors and one for their honest bounds, where they have some. Standard
// error, limits and p-value.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_model_difference(Rcpp::NumericMatrix errors, Rcpp::NumericMatrix std_errors,
                                         double power, bool told, double df, double level) {
  const auto model = [&](int j) {
    return calibrisk::ModelError{errors(0, j), errors(1, j), errors(2, j), errors(3, j),
                                 errors(4, j)};
  };
  const auto column = [&](int j) {
    return calibrisk::DifferenceErrors{std_errors(0, j), std_errors(1, j)};
  };
  calibrisk::ModelDifference difference(model(0), model(1), power, told, column(0));
  if (std_errors.ncol() > 1) difference.set_bounds(column(1));
  const auto limits = difference.limits(R::qt((1.0 + level) / 2.0, df, 1, 0));
  const double z = difference.z();
  const double p_value = z == 0.0 ? 1.0 : 2.0 * R::pt(-z, df, 1, 0);
  const auto known = [](double v) { return std::isnan(v) ? NA_REAL : v; };
  return {known(limits.std_error), known(limits.low), known(limits.high), known(p_value)};
}

// Of differences of samples, a row each: standard error, limits and p-value. `bias`: at most so
// many times what samples add; the limits and the test hold for none and for that. `df`: of
// Student's distribution; with less than 1 there are none.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_sampled_differences(Rcpp::NumericMatrix draws, Rcpp::NumericVector difference,
                                   double bias, double df, double level) {
  const double quantile = df < 1.0 ? NA_REAL : R::qt((1.0 + level) / 2.0, df, 1, 0);
  const int n = draws.nrow(), times = draws.ncol();
  Rcpp::NumericVector error(n, NA_REAL), low(n, NA_REAL), high(n, NA_REAL), p_value(n, NA_REAL);
  for (int k = 0; k < n; ++k) {
    long double sum = 0.0L, squares = 0.0L;
    for (int t = 0; t < times; ++t) sum += draws(k, t);
    const auto mean = static_cast<double>(sum / times);
    for (int t = 0; t < times; ++t) squares += std::pow(draws(k, t) - mean, 2);
    const double sd = std::sqrt(static_cast<double>(squares / (times - 1)));
    const double own = difference[k], corrected = own - bias * (mean - own);
    // of Inf and -Inf there is neither spread nor a limit
    const auto known = [&](double v) {
      return std::isfinite(v) && std::isfinite(own) ? v : NA_REAL;
    };
    error[k] = known(sd);
    low[k] = known(std::min(own, corrected) - quantile * sd);
    high[k] = known(std::max(own, corrected) + quantile * sd);
    const double least = own * corrected > 0 ? std::min(std::abs(own), std::abs(corrected)) : 0.0;
    if (std::isnan(quantile)) continue;
    p_value[k] = known(sd > 0 ? 2.0 * R::pt(-least / sd, df, 1, 0) : least == 0.0 ? 1.0 : 0.0);
  }
  return Rcpp::List::create(Rcpp::Named("std.error") = error, Rcpp::Named("conf.low") = low,
                            Rcpp::Named("conf.high") = high, Rcpp::Named("p.value") = p_value);
}
