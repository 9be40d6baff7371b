// SPDX-License-Identifier: GPL-3.0-or-later
// Products of dense matrices on the calling thread, one copy of the loops per instruction set,
// chosen at run time. Eigen's products are compiled for the instructions that a compiler may assume
// (two doubles at a time on x86-64), and they ask for new memory at every call. An entry is the sum
// over the inner index in its order and no product is fused: every instruction set has the same
// digits.
#ifndef CALIBRISK_LINALG_PACK_PRODUCT_H
#define CALIBRISK_LINALG_PACK_PRODUCT_H

#include <calibrisk/math/exp_sums.h>

#include <algorithm>

namespace calibrisk {

// C += alpha A B', with A(i, k) = a[i a_row + k a_col], [m x depth], and B alike, [n x depth].
// `lower` is for a square C: entries above the diagonal may be left as they are.
struct PackProduct {
  const double* a;
  Index a_row, a_col;
  const double* b;
  Index b_row, b_col;
  Index m, n, depth;
  double alpha;
  double* c;
  Index c_col;
  bool lower;
};

CALIBRISK_SHARED void add_pack_product(const PackProduct& at);

namespace detail {

#ifdef CALIBRISK_PACKS

constexpr Index product_depth = 128, product_width = 96;  // copied at a time: 96 kB
constexpr int tile_columns = 4;                           // of C, in registers

// sum += x y
template <int pack_size>
CALIBRISK_INLINE void add_product(typename Packs<pack_size>::Pack& sum,
                                  const typename Packs<pack_size>::Pack& x, double y) {
  typename Packs<pack_size>::Pack product = x * y;
  keep_rounded(product);
  sum += product;
}

// C += A B' of two packs of rows and four columns; a: [depth][2 packs], b: [depth][4].
template <int pack_size>
CALIBRISK_INLINE void product_tile(const double* a, const double* b, Index depth, double* c,
                                   Index c_col) {
  using Pack = typename Packs<pack_size>::Pack;
  Pack a0, a1, a2, a3, b0, b1, b2, b3;  // upper and lower packs of the columns
  double *c0 = c, *c1 = c + c_col, *c2 = c1 + c_col, *c3 = c2 + c_col;
  load_pack<pack_size>(c0, a0);
  load_pack<pack_size>(c1, a1);
  load_pack<pack_size>(c2, a2);
  load_pack<pack_size>(c3, a3);
  load_pack<pack_size>(c0 + pack_size, b0);
  load_pack<pack_size>(c1 + pack_size, b1);
  load_pack<pack_size>(c2 + pack_size, b2);
  load_pack<pack_size>(c3 + pack_size, b3);
  for (Index k = 0; k < depth; ++k, a += 2 * pack_size, b += tile_columns) {
    Pack upper, lower;
    load_pack<pack_size>(a, upper);
    load_pack<pack_size>(a + pack_size, lower);
    add_product<pack_size>(a0, upper, b[0]);
    add_product<pack_size>(b0, lower, b[0]);
    add_product<pack_size>(a1, upper, b[1]);
    add_product<pack_size>(b1, lower, b[1]);
    add_product<pack_size>(a2, upper, b[2]);
    add_product<pack_size>(b2, lower, b[2]);
    add_product<pack_size>(a3, upper, b[3]);
    add_product<pack_size>(b3, lower, b[3]);
  }
  store_pack<pack_size>(c0, a0);
  store_pack<pack_size>(c1, a1);
  store_pack<pack_size>(c2, a2);
  store_pack<pack_size>(c3, a3);
  store_pack<pack_size>(c0 + pack_size, b0);
  store_pack<pack_size>(c1 + pack_size, b1);
  store_pack<pack_size>(c2 + pack_size, b2);
  store_pack<pack_size>(c3 + pack_size, b3);
}

// out[k][i] = scale x(i, k) for i < width, 0 where i >= m: the order in which a tile reads it.
template <int width>
CALIBRISK_INLINE void copy_strip(const double* x, Index row, Index col, Index m, Index depth,
                                 double scale, double* out) {
  if (m < width) std::fill_n(out, depth * width, 0.0);
  if (row == 1 && m == width) {
    for (Index k = 0; k < depth; ++k) {
      for (Index i = 0; i < width; ++i) out[k * width + i] = scale * x[i + k * col];
    }
  } else {
    for (Index i = 0; i < m; ++i) {
      for (Index k = 0; k < depth; ++k) out[k * width + i] = scale * x[i * row + k * col];
    }
  }
}

template <int pack_size>
CALIBRISK_INLINE void product_loop(const PackProduct& at) {
  constexpr int height = 2 * pack_size;
  double b[product_depth * product_width], a[product_depth * height];
  double edge[height * tile_columns];  // a tile that is not all in C
  for (Index j = 0; j < at.n; j += product_width) {
    const Index width = std::min(product_width, at.n - j);
    for (Index k = 0; k < at.depth; k += product_depth) {
      const Index depth = std::min(product_depth, at.depth - k);
      for (Index l = 0; l < width; l += tile_columns) {
        copy_strip<tile_columns>(at.b + (j + l) * at.b_row + k * at.b_col, at.b_row, at.b_col,
                                 std::min<Index>(tile_columns, width - l), depth, 1.0,
                                 b + l * product_depth);
      }
      for (Index i = at.lower ? j - j % height : 0; i < at.m; i += height) {
        const Index rows = std::min<Index>(height, at.m - i);
        copy_strip<height>(at.a + i * at.a_row + k * at.a_col, at.a_row, at.a_col, rows, depth,
                           at.alpha, a);
        for (Index l = 0; l < width && !(at.lower && j + l >= i + height); l += tile_columns) {
          const Index columns = std::min<Index>(tile_columns, width - l);
          double* c = at.c + i + (j + l) * at.c_col;
          if (rows == height && columns == tile_columns) {
            product_tile<pack_size>(a, b + l * product_depth, depth, c, at.c_col);
            continue;
          }
          std::fill_n(edge, height * tile_columns, 0.0);
          for (Index h = 0; h < columns; ++h)
            std::copy_n(c + h * at.c_col, rows, edge + h * height);
          product_tile<pack_size>(a, b + l * product_depth, depth, edge, height);
          for (Index h = 0; h < columns; ++h)
            std::copy_n(edge + h * height, rows, c + h * at.c_col);
        }
      }
    }
  }
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PRODUCTS)
inline void matrix_product_baseline(const PackProduct& at) { product_loop<2>(at); }
#ifdef CALIBRISK_DISPATCH
__attribute__((target("avx2"))) inline void matrix_product_avx2(const PackProduct& at) {
  product_loop<4>(at);
}
__attribute__((target("avx512f"))) inline void matrix_product_avx512(const PackProduct& at) {
  product_loop<8>(at);
}
#endif
#endif

#else  // no vector extension: plain loops

inline void matrix_product_baseline(const PackProduct& at) {
  for (Index j = 0; j < at.n; ++j) {
    for (Index k = 0; k < at.depth; ++k) {
      const double y = at.b[j * at.b_row + k * at.b_col];
      for (Index i = at.lower ? j : 0; i < at.m; ++i) {
        at.c[i + j * at.c_col] += at.alpha * at.a[i * at.a_row + k * at.a_col] * y;
      }
    }
  }
}

#endif

}  // namespace detail

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_PRODUCTS)
void add_pack_product(const PackProduct& at) {
  static void (*const loop)(const PackProduct&) = CALIBRISK_WIDEST(detail::matrix_product);
  loop(at);
}
#endif

// A matrix as a side of a product, or its transpose.
inline PackProduct pack_product(bool transpose_a, bool transpose_b, double alpha,
                                const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef c) {
  const Index a_step = a.outerStride(), b_step = b.outerStride();
  return {a.data(),
          transpose_a ? a_step : 1,
          transpose_a ? 1 : a_step,
          b.data(),
          transpose_b ? 1 : b_step,
          transpose_b ? b_step : 1,
          c.rows(),
          c.cols(),
          transpose_a ? a.rows() : a.cols(),
          alpha,
          c.data(),
          c.outerStride(),
          false};
}

}  // namespace calibrisk

#endif
