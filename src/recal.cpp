// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_loss.h"
#include "r_engine.h"
#include <calibrisk/recal/knot_line.h>
#include <calibrisk/recal/mixture_weights.h>
#include <calibrisk/recal/temperature.h>

namespace {

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

// The line through ascending knots (x, y) at each v, constant outside of them.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_knot_line(std::vector<double> x, std::vector<double> y,
                                  Rcpp::NumericVector v) {
  const calibrisk::KnotLine line(std::move(x), std::move(y));
  Rcpp::NumericVector out(Rcpp::no_init(v.size()));
  std::transform(v.begin(), v.end(), out.begin(), [&](double at) { return line(at); });
  return out;
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
