// SPDX-License-Identifier: GPL-3.0-or-later
// Loops in packs of the GNU vector extension: on x86-64 one copy per instruction set, of which one
// is chosen at run time, so that no compiler flag is needed.
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

#include <cstdlib>
#include <cstring>

namespace calibrisk {
namespace detail {

enum class Instructions { baseline, avx2, avx512 };

// What this processor has; or fewer, as the environment's CALIBRISK_INSTRUCTIONS names them, so
// that every copy can be run.
inline Instructions widest_instructions() {
  __builtin_cpu_init();
  const char* most = std::getenv("CALIBRISK_INSTRUCTIONS");
  const bool only_baseline = most && std::strcmp(most, "baseline") == 0;
  const bool only_avx2 = most && std::strcmp(most, "avx2") == 0;
  if (only_baseline || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("popcnt") ||
      !__builtin_cpu_supports("avx2")) {
    return Instructions::baseline;
  }
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return wide && !only_avx2 ? Instructions::avx512 : Instructions::avx2;
}

template <class Loops>
Loops widest(Loops baseline, Loops avx2, Loops avx512) {
  static const Instructions found = widest_instructions();
  if (found == Instructions::avx512) return avx512;
  return found == Instructions::avx2 ? avx2 : baseline;
}

}  // namespace detail
}  // namespace calibrisk

#define CALIBRISK_WIDEST(name) \
  calibrisk::detail::widest(name##_baseline, name##_avx2, name##_avx512)
#else
#define CALIBRISK_WIDEST(name) name##_baseline
#endif

#endif
