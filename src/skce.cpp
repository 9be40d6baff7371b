// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "as_source.h"
#include "r_engine.h"
#include "row_numbers.h"
#include <calibrisk/skce/bootstrap.h>
#include <calibrisk/skce/copy_blocks.h>
#include <calibrisk/skce/outcome_sums.h>
#include <calibrisk/pairs/cluster_noise.h>
#include <calibrisk/pairs/design_source.h>
#include <calibrisk/pairs/pair_sums.h>

using namespace calibrisk;

// of redraws.cpp
Rcpp::NumericMatrix resample_counts(int n, int times, Rcpp::Nullable<Rcpp::NumericVector> copies);
Rcpp::NumericMatrix cpp_draw_counts(Rcpp::NumericMatrix probs, Rcpp::NumericVector copies);

// Row sums of w_j H_ij off the diagonal, w_i H_ii, the sum of squares of w_i w_j H_ij off the
// diagonal, and under calibration the expectations of that and of the trace; with clusters without
// the pairs within them.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pair_sums(Rcpp::List prediction, Rcpp::List target, int threads, SEXP progress,
                         Rcpp::Nullable<Rcpp::NumericVector> weights = R_NilValue,
                         Rcpp::Nullable<Rcpp::IntegerVector> cluster = R_NilValue) {
  REngine engine(threads, progress);
  const PairSourcePtr source = as_pair_source(prediction, target);
  const Vector w = weights.isNull() ? Vector() : Vector(as_vector(weights.get()));
  const Labels labels = cluster.isNull() ? Labels() : as_labels(cluster.get());
  PairSums sums = weights.isNull() && cluster.isNull()
                      ? pair_sums(engine, *source, {}, true)
                      : pair_sums(engine, DesignSource(*source, w, labels), {}, true);
  if (w.size() > 0) {
    sums.off_diagonal.array() /= w.array();
    sums.diagonal.array() /= w.array();
  }
  return named_list({{"off_diagonal", sums.off_diagonal},
                     {"diagonal", sums.diagonal},
                     {"squares", sums.squares},
                     {"known", sums.known},
                     {"trace", sums.trace}});
}

// U- and V-statistics of consecutive blocks of rows; of rows with copies U-statistics alone.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_block_sums(Rcpp::List prediction, Rcpp::List target, int block, int threads,
                          SEXP progress = R_NilValue,
                          Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  REngine engine(threads, progress);
  const PairSourcePtr source = as_pair_source(prediction, target);
  const BlockSums sums = copies.isNull()
                             ? block_sums(engine, *source, block)
                             : copy_blocks(engine, *source, block, as_vector(copies.get()));
  return named_list({{"unbiased", sums.unbiased},
                     {"biased", sums.biased},
                     {"squares", sums.squares},
                     {"known", sums.known}});
}

namespace {

ClusterNoise line_noise(const Engine& engine, const LinePair& line, const Rcpp::List& prediction,
                        const Rcpp::List& target, const Labels& cluster,
                        const ConstVectorRef& weights) {
  const auto last = [](const Rcpp::List& spec, const char* name) -> Vector {
    const auto all = as_matrix(Rcpp::NumericMatrix(field(spec, name)));
    return all.col(all.cols() - 1);
  };
  const Vector x = last(prediction, "features"), d = last(target, "residuals");
  const auto order = ascending_rows(cluster.size(), {x.data()});
  Labels sorted;
  for (const int row : order) sorted.push_back(cluster[static_cast<std::size_t>(row - 1)]);
  return cluster_noise(engine, line, in_sorted_order(x, order),
                       in_sorted_order(d.cwiseProduct(weights), order), RowClusters(sorted));
}

}  // namespace

// Of rows in the order of their clusters 1, 2, ...
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cluster_noise(Rcpp::List prediction, Rcpp::List target, Rcpp::IntegerVector cluster,
                             Rcpp::NumericVector weights, int threads, SEXP progress = R_NilValue) {
  REngine engine(threads, progress);
  const Labels labels = as_labels(cluster);
  const LinePair line = as_line_pair(prediction, target);
  const ClusterNoise noise =
      line.bandwidth == 0.0
          ? cluster_noise(engine, *as_pair_source(prediction, target), labels, as_vector(weights))
          : line_noise(engine, line, prediction, target, labels, as_vector(weights));
  return named_list({{"across", noise.across},
                     {"within", noise.within},
                     {"squares", noise.squares},
                     {"diagonal", noise.diagonal}});
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

// T* of the degenerate bootstrap; counts: [n x times].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_degenerate_bootstrap(
    Rcpp::List prediction, Rcpp::List target, Rcpp::NumericMatrix counts, int threads,
    SEXP progress, Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  REngine engine(threads, progress);
  return wrap_vector(
      degenerate_bootstrap(engine, *as_pair_source(prediction, target), as_matrix(counts),
                           copies.isNull() ? Vector() : Vector(as_vector(copies.get()))));
}

// The same of `times` samples by R's generator, in chunks whose counts are small enough to hold
// next to the panels of H; of many chunks H is worth keeping.
// [[Rcpp::export]]
Rcpp::NumericVector cpp_bootstrap(Rcpp::List prediction, Rcpp::List target, int times,
                                  Rcpp::Nullable<Rcpp::NumericVector> copies, int threads,
                                  SEXP progress) {
  REngine engine(threads, progress);
  const PairSourcePtr source = as_pair_source(prediction, target);
  const Index n = source->size(), at_once = std::max<Index>(1, static_cast<Index>(2e7) / n);
  const Matrix kept = times > at_once && n <= 2000 ? pair_matrix(engine, *source) : Matrix();
  const StoredSource stored(MatrixView(kept.data(), kept.rows(), kept.cols()));
  const PairSource& h = kept.size() > 0 ? static_cast<const PairSource&>(stored) : *source;
  const Vector own = copies.isNull() ? Vector() : Vector(as_vector(copies.get()));
  Rcpp::NumericVector out(times);
  for (Index from = 0; from < times; from += at_once) {
    const auto size = static_cast<int>(std::min<Index>(at_once, times - from));
    const Rcpp::NumericMatrix counts = resample_counts(static_cast<int>(n), size, copies);
    const Vector values = degenerate_bootstrap(engine, h, as_matrix(counts), own);
    std::copy(values.data(), values.data() + size, out.begin() + from);
  }
  return out;
}
