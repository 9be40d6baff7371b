// SPDX-License-Identifier: GPL-3.0-or-later
// Density of scalars in [0, 1] with the triweight kernel 35/32 (1 - u^2)^3 of standard
// deviation h (support radius 3h), reflected at 0 and 1 (Zhang et al. 2020), on a grid.
#ifndef CALIBRISK_CLASSICAL_TRIWEIGHT_H
#define CALIBRISK_CLASSICAL_TRIWEIGHT_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace calibrisk {

struct Grid {
  double from, step;
  std::size_t size;
  double at(std::size_t i) const { return from + step * static_cast<double>(i); }
};

class TriweightDensity {
 public:
  TriweightDensity(Grid grid, double h) : grid_(grid), radius_(3.0 * h) {}

  // Each value adds its own kernel: exact, O(n h / step). Above `budget` kernel
  // evaluations the values are first shared between their two neighbours on the grid.
  // weight [n]: what each value counts, nullptr where all count the same.
  std::vector<double> operator()(const double* x, std::size_t n, double budget,
                                 const double* weight = nullptr) const {
    std::vector<double> density(grid_.size, 0.0);
    const double cost = 2.0 * static_cast<double>(n) * (2.0 * radius_ / grid_.step + 1.0);
    double total = static_cast<double>(n);
    if (weight != nullptr) total = std::accumulate(weight, weight + n, 0.0);
    const double scale = 2.0 / (2.0 * total);  // 2N values; twice on [0, 1]
    const auto mass_of = [&](std::size_t i) {
      return weight == nullptr ? scale : scale * weight[i];
    };
    if (cost <= budget) {
      for (std::size_t i = 0; i < n; ++i) {
        add(x[i], mass_of(i), density);
        add(mirror(x[i]), mass_of(i), density);
      }
    } else {
      std::vector<double> mass(grid_.size, 0.0);
      for (std::size_t i = 0; i < n; ++i) {
        share(x[i], mass_of(i), mass);
        share(mirror(x[i]), mass_of(i), mass);
      }
      for (std::size_t g = 0; g < grid_.size; ++g) {
        if (mass[g] > 0.0) add(grid_.at(g), mass[g], density);
      }
    }
    for (std::size_t g = 0; g < grid_.size; ++g) {
      if (grid_.at(g) <= 0.0 || grid_.at(g) >= 1.0) density[g] = 0.0;
    }
    return density;
  }

 private:
  static double mirror(double x) { return x < 0.5 ? -x : 2.0 - x; }

  void add(double centre, double mass, std::vector<double>& density) const {
    const double top = static_cast<double>(grid_.size) - 1.0;
    const double first = std::ceil((centre - radius_ - grid_.from) / grid_.step);
    const double last = std::floor((centre + radius_ - grid_.from) / grid_.step);
    if (last < 0.0 || first > top) return;
    const auto begin = static_cast<std::size_t>(std::max(first, 0.0));
    const auto end = static_cast<std::size_t>(std::min(last, top));
    const double height = mass * 35.0 / (32.0 * radius_);
    for (std::size_t g = begin; g <= end; ++g) {
      const double u = (grid_.at(g) - centre) / radius_;
      const double v = std::max(1.0 - u * u, 0.0);
      density[g] += height * v * v * v;
    }
  }

  void share(double x, double weight, std::vector<double>& mass) const {
    const double place = (x - grid_.from) / grid_.step;
    const double below = std::floor(place);
    const double right = place - below;
    const auto g = static_cast<std::size_t>(below);
    mass[g] += weight * (1.0 - right);
    if (g + 1 < grid_.size) mass[g + 1] += weight * right;
  }

  Grid grid_;
  double radius_;
};

}  // namespace calibrisk

#endif
