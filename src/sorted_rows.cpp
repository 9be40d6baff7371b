// SPDX-License-Identifier: GPL-3.0-or-later
// Rows in the order of a number: their prefix sums, and isotonic regression.
#include "r_values.h"
#include <calibrisk/classical/sorted_rows.h>

namespace {

// The weight of each row; null where there is none.
const double* weights_of(const Rcpp::Nullable<Rcpp::NumericVector>& w, R_xlen_t n) {
  if (w.isNull()) return nullptr;
  const auto values = vector_view(w.get());
  calibrisk::require(values.size() == n, "sorted_rows: one weight per row.");
  return values.data();
}

// task(outcomes) with a pointer to integers or doubles.
template <class Task>
auto with_outcomes(SEXP y, R_xlen_t n, const Task& task) {
  calibrisk::require(Rf_xlength(y) == n, "sorted_rows: one outcome per row.");
  if (TYPEOF(y) == INTSXP) return task(static_cast<const int*>(INTEGER(y)));
  calibrisk::require(TYPEOF(y) == REALSXP, "sorted_rows: outcomes are numbers.");
  return task(static_cast<const double*>(REAL(y)));
}

// Positions, counted from 0, of the rows sorted by x, y and w; `rows` and `other` have room for n
// doubles each.
template <class Outcome>
void write_order(const Rcpp::NumericVector& x, const Outcome* y, const double* w, double* rows,
                 double* other, int* order) {
  const auto n = static_cast<std::size_t>(x.size());
  calibrisk::RowOrder sorted(n, rows, other);
  calibrisk::sort_rows(sorted, x.begin(), y, w);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<int>(sorted[i]);
}

template <class Vector, class Value>
Vector in_order(const Value* values, const Rcpp::IntegerVector& order) {
  Vector out(Rcpp::no_init(order.size()));
  std::transform(order.begin(), order.end(), out.begin(), [&](int row) { return values[row]; });
  return out;
}

}  // namespace

// Rows by ascending x, equal ones by y and w: `order`, x, y, d = x - y and w in this order (as they
// are if `sorted`), the ends of the ties, and prefix sums of w d, w d^2 and w y.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_sorted_rows(Rcpp::NumericVector x, SEXP y, Rcpp::Nullable<Rcpp::NumericVector> w,
                           bool sorted) {
  const R_xlen_t n = x.size();
  const auto size = static_cast<std::size_t>(n);
  const double* weight = weights_of(w, n);
  return with_outcomes(y, n, [&](const auto* outcome) {
    using Outcome = std::decay_t<decltype(*outcome)>;
    using Outcomes =
        std::conditional_t<std::is_same_v<Outcome, int>, Rcpp::IntegerVector, Rcpp::NumericVector>;
    Rcpp::NumericVector sum_d(Rcpp::no_init(n)), sum_d2(Rcpp::no_init(n));
    Rcpp::RObject order, ys = y, ws = w.isNull() ? R_NilValue : w.get();
    Rcpp::NumericVector xs = x;
    if (!sorted) {
      Rcpp::IntegerVector rows(Rcpp::no_init(n));
      // the sums are written when the rows have been sorted
      write_order(x, outcome, weight, sum_d.begin(), sum_d2.begin(), rows.begin());
      xs = in_order<Rcpp::NumericVector>(x.begin(), rows);
      ys = in_order<Outcomes>(outcome, rows);
      if (weight != nullptr) ws = in_order<Rcpp::NumericVector>(weight, rows);
      for (int& row : rows) ++row;
      order = rows;
    }
    const Outcomes y_sorted(static_cast<SEXP>(ys));
    Rcpp::NumericVector d(Rcpp::no_init(n)), sum_y(Rcpp::no_init(n));
    for (R_xlen_t i = 0; i < n; ++i) d[i] = xs[i] - static_cast<double>(y_sorted[i]);
    const double* w_sorted = weight == nullptr ? nullptr : REAL(ws);
    calibrisk::prefix_sums(size, d.begin(), y_sorted.begin(), w_sorted, sum_d.begin(),
                           sum_d2.begin(), sum_y.begin());
    return named_list({{"x", static_cast<SEXP>(xs)},
                       {"y", static_cast<SEXP>(ys)},
                       {"d", static_cast<SEXP>(d)},
                       {"w", static_cast<SEXP>(ws)},
                       {"order", static_cast<SEXP>(order)},
                       {"ties", calibrisk::tie_ends(size, xs.begin())},
                       {"sum_d", static_cast<SEXP>(sum_d)},
                       {"sum_d2", static_cast<SEXP>(sum_d2)},
                       {"sum_y", static_cast<SEXP>(sum_y)}});
  });
}

