// SPDX-License-Identifier: GPL-3.0-or-later
// Rows as values: keys and the folds drawn by them, those of a fold, checks, moments and sums.
#include "as_weights.h"
#include "r_engine.h"
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/math/common_values.h>
#include <calibrisk/math/roots.h>
#include <calibrisk/math/weighted_quantile.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace {

constexpr R_xlen_t row_block = 32768;  // of a task

std::vector<std::uint64_t> keys_of(SEXP features, const Rcpp::IntegerVector& labels) {
  const auto x = matrix_view(features);
  if (labels.size() != x.rows()) Rcpp::stop("row_keys: one label per row.");
  return calibrisk::row_keys(x.data(), static_cast<std::size_t>(x.rows()),
                             static_cast<std::size_t>(x.cols()), labels.begin());
}

// The rows in ascending order of a number; of equal ones, and without any, as they are.
std::vector<std::size_t> order_of(const Rcpp::Nullable<Rcpp::NumericVector>& each) {
  if (each.isNull()) return {};
  const Rcpp::NumericVector by(each.get());
  std::vector<std::size_t> order(static_cast<std::size_t>(by.size()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return by[static_cast<R_xlen_t>(a)] < by[static_cast<R_xlen_t>(b)];
  });
  return order;
}

}  // namespace

// Folds 1..k of rows from their values' numbers, or of clusters from the sum of their rows', each
// with its copies. `even`: dealt out in the order of these, so that sizes differ by one at most.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_value_folds(SEXP features, Rcpp::IntegerVector labels,
                                    Rcpp::Nullable<Rcpp::IntegerVector> cluster, int k, bool even,
                                    Rcpp::Nullable<Rcpp::NumericVector> copies) {
  const auto keys = keys_of(features, labels);
  calibrisk::Labels of = cluster.isNull() ? calibrisk::Labels() : as_labels(cluster.get());
  std::vector<double> place(
      of.empty() ? 0 : static_cast<std::size_t>(*std::max_element(of.begin(), of.end())));
  // clusters of one row are rows
  if (even && copies.isNull() && place.size() == of.size()) of.clear();
  const std::size_t n = of.empty() ? keys.size() : place.size();
  Rcpp::IntegerVector folds(Rcpp::no_init(static_cast<R_xlen_t>(n)));
  int* fold = folds.begin();
  const Rcpp::NumericVector each =
      copies.isNull() ? Rcpp::NumericVector(1, 1.0) : Rcpp::NumericVector(copies.get());
  for (std::size_t i = 0; i < of.size(); ++i) {
    // whole numbers, whose sums do not depend on their order
    const auto count = each[copies.isNull() ? 0 : static_cast<R_xlen_t>(i)];
    place[static_cast<std::size_t>(of[i]) - 1] +=
        std::floor(0x1p31 * calibrisk::unit_of(keys[i])) * count;
  }
  if (!even) {
    const std::vector<int> none(place.size());
    calibrisk::row_folds(
        of.empty() ? keys : calibrisk::row_keys(place.data(), place.size(), 1, none.data()), k,
        fold);
  } else {
    if (of.empty()) {
      calibrisk::row_folds(keys, std::numeric_limits<int>::max(), fold);
      place.assign(fold, fold + n);
    }
    std::vector<std::size_t> order(place.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return place[a] < place[b]; });
    for (std::size_t r = 0; r < order.size(); ++r) {
      fold[order[r]] = static_cast<int>(r % static_cast<std::size_t>(k)) + 1;
    }
  }
  if (of.empty()) return folds;
  Rcpp::IntegerVector out(Rcpp::no_init(static_cast<R_xlen_t>(of.size())));
  std::transform(of.begin(), of.end(), out.begin(), [&](int c) { return fold[c - 1]; });
  return out;
}

