// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/ckce/rank_resamples.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

// Ranks within each column, the smallest of equal values for all of them; of values that differ by
// rounding only too. Not available where there is no number.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix cpp_ranks(Rcpp::NumericMatrix values) {
  constexpr double tolerance = 1e-12;
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
      const bool same =
          at != order.begin() && (own == last || own - last <= tolerance * std::abs(own));
      if (!same) {
        last = own;
        rank = static_cast<int>(at - order.begin()) + 1;
      }
      out(*at, t) = rank;
    }
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
