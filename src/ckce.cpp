// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_factor.h"
#include "as_kernel.h"
#include "as_source.h"
#include "ckce_factor.h"
#include "ckce_gram.h"
#include "kernel_gram.h"
#include "r_engine.h"
#include <calibrisk/ckce/left_out_clusters.h>

namespace {

using calibrisk::Index;
using calibrisk::Matrix;

Rcpp::List wrap_result(const calibrisk::CkceResult& result) {
  const Index n_ridges = static_cast<Index>(result.values.size());
  Matrix values(n_ridges, 8);
  for (Index v = 0; v < n_ridges; ++v) {
    const calibrisk::CkceValues& value = result.values[static_cast<std::size_t>(v)];
    values.row(v) << value.estimate, value.diagonal, value.null_mean, value.cce2,
        value.residual_mse, value.error_bound, value.squares, value.known;
  }
  return named_list({{"values", values},
                     {"loo", result.loo},
                     {"influence", result.influence},
                     {"null_estimate", result.null.estimate},
                     {"null_diagonal", result.null.diagonal},
                     {"factor", result.factor},
                     {"spectrum", result.spectrum},
                     {"rank", static_cast<double>(result.rank)},
                     {"trace_remainder", result.trace_remainder}});
}

}  // namespace

// source: features and kernel, or spec (a source of pairs); terms, tolerance, max_rank
// (R/ckce-engine.R); job: residuals, variances, ridge, diagonals, targets, probs, embedding,
// times, seed, influence, keep, excess, noise_rows (about how many; 0: none).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ckce(std::string computation, Rcpp::List source, Rcpp::List job, int threads,
                    SEXP progress) {
  REngine r_engine(threads, progress);
  const calibrisk::Engine engine = r_engine;
  const Rcpp::NumericMatrix residuals(field(job, "residuals")), targets(field(job, "targets")),
      probs(field(job, "probs")), embedding(field(job, "embedding"));
  const Rcpp::NumericVector variances(field(job, "variances")), ridges(field(job, "ridge")),
      excess(field(job, "excess"));
  const auto d = as_matrix(residuals);
  const calibrisk::RowSample noise_rows =
      calibrisk::sample_rows(d, d.rowwise().squaredNorm() + as_vector(variances),
                             static_cast<Index>(number_field(job, "noise_rows")));
  const calibrisk::CkceJob task{d,
                                as_vector(variances),
                                as_vector(ridges),
                                flag_field(job, "diagonals"),
                                as_matrix(targets),
                                as_matrix(probs),
                                as_matrix(embedding),
                                static_cast<Index>(number_field(job, "times")),
                                static_cast<std::uint64_t>(number_field(job, "seed")),
                                flag_field(job, "influence"),
                                flag_field(job, "keep"),
                                as_vector(excess),
                                noise_rows,
                                as_moments(field(job, "moments"))};
  const calibrisk::LowRankOptions options = as_low_rank(source);
  const double ridge = task.ridges.size() > 0 ? task.ridges.minCoeff() : 1.0;
  const auto from_gram = [&](Matrix gram) {
    return wrap_result(computation == "dual" ? ckce_of_dual(engine, gram, task)
                                             : ckce_of_eigen(engine, std::move(gram), task));
  };
  if (has_field(source, "spec")) {
    const calibrisk::PairSourcePtr pairs = as_prediction_source(field(source, "spec"));
    if (computation != "low_rank") return from_gram(pair_matrix(engine, *pairs));
    const auto factor = calibrisk::ckce_factor(engine, *pairs, task.residuals, ridge, options);
    return wrap_result(ckce_of_low_rank(engine, factor, task));
  }
  const Rcpp::NumericMatrix features(field(source, "features"));
  const auto x = as_matrix(features);
  if (computation == "rff") {
    return wrap_result(ckce_of_features(engine, as_feature_map(field(source, "terms")), x, task));
  }
  const calibrisk::Kernel kernel = as_kernel(field(source, "kernel"));
  if (computation != "low_rank") return from_gram(kernel_gram(engine, kernel, x));
  const auto factor = calibrisk::ckce_factor(engine, kernel, x, task.residuals, ridge, options);
  return wrap_result(ckce_of_low_rank(engine, factor, task));
}

// A sum of squared errors for each column of `filters`: see ckce/left_out_clusters.h.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_errors_without_clusters(
    Rcpp::NumericMatrix factor, Rcpp::NumericMatrix filters, Rcpp::NumericMatrix targets,
    Rcpp::IntegerVector cluster, int threads,
    Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  REngine engine(threads);
  return wrap_vector(calibrisk::errors_without_clusters(
      engine, as_matrix(factor), as_matrix(filters), as_matrix(targets), as_labels(cluster),
      copies.isNull() ? calibrisk::Vector() : calibrisk::Vector(as_vector(copies.get()))));
}
