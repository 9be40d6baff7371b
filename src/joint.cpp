// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/joint/class_flips.h>
#include <calibrisk/joint/class_test.h>
#include <calibrisk/joint/flips.h>
#include <calibrisk/joint/headline.h>

namespace {

// As numbers, which can be saved and sent to other processes.
Rcpp::List wrap_upper(const calibrisk::JointUpper& upper) {
  calibrisk::Matrix rungs(7, static_cast<calibrisk::Index>(upper.rungs.size()));
  for (calibrisk::Index m = 0; m < rungs.cols(); ++m) {
    const auto& rung = upper.rungs[static_cast<std::size_t>(m)];
    rungs.col(m) << rung.psi, rung.here.variance, rung.here.cube, rung.here.slope,
        rung.growth.variance, rung.growth.slope, rung.counts ? 1.0 : 0.0;
  }
  calibrisk::Matrix confident(3, static_cast<calibrisk::Index>(upper.confident.size()));
  for (calibrisk::Index j = 0; j < confident.cols(); ++j) {
    const auto& set = upper.confident[static_cast<std::size_t>(j)];
    confident.col(j) << set.draws, set.failures, set.expected;
  }
  const calibrisk::BrierFacts& brier = upper.brier;
  const calibrisk::ConstantPrediction& exact = upper.exact;
  return named_list(
      {{"rungs", rungs},
       {"confident", confident},
       {"rows", std::vector<double>{upper.normal, upper.failures, upper.expected, upper.draws,
                                    upper.apart, upper.constant ? 1.0 : 0.0}},
       {"brier", std::vector<double>{brier.mean, brier.variance, brier.slope, brier.size,
                                     brier.known ? 1.0 : 0.0}},
       {"exact", std::vector<double>{exact.p, exact.n, exact.events}}});
}

calibrisk::JointUpper as_upper(const Rcpp::List& facts) {
  const Rcpp::NumericMatrix rungs(field(facts, "rungs"));
  const std::vector<double> rows = numbers_field(facts, "rows");
  const std::vector<double> brier = numbers_field(facts, "brier");
  const std::vector<double> exact = numbers_field(facts, "exact");
  calibrisk::JointUpper out;
  for (int m = 0; m < rungs.ncol(); ++m) {
    out.rungs.push_back({rungs(0, m),
                         {rungs(1, m), rungs(2, m), rungs(3, m)},
                         {rungs(4, m), 0.0, rungs(5, m)},
                         rungs(6, m) > 0.0});
  }
  const Rcpp::NumericMatrix confident(field(facts, "confident"));
  for (int j = 0; j < confident.ncol(); ++j) {
    out.confident.push_back({confident(0, j), confident(1, j), confident(2, j), rows.at(3)});
  }
  out.normal = rows.at(0);
  out.failures = rows.at(1);
  out.expected = rows.at(2);
  out.draws = rows.at(3);
  out.apart = rows.at(4);
  out.constant = rows.at(5) > 0.0;
  out.brier = {brier.at(0), brier.at(1), brier.at(2), brier.at(3), brier.at(4) > 0.0};
  out.exact = {exact.at(0), exact.at(1), exact.at(2)};
  return out;
}

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

// Upper limits from the facts of cpp_joint(), each missed with the probability `tail`: of the
// calibration error at the resolution, and of the root Brier score.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_joint_upper(const Rcpp::List& facts, double tail) {
  const calibrisk::JointUpper upper = as_upper(facts);
  return Rcpp::NumericVector::create(upper.high(tail), upper.cap(tail));
}

// Headlines of a scalar notion, a column of `outcomes` (0 and 1) for each: a list of one row per
// outcome and what the predictions alone determine. `weights` and `copies` may be empty, and so may
// `knots`, those of the two rungs of hats.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_joint(Rcpp::NumericVector p, Rcpp::NumericMatrix outcomes,
                     Rcpp::NumericVector weights, Rcpp::NumericVector copies, Rcpp::List knots,
                     double level, int redraws, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto y = as_matrix(outcomes);
  const calibrisk::Vector none;
  const calibrisk::JointTest test(
      engine,
      calibrisk::joint_rows(as_vector(p), as_vector(weights), as_vector(copies),
                            y.cols() == 1 ? calibrisk::Vector(y.col(0)) : none),
      redraws, Rcpp::as<std::vector<std::vector<double>>>(knots));
  Rcpp::List out(y.cols());
  for (calibrisk::Index j = 0; j < y.cols(); ++j) {
    const calibrisk::Vector e = test.parts().rows.residuals(y.col(j));
    const calibrisk::JointHeadline h = test.headline(e, level);
    out[j] = named_list({{"estimate", h.estimate},
                         {"std.error", h.std_error},
                         {"low", h.low},
                         {"high", h.high},
                         {"lower_bound", h.lower_bound},
                         {"p.value", h.p_value},
                         {"statistic", h.statistic},
                         {"cap", h.cap},
                         {"square", h.square},
                         {"noise", h.noise},
                         {"half", h.half},
                         {"resolution", static_cast<double>(test.parts().resolution)},
                         {"weights", h.weights},
                         {"lows", h.lows},
                         {"highs", h.highs},
                         {"upper", wrap_upper(h.upper)},
                         {"psi", h.psi},
                         {"weighted", h.weighted}});
  }
  return out;
}

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
    event.draws = rows;
    event.e = event.rows.residuals(as_vector(y));
    event.cluster = Rcpp::as<calibrisk::Labels>(field(one, "cluster"));
    event.knots = Rcpp::as<std::vector<std::vector<double>>>(field(one, "knots"));
  }
  return wrap_flips(calibrisk::class_flips(engine, std::move(events), nullptr, nullptr, 1.0,
                                           redraws, calibrisk::rejected_level(level)));
}

// The joint test of more than two classes, for each set of `parts` (their numbers, from 0 on) a
// list with a result for each column of `labels` (1..K).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_class_test(Rcpp::NumericMatrix p, Rcpp::IntegerMatrix labels, Rcpp::List parts,
                          double level, int redraws, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto column = [&](int j) {
    return calibrisk::Labels(labels.begin() + j * labels.nrow(),
                             labels.begin() + (j + 1) * labels.nrow());
  };
  const calibrisk::ClassTest test(
      engine,
      calibrisk::class_rows(as_matrix(p), labels.ncol() == 1 ? column(0) : calibrisk::Labels()),
      redraws);
  Rcpp::List out = Rcpp::clone(parts);  // their names
  for (R_xlen_t s = 0; s < parts.size(); ++s) {
    const auto tested = Rcpp::as<std::vector<int>>(parts[s]);
    const calibrisk::JointLaw law = test.law(tested);
    Rcpp::List results(labels.ncol());
    for (int j = 0; j < labels.ncol(); ++j) {
      const calibrisk::ClassResult found =
          test.result(test.rows().labels(column(j)), tested, law, level);
      results[j] = named_list({{"p.value", found.p_value},
                               {"statistic", found.statistic},
                               {"low", found.low},
                               {"lows", found.lows},
                               {"weighted", found.weighted},
                               {"classes", found.classes},
                               {"signs", found.signs}});
    }
    out[s] = results;
  }
  return out;
}
