// SPDX-License-Identifier: GPL-3.0-or-later
// Bilinear forms of rows, and sums of products of columns, of matrices with few columns: the inner
// work of pair statistics and of risks (pair_risk.h). No product is fused and the order of sums is
// fixed, so that every instruction set has the same digits.
#ifndef CALIBRISK_MATH_ROW_FORMS_H
#define CALIBRISK_MATH_ROW_FORMS_H

#include <calibrisk/math/exp_sums.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

// out(i) = sum_j (sum_k a(i, k) core(k, j)) b(i, j); a: [n x p], b: [n x q], core: [p x q], or null
// for the identity. Columns are a_step, ... apart.
struct RowForm {
  const double* a;
  Index a_step, p;
  const double* b;
  Index b_step, q;
  const double* core;
  Index core_step;
  Index n;
  double* out;
};

// out(k, l) = sum_i x_k(i) x_l(i) for k >= l, of q columns of n rows; entries above the diagonal
// are left as they are.
struct ColumnProducts {
  const double* const* columns;
  Index q, n;
  double* out;  // [q x q]
};

namespace detail {

// The loops of one instruction set.
struct RowFormLoops {
  void (*rows)(const RowForm& at);
  void (*columns)(const ColumnProducts& at);
};

CALIBRISK_SHARED const RowFormLoops& row_form_loops();

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RISKS)

#ifdef CALIBRISK_PACKS

// sum += x y
template <class Value, class Factor>
CALIBRISK_INLINE void add_rounded(Value& sum, const Value& x, const Factor& y) {
  Value product = x * y;
  keep_rounded(product);
  sum += product;
}

// Columns are fetched so many rows ahead: a processor does not foresee this many columns.
constexpr Index rows_ahead = 64;

// Adds to a pack of rows' sums, from i on, the terms of four columns of b from j on.
template <int pack_size>
CALIBRISK_INLINE void row_form_tile(const RowForm& at, Index i, Index j,
                                    typename Packs<pack_size>::Pack& sum) {
  typename Packs<pack_size>::Pack p0 = {}, p1 = {}, p2 = {}, p3 = {}, x;
  const double *a = at.a + i, *b = at.b + i + j * at.b_step, *c0 = at.core + j * at.core_step,
               *c1 = c0 + at.core_step, *c2 = c1 + at.core_step, *c3 = c2 + at.core_step;
  for (Index k = 0; k < at.p; ++k, a += at.a_step) {
    __builtin_prefetch(a + rows_ahead);
    load_pack<pack_size>(a, x);
    add_rounded(p0, x, c0[k]);
    add_rounded(p1, x, c1[k]);
    add_rounded(p2, x, c2[k]);
    add_rounded(p3, x, c3[k]);
  }
  load_pack<pack_size>(b, x);
  add_rounded(sum, p0, x);
  load_pack<pack_size>(b + at.b_step, x);
  add_rounded(sum, p1, x);
  load_pack<pack_size>(b + 2 * at.b_step, x);
  add_rounded(sum, p2, x);
  load_pack<pack_size>(b + 3 * at.b_step, x);
  add_rounded(sum, p3, x);
}

// Adds the term of column j of b.
template <int pack_size>
CALIBRISK_INLINE void row_form_column(const RowForm& at, Index i, Index j,
                                      typename Packs<pack_size>::Pack& sum) {
  typename Packs<pack_size>::Pack x, product = {};
  if (at.core == nullptr) {
    __builtin_prefetch(at.a + i + j * at.a_step + rows_ahead);
    load_pack<pack_size>(at.a + i + j * at.a_step, product);
  } else {
    for (Index k = 0; k < at.p; ++k) {
      load_pack<pack_size>(at.a + i + k * at.a_step, x);
      add_rounded(product, x, at.core[k + j * at.core_step]);
    }
  }
  load_pack<pack_size>(at.b + i + j * at.b_step, x);
  add_rounded(sum, product, x);
}

template <int pack_size>
CALIBRISK_INLINE void row_form_loop(const RowForm& at) {
  Index i = 0;
  for (; i + pack_size <= at.n; i += pack_size) {
    typename Packs<pack_size>::Pack sum = {};
    Index j = 0;
    for (; at.core != nullptr && j + 4 <= at.q; j += 4) row_form_tile<pack_size>(at, i, j, sum);
    for (; j < at.q; ++j) row_form_column<pack_size>(at, i, j, sum);
    store_pack<pack_size>(at.out + i, sum);
  }
  for (; i < at.n; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < at.q; ++j) {
      double product = at.core == nullptr ? at.a[i + j * at.a_step] : 0.0;
      for (Index k = 0; at.core != nullptr && k < at.p; ++k) {
        add_rounded(product, at.a[i + k * at.a_step], at.core[k + j * at.core_step]);
      }
      add_rounded(sum, product, at.b[i + j * at.b_step]);
    }
    at.out[i] = sum;
  }
}

// A sum over rows is the sum of eight, of every eighth row each, for packs of all sizes.
constexpr Index row_lanes = 8;

