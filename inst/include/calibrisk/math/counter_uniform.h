// SPDX-License-Identifier: GPL-3.0-or-later
// Random numbers by counting: no state, so that any thread may draw any of them.
#ifndef CALIBRISK_MATH_COUNTER_UNIFORM_H
#define CALIBRISK_MATH_COUNTER_UNIFORM_H

#include <cstdint>

namespace calibrisk {

// A uniform number in [0, 1) that depends on (seed, draw, i) alone: the same for any
// number of threads. Two rounds of a 64-bit finaliser over a counter.
inline double counter_uniform(std::uint64_t seed, std::uint64_t draw, std::uint64_t i) {
  auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  };
  const std::uint64_t key = mix(seed + 0x9e3779b97f4a7c15ULL * (draw + 1));
  return static_cast<double>(mix(mix(key + 0x9e3779b97f4a7c15ULL * (i + 1))) >> 11) * 0x1.0p-53;
}

}  // namespace calibrisk

#endif
