// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include "wrap_flips.h"
#include <calibrisk/joint/class_flips.h>

// The test of sign flips of more than two classes, from rows with labels (1..K).
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
