// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/joint/headline.h>

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
  std::vector<std::vector<double>> own;
  for (R_xlen_t m = 0; m < knots.size(); ++m) {
    own.push_back(Rcpp::as<std::vector<double>>(knots[m]));
  }
  const calibrisk::JointTest test(
      engine,
      calibrisk::joint_rows(as_vector(p), as_vector(weights), as_vector(copies),
                            y.cols() == 1 ? calibrisk::Vector(y.col(0)) : none),
      redraws, own);
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
                         {"psi", h.psi},
                         {"weighted", h.weighted}});
  }
  return out;
}
