// SPDX-License-Identifier: GPL-3.0-or-later
// Rows in the order of a number: their prefix sums, and isotonic regression.
#include "r_values.h"
#include "row_numbers.h"
#include <calibrisk/classical/ks.h>
#include <calibrisk/classical/library_bins.h>
#include <calibrisk/classical/outcome_weights.h>
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/classical/sorted_rows.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

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

// Rows in that order, and their x, in two arrays: fresh memory costs more than the sort.
class ValueOrder {
  const std::unique_ptr<double[]> one_, two_;

 public:
  calibrisk::RowOrder order;
  double* x;

  template <class Outcome>
  ValueOrder(const Rcpp::NumericVector& values, const Outcome* y, const double* w)
      : one_(new double[static_cast<std::size_t>(values.size())]),
        two_(new double[static_cast<std::size_t>(values.size())]),
        order(static_cast<std::size_t>(values.size()), one_.get(), two_.get()) {
    calibrisk::sort_rows(order, values.begin(), y, w);
    x = order.memory().second;
    for (std::size_t i = 0; i < order.size(); ++i) x[i] = values.begin()[order[i]];
  }
};

template <class Vector, class Value>
Vector in_order(const Value* values, const Rcpp::IntegerVector& order) {
  Vector out(Rcpp::no_init(order.size()));
  std::transform(order.begin(), order.end(), out.begin(), [&](int row) { return values[row]; });
  return out;
}

template <class Value>
Rcpp::NumericVector numbers(R_xlen_t n, const Value& value) {
  Rcpp::NumericVector out(Rcpp::no_init(n));
  for (R_xlen_t i = 0; i < n; ++i) out[i] = value(i);
  return out;
}

template <class Value>
Rcpp::NumericVector prefix_sum(R_xlen_t n, const Value& value) {
  long double sum = 0.0L;
  return numbers(n, [&](R_xlen_t i) { return static_cast<double>(sum += value(i)); });
}

}  // namespace

// Rows by ascending x, equal ones by y and w: `order`, x, y, d = x - y and w in this order (as they
// are if `sorted`), the ends of the ties, and prefix sums of w d, w d^2 and w y. n is the total
// weight; of weighted rows w2 is the sum of squared weights of each row's copies, and there are
// prefix sums of w and w2; of rows that stand for several also of their `copies`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_sorted_rows(Rcpp::NumericVector x, SEXP y, Rcpp::Nullable<Rcpp::NumericVector> w,
                           bool sorted, Rcpp::Nullable<Rcpp::NumericVector> copies = R_NilValue) {
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
    const double* count = weights_of(copies, n);
    const Rcpp::IntegerVector place(order.isNULL() ? Rcpp::IntegerVector() : order);
    const auto copies_of = [&](R_xlen_t i) { return count[sorted ? i : place[i] - 1]; };
    Rcpp::RObject w2, sum_w, sum_w2, sum_copies;
    if (w_sorted != nullptr) {
      w2 = numbers(n, [&](R_xlen_t i) {
        return w_sorted[i] * (count == nullptr ? w_sorted[i] : w_sorted[i] / copies_of(i));
      });
      sum_w = prefix_sum(n, [&](R_xlen_t i) { return w_sorted[i]; });
      sum_w2 = prefix_sum(n, [&](R_xlen_t i) { return REAL(w2)[i]; });
    }
    if (count != nullptr) sum_copies = prefix_sum(n, copies_of);
    const auto last = [&](const Rcpp::RObject& sums) {
      return n == 0 ? 0.0 : sums.isNULL() ? static_cast<double>(n) : REAL(sums)[n - 1];
    };
    return named_list({{"x", static_cast<SEXP>(xs)},
                       {"y", static_cast<SEXP>(ys)},
                       {"w2", static_cast<SEXP>(w2)},
                       {"n", last(sum_w)},
                       {"sum_w", static_cast<SEXP>(sum_w)},
                       {"sum_w2", static_cast<SEXP>(sum_w2)},
                       {"copies", last(sum_copies)},
                       {"sum_copies", static_cast<SEXP>(sum_copies)},
                       {"d", static_cast<SEXP>(d)},
                       {"w", static_cast<SEXP>(ws)},
                       {"order", static_cast<SEXP>(order)},
                       {"ties", calibrisk::tie_ends(size, xs.begin())},
                       {"sum_d", static_cast<SEXP>(sum_d)},
                       {"sum_d2", static_cast<SEXP>(sum_d2)},
                       {"sum_y", static_cast<SEXP>(sum_y)}});
  });
}

