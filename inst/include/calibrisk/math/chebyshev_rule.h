// SPDX-License-Identifier: GPL-3.0-or-later
// Interpolation at N Chebyshev nodes on [-1, 1].
#ifndef CALIBRISK_MATH_CHEBYSHEV_RULE_H
#define CALIBRISK_MATH_CHEBYSHEV_RULE_H

#include <array>
#include <cmath>

namespace calibrisk {

// Nodes cos(pi (k + 1/2) / N) and the map from moments sum_i w_i T_j(t_i) to node weights,
// which is also, transposed and rescaled, the map from values at nodes to coefficients.
template <int N>
struct ChebyshevRule {
  std::array<double, N> node;
  std::array<std::array<double, N>, N> basis;  // T_j(node_k) * (1 or 2) / N

  ChebyshevRule() {
    const double pi = 3.14159265358979323846;
    for (int k = 0; k < N; ++k) {
      node[k] = std::cos(pi * (k + 0.5) / N);
      for (int j = 0; j < N; ++j) {
        basis[j][k] = std::cos(pi * j * (k + 0.5) / N) * (j == 0 ? 1.0 : 2.0) / N;
      }
    }
  }
};

template <int N>
const ChebyshevRule<N>& chebyshev_rule() {
  static const ChebyshevRule<N> rule;
  return rule;
}

}  // namespace calibrisk

#endif
