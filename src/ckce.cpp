// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_kernel.h"
#include "r_engine.h"
#include <calibrisk/canonical_ece.h>
#include <calibrisk/ckce.h>
#include <calibrisk/ckce/rank_trials.h>

namespace {

using calibrisk::Index;
using calibrisk::Matrix;

calibrisk::FeatureMap as_feature_map(const Rcpp::List& terms) {
  calibrisk::FeatureMap map;
  for (R_xlen_t t = 0; t < terms.size(); ++t) {
    const Rcpp::List term = terms[t];
    calibrisk::FeatureTerm out;
    out.scale = Rcpp::as<double>(term["scale"]);
    out.linear = Rcpp::as<bool>(term["linear"]);
    if (!out.linear) out.frequencies = as_matrix(Rcpp::NumericMatrix(SEXP(term["frequencies"])));
    map.push_back(std::move(out));
  }
  return map;
}

Rcpp::List wrap_result(const calibrisk::CkceResult& result) {
  const Index n_ridges = static_cast<Index>(result.values.size());
  Matrix values(n_ridges, 6);
  for (Index v = 0; v < n_ridges; ++v) {
    const calibrisk::CkceValues& value = result.values[static_cast<std::size_t>(v)];
    values.row(v) << value.estimate, value.diagonal, value.null_mean, value.cce2,
        value.residual_mse, value.error_bound;
  }
  return Rcpp::List::create(
      Rcpp::Named("values") = wrap_matrix(values), Rcpp::Named("loo") = result.loo,
      Rcpp::Named("jkce_biased") = result.jkce.biased,
      Rcpp::Named("jkce_unbiased") = result.jkce.unbiased,
      Rcpp::Named("influence") = wrap_matrix(result.influence.conditional),
      Rcpp::Named("off_diagonal") = wrap_vector(result.influence.off_diagonal),
      Rcpp::Named("diagonal") = wrap_vector(result.influence.diagonal),
      Rcpp::Named("null_estimate") = wrap_matrix(result.null.estimate),
      Rcpp::Named("null_diagonal") = wrap_matrix(result.null.diagonal),
      Rcpp::Named("rank") = static_cast<double>(result.rank),
      Rcpp::Named("trace_remainder") = result.trace_remainder);
}

}  // namespace

// source: features, kernel, terms, tolerance, max_rank (R/ckce-engine.R);
// job: residuals, variances, ridge, diagonals, targets, probs, embedding, n_draws, seed, influence.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ckce(std::string computation, Rcpp::List source, Rcpp::List job, int threads,
                    SEXP progress) {
  REngine r_engine(threads, progress);
  const calibrisk::Engine engine = r_engine;
  const Rcpp::NumericMatrix features = source["features"];
  const Rcpp::NumericMatrix residuals = job["residuals"], targets = job["targets"],
                            probs = job["probs"], embedding = job["embedding"];
  const Rcpp::NumericVector variances = job["variances"], ridges = job["ridge"];
  const calibrisk::CkceJob task{as_matrix(residuals),
                                as_vector(variances),
                                as_vector(ridges),
                                Rcpp::as<bool>(job["diagonals"]),
                                as_matrix(targets),
                                as_matrix(probs),
                                as_matrix(embedding),
                                static_cast<Index>(Rcpp::as<double>(job["n_draws"])),
                                static_cast<std::uint64_t>(Rcpp::as<double>(job["seed"])),
                                Rcpp::as<bool>(job["influence"])};
  if (computation == "rff") {
    return wrap_result(calibrisk::ckce_by_features(engine, as_feature_map(source["terms"]),
                                                   as_matrix(features), task));
  }
  const calibrisk::Kernel kernel = as_kernel(source["kernel"]);
  if (computation == "dual") {
    return wrap_result(calibrisk::ckce_by_dual(engine, kernel, as_matrix(features), task));
  }
  if (computation == "eigen") {
    return wrap_result(calibrisk::ckce_by_eigen(engine, kernel, as_matrix(features), task));
  }
  const calibrisk::LowRankOptions options{Rcpp::as<double>(source["tolerance"]),
                                          static_cast<Index>(Rcpp::as<double>(source["max_rank"]))};
  return wrap_result(
      calibrisk::ckce_by_low_rank(engine, kernel, as_matrix(features), task, options));
}

// M = A^-1 K A^-1 and A^-1, [n x n]
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ckce_weights(Rcpp::NumericMatrix gram, double ridge, int threads) {
  REngine engine(threads);
  const calibrisk::CkceWeights out = calibrisk::ckce_weights(engine, as_matrix(gram), ridge);
  return Rcpp::List::create(Rcpp::Named("weights") = wrap_matrix(out.weights),
                            Rcpp::Named("inverse") = wrap_matrix(out.inverse));
}

// diag(a b c) of symmetric matrices.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_product_diagonal(Rcpp::NumericMatrix a, Rcpp::NumericMatrix b,
                                         Rcpp::NumericMatrix c, int threads) {
  REngine engine(threads);
  return wrap_vector(calibrisk::product_diagonal(engine, as_matrix(a), as_matrix(b), as_matrix(c)));
}

// Random features of the rows of x, [n x r]; for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_map_features(Rcpp::List terms, Rcpp::NumericMatrix x, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::map_features(engine, as_feature_map(terms), as_matrix(x)));
}

// Binned canonical calibration error: binmean, pointwise, occupied cells.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_canonical_ece(Rcpp::NumericMatrix probs, Rcpp::IntegerVector truth,
                                      int n_bins) {
  const calibrisk::CanonicalEce ece =
      calibrisk::canonical_ece(as_matrix(probs), as_labels(truth), n_bins);
  return Rcpp::NumericVector::create(Rcpp::Named("binmean") = ece.binmean,
                                     Rcpp::Named("pointwise") = ece.pointwise,
                                     Rcpp::Named("occupied") = static_cast<double>(ece.occupied));
}

// Metrics of every model on every subsample: [metrics x (models * trials)], models fastest.
// rows: 1-based, [m x trials]; kernels: bandwidth NaN is the subsample's median.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_rank_trials(Rcpp::List models, Rcpp::List kernels,
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
      Rcpp::as<bool>(settings["kernel_metrics"]), Rcpp::as<bool>(settings["debiased"]),
      Rcpp::as<double>(settings["ridge"]), Rcpp::as<int>(settings["n_bins"])};
  const calibrisk::Executor one_thread;
  calibrisk::Progress silent;
  return wrap_matrix(calibrisk::rank_trials(engine, {one_thread, worker_algebra(), silent}, probs,
                                            resolved, as_labels(truth), chosen, options));
}