// Numbers of copies in the folds 1..k, of rows that stand for several, and as `dealt` what they
// follow from: a copy may be in another fold of another model. `each`: the weight of a copy, in
// whose order equal rows are counted; NULL: in that of the rows.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_copy_folds(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels,
                                   Rcpp::NumericVector copies, int k, bool even = false,
                                   Rcpp::Nullable<Rcpp::NumericVector> each = R_NilValue) {
  Rcpp::NumericMatrix out = wrap_matrix(
      calibrisk::copy_folds(keys_of(features, labels), as_vector(copies), k, even, order_of(each)));
  out.attr("dealt") =
      Rcpp::List::create(Rcpp::_["features"] = features, Rcpp::_["labels"] = labels,
                         Rcpp::_["copies"] = copies, Rcpp::_["each"] = each, Rcpp::_["folds"] = k);
  return out;
}

// Estimates of two models (R/influence.R) on the same rows: those of the copies that are in one
// fold of each model, by what their designs say of the dealing.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_joint_copies(Rcpp::List pair) {
  const auto dealt = [&](int m) {
    return Rcpp::List(field(Rcpp::List(field(Rcpp::List(pair[m]), "design")), "dealt"));
  };
  const Rcpp::List first = dealt(0), second = dealt(1);
  const Rcpp::NumericVector copies(field(first, "copies"));
  const std::vector<std::uint64_t> keys[2] = {
      keys_of(field(first, "features"), field(first, "labels")),
      keys_of(field(second, "features"), field(second, "labels"))};
  if (keys[0].size() != keys[1].size() ||
      keys[0].size() != static_cast<std::size_t>(copies.size())) {
    Rcpp::stop("joint_copies: both models have the same rows.");
  }
  const Rcpp::Nullable<Rcpp::NumericVector> each(field(first, "each"));
  const auto joint = calibrisk::joint_copies(keys, as_vector(copies),
                                             Rcpp::as<int>(field(first, "folds")), order_of(each));
  const Rcpp::NumericVector counts(joint.copies.begin(), joint.copies.end());
  Rcpp::NumericVector w = counts;
  if (each.isNotNull()) {
    const Rcpp::NumericVector of(each.get());
    w = Rcpp::clone(counts);
    for (R_xlen_t r = 0; r < w.size(); ++r) w[r] *= of[joint.row[static_cast<std::size_t>(r)]];
  }
  const Rcpp::List design =
      Rcpp::List::create(Rcpp::_["n"] = static_cast<int>(counts.size()), Rcpp::_["w"] = w,
                         Rcpp::_["cluster"] = R_NilValue, Rcpp::_["copies"] = counts);
  const auto on_joint = [&](Rcpp::List estimate, const std::vector<int>& rows) {
    const Rcpp::NumericVector influence(field(estimate, "influence"));
    Rcpp::NumericVector taken(static_cast<R_xlen_t>(rows.size()));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      taken[static_cast<R_xlen_t>(r)] = influence[rows[r] - 1];
    }
    Rcpp::List out(Rf_shallow_duplicate(estimate));
    out["influence"] = taken;
    out["design"] = design;
    return out;
  };
  Rcpp::List out(2);
  for (int m = 0; m < 2; ++m) {
    Rcpp::List one = on_joint(pair[m], joint.rows[m]);
    const SEXP honest = field(one, "honest");
    if (!Rf_isNull(honest)) one["honest"] = on_joint(honest, joint.rows[m]);
    out[m] = one;
  }
  return out;
}

// Keys of the rows as numbers in [0, 1).
// [[Rcpp::export(rng = false)]]
std::vector<double> cpp_row_keys(Rcpp::NumericMatrix features, Rcpp::IntegerVector labels) {
  const auto keys = keys_of(features, labels);
  std::vector<double> out(keys.size());
  std::transform(keys.begin(), keys.end(), out.begin(), calibrisk::unit_of);
  return out;
}

