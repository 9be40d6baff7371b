// SPDX-License-Identifier: GPL-3.0-or-later
#include "r_engine.h"
#include <calibrisk/states/cell_rule.h>

// The rows that stand for those of all cells, by columns: value, outcome, count. `moments`: [m x 2
// x cells], of the rows with outcome 0 and 1.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_cell_rows(Rcpp::NumericVector edges, Rcpp::NumericVector moments, int m,
                                  int nodes) {
  const R_xlen_t cells = edges.size() - 1;
  calibrisk::require(moments.size() == 2 * m * cells && 2 * nodes <= m,
                     "Moments must have the shape of their cells.");
  std::vector<double> x, y, count;
  for (R_xlen_t c = 0; c < cells; ++c) {
    const double half = (edges[c + 1] - edges[c]) / 2.0, middle = (edges[c + 1] + edges[c]) / 2.0;
    for (int outcome = 0; outcome < 2; ++outcome) {
      const double* moment = moments.begin() + (2 * c + outcome) * m;
      if (!(moment[0] > 0.0)) continue;
      const calibrisk::CellRule rule = calibrisk::cell_rule(worker_algebra(), moment, nodes);
      for (calibrisk::Index q = 0; q < rule.node.size(); ++q) {
        x.push_back(middle + half * rule.node(q));
        y.push_back(outcome);
        count.push_back(rule.count(q));
      }
    }
  }
  const auto n = static_cast<int>(x.size());
  Rcpp::NumericMatrix out(n, 3);
  std::copy(x.begin(), x.end(), out.begin());
  std::copy(y.begin(), y.end(), out.begin() + n);
  std::copy(count.begin(), count.end(), out.begin() + 2 * n);
  return out;
}
