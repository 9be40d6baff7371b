// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_FLIPS  // for all units: linalg/eigen_products.h
#include "r_engine.h"
#include "wrap_flips.h"

// The test of sign flips and the lower limit that agrees with it. `weights`, `copies` and `cluster`
// (1..C) may be empty, and so may `knots`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_joint_flips(Rcpp::NumericVector p, Rcpp::NumericVector outcomes,
                           Rcpp::NumericVector weights, Rcpp::NumericVector copies,
                           Rcpp::IntegerVector cluster, Rcpp::List knots, double level, int redraws,
                           int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const calibrisk::JointRows rows = calibrisk::joint_rows(as_vector(p), as_vector(weights),
                                                          as_vector(copies), as_vector(outcomes));
  const calibrisk::FlipResult found = calibrisk::joint_flips(
      engine, rows, rows.residuals(as_vector(outcomes)), Rcpp::as<std::vector<int>>(cluster),
      Rcpp::as<std::vector<std::vector<double>>>(knots), redraws, calibrisk::rejected_level(level));
  return wrap_flips(found);
}
