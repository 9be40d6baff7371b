// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_RUNGS  // for all units: linalg/eigen_products.h
#include <calibrisk/ladder/recipes.h>