namespace {

// Sorted rows: x, d = x - y, weights w (null: 1) and the squares of copies; which row of the data
// each is, counted from 1 (null where nobody asks), the ends of ties that are given, and the total
// weight.
struct KsRows {
  R_xlen_t n = 0;
  double total = 0.0;
  const double *x = nullptr, *d = nullptr, *w = nullptr, *w2 = nullptr;
  const int *order = nullptr, *ends = nullptr;
};

// `own`: the folds of the sorted rows, without which only the error is returned.
Rcpp::List ks_numbers(const KsRows& rows, const std::vector<int>& own, std::size_t n_folds) {
  const R_xlen_t n = rows.n;
  const double *x = rows.x, *d = rows.d, *w = rows.w, total = rows.total;
  const bool by_row = rows.order != nullptr;
  const auto walk =
      calibrisk::ks_walk(static_cast<std::size_t>(n), x, d, w, own.data(), n_folds, rows.ends);
  Rcpp::List out = named_list({{"value", std::abs(walk.all.walk) / total},
                               {"location", x[static_cast<R_xlen_t>(walk.all.end) - 1]},
                               {"kuiper", (walk.high - walk.low) / total}});
  if (own.empty()) return out;
  Rcpp::NumericVector values(by_row ? n : 0), terms(by_row ? n : 0);
  struct Sums {
    long double one = 0.0L, weighted = 0.0L, squares = 0.0L;
    double about_mean(R_xlen_t size) const {
      return static_cast<double>(squares - one * one / static_cast<long double>(size));
    }
  } of_rows, of_terms;
  long double known = 0.0L, of_predictions = 0.0L, of_outcomes = 0.0L;
  const auto add = [&](R_xlen_t i, double walk, Sums& sums, Rcpp::NumericVector& of) {
    const double value = walk < 0.0 ? -d[i] : d[i];
    sums.one += value;
    sums.weighted += w != nullptr ? w[i] * value : value;
    sums.squares += value * value;
    if (by_row) of[rows.order[i] - 1] = value;
  };
  for (R_xlen_t i = 0; i < n; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const double variance = x[i] * (1.0 - x[i]), square = w != nullptr ? rows.w2[i] : 1.0;
    of_predictions += square * variance;
    of_outcomes += square * (d[i] * d[i]);
    // a sum of 0 has noise on both sides
    if (place < walk.all.end) add(i, walk.all.walk, of_rows, values);
    const auto& other = walk.others[static_cast<std::size_t>(own[place] - 1)];
    if (place >= other.end || other.walk == 0.0 || d[i] == 0.0) continue;
    add(i, other.walk, of_terms, terms);
    known += square * variance;
  }
  const auto variance = [&](long double sum) { return static_cast<double>(sum) / (total * total); };
  if (by_row) {
    out["rows"] = values;
    out["terms"] = terms;
  }
  out["mean"] = static_cast<double>(of_terms.weighted) / total;
  out["squares"] = Rcpp::NumericVector::create(of_rows.about_mean(n), of_terms.about_mean(n));
  out["known"] = variance(known);
  out["spread"] = Rcpp::NumericVector::create(Rcpp::Named("known") = variance(of_predictions),
                                              Rcpp::Named("estimated") = variance(of_outcomes));
  return out;
}

}  // namespace

