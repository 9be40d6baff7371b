// SPDX-License-Identifier: GPL-3.0-or-later
// Comparisons of counted random numbers and sums over those that are smaller, of many draws at
// once: one copy of the loops per instruction set, chosen at run time. All of them have the same
// numbers and the same sums.
#ifndef CALIBRISK_MATH_COUNTER_PACKS_H
#define CALIBRISK_MATH_COUNTER_PACKS_H

#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/exp_sums.h>

#include <cmath>

namespace calibrisk {

constexpr int counter_draws = 64;

// For every one of 64 draws all bits or none.
struct alignas(64) DrawMask {
  std::int64_t of[counter_draws];
};

constexpr int flip_draws = 32;

// A change of the sums in one column.
struct ColumnChange {
  int column;
  double value;
};

struct CounterLoops {
  // of[r]: whether number i of the draw that has keys[r] is below limit * 2^-53
  void (*below)(const std::uint64_t* keys, std::uint64_t i, std::int64_t limit, DrawMask& out);
  // sums(r, columns[a]) += values[a] for a < n and the draws r in the mask; 64 rows
  void (*add)(const DrawMask& mask, const int* columns, const double* values, Index n,
              double* sums);
  // sums(r, column) += value of each change, or -= where bit r is set; 32 rows
  void (*flip)(std::uint64_t bits, const ColumnChange* changes, Index n, double* sums);
};

namespace detail {

#ifdef CALIBRISK_PACKS

template <int n>
struct BitPacks {
  typedef unsigned long long Pack __attribute__((vector_size(8 * n)));
};

template <int pack_size>
CALIBRISK_INLINE void below_loop(const std::uint64_t* keys, std::uint64_t i, std::int64_t limit,
                                 DrawMask& out) {
  using IntPack = typename Packs<pack_size>::IntPack;
  for (int r = 0; r < counter_draws; r += pack_size) {
    typename BitPacks<pack_size>::Pack z;
    __builtin_memcpy(&z, keys + r, sizeof z);
    count_bits(z, i);
    const IntPack mask = (IntPack)z < limit;
    __builtin_memcpy(out.of + r, &mask, sizeof mask);
  }
}

template <int pack_size>
CALIBRISK_INLINE void add_loop(const DrawMask& mask, const int* columns, const double* values,
                               Index n, double* sums) {
  using Pack = typename Packs<pack_size>::Pack;
  using IntPack = typename Packs<pack_size>::IntPack;
  for (Index a = 0; a < n; ++a) {
    double* sum = sums + counter_draws * static_cast<Index>(columns[a]);
    const Pack value = values[a] - Pack{};
    for (int r = 0; r < counter_draws; r += pack_size) {
      IntPack kept;
      Pack x;
      __builtin_memcpy(&kept, mask.of + r, sizeof kept);
      load_pack<pack_size>(sum + r, x);
      store_pack<pack_size>(sum + r, x + (Pack)((IntPack)value & kept));
    }
  }
}

template <int pack_size>
CALIBRISK_INLINE void flip_loop(std::uint64_t bits, const ColumnChange* changes, Index n,
                                double* sums) {
  using Pack = typename Packs<pack_size>::Pack;
  using BitPack = typename BitPacks<pack_size>::Pack;
  constexpr int packs = flip_draws / pack_size;
  BitPack sign[packs];
  for (int l = 0; l < packs; ++l) {
    for (int r = 0; r < pack_size; ++r) sign[l][r] = bits << (63 - l * pack_size - r);
    sign[l] &= 1ULL << 63;
  }
  for (Index a = 0; a < n; ++a) {
    double* sum = sums + flip_draws * static_cast<Index>(changes[a].column);
    const Pack value = changes[a].value - Pack{};
    for (int l = 0; l < packs; ++l) {
      Pack x;
      load_pack<pack_size>(sum + l * pack_size, x);
      store_pack<pack_size>(sum + l * pack_size, x + (Pack)((BitPack)value ^ sign[l]));
    }
  }
}

#define CALIBRISK_COUNTER_LOOPS(SUFFIX, SIZE, TARGET)                                             \
  TARGET inline void below_##SUFFIX(const std::uint64_t* keys, std::uint64_t i,                   \
                                    std::int64_t limit, DrawMask& out) {                          \
    below_loop<SIZE>(keys, i, limit, out);                                                        \
  }                                                                                               \
  TARGET inline void add_##SUFFIX(const DrawMask& mask, const int* columns, const double* values, \
                                  Index n, double* sums) {                                        \
    add_loop<SIZE>(mask, columns, values, n, sums);                                               \
  }                                                                                               \
  TARGET inline void flip_##SUFFIX(std::uint64_t bits, const ColumnChange* changes, Index n,      \
                                   double* sums) {                                                \
    flip_loop<SIZE>(bits, changes, n, sums);                                                      \
  }                                                                                               \
  inline CounterLoops counter_loops_##SUFFIX() {                                                  \
    return {below_##SUFFIX, add_##SUFFIX, flip_##SUFFIX};                                         \
  }

CALIBRISK_COUNTER_LOOPS(baseline, 2, )
#ifdef CALIBRISK_DISPATCH
CALIBRISK_COUNTER_LOOPS(avx2, 4, __attribute__((target("avx2"))))
CALIBRISK_COUNTER_LOOPS(avx512, 8, __attribute__((target("avx512f,avx512dq"))))
#endif
#undef CALIBRISK_COUNTER_LOOPS

#else  // no vector extension: plain loops

inline CounterLoops counter_loops_baseline() {
  CounterLoops loops;
  loops.below = [](const std::uint64_t* keys, std::uint64_t i, std::int64_t limit, DrawMask& out) {
    for (int r = 0; r < counter_draws; ++r) {
      out.of[r] = static_cast<std::int64_t>(counter_bits(keys[r], i)) < limit ? -1 : 0;
    }
  };
  loops.add = [](const DrawMask& mask, const int* columns, const double* values, Index n,
                 double* sums) {
    for (Index a = 0; a < n; ++a) {
      double* sum = sums + counter_draws * static_cast<Index>(columns[a]);
      for (int r = 0; r < counter_draws; ++r) {
        if (mask.of[r] != 0) sum[r] += values[a];
      }
    }
  };
  loops.flip = [](std::uint64_t bits, const ColumnChange* changes, Index n, double* sums) {
    for (Index a = 0; a < n; ++a) {
      double* sum = sums + flip_draws * static_cast<Index>(changes[a].column);
      for (int r = 0; r < flip_draws; ++r) {
        sum[r] += ((bits >> r) & 1) != 0 ? -changes[a].value : changes[a].value;
      }
    }
  };
  return loops;
}

#endif

}  // namespace detail

inline const CounterLoops& counter_loops() {
  static const CounterLoops loops = CALIBRISK_WIDEST(detail::counter_loops)();
  return loops;
}

// The limit below which a counted number's 53 bits are where the number is below x.
inline std::int64_t counter_limit(double x) {
  return static_cast<std::int64_t>(std::ceil(x * 0x1.0p53));
}

}  // namespace calibrisk

#endif
