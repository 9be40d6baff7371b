// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/ckce/rank_resamples.h>
#include <calibrisk/math/weighted_quantile.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

namespace {

// Of sorted values: equal ones, or such that differ by rounding only.
bool are_ties(double last, double own) {
  return own == last || own - last <= 1e-12 * std::abs(own);
}

struct MeanAndSd {
  double mean, sd;

  explicit MeanAndSd(const calibrisk::Vector& x)
      : mean(x.mean()),
        sd(x.size() < 2
               ? NA_REAL
               : std::sqrt((x.array() - mean).square().sum() / static_cast<double>(x.size() - 1))) {
  }
};

}  // namespace

// Ranks within each column, the smallest of equal values for all of them; of values that differ by
// rounding only too. Not available where there is no number.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix cpp_ranks(Rcpp::NumericMatrix values) {
  Rcpp::IntegerMatrix out(values.nrow(), values.ncol());
  std::fill(out.begin(), out.end(), NA_INTEGER);
  std::vector<int> order(static_cast<std::size_t>(values.nrow()));
  for (int t = 0; t < values.ncol(); ++t) {
    const auto column = values.column(t);
    std::iota(order.begin(), order.end(), 0);
    const auto end =
        std::remove_if(order.begin(), order.end(), [&](int i) { return std::isnan(column[i]); });
    std::stable_sort(order.begin(), end, [&](int a, int b) { return column[a] < column[b]; });
    double last = 0.0;  // a value takes that of the one before it
    int rank = 0;
    for (auto at = order.begin(); at != end; ++at) {
      const double own = column[*at];
      if (at == order.begin() || !are_ties(last, own)) {
        last = own;
        rank = static_cast<int>(at - order.begin()) + 1;
      }
      out(*at, t) = rank;
    }
  }
  return out;
}

// Ranks, the mean of those of equal values, which stand for `copies` each (null: 1).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_mean_ranks(Rcpp::NumericVector x,
                                   Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  const Rcpp::NumericVector count =
      copies.isNull() ? Rcpp::NumericVector(x.size(), 1.0) : Rcpp::NumericVector(copies.get());
  calibrisk::require(count.size() == x.size(), "mean_ranks: one count per value.");
  std::vector<int> order(static_cast<std::size_t>(x.size()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return x[a] < x[b]; });
  Rcpp::NumericVector out(x.size());
  double before = 0.0;
  for (auto from = order.begin(); from != order.end();) {
    const auto end = std::find_if(from, order.end(), [&](int i) { return x[i] != x[*from]; });
    double size = 0.0;
    std::for_each(from, end, [&](int i) { size += count[i]; });
    std::for_each(from, end, [&](int i) { out[i] = before + (size + 1.0) / 2.0; });
    before += size;
    from = end;
  }
  return out;
}

// Metrics of every model on every resample: [metrics x (models * resamples)], models fastest.
// rows: 1-based, [m x resamples]; kernels: bandwidth NaN is the subsample's median.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_rank_resamples(Rcpp::List models, Rcpp::List kernels,
                                       Rcpp::IntegerVector truth, Rcpp::IntegerMatrix rows,
                                       Rcpp::List settings, int threads, SEXP progress) {
  REngine engine(threads, progress);
  std::vector<Rcpp::NumericMatrix> owned;
  std::vector<calibrisk::ConstMatrixRef> probs;
  std::vector<calibrisk::Kernel> resolved;
  for (R_xlen_t i = 0; i < models.size(); ++i) {
    owned.emplace_back(SEXP(models[i]));
    probs.emplace_back(as_matrix(owned.back()));
    resolved.push_back(as_kernel(kernels[i]));
  }
  const Eigen::MatrixXi chosen =
      Eigen::Map<const Eigen::MatrixXi>(rows.begin(), rows.nrow(), rows.ncol()).array() - 1;
  const calibrisk::RankSettings options{
      flag_field(settings, "kernel_metrics"), flag_field(settings, "debiased"),
      number_field(settings, "ridge"), Rcpp::as<int>(field(settings, "n_bins"))};
  const calibrisk::Executor one_thread;
  calibrisk::Progress silent;
  return wrap_matrix(calibrisk::rank_resamples(engine, {one_thread, worker_algebra(), silent},
                                               probs, resolved, as_labels(truth), chosen, options));
}

