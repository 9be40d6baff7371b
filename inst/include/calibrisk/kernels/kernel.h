// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels: a metric between rows and a function kappa of it; sums and products of
// kernels act on Gram blocks, so that the variant of leaves stays flat.
// A new kernel is a struct with `metric` and `apply`, and an entry in AnyLeaf.
#ifndef CALIBRISK_KERNELS_KERNEL_H
#define CALIBRISK_KERNELS_KERNEL_H

#include <calibrisk/kernels/metric.h>
#include <calibrisk/math/vector_exp.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

namespace calibrisk {

// exp(-|x - y|^2 / (2 bandwidth^2))
struct GaussianKernel {
  double bandwidth;
  static constexpr Metric metric = Metric::squared_euclidean;
  template <class Values>
  void apply(Values&& v) const {
    v *= -0.5 / (bandwidth * bandwidth);
    exp_in_place(v);
  }
};

// exp(-|x - y| / bandwidth), Euclidean norm
struct LaplaceKernel {
  double bandwidth;
  static constexpr Metric metric = Metric::squared_euclidean;
  template <class Values>
  void apply(Values&& v) const {
    v = v.sqrt() * (-1.0 / bandwidth);
    exp_in_place(v);
  }
};

// exp(-TV(x, y) / bandwidth), TV = sum |x_k - y_k| / 2
struct TotalVariationKernel {
  double bandwidth;
  static constexpr Metric metric = Metric::total_variation;
  template <class Values>
  void apply(Values&& v) const {
    v *= -1.0 / bandwidth;
    exp_in_place(v);
  }
};

// Matern with half-integer smoothness nu in {1/2, 3/2, 5/2}; t = sqrt(2 nu) |x - y| / bandwidth:
// e^-t, (1 + t) e^-t, (1 + t + t^2 / 3) e^-t.
struct MaternKernel {
  double nu;
  double bandwidth;
  static constexpr Metric metric = Metric::squared_euclidean;
  template <class Values>
  void apply(Values&& v) const {
    v = v.sqrt() * (std::sqrt(2.0 * nu) / bandwidth);
    typename std::decay_t<Values>::PlainObject decay = -v;
    exp_in_place(decay);
    if (nu == 0.5) {
      v = decay;
    } else if (nu == 1.5) {
      v = (1.0 + v) * decay;
    } else {
      v = (1.0 + v + v.square() / 3.0) * decay;
    }
  }
};

// <x, y>
struct LinearKernel {
  static constexpr Metric metric = Metric::inner_product;
  template <class Values>
  void apply(Values&&) const {}
};

// 1 where x = y, else 0
struct WhiteKernel {
  static constexpr Metric metric = Metric::equality;
  template <class Values>
  void apply(Values&&) const {}
};

using AnyLeaf = std::variant<GaussianKernel, LaplaceKernel, TotalVariationKernel, MaternKernel,
                             LinearKernel, WhiteKernel>;

// scale * leaf, or scale * (sum or product of parts), of some columns of the features:
// a kernel on predictions times one on covariates reads both from one matrix. On no
// columns the white kernel is the constant 1.
struct Kernel {
  enum class Form { leaf, sum, product };
  Form form = Form::leaf;
  double scale = 1.0;
  AnyLeaf leaf = WhiteKernel{};
  std::vector<Kernel> parts;
  Index first_column = 0;
  Index n_columns = -1;  // -1: all
};

namespace detail {

// Combines the parts of a composed kernel; fill(part, out) writes one of them.
template <class Out, class Fill>
void combine_parts(const Kernel& kernel, Out&& out, const Fill& fill) {
  require(!kernel.parts.empty(), "A sum or product of kernels needs parts.");
  fill(kernel.parts[0], out);
  typename std::decay_t<Out>::PlainObject other(out.rows(), out.cols());
  for (std::size_t p = 1; p < kernel.parts.size(); ++p) {
    fill(kernel.parts[p], other);
    if (kernel.form == Kernel::Form::sum) {
      out.array() += other.array();
    } else {
      out.array() *= other.array();
    }
  }
}

inline ConstMatrixRef kernel_columns(const Kernel& kernel, const ConstMatrixRef& x) {
  if (kernel.n_columns < 0) return x;
  require(kernel.first_column >= 0 && kernel.first_column + kernel.n_columns <= x.cols(),
          "A kernel must have its columns among the features.");
  return x.middleCols(kernel.first_column, kernel.n_columns);
}

}  // namespace detail

// out(i, j) = k(x_i, y_j); x: [n_x x q], y: [n_y x q]. Cost n_x n_y q; safe in workers.
CALIBRISK_SHARED void gram_block(const Kernel& kernel, const ConstMatrixRef& all_x,
                                 const ConstMatrixRef& all_y, MatrixRef out);

// out(i) = k(x_i, x_i)
CALIBRISK_SHARED Vector gram_diagonal(const Kernel& kernel, const ConstMatrixRef& all_x);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_KERNELS)

void gram_block(const Kernel& kernel, const ConstMatrixRef& all_x, const ConstMatrixRef& all_y,
                MatrixRef out) {
  const ConstMatrixRef x = detail::kernel_columns(kernel, all_x);
  const ConstMatrixRef y = detail::kernel_columns(kernel, all_y);
  require(x.cols() == y.cols(), "Both sides of a kernel must have the same number of columns.");
  if (kernel.form == Kernel::Form::leaf) {
    std::visit(
        [&](const auto& leaf) {
          metric_block(leaf.metric, x, y, out);
          for (Index j = 0; j < out.cols(); ++j) leaf.apply(out.col(j).array());
        },
        kernel.leaf);
  } else {
    // a stretch of columns at a time, whose parts stay in the cache
    const Index step = std::max<Index>(4, 8192 / std::max<Index>(1, x.rows()) / 4 * 4);
    for (Index j = 0; j < y.rows(); j += step) {
      const Index n = std::min(step, y.rows() - j);
      detail::combine_parts(kernel, out.middleCols(j, n), [&](const Kernel& part, MatrixRef to) {
        gram_block(part, x, y.middleRows(j, n), to);
      });
    }
  }
  if (kernel.scale != 1.0) out *= kernel.scale;
}

Vector gram_diagonal(const Kernel& kernel, const ConstMatrixRef& all_x) {
  const ConstMatrixRef x = detail::kernel_columns(kernel, all_x);
  Vector out(x.rows());
  if (kernel.form == Kernel::Form::leaf) {
    std::visit(
        [&](const auto& leaf) {
          out = metric_diagonal(leaf.metric, x);
          leaf.apply(out.array());
        },
        kernel.leaf);
  } else {
    detail::combine_parts(kernel, out,
                          [&](const Kernel& part, auto&& to) { to = gram_diagonal(part, x); });
  }
  return out * kernel.scale;
}

#endif

}  // namespace calibrisk

#endif
