// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of squared errors that are quadratic in the residuals (nested_limits.h), the stack and
// test of nested bases, and paired differences of an error of several models.
#include "nested_limits.h"
#include <calibrisk/classical/model_difference.h>
#include <calibrisk/ladder/stack.h>
#include <calibrisk/math/tail_quantiles.h>

#include <cmath>
#include <limits>
#include <numeric>

using calibrisk::Index;
using calibrisk::Matrix;
using calibrisk::Vector;

namespace {

// Columns of psi, noise, skew, linear and scatter.
std::vector<Rung> as_rungs(const Rcpp::NumericMatrix& numbers) {
  std::vector<Rung> out;
  for (int m = 0; m < numbers.ncol(); ++m) {
    const double psi = numbers(0, m), noise = numbers(1, m);
    out.push_back({psi, noise, numbers(2, m),
                   calibrisk::slope_of_form(psi, noise, numbers(3, m), numbers(4, m))});
  }
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_pearson3_quantile(const Rcpp::NumericVector& z, double skew) {
  Rcpp::NumericVector out(z.size());
  std::transform(z.begin(), z.end(), out.begin(),
                 [=](double one) { return pearson3_quantile(one, skew); });
  return out;
}

// Logarithms of upper tails.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_pearson3_tail(const Rcpp::NumericVector& x, double skew) {
  Rcpp::NumericVector out(x.size());
  std::transform(x.begin(), x.end(), out.begin(),
                 [=](double one) { return pearson3_log_tail(one, skew); });
  return out;
}

// Lower limits of the calibration error, each missed with the probability of a tail, from outcomes
// that were predicted to be impossible; 0 without any. Rows with a probability of 0, or of 1, have
// as large an error as their failures; the limit is the root of their share times Clopper and
// Pearson's. p, y: [n x classes]; `size`: the effective number of rows; w may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_refuted_low(Rcpp::NumericMatrix p, Rcpp::NumericMatrix y,
                                    Rcpp::NumericVector w, double size, Rcpp::NumericVector tails) {
  Rcpp::NumericVector out(tails.size());
  const double total = w.size() > 0 ? std::accumulate(w.begin(), w.end(), 0.0) : p.nrow();
  for (int k = 0; k < p.ncol(); ++k) {
    for (const double certain : {0.0, 1.0}) {
      double group = 0.0, failed = 0.0;
      for (int i = 0; i < p.nrow(); ++i) {
        if (p(i, k) != certain) continue;
        const double own = (w.size() > 0 ? w[i] : 1.0) / total;
        group += own;
        if (y(i, k) == 1.0 - certain) failed += own;
      }
      if (failed == 0.0) continue;
      for (R_xlen_t t = 0; t < tails.size(); ++t) {
        const double low = calibrisk::clopper_pearson(size * failed, size * group, tails[t]).low;
        out[t] = std::max(out[t], std::sqrt(group) * low);
      }
    }
  }
  return out;
}

// Upper limits of the calibration error and of the root Brier score, and the squared error of what
// a sample has not seen.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_nested_upper(const Rcpp::NumericMatrix& rungs, const Rcpp::List& facts,
                                     double columns, double df, double tail) {
  const Upper found = upper_limits(as_rungs(rungs), square_facts(facts, df), columns, tail);
  return Rcpp::NumericVector::create(found.error, found.root_brier, found.unseen);
}

// Weights of gaps in one, from the means of their products with each other and with the residuals.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_stack_weights(const Rcpp::NumericMatrix& products,
                                      const Rcpp::NumericVector& psi) {
  return wrap_vector(calibrisk::stack_weights(as_matrix(products), as_vector(psi)));
}

// The headline of nested bases, at least one: the squared estimate of the stack, its root with an
// error on that scale (NA below twice its noise), two-sided limits, a lower bound at the level, and
// the test of the rung that decides it.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_nested_headline(const Rcpp::NumericMatrix& numbers,
                               const Rcpp::NumericMatrix& products, const Rcpp::List& facts,
                               double columns, double df, double level) {
  const std::vector<Rung> rungs = as_rungs(numbers);
  const SquareFacts squares = square_facts(facts, df);
  const auto count = static_cast<double>(rungs.size());
  const double alpha = 1.0 - level;
  Vector psi(static_cast<Index>(rungs.size()));
  std::vector<double> p_values, lows, bounds;
  for (const Rung& rung : rungs) {
    psi(static_cast<Index>(p_values.size())) = rung.psi;
    p_values.push_back(rung.p_value(df));
    lows.push_back(rung.low(squares.quantile(alpha / (2.0 * count))));
    bounds.push_back(rung.low(squares.quantile(alpha / count)));
  }
  const auto at_largest = [](const auto& values) {
    return std::max_element(values.begin(), values.end()) - values.begin();
  };
  const auto surest = static_cast<Index>(at_largest(lows));
  const auto decides = std::min_element(p_values.begin(), p_values.end()) - p_values.begin();
  const double low = std::sqrt(lows[static_cast<std::size_t>(surest)]);
  const Upper upper = upper_limits(rungs, squares, columns, alpha / 2.0);
  const double high = std::max(low, upper.error);

  Vector weights = calibrisk::stack_weights(as_matrix(products), psi);
  double square = calibrisk::stacked_square(weights, psi);
  Index leading;
  weights.maxCoeff(&leading);
  if (square < low * low) {
    // the stack shrinks noisy rungs; one of them is sure of more than all of them together
    leading = surest;
    weights.setZero();
    weights(leading) = 1.0;
    square = psi(leading);
  }
  const double estimate = std::min(std::sqrt(square), high);
  const Rung& lead = rungs[static_cast<std::size_t>(leading)];
  const bool seen = lead.psi >= 2.0 * std::sqrt(lead.noise) && estimate > 0.0;
  const double lowest = std::sqrt(bounds[static_cast<std::size_t>(at_largest(bounds))]);
  return named_list(
      {{"estimate", estimate},
       {"std.error",
        seen ? std::sqrt(lead.noise + lead.slope * lead.psi) / (2.0 * estimate) : NA_REAL},
       {"low", low},
       {"high", high},
       {"lower_bound", std::min(lowest, high)},
       {"p.value", std::min(1.0, 2.0 * count * p_values[static_cast<std::size_t>(decides)])},
       {"statistic", rungs[static_cast<std::size_t>(decides)].statistic()},
       {"upper_bound", upper.root_brier},
       {"square", square},
       {"weights", weights}});
}

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
