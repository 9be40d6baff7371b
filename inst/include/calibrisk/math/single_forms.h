// SPDX-License-Identifier: GPL-3.0-or-later
// Quadratic forms and largest products of many columns in single precision, several times as fast
// as in double: for comparisons of which few are close. Products may be fused: no digit of a result
// may come from here.
#ifndef CALIBRISK_MATH_SINGLE_FORMS_H
#define CALIBRISK_MATH_SINGLE_FORMS_H

#include <calibrisk/math/instructions.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace calibrisk {
namespace detail {

constexpr Index form_columns = 4;  // of P at a time
constexpr Index form_lanes = 32;   // columns of v in two of the widest packs

// v'P v / 2 of `count` columns, a multiple of form_lanes; v: [size][count]. `upper`: P from its
// first row to the diagonal, half of that, in strips of form_columns columns.
struct SingleForms {
  const float* upper;
  const float* v;
  Index size, count;
  float* out;
};

// max_i |a_i'v| of `count` columns. `a`: rows in strips of form_columns rows, [strip][size][row];
// v: rows of `count` numbers, of which `rows` are meant.
struct SingleMaxima {
  const float* a;
  const float* v;
  const Index* rows;
  Index strips, size, count;
  float* out;
};

#ifdef CALIBRISK_PACKS

template <int pack_size>
CALIBRISK_INLINE void single_maxima_loop(const SingleMaxima& at) {
  typedef float Pack __attribute__((vector_size(4 * pack_size)));
  const auto larger = [](Pack& most, const Pack& value) {
    const Pack size = value < 0 ? -value : value;
    most = size > most ? size : most;
  };
  for (Index r = 0; r < at.count; r += 2 * pack_size) {
    Pack left = {}, right = {}, x, y;
    const float* a = at.a;
    for (Index strip = 0; strip < at.strips; ++strip) {
      Pack a0 = {}, a1 = {}, a2 = {}, a3 = {}, b0 = {}, b1 = {}, b2 = {}, b3 = {};
      for (Index k = 0; k < at.size; ++k, a += form_columns) {
        const float* v = at.v + at.rows[k] * at.count + r;
        __builtin_memcpy(&x, v, sizeof x);
        __builtin_memcpy(&y, v + pack_size, sizeof y);
        a0 += x * a[0];
        b0 += y * a[0];
        a1 += x * a[1];
        b1 += y * a[1];
        a2 += x * a[2];
        b2 += y * a[2];
        a3 += x * a[3];
        b3 += y * a[3];
      }
      for (const Pack& value : {a0, a1, a2, a3}) larger(left, value);
      for (const Pack& value : {b0, b1, b2, b3}) larger(right, value);
    }
    __builtin_memcpy(at.out + r, &left, sizeof left);
    __builtin_memcpy(at.out + r + pack_size, &right, sizeof right);
  }
}

template <int pack_size>
CALIBRISK_INLINE void single_forms_loop(const SingleForms& at) {
  typedef float Pack __attribute__((vector_size(4 * pack_size)));
  const auto load = [](const float* x, Pack& out) { __builtin_memcpy(&out, x, sizeof out); };
  for (Index r = 0; r < at.count; r += 2 * pack_size) {
    Pack left = {}, right = {}, x, y;
    const float* p = at.upper;
    for (Index j = 0; j < at.size; j += form_columns) {
      Pack a0 = {}, a1 = {}, a2 = {}, a3 = {}, b0 = {}, b1 = {}, b2 = {}, b3 = {};
      const float* v = at.v + r;
      for (Index k = 0; k < j + form_columns; ++k, v += at.count, p += form_columns) {
        load(v, x);
        load(v + pack_size, y);
        a0 += x * p[0];
        b0 += y * p[0];
        a1 += x * p[1];
        b1 += y * p[1];
        a2 += x * p[2];
        b2 += y * p[2];
        a3 += x * p[3];
        b3 += y * p[3];
      }
      // few sums after each other round little
      const auto with_column = [&](Index column, Pack& a, Pack& b) {
        load(at.v + column * at.count + r, x);
        load(at.v + column * at.count + r + pack_size, y);
        a *= x;
        b *= y;
      };
      with_column(j, a0, b0);
      with_column(j + 1, a1, b1);
      with_column(j + 2, a2, b2);
      with_column(j + 3, a3, b3);
      left += (a0 + a1) + (a2 + a3);
      right += (b0 + b1) + (b2 + b3);
    }
    __builtin_memcpy(at.out + r, &left, sizeof left);
    __builtin_memcpy(at.out + r + pack_size, &right, sizeof right);
  }
}

inline void single_forms_baseline(const SingleForms& at) { single_forms_loop<4>(at); }
inline void single_maxima_baseline(const SingleMaxima& at) { single_maxima_loop<4>(at); }
#ifdef CALIBRISK_DISPATCH
__attribute__((target("avx2,fma"))) inline void single_forms_avx2(const SingleForms& at) {
  single_forms_loop<8>(at);
}
__attribute__((target("avx2,fma"))) inline void single_maxima_avx2(const SingleMaxima& at) {
  single_maxima_loop<8>(at);
}
__attribute__((target("avx512f"))) inline void single_maxima_avx512(const SingleMaxima& at) {
  single_maxima_loop<16>(at);
}
__attribute__((target("avx512f"))) inline void single_forms_avx512(const SingleForms& at) {
  single_forms_loop<16>(at);
}
#endif

#else  // no vector extension: plain loops

inline void single_forms_baseline(const SingleForms& at) {
  for (Index r = 0; r < at.count; ++r) {
    float sum = 0.0F;
    const float* p = at.upper;
    for (Index j = 0; j < at.size; ++j) {
      float product = 0.0F;
      const float* strip = p + j % form_columns;
      for (Index k = 0; k <= j; ++k) product += at.v[k * at.count + r] * strip[k * form_columns];
      sum += product * at.v[j * at.count + r];
      if ((j + 1) % form_columns == 0) p += (j + 1) * form_columns;
    }
    at.out[r] = sum;
  }
}

inline void single_maxima_baseline(const SingleMaxima& at) {
  for (Index r = 0; r < at.count; ++r) {
    at.out[r] = 0.0F;
    for (Index i = 0; i < at.strips * form_columns; ++i) {
      const float* a = at.a + i / form_columns * at.size * form_columns + i % form_columns;
      float sum = 0.0F;
      for (Index k = 0; k < at.size; ++k) {
        sum += at.v[at.rows[k] * at.count + r] * a[k * form_columns];
      }
      at.out[r] = std::max(at.out[r], std::abs(sum));
    }
  }
}

#endif

}  // namespace detail

