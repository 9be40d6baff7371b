// SPDX-License-Identifier: GPL-3.0-or-later
#include "interrupt.h"
#include "r_engine.h"
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/states/cell_rule.h>
#include <calibrisk/states/sums.h>

namespace {

// Sums as R holds them: a column of sums, a column of what rounding took.
calibrisk::PairedSums sums_of(Rcpp::NumericMatrix& x) {
  calibrisk::require(x.ncol() == 2, "Sums have two columns.");
  return calibrisk::PairedSums(x.begin(), x.begin() + x.nrow(), x.nrow());
}

calibrisk::CellEdges edges_of(const Rcpp::NumericVector& edges) {
  return calibrisk::CellEdges(edges.begin(), edges.size());
}

// task(row) for the rows of a chunk; `part` counts from 0, no weights are weights of 1.
template <class Task>
Rcpp::NumericMatrix add_rows(const Rcpp::NumericMatrix& before, const Rcpp::NumericVector& x,
                             const Rcpp::IntegerVector& y, const Rcpp::IntegerVector& part,
                             const Rcpp::NumericVector& weights, const Task& task) {
  calibrisk::require(x.size() == y.size() && x.size() == part.size() &&
                         (weights.size() == 0 || weights.size() == x.size()),
                     "Every row has an outcome, a part and a weight.");
  Rcpp::NumericMatrix out = Rcpp::clone(before);
  calibrisk::PairedSums sums = sums_of(out);
  for (R_xlen_t i = 0; i < x.size(); ++i) {
    task(sums, calibrisk::StateRow{x[i], y[i], part[i], weights.size() == 0 ? 1.0 : weights[i]});
  }
  sums.tidy();
  return out;
}

}  // namespace

// The sums of a state with those of the rows of a chunk, one by one (inst/include/calibrisk/states/
// sums.h): moments of cells, scores.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_moments(Rcpp::NumericMatrix sums, Rcpp::NumericVector edges, int m,
                                    Rcpp::NumericVector x, Rcpp::IntegerVector y,
                                    Rcpp::IntegerVector part, Rcpp::NumericVector weights) {
  const calibrisk::CellEdges cells = edges_of(edges);
  return add_rows(sums, x, y, part, weights,
                  [&](calibrisk::PairedSums& to, const calibrisk::StateRow& row) {
                    calibrisk::add_moments(to, cells, m, row);
                  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_scores(Rcpp::NumericMatrix sums, Rcpp::NumericVector x,
                                   Rcpp::IntegerVector y, Rcpp::IntegerVector part,
                                   Rcpp::NumericVector weights) {
  return add_rows(sums, x, y, part, weights,
                  [](calibrisk::PairedSums& to, const calibrisk::StateRow& row) {
                    calibrisk::add_scores(to, row);
                  });
}

// Products of two columns of x.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_products(Rcpp::NumericMatrix before, Rcpp::NumericMatrix x,
                                     Rcpp::IntegerVector part) {
  calibrisk::require(x.nrow() == part.size(), "Every row has a part.");
  Rcpp::NumericMatrix out = Rcpp::clone(before);
  calibrisk::PairedSums sums = sums_of(out);
  std::vector<double> row(static_cast<std::size_t>(x.ncol()));
  for (int i = 0; i < x.nrow(); ++i) {
    for (int j = 0; j < x.ncol(); ++j) row[static_cast<std::size_t>(j)] = x(i, j);
    calibrisk::add_squares(sums, row, part[i]);
    if (i % 1024 == 1023) check_interrupt();
  }
  sums.tidy();
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_add_sums(Rcpp::NumericMatrix a, Rcpp::NumericMatrix b) {
  Rcpp::NumericMatrix out = Rcpp::clone(a);
  sums_of(out).add(sums_of(b));
  return out;
}

// Whether they can be m moments of every cell and outcome (m = 0: any sums), all finite.
// [[Rcpp::export(rng = false)]]
bool cpp_are_sums(Rcpp::NumericMatrix sums, int m) {
  if (sums.ncol() != 2) return false;
  if (m > 0) {
    return calibrisk::are_moments(sums.begin(), sums.begin() + sums.nrow(), sums.nrow(), m);
  }
  return std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); });
}

// A number in [0, 1) for each id, scattered.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_id_units(SEXP ids) {
  if (TYPEOF(ids) == REALSXP) {
    Rcpp::NumericVector out(Rf_xlength(ids));
    for (R_xlen_t i = 0; i < out.size(); ++i) {
      out[i] = calibrisk::unit_of(
          calibrisk::mix_bits(calibrisk::counter_step + calibrisk::bits_of(REAL(ids)[i])));
    }
    return out;
  }
  const Rcpp::CharacterVector words(ids);
  Rcpp::NumericVector out(words.size());
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    std::uint64_t key = calibrisk::counter_step;
    for (const char* c = CHAR(STRING_ELT(words, i)); *c != 0; ++c) {
      key = calibrisk::mix_bits(key * 3 + static_cast<unsigned char>(*c));
    }
    out[i] = calibrisk::unit_of(key);
  }
  return out;
}

// The rows that stand for those of several groups of rows, by columns: group (from 1), value,
// count. `moments`: [m x groups], of the place of a value between `low` and `high`. Values are
// above `above` and at most `most`, rounding notwithstanding.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_group_rows(Rcpp::NumericVector low, Rcpp::NumericVector high,
                                   Rcpp::NumericVector above, Rcpp::NumericVector most,
                                   Rcpp::NumericVector moments, int m, int nodes) {
  const R_xlen_t groups = low.size();
  calibrisk::require(m >= 1 && nodes >= 0 && 2 * nodes <= m && moments.size() == m * groups &&
                         high.size() == groups && above.size() == groups && most.size() == groups,
                     "Moments must have the shape of their groups.");
  std::vector<double> group, x, count;
  for (R_xlen_t g = 0; g < groups; ++g) {
    const double* moment = moments.begin() + g * m;
    if (!(moment[0] > 0.0)) continue;
    const double half = (high[g] - low[g]) / 2.0, middle = (high[g] + low[g]) / 2.0;
    const double lowest = std::nextafter(above[g], most[g]);
    const calibrisk::CellRule rule = calibrisk::cell_rule(worker_algebra(), moment, nodes);
    for (calibrisk::Index q = 0; q < rule.node.size(); ++q) {
      group.push_back(static_cast<double>(g) + 1.0);
      x.push_back(std::min(std::max(middle + half * rule.node(q), lowest), most[g]));
      count.push_back(rule.count(q));
    }
  }
  const auto n = static_cast<int>(x.size());
  Rcpp::NumericMatrix out(n, 3);
  std::copy(group.begin(), group.end(), out.begin());
  std::copy(x.begin(), x.end(), out.begin() + n);
  std::copy(count.begin(), count.end(), out.begin() + 2 * n);
  return out;
}
