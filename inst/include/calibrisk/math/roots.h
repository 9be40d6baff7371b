// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_MATH_ROOTS_H
#define CALIBRISK_MATH_ROOTS_H

#include <algorithm>

namespace calibrisk {

// Root of a continuous function that is positive at lo and not at hi (bisection and secants by
// turns: Illinois).
template <class Function>
double bracketed_root(const Function& f, double lo, double hi, double tolerance) {
  double at_lo = f(lo), at_hi = f(hi);
  if (!(at_lo > 0.0)) return lo;
  if (!(at_hi < 0.0)) return hi;
  for (int step = 0; step < 200 && hi - lo > tolerance; ++step) {
    double x = (lo * at_hi - hi * at_lo) / (at_hi - at_lo);
    if (step % 4 == 3 || !(x > lo && x < hi)) x = 0.5 * (lo + hi);
    const double value = f(x);
    if (value == 0.0) return x;
    if (value > 0.0) {
      lo = x;
      at_lo = value;
      at_hi *= 0.5;
    } else {
      hi = x;
      at_hi = value;
      at_lo *= 0.5;
    }
  }
  return 0.5 * (lo + hi);
}

// Between the smallest positive share of `top` and all of it.
template <class Function>
double root_below(const Function& f, double top) {
  if (!(f(0.0) > 0.0)) return 1e-9 * top;
  if (!(f(top * (1.0 - 1e-9)) < 0.0)) return top;
  return std::max(1e-9 * top, bracketed_root(f, 0.0, top * (1.0 - 1e-9), 1e-11 * top));
}

}  // namespace calibrisk

#endif
