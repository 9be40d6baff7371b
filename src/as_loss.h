// SPDX-License-Identifier: GPL-3.0-or-later
// Losses of recalibration by their names.
#ifndef CALIBRISK_AS_LOSS_H
#define CALIBRISK_AS_LOSS_H

#include <calibrisk/recal/softmax_loss.h>

#include <string>

inline calibrisk::Loss as_loss(const std::string& loss) {
  return loss == "brier" ? calibrisk::Loss::brier : calibrisk::Loss::log;
}

#endif
