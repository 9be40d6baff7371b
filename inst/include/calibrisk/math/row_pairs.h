// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over coordinates of a function of two rows' entries, a block of pairs at a time: the inner
// work of distances and of inner products of few coordinates. Sums run in the order of the
// coordinates and no product is fused, so that every instruction set has the same digits.
#ifndef CALIBRISK_MATH_ROW_PAIRS_H
#define CALIBRISK_MATH_ROW_PAIRS_H

#include <calibrisk/math/exp_sums.h>

namespace calibrisk {

// out(i, j) = sum_k f(x(i, k), y(j, k)); x: [m x q], y: [n x q], columns x_step, ... apart.
struct RowPairs {
  const double* x;
  Index x_step, m;
  const double* y;
  Index y_step, n;
  Index q;
  double* out;
  Index out_step;
};

namespace detail {

// The loops of one instruction set.
struct RowPairLoops {
  void (*absolute)(const RowPairs& at);  // f = |x - y|
  void (*squared)(const RowPairs& at);   // f = (x - y)^2
  void (*product)(const RowPairs& at);   // f = x y
};

CALIBRISK_SHARED const RowPairLoops& row_pair_loops();

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_KERNELS)

struct AbsoluteTerm {
#ifdef CALIBRISK_PACKS
  template <int pack_size>
  static CALIBRISK_INLINE void add(typename Packs<pack_size>::Pack& sum,
                                   const typename Packs<pack_size>::Pack& x, double y) {
    using IntPack = typename Packs<pack_size>::IntPack;
    const typename Packs<pack_size>::Pack v = x - y;
    sum += (typename Packs<pack_size>::Pack)((IntPack)v & 0x7fffffffffffffffLL);
  }
#endif
  static CALIBRISK_INLINE double of(double x, double y) { return std::abs(x - y); }
};

struct SquaredTerm {
#ifdef CALIBRISK_PACKS
  template <int pack_size>
  static CALIBRISK_INLINE void add(typename Packs<pack_size>::Pack& sum,
                                   const typename Packs<pack_size>::Pack& x, double y) {
    const typename Packs<pack_size>::Pack v = x - y;
    typename Packs<pack_size>::Pack square = v * v;
    keep_rounded(square);
    sum += square;
  }
#endif
  static CALIBRISK_INLINE double of(double x, double y) { return (x - y) * (x - y); }
};

struct ProductTerm {
#ifdef CALIBRISK_PACKS
  template <int pack_size>
  static CALIBRISK_INLINE void add(typename Packs<pack_size>::Pack& sum,
                                   const typename Packs<pack_size>::Pack& x, double y) {
    typename Packs<pack_size>::Pack product = x * y;
    keep_rounded(product);
    sum += product;
  }
#endif
  static CALIBRISK_INLINE double of(double x, double y) { return x * y; }
};

#ifdef CALIBRISK_PACKS

// Two packs of rows from i on against four rows of y from j on; the sums, each a variable of its
// own, stay in registers.
template <int pack_size, class Term>
CALIBRISK_INLINE void row_pair_tile(const RowPairs& at, Index i, Index j) {
  using Pack = typename Packs<pack_size>::Pack;
  Pack a0 = Pack{}, a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  const double *x = at.x + i, *y = at.y + j;
  for (Index k = 0; k < at.q; ++k, x += at.x_step, y += at.y_step) {
    Pack a, b;
    load_pack<pack_size>(x, a);
    load_pack<pack_size>(x + pack_size, b);
    Term::template add<pack_size>(a0, a, y[0]);
    Term::template add<pack_size>(b0, b, y[0]);
    Term::template add<pack_size>(a1, a, y[1]);
    Term::template add<pack_size>(b1, b, y[1]);
    Term::template add<pack_size>(a2, a, y[2]);
    Term::template add<pack_size>(b2, b, y[2]);
    Term::template add<pack_size>(a3, a, y[3]);
    Term::template add<pack_size>(b3, b, y[3]);
  }
  double* out = at.out + i + j * at.out_step;
  store_pack<pack_size>(out, a0);
  store_pack<pack_size>(out + pack_size, b0);
  store_pack<pack_size>(out + at.out_step, a1);
  store_pack<pack_size>(out + at.out_step + pack_size, b1);
  store_pack<pack_size>(out + 2 * at.out_step, a2);
  store_pack<pack_size>(out + 2 * at.out_step + pack_size, b2);
  store_pack<pack_size>(out + 3 * at.out_step, a3);
  store_pack<pack_size>(out + 3 * at.out_step + pack_size, b3);
}

// One pack of rows against one row of y.
template <int pack_size, class Term>
CALIBRISK_INLINE void row_pair_pack(const RowPairs& at, Index i, Index j) {
  using Pack = typename Packs<pack_size>::Pack;
  Pack sum = Pack{};
  for (Index k = 0; k < at.q; ++k) {
    Pack a;
    load_pack<pack_size>(at.x + i + k * at.x_step, a);
    Term::template add<pack_size>(sum, a, at.y[j + k * at.y_step]);
  }
  store_pack<pack_size>(at.out + i + j * at.out_step, sum);
}

// The pairs that fill no pack, one by one.
template <class Term>
CALIBRISK_INLINE void row_pair_rest(const RowPairs& at, Index from, Index j) {
  for (Index i = from; i < at.m; ++i) {
    double sum = 0.0;
    for (Index k = 0; k < at.q; ++k) {
      double term = Term::of(at.x[i + k * at.x_step], at.y[j + k * at.y_step]);
      keep_rounded(term);
      sum += term;
    }
    at.out[i + j * at.out_step] = sum;
  }
}

template <int pack_size, class Term>
CALIBRISK_INLINE void row_pair_loop(const RowPairs& at) {
  const Index wide = at.m - at.m % (2 * pack_size), packed = at.m - at.m % pack_size;
  Index j = 0;
  for (; j + 4 <= at.n; j += 4) {
    for (Index i = 0; i < wide; i += 2 * pack_size) row_pair_tile<pack_size, Term>(at, i, j);
  }
  for (Index l = 0; l < at.n; ++l) {
    for (Index i = l < j ? wide : 0; i < packed; i += pack_size) {
      row_pair_pack<pack_size, Term>(at, i, l);
    }
    row_pair_rest<Term>(at, packed, l);
  }
}

#define CALIBRISK_ROW_PAIR_LOOPS(SUFFIX, SIZE, TARGET)              \
  TARGET inline void absolute_##SUFFIX(const RowPairs& at) {        \
    row_pair_loop<SIZE, AbsoluteTerm>(at);                          \
  }                                                                 \
  TARGET inline void squared_##SUFFIX(const RowPairs& at) {         \
    row_pair_loop<SIZE, SquaredTerm>(at);                           \
  }                                                                 \
  TARGET inline void product_##SUFFIX(const RowPairs& at) {         \
    row_pair_loop<SIZE, ProductTerm>(at);                           \
  }                                                                 \
  inline RowPairLoops row_pair_loops_##SUFFIX() {                   \
    return {absolute_##SUFFIX, squared_##SUFFIX, product_##SUFFIX}; \
  }

