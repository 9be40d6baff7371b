// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/skce/class_redraws.h>
#include <calibrisk/skce/hotelling.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace calibrisk;

// Counts of n draws with replacement from 1..n, per replicate, from R's generator; of rows that
// stand for `copies` as many as there are of these.
Rcpp::NumericMatrix resample_counts(int n, int times, Rcpp::Nullable<Rcpp::NumericVector> copies) {
  Rcpp::NumericMatrix counts(n, times);
  const Vector own = copies.isNull() ? Vector() : Vector(as_vector(copies.get()));
  require(own.size() == 0 || own.size() == n, "resample_counts: one count per row.");
  for (int r = 0; r < times; ++r) {
    double* column = counts.begin() + static_cast<R_xlen_t>(r) * n;
    double left = own.sum(), among = left;
    for (int i = 0; i < own.size(); ++i) {
      left -= column[i] = R::rbinom(left, std::min(1.0, own(i) / among));
      among -= own(i);
    }
    if (own.size() > 0) continue;
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

// How many of the copies of every prediction are of each class, [n x m].
Matrix redraw_counts(const ClassDraws& class_of, const ConstVectorRef& copies, Index m) {
  Matrix out(copies.size(), m);
  for (Index i = 0; i < out.rows(); ++i) {
    class_of.counts(
        i, copies(i), [](double n, double p) { return R::rbinom(n, p); }, out);
  }
  return out;
}

// A statistic of classes redrawn `times` times: of labels and the rows that they are of (none
// without `resample`), or of counts of rows that stand for `copies`.
template <class OfLabels, class OfCounts>
Rcpp::NumericVector redraw_statistics(const Engine& engine, const ConstMatrixRef& probs,
                                      const Rcpp::Nullable<Rcpp::NumericVector>& copies,
                                      bool resample, int times, const OfLabels& of_labels,
                                      const OfCounts& of_counts) {
  const ClassDraws class_of(probs);
  const bool counted = copies.isNotNull();
  const Vector own = counted ? Vector(as_vector(copies.get())) : Vector();
  require(!counted || own.size() == probs.rows(), "redraw_statistics: one count per row.");
  // as many label vectors at a time as memory takes
  const auto n = static_cast<int>(probs.rows());
  const Index numbers = std::max<Index>(1, counted ? probs.size() : n);
  const int batch = std::max(4, static_cast<int>(std::min<Index>(64, 20000000 / numbers)));
  Rcpp::NumericVector out(times);
  double* statistics = out.begin();  // no R object in a worker
  std::vector<Labels> labels(static_cast<std::size_t>(batch)), rows(labels);
  std::vector<Matrix> counts(counted ? labels.size() : 0);
  for (int begin = 0; begin < times; begin += batch) {
    const int size = std::min(batch, times - begin);
    for (int b = 0; b < size; ++b) {
      const auto at = static_cast<std::size_t>(b);
      if (counted) {
        counts[at] = redraw_counts(class_of, own, probs.cols());
      } else {
        redraw_labels(class_of, n, resample, labels[at], rows[at]);
      }
    }
    parallel_for(engine, size,
                 [&](Index b) {
                   const auto at = static_cast<std::size_t>(b);
                   statistics[begin + b] =
                       counted ? of_counts(counts[at]) : of_labels(labels[at], rows[at]);
                 },
                 {static_cast<double>(begin) / times, static_cast<double>(begin + size) / times});
  }
  return out;
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

// How many of each row's copies are in the part of this share (first column) and in folds of the
// others, whose sizes differ by one at most, if all are dealt at random. Beyond what integers count
// sizes are random too.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_deal_copies(Rcpp::NumericVector copies, int folds, double share) {
  const double n = as_vector(copies).sum(), rest = std::floor((1.0 - share) * n + 1e-9);
  std::vector<double> places{n - rest};
  const double each = std::floor(rest / folds), more = rest - each * folds;
  for (int f = 0; f < folds; ++f) places.push_back(each + (f < more ? 1.0 : 0.0));
  const bool counted = n < std::numeric_limits<int>::max();
  Rcpp::NumericMatrix out(static_cast<int>(copies.size()), folds + 1);
  for (int i = 0; i < out.nrow(); ++i) {
    double left = copies[i], others = std::accumulate(places.begin(), places.end(), 0.0);
    for (int f = 0; f <= folds; ++f) {
      double& own = places[static_cast<std::size_t>(f)];
      const double all = others;
      others -= own;
      const double drawn = f == folds ? left
                           : counted  ? R::rhyper(own, others, left)
                                      : R::rbinom(left, std::min(own / all, 1.0));
      out(i, f) = drawn;
      left -= drawn;
      if (counted) own -= drawn;
    }
  }
  return out;
}

// How many of the `copies` of every row of probabilities are of each class.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_draw_counts(Rcpp::NumericMatrix probs, Rcpp::NumericVector copies) {
  return wrap_matrix(redraw_counts(ClassDraws(as_matrix(probs)), as_vector(copies), probs.ncol()));
}

// Unbiased SKCE of classes redrawn from their predictions, for the kernel L L' on the
// predictions; rows are resampled too where `resample`, or stand for `copies`. Labels from R's
// generator.
// [[Rcpp::export]]
Rcpp::NumericVector cpp_class_redraws(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix probs,
                                      Rcpp::NumericMatrix target_gram, int times, bool resample,
                                      int threads, SEXP progress,
                                      Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  REngine engine(threads, progress);
  const Engine core = engine;
  const ClassRedraws redraws(core, as_matrix(factor), as_matrix(probs), as_matrix(target_gram));
  return redraw_statistics(
      core, as_matrix(probs), copies, resample, times,
      [&](const Labels& labels, const Labels& rows) {
        return resample ? redraws.unbiased(labels, rows) : redraws.unbiased(labels);
      },
      [&](const Matrix& counts) { return redraws.unbiased(counts); });
}

// Hotelling's statistic of the rows of z, each of which there are `copies` of; NaN where their
// covariance is singular.
// [[Rcpp::export(rng = false)]]
double cpp_hotelling(Rcpp::NumericMatrix z,
                     Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  return hotelling(as_matrix(z), copies.isNull() ? Vector() : Vector(as_vector(copies.get())));
}

// The same of the CME test's witness of redrawn classes; see LabelWitness.
// [[Rcpp::export]]
Rcpp::NumericVector cpp_hotelling_redraws(Rcpp::NumericMatrix columns, Rcpp::NumericMatrix expected,
                                          Rcpp::NumericMatrix gram, Rcpp::NumericMatrix probs,
                                          Rcpp::Nullable<Rcpp::NumericVector> copies, int times,
                                          int threads) {
  require(probs.nrow() == columns.nrow() && probs.ncol() == gram.nrow(),
          "hotelling_redraws: probabilities of each row and class.");
  REngine engine(threads);
  const LabelWitness witness(as_matrix(columns), as_matrix(expected), as_matrix(gram));
  return redraw_statistics(
      engine, as_matrix(probs), copies, false, times,
      [&](const Labels& labels, const Labels&) { return witness.statistic(labels); },
      [&](const Matrix& counts) { return witness.statistic(counts); });
}

// The same statistic of the given labels (from 1).
// [[Rcpp::export(rng = false)]]
double cpp_class_statistic(Rcpp::NumericMatrix factor, Rcpp::NumericMatrix probs,
                           Rcpp::NumericMatrix target_gram, Rcpp::IntegerVector labels, int threads,
                           Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  REngine engine(threads);
  const ClassRedraws redraws(engine, as_matrix(factor), as_matrix(probs), as_matrix(target_gram));
  Labels label = as_labels(labels);
  for (int& k : label) --k;
  if (copies.isNotNull()) {
    const Vector own = as_vector(copies.get());
    require(own.size() == probs.nrow(), "class_statistic: one count per row.");
    Matrix counts = Matrix::Zero(probs.nrow(), probs.ncol());
    for (Index i = 0; i < own.size(); ++i) counts(i, label[static_cast<std::size_t>(i)]) = own(i);
    return redraws.unbiased(counts);
  }
  return redraws.unbiased(label);
}

// The .632+ estimates of mean losses, [rows x losses]: the apparent loss and that of rows outside
// of their samples (`samples`: losses of each, NaN inside), weighted by how far the latter is on
// the way to the loss `none` of predictions without information (Efron and Tibshirani 1997, Eqs. 24
// to 32). NA if a row is in all samples. w may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_point_632(Rcpp::NumericMatrix losses, Rcpp::NumericVector none,
                                  Rcpp::List samples, Rcpp::NumericVector w) {
  const int n = losses.nrow(), kinds = losses.ncol();
  calibrisk::require(none.size() == kinds && (w.size() == 0 || w.size() == n),
                     "point_632: a loss without information of each kind, and a weight per row.");
  Rcpp::NumericVector out(kinds, NA_REAL);
  double total = 0.0;
  for (int i = 0; i < n; ++i) total += w.size() > 0 ? w[i] : 1.0;
  for (int k = 0; k < kinds; ++k) {
    std::vector<double> sum(static_cast<std::size_t>(n)), count(sum.size());
    for (R_xlen_t s = 0; s < samples.size(); ++s) {
      const Rcpp::NumericMatrix sample = samples[s];
      calibrisk::require(sample.nrow() == n && sample.ncol() == kinds,
                         "point_632: losses of rows.");
      for (int i = 0; i < n; ++i) {
        if (std::isnan(sample(i, k))) continue;
        sum[static_cast<std::size_t>(i)] += sample(i, k);
        count[static_cast<std::size_t>(i)] += 1.0;
      }
    }
    if (std::find(count.begin(), count.end(), 0.0) != count.end()) continue;
    double apparent = 0.0, outside = 0.0;
    for (int i = 0; i < n; ++i) {
      const double share = (w.size() > 0 ? w[i] : 1.0) / total;
      apparent += share * losses(i, k);
      outside += share * (sum[static_cast<std::size_t>(i)] / count[static_cast<std::size_t>(i)]);
    }
    outside = std::min(outside, none[k]);
    const bool over = outside > apparent && none[k] > apparent;
    const double gone = over ? (outside - apparent) / (none[k] - apparent) : 0.0;
    const double weight = 0.632 / (1.0 - 0.368 * gone);
    out[k] = (1.0 - weight) * apparent + weight * outside;
  }
  return out;
}
