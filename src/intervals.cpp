// SPDX-License-Identifier: GPL-3.0-or-later
// Values cut into intervals: bins of equal width or of equal mass, their sums and bounds, pools.
#include "interrupt.h"
#include "r_engine.h"
#include "row_numbers.h"
#include <calibrisk/classical/bin_rows.h>
#include <calibrisk/classical/class_widths.h>
#include <calibrisk/classical/crossfit_bound.h>
#include <calibrisk/classical/group_law.h>
#include <calibrisk/classical/group_redraws.h>
#include <calibrisk/classical/monotone_bins.h>
#include <calibrisk/classical/outcome_weights.h>
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/classical/simplex_bins.h>
#include <calibrisk/classical/sorted_rows.h>
#include <calibrisk/classical/width_cells.h>

#include <Rmath.h>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace {
std::size_t size_of(R_xlen_t n) { return static_cast<std::size_t>(n); }

Rcpp::List bin_list(const calibrisk::BinTable& bins) {
  return named_list({{"copies", bins.copies},
                     {"size", bins.size},
                     {"gap", bins.gap},
                     {"accuracy", bins.accuracy},
                     {"spread", bins.spread},
                     {"concentration", bins.concentration}});
}

calibrisk::BinTable as_bins(const Rcpp::List& bins) {
  const auto column = [&](const char* name) -> calibrisk::Vector {
    return as_vector(Rcpp::NumericVector(field(bins, name)));
  };
  return {column("copies"),   column("size"),   column("gap"),
          column("accuracy"), column("spread"), column("concentration")};
}

// The rows of R's sorted problem (R/row-sorted.R).
struct SortedRows {
  explicit SortedRows(const Rcpp::List& sorted)
      : n(Rcpp::NumericVector(field(sorted, "d")).size()),
        sums{column(sorted, "sum_d"),
             column(sorted, "sum_d2"),
             column(sorted, "sum_y"),
             column(sorted, "d"),
             nullptr,
             column(sorted, "w"),
             column(sorted, "w2"),
             column(sorted, "sum_w"),
             column(sorted, "sum_w2"),
             column(sorted, "sum_copies")} {
    // which may be integers, of which a copy is made
    if (sums.w != nullptr) sums.y = column(sorted, "y");
  }

  // of certain predictions that came true 0 without weights: they leave differences as they are
  calibrisk::Vector predictions() const {
    calibrisk::Vector out(n);
    for (R_xlen_t i = 0; i < n; ++i) {
      const double d = sums.d[i];
      out(i) = sums.y != nullptr ? d + sums.y[i] : d < 0.0 ? 1.0 + d : d;
    }
    return out;
  }
  calibrisk::Vector copies() const {
    calibrisk::Vector out(sums.sum_copies == nullptr ? 0 : n);
    for (R_xlen_t i = 0; i < out.size(); ++i) {
      out(i) = sums.sum_copies[i] - (i > 0 ? sums.sum_copies[i - 1] : 0.0);
    }
    return out;
  }
  std::vector<calibrisk::Index> used(const Rcpp::NumericVector& ends) const {
    const auto out = calibrisk::used_ends(ends.begin(), ends.size());
    calibrisk::require(!out.empty() && out.back() <= n, "Bins end at rows.");
    return out;
  }

  R_xlen_t n;
  std::vector<Rcpp::NumericVector> kept;
  calibrisk::SortedSums sums;

 private:
  const double* column(const Rcpp::List& sorted, const char* name) {
    if (!has_field(sorted, name) || Rf_isNull(sorted[name])) return nullptr;
    kept.emplace_back(static_cast<SEXP>(sorted[name]));
    calibrisk::require(kept.back().size() == n, "Sorted rows have a value each.");
    return kept.back().begin();
  }
};

Rcpp::List bound_list(const calibrisk::CellBound& bound) {
  return named_list({{"mean", bound.mean},
                     {"squares", bound.squares},
                     {"known", bound.known},
                     {"slope", bound.slope},
                     {"offset", bound.offset}});
}
}  // namespace

