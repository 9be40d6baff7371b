// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_factor.h"
#include "as_kernel.h"
#include "as_source.h"
#include "r_engine.h"
#include <calibrisk/pairs/factor_sums.h>

// Sums over pairs by pairs/factor_sums.h, their squares from about `noise_rows` rows, 0: none;
// source as of cpp_ckce(), or list(factor = L) of the computation "kept"; a factor of low rank is
// the one on which CKCE at `ridge` is certified. weights, cluster: of length 0 where there are
// none.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_factor_sums(std::string computation, Rcpp::List source,
                           Rcpp::NumericMatrix residuals, Rcpp::NumericMatrix right,
                           Rcpp::NumericVector weights, Rcpp::IntegerVector cluster, int noise_rows,
                           Rcpp::List moments, double ridge, int threads,
                           SEXP progress = R_NilValue) {
  REngine r_engine(threads, progress);
  const calibrisk::Engine engine = r_engine;
  const auto d = as_matrix(residuals);
  calibrisk::Vector size = d.cwiseProduct(as_matrix(right)).rowwise().sum().cwiseAbs();
  const calibrisk::OutcomeMoments known = as_moments(moments);
  if (known.known()) size += known.own.col(0);
  if (weights.size() > 0) size = size.cwiseProduct(as_vector(weights));
  const calibrisk::RowSample some = calibrisk::sample_rows(d, size, noise_rows);
  const auto sums = [&](const auto& rows) {
    const calibrisk::PairSums out = calibrisk::factor_sums(
        engine, rows, d, as_matrix(right), as_vector(weights), as_labels(cluster), some, known);
    return named_list({{"off_diagonal", out.off_diagonal},
                       {"diagonal", out.diagonal},
                       {"squares", out.squares},
                       {"known", out.known},
                       {"trace", out.trace},
                       {"rank", static_cast<double>(rows.rank())}});
  };
  if (computation == "kept") {
    const Rcpp::NumericMatrix factor(field(source, "factor"));
    return sums(calibrisk::KeptRows{as_matrix(factor)});
  }
  if (computation == "rff") {
    const Rcpp::NumericMatrix features(field(source, "features"));
    const calibrisk::FeatureMap map = as_feature_map(field(source, "terms"));
    return sums(calibrisk::FeatureRows{map, as_matrix(features)});
  }
  const calibrisk::LowRankOptions options = as_low_rank(source);
  if (has_field(source, "spec")) {
    const calibrisk::PairSourcePtr pairs = as_prediction_source(field(source, "spec"));
    const calibrisk::SourceFactor factor =
        calibrisk::ckce_factor(engine, *pairs, d, ridge, options).factor;
    return sums(calibrisk::KeptRows{factor.l});
  }
  const Rcpp::NumericMatrix features(field(source, "features"));
  const calibrisk::Kernel kernel = as_kernel(field(source, "kernel"));
  const calibrisk::KernelFactor factor =
      calibrisk::ckce_factor(engine, kernel, as_matrix(features), d, ridge, options).factor;
  return sums(calibrisk::KeptRows{factor.l});
}

// Random features of the rows of x, [n x r]; for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_map_features(Rcpp::List terms, Rcpp::NumericMatrix x, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::map_features(engine, as_feature_map(terms), as_matrix(x)));
}
