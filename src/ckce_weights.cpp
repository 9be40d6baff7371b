// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/ckce/dual.h>

// M = A^-1 K A^-1 and A^-1, [n x n]
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ckce_weights(Rcpp::NumericMatrix gram, double ridge, int threads) {
  REngine engine(threads);
  const calibrisk::CkceWeights out = calibrisk::ckce_weights(engine, as_matrix(gram), ridge);
  return Rcpp::List::create(Rcpp::Named("weights") = wrap_matrix(out.weights),
                            Rcpp::Named("inverse") = wrap_matrix(out.inverse));
}

// diag(a b c) of symmetric matrices.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_product_diagonal(Rcpp::NumericMatrix a, Rcpp::NumericMatrix b,
                                         Rcpp::NumericMatrix c, int threads) {
  REngine engine(threads);
  return wrap_vector(calibrisk::product_diagonal(engine, as_matrix(a), as_matrix(b), as_matrix(c)));
}
