// SPDX-License-Identifier: GPL-3.0-or-later
// Triangular solves and the Cholesky factor. Triangles are halved until they are small, so that
// nearly all the work is in products, `add(PackProduct)`: those of linalg/pack_product.h on the
// calling thread, or of linalg/block_algebra.h; fast on every instruction set, with the same
// digits.
#ifndef CALIBRISK_LINALG_PACK_SOLVE_H
#define CALIBRISK_LINALG_PACK_SOLVE_H

#include <calibrisk/linalg/pack_product.h>

#include <cmath>

namespace calibrisk {

namespace detail {

constexpr Index small_triangle = 8;

// x <- x - a b, of which GCC fuses the two steps where all of a unit's code may.
CALIBRISK_INLINE void subtract_product(double& x, double a, double b) {
  double product = a * b;
#if !defined(__clang__) && (defined(__FMA__) || defined(__aarch64__))
  keep_rounded(product);
#endif
  x -= product;
}

// The first of two parts: whole tiles of a product where it can.
inline Index first_half(Index n) { return n < 2 * small_triangle ? n / 2 : n / 16 * 8; }

}  // namespace detail

// B <- B L'^-1, L lower triangular.
template <class Add>
void solve_from_right(const ConstMatrixRef& l, MatrixRef b, const Add& add) {
  const Index n = l.rows();
  if (n > detail::small_triangle) {
    const Index first = detail::first_half(n), rest = n - first;
    solve_from_right(l.topLeftCorner(first, first), b.leftCols(first), add);
    add(pack_product(false, true, -1.0, b.leftCols(first), l.bottomLeftCorner(rest, first),
                     b.rightCols(rest)));
    return solve_from_right(l.bottomRightCorner(rest, rest), b.rightCols(rest), add);
  }
  for (Index j = 0; j < n; ++j) {
    double* out = b.col(j).data();
    for (Index k = 0; k < j; ++k) {
      const double* known = b.col(k).data();
      const double factor = l(j, k);
      for (Index i = 0; i < b.rows(); ++i) detail::subtract_product(out[i], known[i], factor);
    }
    for (Index i = 0; i < b.rows(); ++i) out[i] /= l(j, j);
  }
}

// B <- L^-1 B, or L'^-1 B.
template <class Add>
void solve_from_left(const ConstMatrixRef& l, bool transpose, MatrixRef b, const Add& add) {
  const Index n = l.rows();
  if (n > detail::small_triangle) {
    const Index first = detail::first_half(n), rest = n - first;
    const auto upper = l.topLeftCorner(first, first), lower = l.bottomRightCorner(rest, rest);
    const auto between = l.bottomLeftCorner(rest, first);
    if (transpose) {
      solve_from_left(lower, true, b.bottomRows(rest), add);
      add(pack_product(true, false, -1.0, between, b.bottomRows(rest), b.topRows(first)));
      return solve_from_left(upper, true, b.topRows(first), add);
    }
    solve_from_left(upper, false, b.topRows(first), add);
    add(pack_product(false, false, -1.0, between, b.topRows(first), b.bottomRows(rest)));
    return solve_from_left(lower, false, b.bottomRows(rest), add);
  }
  for (Index j = 0; j < b.cols(); ++j) {
    double* out = b.col(j).data();
    for (Index step = 0; step < n; ++step) {
      const Index i = transpose ? n - 1 - step : step;
      out[i] /= l(i, i);
      if (transpose) {
        for (Index k = 0; k < i; ++k) detail::subtract_product(out[k], l(i, k), out[i]);
      } else {
        for (Index k = i + 1; k < n; ++k) detail::subtract_product(out[k], l(k, i), out[i]);
      }
    }
  }
}

// The lower Cholesky factor in the lower triangle of A; false where A is not numerically positive
// definite. The rest of A stays, or is overwritten.
template <class Add>
bool pack_cholesky(MatrixRef a, const Add& add) {
  const Index n = a.rows();
  if (n > detail::small_triangle) {
    const Index first = detail::first_half(n), rest = n - first;
    auto between = a.bottomLeftCorner(rest, first);
    if (!pack_cholesky(a.topLeftCorner(first, first), add)) return false;
    solve_from_right(a.topLeftCorner(first, first), between, add);
    PackProduct square =
        pack_product(false, true, -1.0, between, between, a.bottomRightCorner(rest, rest));
    square.lower = true;
    add(square);
    return pack_cholesky(a.bottomRightCorner(rest, rest), add);
  }
  for (Index j = 0; j < n; ++j) {
    if (!(a(j, j) > 0.0)) return false;
    const double root = std::sqrt(a(j, j));
    a(j, j) = root;
    for (Index i = j + 1; i < n; ++i) a(i, j) /= root;
    for (Index k = j + 1; k < n; ++k) {
      for (Index i = k; i < n; ++i) detail::subtract_product(a(i, k), a(i, j), a(k, j));
    }
  }
  return true;
}

}  // namespace calibrisk

#endif
