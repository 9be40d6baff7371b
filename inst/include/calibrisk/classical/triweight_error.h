// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel density estimate of a scalar calibration error (Zhang et al. 2020): the mean of
// |t - accuracy(t)|^p on the reference implementation's grid. accuracy(t) is the rate of events
// times the density of their predictions over the density of all predictions.
#ifndef CALIBRISK_CLASSICAL_TRIWEIGHT_ERROR_H
#define CALIBRISK_CLASSICAL_TRIWEIGHT_ERROR_H

#include <calibrisk/classical/smooth_ece.h>
#include <calibrisk/classical/triweight.h>

#include <cmath>
#include <numeric>

namespace calibrisk {

struct TriweightError {
  double mass = 0.0;  // integral of the density over [0, 1]; 0 where no node sees a prediction
  double power = 0.0;
  Vector influence, fold_gap;  // per row; empty where not wanted
};

class TriweightProblem {
 public:
  // Predictions x and outcomes y, 0 or 1; `weight` may be empty.
  TriweightProblem(Grid grid, double h, const ConstVectorRef& x, const ConstVectorRef& y,
                   const ConstVectorRef& weight)
      : grid_(grid), h_(h), x_(x), y_(y), weight_(weight), density_(grid, h) {
    require(y.size() == x.size() && (weight.size() == 0 || weight.size() == x.size()),
            "triweight_error: one outcome and weight per row.");
  }

  // Above `budget` kernel evaluations predictions go to the grid first. With folds 1, 2, ... the
  // result also has the influence of the rows, and their gaps in the densities of the other folds.
  // The grid is exact enough for these. `cosine`: of the grid on which the influence is blurred.
  TriweightError error(double p, double budget, const std::vector<int>& fold,
                       CosineSums& cosine) const {
    std::vector<Index> rows(static_cast<std::size_t>(x_.size()));
    std::iota(rows.begin(), rows.end(), Index{0});
    const Densities whole = densities(rows, budget);
    const double rate = whole.events / whole.total;
    const auto n = static_cast<Index>(grid_.size);
    GridValues integrand(n), gap(n);
    double last = 0.0;
    for (Index g = 0; g < n; ++g) {
      const double t = node(g), all = whole.all(g), right = whole.right(g);
      const double quotient = rate * right / all;
      const double accuracy = quotient > 1.0 ? 1.0 : quotient;
      const bool known = std::max(all, right) > 1e-6;
      const double value = std::pow(std::fabs(t - accuracy), p) * all;
      // where there is no density the previous value is carried on, as in the reference
      if (known && !std::isnan(value)) last = value;
      integrand(g) = last;
      gap(g) = known && std::isfinite(accuracy) ? t - accuracy : 0.0;
    }
    TriweightError out;
    out.mass = trapezoid(whole.all);
    out.power = trapezoid(integrand) / out.mass;
    if (fold.empty()) return out;
    out.influence = influence(gap, p, cosine);
    out.fold_gap = fold_gaps(fold);
    return out;
  }

 private:
  struct Densities {
    GridValues all, right;
    double total = 0.0, events = 0.0;  // weights
  };

  double node(Index g) const { return grid_.at(static_cast<std::size_t>(g)); }

  // Densities of these rows, each with integral 1 (0 without rows).
  Densities densities(const std::vector<Index>& rows, double budget) const {
    Densities out;
    const auto of = [&](bool events, double& total) {
      std::vector<double> x, w;
      x.reserve(rows.size());
      for (const Index i : rows) {
        if (events && y_(i) != 1.0) continue;
        x.push_back(x_(i));
        if (weight_.size() > 0) w.push_back(weight_(i));
        total += weight_.size() > 0 ? weight_(i) : 1.0;
      }
      GridValues density = GridValues::Zero(static_cast<Index>(grid_.size));
      if (x.empty()) return density;
      const std::vector<double> found =
          density_(x.data(), x.size(), budget, w.empty() ? nullptr : w.data());
      std::copy(found.begin(), found.end(), density.data());
      return density;
    };
    out.all = of(false, out.total);
    out.right = of(true, out.events);
    return out;
  }

