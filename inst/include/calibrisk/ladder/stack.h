// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of gaps in one: least squares of the residuals over weights >= 0 with a sum of at most 1.
#ifndef CALIBRISK_LADDER_STACK_H
#define CALIBRISK_LADDER_STACK_H

#include <calibrisk/linalg/small_algebra.h>

#include <algorithm>

namespace calibrisk {

// `products`: means of products of the gaps; `psi`: means of their products with the residuals.
// All subsets, of at most ten gaps.
inline Vector stack_weights(Matrix products, const Vector& psi) {
  const Index m = psi.size();
  require(m <= 10, "At most ten gaps are stacked.");
  products.diagonal().array() += 1e-12 + 1e-9 * products.diagonal().array();
  Vector best = Vector::Zero(m);
  double least = 0.0;
  for (Index subset = 1; subset < (Index{1} << m); ++subset) {
    std::vector<Index> on;
    for (Index j = 0; j < m; ++j) {
      if ((subset >> j) & 1) on.push_back(j);
    }
    const auto k = static_cast<Index>(on.size());
    Matrix a(k, k);
    Vector b(k);
    for (Index r = 0; r < k; ++r) {
      b(r) = psi(on[static_cast<std::size_t>(r)]);
      for (Index c = 0; c < k; ++c) {
        a(r, c) = products(on[static_cast<std::size_t>(r)], on[static_cast<std::size_t>(c)]);
      }
    }
    Vector w;
    if (!solve_invertible(a, b, w) || !w.allFinite() || w.minCoeff() < 0.0) continue;
    const double loss = -w.dot(b);
    if (loss >= least) continue;
    least = loss;
    best.setZero();
    for (Index r = 0; r < k; ++r) best(on[static_cast<std::size_t>(r)]) = w(r);
  }
  return best / std::max(1.0, best.sum());
}

inline double stacked_square(const Vector& weights, const Vector& psi) {
  const double sum = weights.sum();
  return sum > 0.0 ? std::max(0.0, weights.dot(psi)) / std::sqrt(sum) : 0.0;
}

}  // namespace calibrisk

#endif