CALIBRISK_ROW_PAIR_LOOPS(baseline, 2, )
#ifdef CALIBRISK_DISPATCH
CALIBRISK_ROW_PAIR_LOOPS(avx2, 4, __attribute__((target("avx2"))))
CALIBRISK_ROW_PAIR_LOOPS(avx512, 8, __attribute__((target("avx512f,avx512dq"))))
#endif
#undef CALIBRISK_ROW_PAIR_LOOPS

#else  // no vector extension: plain loops

template <class Term>
void plain_row_pairs(const RowPairs& at) {
  for (Index j = 0; j < at.n; ++j) {
    double* out = at.out + j * at.out_step;
    for (Index i = 0; i < at.m; ++i) out[i] = 0.0;
    for (Index k = 0; k < at.q; ++k) {
      const double* x = at.x + k * at.x_step;
      const double y = at.y[j + k * at.y_step];
      for (Index i = 0; i < at.m; ++i) out[i] += Term::of(x[i], y);
    }
  }
}

inline RowPairLoops row_pair_loops_baseline() {
  return {plain_row_pairs<AbsoluteTerm>, plain_row_pairs<SquaredTerm>,
          plain_row_pairs<ProductTerm>};
}

#endif

const RowPairLoops& row_pair_loops() {
  static const RowPairLoops loops = CALIBRISK_WIDEST(row_pair_loops)();
  return loops;
}

#endif

}  // namespace detail

// The whole block; every matrix has its rows next to each other in memory.
template <class Loop>
void for_row_pairs(Loop loop, const ConstMatrixRef& x, const ConstMatrixRef& y, MatrixRef out) {
  require(out.rows() == x.rows() && out.cols() == y.rows() && x.cols() == y.cols(),
          "Rows of pairs and their block must fit together.");
  loop(RowPairs{x.data(), x.outerStride(), x.rows(), y.data(), y.outerStride(), y.rows(), x.cols(),
                out.data(), out.outerStride()});
}

// Products of at most so many columns are those of the loops.
constexpr Index few_columns = 64;

// out(i, j) = <x_i, y_j>, in workers too: by the loops where columns are few.
inline void row_products(const ConstMatrixRef& x, const ConstMatrixRef& y, MatrixRef out) {
  if (x.cols() <= few_columns) {
    for_row_pairs(detail::row_pair_loops().product, x, y, out);
  } else {
    out.noalias() = x * y.transpose();
  }
}

}  // namespace calibrisk

#endif
