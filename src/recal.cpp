// SPDX-License-Identifier: GPL-3.0-or-later
#include "quasi_newton.h"
#include "r_engine.h"
#include <calibrisk/recal/knot_line.h>
#include <calibrisk/recal/mixture_weights.h>
#include <calibrisk/recal/monotone_network.h>
#include <calibrisk/recal/own_order.h>
#include <calibrisk/recal/pit.h>
#include <calibrisk/recal/poisson_binomial.h>
#include <calibrisk/recal/softmax_regression.h>
#include <calibrisk/recal/temperature.h>
#include <calibrisk/recal/variance_scaling.h>

namespace {

calibrisk::Loss as_loss(const std::string& loss) {
  return loss == "brier" ? calibrisk::Loss::brier : calibrisk::Loss::log;
}

// A matrix of classes, or a vector of the second of two.
calibrisk::ClassScores as_scores(const calibrisk::Engine& engine, const Rcpp::NumericVector& given,
                                 bool logits, double floor) {
  const calibrisk::Index columns = Rf_isMatrix(given) ? Rf_ncols(given) : 1;
  const Eigen::Map<const calibrisk::Matrix> rows(given.begin(), given.size() / columns, columns);
  return {engine, rows, logits, floor};
}

Eigen::Map<calibrisk::Matrix> as_block(Rcpp::NumericMatrix& x) {
  return {x.begin(), x.nrow(), x.ncol()};
}

calibrisk::SlopeNetwork as_network(const Rcpp::NumericVector& parameters,
                                   const Rcpp::IntegerVector& hidden) {
  return {std::vector<calibrisk::Index>(hidden.begin(), hidden.end()), as_vector(parameters)};
}

calibrisk::SlopeTable table_of(const Rcpp::NumericVector& range, int n_cells) {
  calibrisk::require(range.size() == 2, "A range has two ends.");
  return {range[0], range[1], n_cells};
}

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

// Predicted classes as they were given (class_scores.h): as probabilities, or as logarithms.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_class_rows(Rcpp::NumericVector given, bool logits, double floor, bool logs,
                                   int threads) {
  REngine engine(threads);
  const auto scores = as_scores(engine, given, logits, floor);
  Rcpp::NumericMatrix out(Rcpp::no_init(scores.rows(), scores.classes()));
  calibrisk::MatrixRef to = as_block(out);
  scores.for_blocks(engine, [&](calibrisk::Index begin, calibrisk::Index size) {
    calibrisk::RowBlock rows;
    if (logs) {
      scores.logs(begin, size, rows);
    } else {
      scores.probs(begin, size, rows);
    }
    to.middleRows(begin, size) = rows.matrix();
  });
  return out;
}

// Their losses, of every row.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_class_losses(Rcpp::NumericVector given, bool logits, double floor,
                                     Rcpp::IntegerVector y, std::string loss, int threads) {
  REngine engine(threads);
  return wrap_vector(
      as_scores(engine, given, logits, floor).losses(engine, as_labels(y), as_loss(loss)));
}

// The best b = 1/T within limits. `place`: where it is (TemperatureFit).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_temperature(Rcpp::NumericVector given, bool logits, double floor,
                           Rcpp::IntegerVector y, Rcpp::NumericVector weights, std::string loss,
                           Rcpp::NumericVector limits, int threads) {
  REngine engine(threads);
  calibrisk::require(limits.size() == 2, "A temperature has a range.");
  const auto scores = as_scores(engine, given, logits, floor);
  const calibrisk::Labels labels = as_labels(y);
  const auto fit = calibrisk::TemperatureSearch(engine, scores, labels, as_vector(weights),
                                                as_loss(loss), {limits[0], limits[1]})
                       .best();
  return named_list({{"b", fit.b},
                     {"place", static_cast<int>(fit.place)},
                     {"passes", fit.passes},
                     {"curvature", fit.curvature},
                     {"of_rows", fit.of_rows},
                     {"at_infinity", fit.at_infinity}});
}

// Weights of the ensemble of the temperature 1 / b, what is `left` to gain at most, and steps.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ensemble_weights(Rcpp::NumericVector given, bool logits, double floor,
                                Rcpp::IntegerVector y, Rcpp::NumericVector share, double b,
                                std::string loss, int threads) {
  REngine engine(threads);
  const auto found = calibrisk::ensemble_weights(engine, as_scores(engine, given, logits, floor),
                                                 as_labels(y), as_vector(share), b, as_loss(loss));
  return named_list({{"w", found.weights}, {"left", found.left}, {"steps", found.steps}});
}

// w1 softmax(b l) + w2 p + w3 / K.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_ensemble_map(Rcpp::NumericVector given, bool logits, double floor, double b,
                                     Rcpp::NumericVector weights, int threads) {
  REngine engine(threads);
  const auto scores = as_scores(engine, given, logits, floor);
  Rcpp::NumericMatrix out(Rcpp::no_init(scores.rows(), scores.classes()));
  calibrisk::ensemble_map(engine, scores, b, as_vector(weights), as_block(out));
  return out;
}

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

// Scale and shift of variances for squared residuals r.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_variance_scaling(Rcpp::NumericVector variance, Rcpp::NumericVector r,
                                Rcpp::NumericVector share) {
  const auto fit =
      calibrisk::fit_variance_scaling(as_vector(variance), as_vector(r), as_vector(share));
  return named_list(
      {{"w", fit.w}, {"b", fit.b}, {"falls", fit.falls}, {"candidates", fit.candidates}});
}

namespace {

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

// The line through ascending knots (x, y) at each v, constant outside of them.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_knot_line(std::vector<double> x, std::vector<double> y,
                                  Rcpp::NumericVector v) {
  const calibrisk::KnotLine line(std::move(x), std::move(y));
  Rcpp::NumericVector out(Rcpp::no_init(v.size()));
  std::transform(v.begin(), v.end(), out.begin(), [&](double at) { return line(at); });
  return out;
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

// Restricted cubic splines: z, and a column for each knot but two, cubic between the knots and
// linear beyond.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_cubic_basis(Rcpp::NumericVector z, Rcpp::NumericVector knots) {
  const R_xlen_t k = knots.size();
  calibrisk::require(k >= 2, "A spline has two knots.");
  const double end = knots[k - 1], before = knots[k - 2], last = end - before;
  const double unit = (end - knots[0]) * (end - knots[0]);
  Rcpp::NumericMatrix out(Rcpp::no_init(static_cast<int>(z.size()), static_cast<int>(k) - 1));
  for (int i = 0; i < out.nrow(); ++i) {
    const auto cube = [&](double at) { return std::pow(std::max(z[i] - at, 0.0), 3.0); };
    out(i, 0) = z[i];
    for (int j = 1; j < out.ncol(); ++j) {
      const double at = knots[j - 1];
      out(i, j) =
          (cube(at) - cube(before) * (end - at) / last + cube(end) * (before - at) / last) / unit;
    }
  }
  return out;
}
