// SPDX-License-Identifier: GPL-3.0-or-later
// The linear-time passes of the classical calibration errors.
#include "r_engine.h"
#include <calibrisk/classical/cumulative.h>
#include <calibrisk/classical/falling_trend.h>
#include <calibrisk/classical/logistic.h>
#include <calibrisk/classical/mmce.h>

#include <cmath>

using calibrisk::Vector;

namespace {

// Values of sorted rows in the order of the data, and the other way round; rows count from 1.
Vector in_data_order(const Vector& values, const std::vector<int>& order) {
  Vector out(values.size());
  for (Eigen::Index i = 0; i < out.size(); ++i)
    out(order[static_cast<std::size_t>(i)] - 1) = values(i);
  return out;
}

Vector in_sorted_order(const Vector& values, const std::vector<int>& order) {
  Vector out(values.size());
  for (Eigen::Index i = 0; i < out.size(); ++i)
    out(i) = values(order[static_cast<std::size_t>(i)] - 1);
  return out;
}

}  // namespace

// Sums over pairs of the squared error (classical/mmce.h) of rows in the order of the data, from
// the sorted rows. `apart`: whether pairs of a cluster are left out.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_mmce_sums(Rcpp::List sorted, Rcpp::List design, bool apart, double bandwidth) {
  const Rcpp::NumericVector x = sorted["x"], d = sorted["d"];
  const auto order = Rcpp::as<std::vector<int>>(sorted["order"]);
  calibrisk::require(order.size() == static_cast<std::size_t>(x.size()), "mmce: an order of rows.");
  const auto given = [&](const char* name) {
    if (!has_field(design, name) || Rf_isNull(field(design, name))) return Vector();
    return in_sorted_order(as_vector(Rcpp::NumericVector(field(design, name))), order);
  };
  const Vector cluster = given("cluster");
  const auto sums = calibrisk::mmce_sums(
      as_vector(x), as_vector(d), calibrisk::RowWeights(given("w"), given("copies")),
      calibrisk::RowClusters(calibrisk::Labels(cluster.data(), cluster.data() + cluster.size())),
      apart, bandwidth);
  const Rcpp::RObject across = sums.across.size() == 0
                                   ? Rcpp::RObject(R_NilValue)
                                   : Rcpp::RObject(wrap_vector(in_data_order(sums.across, order)));
  return named_list({{"off_diagonal", in_data_order(sums.off_diagonal, order)},
                     {"diagonal", in_data_order(sums.diagonal, order)},
                     {"across", static_cast<SEXP>(across)},
                     {"squares", sums.squares},
                     {"known", sums.known},
                     {"trace", sums.trace}});
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

// Extremes of the walk of cumulated residuals of sorted rows, then of those of redrawn outcomes:
// end, largest, range and bridge, and the log p-value of the last. With the walk itself, and the
// predictions `at` which it has its extremes.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cumulative(Rcpp::List sorted, int times, double seed, int threads) {
  REngine engine(threads);
  const Rcpp::NumericVector prob = sorted["x"], sum_d = sorted["sum_d"];
  const Rcpp::NumericVector weight = Rf_isNull(sorted["w"])
                                         ? Rcpp::NumericVector(prob.size(), 1.0)
                                         : Rcpp::NumericVector(field(sorted, "w"));
  const auto ties = Rcpp::as<std::vector<int>>(sorted["ties"]);
  const auto walk =
      calibrisk::residual_walk(as_vector(prob), as_vector(weight), as_vector(sum_d), ties);
  const calibrisk::WalkExtremes own = calibrisk::walk_extremes(walk.walk, walk.time);
  calibrisk::Matrix all(times + 1, 4);
  all.row(0) << own.end, own.largest, own.range, own.bridge;
  all.bottomRows(times) =
      calibrisk::cumulative_draws(engine, as_vector(prob), as_vector(weight), ties, walk.time,
                                  walk.scale, times, static_cast<std::uint64_t>(seed));
  const auto column = [&](Eigen::Index k) -> calibrisk::Vector { return all.col(k); };
  const calibrisk::WalkPlaces at = calibrisk::walk_places(walk);
  return named_list(
      {{"extremes",
        static_cast<SEXP>(named_list(
            {{"end", column(0)},
             {"largest", column(1)},
             {"range", column(2)},
             {"bridge", column(3)},
             {"tail", calibrisk::Vector(column(3).unaryExpr(&calibrisk::log_kolmogorov_tail))}}))},
       {"walk", static_cast<SEXP>(named_list({{"place", walk.place},
                                              {"walk", walk.walk},
                                              {"time", walk.time},
                                              {"scale", walk.scale}}))},
       {"at", static_cast<SEXP>(
                  named_list({{"ks", at.largest}, {"bridge", at.bridge}, {"kuiper", at.range}}))}});
}