// Of the values of each model (rows) on subsamples: mean, standard deviation, quantiles, and how
// often it is the best, shared between equal ones. `sign`: -1 where larger values are better.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_rank_samples(Rcpp::NumericMatrix values, double sign, double level) {
  const calibrisk::Matrix of = as_matrix(values);
  const Rcpp::IntegerMatrix ranks = cpp_ranks(wrap_matrix(sign * of));
  std::vector<double> mean, sd, low, high, best(static_cast<std::size_t>(of.rows()));
  for (calibrisk::Index i = 0; i < of.rows(); ++i) {
    const calibrisk::Vector own = of.row(i).transpose();
    const MeanAndSd all(own);
    mean.push_back(all.mean);
    sd.push_back(all.sd);
    std::vector<double> known;
    std::copy_if(own.data(), own.data() + own.size(), std::back_inserter(known),
                 [](double v) { return !std::isnan(v); });
    const auto n = static_cast<calibrisk::Index>(known.size());
    if (n == 0) known.push_back(NA_REAL);
    const calibrisk::WeightedQuantiles quantiles(
        Eigen::Map<const calibrisk::Vector>(known.data(), std::max<calibrisk::Index>(n, 1)),
        calibrisk::Vector::Ones(std::max<calibrisk::Index>(n, 1)), calibrisk::Vector());
    low.push_back(quantiles.between((1.0 - level) / 2.0));
    high.push_back(quantiles.between((1.0 + level) / 2.0));
  }
  for (int t = 0; t < ranks.ncol(); ++t) {
    const auto own = ranks.column(t);
    const auto first = static_cast<double>(std::count(own.begin(), own.end(), 1));
    for (int i = 0; i < ranks.nrow(); ++i) {
      if (own[i] == 1) best[static_cast<std::size_t>(i)] += 1.0 / first;
    }
  }
  for (double& share : best) share /= ranks.ncol();
  return named_list(
      {{"mean", mean}, {"std.deviation", sd}, {"low", low}, {"high", high}, {"best_share", best}});
}

// Each pair of models once, the better one on all observations first, by its number: what it has
// more there, and on subsamples, if there are any, with the shares in which it is better (a tie is
// half of one) and in which both are equal.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_rank_pairs(Rcpp::NumericVector overall, Rcpp::NumericMatrix values, double sign) {
  std::vector<int> order(static_cast<std::size_t>(overall.size())), model, other;
  std::iota(order.begin(), order.end(), 0);
  const auto known = std::stable_partition(order.begin(), order.end(),
                                           [&](int i) { return !std::isnan(overall[i]); });
  std::stable_sort(order.begin(), known,
                   [&](int i, int j) { return sign * overall[i] < sign * overall[j]; });
  const calibrisk::Matrix of = as_matrix(values);
  std::vector<double> difference, mean, sd, share, ties;
  for (auto a = order.begin(); a != order.end(); ++a) {
    for (auto b = a + 1; b != order.end(); ++b) {
      model.push_back(*a + 1);
      other.push_back(*b + 1);
      difference.push_back(overall[*a] - overall[*b]);
      if (of.cols() == 0) continue;
      const MeanAndSd gap((of.row(*a) - of.row(*b)).transpose());
      double better = 0.0, equal = 0.0;
      for (calibrisk::Index t = 0; t < of.cols(); ++t) {
        const double x = sign * of(*a, t), y = sign * of(*b, t);
        if (std::isnan(x) || std::isnan(y)) continue;
        const bool same = are_ties(std::min(x, y), std::max(x, y));
        (same ? equal : better) += same || x < y ? 1.0 : 0.0;
      }
      const auto n = static_cast<double>(of.cols());
      mean.push_back(gap.mean);
      sd.push_back(gap.sd);
      share.push_back((better + equal / 2.0) / n);
      ties.push_back(equal / n);
    }
  }
  if (of.cols() == 0) {
    return named_list({{"model", model}, {"other", other}, {"difference", difference}});
  }
  return named_list({{"model", model},
                     {"other", other},
                     {"difference", difference},
                     {"mean", mean},
                     {"std.deviation", sd},
                     {"share", share},
                     {"ties", ties}});
}
