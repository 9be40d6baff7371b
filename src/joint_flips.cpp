// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/joint/class_flips.h>
#include <calibrisk/joint/flips.h>

namespace {

Rcpp::List wrap_flips(const calibrisk::FlipResult& found) {
  return named_list({{"p.value", found.p_value},
                     {"statistic", found.statistic},
                     {"low", found.low},
                     {"least", found.least},
                     {"clusters", static_cast<double>(found.clusters)},
                     {"flips", static_cast<double>(found.flips)},
                     {"parts", found.parts},
                     {"weighted", found.weighted},
                     {"lows", found.lows},
                     {"classes", found.events},
                     {"signs", found.signs}});
}

}  // namespace

// The test of sign flips and the lower limit that agrees with it. `weights`, `copies` and `cluster`
// (1..C) may be empty, and so may `knots`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_joint_flips(Rcpp::NumericVector p, Rcpp::NumericVector outcomes,
                           Rcpp::NumericVector weights, Rcpp::NumericVector copies,
                           Rcpp::IntegerVector cluster, Rcpp::List knots, double level, int redraws,
                           int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const calibrisk::JointRows rows = calibrisk::joint_rows(as_vector(p), as_vector(weights),
                                                          as_vector(copies), as_vector(outcomes));
  const calibrisk::FlipResult found = calibrisk::joint_flips(
      engine, rows, rows.residuals(as_vector(outcomes)), Rcpp::as<std::vector<int>>(cluster),
      Rcpp::as<std::vector<std::vector<double>>>(knots), redraws, calibrisk::rejected_level(level));
  return wrap_flips(found);
}

// The same of more than two classes, from rows with labels (1..K).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_class_flips(Rcpp::NumericMatrix p, Rcpp::IntegerVector labels,
                           Rcpp::NumericVector weights, Rcpp::IntegerVector cluster, bool canonical,
                           double level, int redraws, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  return wrap_flips(calibrisk::class_flips(
      engine, as_matrix(p), Rcpp::as<calibrisk::Labels>(labels), as_vector(weights),
      Rcpp::as<std::vector<int>>(cluster), canonical, redraws, calibrisk::rejected_level(level)));
}

// Class-wise from the rows of each class: a list of x, y, count and cluster (1..C), and knots. Each
// stands for `rows` rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_class_sums_flips(Rcpp::List classes, double rows, double level, int redraws,
                                int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  std::vector<calibrisk::FlipEvent> events(static_cast<std::size_t>(classes.size()));
  for (std::size_t k = 0; k < events.size(); ++k) {
    const Rcpp::List one = classes[static_cast<R_xlen_t>(k)];
    const Rcpp::NumericVector x = field(one, "x"), y = field(one, "y"), count = field(one, "count");
    calibrisk::FlipEvent& event = events[k];
    event.number = static_cast<int>(k) + 1;
    event.rows =
        calibrisk::joint_rows(as_vector(x), as_vector(count), calibrisk::Vector(), as_vector(y));
    event.effective = rows;
    event.e = event.rows.residuals(as_vector(y));
    event.cluster = Rcpp::as<calibrisk::Labels>(field(one, "cluster"));
    event.knots = Rcpp::as<std::vector<std::vector<double>>>(field(one, "knots"));
  }
  return wrap_flips(calibrisk::class_flips(engine, std::move(events), nullptr, nullptr, 1.0,
                                           redraws, calibrisk::rejected_level(level)));
}
