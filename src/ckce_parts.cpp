// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_CKCE  // for all units: linalg/eigen_products.h
#include <calibrisk/ckce/influence.h>
#include <calibrisk/ckce/low_rank.h>
