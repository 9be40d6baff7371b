// SPDX-License-Identifier: GPL-3.0-or-later
// Local quadratic regression on one variable with tricube weights (Cleveland, Devlin and Grosse
// 1988): fits at the knots of a tree of halves, and cubics between them.
#ifndef CALIBRISK_CLASSICAL_LOESS_H
#define CALIBRISK_CLASSICAL_LOESS_H

#include "../types.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {

// The ends of the values x (ascending), a little further out, and the cuts that halve the rows
// until at most `leaf` are together; ties stay together where they can. Ascending; none if the
// tree has more than `most` nodes.
inline std::vector<double> loess_knots(const ConstVectorRef& x, Index leaf, Index most) {
  const Index n = x.size();
  const double margin =
      0.005 *
      std::max(x[n - 1] - x[0], 1e-10 * std::max(std::abs(x[0]), std::abs(x[n - 1])) + 1e-30);
  struct Part {
    Index first, last;
    double low, high;
  };
  std::vector<Part> open{{0, n - 1, x[0] - margin, x[n - 1] + margin}};
  std::vector<double> out{open[0].low, open[0].high};
  Index nodes = 1;
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (part.last - part.first + 1 <= leaf) continue;
    // of rows counted from 1 the middle is rounded down
    const Index middle = (part.first + part.last + 2) / 2 - 1;
    Index cut = middle;
    for (Index step = 0;; step = step > 0 ? -step : 1 - step) {
      const Index at = middle + step;
      if (at >= part.last || at < part.first) break;
      if (x[at] != x[at + 1]) {
        cut = at;
        break;
      }
    }
    if (x[cut] == part.low || x[cut] == part.high) continue;
    if ((nodes += 2) > most) return {};
    out.push_back(x[cut]);
    open.push_back({part.first, cut, part.low, x[cut]});
    open.push_back({cut + 1, part.last, x[cut], part.high});
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct LoessFit {
  double value = 0.0, slope = 0.0;
  bool regular = false;
};

// The quadratic of the `near` rows next to `at`, by polynomials that are orthogonal under the
// weights.
inline LoessFit local_quadratic(const ConstVectorRef& x, const ConstVectorRef& y,
                                const ConstVectorRef& w, Index near, double span, double at) {
  const Index n = x.size();
  // the first row whose successor beyond the window is not nearer
  Index first = 0, beyond = n - near;
  while (first < beyond) {
    const Index middle = (first + beyond) / 2;
    if (at - x[middle] <= x[middle + near] - at) {
      beyond = middle;
    } else {
      first = middle + 1;
    }
  }
  LoessFit out;
  const double reach = std::max(std::abs(at - x[first]), std::abs(x[first + near - 1] - at)) *
                       std::sqrt(std::max(span, 1.0));
  if (!(reach > 0.0)) return out;
  std::vector<double> weight(static_cast<std::size_t>(near));
  double total = 0.0, centre = 0.0, mean = 0.0;
  for (Index i = 0; i < near; ++i) {
    const double t = (x[first + i] - at) / reach, u = std::abs(t);
    const double rest = std::max(1.0 - u * u * u, 0.0);
    const double own = w[first + i] * rest * rest * rest;
    weight[static_cast<std::size_t>(i)] = own;
    total += own;
    centre += own * t;
    mean += own * y[first + i];
  }
  if (!(total > 0.0)) return out;
  centre /= total;
  mean /= total;
  double m2 = 0.0, m3 = 0.0, m4 = 0.0, y1 = 0.0, y2 = 0.0;
  for (Index i = 0; i < near; ++i) {
    const double s = (x[first + i] - at) / reach - centre,
                 own = weight[static_cast<std::size_t>(i)];
    const double square = own * s * s, outcome = own * (y[first + i] - mean);
    m2 += square;
    m3 += square * s;
    m4 += square * s * s;
    y1 += outcome * s;
    y2 += outcome * s * s;
  }
  // s^2 without its parts along 1 and s
  const double skew = m3 / m2, spread = m2 / total, norm = m4 - skew * m3 - spread * m2;
  if (!(m2 > 1e-10 * total) || !(norm > 1e-8 * m4)) return out;
  const double c1 = y1 / m2, c2 = (y2 - skew * y1) / norm, s = -centre;
  out.value = mean + c1 * s + c2 * (s * s - skew * s - spread);
  out.slope = (c1 + c2 * (2.0 * s - skew)) / reach;
  out.regular = true;
  return out;
}

// Fitted values of y at x (ascending) with weights w. Local fits see the share `span` of the rows
// (of a span above 1 all, as if they were further away); rows between two knots are at most the
// share `leaf`. Empty where a local fit is nearly singular. Cost O(n / leaf).
inline Vector loess(const ConstVectorRef& x, const ConstVectorRef& y, const ConstVectorRef& w,
                    double span, double leaf) {
  const Index n = x.size();
  require(n > 0 && y.size() == n && w.size() == n, "loess: one outcome and one weight per row.");
  const auto share = [n](double part) {
    return static_cast<Index>(std::floor(static_cast<double>(n) * part + 1e-5));
  };
  const Index near = std::min(n, share(span));
  if (near < 4) return {};
  const std::vector<double> knots = loess_knots(
      x, static_cast<Index>(std::floor(static_cast<double>(n) * leaf)), std::max<Index>(n, 200));
  if (knots.empty()) return {};
  std::vector<LoessFit> fits;
  for (const double at : knots) {
    fits.push_back(local_quadratic(x, y, w, near, span, at));
    if (!fits.back().regular) return {};
  }
  Vector out(n);
  std::size_t k = 0;
  for (Index i = 0; i < n; ++i) {
    while (k + 2 < knots.size() && x[i] > knots[k + 1]) ++k;
    const double width = knots[k + 1] - knots[k], h = (x[i] - knots[k]) / width, rest = 1.0 - h;
    out[i] = rest * rest * ((1.0 + 2.0 * h) * fits[k].value + h * width * fits[k].slope) +
             h * h * ((3.0 - 2.0 * h) * fits[k + 1].value - rest * width * fits[k + 1].slope);
  }
  return out;
}

}  // namespace calibrisk

#endif
