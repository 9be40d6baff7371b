// SPDX-License-Identifier: GPL-3.0-or-later
// Smooth curves, and what samples add to cells of rows.
#include "r_engine.h"
#include "row_numbers.h"
#include <calibrisk/classical/cell_draws.h>
#include <calibrisk/classical/loess.h>
#include <calibrisk/classical/smooth_distances.h>

#include <R_ext/Random.h>
#include <Rmath.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using calibrisk::Index;

// Rows in any order, fitted in that of x, y and w; `copies` may be empty. Empty where a local fit
// is nearly singular.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector cpp_loess(Rcpp::NumericVector x, Rcpp::NumericVector y, Rcpp::NumericVector w,
                              Rcpp::NumericVector copies, double span, double leaf) {
  calibrisk::require(y.size() == x.size() && w.size() == x.size(), "loess: a value of each row.");
  const auto order =
      ascending_rows(static_cast<std::size_t>(x.size()), {w.begin(), y.begin(), x.begin()});
  const auto sorted = [&](const Rcpp::NumericVector& values) {
    return in_sorted_order(as_vector(values), order);
  };
  const calibrisk::Vector at = sorted(x), weight = sorted(w), counts = sorted(copies);
  const calibrisk::Loess curve(at, weight, counts, span, leaf);
  return wrap_vector(in_data_order(curve(sorted(y)), order));
}

namespace {

template <class Term>
std::vector<double> cell_totals(const Rcpp::NumericVector& w, const std::vector<int>& end,
                                const Term& term) {
  std::vector<double> out(end.size());
  long double sum = 0.0L;
  double before = 0.0;
  R_xlen_t i = 0;
  for (std::size_t k = 0; k < end.size(); ++k) {
    for (; i < end[k]; ++i) sum += (w.size() > 0 ? w[i] : 1.0) * term(i);
    out[k] = static_cast<double>(sum) - before;
    before = static_cast<double>(sum);
  }
  return out;
}

// Samples of rows of equal weights by R's generator, without drawing each row. The number of a
// cell's draws is multinomial (of very many as good as Poisson), that of events among them is
// binomial, and the sum of their predictions is as good as normal.
Rcpp::NumericMatrix drawn_cells(const Rcpp::NumericVector& x, const Rcpp::NumericVector& y,
                                const Rcpp::NumericVector& w, const std::vector<int>& end,
                                int times) {
  const std::size_t cells = end.size();
  const auto total = [&](const auto& term) { return cell_totals(w, end, term); };
  const std::vector<double> n = total([](R_xlen_t) { return 1.0; });
  const std::vector<double> events = total([&](R_xlen_t i) { return y[i]; });
  const std::vector<double> places = total([&](R_xlen_t i) { return x[i]; });
  const std::vector<double> of_events = total([&](R_xlen_t i) { return x[i] * y[i]; });
  const std::vector<double> squares = total([&](R_xlen_t i) { return x[i] * x[i]; });
  double all = 0.0;
  for (const double own : n) all += own;
  std::vector<double> share = n;
  for (double& own : share) own /= all;
  const int rows = static_cast<int>(cells);
  Rcpp::NumericMatrix out(3 * rows, times);
  const bool few = all < std::numeric_limits<int>::max();
  std::vector<int> drawn(cells);
  for (int t = 0; t < times; ++t) {
    if (few) R::rmultinom(static_cast<int>(std::round(all)), share.data(), rows, drawn.data());
    for (int k = 0; k < rows; ++k) {
      const auto cell = static_cast<std::size_t>(k);
      out(k, t) = few ? drawn[cell] : R::rpois(n[cell]);
    }
  }
  for (int t = 0; t < times; ++t) {
    for (int k = 0; k < rows; ++k) {
      const auto cell = static_cast<std::size_t>(k);
      out(2 * rows + k, t) = R::rbinom(out(k, t), std::min(events[cell] / n[cell], 1.0));
    }
  }
  std::vector<double> at_event(cells), at_other(cells), spread(cells);
  for (std::size_t k = 0; k < cells; ++k) {
    const double others = n[k] - events[k];
    at_event[k] = of_events[k] / std::max(events[k], 1.0);
    at_other[k] = (places[k] - of_events[k]) / std::max(others, 1.0);
    const double left =
        squares[k] - events[k] * (at_event[k] * at_event[k]) - others * (at_other[k] * at_other[k]);
    spread[k] = std::sqrt(std::max(left, 0.0) / n[k]);
  }
  for (int t = 0; t < times; ++t) {
    for (int k = 0; k < rows; ++k) {
      const auto cell = static_cast<std::size_t>(k);
      const double size = out(k, t), event = out(2 * rows + k, t);
      out(rows + k, t) = event * at_event[cell] + (size - event) * at_other[cell] +
                         spread[cell] * std::sqrt(size) * R::rnorm(0.0, 1.0);
    }
  }
  return out;
}

// A seed of the core's generator by R's.
std::uint64_t drawn_seed() {
  return static_cast<std::uint64_t>(std::floor(unif_rand() * std::exp2(52.0)));
}

}  // namespace

