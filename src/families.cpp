// SPDX-License-Identifier: GPL-3.0-or-later
// Families of predictive distributions.
#include "r_engine.h"
#include <calibrisk/law/jumps.h>
#include <calibrisk/law/mixture.h>
#include <calibrisk/law/multivariate_normal.h>
#include <calibrisk/law/quantile_forecast.h>

#include <functional>

using namespace calibrisk;

namespace {

using Of = std::function<double(const QuantileForecast&, double)>;

Of forecast_value(const std::string& what) {
  if (what == "cdf") return [](const QuantileForecast& f, double y) { return f.cdf(y, false); };
  if (what == "open") return [](const QuantileForecast& f, double y) { return f.cdf(y, true); };
  if (what == "quantile") return [](const QuantileForecast& f, double u) { return f.quantile(u); };
  if (what == "log") return [](const QuantileForecast& f, double y) { return f.log_density(y); };
  if (what == "crps") return [](const QuantileForecast& f, double y) { return f.crps(y); };
  if (what == "mean") return [](const QuantileForecast& f, double) { return f.mean(); };
  if (what == "variance") return [](const QuantileForecast& f, double) { return f.variance(); };
  throw std::invalid_argument("A forecast has no such value.");
}

Rcpp::List jump_list(const Jumps& jumps) {
  return named_list({{"start", Rcpp::IntegerVector(jumps.start.begin(), jumps.start.end())},
                     {"low", jumps.low},
                     {"high", jumps.high}});
}

}  // namespace

// Of every forecast [n x K] at the numbers `at`, of which there is one for each or for all.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_quantile_forecast(Rcpp::NumericMatrix values, Rcpp::NumericMatrix levels,
                                          Rcpp::NumericVector at, std::string what) {
  require(at.size() == values.nrow() || at.size() == 1, "A forecast needs a number.");
  require(levels.nrow() == values.nrow() && levels.ncol() == values.ncol(), "A level each.");
  const Of value = forecast_value(what);
  Rcpp::NumericVector out(Rcpp::no_init(values.nrow()));
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    const QuantileForecast forecast(as_matrix(values), as_matrix(levels), i);
    out[i] = value(forecast, at[at.size() == 1 ? 0 : i]);
  }
  return out;
}

// E |m + s Z| of a standard normal Z.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_folded_normal(Rcpp::NumericVector m, Rcpp::NumericVector s) {
  require(m.size() == s.size(), "folded_normal: a mean for each deviation.");
  Rcpp::NumericVector out(Rcpp::no_init(m.size()));
  for (R_xlen_t i = 0; i < m.size(); ++i) out[i] = folded_normal(m[i], s[i]);
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ensemble_jumps(Rcpp::NumericMatrix draws, Rcpp::NumericVector y) {
  return jump_list(ensemble_jumps(as_matrix(draws), as_vector(y)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_quantile_jumps(Rcpp::NumericMatrix values, Rcpp::NumericMatrix levels) {
  return jump_list(quantile_jumps(as_matrix(values), as_matrix(levels)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_mixture_cdf(Rcpp::NumericMatrix weight, Rcpp::NumericMatrix location,
                                    Rcpp::NumericMatrix scale, Rcpp::NumericVector y, bool laplace,
                                    bool open) {
  const auto cdf = laplace ? mixture_cdf<LaplaceComponents> : mixture_cdf<NormalComponents>;
  return wrap_vector(
      cdf(as_matrix(weight), as_matrix(location), as_matrix(scale), as_vector(y), open));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_mixture_crps(Rcpp::NumericMatrix weight, Rcpp::NumericMatrix location,
                                     Rcpp::NumericMatrix scale, Rcpp::NumericVector y,
                                     bool laplace) {
  const auto crps = laplace ? mixture_crps<LaplaceComponents> : mixture_crps<NormalComponents>;
  return wrap_vector(crps(as_matrix(weight), as_matrix(location), as_matrix(scale), as_vector(y)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_mixture_moments(Rcpp::NumericMatrix weight, Rcpp::NumericMatrix mean,
                                        Rcpp::NumericMatrix cov, int dimension) {
  return wrap_matrix(
      mixture_moments(as_matrix(weight), as_matrix(mean), as_matrix(cov), dimension));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_covariance_faults(Rcpp::NumericMatrix cov, int dimension) {
  return wrap_matrix(covariance_faults(as_matrix(cov), dimension));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_covariance_roots(Rcpp::NumericMatrix cov, int dimension) {
  return wrap_matrix(covariance_roots(as_matrix(cov), dimension));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_normal_draws(Rcpp::NumericMatrix mean, Rcpp::NumericMatrix roots,
                                     std::vector<int> pick, Rcpp::NumericMatrix noise) {
  return wrap_matrix(normal_draws(as_matrix(mean), as_matrix(roots), pick, as_matrix(noise)));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_normal_affinity(Rcpp::NumericMatrix mean, Rcpp::NumericMatrix cov,
                                        int threads) {
  REngine engine(threads);
  return wrap_matrix(normal_affinity(engine, as_matrix(mean), as_matrix(cov)));
}