// v'P v / 2 for a symmetric P.
class SingleForm {
 public:
  explicit SingleForm(const Matrix& p)
      : size_(p.rows()), rounded_(p.cwiseAbs().rowwise().sum() / 2.0) {
    for (Index j = 0; j < padded(size_); j += detail::form_columns) {
      for (Index k = 0; k < j + detail::form_columns; ++k) {
        for (Index l = j; l < j + detail::form_columns; ++l) {
          const bool used = k <= l && l < size_;
          upper_.push_back(used ? static_cast<float>(k < l ? p(k, l) : p(k, k) / 2.0) : 0.0F);
        }
      }
    }
  }

  // The rows that columns have here, those that are added 0.
  static Index padded(Index size) {
    return (size + detail::form_columns - 1) / detail::form_columns * detail::form_columns;
  }
  static constexpr Index lanes = detail::form_lanes;

  // v: [padded(size)][count], `count` a multiple of `lanes`.
  void forms(const float* v, Index count, float* out) const {
    static void (*const loop)(const detail::SingleForms&) = CALIBRISK_WIDEST(detail::single_forms);
    loop({upper_.data(), v, padded(size_), count, out});
  }
  // How far such a form may be from that of a column: the sum of the column's squares times these.
  // A product of two values is at most half the sum of their squares, and every term is rounded as
  // often as it is multiplied and added.
  Vector error() const { return static_cast<double>(padded(size_) * 5 / 4 + 16) * 6e-8 * rounded_; }
  // Besides: what is too small for a single number.
  double smallest() const { return 1e-30 * (1.0 + rounded_.sum()); }

 private:
  Index size_;
  Vector rounded_;  // half the sums of absolute values of P's rows
  std::vector<float> upper_;
};

// Columns in single precision, and their norms.
class SingleColumns {
 public:
  explicit SingleColumns(const Matrix& v)
      : norm(v.colwise().norm().transpose()),
        lanes_((v.cols() + detail::form_lanes - 1) / detail::form_lanes * detail::form_lanes),
        v_(static_cast<std::size_t>(v.rows() * lanes_)) {
    for (Index r = 0; r < v.cols(); ++r) {
      for (Index k = 0; k < v.rows(); ++k) {
        v_[static_cast<std::size_t>(k * lanes_ + r)] = static_cast<float>(v(k, r));
      }
    }
  }

  // max_i |a_i'v| of every column v, of whose rows these are meant; off by less than
  // error(a) norm(column).
  Eigen::ArrayXd largest_products(const Matrix& a, const std::vector<Index>& rows) const {
    constexpr Index height = detail::form_columns;
    const Index strips = (a.rows() + height - 1) / height;
    std::vector<float> packed(static_cast<std::size_t>(strips * height * a.cols()), 0.0F);
    for (Index i = 0; i < a.rows(); ++i) {
      for (Index k = 0; k < a.cols(); ++k) {
        const Index at = (i / height * a.cols() + k) * height + i % height;
        packed[static_cast<std::size_t>(at)] = static_cast<float>(a(i, k));
      }
    }
    Eigen::ArrayXf out(lanes_);
    static void (*const loop)(const detail::SingleMaxima&) =
        CALIBRISK_WIDEST(detail::single_maxima);
    loop({packed.data(), v_.data(), rows.data(), strips, a.cols(), lanes_, out.data()});
    return out.head(norm.size()).cast<double>();
  }
  // Every term is rounded as often as it is multiplied and added; and what is too small for a
  // single number.
  static double error(const Matrix& a) {
    return static_cast<double>(a.cols() + 8) * 6e-8 * a.rowwise().norm().maxCoeff() + 1e-30;
  }

  const Eigen::ArrayXd norm;

 private:
  Index lanes_;
  std::vector<float> v_;  // [row][lanes]
};

}  // namespace calibrisk

#endif
