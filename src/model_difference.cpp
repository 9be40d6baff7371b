// SPDX-License-Identifier: GPL-3.0-or-later
// Paired differences of an error of several models.
#include <calibrisk/classical/model_difference.h>

#include <Rcpp.h>

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
