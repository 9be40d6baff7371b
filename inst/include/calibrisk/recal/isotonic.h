// SPDX-License-Identifier: GPL-3.0-or-later
// Isotonic regression of tie blocks, its limits, and of many redrawn outcomes at once.
#ifndef CALIBRISK_RECAL_ISOTONIC_H
#define CALIBRISK_RECAL_ISOTONIC_H

#include <calibrisk/classical/count_draws.h>
#include <calibrisk/classical/monotone_bins.h>
#include <calibrisk/classical/simulated_band.h>
#include <calibrisk/engine.h>

#include <numeric>

namespace calibrisk {

// total and weight of each tie block, in increasing order -> the closest non-decreasing values.
inline Vector isotonic(const std::vector<double>& total, const std::vector<double>& weight) {
  require(total.size() == weight.size(), "isotonic: one weight per block.");
  std::vector<int> end(total.size());
  std::iota(end.begin(), end.end(), 1);
  const Pools pools = isotonic_pools(total.data(), weight.data(), end.data(), total.size());
  Vector out(static_cast<Index>(total.size()));
  Index from = 0;
  for (std::size_t k = 0; k < pools.ends.size(); ++k) {
    out.segment(from, pools.ends[k] - from).setConstant(pools.values[k]);
    from = pools.ends[k];
  }
  return out;
}

// Neighbouring tie blocks as one cell, for fits at the blocks `at` (ascending, 0-based) alone: the
// last block of every cell. The fit at a place has its steps where sums of weights touch a line,
// and the further a step is from the place the less its exact block matters. A cell has up to a
// quarter of the weight between it and the next of these places on either side.
inline std::vector<int> isotonic_cells(const std::vector<double>& weight,
                                       const std::vector<int>& at) {
  constexpr double share = 0.25;
  std::vector<int> out;
  const int m = static_cast<int>(weight.size());
  std::size_t next = 0;
  // sums of weights since the place on the left and up to the one on the right
  constexpr double none = std::numeric_limits<double>::infinity();
  double left = none, right = 0.0;
  const auto look = [&](int from) {
    right = next < at.size() ? 0.0 : none;
    for (int k = from; next < at.size() && k < at[next]; ++k)
      right += weight[static_cast<std::size_t>(k)];
  };
  look(0);
  for (int k = 0; k < m;) {
    const auto own = [&](int j) { return weight[static_cast<std::size_t>(j)]; };
    const bool place = next < at.size() && k == at[next];
    const int stop = place || next == at.size() ? m : at[next];
    double size = own(k);
    int last = k++;
    while (!place && k < stop && size + own(k) <= share * std::min(left, right - size - own(k))) {
      size += own(k);
      last = k++;
    }
    out.push_back(last);
    left += size;
    right -= size;
    if (place) {
      left = 0.0;
      ++next;
      look(k);
    }
  }
  return out;
}

// Column r: the isotonic fit of draw r (blocks are the ties of the predictions) at the blocks
// `at` (ascending, 0-based). Cost O(draws n), of many rows O(n + draws cells).
inline Matrix isotonic_draws(const Engine& engine, const ConstVectorRef& prob,
                             const RowCounts& rows, const std::vector<int>& end,
                             const std::vector<double>& weight, const std::vector<int>& at,
                             Index times, std::uint64_t seed) {
  std::vector<int> last(end.size());
  std::iota(last.begin(), last.end(), 0);
  if (drawn_by_block(prob, rows)) last = isotonic_cells(weight, at);
  std::vector<int> cell_end, place;
  std::vector<double> sums;
  std::size_t k = 0, next = 0;
  for (const int own : last) {
    double sum = 0.0;
    for (; k <= static_cast<std::size_t>(own); ++k) sum += weight[k];
    for (; next < at.size() && at[next] <= own; ++next) {
      place.push_back(static_cast<int>(sums.size()));
    }
    sums.push_back(sum);
    cell_end.push_back(end[static_cast<std::size_t>(own)]);
  }
  const OutcomeDraws draws(prob, rows, std::move(cell_end));
  Matrix out(static_cast<Index>(at.size()), times);
  parallel_for(engine, times, [&](Index r) {
    const std::vector<double> total = draws.totals(seed, static_cast<std::uint64_t>(r));
    PoolStack stack;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      stack.add(total[i], sums[i], static_cast<int>(i) + 1);
    }
    const Pools pools = stack.pools();
    std::size_t pool = 0;
    for (std::size_t g = 0; g < place.size(); ++g) {
      while (pools.ends[pool] <= place[g]) ++pool;
      out(static_cast<Index>(g), r) = pools.values[pool];
    }
  });
  return out;
}

// The pools of the blocks before each of some blocks, from one sweep. A pool knows the one before
// it, so that the pools at an earlier block remain when later blocks are pooled with them.
class PoolHistory {
 public:
  struct Pool {
    double successes, trials;
    double log_likelihood;  // of this pool and all before it, each at its own mean
    int before;             // -1: none
  };

