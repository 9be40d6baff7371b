// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_source.h"
#include "r_engine.h"
#include <calibrisk/skce/bootstrap.h>
#include <calibrisk/skce/class_redraws.h>
#include <calibrisk/skce/law_distance.h>
#include <calibrisk/skce/law_redraws.h>
#include <calibrisk/skce/outcome_sums.h>
#include <calibrisk/skce/pair_sums.h>
#include <calibrisk/skce/source_factor.h>

using namespace calibrisk;

// Row sums of H off the diagonal, its diagonal, and sum of squares off the diagonal.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_sums(Rcpp::List prediction, Rcpp::List target, int threads, SEXP progress) {
  REngine engine(threads, progress);
  const PairSums sums = pair_sums(engine, *as_pair_source(prediction, target));
  return Rcpp::List::create(Rcpp::Named("off_diagonal") = wrap_vector(sums.off_diagonal),
                            Rcpp::Named("diagonal") = wrap_vector(sums.diagonal),
                            Rcpp::Named("squares") = sums.squares);
}

// U- and V-statistics of consecutive blocks of rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_block_sums(Rcpp::List prediction, Rcpp::List target, int block, int threads,
                          SEXP progress = R_NilValue) {
  REngine engine(threads, progress);
  const BlockSums sums = block_sums(engine, *as_pair_source(prediction, target), block);
  return Rcpp::List::create(Rcpp::Named("unbiased") = wrap_vector(sums.unbiased),
                            Rcpp::Named("biased") = wrap_vector(sums.biased),
                            Rcpp::Named("squares") = wrap_vector(sums.squares));
}

// H, [n x n]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_pair_matrix(Rcpp::List prediction, Rcpp::List target, int threads) {
  REngine engine(threads);
  return wrap_matrix(pair_matrix(engine, *as_pair_source(prediction, target)));
}

// The kernel on the predictions, [n x n]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_prediction_matrix(Rcpp::List prediction, int threads) {
  REngine engine(threads);
  return wrap_matrix(pair_matrix(engine, *as_prediction_source(prediction)));
}

// h_Y, or E k(Z_i, Z_j) where `inner`, [n x n]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_target_matrix(Rcpp::List target, bool inner, int threads,
                                      SEXP progress = R_NilValue) {
  REngine engine(threads, progress);
  const TargetPtr source = as_target(target);
  if (inner) return wrap_matrix(pair_matrix(engine, InnerSource(*source)));
  return wrap_matrix(pair_matrix(engine, *source));
}

// Mean features of predictions given by draws (targets/draws_embedding.h), or NULL where the
// kernel has no small factor.
// [[Rcpp::export(rng = false)]]
SEXP cpp_draws_embedding(Rcpp::List kernel, Rcpp::NumericMatrix draws, Rcpp::NumericMatrix y,
                         int threads, SEXP progress = R_NilValue) {
  REngine engine(threads, progress);
  const DrawsEmbedding out = embed_draws(engine, as_kernel(kernel), as_matrix(draws), as_matrix(y));
  if (!out.found) return R_NilValue;
  return Rcpp::List::create(Rcpp::Named("missed") = out.missed,
                            Rcpp::Named("mean") = wrap_matrix(out.mean),
                            Rcpp::Named("own") = wrap_vector(out.own),
                            Rcpp::Named("pivot_rows") = wrap_matrix(out.pivot_rows),
                            Rcpp::Named("triangle") = wrap_matrix(out.triangle));
}

// E k(Z_i, t_j), [n x J]
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_target_expectation(Rcpp::List target, Rcpp::NumericMatrix points,
                                           int threads) {
  REngine engine(threads);
  const TargetPtr source = as_target(target);
  const auto at = as_matrix(points);
  const Index tile = 256;
  Matrix out(source->size(), at.rows());
  parallel_for(engine, (out.rows() + tile - 1) / tile, [&](Index t) {
    const Index i = t * tile;
    source->expectation(i, at, out.middleRows(i, std::min(tile, out.rows() - i)));
  });
  return wrap_matrix(out);
}

// See skce/outcome_sums.h; outcomes and points: [n x sets * dimension].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_outcome_sums(Rcpp::NumericMatrix weights, Rcpp::List target,
                                     Rcpp::List kernel, Rcpp::NumericMatrix outcomes,
                                     Rcpp::NumericMatrix points, int sets, int threads,
                                     SEXP progress) {
  REngine engine(threads, progress);
  return wrap_vector(outcome_sums(engine, as_matrix(weights), *as_target(target), as_kernel(kernel),
                                  as_matrix(outcomes), as_matrix(points), sets));
}

// T* of the degenerate bootstrap; counts: [n x replicates].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_degenerate_bootstrap(Rcpp::List prediction, Rcpp::List target,
                                             Rcpp::NumericMatrix counts, int threads,
                                             SEXP progress) {
  REngine engine(threads, progress);
  return wrap_vector(
      degenerate_bootstrap(engine, *as_pair_source(prediction, target), as_matrix(counts)));
}

