// SPDX-License-Identifier: GPL-3.0-or-later
// Binned curves and those of the probability integral transform, with their limits: Wilson's at one
// place, Clopper and Pearson's at all, and those of calibrated predictions.
#include "curve_counts.h"
#include "r_engine.h"
#include <calibrisk/classical/bin_counts.h>
#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/classical/share_limits.h>
#include <calibrisk/classical/simulated_band.h>
#include <calibrisk/math/weighted_quantile.h>
#include <calibrisk/recal/pit.h>

#include <Rmath.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace {

using calibrisk::Index;
using calibrisk::Matrix;
using calibrisk::Vector;
using Ends = std::array<double, 2>;

// `tail`: error probability of each side. They cover for any probabilities of the trials whose mean
// is the target. By R's quantile, since that of the core loses digits of very many trials.
Ends clopper_pearson(double successes, double n, double tail) {
  successes = std::min(successes, n);
  return {successes <= 0.0 ? 0.0 : R::qbeta(tail, successes, n - successes + 1.0, 1, 0),
          successes >= n ? 1.0 : R::qbeta(tail, successes + 1.0, n - successes, 0, 0)};
}

// An effective number of rows is rounded.
Ends binomial_shares(double prob, double n, double tail) {
  n = std::max(std::nearbyint(n), 1.0);
  return {R::qbinom(tail, n, prob, 1, 0) / n, R::qbinom(tail, n, prob, 0, 0) / n};
}

// The smallest and largest shares of n independent rows (any fraction of a row) whose Clopper and
// Pearson limits of this tail hold `prob`.
Ends holding_shares(double prob, double n, double tail) {
  const auto lowest = [&](double of) {
    double low = 0.0, high = 1.0;
    for (int step = 0; step < 50; ++step) {
      const double middle = (low + high) / 2.0;
      const bool holds = R::pbeta(of, middle * n + 1.0, (1.0 - middle) * n, 0, 0) >= tail;
      (holds ? high : low) = middle;
    }
    return low;
  };
  return {lowest(prob), 1.0 - lowest(1.0 - prob)};
}

struct Limits {
  Vector low, high;

  // of(k): both ends at place k
  template <class Of>
  static Limits at(Index places, const Of& of) {
    Limits out{Vector(places), Vector(places)};
    for (Index k = 0; k < places; ++k) {
      const Ends ends = of(k);
      out.low(k) = ends[0];
      out.high(k) = ends[1];
    }
    return out;
  }
  Limits over(const Vector& unit) const {
    return {low.cwiseQuotient(unit), high.cwiseQuotient(unit)};
  }
  SEXP list() const { return named_list({{"low", low}, {"high", high}}); }
};

// Bins (left, right] that have rows; `rows` of each.
struct PointsOf {
  Vector x, observed, rows, left, right;
  Limits conf, band, null, null_band;

  Rcpp::List list() const {
    return named_list({{"x", x},
                       {"observed", observed},
                       {"rows", rows},
                       {"left", left},
                       {"right", right},
                       {"conf", conf.list()},
                       {"band", band.list()},
                       {"null", null.list()},
                       {"null_band", null_band.list()}});
  }
};

// The number of edges below each value, or with `equal` of those that are at most the value. For
// many values, edges are first counted at the ends of cells of the unit interval: a search of them
// all takes longer than the rest of a figure.
std::vector<int> bins_of(const Rcpp::NumericVector& values, const std::vector<double>& edges,
                         bool equal = false) {
  constexpr int cells = 1024;  // a power of two, so that a value's cell is exact
  const auto search = [&](int from, int to, double v) {
    const auto begin = edges.begin() + from, end = edges.begin() + to;
    const auto at = equal ? std::upper_bound(begin, end, v) : std::lower_bound(begin, end, v);
    return static_cast<int>(at - edges.begin());
  };
  const int all = static_cast<int>(edges.size());
  std::vector<int> before;
  for (int k = 0; k <= cells && values.size() > 4 * cells; ++k) {
    before.push_back(search(0, all, static_cast<double>(k) / cells));
  }
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(values.size()));
  for (const double v : values) {
    const double place = v * cells;
    if (before.empty() || !(place >= 0.0 && place < cells)) {
      out.push_back(search(0, all, v));
    } else {
      const auto k = static_cast<std::size_t>(place);
      out.push_back(search(before[k], before[k + 1], v));
    }
  }
  return out;
}

