// SPDX-License-Identifier: GPL-3.0-or-later
// Explicit features of the Gaussian kernel between scalars: exp(-gamma (x - y)^2) =
// sum_k f_k(x) f_k(y) with f_k(x) = exp(-gamma u^2) sqrt((2 gamma)^k / k!) u^k, u = x - centre.
// For |u| <= rho the terms from k = r on add up to at most (2 gamma rho^2)^r / r!.
#ifndef CALIBRISK_KERNELS_TAYLOR_FEATURES_H
#define CALIBRISK_KERNELS_TAYLOR_FEATURES_H

#include <calibrisk/engine.h>
#include <calibrisk/math/row_pairs.h>
#include <calibrisk/math/vector_exp.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

struct TaylorFeatures {
  double centre = 0.0;
  double gamma = 1.0;
  double scale = 1.0;  // of the kernel
  Index rank = 1;

  // Smallest rank with a tail below 1e-30, far below the smallest ridge in use (the default
  // grid for n = 1e6 ends at 1e-20); 0 where it would exceed max_rank.
  static Index rank_for(double gamma, double half_range, Index max_rank) {
    const double t = 2.0 * gamma * half_range * half_range;
    double tail = 1.0;
    for (Index r = 1; r <= max_rank; ++r) {
      tail *= t / static_cast<double>(r);
      if (tail < 1e-30) return r;
    }
    return 0;
  }

  // out [n x rank]
  CALIBRISK_SHARED void evaluate(const ConstVectorRef& x, MatrixRef out) const;

  // out = F B [n x q] for features F [n x rank], or F itself where B is empty; F is nowhere whole.
  CALIBRISK_SHARED void evaluate(const Engine& engine, const ConstVectorRef& x,
                                 const ConstMatrixRef& basis, MatrixRef out) const;

  // For few rows, in a worker; takes B'.
  CALIBRISK_SHARED void evaluate_block(const ConstVectorRef& x,
                                       const ConstMatrixRef& basis_transposed, MatrixRef out) const;
};

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_EXPLICIT)
void TaylorFeatures::evaluate(const ConstVectorRef& x, MatrixRef out) const {
  const auto u = (x.array() - centre).eval();
  out.col(0).array() = -gamma * u.square();
  exp_in_place(out.col(0).array());
  out.col(0) *= std::sqrt(scale);
  for (Index k = 1; k < rank; ++k) {
    out.col(k).array() =
        out.col(k - 1).array() * u * std::sqrt(2.0 * gamma / static_cast<double>(k));
  }
}

void TaylorFeatures::evaluate(const Engine& engine, const ConstVectorRef& x,
                              const ConstMatrixRef& basis, MatrixRef out) const {
  constexpr Index block = 256;
  require(out.rows() == x.size() && out.cols() == (basis.size() == 0 ? rank : basis.cols()),
          "Explicit features and what they are written to must fit.");
  const Matrix transposed = basis.transpose();
  parallel_for(engine, (x.size() + block - 1) / block, [&](Index t) {
    const Index begin = t * block, size = std::min(block, x.size() - begin);
    evaluate_block(x.segment(begin, size), transposed, out.middleRows(begin, size));
  });
}

void TaylorFeatures::evaluate_block(const ConstVectorRef& x, const ConstMatrixRef& basis_transposed,
                                    MatrixRef out) const {
  if (basis_transposed.size() == 0) return evaluate(x, out);
  require(basis_transposed.cols() == rank, "A basis has a row for each explicit feature.");
  Matrix part(x.size(), rank);
  evaluate(x, part);
  row_products(part, basis_transposed, out);
}
#endif

}  // namespace calibrisk

#endif