// [[Rcpp::export(rng = false)]]
bool cpp_mostly_tied(Rcpp::NumericVector x) {
  return calibrisk::mostly_tied(x.begin(), static_cast<std::size_t>(x.size()));
}

// How many of the values are among the others.
// [[Rcpp::export(rng = false)]]
double cpp_count_common(Rcpp::NumericVector values, Rcpp::NumericVector others) {
  return static_cast<double>(
      calibrisk::count_common(values.begin(), static_cast<std::size_t>(values.size()),
                              others.begin(), static_cast<std::size_t>(others.size())));
}

// Rows of fold f (held_out), or those of the other folds; the test rows are fold 0.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector cpp_fold_rows(Rcpp::IntegerVector fold, int f, bool held_out, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto is_in = [&](int own) { return held_out ? own == f : own != f && own != 0; };
  const R_xlen_t n = fold.size(), n_blocks = (n + row_block - 1) / row_block;
  const int* own = fold.begin();
  std::vector<R_xlen_t> first(static_cast<std::size_t>(n_blocks) + 1, 0);
  calibrisk::parallel_for(engine, n_blocks, [&](calibrisk::Index t) {
    first[static_cast<std::size_t>(t) + 1] =
        std::count_if(own + t * row_block, own + std::min(n, (t + 1) * row_block), is_in);
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  Rcpp::IntegerVector rows(Rcpp::no_init(first.back()));
  int* row = rows.begin();
  calibrisk::parallel_for(engine, n_blocks, [&](calibrisk::Index t) {
    // folds are as good as random: no branch that the processor would have to guess
    R_xlen_t at = first[static_cast<std::size_t>(t)];
    for (R_xlen_t i = t * row_block; at < first[static_cast<std::size_t>(t) + 1]; ++i) {
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

namespace {

// Whether holds(block) is true of every block of the values, [1 x size] arrays that stay in the
// cache while several reductions read them.
template <class Holds>
bool in_blocks(SEXP x, const Holds& holds) {
  constexpr Eigen::Index most = 2048;
  const auto values = vector_view(x);
  const Eigen::Map<const Eigen::ArrayXd> all(values.data(), values.size());
  for (Eigen::Index begin = 0; begin < all.size(); begin += most) {
    if (!holds(all.segment(begin, std::min(most, all.size() - begin)))) return false;
  }
  return true;
}

}  // namespace

// Whether all are whole numbers from `from` to `to`.
// [[Rcpp::export(rng = false)]]
bool cpp_all_whole(SEXP x, double from, double to) {
  if (TYPEOF(x) == INTSXP) {
    const Rcpp::IntegerVector values(x);
    return std::all_of(values.begin(), values.end(),
                       [&](int value) { return value >= from && value <= to; });
  }
  // outcomes: no other number times itself less one is 0, nor is a missing one
  if (from == 0.0 && to == 1.0) {
    return in_blocks(x, [](const auto& v) { return (v * (v - 1.0)).abs().sum() == 0.0; });
  }
  const auto values = vector_view(x);
  return std::all_of(values.data(), values.data() + values.size(), [&](double value) {
    return value >= from && value <= to && value == std::trunc(value);
  });
}

// Whether all are finite and from `from` to `to`.
// [[Rcpp::export(rng = false)]]
bool cpp_all_within(SEXP x, double from, double to) {
  // 0 times a number that is not finite is none
  return in_blocks(x, [&](const auto& v) {
    return (v * 0.0).sum() == 0.0 && v.minCoeff() >= from && v.maxCoeff() <= to;
  });
}

namespace {

SEXP outcomes_of(SEXP values, bool missing) {
  return named_list({{"outcome", values}, {"missing", missing}});
}

template <class Value, class Missing>
SEXP events_of(const Value* value, R_xlen_t n, double event, double other,
               const Missing& is_missing) {
  Rcpp::NumericVector out(Rcpp::no_init(n));
  // counted, and without the checks of Rcpp's vectors, so that the loop has no branch
  double* outcome = out.begin();
  R_xlen_t known = 0;
  for (R_xlen_t i = 0; i < n; ++i) {
    const double own = static_cast<double>(value[i]);
    known += (own == event) | (own == other);
    outcome[i] = static_cast<double>(own == event);
  }
  if (known == n) return outcomes_of(out, false);
  bool missing = false;
  for (R_xlen_t i = 0; i < n; ++i) {
    if (is_missing(value[i])) {
      out[i] = NA_REAL;
      missing = true;
    } else if (value[i] != event && value[i] != other) {
      return R_NilValue;
    }
  }
  return outcomes_of(out, missing);
}

// The same of codes, of which those of an event and of others mostly are neighbours.
SEXP events_of_codes(const int* value, R_xlen_t n, double event, double other) {
  const auto is_na = [](int own) { return own == NA_INTEGER; };
  const double step = event - other;
  if (step * step != 1.0) return events_of(value, n, event, other, is_na);
  Rcpp::NumericVector out(Rcpp::no_init(n));
  double* outcome = out.begin();
  // differences are 0 or 1, and wrap around where a code is missing
  const auto from = static_cast<unsigned>(static_cast<int>(other));
  const unsigned sign = step > 0.0 ? 1u : ~0u;
  unsigned seen = 0;
  for (R_xlen_t i = 0; i < n; ++i) {
    const unsigned own = (static_cast<unsigned>(value[i]) - from) * sign;
    seen |= own;
    outcome[i] = static_cast<double>(static_cast<int>(own));
  }
  return seen <= 1u ? outcomes_of(out, false) : events_of(value, n, event, other, is_na);
}

}  // namespace

// `outcome`: 1 where the outcome is `event`, 0 where it is `other`, NA where it is missing, and
// whether any are `missing`; NULL if it is something else anywhere.
// [[Rcpp::export(rng = false)]]
SEXP cpp_event_outcomes(SEXP x, double event, double other) {
  const R_xlen_t n = Rf_xlength(x);
  switch (TYPEOF(x)) {
    case LGLSXP:
      return events_of_codes(LOGICAL(x), n, event, other);
    case INTSXP:
      return events_of_codes(INTEGER(x), n, event, other);
    case REALSXP:
      if (event == 1.0 && other == 0.0 && Rf_isNull(ATTRIB(x)) && cpp_all_whole(x, 0.0, 1.0))
        return outcomes_of(x, false);
      return events_of(REAL(x), n, event, other, [](double value) { return std::isnan(value); });
    default:
      return R_NilValue;
  }
}

namespace {

// Mean of the n values, and the sum of squares about it. `block(begin, size)`: an array of them.
struct Moments {
  double mean = 0.0;
  double squares = std::numeric_limits<double>::quiet_NaN();
};

template <class Block>
Moments moments_of(Eigen::Index n, const Block& block) {
  constexpr Eigen::Index most = 2048;
  const auto each_block = [&](const auto& task) {
    for (Eigen::Index begin = 0; begin < n; begin += most) {
      task(block(begin, std::min(most, n - begin)));
    }
  };
  const double rows = static_cast<double>(n);
  Moments out;
  each_block([&](const auto& values) { out.mean += values.sum(); });
  out.mean /= rows;
  if (!std::isfinite(out.mean)) return out;
  // about a mean that is off by rounding
  double rest = 0.0, squares = 0.0;
  Eigen::Array<double, Eigen::Dynamic, 1, 0, most, 1> gaps;
  each_block([&](const auto& values) {
    gaps = values - out.mean;
    rest += gaps.sum();
    squares += gaps.square().sum();
  });
  out.mean += rest / rows;
  out.squares = squares - rest * rest / rows;
  return out;
}

Moments moments_of(const double* value, R_xlen_t n) {
  const Eigen::Map<const Eigen::ArrayXd> all(value, n);
  return moments_of(
      n, [&](Eigen::Index begin, Eigen::Index size) { return all.segment(begin, size); });
}

Rcpp::NumericVector moments_vector(const Moments& of) {
  return Rcpp::NumericVector::create(of.mean, of.squares);
}

}  // namespace

// |p_i - onehot(y_i)|^2 of every row of probabilities, with labels 1, ..., K.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_brier_rows(Rcpp::NumericMatrix probs, Rcpp::IntegerVector labels) {
  const R_xlen_t n = probs.nrow();
  calibrisk::require(labels.size() == n, "brier_rows: one label per row.");
  Rcpp::NumericVector out(Rcpp::no_init(n));
  // without branches and the checks of Rcpp's vectors
  constexpr double outcome[2] = {0.0, 1.0};
  const int* label = labels.begin();
  double* sum = out.begin();
  for (int k = 0; k < probs.ncol(); ++k) {
    const double* p = &probs(0, k);
    for (R_xlen_t i = 0; i < n; ++i) {
      const double residual = p[i] - outcome[label[i] == k + 1];
      sum[i] = (k == 0 ? 0.0 : sum[i]) + residual * residual;
    }
  }
  return out;
}

// -log(p) of the outcome that happened, p at least `floor`: of classes in columns and labels, or of
// probabilities of an event and outcomes 0 and 1.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_log_rows(Rcpp::NumericVector probs, SEXP outcome, double floor) {
  const R_xlen_t n = Rf_xlength(outcome);
  const double* p = probs.begin();
  Rcpp::NumericVector out(Rcpp::no_init(n));
  double* loss = out.begin();
  const auto write = [&](const auto& at_outcome) {
    for (R_xlen_t i = 0; i < n; ++i) {
      const double own = at_outcome(i);
      loss[i] = -std::log(own < floor ? floor : own);
    }
  };
  if (Rf_isMatrix(probs)) {
    const Rcpp::IntegerVector labels(outcome);
    const int* label = labels.begin();
    calibrisk::require(Rf_nrows(probs) == n, "log_rows: one label per row.");
    write([&](R_xlen_t i) { return p[(label[i] - 1) * n + i]; });
  } else {
    const Rcpp::NumericVector events(outcome);
    const double* y = events.begin();
    calibrisk::require(probs.size() == n, "log_rows: one outcome per row.");
    write([&](R_xlen_t i) { return y[i] == 1.0 ? p[i] : 1.0 - p[i]; });
  }
  return out;
}

// The two columns 1 - p and p of probabilities of an event.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_event_columns(Rcpp::NumericVector p) {
  Rcpp::NumericMatrix out(Rcpp::no_init(p.size(), 2));
  std::transform(p.begin(), p.end(), out.begin(), [](double event) { return 1.0 - event; });
  std::copy(p.begin(), p.end(), out.begin() + p.size());
  return out;
}

// The features, residuals and labels of a scalar problem, of probabilities and outcomes 0/1.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_scalar_rows(Rcpp::NumericVector prob, Rcpp::NumericVector outcome) {
  const R_xlen_t n = prob.size();
  calibrisk::require(outcome.size() == n, "scalar_rows: one outcome per row.");
  Rcpp::NumericMatrix features(Rcpp::no_init(n, 1)), residuals(Rcpp::no_init(n, 1));
  Rcpp::IntegerVector labels(Rcpp::no_init(n));
  const double *p = prob.begin(), *y = outcome.begin();
  double *x = features.begin(), *d = residuals.begin();
  int* label = labels.begin();
  for (R_xlen_t i = 0; i < n; ++i) {
    x[i] = p[i];
    d[i] = p[i] - y[i];
    label[i] = static_cast<int>(y[i]);
  }
  return named_list({{"features", features}, {"residuals", residuals}, {"labels", labels}});
}

// Mean of the values, and the sum of squares about it.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_row_moments(Rcpp::NumericVector x) {
  return moments_vector(moments_of(x.begin(), x.size()));
}

