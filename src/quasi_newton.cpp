// SPDX-License-Identifier: GPL-3.0-or-later
#include "quasi_newton.h"
#include "interrupt.h"
#include "r_values.h"

#include <R_ext/Applic.h>

#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <vector>

using calibrisk::Vector;

namespace {

// The last point with its value and gradient: the optimiser asks for them one after the other. It
// is C, through which nothing may be thrown: what is thrown waits, and the value is not finite,
// which R's optimiser refuses with an error.
struct Point {
  const std::function<double(const Vector&, Vector&)>& of;
  Vector theta, gradient;
  double value = 0.0;
  int tried = 0;
  std::exception_ptr thrown;

  void move(int n, const double* to) {
    const Eigen::Map<const Vector> point(to, n);
    if (tried > 0 && theta == point) return;
    if (!point.allFinite()) {
      value = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    ++tried;
    theta = point;
    gradient = Vector::Zero(n);
    try {
      check_interrupt();
      value = of(theta, gradient);
    } catch (...) {
      thrown = std::current_exception();
      value = std::numeric_limits<double>::quiet_NaN();
    }
  }
};

double value_at(int n, double* at, void* point) {
  static_cast<Point*>(point)->move(n, at);
  return static_cast<Point*>(point)->value;
}

void gradient_at(int n, double* at, double* gradient, void* point) {
  static_cast<Point*>(point)->move(n, at);
  Vector::Map(gradient, n) = static_cast<Point*>(point)->gradient;
}

// Nothing with a destructor: R jumps out of it.
struct Search {
  Point* point;
  int n, memory, steps;
  double tolerance;
  double *theta, *bounds;
  int* unbounded;
  int evaluations, gradients, failed;
};

SEXP search(void* of) {
  auto* s = static_cast<Search*>(of);
  char message[60];
  double value = 0.0;
  lbfgsb(s->n, s->memory, s->theta, s->bounds, s->bounds, s->unbounded, &value, value_at,
         gradient_at, &s->failed, s->point, s->tolerance, 0.0, &s->evaluations, &s->gradients,
         s->steps, message, 0, 10);
  return R_NilValue;
}

SEXP left_the_doubles(SEXP, void* of) {
  static_cast<Search*>(of)->failed = -1;
  return R_NilValue;
}

}  // namespace

QuasiNewton quasi_newton(const std::function<double(const Vector&, Vector&)>& value,
                         const Vector& start, int steps, double tolerance, int memory) {
  const int n = static_cast<int>(start.size());
  Vector theta = start;
  std::vector<double> bounds(static_cast<std::size_t>(n));
  std::vector<int> unbounded(static_cast<std::size_t>(n));
  Point point{value, Vector(), Vector(), 0.0, 0, nullptr};
  Search of{&point,           n, memory, steps, tolerance, theta.data(), bounds.data(),
            unbounded.data(), 0, 0,      0};
  void* const top = vmaxget();
  R_tryCatchError(search, &of, left_the_doubles, &of);
  vmaxset(top);
  if (point.thrown) std::rethrow_exception(point.thrown);
  // R's other error is that it has no memory
  if (of.failed < 0 && (point.tried == 0 || std::isfinite(point.value))) throw std::bad_alloc();
  // the parameters before are taken where there is no finite optimum
  if (of.failed < 0) return {point.theta, point.tried, true};
  return {theta, of.evaluations, of.failed != 0};
}