// Samples of rows in cells, [3 cells x times]; `cluster` from 1, or empty as `w` and `copies`.
// `plain`: rows of equal weights, which are not drawn one by one.
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_sampled_cells(Rcpp::NumericVector x, Rcpp::NumericVector y,
                                      Rcpp::NumericVector w, Rcpp::NumericVector copies,
                                      std::vector<int> end, std::vector<int> cluster, int times,
                                      bool plain, int threads) {
  if (plain) return drawn_cells(x, y, w, end, times);
  REngine engine(threads);
  int n_clusters = 0;
  for (int& own : cluster) n_clusters = std::max(n_clusters, own--);
  return wrap_matrix(calibrisk::resampled_cells(
      engine, {as_vector(x), as_vector(y), as_vector(w), as_vector(copies), end}, cluster,
      n_clusters, times, drawn_seed()));
}

// The same of outcomes drawn from y, for cells of these sums of weights and places, [cells x 2].
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_redrawn_cells(Rcpp::NumericMatrix sums, Rcpp::NumericVector y,
                                      Rcpp::NumericVector w, Rcpp::NumericVector copies,
                                      std::vector<int> end, int times, bool plain, int threads) {
  const auto cells = static_cast<Index>(end.size());
  calibrisk::require(sums.nrow() == cells && sums.ncol() >= 2, "redrawn_cells: sums of each cell.");
  calibrisk::Matrix out(3 * cells, times);
  out.topRows(2 * cells).colwise() =
      calibrisk::Vector(Eigen::Map<const calibrisk::Vector>(sums.begin(), 2 * cells));
  if (plain) {
    const std::vector<double> events = cell_totals(w, end, [&](R_xlen_t i) { return y[i]; });
    for (int t = 0; t < times; ++t) {
      for (Index k = 0; k < cells; ++k) {
        const double size = out(k, t), share = events[static_cast<std::size_t>(k)] / size;
        out(2 * cells + k, t) = R::rbinom(std::nearbyint(size), std::min(share, 1.0));
      }
    }
  } else {
    REngine engine(threads);
    out.bottomRows(cells) = calibrisk::redrawn_cells(
        engine, {as_vector(y), as_vector(y), as_vector(w), as_vector(copies), end}, times,
        drawn_seed());
  }
  return wrap_matrix(out);
}

namespace {

using calibrisk::CurveRows;
using calibrisk::Vector;

// Distances of samples from their predictions (`own`), then from other values of their rows
// (`other`). Where a local fit is nearly singular the curve is R's: `curve_of(x, y, w, copies)`.
class SmoothSamples {
 public:
  SmoothSamples(calibrisk::Smoother how, Rcpp::Function curve_of, bool own, bool other, Index times,
                const calibrisk::Loess* same = nullptr)
      : how_(how),
        curve_of_(curve_of),
        own_(own),
        other_(other),
        out_(5 * (own + other), times),
        same_(same) {}

