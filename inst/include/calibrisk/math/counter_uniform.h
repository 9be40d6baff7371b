// SPDX-License-Identifier: GPL-3.0-or-later
// Random numbers by counting: no state, so that any thread may draw any of them.
#ifndef CALIBRISK_MATH_COUNTER_UNIFORM_H
#define CALIBRISK_MATH_COUNTER_UNIFORM_H

#include <calibrisk/math/instructions.h>

#include <cstdint>

namespace calibrisk {

constexpr std::uint64_t counter_step = 0x9e3779b97f4a7c15ULL;

namespace detail {

// A finaliser of 64 bits, of a number or of each in a pack: every bit of the input moves every bit
// of the output.
template <class Bits>
CALIBRISK_INLINE void mix(Bits& z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z = z ^ (z >> 31);
}

// From a key to the 53 bits of its number i: two rounds of the finaliser over a counter.
template <class Bits>
CALIBRISK_INLINE void count_bits(Bits& z, std::uint64_t i) {
  z += counter_step * (i + 1);
  mix(z);
  mix(z);
  z = z >> 11;
}

}  // namespace detail

inline std::uint64_t mix_bits(std::uint64_t z) {
  detail::mix(z);
  return z;
}

inline std::uint64_t counter_key(std::uint64_t seed, std::uint64_t draw) {
  return mix_bits(seed + counter_step * (draw + 1));
}

// The 53 bits of number i.
inline std::uint64_t counter_bits(std::uint64_t key, std::uint64_t i) {
  detail::count_bits(key, i);
  return key;
}

// Number i of a key, uniform in [0, 1).
inline double counter_number(std::uint64_t key, std::uint64_t i) {
  return static_cast<double>(counter_bits(key, i)) * 0x1.0p-53;
}

// A uniform number in [0, 1) that depends on (seed, draw, i) alone: the same for any
// number of threads.
inline double counter_uniform(std::uint64_t seed, std::uint64_t draw, std::uint64_t i) {
  return counter_number(counter_key(seed, draw), i);
}

}  // namespace calibrisk

#endif
