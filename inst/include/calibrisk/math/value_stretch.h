// SPDX-License-Identifier: GPL-3.0-or-later
// Values from one bound to another among many, nearly all of which are outside.
#ifndef CALIBRISK_MATH_VALUE_STRETCH_H
#define CALIBRISK_MATH_VALUE_STRETCH_H

#include <calibrisk/math/exp_sums.h>

#include <cstdint>

#ifdef CALIBRISK_DISPATCH
#include <immintrin.h>
#endif

namespace calibrisk {

namespace detail {

// Values, the bounds of the stretch, and where the values between them go.
struct StretchCopy {
  const double* v;
  Index n;
  double from, to;
  double* inside;
  Index used;          // how many are inside
  std::int64_t below;  // how many are below `from`

  // without a branch that the processor would have to guess
  CALIBRISK_INLINE void copy(Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      inside[used] = v[i];
      below += v[i] < from;
      used += static_cast<Index>((v[i] >= from) & (v[i] <= to));
    }
  }
};

inline void copy_stretch_baseline(StretchCopy& at) {
  Index i = 0;
#ifdef CALIBRISK_PACKS
  using Pack = Packs<2>::Pack;
  using IntPack = Packs<2>::IntPack;
  const Pack low = {at.from, at.from}, high = {at.to, at.to};
  IntPack total = {0, 0};  // comparisons that hold are -1
  for (; i + 8 <= at.n; i += 8) {
    IntPack lower = {0, 0}, not_higher = {0, 0};
    for (int l = 0; l < 8; l += 2) {
      Pack x;
      load_pack<2>(at.v + i + l, x);
      lower += x < low;
      not_higher += x <= high;
    }
    const IntPack some = lower - not_higher;
    if ((some[0] | some[1]) != 0) {
      at.copy(i, i + 8);
    } else {
      total -= lower;
    }
  }
  at.below += total[0] + total[1];
#endif
  at.copy(i, at.n);
}

#ifdef CALIBRISK_DISPATCH

__attribute__((target("avx2,popcnt"))) inline void copy_stretch_avx2(StretchCopy& at) {
  const __m256d low = _mm256_set1_pd(at.from), high = _mm256_set1_pd(at.to);
  Index i = 0;
  for (; i + 8 <= at.n; i += 8) {
    const __m256d x = _mm256_loadu_pd(at.v + i), y = _mm256_loadu_pd(at.v + i + 4);
    const int lower = _mm256_movemask_pd(_mm256_cmp_pd(x, low, _CMP_LT_OQ)) +
                      16 * _mm256_movemask_pd(_mm256_cmp_pd(y, low, _CMP_LT_OQ)),
              not_higher = _mm256_movemask_pd(_mm256_cmp_pd(x, high, _CMP_LE_OQ)) +
                           16 * _mm256_movemask_pd(_mm256_cmp_pd(y, high, _CMP_LE_OQ));
    if (lower != not_higher) {
      at.copy(i, i + 8);
    } else {
      at.below += __builtin_popcount(static_cast<unsigned>(lower));
    }
  }
  at.copy(i, at.n);
}

__attribute__((target("avx512f,popcnt"))) inline void copy_stretch_avx512(StretchCopy& at) {
  const __m512d low = _mm512_set1_pd(at.from), high = _mm512_set1_pd(at.to);
  Index i = 0;
  for (; i + 8 <= at.n; i += 8) {
    const __m512d x = _mm512_loadu_pd(at.v + i);
    const __mmask8 lower = _mm512_cmp_pd_mask(x, low, _CMP_LT_OQ);
    const __mmask8 kept =
        _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x, low, _CMP_GE_OQ), x, high, _CMP_LE_OQ);
    at.below += __builtin_popcount(lower);
    _mm512_storeu_pd(at.inside + at.used, _mm512_maskz_compress_pd(kept, x));
    at.used += __builtin_popcount(kept);
  }
  at.copy(i, at.n);
}

#endif

}  // namespace detail

// Copies the values in [from, to] to `inside`, which has room for eight more than there are;
// returns how many. Counts those below `from`.
inline Index copy_stretch(const double* v, Index n, double from, double to, double* inside,
                          std::int64_t& below) {
  static void (*const loop)(detail::StretchCopy&) = CALIBRISK_WIDEST(detail::copy_stretch);
  detail::StretchCopy at{v, n, from, to, inside, 0, 0};
  loop(at);
  below += at.below;
  return at.used;
}

}  // namespace calibrisk

#endif
