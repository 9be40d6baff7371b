// SPDX-License-Identifier: GPL-3.0-or-later
// The linear-time passes of the classical calibration errors.
#include "r_engine.h"
#include <calibrisk/classical/class_sums.h>
#include <calibrisk/classical/crossfit_bound.h>
#include <calibrisk/classical/cumulative.h>
#include <calibrisk/classical/logistic.h>
#include <calibrisk/classical/mmce.h>
#include <calibrisk/classical/monotone_bins.h>
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/classical/width_cells.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace {
std::size_t size_of(R_xlen_t n) { return static_cast<std::size_t>(n); }

constexpr R_xlen_t row_block = 32768;  // of a task

std::vector<std::uint64_t> keys_of(const Rcpp::NumericMatrix& features,
                                   const Rcpp::IntegerVector& labels) {
  if (labels.size() != features.nrow()) Rcpp::stop("row_keys: one label per row.");
  return calibrisk::row_keys(features.begin(), size_of(features.nrow()), size_of(features.ncol()),
                             labels.begin());
}
}  // namespace

// x ascending
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_laplace_row_sums(Rcpp::NumericVector x, Rcpp::NumericVector d,
                                         double bandwidth) {
  return Rcpp::wrap(
      calibrisk::laplace_row_sums(x.begin(), d.begin(), size_of(x.size()), bandwidth));
}

// Folds 1..k from the values of the rows.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_row_folds(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels, int k) {
  Rcpp::IntegerVector out(Rcpp::no_init(features.nrow()));
  calibrisk::row_folds(keys_of(features, labels), k, out.begin());
  return out;
}

// Numbers of draws in the folds 1..k, of rows that stand for several.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_draw_folds(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels,
                                   Rcpp::NumericVector copies, int k) {
  return wrap_matrix(calibrisk::draw_folds(keys_of(features, labels), as_vector(copies), k));
}

// The sums of every class's column over its own rows and over all rows, [classes x 2].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_class_sums(Rcpp::NumericMatrix probs, Rcpp::IntegerVector labels) {
  if (labels.size() != probs.nrow()) Rcpp::stop("class_sums: one label per row.");
  return wrap_matrix(calibrisk::class_sums(as_matrix(probs), labels.begin()));
}

// Keys of the rows as numbers in [0, 1).
// [[Rcpp::export(rng = false)]]
std::vector<double> cpp_row_keys(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels) {
  const auto keys = keys_of(features, labels);
  std::vector<double> out(keys.size());
  std::transform(keys.begin(), keys.end(), out.begin(), calibrisk::unit_of);
  return out;
}

// The smallest keys of the distinct rows, at most n_keys, and how many there are; features to ten
// decimal places.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_smallest_keys(Rcpp::NumericVector x, Rcpp::IntegerVector labels, int n_keys,
                             int threads) {
  if (labels.size() != x.size()) Rcpp::stop("smallest_keys: one label per row.");
  REngine engine(threads);
  std::vector<double> rounded(size_of(x.size()));
  std::transform(x.begin(), x.end(), rounded.begin(),
                 [](double value) { return std::nearbyint(value * 1e10); });
  const auto found = calibrisk::smallest_keys(
      engine, calibrisk::row_keys(rounded.data(), rounded.size(), 1, labels.begin()),
      static_cast<std::size_t>(n_keys));
  std::vector<double> keys(found.keys.size());
  std::transform(found.keys.begin(), found.keys.end(), keys.begin(), calibrisk::unit_of);
  return named_list({{"keys", keys}, {"n_keys", static_cast<int>(found.distinct)}});
}

