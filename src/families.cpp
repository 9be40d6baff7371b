// SPDX-License-Identifier: GPL-3.0-or-later
// Families of predictive distributions.
#include "r_engine.h"
#include <calibrisk/law/closed_forms.h>
#include <calibrisk/law/jumps.h>
#include <calibrisk/law/mixture.h>
#include <calibrisk/law/multivariate_normal.h>
#include <calibrisk/law/quantile_forecast.h>
#include <calibrisk/law/sorted_draws.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

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

// Linear in a neighbourhood of 1 degree of freedom, where the closed form is 0 / 0.
double crps_of_any_t(double z, double df) {
  constexpr double near = 1e-5;
  const double share = (df - (1.0 - near)) / (2.0 * near);
  if (!(std::abs(df - 1.0) < near)) return crps_of_t(z, df);
  return (1.0 - share) * crps_of_t(z, 1.0 - near) + share * crps_of_t(z, 1.0 + near);
}

double crps_of_beta(double y, double a, double b) {
  const double total = a + b, mean = a / total, least = std::min(a, b), most = std::max(a, b);
  // B(2 a, 2 b) / B(a, b)^2, from densities at the mean: differences of lbeta() are inaccurate for
  // large shapes
  const double at = least / total;
  const double ratio =
      at * (1.0 - at) *
      std::exp(2.0 * R::dbeta(at, least, most, 1) - R::dbeta(at, 2.0 * least, 2.0 * most, 1));
  const double inside = y > 0.0 && y < 1.0 ? y * (1.0 - y) * R::dbeta(y, a, b, 0) : 0.0;
  return (y - mean) * (2.0 * R::pbeta(y, a, b, 1, 0) - 1.0) + 2.0 * (inside - ratio) / total;
}

double crps_of_gamma(double y, double shape, double rate) {
  // E[mean - X; X <= y] = y f(y) / rate
  const double inside = y > 0.0 ? y / rate * R::dgamma(y, shape, 1.0 / rate, 0) : 0.0;
  return (y - shape / rate) * (2.0 * R::pgamma(y, shape, 1.0 / rate, 1, 0) - 1.0) + 2.0 * inside -
         1.0 / (rate * R::beta(0.5, shape));
}

double crps_of_lognormal(double y, double meanlog, double sdlog) {
  const double z = (std::log(std::max(y, 0.0)) - meanlog) / sdlog;
  // mean times a probability: the mean alone may be too large for a double
  const auto part = [&](double at) {
    return std::exp(meanlog + sdlog * sdlog / 2.0 + R::pnorm(at, 0.0, 1.0, 1, 1));
  };
  return y * (2.0 * R::pnorm(z, 0.0, 1.0, 1, 0) - 1.0) +
         2.0 * (part(-sdlog / std::sqrt(2.0)) - part(z - sdlog));
}

// E|X - X'| = 2 rate exp(-2 rate) (I_0(2 rate) + I_1(2 rate)); R's function is 0 above 1e5, where
// two terms of the asymptotic series suffice.
double crps_of_poisson(double y, double rate) {
  const double spread =
      rate <= 1e4
          ? rate * (R::bessel_i(2.0 * rate, 0.0, 2.0) + R::bessel_i(2.0 * rate, 1.0, 2.0))
          : std::sqrt(rate / M_PI) * (1.0 - 1.0 / (16.0 * rate) - 3.0 / (512.0 * rate * rate));
  return (y - rate) * (2.0 * R::ppois(y, rate, 1, 0) - 1.0) +
         2.0 * rate * R::dpois(std::floor(y), rate, 0) - spread;
}

// (y - mean) (2 F(y) - 1) + 2 E[mean - X; X <= y] - E|X - X'| / 2, with
// E[mean - X; X <= y] = mean (1 + y / size) f(y)
double crps_of_negbin(double y, double mean, double size) {
  const double below = R::pnbinom_mu(y, size, mean, 1, 0);
  const double part =
      mean * (1.0 + std::floor(y) / size) * R::dnbinom_mu(std::floor(y), size, mean, 0);
  return (y - mean) * (2.0 * below - 1.0) + 2.0 * part - negbin_spread(mean, size);
}

using FamilyCrps = double (*)(double, const double*);

FamilyCrps family_crps(const std::string& family) {
  if (family == "beta")
    return [](double y, const double* p) { return crps_of_beta(y, p[0], p[1]); };
  if (family == "gamma")
    return [](double y, const double* p) { return crps_of_gamma(y, p[0], p[1]); };
  if (family == "lognormal")
    return [](double y, const double* p) { return crps_of_lognormal(y, p[0], p[1]); };
  if (family == "poisson")
    return [](double y, const double* p) { return crps_of_poisson(y, p[0]); };
  if (family == "negbin")
    return [](double y, const double* p) { return crps_of_negbin(y, p[0], p[1]); };
  if (family == "t") {
    return [](double y, const double* p) { return p[2] * crps_of_any_t((y - p[1]) / p[2], p[0]); };
  }
  throw std::invalid_argument("A family has no such CRPS.");
}

