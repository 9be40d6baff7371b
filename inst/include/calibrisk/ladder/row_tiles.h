// SPDX-License-Identifier: GPL-3.0-or-later
// Products of sparse rows with a table of 64 numbers for each column, and of their transpose with
// 64 for each row: the inner work of a ladder of many classes. One copy of the loop per instruction
// set; an entry is the sum over the columns in their order and no product is fused, so that all
// have the same digits.
#ifndef CALIBRISK_LADDER_ROW_TILES_H
#define CALIBRISK_LADDER_ROW_TILES_H

#include <calibrisk/linalg/pack_product.h>

#include <cstdint>
#include <vector>

namespace calibrisk {

constexpr Index row_tile = 64;

// Nonzero values of some rows, row after row.
struct SparseRows {
  std::vector<std::int32_t> row, column;
  std::vector<double> value;
  std::vector<std::size_t> begin;  // of each of these rows, and the end
};

// out[64 row_l + r] += sum_t value_lt table[64 column_lt + r], for the first rows l < count.
struct RowTile {
  const double* table;
  const SparseRows* rows;
  Index count;
  double* out;
};

// table[64 column_lt + r] += sum_l value_lt x[64 row_l + r], for the first rows l < count.
struct ColumnTile {
  const double* x;
  const SparseRows* rows;
  Index count;
  double* table;
};

namespace detail {

#ifdef CALIBRISK_PACKS

// Eight packs of a tile, each a variable of its own, which stay in registers.
template <int size>
struct TilePacks {
  typename Packs<size>::Pack a, b, c, d, e, f, g, h;

  CALIBRISK_INLINE void load(const double* x) {
    load_pack<size>(x, a);
    load_pack<size>(x + size, b);
    load_pack<size>(x + 2 * size, c);
    load_pack<size>(x + 3 * size, d);
    load_pack<size>(x + 4 * size, e);
    load_pack<size>(x + 5 * size, f);
    load_pack<size>(x + 6 * size, g);
    load_pack<size>(x + 7 * size, h);
  }
  CALIBRISK_INLINE void store(double* x) const {
    store_pack<size>(x, a);
    store_pack<size>(x + size, b);
    store_pack<size>(x + 2 * size, c);
    store_pack<size>(x + 3 * size, d);
    store_pack<size>(x + 4 * size, e);
    store_pack<size>(x + 5 * size, f);
    store_pack<size>(x + 6 * size, g);
    store_pack<size>(x + 7 * size, h);
  }
  // These += x y
  CALIBRISK_INLINE void add(const TilePacks& x, double y) {
    add_product<size>(a, x.a, y);
    add_product<size>(b, x.b, y);
    add_product<size>(c, x.c, y);
    add_product<size>(d, x.d, y);
    add_product<size>(e, x.e, y);
    add_product<size>(f, x.f, y);
    add_product<size>(g, x.g, y);
    add_product<size>(h, x.h, y);
  }
};

template <int pack_size>
CALIBRISK_INLINE void row_tile_loop(const RowTile& at) {
  TilePacks<pack_size> sum, x;
  const std::size_t* begin = at.rows->begin.data();
  for (Index l = 0; l < at.count; ++l, ++begin) {
    for (Index part = 0; part < row_tile; part += 8 * pack_size) {
      double* out = at.out + at.rows->row[static_cast<std::size_t>(l)] * row_tile + part;
      sum.load(out);
      for (std::size_t t = begin[0]; t < begin[1]; ++t) {
        x.load(at.table + row_tile * at.rows->column[t] + part);
        sum.add(x, at.rows->value[t]);
      }
      sum.store(out);
    }
  }
}

template <int pack_size>
CALIBRISK_INLINE void column_tile_loop(const ColumnTile& at) {
  TilePacks<pack_size> sum, x;
  const std::size_t* begin = at.rows->begin.data();
  for (Index l = 0; l < at.count; ++l, ++begin) {
    for (Index part = 0; part < row_tile; part += 8 * pack_size) {
      x.load(at.x + at.rows->row[static_cast<std::size_t>(l)] * row_tile + part);
      for (std::size_t t = begin[0]; t < begin[1]; ++t) {
        double* out = at.table + row_tile * at.rows->column[t] + part;
        sum.load(out);
        sum.add(x, at.rows->value[t]);
        sum.store(out);
      }
    }
  }
}

inline void row_tiles_baseline(const RowTile& at) { row_tile_loop<2>(at); }
inline void column_tiles_baseline(const ColumnTile& at) { column_tile_loop<2>(at); }
#ifdef CALIBRISK_DISPATCH
__attribute__((target("avx2"))) inline void row_tiles_avx2(const RowTile& at) {
  row_tile_loop<4>(at);
}
__attribute__((target("avx2"))) inline void column_tiles_avx2(const ColumnTile& at) {
  column_tile_loop<4>(at);
}
__attribute__((target("avx512f"))) inline void row_tiles_avx512(const RowTile& at) {
  row_tile_loop<8>(at);
}
__attribute__((target("avx512f"))) inline void column_tiles_avx512(const ColumnTile& at) {
  column_tile_loop<8>(at);
}
#endif

#else  // no vector extension: plain loops

inline void row_tiles_baseline(const RowTile& at) {
  for (Index l = 0; l < at.count; ++l) {
    const auto row = static_cast<std::size_t>(l);
    for (std::size_t t = at.rows->begin[row]; t < at.rows->begin[row + 1]; ++t) {
      for (Index r = 0; r < row_tile; ++r) {
        at.out[at.rows->row[row] * row_tile + r] +=
            at.table[row_tile * at.rows->column[t] + r] * at.rows->value[t];
      }
    }
  }
}

inline void column_tiles_baseline(const ColumnTile& at) {
  for (Index l = 0; l < at.count; ++l) {
    const auto row = static_cast<std::size_t>(l);
    for (std::size_t t = at.rows->begin[row]; t < at.rows->begin[row + 1]; ++t) {
      for (Index r = 0; r < row_tile; ++r) {
        at.table[row_tile * at.rows->column[t] + r] +=
            at.x[at.rows->row[row] * row_tile + r] * at.rows->value[t];
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

inline void add_column_tile(const ColumnTile& at) {
  static void (*const loop)(const ColumnTile&) = CALIBRISK_WIDEST(detail::column_tiles);
  loop(at);
}

}  // namespace calibrisk

#endif
