// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
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
  calibrisk::Matrix groups(3, static_cast<calibrisk::Index>(upper.groups.size()));
  for (calibrisk::Index j = 0; j < groups.cols(); ++j) {
    const auto& group = upper.groups[static_cast<std::size_t>(j)];
    groups.col(j) << group.copies, group.failures, group.expected;
  }
  const calibrisk::BrierFacts& brier = upper.brier;
  const calibrisk::ConstantPrediction& exact = upper.exact;
  return named_list(
      {{"rungs", rungs},
       {"groups", groups},
       {"rows", std::vector<double>{upper.normal, upper.failures, upper.expected, upper.copies,
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
  const Rcpp::NumericMatrix groups(field(facts, "groups"));
  for (int j = 0; j < groups.ncol(); ++j) {
    out.groups.push_back({groups(0, j), groups(1, j), groups(2, j), rows.at(3)});
  }
  out.normal = rows.at(0);
  out.failures = rows.at(1);
  out.expected = rows.at(2);
  out.copies = rows.at(3);
  out.apart = rows.at(4);
  out.constant = rows.at(5) > 0.0;
  out.brier = {brier.at(0), brier.at(1), brier.at(2), brier.at(3), brier.at(4) > 0.0};
  out.exact = {exact.at(0), exact.at(1), exact.at(2)};
  return out;
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
      calibrisk::joint_rows(
          as_vector(p), as_vector(weights), as_vector(copies),
          y.cols() == 1 ? calibrisk::ConstVectorRef(y.col(0)) : calibrisk::ConstVectorRef(none)),
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
                         {"influence", h.influence},
                         {"resolution", static_cast<double>(test.parts().resolution)},
                         {"weights", h.weights},
                         {"lows", h.lows},
                         {"highs", h.highs},
                         {"upper", wrap_upper(h.upper)},
                         {"psi", h.psi},
                         {"weighted", h.weighted},
                         {"group", h.group}});
  }
  return out;
}