// For each number of bins of equal width those that have rows, of rows that count 1 each, and their
// cross-fitted bound, which is NULL where `fold` is empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_width_cells(Rcpp::NumericVector x, Rcpp::IntegerVector y, Rcpp::IntegerVector fold,
                           std::vector<int> n_bins, int n_folds, double p) {
  const bool folded = fold.size() > 0;
  if (y.size() != x.size() || (folded && fold.size() != x.size())) {
    Rcpp::stop("width_cells: one outcome and fold per row.");
  }
  if (!folded) n_folds = 1;
  const calibrisk::WidthBins width(n_bins);
  const auto cells = calibrisk::width_cells(x.begin(), y.begin(), folded ? fold.begin() : nullptr,
                                            size_of(x.size()), width, n_folds);
  Rcpp::List out;
  for (const int count : n_bins) {
    const calibrisk::WidthSums sums = calibrisk::width_sums(
        calibrisk::cells_of_bins(cells, width, count, n_folds), count, n_folds);
    const calibrisk::BinTable bins = sums.bins();
    Rcpp::RObject bound;
    if (folded) bound = bound_list(sums.bound(bins, p));
    out.push_back(named_list({{"bins", bin_list(bins)}, {"bound", static_cast<SEXP>(bound)}}));
  }
  return out;
}

// The mean over the classes of the errors of bins of equal width, and of their bounds, with the
// influence of each row; of rows that count 1 each.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_class_widths(SEXP probs, Rcpp::IntegerVector truth, Rcpp::IntegerVector fold,
                            int n_bins, int n_folds, double p) {
  const auto p_of = matrix_view(probs);
  const R_xlen_t n = p_of.rows();
  if (truth.size() != n || fold.size() != n) Rcpp::stop("class_widths: a label and fold per row.");
  Rcpp::NumericVector rows(n), bound_rows(n);
  const auto mean = calibrisk::class_widths(p_of.data(), truth.begin(), fold.begin(), size_of(n),
                                            p_of.cols(), n_bins, n_folds, p, rows.begin(),
                                            bound_rows.begin(), check_interrupt);
  return named_list({{"power", mean.power},
                     {"noise", mean.noise},
                     {"bound", mean.bound},
                     {"known", mean.known},
                     {"n_bins", mean.n_bins},
                     {"rows", static_cast<SEXP>(rows)},
                     {"bound_rows", static_cast<SEXP>(bound_rows)}});
}

// The error of bins among rows of weight n, with the terms of its variance and influence; `pairs`:
// of one without its noise, whose limits are those of a mean over pairs (R/influence.R).
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bin_terms(Rcpp::List bins, double n, double p, bool debias) {
  const calibrisk::BinTable table = as_bins(bins);
  const calibrisk::BinTerms terms = calibrisk::bin_terms(table, n, p, debias);
  const double squares = calibrisk::squares_about(terms, terms.power) + terms.within;
  Rcpp::RObject pairs;
  if (debias && terms.noise > 0.0) {
    const calibrisk::BinPairs of = calibrisk::bin_pairs(table, terms);
    pairs = named_list({{"value", terms.power},
                        {"trace", of.trace},
                        {"known", of.known},
                        {"known_trace", of.known_trace}});
  }
  return named_list({{"power", terms.power},
                     {"squares", n * squares},
                     {"noise", terms.noise},
                     {"lone", terms.lone},
                     {"pairs", static_cast<SEXP>(pairs)},
                     {"offset", terms.offset},
                     {"slope", terms.slope}});
}

// The bins of sorted rows that end at these, and the ends of those that have rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_bin_table(Rcpp::List sorted, Rcpp::NumericVector ends) {
  const SortedRows rows(sorted);
  const auto used = rows.used(ends);
  Rcpp::List out = bin_list(calibrisk::bins_of_rows(rows.sums, used, 0));
  out.push_front(Rcpp::IntegerVector(used.begin(), used.end()), "ends");
  return out;
}