// The same of the squared differences between predictions and outcomes.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_squared_moments(Rcpp::NumericVector prob, Rcpp::NumericVector outcome) {
  const Eigen::Map<const Eigen::ArrayXd> p(prob.begin(), prob.size()),
      y(outcome.begin(), outcome.size());
  calibrisk::require(p.size() == y.size(), "squared_moments: one outcome per row.");
  return moments_vector(moments_of(p.size(), [&](Eigen::Index begin, Eigen::Index size) {
    return (p.segment(begin, size) - y.segment(begin, size)).square();
  }));
}

// sum_k scale_k parts_k, of vectors of one length; NULL where one of them is.
// [[Rcpp::export(rng = false)]]
SEXP cpp_scaled_sum(Rcpp::List parts, Rcpp::NumericVector scale) {
  calibrisk::require(parts.size() > 0 && scale.size() == parts.size(),
                     "scaled_sum: one scale per vector.");
  Rcpp::NumericVector out;
  for (R_xlen_t k = 0; k < parts.size(); ++k) {
    const SEXP part = parts[k];
    if (Rf_isNull(part)) return R_NilValue;
    const Rcpp::NumericVector values(part);
    if (k == 0) out = Rcpp::NumericVector(Rcpp::no_init(values.size()));
    calibrisk::require(values.size() == out.size(), "scaled_sum: vectors of one length.");
    const double by = scale[k];
    const double* from = values.begin();
    double* to = out.begin();
    for (R_xlen_t i = 0; i < out.size(); ++i) to[i] = k == 0 ? by * from[i] : to[i] + by * from[i];
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

// Of the types 7 (`interpolated`) or 1 of quantile(); `weights` and `copies` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_weighted_quantile(Rcpp::NumericVector values, Rcpp::NumericVector shares,
                                          Rcpp::NumericVector weights, Rcpp::NumericVector copies,
                                          bool interpolated) {
  Rcpp::NumericVector out(shares.size());
  const auto fill = [&](auto&& of) {
    std::transform(shares.begin(), shares.end(), out.begin(), [&](double share) {
      return interpolated ? of.between(share) : of.reached(share);
    });
  };
  if (weights.size() == 0) {
    fill(calibrisk::EqualQuantiles(as_vector(values), shares.size() <= 5));
  } else {
    fill(calibrisk::WeightedQuantiles(as_vector(values), as_vector(weights), as_vector(copies)));
  }
  return out;
}

// k, the ratio of the weights of rows with and without an event. If E(w^2 | y, group) / E(w | y,
// group) is k^y times a number of the group, events have the share k W1 / (k W1 + W0) of the
// group's sum of w^2. W1 and W0 are the group's sums of weights with and without an event. k is
// such that the events of all groups together have the observed sum of w^2; 1 if there is no such
// k. By group: the sum of w^2 and the weights of events and of all.
// [[Rcpp::export(rng = false)]]
double cpp_outcome_weighting(Rcpp::NumericVector squares, Rcpp::NumericVector events,
                             Rcpp::NumericVector size, double event_squares) {
  const auto excess = [&](double log_k) {
    long double sum = 0.0L;
    for (R_xlen_t g = 0; g < squares.size(); ++g) {
      const double odds = std::exp(log_k) * events[g];
      sum += squares[g] * odds / (odds + std::max(size[g] - events[g], 0.0));
    }
    return event_squares - static_cast<double>(sum);
  };
  bool both = false;  // in some group
  for (R_xlen_t g = 0; g < size.size(); ++g) both |= events[g] != 0.0 && size[g] > events[g];
  constexpr double most = 50.0;
  if (!both || !(excess(-most) > 0.0 && excess(most) < 0.0)) return 1.0;
  return std::exp(calibrisk::bracketed_root(excess, -most, most, 1e-14));
}
