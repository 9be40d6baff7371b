// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_KERNELS  // for all units: linalg/eigen_products.h
#include "as_kernel.h"
#include "kernel_gram.h"
#include "r_engine.h"
#include <calibrisk/kernels/gram.h>

calibrisk::Matrix kernel_gram(const calibrisk::Engine& engine, const calibrisk::Kernel& kernel,
                              const calibrisk::ConstMatrixRef& x) {
  return calibrisk::gram(engine, kernel, x);
}

// k(x_i, y_j), [n_x x n_y]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_gram(Rcpp::List kernel, Rcpp::NumericMatrix x, Rcpp::NumericMatrix y,
                             int threads) {
  REngine engine(threads);
  Rcpp::NumericMatrix out(Rcpp::no_init(x.nrow(), y.nrow()));
  Eigen::Map<calibrisk::Matrix> values(out.begin(), x.nrow(), y.nrow());
  calibrisk::gram(engine, as_kernel(kernel), as_matrix(x), as_matrix(y), values);
  return out;
}

// k(x_i, x_i), [n_x]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_gram_diagonal(Rcpp::List kernel, Rcpp::NumericMatrix x) {
  return wrap_vector(calibrisk::gram_diagonal(as_kernel(kernel), as_matrix(x)));
}

// Median over i < j of the Euclidean or total variation distance of the rows of x.
// [[Rcpp::export(rng = false)]]
double cpp_median_distance(std::string metric, Rcpp::NumericMatrix x, int threads) {
  REngine engine(threads);
  const auto which =
      metric == "tv" ? calibrisk::Metric::total_variation : calibrisk::Metric::squared_euclidean;
  return calibrisk::median_distance(engine, which, as_matrix(x));
}

// By how much the mean kernel over all pairs of the draws [n x S d] of each row is larger than that
// over different draws.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_draws_diagonal(Rcpp::List kernel, Rcpp::NumericMatrix draws,
                                       int dimension) {
  const calibrisk::Kernel of = as_kernel(kernel);
  const auto rows = as_matrix(draws);
  const calibrisk::Index s = rows.cols() / dimension;
  Rcpp::NumericVector out(draws.nrow());
  calibrisk::Matrix z(s, dimension), gram(s, s);
  for (int i = 0; i < draws.nrow(); ++i) {
    for (calibrisk::Index a = 0; a < s; ++a)
      z.row(a) = rows.row(i).segment(a * dimension, dimension);
    calibrisk::gram_block(of, z, z, gram);
    const double all = gram.sum(), own = gram.trace(), count = static_cast<double>(s);
    out[i] = all / (count * count) - (all - own) / (count * (count - 1.0));
  }
  return out;
}
