// SPDX-License-Identifier: GPL-3.0-or-later
// The linear-time passes of the classical calibration errors.
#include "r_engine.h"
#include <calibrisk/classical/class_sums.h>
#include <calibrisk/classical/cumulative.h>
#include <calibrisk/classical/logistic.h>
#include <calibrisk/classical/mmce.h>

#include <cmath>

// x ascending
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_laplace_row_sums(Rcpp::NumericVector x, Rcpp::NumericVector d,
                                         double bandwidth) {
  return Rcpp::wrap(calibrisk::laplace_row_sums(x.begin(), d.begin(),
                                                static_cast<std::size_t>(x.size()), bandwidth));
}

// The sums of every class's column over its own rows and over all rows, [classes x 2].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_class_sums(Rcpp::NumericMatrix probs, Rcpp::IntegerVector labels) {
  if (labels.size() != probs.nrow()) Rcpp::stop("class_sums: one label per row.");
  return wrap_matrix(calibrisk::class_sums(as_matrix(probs), labels.begin()));
}

// E |m + s Z| of a standard normal Z.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_folded_normal(Rcpp::NumericVector m, Rcpp::NumericVector s) {
  calibrisk::require(m.size() == s.size(), "folded_normal: a mean for each deviation.");
  Rcpp::NumericVector out(Rcpp::no_init(m.size()));
  for (R_xlen_t i = 0; i < m.size(); ++i) {
    const double u = m[i] / s[i];
    out[i] = s[i] == 0.0 ? std::abs(m[i])
                         : std::sqrt(2.0 / M_PI) * s[i] * std::exp(-0.5 * u * u) +
                               m[i] * std::erf(u * M_SQRT1_2);
  }
  return out;
}

// Logistic regression with a penalty (classical/logistic.h). `weight` and `offset` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_logistic(const Rcpp::NumericMatrix& x, const Rcpp::NumericVector& y,
                        const Rcpp::NumericVector& start, const Rcpp::NumericVector& centre,
                        const Rcpp::NumericVector& ridge, const Rcpp::NumericVector& weight,
                        const Rcpp::NumericVector& offset) {
  const calibrisk::LogisticRegression model(as_matrix(x), as_vector(y), as_vector(weight),
                                            as_vector(offset));
  const calibrisk::LogisticFit fit =
      model.fit(as_vector(start), as_vector(centre), as_vector(ridge));
  return named_list({{"theta", fit.theta},
                     {"inverse", fit.inverse},
                     {"first_loss", fit.first_loss},
                     {"loss", fit.loss},
                     {"iterations", fit.iterations},
                     {"converged", fit.converged}});
}

// Extremes of walks of cumulated residuals of redrawn outcomes: end, largest, range and bridge,
// [draws x 4].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_cumulative_draws(Rcpp::NumericVector prob, Rcpp::NumericVector weight,
                                         std::vector<int> block_end, std::vector<double> time,
                                         double scale, int times, double seed, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::cumulative_draws(engine, as_vector(prob), as_vector(weight),
                                                 block_end, time, scale, times,
                                                 static_cast<std::uint64_t>(seed)));
}
