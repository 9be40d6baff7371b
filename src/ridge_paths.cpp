// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_RIDGE  // for all units: linalg/eigen_products.h
#include <calibrisk/linalg/qr_triangle.h>
#include <calibrisk/methods/ridge_krylov.h>
#include <calibrisk/methods/scalar_nodes.h>
