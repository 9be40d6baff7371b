// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_values.h"
#include <calibrisk/classical/random_effects.h>

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