// Numbers of rows and events and the sums of d and d^2, d = x - y, of the bins of equal width that
// have rows, a column for each fold; one column where `fold` is empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_width_cells(Rcpp::NumericVector x, Rcpp::IntegerVector y, Rcpp::IntegerVector fold,
                           int n_bins, int n_folds) {
  const bool folded = fold.size() > 0;
  if (y.size() != x.size() || (folded && fold.size() != x.size())) {
    Rcpp::stop("width_cells: one outcome and fold per row.");
  }
  if (!folded) n_folds = 1;
  const auto cells = calibrisk::width_cells(x.begin(), y.begin(), folded ? fold.begin() : nullptr,
                                            size_of(x.size()), n_bins, n_folds);
  const auto cell = [&](int bin, int f) -> const calibrisk::WidthCell& {
    return cells[size_of(bin) + size_of(n_bins) * size_of(f)];
  };
  std::vector<int> used;
  for (int bin = 0; bin < n_bins; ++bin) {
    for (int f = 0; f < n_folds; ++f) {
      if (cell(bin, f).rows == 0) continue;
      used.push_back(bin);
      break;
    }
  }
  const auto table = [&](const auto& value) {
    Rcpp::NumericMatrix out(static_cast<int>(used.size()), n_folds);
    for (int b = 0; b < out.nrow(); ++b) {
      for (int f = 0; f < n_folds; ++f) out(b, f) = value(cell(used[size_of(b)], f));
    }
    return out;
  };
  using Cell = calibrisk::WidthCell;
  return named_list({{"size", table([](const Cell& c) { return static_cast<double>(c.rows); })},
                     {"events", table([](const Cell& c) { return static_cast<double>(c.events); })},
                     {"d", table([](const Cell& c) { return c.residual.value(); })},
                     {"d2", table([](const Cell& c) { return c.square.value(); })}});
}

// `mean` and `squares` of the cross-fitted bound of bins that end at the rows `ends`. Residuals and
// weights (none: 1) are in the order of the bins; `order`: which rows of the data, those of `fold`.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_crossfit_bound(Rcpp::NumericVector d, Rcpp::NumericVector w,
                              Rcpp::IntegerVector fold, Rcpp::IntegerVector order,
                              Rcpp::NumericVector ends, double p) {
  const auto n = size_of(d.size());
  if (size_of(order.size()) != n || size_of(fold.size()) != n ||
      (w.size() > 0 && size_of(w.size()) != n)) {
    Rcpp::stop("crossfit_bound: one weight, fold and place per row.");
  }
  int n_folds = 1;
  std::vector<int> own(n);
  for (std::size_t i = 0; i < n; ++i) {
    const int row = order[static_cast<R_xlen_t>(i)];
    if (row < 1 || size_of(row) > n || fold[row - 1] < 1) Rcpp::stop("crossfit_bound: bad rows.");
    own[i] = fold[row - 1];
    n_folds = std::max(n_folds, own[i]);
  }
  std::vector<std::size_t> last(size_of(ends.size()));
  for (std::size_t b = 0; b < last.size(); ++b) {
    last[b] = static_cast<std::size_t>(ends[static_cast<R_xlen_t>(b)]);
    if (last[b] > n) Rcpp::stop("crossfit_bound: a bin ends beyond the rows.");
  }
  const auto found = calibrisk::crossfit_bound(d.begin(), w.size() > 0 ? w.begin() : nullptr,
                                               own.data(), last, n_folds, p);
  return named_list({{"mean", found.mean}, {"squares", found.squares}});
}