// Isotonic regression of y on x: the value of each row, and of each pool with the smallest and the
// largest x in it.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_isotonic_rows(Rcpp::NumericVector x, SEXP y, Rcpp::Nullable<Rcpp::NumericVector> w) {
  const R_xlen_t n = x.size();
  const double* weight = weights_of(w, n);
  return with_outcomes(y, n, [&](const auto* outcome) {
    const auto size = static_cast<std::size_t>(n);
    Rcpp::NumericVector rows(Rcpp::no_init(n));
    std::vector<double> other(size), w_sorted(weight == nullptr ? 0 : size);
    std::vector<int> order(size);
    const bool counts = weight == nullptr && std::all_of(outcome, outcome + n, [](auto own) {
                          return own == 0 || own == 1;
                        });
    if (counts) {
      // sums of whole numbers: the order of the outcomes of equal x does not matter
      calibrisk::RowOrder sorted(size, rows.begin(), other.data());
      sorted.sort([&](std::size_t i) { return x.begin()[i]; });
      for (std::size_t i = 0; i < size; ++i) order[i] = static_cast<int>(sorted[i]);
    } else {
      write_order(x, outcome, weight, rows.begin(), other.data(), order.data());
    }
    // the memory of the sort holds x and y in order, then the values of the rows
    double *x_sorted = other.data(), *y_sorted = rows.begin();
    for (std::size_t i = 0; i < size; ++i) {
      x_sorted[i] = x.begin()[order[i]];
      y_sorted[i] = static_cast<double>(outcome[order[i]]);
    }
    for (std::size_t i = 0; i < w_sorted.size(); ++i) w_sorted[i] = weight[order[i]];
    const calibrisk::Pools pools = calibrisk::isotonic_rows(
        size, x_sorted, y_sorted, weight == nullptr ? nullptr : w_sorted.data());
    std::vector<double> low, high;
    std::size_t row = 0;
    for (std::size_t k = 0; k < pools.ends.size(); ++k) {
      const auto end = static_cast<std::size_t>(pools.ends[k]);
      low.push_back(x_sorted[row]);
      high.push_back(x_sorted[end - 1]);
      for (; row < end; ++row) rows.begin()[order[row]] = pools.values[k];
    }
    return named_list({{"rows", static_cast<SEXP>(rows)},
                       {"values", pools.values},
                       {"low", low},
                       {"high", high}});
  });
}

// The AUROC of sorted rows, and its influence in the order that they had.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_auroc(SEXP y, Rcpp::Nullable<Rcpp::NumericVector> w, Rcpp::IntegerVector ties,
                     Rcpp::IntegerVector order) {
  const R_xlen_t n = order.size();
  std::vector<double> sorted(static_cast<std::size_t>(n));
  const double value = with_outcomes(y, n, [&](const auto* outcome) {
    return calibrisk::auroc(sorted.size(), outcome, weights_of(w, n), ties.begin(), sorted.data());
  });
  Rcpp::NumericVector influence(Rcpp::no_init(n));
  for (std::size_t i = 0; i < sorted.size(); ++i) influence[order[i] - 1] = sorted[i];
  return named_list({{"value", value}, {"influence", static_cast<SEXP>(influence)}});
}