  static double log_likelihood(double successes, double trials, double p) {
    const double failures = trials - successes;
    return (successes > 0 ? successes * std::log(p) : 0.0) +
           (failures > 0 ? failures * std::log1p(-p) : 0.0);
  }

  // The next block; `up`: means rise from pool to pool, else they fall.
  void add(double successes, double trials, bool up) {
    int before = last_;
    while (before >= 0) {
      const Pool& pool = pools_[static_cast<std::size_t>(before)];
      const double own = pool.successes * trials, other = successes * pool.trials;
      if (up ? own < other : own > other) break;
      successes += pool.successes;
      trials += pool.trials;
      before = pool.before;
    }
    const double earlier = before < 0 ? 0.0 : at(before).log_likelihood;
    last_ = static_cast<int>(pools_.size());
    pools_.push_back({successes, trials,
                      earlier + log_likelihood(successes, trials, successes / trials), before});
  }
  int last() const { return last_; }
  const Pool& at(int pool) const { return pools_[static_cast<std::size_t>(pool)]; }

  // From this pool back, with means at most theta (up), or at least.
  double bounded(int pool, double theta, bool up) const {
    double successes = 0.0, trials = 0.0;
    for (; pool >= 0; pool = at(pool).before) {
      const double mean = at(pool).successes / at(pool).trials;
      if (up ? mean <= theta : mean >= theta) break;
      successes += at(pool).successes;
      trials += at(pool).trials;
    }
    return (trials > 0.0 ? log_likelihood(successes, trials, theta) : 0.0) +
           (pool < 0 ? 0.0 : at(pool).log_likelihood);
  }

 private:
  std::vector<Pool> pools_;
  int last_ = -1;
};

// The likelihood ratio of pi(x_k) = theta under an increasing pi (Banerjee & Wellner 2001), for the
// blocks `at` (ascending). The constrained fit is the isotonic fit of the blocks before k, at most
// theta; theta in block k; and the isotonic fit of the blocks after k, at least theta. Twice the
// log ratio equals `critical` at the limits. O(m), plus the pools beyond theta per step of the
// search. `fit`: the isotonic fit of all blocks.
inline Matrix isotonic_limits(const Engine& engine, const std::vector<double>& total,
                              const std::vector<double>& weight, const Vector& fit,
                              const std::vector<int>& at, const std::vector<double>& critical) {
  const std::size_t m = total.size();
  std::vector<int> before(at.size()), after(at.size());
  PoolHistory rising, falling;
  std::size_t g = 0;
  for (std::size_t k = 0; k < m; ++k) {
    for (; g < at.size() && static_cast<std::size_t>(at[g]) == k; ++g) before[g] = rising.last();
    rising.add(total[k], weight[k], true);
  }
  require(g == at.size(), "isotonic_limits: places ascend.");
  for (std::size_t k = m; k-- > 0;) {
    for (; g > 0 && static_cast<std::size_t>(at[g - 1]) == k; --g) after[g - 1] = falling.last();
    falling.add(total[k], weight[k], false);
  }
  const double best = rising.at(rising.last()).log_likelihood;
  Matrix out(static_cast<Index>(at.size()), 2);
  parallel_for(engine, static_cast<Index>(at.size()), [&](Index i) {
    const auto own = static_cast<std::size_t>(i), k = static_cast<std::size_t>(at[own]);
    const auto ratio = [&](double theta) {
      return 2.0 *
             (best - PoolHistory::log_likelihood(total[k], weight[k], theta) -
              rising.bounded(before[own], theta, true) - falling.bounded(after[own], theta, false));
    };
    const auto search = [&](double inside, double outside) {
      if (inside == outside || ratio(outside) <= critical[own]) return outside;
      for (int step = 0; step < 40; ++step) {
        const double middle = 0.5 * (inside + outside);
        (ratio(middle) <= critical[own] ? inside : outside) = middle;
      }
      return inside;
    };
    out(i, 0) = search(fit[at[own]], 0.0);
    out(i, 1) = search(fit[at[own]], 1.0);
  });
  return out;
}

// Distinct predictions in increasing order. For each: the number of its rows with their copies,
// what these count, the sum of its outcomes and the last of its rows in ascending order.
struct PooledRows {
  std::vector<double> x, rows, n, sum;
  std::vector<int> end;

  // `p` ascending
  PooledRows(const ConstVectorRef& p, const ConstVectorRef& y, const RowCounts& counts) {
    for (Index i = 0; i < p.size(); ++i) {
      if (i == 0 || p[i] != p[i - 1]) {
        x.push_back(p[i]);
        for (std::vector<double>* v : {&rows, &n, &sum}) v->push_back(0.0);
        end.push_back(0);
      }
      rows.back() += counts.rows(i);
      n.back() += counts.weight(i);
      sum.back() += counts.weight(i) * y[i];
      end.back() = static_cast<int>(i) + 1;
    }
  }