// The largest cumulated residual of sorted rows of the total weight n, and the range of the sums;
// with folds, of each row's share in it and of the residuals up to the largest sum of the other
// folds with its sign: the `mean` of these, and for both the `squares` about the mean of all rows;
// the variance `known` of the mean if outcomes are drawn from the predictions; `spread`: variances
// of the error, known and estimated; if `by_row`, both in the order of the data: `rows`, `terms`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ks_error(Rcpp::List sorted, Rcpp::IntegerVector fold, bool by_row = true) {
  const Rcpp::NumericVector x = sorted["x"], d = sorted["d"];
  const Rcpp::IntegerVector order = sorted["order"], ties = sorted["ties"];
  const R_xlen_t n = d.size(), m = fold.size();
  const bool weighted = !Rf_isNull(sorted["w"]);
  const Rcpp::NumericVector w = weighted ? sorted["w"] : sorted["d"],
                            w2 = weighted ? sorted["w2"] : sorted["d"];
  calibrisk::require(n > 0 && x.size() == n && order.size() == n && w.size() == n &&
                         w2.size() == n && (m == 0 || m == n),
                     "ks_error: one value per row.");
  int last = 0;
  for (const int end : ties) {
    calibrisk::require(end > last, "ks_error: ends of ties ascend.");
    last = end;
  }
  calibrisk::require(last == n, "ks_error: the last tie ends at the last row.");
  const auto [own, n_folds] = sorted_folds(fold, m == 0 ? fold : order);
  KsRows rows{n, sorted["n"], x.begin(), d.begin()};
  if (weighted) {
    rows.w = w.begin();
    rows.w2 = w2.begin();
  }
  if (by_row) rows.order = order.begin();
  rows.ends = ties.begin();
  return ks_numbers(rows, own, n_folds);
}

// The same numbers of plain rows with outcomes 0 and 1 as they are, which are sorted in memory of
// the core alone, with so many folds by their values.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ks_plain(Rcpp::NumericVector x, SEXP y, int folds) {
  const R_xlen_t n = x.size();
  calibrisk::require(n > 0, "ks_error: there are rows.");
  return with_outcomes(y, n, [&](const auto* outcome) {
    const auto size = static_cast<std::size_t>(n);
    ValueOrder sorted(x, outcome, nullptr);
    double* gaps = sorted.order.memory().first;
    for (std::size_t i = 0; i < size; ++i) {
      const auto event = static_cast<double>(outcome[sorted.order[i]]);
      new (gaps + i) double(sorted.x[i] - event);
    }
    const double *d = gaps, *values = sorted.x;
    const auto own = calibrisk::sorted_row_folds(
        values, [&](std::size_t i) { return d[i] != values[i]; }, size, folds);
    const KsRows rows{n, static_cast<double>(n), values, d};
    return ks_numbers(rows, own, static_cast<std::size_t>(folds));
  });
}