// [[Rcpp::export(rng = false)]]
bool cpp_mostly_tied(Rcpp::NumericVector x) {
  return calibrisk::mostly_tied(x.begin(), size_of(x.size()));
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

// Rows of fold f (held_out), or those of the other folds; the test rows are fold 0.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_fold_rows(Rcpp::IntegerVector fold, int f, bool held_out, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto is_in = [&](int own) { return held_out ? own == f : own != f && own != 0; };
  const R_xlen_t n = fold.size(), n_blocks = (n + row_block - 1) / row_block;
  const int* own = fold.begin();
  std::vector<R_xlen_t> first(size_of(n_blocks) + 1, 0);
  calibrisk::parallel_for(engine, n_blocks, [&](calibrisk::Index t) {
    first[size_of(t) + 1] =
        std::count_if(own + t * row_block, own + std::min(n, (t + 1) * row_block), is_in);
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  Rcpp::IntegerVector rows(Rcpp::no_init(first.back()));
  int* row = rows.begin();
  calibrisk::parallel_for(engine, n_blocks, [&](calibrisk::Index t) {
    // folds are as good as random: no branch that the processor would have to guess
    R_xlen_t at = first[size_of(t)];
    for (R_xlen_t i = t * row_block; at < first[size_of(t) + 1]; ++i) {
      row[at] = static_cast<int>(i) + 1;
      at += is_in(own[i]);
    }
  });
  return rows;
}

// Rows of a matrix, which has them; counted from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_matrix_rows(Rcpp::NumericMatrix x, Rcpp::IntegerVector rows, int threads) {
  REngine engine(threads);
  const R_xlen_t n = rows.size(), n_blocks = (n + row_block - 1) / row_block;
  Rcpp::NumericMatrix out(Rcpp::no_init(n, x.ncol()));
  const int* row = rows.begin();
  const double* from = x.begin() - 1;
  double* to = out.begin();
  const R_xlen_t step = x.nrow();
  calibrisk::parallel_for(engine, n_blocks * x.ncol(), [&](calibrisk::Index t) {
    const R_xlen_t j = t / n_blocks, begin = t % n_blocks * row_block;
    for (R_xlen_t i = begin; i < std::min(n, begin + row_block); ++i) {
      to[j * n + i] = from[j * step + row[i]];
    }
  });
  return out;
}

// Whether all are whole numbers from `from` to `to`.
// [[Rcpp::export(rng = false)]]
bool cpp_all_whole(SEXP x, double from, double to) {
  if (TYPEOF(x) == INTSXP) {
    const Rcpp::IntegerVector values(x);
    return std::all_of(values.begin(), values.end(),
                       [&](int value) { return value >= from && value <= to; });
  }
  const Rcpp::NumericVector values(x);
  return std::all_of(values.begin(), values.end(), [&](double value) {
    return value >= from && value <= to && value == std::trunc(value);
  });
}

// Whether all are finite and from `from` to `to`.
// [[Rcpp::export(rng = false)]]
bool cpp_all_within(Rcpp::NumericVector x, double from, double to) {
  constexpr double largest = std::numeric_limits<double>::max();
  const double low = std::max(from, -largest), high = std::min(to, largest);
  // counted, so that the loop has no branch
  R_xlen_t within = 0;
  for (const double value : x) within += (value >= low) & (value <= high);
  return within == x.size();
}

// E |m + s Z| of a standard normal Z.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_folded_normal(Rcpp::NumericVector m, Rcpp::NumericVector s) {
  calibrisk::require(m.size() == s.size(), "folded_normal: a mean for each deviation.");
  Rcpp::NumericVector out(Rcpp::no_init(m.size()));
  for (R_xlen_t i = 0; i < m.size(); ++i) {
    const double u = m[i] / s[i];
    out[i] = s[i] == 0.0 ? std::abs(m[i])
                         : std::sqrt(2.0 / M_PI) * s[i] * std::exp(-0.5 * u * u) +
                               m[i] * std::erf(u * M_SQRT1_2);
  }
  return out;
}

namespace {

// Mean of the n values, and the sum of squares about it.
struct Moments {
  double mean;
  double squares;
};

Moments moments_of(const double* value, R_xlen_t n) {
  // stretches, whose sums lose nothing to rounding
  constexpr R_xlen_t stretch = 4096;
  const auto sum = [&](const auto& term) {
    double total = 0.0;
    for (R_xlen_t begin = 0; begin < n; begin += stretch) {
      double sums[4] = {0.0, 0.0, 0.0, 0.0};
      const R_xlen_t end = std::min(n, begin + stretch);
      for (R_xlen_t i = begin; i < end; ++i) sums[i % 4] += term(value[i]);
      total += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    return total;
  };
  const double rows = static_cast<double>(n);
  double mean = sum([](double v) { return v; }) / rows;
  mean += sum([&](double v) { return v - mean; }) / rows;
  return {mean, sum([&](double v) { return (v - mean) * (v - mean); })};
}

}  // namespace

// Mean of the values, and the sum of squares about it.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_row_moments(Rcpp::NumericVector x) {
  const Moments of = moments_of(x.begin(), x.size());
  return Rcpp::NumericVector::create(of.mean, of.squares);
}

// The number of every vector's values that are not missing, and their moments.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_fold_moments(Rcpp::List folds) {
  Rcpp::NumericMatrix out(3, static_cast<int>(folds.size()));
  std::vector<double> known;
  for (R_xlen_t f = 0; f < folds.size(); ++f) {
    const Rcpp::NumericVector rows = folds[f];
    known.clear();
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(known),
                 [](double v) { return !std::isnan(v); });
    const auto n = static_cast<R_xlen_t>(known.size());
    const Moments of = moments_of(known.data(), n);
    const int column = static_cast<int>(f);
    out(0, column) = static_cast<double>(n);
    out(1, column) = of.mean;
    out(2, column) = of.squares;
  }
  return out;
}

// Sums of each column over the rows of a cluster (1..C).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_cluster_sums(Rcpp::NumericMatrix x, Rcpp::IntegerVector cluster,
                                     int clusters) {
  calibrisk::require(cluster.size() == x.nrow(), "cluster_sums: one label per row.");
  calibrisk::require(
      std::all_of(cluster.begin(), cluster.end(), [&](int c) { return c >= 1 && c <= clusters; }),
      "cluster_sums: labels are 1, ..., C.");
  Rcpp::NumericMatrix out(clusters, x.ncol());
  for (int j = 0; j < x.ncol(); ++j) {
    const double* value = &x(0, j);
    double* sum = &out(0, j);
    for (R_xlen_t i = 0; i < cluster.size(); ++i) sum[cluster[i] - 1] += value[i];
  }
  return out;
}

