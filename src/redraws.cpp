// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/skce/class_redraws.h>

using namespace calibrisk;

// Counts of n draws with replacement from 1..n, per replicate, from R's generator.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_resample_counts(int n, int times) {
  Rcpp::NumericMatrix counts(n, times);
  for (int r = 0; r < times; ++r) {
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
void redraw_labels(const ClassDraws& class_of, int n, bool resample, Labels& labels, Labels& rows) {
  labels.resize(static_cast<std::size_t>(n));
  if (resample) rows.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    int at = i;
    if (resample) {
      at = std::min(n - 1, static_cast<int>(unif_rand() * n));
      rows[static_cast<std::size_t>(i)] = at;
    }
    labels[static_cast<std::size_t>(i)] = class_of(at, unif_rand());
  }
}

}  // namespace

// A class (from 1) for every row of probabilities.
// [[Rcpp::export]]
Rcpp::IntegerVector cpp_draw_classes(Rcpp::NumericMatrix probs) {
  Labels labels, rows;
  redraw_labels(ClassDraws(as_matrix(probs)), probs.nrow(), false, labels, rows);
  for (int& k : labels) ++k;
  return Rcpp::wrap(labels);
}

// Unbiased SKCE of classes redrawn from their predictions, for the kernel L L' on the
// predictions; rows are resampled too where `resample`. Labels from R's generator.
// [[Rcpp::export]]
Rcpp::NumericVector cpp_class_redraws(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix probs,
                                      Rcpp::NumericMatrix target_gram, int times, bool resample,
                                      int threads, SEXP progress) {
  REngine engine(threads, progress);
  const Engine core = engine;
  const ClassRedraws redraws(core, as_matrix(factor), as_matrix(probs), as_matrix(target_gram));
  const ClassDraws class_of(as_matrix(probs));
  // as many label vectors at a time as memory takes
  const int batch = std::max(4, std::min(64, static_cast<int>(2e7 / std::max(1, probs.nrow()))));
  Rcpp::NumericVector out(times);
  double* statistics = out.begin();  // no R object in a worker
  std::vector<Labels> labels(static_cast<std::size_t>(batch)), rows(labels);
  for (int begin = 0; begin < times; begin += batch) {
    const int size = std::min(batch, times - begin);
    for (int b = 0; b < size; ++b) {
      const auto at = static_cast<std::size_t>(b);
      redraw_labels(class_of, probs.nrow(), resample, labels[at], rows[at]);
    }
    parallel_for(core, size,
                 [&](Index b) {
                   const auto at = static_cast<std::size_t>(b);
                   statistics[begin + b] = resample ? redraws.unbiased(labels[at], rows[at])
                                                    : redraws.unbiased(labels[at]);
                 },
                 {static_cast<double>(begin) / times, static_cast<double>(begin + size) / times});
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
