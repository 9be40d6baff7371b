// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over pairs of rows of sparse columns, a tile of rows against all others: the inner work of a
// ladder of many classes. One copy of the loop per instruction set; an entry is the sum over the
// columns in their order and no product is fused, so that all have the same digits.
#ifndef CALIBRISK_LADDER_ROW_TILES_H
#define CALIBRISK_LADDER_ROW_TILES_H

#include <calibrisk/linalg/pack_product.h>

#include <cstdint>
#include <vector>

namespace calibrisk {

constexpr Index row_tile = 64;

// Nonzero values of rows, row after row.
struct SparseRows {
  std::vector<std::int32_t> column;
  std::vector<double> value;
  std::vector<std::size_t> begin;  // of each row, and the end
};

// out[64 l + r] += sum_t value_lt table[64 column_lt + r], for the rows l < count.
struct RowTile {
  const double* table;
  const SparseRows* rows;
  Index count;
  double* out;
};

namespace detail {

#ifdef CALIBRISK_PACKS

template <int pack_size>
CALIBRISK_INLINE void add_table_pack(const double* x, double y,
                                     typename Packs<pack_size>::Pack& sum) {
  typename Packs<pack_size>::Pack pack;
  load_pack<pack_size>(x, pack);
  add_product<pack_size>(sum, pack, y);
}

// Eight packs of the tile, each a variable of its own, which stay in registers.
template <int pack_size>
CALIBRISK_INLINE void row_tile_loop(const RowTile& at) {
  constexpr int size = pack_size;
  typename Packs<size>::Pack a, b, c, d, e, f, g, h;
  const std::size_t* begin = at.rows->begin.data();
  for (Index l = 0; l < at.count; ++l, ++begin) {
    for (Index part = 0; part < row_tile; part += 8 * size) {
      double* out = at.out + l * row_tile + part;
      load_pack<size>(out, a);
      load_pack<size>(out + size, b);
      load_pack<size>(out + 2 * size, c);
      load_pack<size>(out + 3 * size, d);
      load_pack<size>(out + 4 * size, e);
      load_pack<size>(out + 5 * size, f);
      load_pack<size>(out + 6 * size, g);
      load_pack<size>(out + 7 * size, h);
      for (std::size_t t = begin[0]; t < begin[1]; ++t) {
        const double* x = at.table + row_tile * at.rows->column[t] + part;
        const double y = at.rows->value[t];
        add_table_pack<size>(x, y, a);
        add_table_pack<size>(x + size, y, b);
        add_table_pack<size>(x + 2 * size, y, c);
        add_table_pack<size>(x + 3 * size, y, d);
        add_table_pack<size>(x + 4 * size, y, e);
        add_table_pack<size>(x + 5 * size, y, f);
        add_table_pack<size>(x + 6 * size, y, g);
        add_table_pack<size>(x + 7 * size, y, h);
      }
      store_pack<size>(out, a);
      store_pack<size>(out + size, b);
      store_pack<size>(out + 2 * size, c);
      store_pack<size>(out + 3 * size, d);
      store_pack<size>(out + 4 * size, e);
      store_pack<size>(out + 5 * size, f);
      store_pack<size>(out + 6 * size, g);
      store_pack<size>(out + 7 * size, h);
    }
  }
}

inline void row_tiles_baseline(const RowTile& at) { row_tile_loop<2>(at); }
#ifdef CALIBRISK_DISPATCH
__attribute__((target("avx2"))) inline void row_tiles_avx2(const RowTile& at) {
  row_tile_loop<4>(at);
}
__attribute__((target("avx512f"))) inline void row_tiles_avx512(const RowTile& at) {
  row_tile_loop<8>(at);
}
#endif

#else  // no vector extension: plain loops

inline void row_tiles_baseline(const RowTile& at) {
  for (Index l = 0; l < at.count; ++l) {
    const auto row = static_cast<std::size_t>(l);
    for (std::size_t t = at.rows->begin[row]; t < at.rows->begin[row + 1]; ++t) {
      for (Index r = 0; r < row_tile; ++r) {
        at.out[l * row_tile + r] += at.table[row_tile * at.rows->column[t] + r] * at.rows->value[t];
      }
    }
  }
}

#endif

}  // namespace detail

inline void add_row_tile(const RowTile& at) {
  static void (*const loop)(const RowTile&) = CALIBRISK_WIDEST(detail::row_tiles);
  loop(at);
}

}  // namespace calibrisk

#endif
