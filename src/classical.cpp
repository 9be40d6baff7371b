// SPDX-License-Identifier: GPL-3.0-or-later
// The linear-time passes of the classical calibration errors.
#include "as_source.h"
#include "r_engine.h"
#include "row_numbers.h"
#include <calibrisk/classical/cumulative.h>
#include <calibrisk/classical/falling_trend.h>
#include <calibrisk/classical/group_scores.h>
#include <calibrisk/classical/mmce.h>
#include <calibrisk/math/known_null.h>
#include <calibrisk/math/roots.h>

#include <Rmath.h>
#include <algorithm>
#include <cmath>

using calibrisk::Vector;

namespace {

// Pair sums (classical/mmce.h) of sorted rows in the order of the data, times a scale of the
// kernel.
Rcpp::List sums_of_sorted(const calibrisk::ConstVectorRef& x, const calibrisk::ConstVectorRef& d,
                          const std::vector<int>& order, const Rcpp::List& design, bool apart,
                          double bandwidth, double scale) {
  const auto given = [&](const char* name) {
    if (!has_field(design, name) || Rf_isNull(field(design, name))) return Vector();
    return in_sorted_order(as_vector(Rcpp::NumericVector(field(design, name))), order);
  };
  const Vector cluster = given("cluster");
  const auto sums = calibrisk::mmce_sums(
      x, d, calibrisk::RowWeights(given("w"), given("copies")),
      calibrisk::RowClusters(calibrisk::Labels(cluster.data(), cluster.data() + cluster.size())),
      apart, bandwidth);
  const Rcpp::RObject across =
      sums.across.size() == 0
          ? Rcpp::RObject(R_NilValue)
          : Rcpp::RObject(wrap_vector(in_data_order(scale * sums.across, order)));
  return named_list({{"off_diagonal", in_data_order(scale * sums.off_diagonal, order)},
                     {"diagonal", in_data_order(scale * sums.diagonal, order)},
                     {"across", static_cast<SEXP>(across)},
                     {"squares", scale * scale * sums.squares},
                     {"known", scale * scale * sums.known},
                     {"trace", scale * sums.trace}});
}

// P(max |B(t)| > x) of a Brownian motion on [0, 1]: by reflection, and where that converges slowly,
// for small x, by the eigenfunctions of the heat equation.
double largest_motion_tail(double x) {
  if (std::isnan(x) || x == 0.0) return x == 0.0 ? 1.0 : NA_REAL;
  long double sum = 0.0L;
  for (int j = 0; j <= 20; ++j) {
    const double odd = 2.0 * j + 1.0, sign = j % 2 == 0 ? 1.0 : -1.0, rate = odd * M_PI / x;
    sum += x > 1.0 ? sign * R::pnorm(-odd * x, 0.0, 1.0, 1, 0)
                   : sign / odd * std::exp(-rate * rate / 8.0);
  }
  const auto total = static_cast<double>(sum);
  return x > 1.0 ? std::min(1.0, 4.0 * total) : 1.0 - 4.0 / M_PI * total;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
double cpp_motion_tail(double x) { return largest_motion_tail(x); }

// The least x with value - x <= c sd(x), for the c that the largest value of a Brownian motion is
// beyond with probability 1 - level.
// [[Rcpp::export(rng = false)]]
double cpp_motion_limit(double value, double known, double estimated, double level) {
  const double c = calibrisk::bracketed_root(
      [&](double x) { return largest_motion_tail(x) - (1.0 - level); }, 1e-3, 40.0, 1e-13);
  return calibrisk::known_null_limit(value, {known, estimated}, [c](double) { return c; });
}

// The largest sum that residuals in the order of x can have before, in or after a cell between
// edges.
// [[Rcpp::export(rng = false)]]
double cpp_most_between(Rcpp::NumericVector x, Rcpp::NumericVector residuals,
                        std::vector<double> edges) {
  std::vector<double> up(edges.size() + 1, 0.0), down = up;
  for (R_xlen_t i = 0; i < x.size(); ++i) {
    const auto below = std::lower_bound(edges.begin(), edges.end(), x[i]) - edges.begin();
    const auto cell = static_cast<std::size_t>(std::max<std::ptrdiff_t>(below, 1));
    (residuals[i] > 0.0 ? up : down)[cell] += residuals[i];
  }
  double before = 0.0, most = 0.0;
  for (std::size_t k = 0; k < up.size(); ++k) {
    most = std::max({most, std::abs(before + up[k]), std::abs(before + down[k])});
    before += up[k] + down[k];
  }
  return most;
}

// Means of the rows' groups (from 1), or the CRPS of each row under the empirical distribution of
// its group.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_group_scores(Rcpp::NumericVector y, Rcpp::IntegerVector group,
                                     Rcpp::NumericVector w, bool crps) {
  const auto of = crps ? calibrisk::group_crps : calibrisk::group_means;
  return wrap_vector(of(as_vector(y), as_labels(group), as_vector(w)));
}

// Sums over pairs of the squared error (classical/mmce.h) of rows in the order of the data, from
// the sorted rows. `apart`: whether pairs of a cluster are left out.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_mmce_sums(Rcpp::List sorted, Rcpp::List design, bool apart, double bandwidth) {
  const Rcpp::NumericVector x = sorted["x"], d = sorted["d"];
  const auto order = Rcpp::as<std::vector<int>>(sorted["order"]);
  calibrisk::require(order.size() == static_cast<std::size_t>(x.size()), "mmce: an order of rows.");
  return sums_of_sorted(as_vector(x), as_vector(d), order, design, apart, bandwidth, 1.0);
}

