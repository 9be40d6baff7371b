// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_CLUSTERS  // for all units: linalg/eigen_products.h
#include <calibrisk/ladder/local_cluster_rung.h>
