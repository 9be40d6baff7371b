// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_MIXTURES  // for all units: linalg/eigen_products.h
#include "quasi_newton.h"
#include "interrupt.h"
#include "r_values.h"
#include <calibrisk/recal/mixture_weights.h>

#include <R_ext/Applic.h>

#include <cmath>
#include <exception>
#include <vector>

using calibrisk::Vector;

namespace {

// The last point with its value and gradient: the optimiser asks for them one after the other. It
// is C, through which nothing may be thrown, and jumps where a value is not finite. So from where
// there is none, or something is thrown, it sees a low plain, at which it stops.
struct Point {
  const std::function<double(const Vector&, Vector&)>& of;
  Vector theta, gradient;
  double value = 0.0;
  int tried = 0;
  bool lost = false;
  std::exception_ptr thrown;

  void move(int n, const double* to) {
    const Eigen::Map<const Vector> point(to, n);
    if (lost || (tried > 0 && theta == point)) return;
    try {
      Vector here = point, slope = Vector::Zero(n);
      lost = !here.allFinite();
      if (lost) return;
      ++tried;
      check_interrupt();
      value = of(here, slope);
      lost = !std::isfinite(value) || !slope.allFinite();
      if (lost) return;
      theta.swap(here);
      gradient.swap(slope);
    } catch (...) {
      thrown = std::current_exception();
      lost = true;
    }
  }
};

double value_at(int n, double* at, void* of) {
  auto* point = static_cast<Point*>(of);
  point->move(n, at);
  return point->lost ? -1e300 : point->value;
}

void gradient_at(int n, double* at, double* gradient, void* of) {
  auto* point = static_cast<Point*>(of);
  point->move(n, at);
  for (int i = 0; i < n; ++i) gradient[i] = point->lost ? 0.0 : point->gradient[i];
}

}  // namespace

QuasiNewton quasi_newton(const std::function<double(const Vector&, Vector&)>& value,
                         const Vector& start, int steps, double tolerance, int memory) {
  const int n = static_cast<int>(start.size());
  Vector theta = start;
  std::vector<double> bounds(static_cast<std::size_t>(n));
  std::vector<int> unbounded(static_cast<std::size_t>(n));
  Point point{value, start, Vector::Zero(n), 0.0, 0, false, nullptr};
  int failed = 0, evaluations = 0, gradients = 0;
  void* const top = vmaxget();
  // its own error is that R has no memory
  Rcpp::unwindProtect([&]() -> SEXP {
    char message[60];
    double least = 0.0;
    lbfgsb(n, memory, theta.data(), bounds.data(), bounds.data(), unbounded.data(), &least,
           value_at, gradient_at, &failed, &point, tolerance, 0.0, &evaluations, &gradients, steps,
           message, 0, 10);
    return R_NilValue;
  });
  vmaxset(top);
  if (point.thrown) std::rethrow_exception(point.thrown);
  // the parameters before are taken where there is no finite optimum
  if (point.lost) return {point.theta, point.tried, true};
  return {theta, evaluations, failed != 0};
}
