// SPDX-License-Identifier: GPL-3.0-or-later
// R's own L-BFGS (stats::optim, method "L-BFGS-B"), without a call of R for each value.
#ifndef CALIBRISK_QUASI_NEWTON_H
#define CALIBRISK_QUASI_NEWTON_H

#include <calibrisk/types.h>

#include <functional>

struct QuasiNewton {
  calibrisk::Vector theta;
  int evaluations = 0;
  // Whether it stopped before it converged: at its last step, or where values leave the doubles.
  bool stopped = false;
};

// value(theta, gradient): the value at theta, whose gradient it writes.
QuasiNewton quasi_newton(
    const std::function<double(const calibrisk::Vector&, calibrisk::Vector&)>& value,
    const calibrisk::Vector& start, int steps, double tolerance, int memory);

#endif
