// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_DECOMPOSITIONS  // for all units: linalg/eigen_products.h
#include <calibrisk/linalg/small_algebra.h>