  // Evenly spaced quantiles and evenly spaced values, which depend on the predictions alone; all
  // where these are few. A null band at places that depend on the outcomes would hold fewer
  // calibrated curves than it says.
  std::vector<int> places() const {
    constexpr int most = 256;
    const int m = static_cast<int>(x.size());
    std::vector<int> out;
    if (m <= most) {
      out.resize(x.size());
      std::iota(out.begin(), out.end(), 0);
      return out;
    }
    std::vector<double> reached(x.size());
    std::partial_sum(rows.begin(), rows.end(), reached.begin());
    const double total = reached.back(), range = x.back() - x.front();
    for (double& v : reached) v /= total;
    constexpr int half = most / 2;
    const auto up_to = [](const std::vector<double>& v, double at) {
      return static_cast<int>(std::upper_bound(v.begin(), v.end(), at) - v.begin());
    };
    for (int j = 0; j < half; ++j) {
      const bool last = j == half - 1;
      const double even = last ? 1.0 : j * (1.0 / (half - 1));
      out.push_back(std::min(up_to(reached, even), m - 1));
      out.push_back(up_to(x, last ? x.back() : x.front() + j * (range / (half - 1))) - 1);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // Blocks of consecutive values with about equally many rows: first and last value, what the rows
  // up to its end count, and the sum of their outcomes.
  Matrix knots() const {
    double total = 0.0;
    for (const double own : n) total += own;
    const double many = std::max(20.0, std::min(200.0, std::nearbyint(3.0 * std::cbrt(total))));
    const double most = std::min(static_cast<double>(x.size()), many);
    Matrix out(4, static_cast<Index>(most));
    double reached = 0.0, events = 0.0, own = 0.0;
    Index used = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      reached += n[k];
      events += sum[k];
      const double block = std::min(std::ceil(reached / total * most - 1e-9), most);
      if (k == 0 || block != own) out(0, used++) = x[k];
      own = block;
      out.col(used - 1).tail(3) << x[k], reached, events;
    }
    return out.leftCols(used);
  }
};

// Isotonic regression at the ends of its steps and some places between.
struct IsotonicCurve {
  std::vector<double> x, rows, observed;
  Matrix limits;     // of the likelihood ratio
  CurveLimits null;  // of outcomes drawn from `prob`
  Matrix knots;
};

// A band of increasing curves, from the places `fixed` to the places `at` among which these are: an
// increasing curve that is within the band at `fixed` is within it everywhere.
inline void spread_band(const std::vector<int>& fixed, const std::vector<int>& at, Vector& low,
                        Vector& high) {
  for (Index k = 1; k < low.size(); ++k) low(k) = std::max(low(k), low(k - 1));
  for (Index k = high.size() - 1; k-- > 0;) high(k) = std::min(high(k), high(k + 1));
  Vector wide_low(static_cast<Index>(at.size())), wide_high(wide_low.size());
  Index right = 0;
  for (Index i = 0; i < wide_low.size(); ++i) {
    const int own = at[static_cast<std::size_t>(i)];
    while (fixed[static_cast<std::size_t>(right)] < own) ++right;
    wide_low(i) = low(fixed[static_cast<std::size_t>(right)] == own ? right : right - 1);
    wide_high(i) = high(right);
  }
  low = wide_low;
  high = wide_high;
}

// Rows are in ascending order of p; `critical`: see isotonic_limits(), of a place with one row and
// with several.
inline IsotonicCurve isotonic_curve(const Engine& engine, const ConstVectorRef& p,
                                    const ConstVectorRef& y, const ConstVectorRef& prob,
                                    const RowCounts& counts, const std::vector<double>& critical,
                                    Index times, double level, std::uint64_t seed) {
  const PooledRows pooled(p, y, counts);
  const Vector fit = isotonic(pooled.sum, pooled.n);
  const std::vector<int> fixed = pooled.places();
  std::vector<int> at = fixed;
  const Index m = fit.size();
  for (Index k = 0; k < m && static_cast<Index>(fixed.size()) < m; ++k) {
    if (k == 0 || k == m - 1 || fit(k) != fit(k - 1) || fit(k) != fit(k + 1)) {
      at.push_back(static_cast<int>(k));
    }
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  IsotonicCurve out;
  std::vector<double> limit;
  for (const int k : at) {
    const auto own = static_cast<std::size_t>(k);
    out.x.push_back(pooled.x[own]);
    out.rows.push_back(pooled.rows[own]);
    out.observed.push_back(fit(k));
    limit.push_back(critical[pooled.rows[own] > 1.0]);
  }
  out.limits = isotonic_limits(engine, pooled.sum, pooled.n, fit, at, limit);
  out.null = simulated_band(
      isotonic_draws(engine, prob, counts, pooled.end, pooled.n, fixed, times, seed), level);
  spread_band(fixed, at, out.null.low, out.null.high);
  spread_band(fixed, at, out.null.band_low, out.null.band_high);
  out.knots = pooled.knots();
  return out;
}

}  // namespace calibrisk

#endif
