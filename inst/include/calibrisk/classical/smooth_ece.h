// SPDX-License-Identifier: GPL-3.0-or-later
// The smooth calibration error of scalar predictions: the integral over [0, 1] of the residuals'
// density, blurred by a Gaussian that is reflected at 0 and 1 (Blasiok & Nakkiran 2024). Residuals
// are shared between the two nearest points of a grid. Their Fourier transform and that of their
// reflections is real and even, and the blur is the heat kernel.
#ifndef CALIBRISK_CLASSICAL_SMOOTH_ECE_H
#define CALIBRISK_CLASSICAL_SMOOTH_ECE_H

#include <calibrisk/classical/cosine_sums.h>
#include <calibrisk/classical/grid_mass.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

using GridValues = Eigen::ArrayXd;  // at 0, 1 / cells, ..., 1

// Linear interpolation between the points of the grid.
inline double grid_value(const GridValues& v, double x) {
  const double place = x * static_cast<double>(v.size() - 1);
  const Index below = std::min(static_cast<Index>(place), v.size() - 2);
  const double right = place - static_cast<double>(below);
  return v(below) * (1.0 - right) + v(below + 1) * right;
}

// Transforms of one grid. `cosine` keeps its roots of unity for the next problem.
class GaussianBlur {
 public:
  explicit GaussianBlur(CosineSums& cosine)
      : cosine_(cosine), cells_(static_cast<double>(cosine.cells())) {
    const auto n = static_cast<Index>(cosine.cells());
    frequency_ = (std::acos(-1.0) * GridValues::LinSpaced(n + 1, 0.0, cells_)).square();
    trapezoid_ = GridValues::Constant(n + 1, 1.0 / cells_);
    trapezoid_(0) = trapezoid_(n) = 0.5 / cells_;
  }

  double integral(const GridValues& v) const { return (v * trapezoid_).sum(); }

  GridValues transform(GridValues v) const {
    cosine_(v.data(), v.data());
    return v;
  }
  // A mass on the boundary meets its own image.
  GridValues spectrum(GridValues mass) const {
    mass(0) *= 2.0;
    mass(mass.size() - 1) *= 2.0;
    return transform(mass);
  }
  GridValues density(const GridValues& spectrum, double s) const {
    return 0.5 * transform(spectrum * heat(s));
  }
  // The blurred density of masses, and the mean of a function under the kernel.
  GridValues of_mass(const GridValues& mass, double s) const {
    return s > 0.0 ? density(spectrum(mass), s) : GridValues(mass * cells_);
  }
  GridValues of_function(const GridValues& v, double s) const {
    return s > 0.0 ? GridValues(density(transform(v), s) / cells_) : v;
  }

  struct Error {
    double value, slope;
  };
  // F(s), the error at the bandwidth s, and F'(s).
  Error error(const GridValues& spectrum, double s) const {
    const GridValues r = density(spectrum, s);
    const GridValues slope = 0.5 * transform(spectrum * heat(s) * (-s * frequency_));
    return {integral(r.abs()), integral(r.sign() * slope)};
  }
  // F decreases from the sum of the masses' sizes; F(s) - s has one zero, between 0 and F(0).
  // Newton's steps from the middle, or halves of what is left where one would leave it.
  double fixed_point(const GridValues& spectrum) const {
    const double at_0 = error(spectrum, 0.0).value;
    if (at_0 == 0.0) return 0.0;
    if (at_0 >= 1.0 && error(spectrum, 1.0).value >= 1.0) return 1.0;
    double low = 0.0, high = std::min(at_0, 1.0), s = 0.5 * high;
    for (;;) {
      const Error at = error(spectrum, s);
      (at.value > s ? low : high) = s;
      const double last = s;
      s += (at.value - s) / (1.0 - at.slope);
      if (s < low || s > high) s = 0.5 * (low + high);
      if (std::fabs(s - last) <= 1e-13) return s;
    }
  }

 private:
  GridValues heat(double s) const { return (-0.5 * s * s * frequency_).exp(); }

  CosineSums& cosine_;
  double cells_;
  GridValues frequency_, trapezoid_;
};

struct SmoothEce {
  double value = 0.0, bandwidth = 0.0;
  Vector influence, bound;  // per row; empty where not wanted
};

// Residuals d of predictions x, with shares that sum to 1; a bandwidth of NaN is the fixed point.
// With folds 1, 2, ... also the rows of a lower bound: the residual times the smoothed sign of the
// other folds' residuals. At any bandwidth its mean is at most the smooth error, and the fixed
// point s is at least the smaller of s and F(s).
inline SmoothEce smooth_ece(CosineSums& cosine, const ConstVectorRef& x, const ConstVectorRef& d,
                            const ConstVectorRef& share, double bandwidth,
                            const std::vector<int>& fold) {
  require(d.size() == x.size() && share.size() == x.size() &&
              (fold.empty() || static_cast<Index>(fold.size()) == x.size()),
          "smooth_ece: one residual, share and fold per row.");
  const GaussianBlur blur(cosine);
  // of the rows of a fold, 0: of all
  const auto mass_of = [&](int f) {
    std::vector<double> at, weight;
    at.reserve(static_cast<std::size_t>(x.size()));
    weight.reserve(static_cast<std::size_t>(x.size()));
    for (Index i = 0; i < x.size(); ++i) {
      if (f > 0 && fold[static_cast<std::size_t>(i)] != f) continue;
      at.push_back(x(i));
      weight.push_back(d(i) * share(i));
    }
    const std::vector<double> mass = grid_mass(at.data(), weight.data(), at.size(), cosine.cells());
    return GridValues(Eigen::Map<const GridValues>(mass.data(), static_cast<Index>(mass.size())));
  };
  const GridValues mass = mass_of(0), spectrum = blur.spectrum(mass);
  SmoothEce out;
  const bool chosen = std::isnan(bandwidth);
  const double s = chosen ? blur.fixed_point(spectrum) : bandwidth;
  const GridValues r = blur.of_mass(mass, s);
  out.bandwidth = s;
  out.value = blur.integral(r.abs());
  if (fold.empty()) return out;
  // derivative of the integral by a row's residual: its kernel against the sign
  const auto against = [&](const GridValues& sign, Index i) {
    return grid_value(sign, x(i)) * d(i);
  };
  const GridValues sign = blur.of_function(r.sign(), s);
  out.influence.resize(x.size());
  for (Index i = 0; i < x.size(); ++i) out.influence(i) = against(sign, i);
  if (chosen && s > 0.0) {
    // s itself moves: s = F(s) gives ds = dF / (1 - F'), F decreasing
    const auto at = [&](double t) { return blur.integral(blur.density(spectrum, t).abs()); };
    const double slope = (at(1.01 * s) - at(0.99 * s)) / (0.02 * s);
    const double mean = share.dot(out.influence);
    out.influence =
        (out.value + (out.influence.array() - mean) / (1.0 - std::min(slope, 0.0))).matrix();
  }
  out.bound = Vector::Zero(x.size());
  for (int f = 1; f <= *std::max_element(fold.begin(), fold.end()); ++f) {
    const GridValues others = mass - mass_of(f);
    const GridValues sign_of_others = blur.of_function(blur.of_mass(others, s).sign(), s);
    for (Index i = 0; i < x.size(); ++i) {
      if (fold[static_cast<std::size_t>(i)] == f) out.bound(i) = against(sign_of_others, i);
    }
  }
  return out;
}

}  // namespace calibrisk

#endif
