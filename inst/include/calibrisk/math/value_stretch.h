// SPDX-License-Identifier: GPL-3.0-or-later
// Values from one bound to another among many, nearly all of which are outside.
#ifndef CALIBRISK_MATH_VALUE_STRETCH_H
#define CALIBRISK_MATH_VALUE_STRETCH_H

#include <calibrisk/math/exp_sums.h>

#include <cstdint>

namespace calibrisk {

// Copies the values in [from, to] to `inside`, which has room for one more than there are; returns
// how many. Counts those below `from`.
inline Index copy_stretch(const double* v, Index n, double from, double to, double* inside,
                          std::int64_t& below) {
  Index used = 0, i = 0;
  // without a branch that the processor would have to guess
  const auto copy = [&](Index end) {
    for (; i < end; ++i) {
      inside[used] = v[i];
      below += v[i] < from;
      used += static_cast<Index>((v[i] >= from) & (v[i] <= to));
    }
  };
#ifdef CALIBRISK_PACKS
  using Pack = detail::Packs<2>::Pack;
  using IntPack = detail::Packs<2>::IntPack;
  const Pack low = {from, from}, high = {to, to};
  IntPack total = {0, 0};  // comparisons that hold are -1
  while (i + 8 <= n) {
    IntPack lower = {0, 0}, not_higher = {0, 0};
    for (int l = 0; l < 8; l += 2) {
      Pack x;
      detail::load_pack<2>(v + i + l, x);
      lower += x < low;
      not_higher += x <= high;
    }
    const IntPack some = lower - not_higher;
    if ((some[0] | some[1]) != 0) {
      copy(i + 8);
    } else {
      total -= lower;
      i += 8;
    }
  }
  below += total[0] + total[1];
#endif
  copy(n);
  return used;
}

}  // namespace calibrisk

#endif