// What rows of the transform count, NULL: 1; and all of them together.
struct TransformRows {
  Rcpp::NumericVector w;
  double n;
  TransformRows(R_xlen_t size, const Rcpp::Nullable<Rcpp::NumericVector>& counts)
      : w(counts.isNull() ? Rcpp::NumericVector(size, 1.0) : Rcpp::NumericVector(counts.get())),
        n(calibrisk::exact_sum(w.size(), [&](R_xlen_t i) { return w[i]; })) {}
};

double normal_score(double level) { return R::qnorm((1.0 + level) / 2.0, 0.0, 1.0, 1, 0); }

// Number of independent trials whose share would be as uncertain as this mean of terms between 0
// and 1. `sums`: mean and mean square of the terms. Their variance is that observed, or that of
// redrawn outcomes where it is larger.
Vector effective_size(const Matrix& sums, const Vector& expected, const Matrix& draws, double n) {
  Vector out(expected.size());
  for (Index k = 0; k < out.size(); ++k) {
    const double mean = sums(k, 0), at = expected(k);
    const double observed = (sums(k, 1) - mean * mean) / (mean * (1.0 - mean));
    const double null = n * (draws.row(k).array() - at).square().mean() / (at * (1.0 - at));
    double size = 1e-6;
    for (const double v : {observed, null}) size = v > size ? v : size;  // either may be none
    out(k) = n / std::min(size, 1.0);
  }
  return out;
}

}  // namespace

// Of shares of n rows, or of as many for all.
// [[Rcpp::export(rng = false)]]
SEXP cpp_wilson_limits(Rcpp::NumericVector share, Rcpp::NumericVector n, double level) {
  const double z = normal_score(level);
  return Limits::at(share.size(),
                    [&](Index k) {
                      return calibrisk::wilson_limits(share[k], n[n.size() == 1 ? 0 : k], z);
                    })
      .list();
}

// [[Rcpp::export(rng = false)]]
SEXP cpp_clopper_pearson(Rcpp::NumericVector successes, double n, double tail) {
  return Limits::at(successes.size(),
                    [&](Index k) { return clopper_pearson(successes[k], n, tail); })
      .list();
}