// Of r = (y - p) (1 - 2 p) the sum of w r, the variance of r under calibration, with its weights
// w2, and the variance of w r. Weights w may depend on outcomes given predictions: the sum of their
// w2 r^2 is right for any of them, and far too small in samples with few events, since it falls
// with them. Up to some hundred rows most of it is the variance of a known ratio of weights of both
// outcomes.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_spiegelhalter(Rcpp::NumericVector p, SEXP y,
                                      Rcpp::Nullable<Rcpp::NumericVector> w,
                                      Rcpp::Nullable<Rcpp::NumericVector> w2) {
  const R_xlen_t n = p.size();
  const double *weight = weights_of(w, n), *square = weights_of(w2, n);
  return with_outcomes(y, n, [&](const auto* outcome) {
    const double* x = p.begin();
    bool equal = true;  // copies of one weight are plain rows
    if (weight != nullptr) {
      const R_xlen_t one =
          std::find_if(weight, weight + n, [](double v) { return v > 0.0; }) - weight;
      for (R_xlen_t i = one; equal && i < n; ++i) {
        equal = square[i] * weight[one] == square[one] * weight[i];
      }
    }
    const double k = equal ? 1.0
                           : calibrisk::outcome_weight_ratio(static_cast<std::size_t>(n), x,
                                                             outcome, weight, square);
    long double total = 0.0L, known = 0.0L, seen = 0.0L, both = 0.0L, size = 0.0L, squares = 0.0L;
    for (R_xlen_t i = 0; i < n; ++i) {
      const double tilt = 1.0 - 2.0 * x[i], row = (outcome[i] - x[i]) * tilt;
      const double own = square == nullptr ? 1.0 : square[i];
      const double variance = own * (tilt * tilt) * x[i] * (1.0 - x[i]);
      total += weight == nullptr ? row : weight[i] * row;
      known += variance;
      if (equal) continue;
      seen += own * (row * row);
      both += variance * calibrisk::outcome_weight_factor(x[i], outcome[i] == 1, k);
      size += weight[i];
      squares += own;
    }
    constexpr long double rows = 200.0L;
    const long double count = equal ? 0.0L : size * size / squares;
    const long double variance = equal ? known : (rows * both + count * seen) / (rows + count);
    return Rcpp::NumericVector::create(static_cast<double>(total), static_cast<double>(known),
                                       static_cast<double>(variance));
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

// How many of these numbers in ascending order are below each of `at`, or with `equal` also equal
// to it: findInterval(), which looks at all of them in every call.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_count_below(SEXP ascending, Rcpp::NumericVector at, bool equal) {
  return with_outcomes(ascending, Rf_xlength(ascending), [&](const auto* from) {
    const auto* to = from + Rf_xlength(ascending);
    Rcpp::IntegerVector out(Rcpp::no_init(at.size()));
    std::transform(at.begin(), at.end(), out.begin(), [&](double value) {
      const auto* end =
          equal ? std::upper_bound(from, to, value) : std::lower_bound(from, to, value);
      return static_cast<int>(end - from);
    });
    return out;
  });
}

// Ends of the bins of another library, of values x in ascending order that stand for so many up to
// each (`places`; none: one each). `mass`: of equal mass.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_library_ends(std::string library, std::vector<double> x, int n_bins,
                                     bool mass,
                                     Rcpp::Nullable<Rcpp::NumericVector> places = R_NilValue) {
  using calibrisk::EdgeSide;
  if (library == "torchmetrics") {
    return Rcpp::wrap(calibrisk::inner_ends(x, calibrisk::torch_edges(n_bins), EdgeSide::above));
  }
  const auto ends = [&](const auto& values) {
    if (library == "netcal" || library == "scikit-learn") {
      return calibrisk::inner_ends(x, calibrisk::numpy_edges(values, n_bins, mass),
                                   library == "netcal" ? EdgeSide::above : EdgeSide::below);
    }
    std::vector<double> edges(static_cast<std::size_t>(n_bins));
    for (int b = 0; b < n_bins; ++b) edges[static_cast<std::size_t>(b)] = (b + 1.0) / n_bins;
    if (mass) {
      edges = calibrisk::chunk_edges(values, n_bins, library == "uncertainty-calibration");
    }
    return calibrisk::inner_ends(x, edges, EdgeSide::below);
  };
  if (places.isNull()) return Rcpp::wrap(ends(x));
  const auto end = Rcpp::as<std::vector<double>>(places.get());
  return Rcpp::wrap(ends(calibrisk::CountedValues(x, end)));
}

// The AUROC of rows, and its influence.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_auroc(Rcpp::NumericVector x, SEXP y, Rcpp::Nullable<Rcpp::NumericVector> w) {
  const R_xlen_t n = x.size();
  const double* weight = weights_of(w, n);
  return with_outcomes(y, n, [&](const auto* outcome) {
    const ValueOrder rows(x, outcome, weight);
    std::vector<std::uint8_t> kind(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < kind.size(); ++i) kind[i] = outcome[rows.order[i]] == 1;
    const double value = calibrisk::auroc(
        kind.size(), kind.data(),
        [&](std::size_t i) { return weight == nullptr ? 1.0 : weight[rows.order[i]]; }, rows.x);
    Rcpp::NumericVector influence(Rcpp::no_init(n));
    double* out = influence.begin();
    for (std::size_t i = 0; i < kind.size(); ++i) out[rows.order[i]] = rows.x[i];
    return named_list({{"value", value}, {"influence", static_cast<SEXP>(influence)}});
  });
}
