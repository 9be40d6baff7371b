// SPDX-License-Identifier: GPL-3.0-or-later
// One prediction for all rows: the number of events says everything, and its
// distribution is the binomial one. Test and interval are exact.
#ifndef CALIBRISK_JOINT_CONSTANT_H
#define CALIBRISK_JOINT_CONSTANT_H

#include <calibrisk/math/tail_quantiles.h>

namespace calibrisk {

// `events` of n copies, each predicted with probability p.
struct ConstantPrediction {
  double p, n, events;

  static double at_most(double k, double n, double q) {
    return k < 0.0 ? 0.0 : k >= n ? 1.0 : 1.0 - beta_lower(q, k + 1.0, n - k);
  }
  static double at_least(double k, double n, double q) {
    return k <= 0.0 ? 1.0 : k > n ? 0.0 : beta_lower(q, k, n - k + 1.0);
  }

  // twice the smaller tail
  double p_value() const {
    const double tail = std::min(at_most(events, n, p), at_least(events, n, p));
    return std::max(1e-16, std::min(1.0, 2.0 * tail));
  }

  // An error of p in either direction, from Clopper and Pearson's limits of the event rate.
  double high(double tail) const {
    const ShareLimits share = clopper_pearson(events, n, tail);
    return std::max({share.high - p, p - share.low, 0.0});
  }

  // The least error c that is not rejected, with an event rate p + c (or p - c). Two tails are
  // added: at least the observed number of events, and as few events on the other side as are
  // equally rare at p - c. An error is rejected where both have together at most the probability
  // `tail`. Far from 0 the other side does not count and the limit is Clopper and Pearson's. Near 0
  // both count, and the limit may be as good as 0 where the test still rejects.
  double low(double tail) const {
    const bool more = events > n * p;
    // the smaller kind of events has the same distribution: from here on there are too many
    const double k = more ? events : n - events, q = more ? p : 1.0 - p;
    const auto rejected = [&](double c) {
      const double own = at_least(k, n, std::min(q + c, 1.0));
      if (own > tail) return false;
      double lo = -1.0, hi = std::ceil(n * q);  // the largest count as rare at q - c
      while (hi - lo > 1.0) {
        const double middle = std::floor((lo + hi) / 2.0);
        (at_most(middle, n, std::max(q - c, 0.0)) <= own ? lo : hi) = middle;
      }
      return own + at_most(lo, n, std::min(q + c, 1.0)) <= tail;
    };
    const double most = k / n - q, least = 1e-9 * most;
    if (!(most > 0.0) || !rejected(0.0)) return std::max(least, 0.0);
    double lo = 0.0, hi = most;
    for (int step = 0; step < 60 && hi - lo > 1e-13; ++step) {
      const double middle = 0.5 * (lo + hi);
      (rejected(middle) ? lo : hi) = middle;
    }
    return std::max(least, lo);
  }
};

}  // namespace calibrisk

#endif
