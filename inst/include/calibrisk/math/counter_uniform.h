// SPDX-License-Identifier: GPL-3.0-or-later
// Random numbers by counting: no state, so that any thread may draw any of them.
#ifndef CALIBRISK_MATH_COUNTER_UNIFORM_H
#define CALIBRISK_MATH_COUNTER_UNIFORM_H

#include <cstdint>

namespace calibrisk {

constexpr std::uint64_t counter_step = 0x9e3779b97f4a7c15ULL;

namespace detail {

// A 64-bit finaliser.
inline std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace detail

inline std::uint64_t counter_key(std::uint64_t seed, std::uint64_t draw) {
  return detail::mix_bits(seed + counter_step * (draw + 1));
}

// The 53 bits of number i: two rounds of the finaliser over a counter.
inline std::uint64_t counter_bits(std::uint64_t key, std::uint64_t i) {
  return detail::mix_bits(detail::mix_bits(key + counter_step * (i + 1))) >> 11;
}

// A uniform number in [0, 1) that depends on (seed, draw, i) alone: the same for any
// number of threads.
inline double counter_uniform(std::uint64_t seed, std::uint64_t draw, std::uint64_t i) {
  return static_cast<double>(counter_bits(counter_key(seed, draw), i)) * 0x1.0p-53;
}

}  // namespace calibrisk

#endif
