// SPDX-License-Identifier: GPL-3.0-or-later
// All that a program needs for risks, kernels and kernel calibration errors; each estimator has a
// header of its own.
#ifndef CALIBRISK_CALIBRISK_H
#define CALIBRISK_CALIBRISK_H

#include <calibrisk/kernels/kernel.h>
#include <calibrisk/pair_design.h>
#include <calibrisk/pair_risk.h>
#include <calibrisk/pairs/pair_sums.h>
#include <calibrisk/serial_engine.h>

#endif
