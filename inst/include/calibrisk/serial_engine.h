// SPDX-License-Identifier: GPL-3.0-or-later
// The engine of tests and of hosts without threads: needs nothing but Eigen.
#ifndef CALIBRISK_SERIAL_ENGINE_H
#define CALIBRISK_SERIAL_ENGINE_H

#include <calibrisk/engine.h>
#include <calibrisk/linalg/eigen_algebra.h>

namespace calibrisk {

inline Engine serial_engine() {
  static Executor executor;
  static EigenAlgebra dense;
  static Progress progress;
  return Engine{executor, dense, progress};
}

}  // namespace calibrisk

#endif
