// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_DENSE_RUNGS  // for all units: linalg/eigen_products.h
#include <calibrisk/ladder/cluster_rung.h>
#include <calibrisk/ladder/shared_rung.h>
