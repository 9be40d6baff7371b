// SPDX-License-Identifier: GPL-3.0-or-later
// The bits of a number, equal for equal numbers.
#ifndef CALIBRISK_MATH_VALUE_BITS_H
#define CALIBRISK_MATH_VALUE_BITS_H

#include <cstdint>
#include <cstring>

namespace calibrisk {

inline std::uint64_t bits_of(double value) {
  value += 0.0;  // -0 is 0
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace calibrisk

#endif