// One place per bin that has rows. Limits of calibrated predictions: the exact distribution of each
// bin's count; at once one tail probability for all bins, the largest with which all counts are
// inside with probability `level`. Of weighted rows (CurveCounts) each bin has its own effective
// number of rows, and the limits of calibrated models are those of as many as give the weighted sum
// of outcomes its variance.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_binned_curve(Rcpp::NumericVector p, Rcpp::NumericVector y, std::vector<double> edges,
                            Rcpp::Nullable<Rcpp::List> counts, Rcpp::NumericVector copies,
                            double level) {
  const std::vector<int> bin = bins_of(p, edges);
  const auto size = static_cast<Index>(edges.size()) + 1;
  const CurveCounts of(counts, copies, y);
  // rows; of the weights: their sum, that of p; of u: their sum, that of y, of squares, of the
  // probabilities and of their variances
  Matrix sums = Matrix::Zero(size, 8);
  for (R_xlen_t i = 0; i < p.size(); ++i) {
    const double own = of.row(i), weight = of.plain() ? own : of.w(i),
                 even = of.plain() ? own : of.even(i), square = even * even / own,
                 prob = of.even_prob(p[i]);
    auto row = sums.row(bin[static_cast<std::size_t>(i)]);
    row(0) += own;
    row(1) += weight;
    row(2) += weight * p[i];
    row(3) += even;
    row(4) += even * y[i];
    row(5) += square;
    row(6) += even * prob;
    row(7) += square * prob * (1.0 - prob);
  }
  std::vector<Index> used;
  std::vector<int> place(static_cast<std::size_t>(size), 0);
  for (Index b = 0; b < size; ++b) {
    place[static_cast<std::size_t>(b)] = static_cast<int>(used.size());
    if (sums(b, 0) > 0.0) used.push_back(b);
  }
  const auto m = static_cast<Index>(used.size());
  const double z = normal_score(level), all = std::pow(level, 1.0 / static_cast<double>(m));
  PointsOf out;
  for (Vector* v : {&out.x, &out.observed, &out.rows, &out.left, &out.right}) v->resize(m);
  Vector trials(m), expected(m), variance(m);
  for (Index j = 0; j < m; ++j) {
    const Index b = used[static_cast<std::size_t>(j)];
    const auto row = sums.row(b);
    out.x(j) = row(2) / row(1);
    out.observed(j) = std::min(row(4) / row(3), 1.0);
    out.rows(j) = row(0);
    out.left(j) = b == 0 ? 0.0 : edges[static_cast<std::size_t>(b) - 1];
    out.right(j) = b + 1 == size ? 1.0 : edges[static_cast<std::size_t>(b)];
    trials(j) = of.shrink * row(3) * row(3) / row(5);
    expected(j) = row(6) / row(3);
    variance(j) =
        of.shrink * row(3) * row(3) * expected(j) * (1.0 - expected(j)) / std::max(row(7), 1e-300);
  }
  out.conf = Limits::at(
      m, [&](Index j) { return calibrisk::wilson_limits(out.observed(j), trials(j), z); });
  out.band = Limits::at(m, [&](Index j) {
    return clopper_pearson(out.observed(j) * trials(j), trials(j), (1.0 - all) / 2.0);
  });
  if (of.plain()) {
    std::vector<int> at;
    at.reserve(bin.size());
    for (const int b : bin) at.push_back(place[static_cast<std::size_t>(b)]);
    const Matrix limits = calibrisk::bin_count_limits(as_vector(p), as_vector(copies), at,
                                                      static_cast<int>(m), level);
    const auto limits_from = [&](Index low) {
      return Limits{limits.row(low).transpose().cwiseQuotient(out.rows),
                    limits.row(low + 1).transpose().cwiseQuotient(out.rows)};
    };
    out.null = limits_from(0);
    out.null_band = limits_from(2);
    return out.list();
  }
  const auto null = [&](double held) {
    return Limits::at(
        m, [&](Index j) { return holding_shares(expected(j), variance(j), (1.0 - held) / 2.0); });
  };
  out.null = null(level);
  out.null_band = null(all);
  return out.list();
}

// Bars of values of the transform between the levels `upper`, relative to their widths, of `total`
// rows. `draws`: pit_draws() at the levels, of distributions that jump; empty where none does, or
// all outcomes are `whole`: no share between two levels is known then. `v`: what rows count;
// NULL: 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_pit_bars(Rcpp::NumericVector low, Rcpp::NumericVector high,
                        Rcpp::NumericVector upper, Rcpp::Nullable<Rcpp::NumericVector> v,
                        Rcpp::NumericMatrix draws, bool whole, double level, double total) {
  const auto m = static_cast<Index>(upper.size());
  const TransformRows rows(low.size(), v);
  const Rcpp::NumericVector& w = rows.w;
  const double n = rows.n, z = normal_score(level);
  // at once: Bonferroni, whose loss is small for shares that sum to 1
  const double one = (1.0 - level) / 2.0, tail = one / static_cast<double>(m);
  PointsOf out;
  out.right = as_vector(upper);
  out.left = Vector::Zero(m);
  out.left.tail(m - 1) = out.right.head(m - 1);
  out.x = (out.left + out.right) / 2.0;
  const Vector expected = out.right - out.left;
  Vector share = Vector::Zero(m), size = Vector::Constant(m, n);
  if (draws.size() == 0) {
    std::vector<double> edges(upper.begin(), upper.end() - 1);
    for (double& edge : edges) edge += 1e-12;
    const std::vector<int> bin = bins_of(low, edges);
    for (R_xlen_t i = 0; i < low.size(); ++i) share(bin[static_cast<std::size_t>(i)]) += w[i] / n;
    const auto null = [&](double of) {
      return Limits::at(m, [&](Index k) {
        return whole ? Ends{0.0, 1.0} : binomial_shares(expected(k), n, of);
      });
    };
    out.null = null(one);
    out.null_band = null(tail);
  } else {
    const Matrix sums =
        calibrisk::pit_sums(as_vector(low), as_vector(high), as_vector(upper), as_vector(w))
            .rightCols(2) /
        n;
    Matrix mass = as_matrix(draws);
    for (Index k = m; k-- > 1;) mass.row(k) -= mass.row(k - 1);
    const auto null = calibrisk::simulated_band(mass, level);
    out.null = {null.low, null.high};
    out.null_band = {null.band_low, null.band_high};
    share = sums.col(0);
    size = effective_size(sums, expected, mass, n);
  }
  out.conf = Limits::at(m, [&](Index k) { return calibrisk::wilson_limits(share(k), size(k), z); });
  out.band =
      Limits::at(m, [&](Index k) { return clopper_pearson(share(k) * size(k), size(k), tail); });
  out.observed = share.cwiseQuotient(expected);
  out.rows = share * total;
  for (Limits* limits : {&out.conf, &out.band, &out.null, &out.null_band}) {
    *limits = limits->over(expected);
  }
  return out.list();
}