// The rank of each label among those that there are; NULL where labels are further apart than four
// times their number.
// [[Rcpp::export(rng = false)]]
SEXP cpp_label_ranks(Rcpp::IntegerVector label) {
  if (label.size() == 0) return R_NilValue;
  const auto [least, largest] = std::minmax_element(label.begin(), label.end());
  const double range = static_cast<double>(*largest) - static_cast<double>(*least) + 1.0;
  if (*least == NA_INTEGER || range > 4.0 * static_cast<double>(label.size())) return R_NilValue;
  std::vector<int> rank(static_cast<std::size_t>(range), 0);
  const auto at = [&, first = *least](int value) -> int& {
    return rank[static_cast<std::size_t>(static_cast<std::int64_t>(value) - first)];
  };
  for (int value : label) at(value) = 1;
  std::partial_sum(rank.begin(), rank.end(), rank.begin());
  Rcpp::IntegerVector out(label.size());
  std::transform(label.begin(), label.end(), out.begin(), at);
  return out;
}

// Number of equal-mass bins that the monotone sweep chooses; sum_w, sum_y: cumulative weights of
// the rows and of the successes, NULL where all rows count the same; `draws` of all of these.
// [[Rcpp::export(rng = false)]]
double cpp_sweep_bins(Rcpp::IntegerVector y, Rcpp::IntegerVector tie_ends,
                      Rcpp::Nullable<Rcpp::NumericVector> sum_w,
                      Rcpp::Nullable<Rcpp::NumericVector> sum_y, double draws) {
  using namespace calibrisk;
  const std::size_t blocks = size_of(tie_ends.size());
  if (sum_w.isNull()) {
    const CountedRows rows(y.begin(), y.size(), tie_ends.begin(), blocks);
    return static_cast<double>(MonotoneSweep<CountedRows>(rows, y.begin()).run());
  }
  const Rcpp::NumericVector w(sum_w), ones(sum_y);
  if (w.size() != y.size() || ones.size() != y.size()) Rcpp::stop("sweep: one sum per row.");
  const WeightedRows rows(w.begin(), ones.begin(), y.size(), static_cast<std::int64_t>(draws),
                          tie_ends.begin(), blocks);
  return static_cast<double>(MonotoneSweep<WeightedRows>(rows, y.begin()).run());
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_isotonic_pools(Rcpp::NumericVector total, Rcpp::NumericVector weight,
                              Rcpp::IntegerVector end) {
  const calibrisk::Pools pools =
      calibrisk::isotonic_pools(total.begin(), weight.begin(), end.begin(), size_of(total.size()));
  return named_list({{"ends", pools.ends}, {"values", pools.values}});
}

// Logistic regression with a penalty (classical/logistic.h). `weight` and `offset` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_logistic(const Rcpp::NumericMatrix& x, const Rcpp::NumericVector& y,
                        const Rcpp::NumericVector& start, const Rcpp::NumericVector& centre,
                        const Rcpp::NumericVector& ridge, const Rcpp::NumericVector& weight,
                        const Rcpp::NumericVector& offset) {
  const calibrisk::LogisticRegression model(as_matrix(x), as_vector(y), as_vector(weight),
                                            as_vector(offset));
  const calibrisk::LogisticFit fit =
      model.fit(as_vector(start), as_vector(centre), as_vector(ridge));
  return named_list({{"theta", fit.theta},
                     {"inverse", fit.inverse},
                     {"loss", fit.loss},
                     {"iterations", fit.iterations},
                     {"converged", fit.converged}});
}

// Extremes of walks of cumulated residuals of redrawn outcomes: end, largest, range and bridge,
// [draws x 4].
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_cumulative_draws(Rcpp::NumericVector prob, Rcpp::NumericVector weight,
                                         std::vector<int> block_end, std::vector<double> time,
                                         double scale, int times, double seed, int threads) {
  REngine engine(threads);
  return wrap_matrix(calibrisk::cumulative_draws(engine, as_vector(prob), as_vector(weight),
                                                 block_end, time, scale, times,
                                                 static_cast<std::uint64_t>(seed)));
}
