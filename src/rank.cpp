// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/ckce/rank_resamples.h>

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