namespace {

// The p-value from the exact distribution given the predictions, of rows in groups that end there;
// `terms` are the groups' parts of the statistic, `variances` their divisors.
double few_events_p(const calibrisk::Vector& prob, const calibrisk::Vector& copies,
                    const std::vector<calibrisk::Index>& ends, const calibrisk::Vector& terms,
                    const calibrisk::Vector& variances) {
  calibrisk::RoundedSum sum(terms);
  const auto counts = calibrisk::bin_counts(prob, copies, calibrisk::groups_of_rows(ends),
                                            static_cast<int>(ends.size()));
  for (std::size_t g = 0; g < ends.size(); ++g) {
    const double variance = variances(static_cast<calibrisk::Index>(g));
    if (variance > 0.0) sum.add(calibrisk::deviations(counts[g]), 1.0 / variance);
  }
  return sum.p_value();
}

}  // namespace

// The statistic of Hosmer and Lemeshow, the sum of (O - E)^2 / V over groups of sorted rows, its
// p-value, degrees of freedom and the number of groups. V is N p (1 - p) where all rows count 1,
// with sums of w^2 of weights, which may depend on the outcome. A group of certain predictions that
// all came true adds nothing. The p-value is not that of chi-squared, which has no degrees of
// freedom then, where a group is expected to have less than one event or one other row, or less
// than five on average, and the predictions alone tell the distribution: exactly, or of weights by
// redrawn outcomes.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_hosmer(Rcpp::List sorted, Rcpp::NumericVector ends, bool weighted,
                               bool fitted, int threads) {
  const SortedRows rows(sorted);
  const auto used = rows.used(ends);
  const calibrisk::BinTable bins = calibrisk::bins_of_rows(rows.sums, used, 0);
  const calibrisk::Vector prob = rows.predictions();
  const double k = weighted
                       ? calibrisk::outcome_weight_ratio(size_of(rows.n), prob.data(), rows.sums.y,
                                                         rows.sums.w, rows.sums.w2)
                       : 1.0;
  const calibrisk::Index n = bins.size.size();
  calibrisk::Vector terms = calibrisk::Vector::Zero(n), variances(n), few(n);
  for (calibrisk::Index b = 0; b < n; ++b) {
    const double share = bins.accuracy(b) + bins.gap(b), difference = bins.size(b) * bins.gap(b);
    const double squares = bins.size(b) * bins.size(b) * bins.concentration(b);
    variances(b) = calibrisk::group_variance(share, squares, k);
    few(b) = std::min(share, 1.0 - share) / bins.concentration(b);
    if (std::abs(difference) < 1e-12 * bins.size(b)) continue;
    terms(b) = difference * difference / variances(b);
  }
  const auto groups = static_cast<double>(n);
  const double statistic = calibrisk::exact_sum(n, [&](calibrisk::Index b) { return terms(b); });
  if (!fitted && (few.minCoeff() < 1.0 || few.mean() < 5.0)) {
    if (!std::isfinite(statistic)) return {statistic, 0.0, NA_REAL, groups};
    REngine host(threads);
    const double p = weighted ? calibrisk::redrawn_groups_p(host, {prob, rows.copies(), used, k},
                                                            rows.sums.y, rows.sums.w, statistic)
                              : few_events_p(prob, rows.copies(), used, terms, variances);
    return {statistic, p, NA_REAL, groups};
  }
  const double df = std::max(groups - (fitted ? 2.0 : 0.0), 1.0);
  return {statistic, R::pchisq(statistic, df, 0, 0), df, groups};
}

// The error of very many bins of sorted rows, `at_once` of them at a time.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_blocks_power(Rcpp::List sorted, Rcpp::NumericVector ends, double p, bool debias,
                            int at_once) {
  const SortedRows rows(sorted);
  const auto power = calibrisk::power_in_blocks(rows.sums, rows.used(ends), p, debias, at_once);
  return named_list({{"power", power.power},
                     {"squares", power.squares},
                     {"noise", power.noise},
                     {"lone", power.lone}});
}

