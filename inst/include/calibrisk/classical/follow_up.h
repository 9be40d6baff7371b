// SPDX-License-Identifier: GPL-3.0-or-later
// Weights that compensate for rows that were censored before a horizon.
#ifndef CALIBRISK_CLASSICAL_FOLLOW_UP_H
#define CALIBRISK_CLASSICAL_FOLLOW_UP_H

#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace calibrisk {

// Of every row: when it was last seen, whether an event (1) of any cause happened then, what it
// counts, and when it entered. Values that are NaN are not known.
struct FollowUp {
  Vector time, event, count, entry;

  Index size() const { return time.size(); }
  bool known(Index i) const {
    return !(std::isnan(time(i)) || std::isnan(event(i)) || std::isnan(count(i)) ||
             std::isnan(entry(i)));
  }
  bool used(Index i) const { return known(i) && count(i) > 0.0; }
};

// `weights`: NaN where the row is not known. `lost`: whether nobody is followed to the horizon, in
// a part at least, `last` being the last time. `certain`: the time from which on the estimated risk
// is 1 although rows stay without an event, else NaN.
struct FollowUpWeights {
  Vector weights;
  bool lost = false;
  double last = -std::numeric_limits<double>::infinity();
  double certain = std::numeric_limits<double>::quiet_NaN();
};

namespace detail {

// What rows count at each of their times, in ascending order.
struct CountedTimes {
  std::vector<double> at,
      before;  // distinct values; the sums of the counts before each, and of all

  template <class Used>
  CountedTimes(const Vector& values, const Vector& count, const Used& used) {
    std::vector<Index> order;
    for (Index i = 0; i < values.size(); ++i) {
      if (used(i)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return values(a) < values(b); });
    before.push_back(0.0);
    for (const Index i : order) {
      if (at.empty() || values(i) != at.back()) {
        at.push_back(values(i));
        before.push_back(before.back());
      }
      before.back() += count(i);
    }
  }
  // The first of the times that is not before s.
  std::size_t place(double s) const {
    return static_cast<std::size_t>(std::lower_bound(at.begin(), at.end(), s) - at.begin());
  }
  double sum_before(double s) const { return before[place(s)]; }
};

}  // namespace detail

// 1 / G(t-) for an event at t, and of a row without one 1 / G at the horizon, where it is known to
// be free of it; 0 if it was censored before. G is the Kaplan-Meier estimate of being uncensored
// from the rows of `whole`, events before censoring at the same time.
inline FollowUpWeights censoring_weights(const FollowUp& rows, const FollowUp& whole,
                                         double horizon) {
  FollowUpWeights out{Vector::Constant(rows.size(), std::numeric_limits<double>::quiet_NaN())};
  const auto censored = [&](Index i) { return whole.used(i) && whole.event(i) == 0.0; };
  const detail::CountedTimes all(whole.time, whole.count, [&](Index i) { return whole.used(i); });
  const detail::CountedTimes left(whole.time, whole.count, censored);
  const detail::CountedTimes events(
      whole.time, whole.count, [&](Index i) { return whole.used(i) && whole.event(i) != 0.0; });
  std::vector<double> survival(1, 1.0);  // before each time of censoring, and after all
  for (std::size_t k = 0; k < left.at.size(); ++k) {
    // those that are still seen after the events of this time
    const double after = std::nextafter(left.at[k], std::numeric_limits<double>::infinity());
    const double at_risk = all.before.back() - all.sum_before(left.at[k]) -
                           (events.sum_before(after) - events.sum_before(left.at[k]));
    survival.push_back(survival.back() * (1.0 - (left.before[k + 1] - left.before[k]) / at_risk));
  }
  if (!all.at.empty()) out.last = all.at.back();
  out.lost = !left.at.empty() && out.last < horizon;
  for (Index i = 0; i < rows.size(); ++i) {
    if (!rows.known(i)) continue;
    const double time = std::min(rows.time(i), horizon);
    const bool gone = rows.time(i) < horizon && rows.event(i) == 0.0;
    out.weights(i) = gone ? 0.0 : 1.0 / survival[left.place(time)];
    if (std::isinf(out.weights(i))) out.lost = true;
  }
  return out;
}

// The weights of rows that are at risk after their entry: jumps of the product-limit estimate of
// the events, and what is left of it at the horizon. (G is no probability of a single time here, so
// that censoring_weights() has no such case.)
inline FollowUpWeights entry_weights(const FollowUp& rows, double horizon) {
  const Index n = rows.size();
  FollowUpWeights out{Vector::Constant(n, std::numeric_limits<double>::quiet_NaN())};
  const auto used = [&](Index i) { return rows.used(i); };
  const auto happened = [&](Index i) {
    return used(i) && rows.event(i) != 0.0 && rows.time(i) <= horizon;
  };
  const auto stays = [&](Index i) {
    return used(i) && !happened(i) && rows.entry(i) < horizon && rows.time(i) >= horizon;
  };
  const detail::CountedTimes entered(rows.entry, rows.count, used);
  const detail::CountedTimes left(rows.time, rows.count, used);
  const detail::CountedTimes events(rows.time, rows.count, happened);
  const auto at_risk = [&](double s) { return entered.sum_before(s) - left.sum_before(s); };
  std::vector<double> survival(1, 1.0);  // before each time of an event, and after all
  double total = 0.0, staying = 0.0;
  for (Index i = 0; i < n; ++i) {
    if (!used(i)) continue;
    total += rows.count(i);
    out.last = std::max(out.last, rows.time(i));
    if (stays(i)) staying += rows.count(i);
  }
  for (std::size_t k = 0; k < events.at.size(); ++k) {
    double share = (events.before[k + 1] - events.before[k]) / at_risk(events.at[k]);
    if (std::abs(1.0 - share) < 1e-10) share = 1.0;  // up to the rounding of sums of weights
    survival.push_back(survival.back() * (1.0 - share));
    if (survival.back() <= 0.0 && std::isnan(out.certain) && staying > 0.0) {
      out.certain = events.at[k];
    }
  }
  const double rest = survival.back() / staying;
  out.lost = !std::isfinite(rest) || rest <= 0.0;
  for (Index i = 0; i < n; ++i) {
    if (!rows.known(i)) continue;
    const double time = rows.time(i);
    out.weights(i) = happened(i) ? total * survival[events.place(time)] / at_risk(time)
                     : stays(i)  ? total * rest
                                 : 0.0;
  }
  return out;
}

}  // namespace calibrisk

#endif
