// SPDX-License-Identifier: GPL-3.0-or-later
// Normal random numbers by counting.
#ifndef CALIBRISK_MATH_COUNTER_NORMAL_H
#define CALIBRISK_MATH_COUNTER_NORMAL_H

#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/tail_quantiles.h>

namespace calibrisk {

// Number i of a key, standard normal.
inline double counter_normal(std::uint64_t key, std::uint64_t i) {
  return -normal_quantile((static_cast<double>(counter_bits(key, i)) + 0.5) * 0x1.0p-53);
}

}  // namespace calibrisk

#endif