// The parameters of a row, and half the logarithm of what its density is divided by.
struct AffinityRow {
  double first, second, half;
};

struct FamilyAffinity {
  double (*half)(double, double);
  double (*of)(const AffinityRow&, const AffinityRow&);
};

FamilyAffinity family_affinity(const std::string& family) {
  const auto none = [](double, double) { return 0.0; };
  if (family == "beta") {
    return {[](double a, double b) { return R::lbeta(a, b) / 2.0; },
            [](const AffinityRow& p, const AffinityRow& q) {
              return std::exp(R::lbeta((p.first + q.first) / 2.0, (p.second + q.second) / 2.0) -
                              (p.half + q.half));
            }};
  }
  if (family == "gamma") {
    return {[](double shape, double rate) {
              return R::lgammafn(shape) / 2.0 - shape / 2.0 * std::log(rate);
            },
            [](const AffinityRow& p, const AffinityRow& q) {
              const double shape = (p.first + q.first) / 2.0, rate = (p.second + q.second) / 2.0;
              return std::exp(R::lgammafn(shape) - shape * std::log(rate) - (p.half + q.half));
            }};
  }
  if (family == "normal") {
    return {none, [](const AffinityRow& p, const AffinityRow& q) {
              const double v = p.second * p.second + q.second * q.second, gap = p.first - q.first;
              return std::sqrt(2.0 * (p.second * q.second) / v) * std::exp(-gap * gap / (4.0 * v));
            }};
  }
  if (family == "laplace") {
    return {none, [](const AffinityRow& p, const AffinityRow& q) {
              return laplace_affinity(p.first - q.first, p.second, q.second);
            }};
  }
  throw std::invalid_argument("A family has no such affinity.");
}

// Columns of equal length: one to three.
std::vector<Rcpp::NumericVector> numeric_columns(const Rcpp::List& columns) {
  std::vector<Rcpp::NumericVector> out;
  for (R_xlen_t k = 0; k < columns.size(); ++k) out.emplace_back(columns[k]);
  require(!out.empty() && out.size() <= 3, "A family has one to three parameters.");
  for (const Rcpp::NumericVector& one : out)
    require(one.size() == out[0].size(), "Parameters by row.");
  return out;
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

// Of draws [n x S]: their quantiles at these levels [n x levels], or with an outcome for each row
// the probability of the central interval between the first and the last of them.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_draws_quantiles(Rcpp::NumericMatrix draws, std::vector<double> at,
                                        Rcpp::Nullable<Rcpp::NumericVector> y = R_NilValue) {
  const Rcpp::NumericVector outcome = y.isNull() ? Rcpp::NumericVector() : Rcpp::NumericVector(y);
  Rcpp::NumericMatrix out(draws.nrow(), y.isNull() ? static_cast<int>(at.size()) : 1);
  std::vector<double> row(static_cast<std::size_t>(draws.ncol()));
  for (int i = 0; i < draws.nrow(); ++i) {
    for (int j = 0; j < draws.ncol(); ++j) row[static_cast<std::size_t>(j)] = draws(i, j);
    std::sort(row.begin(), row.end());
    if (y.isNull()) {
      for (std::size_t k = 0; k < at.size(); ++k) {
        out(i, static_cast<int>(k)) = draw_quantile(row, at[k]);
      }
      continue;
    }
    std::vector<double> all = row;
    all.insert(std::upper_bound(all.begin(), all.end(), outcome[i]), outcome[i]);
    out(i, 0) = share_within(std::move(all), draw_position(row.size(), at[0]));
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

// The CRPS of a family, whose parameters are in their order; y: one for each row, or for all.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_family_crps(std::string family, Rcpp::NumericVector y,
                                    Rcpp::List parameters) {
  const FamilyCrps crps = family_crps(family);
  const std::vector<Rcpp::NumericVector> of = numeric_columns(parameters);
  const R_xlen_t n = of[0].size();
  require(y.size() == n || y.size() == 1, "family_crps: an outcome for each row, or for all.");
  Rcpp::NumericVector out(Rcpp::no_init(n));
  for (R_xlen_t i = 0; i < n; ++i) {
    double own[3] = {0.0, 0.0, 0.0};
    for (std::size_t k = 0; k < of.size(); ++k) own[k] = of[k][i];
    out[i] = crps(y[y.size() == 1 ? 0 : i], own);
  }
  return out;
}

// Integrals of the root of the product of two densities of a family, [n x n].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_family_affinity(std::string family, Rcpp::List parameters) {
  const FamilyAffinity affinity = family_affinity(family);
  const std::vector<Rcpp::NumericVector> of = numeric_columns(parameters);
  require(of.size() == 2, "family_affinity: two parameters.");
  const auto n = static_cast<int>(of[0].size());
  Rcpp::NumericMatrix out(n, n);
  std::vector<AffinityRow> rows;
  for (int i = 0; i < n; ++i) {
    rows.push_back({of[0][i], of[1][i], affinity.half(of[0][i], of[1][i])});
    for (int j = 0; j <= i; ++j)
      out(i, j) = out(j, i) = affinity.of(rows.back(), rows[static_cast<std::size_t>(j)]);
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