// Counts of n draws with replacement from 1..n, per replicate, from R's generator.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_resample_counts(int n, int replicates) {
  Rcpp::NumericMatrix counts(n, replicates);
  for (int r = 0; r < replicates; ++r) {
    double* column = counts.begin() + static_cast<R_xlen_t>(r) * n;
    for (int i = 0; i < n; ++i) {
      column[std::min(n - 1, static_cast<int>(unif_rand() * n))] += 1.0;
    }
  }
  return counts;
}

namespace {

// A class for every prediction (or for predictions drawn with replacement where `resample`), from
// 0, from R's generator.
void redraw_labels(const Rcpp::NumericMatrix& probs, bool resample, Labels& labels, Labels& rows) {
  const int n = probs.nrow(), m = probs.ncol();
  labels.resize(static_cast<std::size_t>(n));
  if (resample) rows.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    int at = i;
    if (resample) {
      at = std::min(n - 1, static_cast<int>(unif_rand() * n));
      rows[static_cast<std::size_t>(i)] = at;
    }
    double rest = unif_rand();
    int k = 0, last = 0;  // the last class of positive probability takes the rounding
    for (; k < m; ++k) {
      const double p = probs(at, k);
      if (p > 0) {
        last = k;
        if (rest < p) break;
        rest -= p;
      }
    }
    labels[static_cast<std::size_t>(i)] = k < m ? k : last;
  }
}

}  // namespace

// Unbiased SKCE of classes redrawn from their predictions, for the kernel L L' on the
// predictions; rows are resampled too where `resample`. Labels from R's generator.
// [[Rcpp::export]]
Rcpp::NumericVector cpp_class_redraws(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix probs,
                                      Rcpp::NumericMatrix target_gram, int replicates,
                                      bool resample, int threads, SEXP progress) {
  REngine engine(threads, progress);
  const Engine core = engine;
  const ClassRedraws redraws(core, as_matrix(factor), as_matrix(probs), as_matrix(target_gram));
  // as many label vectors at a time as memory takes
  const int batch = std::max(4, std::min(64, static_cast<int>(2e7 / std::max(1, probs.nrow()))));
  Rcpp::NumericVector out(replicates);
  double* statistics = out.begin();  // no R object in a worker
  std::vector<Labels> labels(static_cast<std::size_t>(batch)), rows(labels);
  for (int begin = 0; begin < replicates; begin += batch) {
    const int size = std::min(batch, replicates - begin);
    for (int b = 0; b < size; ++b) {
      const auto at = static_cast<std::size_t>(b);
      redraw_labels(probs, resample, labels[at], rows[at]);
    }
    parallel_for(
        core, size,
        [&](Index b) {
          const auto at = static_cast<std::size_t>(b);
          statistics[begin + b] =
              resample ? redraws.unbiased(labels[at], rows[at]) : redraws.unbiased(labels[at]);
        },
        {static_cast<double>(begin) / replicates, static_cast<double>(begin + size) / replicates});
  }
  return out;
}

// The same statistic of the given labels (from 1).
// [[Rcpp::export(rng = false)]]
double cpp_class_statistic(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix probs,
                           Rcpp::NumericMatrix target_gram, Rcpp::IntegerVector labels,
                           int threads) {
  REngine engine(threads);
  const ClassRedraws redraws(engine, as_matrix(factor), as_matrix(probs), as_matrix(target_gram));
  Labels label = as_labels(labels);
  for (int& k : label) --k;
  return redraws.unbiased(label);
}

// Unbiased SKCE of sets of outcomes, side by side [n x sets d], with both kernels in factored form
// (skce/law_redraws.h).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_law_statistics(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix expected,
                                       Rcpp::List kernel, Rcpp::NumericMatrix pivots,
                                       Rcpp::NumericMatrix triangle, Rcpp::NumericMatrix outcomes,
                                       int sets, int threads, SEXP progress) {
  REngine engine(threads, progress);
  const Engine core = engine;
  const LawRedraws redraws(core, as_matrix(factor), as_matrix(expected), as_kernel(kernel),
                           as_matrix(pivots), as_matrix(triangle));
  const int d = outcomes.ncol() / sets;
  Rcpp::NumericVector out(sets);
  for (int set = 0; set < sets; ++set) {
    out[set] = redraws.unbiased(core, as_matrix(outcomes).middleCols(set * d, d));
    core.progress.advance((set + 1.0) / sets);
  }
  return out;
}

// A factor L of the kernel on the predictions, K ~ L L', whatever its form.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_source_factor(Rcpp::List prediction, double tolerance, double max_rank, int threads,
                             SEXP progress) {
  REngine engine(threads, progress);
  const SourceFactor factor = source_factor(engine, *as_prediction_source(prediction), tolerance,
                                            static_cast<Index>(std::min(max_rank, 2e9)));
  Rcpp::IntegerVector pivots(factor.l.cols());
  std::transform(factor.pivots.begin(), factor.pivots.end(), pivots.begin(),
                 [](Index j) { return static_cast<int>(j) + 1; });
  return Rcpp::List::create(
      Rcpp::Named("L") = wrap_matrix(factor.l), Rcpp::Named("pivots") = pivots,
      Rcpp::Named("residual_trace") = factor.residual.size() == 0 ? 0.0 : factor.residual.mean());
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
  return wrap_matrix(symmetric_pairs(engine, w.rows(), [&](Index i, Index j) {
    return mixture_distance(distance, w, i, j, order);
  }));
}
