// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_PRODUCTS  // for all units: linalg/eigen_products.h
#include "r_engine.h"
#include <calibrisk/linalg/eigen_algebra.h>

const calibrisk::DenseAlgebra& worker_algebra() {
  static const calibrisk::EigenAlgebra dense;
  return dense;
}
