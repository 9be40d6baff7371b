// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/skce/law_distance.h>
#include <calibrisk/skce/law_redraws.h>
#include <calibrisk/targets/draws_embedding.h>

using namespace calibrisk;

// Mean features of predictions given by draws (targets/draws_embedding.h), or NULL where the
// kernel has no small factor.
// [[Rcpp::export(rng = false)]]
SEXP cpp_draws_embedding(Rcpp::List kernel, Rcpp::NumericMatrix draws, Rcpp::NumericMatrix y,
                         int threads, SEXP progress = R_NilValue) {
  REngine engine(threads, progress);
  const DrawsEmbedding out = embed_draws(engine, as_kernel(kernel), as_matrix(draws), as_matrix(y));
  if (!out.found) return R_NilValue;
  return named_list({{"missed", out.missed},
                     {"mean", out.mean},
                     {"own", out.own},
                     {"pivot_rows", out.pivot_rows},
                     {"triangle", out.triangle}});
}

// Sums over all pairs and over i = j, a column per set of outcomes [n x sets d], both kernels in
// factored form (skce/law_redraws.h).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_law_sums(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix expected,
                                 Rcpp::List kernel, Rcpp::NumericMatrix pivots,
                                 Rcpp::NumericMatrix triangle, Rcpp::NumericMatrix outcomes,
                                 int sets, int threads, SEXP progress = R_NilValue) {
  REngine r_engine(threads, progress);
  const Engine engine = r_engine;
  const LawRedraws redraws(engine, as_matrix(factor), as_matrix(expected), as_kernel(kernel),
                           as_matrix(pivots), as_matrix(triangle));
  const int d = outcomes.ncol() / sets;
  Rcpp::NumericMatrix out(2, sets);
  for (int set = 0; set < sets; ++set) {
    const PairTotals sums = redraws(engine, as_matrix(outcomes).middleCols(set * d, d));
    out(0, set) = sums.all;
    out(1, set) = sums.diagonal;
    engine.progress.advance((set + 1.0) / sets);
  }
  return out;
}

// Squared Wasserstein distances of normals; roots: [n x d^2] symmetric roots.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_bures(Rcpp::NumericMatrix mean, Rcpp::NumericMatrix roots, int threads) {
  REngine engine(threads);
  const BuresDistance distance(as_matrix(mean), as_matrix(roots));
  return wrap_matrix(symmetric_pairs(
      engine, mean.nrow(), [&](Index i, Index j) { return distance.squared(i, 0, j, 0); }));
}

// Mixture Wasserstein distances of the given order. location: [n x K d]; spread: scales
// [n x K] in one dimension, else symmetric roots [n x K d^2].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_mixture_wasserstein(Rcpp::NumericMatrix weight,
                                            Rcpp::NumericMatrix location,
                                            Rcpp::NumericMatrix spread, int dimension, double order,
                                            int threads) {
  REngine engine(threads);
  const BuresDistance distance(as_matrix(location), as_matrix(spread), dimension);
  const auto w = as_matrix(weight);
  calibrisk::require(w.rows() == location.nrow() && w.cols() * dimension == location.ncol(),
                     "Every component has a weight.");
  return wrap_matrix(symmetric_pairs(engine, w.rows(), [&](Index i, Index j) {
    return mixture_distance(distance, w, i, j, order);
  }));
}