  // draw(k) on this thread, in order, for `at_once` samples at a time; rows_of(r, k), on any, are
  // the rows of sample r, the k-th of these.
  template <class Draw, class RowsOf>
  Rcpp::NumericMatrix run(const calibrisk::Engine& engine, Index at_once, const Draw& draw,
                          const RowsOf& rows_of) {
    std::vector<char> told(static_cast<std::size_t>(at_once));
    for (Index begin = 0; begin < out_.cols(); begin += at_once) {
      const Index size = std::min(at_once, out_.cols() - begin);
      for (Index k = 0; k < size; ++k) draw(k);
      calibrisk::parallel_for(engine, size, [&](Index k) {
        const CurveRows rows = rows_of(begin + k, k);
        const Vector curve = calibrisk::smooth_curve(rows, how_, same_);
        if ((told[static_cast<std::size_t>(k)] = curve.size() > 0)) store(begin + k, rows, curve);
      });
      for (Index k = 0; k < size; ++k) {
        if (told[static_cast<std::size_t>(k)]) continue;
        const CurveRows rows = rows_of(begin + k, k);
        const Rcpp::NumericVector curve =
            curve_of_(wrap_vector(rows.x()), wrap_vector(rows.y()), wrap_vector(rows.w()),
                      rows.copies().size() > 0 ? SEXP(wrap_vector(rows.copies())) : R_NilValue);
        store(begin + k, rows, as_vector(curve));
      }
    }
    return wrap_matrix(out_);
  }

 private:
  void store(Index r, const CurveRows& rows, const Vector& curve) {
    Index row = 0;
    const auto add = [&](const calibrisk::ConstVectorRef& values) {
      for (const double one : calibrisk::smooth_distances(rows, curve, values))
        out_(row++, r) = one;
    };
    if (own_) add(rows.x());
    if (other_) add(rows.from());
  }

  calibrisk::Smoother how_;
  Rcpp::Function curve_of_;
  bool own_, other_;
  calibrisk::Matrix out_;
  const calibrisk::Loess* same_;  // the curve of other outcomes of the same rows
};

// So many samples of n rows are held at once.
Index samples_at_once(Index n, Index times) {
  return std::min(times, std::max<Index>(4000000 / std::max<Index>(n, 1), 1));
}

}  // namespace

// Bootstrap samples of sorted rows, drawn by R's generator in the order that they had: row i was
// order[i], of cluster[i] (from 1; none: empty, as `w`). With clusters also the distances from
// `from`, the values of the curve of all rows. Rows may stand for `copies` (none: empty). [5 or 10
// x times]
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_smooth_samples(Rcpp::NumericVector x, Rcpp::NumericVector y,
                                       Rcpp::NumericVector w, Rcpp::NumericVector copies,
                                       Rcpp::IntegerVector order, Rcpp::IntegerVector cluster,
                                       Rcpp::NumericVector from, bool loess, double span, int times,
                                       Rcpp::Function curve_of, int threads) {
  REngine r_engine(threads);
  const calibrisk::Engine engine = r_engine;
  const Index n = x.size(), at_once = samples_at_once(n, times);
  const bool clustered = cluster.size() > 0;
  const Index units = clustered ? *std::max_element(cluster.begin(), cluster.end()) : n;
  const int* unit = clustered ? cluster.begin() : order.begin();
  const auto at = as_vector(x), outcome = as_vector(y), weight = as_vector(w),
             curve = as_vector(from), own = as_vector(copies);
  calibrisk::require(own.size() == 0 || own.size() == n, "smooth_samples: one count per row.");
  std::vector<double> counts(static_cast<std::size_t>(at_once * units));
  const auto draw = [&](Index k) {
    double* count = counts.data() + k * units;
    if (!clustered && own.size() > 0) {
      double left = own.sum(), among = left;
      for (Index i = 0; i < n; ++i) {
        left -= count[unit[i] - 1] = R::rbinom(left, std::min(own[i] / among, 1.0));
        among -= own[i];
      }
      return;
    }
    std::fill(count, count + units, 0.0);
    for (Index i = 0; i < units; ++i) {
      ++count[static_cast<Index>(R_unif_index(static_cast<double>(units)))];
    }
  };
  const auto rows_of = [&](Index, Index k) {
    const double* count = counts.data() + k * units;
    CurveRows rows(n, true);
    for (Index i = 0; i < n; ++i) {
      // of independent copies, or of clusters with all that are in them
      double times = count[unit[i] - 1];
      if (times == 0.0) continue;
      double size = weight.size() > 0 ? times * weight[i] : times;
      if (own.size() > 0 && clustered) times *= own[i];
      if (own.size() > 0 && !clustered) size /= own[i];
      rows.add(at[i], outcome[i], size, clustered ? curve[i] : 0.0, times);
    }
    return rows;
  };
  return SmoothSamples({loess, span}, curve_of, true, clustered, times)
      .run(engine, at_once, draw, rows_of);
}