// The cross-fitted bounds of these bins of sorted rows, one for each number of bins, with the folds
// of the rows in the order of the data.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_sorted_bounds(Rcpp::List sorted, Rcpp::IntegerVector fold, Rcpp::List tables,
                             double p) {
  const SortedRows rows(sorted);
  const auto [own, n_folds] = sorted_folds(fold, Rcpp::IntegerVector(field(sorted, "order")));
  calibrisk::require(fold.size() == rows.n, "sorted_bounds: one fold per row.");
  std::vector<std::vector<calibrisk::Index>> ends;
  for (SEXP table : tables) {
    ends.push_back(rows.used(Rcpp::NumericVector(field(Rcpp::List(table), "ends"))));
  }
  const auto cells = calibrisk::fold_sums(rows.sums.d, rows.sums.w, own.data(), n_folds, ends);
  Rcpp::List out(tables.size());
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const auto& [size, d, d2] = cells[k];
    const auto at = static_cast<R_xlen_t>(k);
    out[at] = bound_list(calibrisk::cell_bound(size, d, d2, as_bins(tables[at]), p));
  }
  return out;
}

namespace {

calibrisk::Vector counts_or_none(const Rcpp::Nullable<Rcpp::NumericVector>& copies) {
  return copies.isNull() ? calibrisk::Vector() : calibrisk::Vector(as_vector(copies.get()));
}

}  // namespace

// Cells of the simplex by splits at medians, from 1.
// [[Rcpp::export(rng = false)]]
std::vector<int> cpp_median_cells(Rcpp::NumericMatrix probs, int least,
                                  Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  return calibrisk::median_variance_cells(as_matrix(probs), least, counts_or_none(copies));
}

// The power of the binned error of whole probability vectors, the influence of its rows, and with
// folds (else empty) the gaps of the others, or slopes where p is infinite.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_simplex_errors(Rcpp::NumericMatrix probs, Rcpp::NumericMatrix residuals,
                              std::vector<int> cell, std::vector<int> fold, Rcpp::NumericVector w,
                              double p, bool debias,
                              Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
  calibrisk::require(fold.empty() || fold.size() == cell.size(), "A row has a cell and a fold.");
  const calibrisk::SimplexErrors of =
      calibrisk::SimplexBins(as_matrix(probs), as_matrix(residuals), cell, as_vector(w),
                             counts_or_none(copies))
          .errors(p, debias, fold);
  return named_list({{"value", of.value}, {"lone", of.lone}, {"rows", of.rows}, {"gaps", of.gaps}});
}

// `mean` and `squares` of the cross-fitted bound of bins that end at the rows `ends`. Residuals and
// weights (none: 1) are in the order of the bins; `order`: which rows of the data, those of `fold`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_crossfit_bound(Rcpp::NumericVector d, Rcpp::NumericVector w,
                              Rcpp::IntegerVector fold, Rcpp::IntegerVector order,
                              Rcpp::NumericVector ends, double p) {
  const auto n = size_of(d.size());
  const auto [own, n_folds] = sorted_folds(fold, order);
  if (own.size() != n || (w.size() > 0 && size_of(w.size()) != n)) {
    Rcpp::stop("crossfit_bound: one weight, fold and place per row.");
  }
  std::vector<std::size_t> last(size_of(ends.size()));
  for (std::size_t b = 0; b < last.size(); ++b) {
    last[b] = static_cast<std::size_t>(ends[static_cast<R_xlen_t>(b)]);
    if (last[b] > n) Rcpp::stop("crossfit_bound: a bin ends beyond the rows.");
  }
  const auto found = calibrisk::crossfit_bound(d.begin(), w.size() > 0 ? w.begin() : nullptr,
                                               own.data(), last, static_cast<int>(n_folds), p);
  return named_list({{"mean", found.mean}, {"squares", found.squares}, {"known", found.known}});
}

// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_intervals(Rcpp::NumericVector x, std::vector<double> edges, int threads) {
  REngine engine(threads);
  Rcpp::IntegerVector out(Rcpp::no_init(x.size()));
  int* to = out.begin();
  calibrisk::for_intervals(engine, x.begin(), x.size(), edges,
                           [to](calibrisk::Index i, int interval) { to[i] = interval; });
  return out;
}

// slope d + offset of each row, those of its cell: intervals that have rows, of each fold. `slope`
// and `offset` have a column for each fold; without folds there is one.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_interval_terms(Rcpp::NumericVector x, Rcpp::NumericVector d,
                                       std::vector<double> edges, Rcpp::IntegerVector fold,
                                       Rcpp::NumericVector slope, Rcpp::NumericVector offset) {
  const R_xlen_t n = x.size();
  calibrisk::require(d.size() == n && (fold.size() == n || fold.size() == 0),
                     "interval_terms: a residual and a fold for each row.");
  const Rcpp::IntegerVector interval = cpp_intervals(x, edges, 1);
  std::vector<R_xlen_t> cell(edges.size() + 2, 0);
  for (const int at : interval) cell[static_cast<std::size_t>(at)] = 1;
  std::partial_sum(cell.begin(), cell.end(), cell.begin());
  const R_xlen_t cells = cell.back();
  calibrisk::require(slope.size() == offset.size(), "interval_terms: terms of the cells.");
  Rcpp::NumericVector out(Rcpp::no_init(n));
  for (R_xlen_t i = 0; i < n; ++i) {
    const R_xlen_t before = fold.size() == 0 ? 0 : cells * (fold[i] - 1);
    const R_xlen_t at = before + cell[static_cast<std::size_t>(interval[i])] - 1;
    calibrisk::require(at >= 0 && at < slope.size(), "interval_terms: terms of the cells.");
    out[i] = offset[at] + slope[at] * d[i];
  }
  return out;
}

// The values of their intervals, one column.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_interval_values(Rcpp::NumericVector x, std::vector<double> edges,
                                        std::vector<double> values, int threads) {
  if (values.size() != edges.size() + 1) Rcpp::stop("interval_values: one value per interval.");
  REngine engine(threads);
  Rcpp::NumericMatrix out(Rcpp::no_init(x.size(), 1));
  double* to = out.begin();
  calibrisk::for_intervals(engine, x.begin(), x.size(), edges,
                           [&](calibrisk::Index i, int interval) {
                             to[i] = values[static_cast<std::size_t>(interval) - 1];
                           });
  return out;
}

// Number of equal-mass bins that the monotone sweep chooses; sum_w, sum_y: cumulative weights of
// the rows and of the successes, NULL where all rows count the same; `copies` of all of these.
// [[Rcpp::export(rng = false)]]
double cpp_sweep_bins(Rcpp::IntegerVector y, Rcpp::IntegerVector tie_ends,
                      Rcpp::Nullable<Rcpp::NumericVector> sum_w,
                      Rcpp::Nullable<Rcpp::NumericVector> sum_y, double copies) {
  using namespace calibrisk;
  const std::size_t blocks = size_of(tie_ends.size());
  if (sum_w.isNull()) {
    const CountedRows rows(y.begin(), y.size(), tie_ends.begin(), blocks);
    return static_cast<double>(MonotoneSweep<CountedRows>(rows, y.begin()).run());
  }
  const Rcpp::NumericVector w(sum_w), ones(sum_y);
  if (w.size() != y.size() || ones.size() != y.size()) Rcpp::stop("sweep: one sum per row.");
  const WeightedRows rows(w.begin(), ones.begin(), y.size(), static_cast<std::int64_t>(copies),
                          tie_ends.begin(), blocks);
  return static_cast<double>(MonotoneSweep<WeightedRows>(rows, y.begin()).run());
}