// The share of outcomes below the predicted quantile of each level. At once: Dvoretzky, Kiefer &
// Wolfowitz with Massart's constant, or for `few` levels Bonferroni's rule; with `draws`, see
// cpp_pit_bars(), the largest of the standardised deviations of redrawn curves. `upper`: the levels
// of draws.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_quantile_curve(Rcpp::NumericVector low, Rcpp::NumericVector high,
                              Rcpp::NumericVector levels, Rcpp::NumericVector upper,
                              Rcpp::Nullable<Rcpp::NumericVector> v, Rcpp::NumericMatrix draws,
                              bool whole, bool few, double level) {
  const auto m = static_cast<Index>(levels.size());
  const TransformRows rows(low.size(), v);
  const Rcpp::NumericVector& w = rows.w;
  const double n = rows.n, z = normal_score(level);
  const double one = (1.0 - level) / 2.0, tail = one / static_cast<double>(m);
  const auto at = as_vector(levels);
  PointsOf out;
  out.x = at;
  if (draws.size() == 0) {
    out.observed = Vector::Zero(m);
    for (R_xlen_t i = 0; i < low.size(); ++i) {
      // a distribution function at its own quantile is the level up to rounding
      const auto reached = std::lower_bound(levels.begin(), levels.end(), low[i] - 1e-12);
      if (reached != levels.end()) out.observed(reached - levels.begin()) += w[i];
    }
    std::partial_sum(out.observed.data(), out.observed.data() + m, out.observed.data());
    out.observed /= n;
    const double half = std::sqrt(std::log(2.0 / (1.0 - level)) / (2.0 * n));
    const auto wilson = [&](Index k) { return calibrisk::wilson_limits(out.observed(k), n, z); };
    out.conf = Limits::at(m, wilson);
    out.null = Limits::at(m, [&](Index k) { return binomial_shares(at(k), n, one); });
    out.band = Limits::at(m, [&](Index k) {
      const double share = out.observed(k);
      return few ? clopper_pearson(share * n, n, tail) : Ends{share - half, share + half};
    });
    out.null_band = Limits::at(m, [&](Index k) {
      return few ? binomial_shares(at(k), n, tail) : Ends{at(k) - half, at(k) + half};
    });
    // right quantiles of counts have at least their level at or below them
    if (whole) out.null.high = out.null_band.high = Vector::Ones(m);
    return out.list();
  }
  // at level 0 there is nothing
  const Index first = levels[0] == 0.0 ? 1 : 0, rest = m - first;
  const auto of_levels = [&](const Matrix& x) {
    Matrix kept = Matrix::Zero(m, x.cols());
    kept.bottomRows(rest) = x.topRows(rest);
    return kept;
  };
  const Matrix sums =
      of_levels(calibrisk::pit_sums(as_vector(low), as_vector(high), as_vector(upper), as_vector(w))
                    .leftCols(2) /
                n);
  const Matrix drawn = of_levels(as_matrix(draws));
  const auto null = calibrisk::simulated_band(drawn, level);
  out.null = {null.low, null.high};
  out.null_band = {null.band_low, null.band_high};
  out.observed = sums.col(0);
  const Vector size = effective_size(sums, at, drawn, n);
  const Matrix off = (drawn.colwise() - Vector(at)).cwiseAbs();
  const Vector spread = off.array().square().rowwise().mean().sqrt();
  std::vector<double> largest(static_cast<std::size_t>(off.cols()), 0.0);
  for (Index r = 0; r < off.cols(); ++r) {
    double& most = largest[static_cast<std::size_t>(r)];
    for (Index k = 0; k < m; ++k) {
      if (spread(k) > 1e-9) most = std::max(most, off(k, r) / spread(k));
    }
  }
  const double farthest = std::max(calibrisk::interpolated_quantile(std::move(largest), level), z);
  const auto wilson = [&](double errors) {
    return Limits::at(m, [&, errors](Index k) {
      return calibrisk::wilson_limits(out.observed(k), size(k), errors);
    });
  };
  out.conf = wilson(z);
  out.band = wilson(farthest);
  return out.list();
}

