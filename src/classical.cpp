// SPDX-License-Identifier: GPL-3.0-or-later
// The linear-time passes of the classical calibration errors.
#include "r_engine.h"
#include <calibrisk/classical/cumulative.h>
#include <calibrisk/classical/falling_trend.h>
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

// The trends (classical/falling_trend.h) of every column of `probs` [n x classes], whose events are
// the rows labelled `classes`: [columns x 2]. `labels`: integers, or the outcomes of a single
// probability. `copies` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_falling_trends(Rcpp::NumericVector probs, SEXP labels,
                                       std::vector<int> classes, Rcpp::NumericVector copies) {
  const auto n = static_cast<Eigen::Index>(Rf_xlength(labels));
  const auto columns = static_cast<Eigen::Index>(classes.size());
  if (n * columns != probs.size()) Rcpp::stop("falling_trends: one label per row.");
  const Eigen::Map<const calibrisk::Matrix> of_classes(probs.begin(), n, columns);
  const auto weight = as_vector(copies);
  const auto trends = TYPEOF(labels) == REALSXP
                          ? calibrisk::falling_trends(of_classes, REAL(labels), classes, weight)
                          : calibrisk::falling_trends(of_classes, INTEGER(labels), classes, weight);
  Rcpp::NumericMatrix out(static_cast<int>(trends.size()), 2);
  for (int k = 0; k < out.nrow(); ++k) {
    out(k, 0) = trends[static_cast<std::size_t>(k)].auc;
    out(k, 1) = trends[static_cast<std::size_t>(k)].z;
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

// Extremes of the walk of cumulated residuals, then of those of redrawn outcomes: end, largest,
// range and bridge, and the log p-value of the last.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cumulative(Rcpp::NumericVector prob, Rcpp::NumericVector weight,
                          std::vector<int> block_end, std::vector<double> walk,
                          std::vector<double> time, double scale, int times, double seed,
                          int threads) {
  REngine engine(threads);
  const calibrisk::WalkExtremes own = calibrisk::walk_extremes(walk, time);
  calibrisk::Matrix all(times + 1, 4);
  all.row(0) << own.end, own.largest, own.range, own.bridge;
  all.bottomRows(times) =
      calibrisk::cumulative_draws(engine, as_vector(prob), as_vector(weight), block_end, time,
                                  scale, times, static_cast<std::uint64_t>(seed));
  const auto column = [&](Eigen::Index k) -> calibrisk::Vector { return all.col(k); };
  return named_list(
      {{"end", column(0)},
       {"largest", column(1)},
       {"range", column(2)},
       {"bridge", column(3)},
       {"tail", calibrisk::Vector(column(3).unaryExpr(&calibrisk::log_kolmogorov_tail))}});
}
