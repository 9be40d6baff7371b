// SPDX-License-Identifier: GPL-3.0-or-later
// Cox's regressions of redrawn outcomes.
#include "r_engine.h"
#include <calibrisk/classical/cox_redraws.h>

#include <algorithm>
#include <vector>

using calibrisk::Vector;

// Columns of Cox's regressions with robust errors (as cpp_cox() has them), whose p-values and
// limits are those of redrawn outcomes too (classical/cox_redraws.h): the larger p-values and the
// wider limits. `p`: predictions, `z`: logits.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_cox_redrawn(Rcpp::List columns, Rcpp::NumericVector p, Rcpp::NumericVector z,
                           Rcpp::NumericVector weight, Rcpp::NumericVector copies, double level,
                           int redraws, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  Rcpp::List out = Rcpp::clone(columns);
  const Rcpp::NumericVector value = field(out, ".estimate"), error = field(out, "std.error");
  Rcpp::NumericVector low = field(out, "conf.low"), high = field(out, "conf.high"),
                      p_value = field(out, "p.value");
  const std::array<double, 4> t = {value[0] / error[0], (value[1] - 1.0) / error[1],
                                   value[2] / error[2], value[3]};
  const double tail = calibrisk::rejected_level(level) / 2.0;
  std::vector<double> row_p, row_z, row_weight;
  for (R_xlen_t i = 0; i < p.size(); ++i) {
    const double of_row = copies.size() > 0 ? copies[i] : 1.0;
    for (double copy = 0.0; copy < of_row; ++copy) {
      row_p.push_back(p[i]);
      row_z.push_back(z[i]);
      row_weight.push_back(weight[i] / of_row);
    }
  }
  const auto vector = [](const std::vector<double>& v) -> Vector {
    return Eigen::Map<const Vector>(v.data(), static_cast<Eigen::Index>(v.size()));
  };
  const Vector each = vector(row_weight) / vector(row_weight).mean();
  const calibrisk::CoxLaw law =
      calibrisk::cox_law(engine, vector(row_p), vector(row_z), each, t, tail, redraws);
  for (int k = 0; k < 4; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (law.p[at] > p_value[k]) p_value[k] = law.p[at];  // not of NA
    if (k == 3) continue;
    low[k] = std::min(low[k], value[k] - error[k] * law.below[at]);
    high[k] = std::max(high[k], value[k] + error[k] * law.above[at]);
  }
  return out;
}
