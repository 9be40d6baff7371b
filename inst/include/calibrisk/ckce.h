// SPDX-License-Identifier: GPL-3.0-or-later
// The conditional kernel calibration error (Moskvichev & Sejdinovic 2025), in four
// computations that agree: dual (Cholesky), eigen, low rank and random features.
#ifndef CALIBRISK_CKCE_H
#define CALIBRISK_CKCE_H

#include <calibrisk/ckce/by_factor.h>
#include <calibrisk/ckce/by_gram.h>

#endif
