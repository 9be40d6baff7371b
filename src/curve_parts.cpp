// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_CURVES  // for all units: linalg/eigen_products.h
#include <calibrisk/classical/curve_smoother.h>
#include <calibrisk/classical/simulated_band.h>
