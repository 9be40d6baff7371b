// SPDX-License-Identifier: GPL-3.0-or-later
// Loops in packs of the GNU vector extension: on x86-64 a copy for AVX2, which is chosen at run
// time where the processor has it, so that no compiler flag is needed. There is none for AVX-512,
// which could not be run where the others are tested.
#ifndef CALIBRISK_MATH_INSTRUCTIONS_H
#define CALIBRISK_MATH_INSTRUCTIONS_H

#if defined(__GNUC__) || defined(__clang__)
#define CALIBRISK_PACKS 1
#define CALIBRISK_INLINE inline __attribute__((always_inline))
// Windows is left out: its ABI does not keep the stack aligned for wide registers.
#if defined(__x86_64__) && !defined(_WIN32)
#define CALIBRISK_DISPATCH 1
#endif
#else
#define CALIBRISK_INLINE inline
#endif

#ifdef CALIBRISK_DISPATCH

namespace calibrisk {
namespace detail {

// The one for the widest instructions that this processor has.
template <class Loops>
Loops widest(Loops baseline, Loops avx2) {
  __builtin_cpu_init();
  const bool all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("popcnt");
  return all ? avx2 : baseline;
}

}  // namespace detail
}  // namespace calibrisk

#define CALIBRISK_WIDEST(name) calibrisk::detail::widest(name##_baseline, name##_avx2)
#else
#define CALIBRISK_WIDEST(name) name##_baseline
#endif

#endif