// Outcomes drawn from the frequencies `from` of sorted rows, by R's generator in the order that
// they had: their curves' distances from `from`. Of rows with `copies` (none: empty) these are the
// shares of events among them. [5 x times]
// [[Rcpp::export]]
Rcpp::NumericMatrix cpp_smooth_redraws(Rcpp::NumericVector x, Rcpp::NumericVector w,
                                       Rcpp::NumericVector copies, Rcpp::IntegerVector order,
                                       Rcpp::NumericVector from, bool loess, double span, int times,
                                       Rcpp::Function curve_of, int threads) {
  REngine r_engine(threads);
  const calibrisk::Engine engine = r_engine;
  const Index n = x.size(), at_once = samples_at_once(n, times);
  const auto at = as_vector(x), weight = as_vector(w), curve = as_vector(from),
             own = as_vector(copies);
  calibrisk::require(own.size() == 0 || own.size() == n, "smooth_redraws: one count per row.");
  const int* place = order.begin();
  Vector chance(n);
  for (Index i = 0; i < n; ++i) chance[order[i] - 1] = from[i];
  std::vector<double> drawn(static_cast<std::size_t>(at_once * n));
  const auto draw = [&](Index k) {
    double* event = drawn.data() + k * n;
    for (Index i = 0; i < n && own.size() == 0; ++i) event[i] = unif_rand() < chance[i];
    for (Index i = 0; i < own.size(); ++i) {
      event[place[i] - 1] = R::rbinom(own[i], from[i]) / own[i];
    }
  };
  const auto rows_of = [&](Index, Index k) {
    CurveRows rows(n, own.size() > 0);
    for (Index i = 0; i < n; ++i) {
      const double event = drawn[static_cast<std::size_t>(k * n + place[i] - 1)];
      rows.add(at[i], event, weight.size() > 0 ? weight[i] : 1.0, curve[i],
               own.size() > 0 ? own[i] : 1.0);
    }
    return rows;
  };
  const CurveRows rows = rows_of(0, 0);
  calibrisk::Loess same = calibrisk::loess_of(rows, {loess, span});
  if (loess) same.keep_fits();
  return SmoothSamples({loess, span}, curve_of, false, true, times, &same)
      .run(engine, at_once, draw, rows_of);
}

// The same of cells: `sums` has their weights, sums of predictions and of events, a column per
// sample, `gap` the distance of each cell's curve of all rows from its prediction (none: empty).
// `own`: whether the distances from the predictions come before those from that curve.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_cell_distances(Rcpp::NumericMatrix sums, Rcpp::NumericVector gap, bool own,
                                       bool loess, double span, Rcpp::Function curve_of,
                                       int threads) {
  REngine r_engine(threads);
  const calibrisk::Engine engine = r_engine;
  const Index n = sums.nrow() / 3, times = sums.ncol();
  const auto sample = as_matrix(sums);
  const auto curve = as_vector(gap);
  const auto rows_of = [&](Index r, Index) {
    const double *size = sample.col(r).data(), *place = size + n, *events = place + n;
    CurveRows rows(n, false);
    for (Index k = 0; k < n; ++k) {
      if (!(size[k] > 0)) continue;
      const double at = place[k] / size[k];
      rows.add(at, events[k] / size[k], size[k], curve.size() > 0 ? at + curve[k] : 0.0);
    }
    rows.sort();
    return rows;
  };
  return SmoothSamples({loess, span}, curve_of, own, gap.size() > 0, times)
      .run(
          engine, times, [](Index) {}, rows_of);
}
