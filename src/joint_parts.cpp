// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_JOINT  // for all units: linalg/eigen_products.h
#include <calibrisk/joint/class_rows.h>
#include <calibrisk/joint/law.h>
#include <calibrisk/joint/lower.h>
