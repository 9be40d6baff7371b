// SPDX-License-Identifier: GPL-3.0-or-later
// Families of predictive distributions.
#include "r_engine.h"
#include <calibrisk/law/closed_forms.h>
#include <calibrisk/law/jumps.h>
#include <calibrisk/law/mixture.h>
#include <calibrisk/law/multivariate_normal.h>
#include <calibrisk/law/quantile_forecast.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace calibrisk;

namespace {

// weight, location, scale: [rows x components]; laplace: of Laplace distributions, not normal ones.
struct MixtureParts {
  Rcpp::NumericMatrix weight, location, scale;
  bool laplace;
  explicit MixtureParts(const Rcpp::List& parts)
      : weight(field(parts, "weight")),
        location(field(parts, "location")),
        scale(field(parts, "scale")),
        laplace(flag_field(parts, "laplace")) {}
  LocationScaleMixture of() const {
    return {as_matrix(weight), as_matrix(location), as_matrix(scale)};
  }
};

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

// Of the standard distribution at z. Holds without a mean as well, since the CRPS is analytic in
// the degrees of freedom above 1/2; it is infinite below.
double crps_of_t(double z, double df) {
  if (df <= 0.5) return std::numeric_limits<double>::infinity();
  const double spread = 2.0 * std::sqrt(df) / (df - 1.0) *
                        std::exp(R::lbeta(0.5, df - 0.5) - 2.0 * R::lbeta(0.5, df / 2.0));
  return z * (2.0 * R::pt(z, df, 1, 0) - 1.0) + 2.0 * R::dt(z, df, 0) * (df + z * z) / (df - 1.0) -
         spread;
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
Rcpp::NumericVector cpp_mixture_cdf(Rcpp::List parts, Rcpp::NumericVector y, bool open = false) {
  const MixtureParts law(parts);
  return wrap_vector(law.laplace ? mixture_cdf<LaplaceComponents>(law.of(), as_vector(y), open)
                                 : mixture_cdf<NormalComponents>(law.of(), as_vector(y), open));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_mixture_crps(Rcpp::List parts, Rcpp::NumericVector y) {
  const MixtureParts law(parts);
  return wrap_vector(law.laplace ? mixture_crps<LaplaceComponents>(law.of(), as_vector(y))
                                 : mixture_crps<NormalComponents>(law.of(), as_vector(y)));
}

// The smallest value that is not exceeded with probability u.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_mixture_quantile(Rcpp::List parts, double u) {
  const MixtureParts law(parts);
  if (!law.laplace) {
    return wrap_vector(mixture_quantile<NormalComponents>(law.of(), u, R::qnorm(u, 0, 1, 1, 0)));
  }
  const double z = std::log(2.0 * std::min(u, 1.0 - u)) * (u < 0.5 ? 1.0 : u > 0.5 ? -1.0 : 0.0);
  return wrap_vector(mixture_quantile<LaplaceComponents>(law.of(), u, z));
}

// share_within() of sorted draws [n x S] and the outcome of each row.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_draws_within(Rcpp::NumericMatrix draws, Rcpp::NumericVector y,
                                     double position) {
  Rcpp::NumericVector out(draws.nrow());
  std::vector<double> row(static_cast<std::size_t>(draws.ncol()));
  for (int i = 0; i < draws.nrow(); ++i) {
    for (int j = 0; j < draws.ncol(); ++j) row[static_cast<std::size_t>(j)] = draws(i, j);
    std::vector<double> all = row;
    all.insert(std::upper_bound(all.begin(), all.end(), y[i]), y[i]);
    out[i] = share_within(std::move(all), position);
  }
  return out;
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
bool cpp_covariances_commute(Rcpp::NumericMatrix cov, int dimension) {
  return covariances_commute(as_matrix(cov), dimension);
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

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_crps_t(Rcpp::NumericVector y, Rcpp::NumericVector df,
                               Rcpp::NumericVector location, Rcpp::NumericVector scale) {
  require(location.size() == df.size() && scale.size() == df.size(), "crps_t: parameters by row.");
  require(y.size() == df.size() || y.size() == 1, "crps_t: an outcome for each row, or for all.");
  Rcpp::NumericVector out(Rcpp::no_init(df.size()));
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    const double z = (y[y.size() == 1 ? 0 : i] - location[i]) / scale[i];
    // linear in a neighbourhood of 1, where the closed form is 0 / 0
    constexpr double near = 1e-5;
    const double share = (df[i] - (1.0 - near)) / (2.0 * near);
    const double crps = std::abs(df[i] - 1.0) < near ? (1.0 - share) * crps_of_t(z, 1.0 - near) +
                                                           share * crps_of_t(z, 1.0 + near)
                                                     : crps_of_t(z, df[i]);
    out[i] = scale[i] * crps;
  }
  return out;
}

// E|X - X'| / 2 of negative binomial distributions.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_negbin_spread(Rcpp::NumericVector mean, Rcpp::NumericVector size) {
  require(mean.size() == size.size(), "negbin_spread: a size for each mean.");
  Rcpp::NumericVector out(Rcpp::no_init(mean.size()));
  for (R_xlen_t i = 0; i < out.size(); ++i) out[i] = negbin_spread(mean[i], size[i]);
  return out;
}

// Integrals of the root of the product of two Laplace densities, [n x n].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_laplace_affinity(Rcpp::NumericVector location, Rcpp::NumericVector scale) {
  require(location.size() == scale.size(), "laplace_affinity: a scale for each location.");
  const auto n = static_cast<int>(location.size());
  Rcpp::NumericMatrix out(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      out(i, j) = laplace_affinity(location[i] - location[j], scale[i], scale[j]);
    }
  }
  return out;
}

// Of the empirical distributions of the draws [n x S].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_crps_draws(Rcpp::NumericMatrix draws, Rcpp::NumericVector y) {
  require(y.size() == draws.nrow() || y.size() == 1, "crps_draws: outcomes of the rows.");
  Rcpp::NumericVector out(Rcpp::no_init(draws.nrow()));
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    const Rcpp::NumericVector own = draws.row(static_cast<int>(i));
    out[i] = crps_of_draws(std::vector<double>(own.begin(), own.end()), y[y.size() == 1 ? 0 : i]);
  }
  return out;
}

// The component of each draw, from uniform numbers [n x draws]. Rounding of the last sum of weights
// picks none of weight 0.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix cpp_picked_components(Rcpp::NumericMatrix weight, Rcpp::NumericMatrix u) {
  require(weight.nrow() == u.nrow(), "picked_components: weights of every row.");
  Rcpp::IntegerMatrix out(u.nrow(), u.ncol());
  for (int i = 0; i < u.nrow(); ++i) {
    std::vector<double> upto;
    long double sum = 0.0L;
    int last = 1;
    for (int a = 0; a < weight.ncol(); ++a) {
      upto.push_back(static_cast<double>(sum += weight(i, a)));
      if (weight(i, a) > 0.0) last = a + 1;
    }
    upto.pop_back();
    for (int j = 0; j < u.ncol(); ++j) {
      const auto below = std::lower_bound(upto.begin(), upto.end(), u(i, j)) - upto.begin();
      out(i, j) = std::min(static_cast<int>(below) + 1, last);
    }
  }
  return out;
}