// The columns of a curve: shares, at most `upper`, with k times their odds; NA: what it does not
// have.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_curve_columns(Rcpp::List found, double k, double upper) {
  const Rcpp::NumericVector x = field(found, "x");
  const auto known = [&](const char* name) {
    const Rcpp::NumericVector given =
        has_field(found, name) ? Rcpp::NumericVector(field(found, name)) : Rcpp::NumericVector();
    return given.size() > 0 ? given : Rcpp::NumericVector(x.size(), NA_REAL);
  };
  const auto clip = [&](const Rcpp::NumericVector& shares) {
    Rcpp::NumericVector out(shares.size());
    std::transform(shares.begin(), shares.end(), out.begin(), [&](double v) {
      v = std::min(std::max(v, 0.0), upper);
      return k == 1.0 ? v : k * v / (k * v + 1.0 - v);
    });
    return out;
  };
  const auto limits = [&](const char* name, const char* end) {
    return clip(field(Rcpp::List(field(found, name)), end));
  };
  return named_list({{"confidence", x},
                     {"observed", clip(field(found, "observed"))},
                     {"n", known("rows")},
                     {"left", known("left")},
                     {"right", known("right")},
                     {"conf.low", limits("conf", "low")},
                     {"conf.high", limits("conf", "high")},
                     {"band.low", limits("band", "low")},
                     {"band.high", limits("band", "high")},
                     {"null.low", limits("null", "low")},
                     {"null.high", limits("null", "high")},
                     {"null_band.low", limits("null_band", "low")},
                     {"null_band.high", limits("null_band", "high")}});
}

// One decision for both bands: the curve's own holds `target` (the diagonal) everywhere exactly if
// the curve stays within the null band. A band that is widened covers as before. A curve may leave
// the null band while its own band holds the target. Its own band then ends at the target where the
// curve leaves, since the null band says no more than on which side the frequency is. With whether
// it leaves and the share of places where its own band does not hold the target.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_agreeing_band(Rcpp::List points, Rcpp::NumericVector target) {
  constexpr double rounding = 1e-12, beside = 10.0 * rounding;
  const Rcpp::List out = Rf_shallow_duplicate(points);
  const auto column = [&](const char* name) { return Rcpp::NumericVector(field(points, name)); };
  const auto changed = [&](const char* name) {
    const Rcpp::NumericVector own = Rcpp::clone(column(name));
    const Rcpp::CharacterVector names = out.names();
    for (R_xlen_t j = 0; j < out.size(); ++j) {
      if (names[j] == name) SET_VECTOR_ELT(out, j, own);
    }
    return own;
  };
  const Rcpp::NumericVector observed = column("observed"), null_low = column("null_band.low"),
                            null_high = column("null_band.high");
  Rcpp::NumericVector low = changed("band.low"), high = changed("band.high"),
                      one_low = changed("conf.low"), one_high = changed("conf.high");
  const R_xlen_t n = observed.size();
  const auto at = [&](R_xlen_t i) { return target[target.size() == 1 ? 0 : i]; };
  const auto leaves = [&](R_xlen_t i) {
    return observed[i] - null_high[i] > rounding || null_low[i] - observed[i] > rounding;
  };
  const auto off = [&](R_xlen_t i) {
    return at(i) < low[i] - rounding || at(i) > high[i] + rounding;
  };
  bool rejected = false, excluded = false, unknown = false, unknown_band = false;
  for (R_xlen_t i = 0; i < n; ++i) {
    rejected = rejected || leaves(i);
    excluded = excluded || off(i);
    unknown = unknown || std::isnan(observed[i] + null_low[i] + null_high[i]);
    unknown_band = unknown_band || std::isnan(low[i] + high[i]);
  }
  for (R_xlen_t i = 0; i < n; ++i) {
    if (!rejected) {
      low[i] = std::min(low[i], at(i));
      high[i] = std::max(high[i], at(i));
    } else if (!excluded && leaves(i)) {
      const bool up = observed[i] >= at(i);
      for (double* end : {up ? &low[i] : &high[i], up ? &one_low[i] : &one_high[i]}) {
        *end = up ? std::max(*end, at(i) + beside) : std::min(*end, at(i) - beside);
      }
    }
  }
  double outside = 0.0;
  for (R_xlen_t i = 0; i < n; ++i) outside += off(i) ? 1.0 : 0.0;
  return named_list(
      {{"points", static_cast<SEXP>(out)},
       {"outside", unknown_band ? NA_REAL : outside / static_cast<double>(n)},
       {"rejected", static_cast<SEXP>(Rcpp::LogicalVector::create(
                        unknown && !rejected ? NA_LOGICAL : static_cast<int>(rejected)))}});
}

