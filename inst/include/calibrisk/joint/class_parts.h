// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of both tests of more than two classes and their shares of the level.
#ifndef CALIBRISK_JOINT_CLASS_PARTS_H
#define CALIBRISK_JOINT_CLASS_PARTS_H

#include <array>
#include <cstddef>

namespace calibrisk {

enum ClassPart : std::size_t {
  temperature_part,
  biases_part,
  bias_part,
  slope_part,
  gap_part,
  confidence_part,
  steps_part,
  class_parts
};

constexpr std::array<double, class_parts> class_shares = {3.0, 6.0, 2.0, 2.0, 1.0, 1.0, 1.0};

}  // namespace calibrisk

#endif
