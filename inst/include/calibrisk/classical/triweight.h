// SPDX-License-Identifier: GPL-3.0-or-later
// Density of scalars in [0, 1] with the triweight kernel 35/32 (1 - u^2)^3 of standard
// deviation h (support radius 3h), reflected at 0 and 1 (Zhang et al. 2020), on a grid.
#ifndef CALIBRISK_CLASSICAL_TRIWEIGHT_H
#define CALIBRISK_CLASSICAL_TRIWEIGHT_H

#include <algorithm>
#include <array>
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

  // Each value adds its own kernel: exact. Above `budget` kernel evaluations, were they made one by
  // one, the values are first shared between their two neighbours on the grid.
  // weight [n]: the weight of each value, nullptr for equal weights.
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
    std::vector<Value> values;
    if (cost <= budget) {
      values.reserve(2 * n);
      for (std::size_t i = 0; i < n; ++i) {
        values.push_back({x[i], mass_of(i)});
        values.push_back({mirror(x[i]), mass_of(i)});
      }
      std::sort(values.begin(), values.end(),
                [](const Value& a, const Value& b) { return a.centre < b.centre; });
    } else {
      std::vector<double> mass(grid_.size, 0.0);
      for (std::size_t i = 0; i < n; ++i) {
        share(x[i], mass_of(i), mass);
        share(mirror(x[i]), mass_of(i), mass);
      }
      for (std::size_t g = 0; g < grid_.size; ++g) {
        if (mass[g] > 0.0) values.push_back({grid_.at(g), mass[g]});
      }
    }
    const auto cell_of = [&](const Value& value) { return std::round(value.centre / radius_); };
    for (auto begin = values.begin(); begin != values.end();) {
      const double cell = cell_of(*begin);
      const auto end = std::find_if(begin, values.end(),
                                    [&](const Value& value) { return cell_of(value) != cell; });
      add_cell(&*begin, static_cast<std::size_t>(end - begin), cell * radius_, density);
      begin = end;
    }
    return density;
  }

 private:
  static double mirror(double x) { return x < 0.5 ? -x : 2.0 - x; }

  struct Value {
    double centre, mass;
  };

  // Ascending values within half a radius of `middle`. With t and s in radii from there, the kernel
  // (1 - (t - s)^2)^3 is a polynomial in s. The sum over the values within reach of t is a
  // combination of their moments, which are differences of prefix sums: O(n + nodes) instead of O(n
  // nodes).
  void add_cell(const Value* values, std::size_t n, double middle,
                std::vector<double>& density) const {
    std::vector<std::array<double, 7>> prefix(n + 1);
    prefix[0].fill(0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const double s = (values[i].centre - middle) / radius_;
      double power = values[i].mass;
      for (std::size_t q = 0; q < 7; ++q, power *= s) prefix[i + 1][q] = prefix[i][q] + power;
    }
    const double height = 35.0 / (32.0 * radius_);
    const double first = (values[0].centre - radius_ - grid_.from) / grid_.step;
    const double last = (values[n - 1].centre + radius_ - grid_.from) / grid_.step;
    const double top = static_cast<double>(grid_.size) - 1.0;
    if (last < 0.0 || first > top) return;
    const auto end = static_cast<std::size_t>(std::min(last, top));
    std::size_t seen_from = 0, seen_to = 0;
    for (auto g = static_cast<std::size_t>(std::max(first, 0.0)); g <= end; ++g) {
      const double node = grid_.at(g);
      if (node <= 0.0 || node >= 1.0) continue;
      while (seen_to < n && values[seen_to].centre < node + radius_) ++seen_to;
      while (seen_from < seen_to && values[seen_from].centre <= node - radius_) ++seen_from;
      const double t = (node - middle) / radius_;
      const double w = 1.0 - t * t, b = 2.0 * t;  // (w + b s - s^2)^3
      const std::array<double, 7> terms = {w * w * w,
                                           3.0 * w * w * b,
                                           3.0 * w * (b * b - w),
                                           b * (b * b - 6.0 * w),
                                           3.0 * (w - b * b),
                                           3.0 * b,
                                           -1.0};
      double sum = 0.0;
      for (std::size_t q = 0; q < 7; ++q) {
        sum += terms[q] * (prefix[seen_to][q] - prefix[seen_from][q]);
      }
      density[g] += height * std::max(sum, 0.0);
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