// Copies (or their `weights`) of the rows and of their events in 500 cells of the unit interval, as
// a figure of rare events shows the tenth of them that it needs, and in cells of equal width of the
// logit. The labels may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_curve_bars(Rcpp::NumericVector values, Rcpp::NumericVector labels,
                          Rcpp::NumericVector weights) {
  const auto bars = [&](const std::vector<double>& ends, const std::vector<int>& cell) {
    const std::size_t cells = ends.size() - 1;
    std::vector<double> n(cells), events(cells);
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const auto row = static_cast<R_xlen_t>(i);
      const auto at = static_cast<std::size_t>(cell[i]);
      const double weight = weights.size() == 0 ? 1.0 : weights[row];
      n[at] += weight;
      if (labels.size() > 0 && labels[row] == 1.0) events[at] += weight;
    }
    const auto counts = [&](const std::vector<double>& of) -> SEXP {
      if (weights.size() > 0) return Rcpp::wrap(of);
      return Rcpp::IntegerVector(of.begin(), of.end());
    };
    return named_list({{"left", std::vector<double>(ends.begin(), ends.end() - 1)},
                       {"right", std::vector<double>(ends.begin() + 1, ends.end())},
                       {"n", counts(n)},
                       {"events", counts(events)}});
  };
  std::vector<double> share, logit, inner;
  for (int k = 0; k <= 500; ++k) share.push_back(k / 500.0);
  for (int k = 0; k <= 94; ++k) logit.push_back(std::min(-9.4 + k * 0.2, 9.4));
  for (std::size_t k = 1; k < 94; ++k) inner.push_back(R::plogis(logit[k], 0.0, 1.0, 1, 0));
  const std::vector<double> edges(share.begin() + 1, share.end() - 1);
  return named_list({{"shares", static_cast<SEXP>(bars(share, bins_of(values, edges)))},
                     {"logits", static_cast<SEXP>(bars(logit, bins_of(values, inner, true)))}});
}

// A figure draws a curve between the fifth smallest and the fifth largest prediction: beyond, a few
// rows bend it. `copies`: how many rows each stands for, or empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_drawn_ends(Rcpp::NumericVector values, Rcpp::NumericVector copies) {
  constexpr double few = 5.0;
  if (values.size() == 0) return named_list({{"from", NA_REAL}, {"to", NA_REAL}});
  const Vector weight = as_vector(copies);
  const double n = copies.size() > 0 ? weight.sum() : static_cast<double>(values.size());
  const double first = n < 4.0 * few ? 1.0 : few;
  if (copies.size() > 0) {
    const auto end = [&](double at) {
      return calibrisk::WeightedQuantiles(as_vector(values), weight, Vector()).reached(at / n);
    };
    return named_list({{"from", end(first)}, {"to", end(n + 1.0 - first)}});
  }
  std::vector<double> least(static_cast<std::size_t>(first)), most(least.size());
  std::partial_sort_copy(values.begin(), values.end(), least.begin(), least.end());
  std::partial_sort_copy(values.begin(), values.end(), most.begin(), most.end(),
                         std::greater<double>());
  return named_list({{"from", least.back()}, {"to", most.back()}});
}