// cpp_pair_sums() of two classes and a kernel that falls exponentially with the distance of their
// probabilities, by one sort; NULL for all others.
// [[Rcpp::export(rng = false)]]
SEXP cpp_line_sums(Rcpp::List prediction, Rcpp::List target, Rcpp::List design, bool apart) {
  const calibrisk::LinePair pair = as_line_pair(prediction, target);
  if (pair.bandwidth == 0.0 || !has_field(target, "own")) return R_NilValue;
  const auto features = as_matrix(Rcpp::NumericMatrix(field(prediction, "features")));
  const auto probs = as_matrix(Rcpp::NumericMatrix(field(target, "probs")));
  if (features.cols() != 2 || features.col(1) != probs.col(1)) return R_NilValue;
  const auto residuals = as_matrix(Rcpp::NumericMatrix(field(target, "residuals")));
  const auto x = features.col(1), d = residuals.col(1);
  const auto order = ascending_rows(static_cast<std::size_t>(x.size()), {x.data()});
  return sums_of_sorted(in_sorted_order(x, order), in_sorted_order(d, order), order, design, apart,
                        pair.bandwidth, pair.scale);
}

// The trends (classical/falling_trend.h) of every column of `probs` [n x classes], whose events are
// the rows labelled `classes`: [columns x 2]. `labels`: integers, or the outcomes of a single
// probability. `copies` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_falling_trends(SEXP probs, SEXP labels, std::vector<int> classes,
                                       Rcpp::NumericVector copies) {
  const auto n = static_cast<Eigen::Index>(Rf_xlength(labels));
  const auto of_classes = matrix_view(probs);
  if (n != of_classes.rows()) Rcpp::stop("falling_trends: one label per row.");
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
  // of rows that stand for several
  Rcpp::NumericVector copies;
  if (!Rf_isNull(sorted["sum_copies"])) {
    copies = Rcpp::clone(Rcpp::NumericVector(field(sorted, "sum_copies")));
    for (R_xlen_t i = copies.size() - 1; i > 0; --i) copies[i] -= copies[i - 1];
  }
  const auto ties = Rcpp::as<std::vector<int>>(sorted["ties"]);
  const auto walk = calibrisk::residual_walk(as_vector(prob), as_vector(weight), as_vector(sum_d),
                                             ties, as_vector(copies));
  const calibrisk::WalkExtremes own = calibrisk::walk_extremes(walk.walk, walk.time);
  calibrisk::Matrix all(times + 1, 4);
  all.row(0) << own.end, own.largest, own.range, own.bridge;
  all.bottomRows(times) = calibrisk::cumulative_draws(
      engine, as_vector(prob), as_vector(weight), ties, walk.time, walk.scale, times,
      static_cast<std::uint64_t>(seed), as_vector(copies));
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
