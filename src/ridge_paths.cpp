// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_RIDGE  // for all units: linalg/eigen_products.h
#include <calibrisk/methods/ridge_explicit.h>
#include <calibrisk/methods/ridge_krylov.h>
