// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_loss.h"
#include "quasi_newton.h"
#include "r_engine.h"
#include <calibrisk/recal/monotone_network.h>
#include <calibrisk/recal/own_order.h>

#include <limits>

// recal.cpp
Rcpp::NumericMatrix cpp_class_rows(Rcpp::NumericVector given, bool logits, double floor, bool logs,
                                   int threads);

namespace {

calibrisk::SlopeNetwork as_network(const Rcpp::NumericVector& parameters,
                                   const Rcpp::IntegerVector& hidden) {
  return {std::vector<calibrisk::Index>(hidden.begin(), hidden.end()), as_vector(parameters)};
}

calibrisk::SlopeTable table_of(const Rcpp::NumericVector& range, int n_cells) {
  calibrisk::require(range.size() == 2, "A range has two ends.");
  return {range[0], range[1], n_cells};
}

using Layers = std::vector<calibrisk::Index>;

// The parameters of a start without chance: the temperature 1 / b of these rows.
calibrisk::Vector network_start(const Layers& hidden, double b, const calibrisk::Matrix& logp,
                                const calibrisk::ConstVectorRef& copies) {
  const calibrisk::NumberSpread spread(logp, copies, hidden.at(0));
  return calibrisk::start_parameters(hidden, b, std::max(spread.deviation, 1e-3), spread.quantiles);
}

}  // namespace

// Mean loss of the monotone network map and its gradient in the network's parameters.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_network_loss(Rcpp::NumericVector parameters, Rcpp::IntegerVector hidden,
                            Rcpp::NumericVector range, int n_cells, Rcpp::NumericMatrix logits,
                            Rcpp::IntegerVector y, Rcpp::NumericVector weights, std::string loss,
                            int threads) {
  REngine engine(threads);
  calibrisk::SlopeTable table = table_of(range, n_cells);
  const auto out =
      calibrisk::network_loss(engine, as_network(parameters, hidden), table, as_matrix(logits),
                              as_labels(y), as_vector(weights), as_loss(loss));
  return named_list({{"value", out.value}, {"gradient", out.gradient}});
}

// The network of the smallest mean loss with its penalty: the mean square of what moves from the
// start at the temperature 1 / b, where it pulls. `range`: of log-probabilities, which lie in
// [log(floor), 0] for any data: one grid for fit and prediction.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_network_fit(Rcpp::NumericVector given, bool logits, double floor,
                           Rcpp::IntegerVector y, Rcpp::NumericVector weights,
                           Rcpp::NumericVector copies, std::vector<int> hidden, int n_cells,
                           double b, std::string loss, double penalty, int threads) {
  const Layers layers(hidden.begin(), hidden.end());
  // as map_diag() says: the optimiser stores forty times as many
  calibrisk::require(calibrisk::SlopeNetwork::size(layers) <= 100000,
                     "A network has at most 100,000 weights.");
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const Rcpp::NumericMatrix logp = cpp_class_rows(given, logits, floor, true, threads);
  const calibrisk::OwnOrder rows(as_matrix(logp), as_labels(y), as_vector(weights),
                                 as_vector(copies));
  const double lowest =
      std::min(rows.logs.minCoeff(), std::log(std::numeric_limits<double>::epsilon()));
  calibrisk::SlopeTable table(lowest, 0.0, n_cells);
  const calibrisk::Vector start = network_start(layers, b, rows.logs, rows.copies);
  const auto value = [&](const calibrisk::Vector& at, calibrisk::Vector& gradient) {
    const auto point = calibrisk::network_loss(engine, calibrisk::SlopeNetwork(layers, at), table,
                                               rows.logs, rows.labels, rows.weights, as_loss(loss));
    const calibrisk::Vector pull = at - start;
    const auto n = static_cast<double>(pull.size());
    gradient = point.gradient + (2.0 * penalty / n) * pull;
    // L-BFGS divides by squares of the gradient, which must not underflow
    gradient = (gradient.array().abs() < 1e-100).select(0.0, gradient);
    return point.value + penalty * pull.squaredNorm() / n;
  };
  const QuasiNewton found = quasi_newton(value, start, 1000, 1e8, 20);
  calibrisk::Vector gradient;
  value(found.theta, gradient);
  return named_list({{"parameters", found.theta},
                     {"range", std::vector<double>{lowest, 0.0}},
                     {"evaluations", found.evaluations},
                     {"converged", !found.stopped},
                     {"steepest", gradient.cwiseAbs().maxCoeff()}});
}

// m(x) from the table of slopes, m(range[1]) = 0.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_network_map(Rcpp::NumericVector parameters, Rcpp::IntegerVector hidden,
                                    Rcpp::NumericVector range, int n_cells, Rcpp::NumericVector x) {
  calibrisk::SlopeTable table = table_of(range, n_cells);
  table.set_slopes(as_network(parameters, hidden)(table.knots()));
  Rcpp::NumericVector out(x.size());
  for (R_xlen_t i = 0; i < x.size(); ++i) out[i] = table(x[i]);
  return out;
}

// int_0^x g by the Clenshaw-Curtis rule with n intervals.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_network_integral(Rcpp::NumericVector parameters, Rcpp::IntegerVector hidden,
                                         Rcpp::NumericVector x, int n) {
  return wrap_vector(
      calibrisk::integral_clenshaw_curtis(as_network(parameters, hidden), as_vector(x), n));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_clenshaw_curtis(int n) {
  return wrap_vector(calibrisk::clenshaw_curtis_weights(n));
}
