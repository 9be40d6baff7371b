// SPDX-License-Identifier: GPL-3.0-or-later
// Logistic regressions, and Cox's of outcomes on predictions.
#include "r_values.h"
#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/classical/logistic.h>

#include <Rmath.h>
#include <algorithm>
#include <cmath>

using calibrisk::Vector;

namespace {

// Whether every outcome is on its side of a fit, for any offset.
bool is_parted(const Rcpp::NumericMatrix& x, const Rcpp::NumericVector& y, const Vector& theta) {
  const Vector eta = as_matrix(x) * theta;
  for (R_xlen_t i = 0; i < y.size(); ++i) {
    if (!(y[i] == 1.0 ? eta(i) > 0.0 : eta(i) < 0.0)) return false;
  }
  return true;
}

}  // namespace

// Logistic regression with a penalty (classical/logistic.h), and whether the outcomes are `apart`,
// so that there is no finite optimum without it: on their sides of the fit, where the log loss
// falls below that of any, or along a single predictor, in the first of two columns. `weight` and
// `offset` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_logistic(const Rcpp::NumericMatrix& x, const Rcpp::NumericVector& y,
                        const Rcpp::NumericVector& start, const Rcpp::NumericVector& centre,
                        const Rcpp::NumericVector& ridge, const Rcpp::NumericVector& weight,
                        const Rcpp::NumericVector& offset) {
  const calibrisk::LogisticRegression model(as_matrix(x), as_vector(y), as_vector(weight),
                                            as_vector(offset));
  const calibrisk::LogisticFit fit =
      model.fit(as_vector(start), as_vector(centre), as_vector(ridge));
  return named_list(
      {{"theta", fit.theta},
       {"inverse", fit.inverse},
       {"first_loss", fit.first_loss},
       {"loss", fit.loss},
       {"iterations", fit.iterations},
       {"converged", fit.converged},
       {"apart", is_parted(x, y, fit.theta) ||
                     (x.ncol() == 2 && calibrisk::are_apart(as_matrix(x).col(0), as_vector(y)))}});
}

namespace {

Rcpp::List fit_list(const calibrisk::LogisticFit& fit) {
  return named_list({{"theta", fit.theta}, {"inverse", fit.inverse}});
}

}  // namespace

// Cox's regressions of outcomes on logits z, with both coefficients and with slope 1; which of the
// intercept, the slope, the calibration in the large and the joint test have a finite estimate
// (`ok`), and whether the predictions separate the outcomes. `columns`: of independent rows, the
// likelihood's own errors, with limits at `reach` of them, or of the calibration in the large the
// robust one if it is larger; and the ratio for both coefficients at once. `weight` may be empty;
// it counts copies of rows in units of their mean, `unit`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cox(Rcpp::NumericVector z, Rcpp::NumericVector y, Rcpp::NumericVector weight,
                   double unit, double reach) {
  const Eigen::Index n = z.size();
  calibrisk::Matrix x(n, 2);
  x << Vector::Ones(n), as_vector(z);
  const Vector none, start = Vector::Unit(2, 1), zero = Vector::Zero(1);
  const auto both = calibrisk::LogisticRegression(x, as_vector(y), as_vector(weight), none)
                        .fit(start, start, Vector::Zero(2));
  const auto large =
      calibrisk::LogisticRegression(x.leftCols(1), as_vector(y), as_vector(weight), as_vector(z))
          .fit(zero, zero, zero);
  const double level = large.theta(0), bend = large.inverse(0, 0);
  // with a slope that is not 1 the likelihood's error of the calibration in the large is too small
  const auto rows = static_cast<double>(n) * unit;
  const double scatter = rows / (rows - 1.0) * calibrisk::exact_sum(n, [&](Eigen::Index i) {
                           const double off = y[i] - R::plogis(level + z[i], 0.0, 1.0, 1, 0);
                           return (weight.size() > 0 ? weight[i] : 1.0) * (off * off);
                         });
  const double ratio = 2.0 * unit * std::max(large.first_loss - both.loss, 0.0);
  Vector estimate(4), variance(4), null = Vector::Zero(4), p(4);
  estimate << both.theta, level, ratio;
  variance << both.inverse.diagonal(), std::max(bend, bend * bend * scatter), NA_REAL;
  null(1) = 1.0;
  const Vector error = (variance / unit).unaryExpr([](double v) {
    return ISNAN(v) ? NA_REAL : std::sqrt(std::max(v, 0.0));
  });
  for (int k = 0; k < 3; ++k) {
    p(k) = 2.0 * R::pnorm(-std::abs(estimate(k) - null(k)) / error(k), 0.0, 1.0, 1, 0);
  }
  p(3) = R::pchisq(ratio, 2.0, 0, 0);
  const bool apart = calibrisk::are_apart(as_vector(z), as_vector(y)),
             two = both.converged && !apart;
  const bool varied = std::any_of(y.begin(), y.end(), [&](double one) { return one != y[0]; });
  const Rcpp::LogicalVector ok = {two, two, large.converged && varied, two};
  return named_list(
      {{"both", static_cast<SEXP>(fit_list(both))},
       {"large", static_cast<SEXP>(fit_list(large))},
       {"ok", static_cast<SEXP>(ok)},
       {"apart", apart},
       {"columns", static_cast<SEXP>(named_list({{".estimate", estimate},
                                                 {"std.error", error},
                                                 {"conf.low", Vector(estimate - reach * error)},
                                                 {"conf.high", Vector(estimate + reach * error)},
                                                 {"p.value", p}}))}});
}
