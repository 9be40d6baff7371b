// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_loss.h"
#include "quasi_newton.h"
#include "r_engine.h"
#include <calibrisk/recal/softmax_regression.h>

namespace {

// Scores W l + b of log-probabilities l against labels; `penalty`: of weights and of intercepts.
calibrisk::SoftmaxRegression as_regression(const calibrisk::Engine& engine,
                                           const Rcpp::NumericMatrix& logp,
                                           const Rcpp::IntegerVector& y,
                                           const Rcpp::NumericVector& weights,
                                           const std::string& loss,
                                           const Rcpp::NumericVector& penalty, bool diagonal) {
  calibrisk::require(penalty.size() == 2, "Weights and intercepts have a penalty each.");
  return {engine,
          as_matrix(logp),
          as_labels(y),
          as_vector(weights),
          {as_loss(loss), penalty[0], penalty[1], diagonal}};
}

}  // namespace

// The linear map softmax(W l + b), W a diagonal where `diagonal`, of the smallest mean loss with
// its penalties. The log loss is convex: Newton's method goes on where L-BFGS is slow, unless a
// class is absent that would need a penalty (`bounded`). `steepest`: of the gradient; `separates`:
// whether the map separates the labels, so that the objective has no finite optimum.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_linear_fit(Rcpp::NumericMatrix logp, Rcpp::IntegerVector y,
                          Rcpp::NumericVector weights, std::string loss,
                          Rcpp::NumericVector penalty, bool diagonal, bool bounded, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto regression = as_regression(engine, logp, y, weights, loss, penalty, diagonal);
  const calibrisk::Index k = logp.ncol(), n_weights = diagonal ? k : k * k;
  calibrisk::Vector theta = calibrisk::Vector::Zero(n_weights + k);
  for (calibrisk::Index c = 0; c < k; ++c) theta(diagonal ? c : c * k + c) = 1.0;
  const bool convex = loss == "log";
  const QuasiNewton found = quasi_newton(
      [&](const calibrisk::Vector& at, calibrisk::Vector& gradient) {
        const auto point = regression.at(at);
        gradient = point.gradient;
        return point.value;
      },
      theta, convex ? 30 : 2000, 1e3, 10);
  theta = found.theta;
  if (convex && bounded && !regression.separates(theta)) theta = regression.newton(theta);
  const calibrisk::Matrix w = diagonal ? calibrisk::Matrix(theta.head(k).asDiagonal())
                                       : calibrisk::Matrix(calibrisk::full_weights(theta, k));
  return named_list({{"w", w},
                     {"b", calibrisk::Vector(theta.tail(k))},
                     {"evaluations", found.evaluations},
                     {"stopped", !convex && found.stopped},
                     {"steepest", regression.at(theta).steepest()},
                     {"separates", regression.separates(theta)}});
}

// softmax(W l + b).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_linear_map(Rcpp::NumericVector theta, Rcpp::NumericMatrix logp,
                                   bool diagonal, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::linear_map(engine, as_vector(theta), as_matrix(logp), diagonal));
}
