// SPDX-License-Identifier: GPL-3.0-or-later
// Vectorised loops over exponentials: the inner work of the
// kernel density ratios. Packs of eight doubles in the GNU vector extension; on x86-64
// one copy of each loop per instruction set, chosen at run time, so that no compiler
// flag is needed. The error of an exponential stays below 2 ulp.
#ifndef CALIBRISK_MATH_EXP_SUMS_H
#define CALIBRISK_MATH_EXP_SUMS_H

#include <calibrisk/math/instructions.h>
#include <calibrisk/types.h>

#include <cmath>
#include <limits>

namespace calibrisk {

// The loops of one instruction set.
struct ExpLoops {
  // w_i = s_i * scale + c_i; returns max_i w_i (-Inf for n = 0)
  double (*affine)(const double* s, const double* c, double scale, Index n, double* w);
  // w_i <- exp(w_i - shift); needs w_i - shift <= 700, shift finite; below exp(-708) it is 0
  void (*exp_shifted)(double* w, double shift, Index n);
  double (*sum)(const double* w, Index n);
  double (*dot)(const double* w, const double* v, Index n);
  // moments[j] = sum_i v_i T_j((x_i - centre) * scale), T_j Chebyshev polynomials, j < order
  void (*chebyshev_moments)(const double* x, const double* v, double centre, double scale, Index n,
                            int order, double* moments);
  // out_i = sum_j a_j T_j(t_i) / sum_j b_j T_j(t_i), t_i = (x_i - centre) * scale
  void (*chebyshev_ratio)(const double* x, double centre, double scale, Index n, int order,
                          const double* a, const double* b, double* out);
};

CALIBRISK_SHARED const ExpLoops& exp_loops();

namespace detail {

constexpr double exp_lowest = -708.0;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

#ifdef CALIBRISK_PACKS

// Packs of n doubles; n fits the instruction set (wider packs than its registers would be taken
// apart badly). They are copied from and to any address: compilers differ in whether a type that
// depends on n keeps a smaller alignment.
template <int n>
struct Packs {
  typedef double Pack __attribute__((vector_size(8 * n)));
  typedef long long IntPack __attribute__((vector_size(8 * n)));
};
template <int n>
CALIBRISK_INLINE void load_pack(const double* x, typename Packs<n>::Pack& out) {
  __builtin_memcpy(&out, x, sizeof out);
}
template <int n>
CALIBRISK_INLINE void store_pack(double* x, const typename Packs<n>::Pack& value) {
  __builtin_memcpy(x, &value, sizeof value);
}

// A product x that is rounded before it is added to something: GCC fuses the two where the
// instruction set can, which would change digits. Clang fuses within one statement only, and takes
// no pack in a template's asm that is wider than the registers of the unit's flags.
template <class Product>
CALIBRISK_INLINE void keep_rounded(Product& x) {
#if defined(CALIBRISK_DISPATCH) && !defined(__clang__)
  __asm__("" : "+v"(x));
#elif defined(__aarch64__) && !defined(__clang__)
  __asm__("" : "+w"(x));
#else
  (void)x;
#endif
}

// x <- exp(x) for x <= 700: 2^k e^r with |r| <= log(2)/2, Taylor to degree 13 in even and odd
// halves.
template <int pack_size>
CALIBRISK_INLINE void exp_pack(typename Packs<pack_size>::Pack& x) {
  using Pack = typename Packs<pack_size>::Pack;
  using IntPack = typename Packs<pack_size>::IntPack;
  const double to_integer = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const Pack shifted = x * 1.4426950408889634 + to_integer;
  const Pack k = shifted - to_integer;
  const Pack r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  const Pack t = r * r;
  const Pack even =
      ((((((t * (1.0 / 479001600.0) + 1.0 / 3628800.0) * t + 1.0 / 40320.0) * t + 1.0 / 720.0) * t +
         1.0 / 24.0) *
            t +
        0.5) *
       t);
  const Pack odd =
      ((((((t * (1.0 / 6227020800.0) + 1.0 / 39916800.0) * t + 1.0 / 362880.0) * t + 1.0 / 5040.0) *
             t +
         1.0 / 120.0) *
            t +
        1.0 / 6.0) *
       t);
  const Pack poly = 1.0 + (r + (even + odd * r));
  const IntPack two_to_k = ((IntPack)shifted + 1023) << 52;
  const IntPack kept = ~(IntPack)(x <= exp_lowest);  // NaN among them
  x = (Pack)((IntPack)(poly * (Pack)two_to_k) & kept);
}

template <int pack_size>
CALIBRISK_INLINE double pack_sum(const typename Packs<pack_size>::Pack& x) {
  double total = 0.0;
  for (int l = 0; l < pack_size; ++l) total += x[l];
  return total;
}

template <int pack_size>
CALIBRISK_INLINE double affine_loop(const double* s, const double* c, double scale, Index n,
                                    double* w) {
  using Pack = typename Packs<pack_size>::Pack;
  Pack top = minus_infinity - Pack{};
  Index i = 0;
  for (; i + pack_size <= n; i += pack_size) {
    Pack v, offset;
    load_pack<pack_size>(s + i, v);
    load_pack<pack_size>(c + i, offset);
    v = v * scale + offset;
    store_pack<pack_size>(w + i, v);
    top = v > top ? v : top;
  }
  double best = minus_infinity;
  for (int l = 0; l < pack_size; ++l) best = top[l] > best ? top[l] : best;
  for (; i < n; ++i) {
    w[i] = s[i] * scale + c[i];
    best = w[i] > best ? w[i] : best;
  }
  return best;
}

template <int pack_size>
CALIBRISK_INLINE void exp_shifted_loop(double* w, double shift, Index n) {
  using Pack = typename Packs<pack_size>::Pack;
  Index i = 0;
  for (; i + pack_size <= n; i += pack_size) {
    Pack v;
    load_pack<pack_size>(w + i, v);
    v = v - shift;
    exp_pack<pack_size>(v);
    store_pack<pack_size>(w + i, v);
  }
  if (i < n) {
    Pack v = minus_infinity - Pack{};
    for (Index l = i; l < n; ++l) v[l - i] = w[l] - shift;
    exp_pack<pack_size>(v);
    for (Index l = i; l < n; ++l) w[l] = v[l - i];
  }
}

template <int pack_size>
CALIBRISK_INLINE double sum_loop(const double* w, Index n) {
  using Pack = typename Packs<pack_size>::Pack;
  Pack total = Pack{};
  Index i = 0;
  for (; i + pack_size <= n; i += pack_size) {
    Pack v;
    load_pack<pack_size>(w + i, v);
    total += v;
  }
  double rest = 0.0;
  for (; i < n; ++i) rest += w[i];
  return pack_sum<pack_size>(total) + rest;
}

template <int pack_size>
CALIBRISK_INLINE double dot_loop(const double* w, const double* v, Index n) {
  using Pack = typename Packs<pack_size>::Pack;
  Pack total = Pack{};
  Index i = 0;
  for (; i + pack_size <= n; i += pack_size) {
    Pack left, right;
    load_pack<pack_size>(w + i, left);
    load_pack<pack_size>(v + i, right);
    total += left * right;
  }
  double rest = 0.0;
  for (; i < n; ++i) rest += w[i] * v[i];
  return pack_sum<pack_size>(total) + rest;
}

template <int pack_size>
CALIBRISK_INLINE void chebyshev_moments_loop(const double* x, const double* v, double centre,
                                             double scale, Index n, int order, double* moments) {
  using Pack = typename Packs<pack_size>::Pack;
  constexpr int max_order = 32;
  Pack totals[max_order];
  for (int j = 0; j < order; ++j) totals[j] = Pack{};
  for (Index i = 0; i < n; i += pack_size) {
    Pack t = Pack{}, weight = Pack{};
    if (i + pack_size <= n) {
      load_pack<pack_size>(x + i, t);
      t = (t - centre) * scale;
      load_pack<pack_size>(v + i, weight);
    } else {
      for (Index l = i; l < n; ++l) {
        t[l - i] = (x[l] - centre) * scale;
        weight[l - i] = v[l];
      }
    }
    Pack before = weight, now = weight * t;
    const Pack twice = t + t;
    totals[0] += before;
    for (int j = 1; j < order; ++j) {
      totals[j] += now;
      const Pack next = twice * now - before;
      before = now;
      now = next;
    }
  }
  for (int j = 0; j < order; ++j) moments[j] = pack_sum<pack_size>(totals[j]);
}

// Clenshaw's recurrence for both series
template <int pack_size>
CALIBRISK_INLINE void chebyshev_ratio_loop(const double* x, double centre, double scale, Index n,
                                           int order, const double* a, const double* b,
                                           double* out) {
  using Pack = typename Packs<pack_size>::Pack;
  for (Index i = 0; i < n; i += pack_size) {
    const Index size = n - i < pack_size ? n - i : pack_size;
    Pack t = Pack{};
    if (size == pack_size) {
      load_pack<pack_size>(x + i, t);
      t = (t - centre) * scale;
    } else {
      for (Index l = 0; l < size; ++l) t[l] = (x[i + l] - centre) * scale;
    }
    const Pack twice = t + t;
    Pack a1 = Pack{}, a2 = Pack{}, b1 = Pack{}, b2 = Pack{};
    for (int j = order - 1; j > 0; --j) {
      const Pack a0 = twice * a1 - a2 + a[j];
      const Pack b0 = twice * b1 - b2 + b[j];
      a2 = a1;
      a1 = a0;
      b2 = b1;
      b1 = b0;
    }
    const Pack value = (t * a1 - a2 + a[0]) / (t * b1 - b2 + b[0]);
    if (size == pack_size) {
      store_pack<pack_size>(out + i, value);
    } else {
      for (Index l = 0; l < size; ++l) out[i + l] = value[l];
    }
  }
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_KERNELS)
#define CALIBRISK_EXP_LOOPS(SUFFIX, SIZE, TARGET)                                               \
  TARGET inline double affine_##SUFFIX(const double* s, const double* c, double scale, Index n, \
                                       double* w) {                                             \
    return affine_loop<SIZE>(s, c, scale, n, w);                                                \
  }                                                                                             \
  TARGET inline void exp_shifted_##SUFFIX(double* w, double shift, Index n) {                   \
    exp_shifted_loop<SIZE>(w, shift, n);                                                        \
  }                                                                                             \
  TARGET inline double sum_##SUFFIX(const double* w, Index n) { return sum_loop<SIZE>(w, n); }  \
  TARGET inline double dot_##SUFFIX(const double* w, const double* v, Index n) {                \
    return dot_loop<SIZE>(w, v, n);                                                             \
  }                                                                                             \
  TARGET inline void moments_##SUFFIX(const double* x, const double* v, double centre,          \
                                      double scale, Index n, int order, double* moments) {      \
    chebyshev_moments_loop<SIZE>(x, v, centre, scale, n, order, moments);                       \
  }                                                                                             \
  TARGET inline void ratio_##SUFFIX(const double* x, double centre, double scale, Index n,      \
                                    int order, const double* a, const double* b, double* out) { \
    chebyshev_ratio_loop<SIZE>(x, centre, scale, n, order, a, b, out);                          \
  }                                                                                             \
  inline ExpLoops exp_loops_##SUFFIX() {                                                        \
    return {affine_##SUFFIX, exp_shifted_##SUFFIX, sum_##SUFFIX,                                \
            dot_##SUFFIX,    moments_##SUFFIX,     ratio_##SUFFIX};                             \
  }