// Two columns against four, all of whose rows fill the lanes: lanes[h][r] of pair h.
template <int pack_size>
CALIBRISK_INLINE void column_tile(const double* const* x, const double* const* y, Index n,
                                  double* lanes) {
  for (Index r = 0; r < row_lanes; r += pack_size) {
    typename Packs<pack_size>::Pack a0 = {}, a1 = {}, a2 = {}, a3 = {}, b0 = {}, b1 = {}, b2 = {},
                                    b3 = {}, u, v, z;
    for (Index i = r; i < n; i += row_lanes) {
      load_pack<pack_size>(x[0] + i, u);
      load_pack<pack_size>(x[1] + i, v);
      load_pack<pack_size>(y[0] + i, z);
      add_rounded(a0, u, z);
      add_rounded(b0, v, z);
      load_pack<pack_size>(y[1] + i, z);
      add_rounded(a1, u, z);
      add_rounded(b1, v, z);
      load_pack<pack_size>(y[2] + i, z);
      add_rounded(a2, u, z);
      add_rounded(b2, v, z);
      load_pack<pack_size>(y[3] + i, z);
      add_rounded(a3, u, z);
      add_rounded(b3, v, z);
    }
    store_pack<pack_size>(lanes + r, a0);
    store_pack<pack_size>(lanes + r + row_lanes, a1);
    store_pack<pack_size>(lanes + r + 2 * row_lanes, a2);
    store_pack<pack_size>(lanes + r + 3 * row_lanes, a3);
    store_pack<pack_size>(lanes + r + 4 * row_lanes, b0);
    store_pack<pack_size>(lanes + r + 5 * row_lanes, b1);
    store_pack<pack_size>(lanes + r + 6 * row_lanes, b2);
    store_pack<pack_size>(lanes + r + 7 * row_lanes, b3);
  }
}

template <int pack_size>
CALIBRISK_INLINE void column_product_loop(const ColumnProducts& at) {
  const Index packed = at.n - at.n % row_lanes;
  double lanes[8 * row_lanes];
  for (Index k = 0; k < at.q; k += 2) {
    // the last column stands in for columns beyond it
    const double* x[] = {at.columns[k], at.columns[std::min(k + 1, at.q - 1)]};
    for (Index l = 0; l <= k + 1 && l < at.q; l += 4) {
      const double* y[4];
      for (Index h = 0; h < 4; ++h) y[h] = at.columns[std::min(l + h, at.q - 1)];
      column_tile<pack_size>(x, y, packed, lanes);
      for (Index h = 0; h < 8; ++h) {
        const Index row = k + h / 4, column = l + h % 4;
        if (row >= at.q || column > row) continue;
        double* sum = lanes + h * row_lanes;
        for (Index i = packed; i < at.n; ++i) {
          add_rounded(sum[i - packed], x[h / 4][i], y[h % 4][i]);
        }
        at.out[row + column * at.q] =
            ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
      }
    }
  }
}

#define CALIBRISK_ROW_FORM_LOOPS(SUFFIX, SIZE, TARGET)                                             \
  TARGET inline void row_forms_##SUFFIX(const RowForm& at) { row_form_loop<SIZE>(at); }            \
  TARGET inline void columns_##SUFFIX(const ColumnProducts& at) { column_product_loop<SIZE>(at); } \
  inline RowFormLoops row_form_loops_##SUFFIX() { return {row_forms_##SUFFIX, columns_##SUFFIX}; }

CALIBRISK_ROW_FORM_LOOPS(baseline, 2, )
#ifdef CALIBRISK_DISPATCH
CALIBRISK_ROW_FORM_LOOPS(avx2, 4, __attribute__((target("avx2"))))
CALIBRISK_ROW_FORM_LOOPS(avx512, 8, __attribute__((target("avx512f,avx512dq"))))
#endif
#undef CALIBRISK_ROW_FORM_LOOPS

#else  // no vector extension: plain loops

inline void plain_row_forms(const RowForm& at) {
  for (Index i = 0; i < at.n; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < at.q; ++j) {
      double product = at.core == nullptr ? at.a[i + j * at.a_step] : 0.0;
      for (Index k = 0; at.core != nullptr && k < at.p; ++k) {
        product += at.a[i + k * at.a_step] * at.core[k + j * at.core_step];
      }
      sum += product * at.b[i + j * at.b_step];
    }
    at.out[i] = sum;
  }
}

inline void plain_column_products(const ColumnProducts& at) {
  for (Index l = 0; l < at.q; ++l) {
    for (Index k = l; k < at.q; ++k) {
      double sum = 0.0;
      for (Index i = 0; i < at.n; ++i) sum += at.columns[k][i] * at.columns[l][i];
      at.out[k + l * at.q] = sum;
    }
  }
}

inline RowFormLoops row_form_loops_baseline() { return {plain_row_forms, plain_column_products}; }

#endif

const RowFormLoops& row_form_loops() {
  static const RowFormLoops loops = CALIBRISK_WIDEST(row_form_loops)();
  return loops;
}

#endif

}  // namespace detail

// a_i' Q b_i for every row i, in workers too; an empty Q is the identity. Without columns it is 0.
inline void row_forms(const ConstMatrixRef& a, const ConstMatrixRef& core, const ConstMatrixRef& b,
                      VectorRef out) {
  const bool plain = core.size() == 0;
  if (a.cols() == 0 || b.cols() == 0) {
    out.setZero();
    return;
  }
  require(a.cols() == (plain ? b.cols() : core.rows()) && (plain || b.cols() == core.cols()),
          "A core must have the size of the features.");
  detail::row_form_loops().rows({a.data(), a.outerStride(), a.cols(), b.data(), b.outerStride(),
                                 b.cols(), plain ? nullptr : core.data(), core.outerStride(),
                                 out.size(), out.data()});
}

// [A B]'[A B], its lower triangle only.
inline Matrix column_products(const ConstMatrixRef& a, const ConstMatrixRef& b) {
  std::vector<const double*> columns;
  for (Index k = 0; k < a.cols(); ++k) columns.push_back(a.col(k).data());
  for (Index k = 0; k < b.cols(); ++k) columns.push_back(b.col(k).data());
  const Index q = a.cols() + b.cols();
  Matrix out = Matrix::Zero(q, q);
  detail::row_form_loops().columns({columns.data(), q, a.rows(), out.data()});
  return out;
}

}  // namespace calibrisk

#endif
