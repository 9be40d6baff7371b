// SPDX-License-Identifier: GPL-3.0-or-later
// Coverage of prediction intervals, scaled variances, and values of distributions at outcomes.
#include "r_engine.h"
#include <calibrisk/classical/coverage.h>
#include <calibrisk/recal/pit.h>
#include <calibrisk/recal/variance_scaling.h>

#include <algorithm>

// Columns of the tables of ce_coverage(), see coverage_tables(); w may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_coverage_tables(Rcpp::NumericVector y, Rcpp::NumericMatrix q, Rcpp::NumericVector at,
                               Rcpp::NumericVector levels, Rcpp::NumericVector w) {
  const calibrisk::CoverageTables of = calibrisk::coverage_tables(
      as_vector(y), as_matrix(q), as_vector(at), as_vector(levels), as_vector(w));
  const auto level = [&](int row) { return calibrisk::Vector(of.levels.row(row)); };
  const auto quantile = [&](int row) { return calibrisk::Vector(of.quantiles.row(row)); };
  return named_list(
      {{"hit", of.hit},
       {"share", level(0)},
       {"levels", named_list({{"below", level(1)},
                              {"above", level(2)},
                              {"width", level(3)},
                              {"interval_score", level(4)}})},
       {"scores", named_list({{"wis", of.scores(0)},
                              {"overprediction", of.scores(1)},
                              {"underprediction", of.scores(2)},
                              {"dispersion", of.scores(0) - of.scores(1) - of.scores(2)}})},
       {"quantiles", named_list({{"coverage", quantile(0)}, {"quantile_score", quantile(1)}})}});
}

// Exact binomial p-values, of any fraction of a trial: two-sided, or `at_least` those of too low a
// share. NA of an unknown number of trials.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_share_p_values(Rcpp::NumericVector share, Rcpp::NumericVector trials,
                                       Rcpp::NumericVector prob, bool at_least = false) {
  const R_xlen_t n = share.size();
  calibrisk::require(trials.size() == n && prob.size() == n, "share_p_values: trials each.");
  Rcpp::NumericVector out(n, NA_REAL);
  for (R_xlen_t i = 0; i < n; ++i) {
    const double size = trials[i], hits = share[i] * size;
    if (std::isnan(hits)) continue;
    const double few = hits >= size - 1e-9 ? 1.0 : R::pbeta(prob[i], hits + 1.0, size - hits, 0, 0);
    const double many = hits <= 1e-9 ? 1.0 : R::pbeta(prob[i], hits, size - hits + 1.0, 1, 0);
    out[i] = at_least ? few : std::min(1.0, 2.0 * std::min(few, many));
  }
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_local_line(Rcpp::NumericVector rank, Rcpp::NumericVector value,
                                   Rcpp::NumericVector w, Rcpp::NumericVector places, double h) {
  return wrap_vector(
      calibrisk::local_line(as_vector(rank), as_vector(value), as_vector(w), as_vector(places), h));
}

// Scale and shift of variances for squared residuals r.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_variance_scaling(Rcpp::NumericVector variance, Rcpp::NumericVector r,
                                Rcpp::NumericVector share) {
  const auto fit =
      calibrisk::fit_variance_scaling(as_vector(variance), as_vector(r), as_vector(share));
  return named_list(
      {{"w", fit.w}, {"b", fit.b}, {"falls", fit.falls}, {"candidates", fit.candidates}});
}

// Sums of F(level | Y) for outcomes drawn from laws with these jumps, [levels x times].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_pit_draws(std::vector<int> start, Rcpp::NumericVector low,
                                  Rcpp::NumericVector high, Rcpp::NumericVector levels, int times,
                                  double seed, double first_row, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::pit_draws(
      engine, {start, as_vector(low), as_vector(high)}, as_vector(levels), times,
      static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(first_row)));
}