CALIBRISK_EXP_LOOPS(baseline, 2, )
#ifdef CALIBRISK_DISPATCH
CALIBRISK_EXP_LOOPS(avx2, 4, __attribute__((target("avx2,fma"))))
CALIBRISK_EXP_LOOPS(avx512, 8, __attribute__((target("avx512f,avx512dq,fma"))))
#endif
#undef CALIBRISK_EXP_LOOPS
#endif

#else  // no vector extension: plain loops

inline double plain_exp(double x) { return x <= exp_lowest ? 0.0 : std::exp(x); }

inline ExpLoops exp_loops_baseline() {
  ExpLoops loops;
  loops.affine = [](const double* s, const double* c, double scale, Index n, double* w) {
    double best = minus_infinity;
    for (Index i = 0; i < n; ++i) {
      w[i] = s[i] * scale + c[i];
      best = w[i] > best ? w[i] : best;
    }
    return best;
  };
  loops.exp_shifted = [](double* w, double shift, Index n) {
    for (Index i = 0; i < n; ++i) w[i] = plain_exp(w[i] - shift);
  };
  loops.sum = [](const double* w, Index n) {
    double total = 0.0;
    for (Index i = 0; i < n; ++i) total += w[i];
    return total;
  };
  loops.dot = [](const double* w, const double* v, Index n) {
    double total = 0.0;
    for (Index i = 0; i < n; ++i) total += w[i] * v[i];
    return total;
  };
  loops.chebyshev_moments = [](const double* x, const double* v, double centre, double scale,
                               Index n, int order, double* moments) {
    for (int j = 0; j < order; ++j) moments[j] = 0.0;
    for (Index i = 0; i < n; ++i) {
      const double t = (x[i] - centre) * scale;
      double before = v[i], now = v[i] * t;
      moments[0] += before;
      for (int j = 1; j < order; ++j) {
        moments[j] += now;
        const double next = 2.0 * t * now - before;
        before = now;
        now = next;
      }
    }
  };
  loops.chebyshev_ratio = [](const double* x, double centre, double scale, Index n, int order,
                             const double* a, const double* b, double* out) {
    for (Index i = 0; i < n; ++i) {
      const double t = (x[i] - centre) * scale;
      double a1 = 0.0, a2 = 0.0, b1 = 0.0, b2 = 0.0;
      for (int j = order - 1; j > 0; --j) {
        const double a0 = 2.0 * t * a1 - a2 + a[j];
        const double b0 = 2.0 * t * b1 - b2 + b[j];
        a2 = a1;
        a1 = a0;
        b2 = b1;
        b1 = b0;
      }
      out[i] = (t * a1 - a2 + a[0]) / (t * b1 - b2 + b[0]);
    }
  };
  return loops;
}

#endif

}  // namespace detail

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_KERNELS)
const ExpLoops& exp_loops() {
  static const ExpLoops loops = CALIBRISK_WIDEST(detail::exp_loops)();
  return loops;
}
#endif

}  // namespace calibrisk

#endif