  // Over the nodes in [0, 1], in steps of the grid.
  double trapezoid(const GridValues& v) const {
    double sum = 0.0, first = 0.0, last = 0.0;
    bool any = false;
    for (Index g = 0; g < v.size(); ++g) {
      if (node(g) < 0.0 || node(g) > 1.0) continue;
      if (!any) first = v(g);
      any = true;
      last = v(g);
      sum += v(g);
    }
    return sum - 0.5 * (first + last);
  }

  // A function on the nodes, at x in [0, 1].
  double at(const GridValues& v, double x) const {
    const double place = (x - grid_.from) / grid_.step;
    const auto below = static_cast<Index>(place);
    const double right = place - static_cast<double>(below);
    return v(below) * (1.0 - right) + v(below + 1) * right;
  }

  // With r(t) the density of all times the gap, a row moves the integral of |r / all|^p all by
  // |gap|^p + p |gap|^(p-1) sign(gap) (t - gap - y), blurred by the kernel; bandwidth held fixed.
  Vector influence(const GridValues& gap, double p, CosineSums& cosine) const {
    const auto cells = static_cast<Index>(cosine.cells());
    const GridValues nodes = GridValues::LinSpaced(cells + 1, 0.0, static_cast<double>(cells)) /
                             static_cast<double>(cells);
    GridValues g(cells + 1);
    for (Index j = 0; j <= cells; ++j) g(j) = at(gap, nodes(j));
    const GridValues slope = p * g.sign() * g.abs().pow(p - 1.0);
    // a kernel of standard deviation h, whose lags have period 2; its sum is the first of its sums
    // of cosines
    GridValues kernel = (1.0 - (nodes / (3.0 * h_)).square()).max(0.0).cube();
    cosine(kernel.data(), kernel.data());
    kernel /= kernel(0);
    const auto blur = [&](GridValues v) {
      cosine(v.data(), v.data());
      v *= kernel;
      cosine(v.data(), v.data());
      return GridValues(v / (2.0 * static_cast<double>(cells)));
    };
    const GridValues level = blur(g.abs().pow(p) + slope * (nodes - g)), tilt = blur(slope);
    Vector out(x_.size());
    for (Index i = 0; i < out.size(); ++i) {
      out(i) = grid_value(level, x_(i)) - y_(i) * grid_value(tilt, x_(i));
    }
    return out;
  }

  // The densities of the other folds are those of all rows less its own fold's.
  Vector fold_gaps(const std::vector<int>& fold) const {
    require(static_cast<Index>(fold.size()) == x_.size(), "triweight_error: one fold per row.");
    std::vector<std::vector<Index>> rows(
        static_cast<std::size_t>(*std::max_element(fold.begin(), fold.end())));
    for (Index i = 0; i < x_.size(); ++i) {
      rows[static_cast<std::size_t>(fold[static_cast<std::size_t>(i)] - 1)].push_back(i);
    }
    std::vector<Densities> sums;
    Densities total;
    total.all = total.right = GridValues::Zero(static_cast<Index>(grid_.size));
    for (const std::vector<Index>& held : rows) {
      Densities own = densities(held, 0.0);
      own.all *= own.total;
      own.right *= own.events;
      total.all += own.all;
      total.right += own.right;
      total.total += own.total;
      sums.push_back(own);
    }
    Vector out = Vector::Zero(x_.size());
    for (std::size_t f = 0; f < rows.size(); ++f) {
      const Densities& own = sums[f];
      const double left = total.total - own.total;
      if (!(left > 0.0)) continue;
      GridValues gap(total.all.size());
      for (Index g = 0; g < gap.size(); ++g) {
        const double all = std::max(total.all(g) - own.all(g), 0.0);
        const double right = std::max(total.right(g) - own.right(g), 0.0);
        gap(g) = all > 1e-6 * left ? node(g) - std::min(right / all, 1.0) : 0.0;
      }
      for (const Index i : rows[f]) out(i) = at(gap, x_(i));
    }
    return out;
  }

  const Grid grid_;
  const double h_;
  const ConstVectorRef x_, y_, weight_;
  const TriweightDensity density_;
};

}  // namespace calibrisk

#endif
