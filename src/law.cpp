// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_EMBEDDINGS  // for all units: linalg/eigen_products.h
#include "as_kernel.h"
#include "as_source.h"
#include "r_engine.h"
#include <calibrisk/skce/law_distance.h>
#include <calibrisk/skce/law_redraws.h>
#include <calibrisk/skce/outcome_sums.h>
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

// sum_ij M_ij h_Y(i, j) of sets of outcomes, side by side, less that of the last set, [sets - 1 x
// ridges]: M = F F' block by block, F a factor times the filters of a ridge. `points`: the outcomes
// as the target takes them; `outcome`: a factor of the target kernel for more rows than an n x n
// matrix takes, else NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_law_null(Rcpp::List blocks, Rcpp::List target, Rcpp::List kernel,
                                 Rcpp::NumericMatrix outcomes, Rcpp::NumericMatrix points, int sets,
                                 bool off_diagonal, Rcpp::Nullable<Rcpp::List> outcome,
                                 int threads) {
  REngine r_engine(threads);
  const Engine engine = r_engine;
  const TargetPtr law = as_target(target);
  const Kernel of_outcomes = as_kernel(kernel);
  const Index n = outcomes.nrow(), d = outcomes.ncol() / sets;
  const auto matrix = [](const Rcpp::List& list, const char* name) {
    return Rcpp::NumericMatrix(field(list, name));
  };
  Matrix sums;
  for (R_xlen_t b = 0; b < blocks.size() && outcome.isNotNull(); ++b) {
    const Rcpp::List block(blocks[b]), factored(outcome.get());
    const Rcpp::NumericMatrix factor = matrix(block, "factor"), filters = matrix(block, "filters");
    const Labels rows = as_labels(Rcpp::IntegerVector(field(block, "rows")));
    const auto of_rows = [&](const Rcpp::NumericMatrix& x) {
      Matrix out(factor.nrow(), x.ncol());
      for (Index i = 0; i < out.rows(); ++i) {
        out.row(i) = as_matrix(x).row(rows.at(static_cast<std::size_t>(i)) - 1);
      }
      return out;
    };
    const Matrix expected = of_rows(matrix(factored, "expected")), y = of_rows(outcomes);
    const Rcpp::NumericMatrix pivots = matrix(factored, "pivots");
    const Rcpp::NumericMatrix triangle = matrix(factored, "triangle");
    if (b == 0) sums = Matrix::Zero(sets, filters.ncol());
    for (Index v = 0; v < sums.cols(); ++v) {
      const Matrix f = as_matrix(factor) * as_matrix(filters).col(v).asDiagonal();
      const LawRedraws redraws(engine, f, expected, of_outcomes, as_matrix(pivots),
                               as_matrix(triangle));
      for (Index set = 0; set < sets; ++set) {
        const PairTotals found = redraws(engine, y.middleCols(set * d, d));
        sums(set, v) += found.all - (off_diagonal ? found.diagonal : 0.0);
      }
    }
  }
  const Index ridges = matrix(Rcpp::List(blocks[0]), "filters").ncol();
  if (outcome.isNull()) sums.resize(sets, ridges);
  for (Index v = 0; v < ridges && outcome.isNull(); ++v) {
    Matrix weights = Matrix::Zero(n, n);
    for (R_xlen_t b = 0; b < blocks.size(); ++b) {
      const Rcpp::List block(blocks[b]);
      const Rcpp::IntegerVector rows(field(block, "rows"));
      const Rcpp::NumericMatrix factor = matrix(block, "factor");
      const Matrix f = as_matrix(factor) * as_matrix(matrix(block, "filters")).col(v).asDiagonal();
      const Matrix own = f * f.transpose();
      for (Index j = 0; j < own.cols(); ++j) {
        for (Index i = 0; i < own.rows(); ++i) weights(rows[i] - 1, rows[j] - 1) = own(i, j);
      }
    }
    if (off_diagonal) weights.diagonal().setZero();
    sums.col(v) = outcome_sums(engine, weights, *law, of_outcomes, as_matrix(outcomes),
                               as_matrix(points), sets);
  }
  return wrap_matrix(sums.topRows(sets - 1).rowwise() - sums.row(sets - 1));
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
