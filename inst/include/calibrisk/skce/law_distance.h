// SPDX-License-Identifier: GPL-3.0-or-later
// Wasserstein distances between predictions that are not Euclidean distances of features: normals
// with covariances that do not commute (Bures), and mixtures (the cheapest coupling of their
// components).
#ifndef CALIBRISK_SKCE_LAW_DISTANCE_H
#define CALIBRISK_SKCE_LAW_DISTANCE_H

#include <calibrisk/engine.h>
#include <calibrisk/linalg/jacobi_svd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace calibrisk {

// Between components of two observations: |m - m'|^2 + tr(S + S' - 2 (S'^1/2 S S'^1/2)^1/2).
// The last trace is the sum of singular values of S^1/2 S'^1/2. Components side by side.
class BuresDistance {
 public:
  BuresDistance(const ConstMatrixRef& mean, const ConstMatrixRef& roots)
      : BuresDistance(mean, roots, mean.cols()) {}
  BuresDistance(const ConstMatrixRef& mean, const ConstMatrixRef& roots, Index dimension)
      : d_(dimension), mean_(mean.transpose()), roots_(roots.transpose()) {
    require(d_ >= 1 && mean.cols() % d_ == 0 && roots.cols() == mean.cols() * d_ &&
                roots.rows() == mean.rows(),
            "Means and root covariances must have the same dimension.");
  }
  double squared(Index i, Index a, Index j, Index b) const {
    const auto gap = mean_.col(i).segment(a * d_, d_) - mean_.col(j).segment(b * d_, d_);
    if (d_ == 1) {
      const double scale = roots_(a, i) - roots_(b, j);
      return gap.squaredNorm() + scale * scale;
    }
    using Root = Eigen::Map<const Matrix>;
    const Root s(&roots_(a * d_ * d_, i), d_, d_), t(&roots_(b * d_ * d_, j), d_, d_);
    const double overlap = singular_values(s * t).sum();
    return gap.squaredNorm() + std::max(s.squaredNorm() + t.squaredNorm() - 2.0 * overlap, 0.0);
  }

 private:
  Index d_;
  Matrix mean_, roots_;  // one observation is one column
};

// min sum w_ab cost_ab over couplings w of the weights `from` and `to` (equal sums):
// successive shortest augmenting paths with potentials. Exact; O((K + K')^2) per path,
// at most a few paths per component.
inline double cheapest_coupling(const Matrix& cost, Vector from, Vector to) {
  const Index n = cost.rows(), m = cost.cols(), n_nodes = n + m;
  constexpr double dust = 1e-14;
  const double infinity = std::numeric_limits<double>::infinity();
  Matrix flow = Matrix::Zero(n, m);
  Vector potential = Vector::Zero(n_nodes), distance(n_nodes);
  std::vector<Index> parent(static_cast<std::size_t>(n_nodes));
  std::vector<bool> done(static_cast<std::size_t>(n_nodes));
  double total = 0.0;
  while (from.maxCoeff() > dust && to.maxCoeff() > dust) {
    distance.setConstant(infinity);
    std::fill(parent.begin(), parent.end(), Index(-1));
    std::fill(done.begin(), done.end(), false);
    for (Index a = 0; a < n; ++a) {
      if (from(a) > dust) distance(a) = 0.0;
    }
    for (Index step = 0; step < n_nodes; ++step) {
      Index u = -1;
      for (Index v = 0; v < n_nodes; ++v) {
        if (!done[static_cast<std::size_t>(v)] && (u < 0 || distance(v) < distance(u))) u = v;
      }
      if (u < 0 || distance(u) == infinity) break;
      done[static_cast<std::size_t>(u)] = true;
      const bool source = u < n;
      const Index others = source ? m : n;
      for (Index o = 0; o < others; ++o) {
        if (!source && !(flow(o, u - n) > dust)) continue;  // only flow can be taken back
        const Index v = source ? n + o : o;
        const double length = source ? cost(u, o) : -cost(o, u - n);
        const double next = distance(u) + std::max(length + potential(u) - potential(v), 0.0);
        if (next < distance(v)) {
          distance(v) = next;
          parent[static_cast<std::size_t>(v)] = u;
        }
      }
    }
    Index end = -1;
    for (Index b = 0; b < m; ++b) {
      const Index v = n + b;
      if (to(b) > dust && distance(v) < infinity && (end < 0 || distance(v) < distance(end)))
        end = v;
    }
    if (end < 0) break;
    const double reach = distance(end);
    for (Index v = 0; v < n_nodes; ++v) potential(v) += std::min(distance(v), reach);
    double amount = to(end - n);
    Index start = end;
    while (parent[static_cast<std::size_t>(start)] >= 0) {
      const Index u = parent[static_cast<std::size_t>(start)];
      if (u >= n) amount = std::min(amount, flow(start, u - n));
      start = u;
    }
    amount = std::min(amount, from(start));
    for (Index v = end; parent[static_cast<std::size_t>(v)] >= 0;) {
      const Index u = parent[static_cast<std::size_t>(v)];
      if (u < n) {
        flow(u, v - n) += amount;
      } else {
        flow(v, u - n) -= amount;
      }
      v = u;
    }
    from(start) -= amount;
    to(end - n) -= amount;
  }
  total = (flow.array() * cost.array()).sum();
  return total;
}

// (min over couplings of the components of sum w D^order)^(1/order), D the distance between
// components; components of weight 0 are left out. Equal components collapse by themselves.
inline double mixture_distance(const BuresDistance& distance, const ConstMatrixRef& weight, Index i,
                               Index j, double order) {
  std::vector<Index> left, right;
  for (Index k = 0; k < weight.cols(); ++k) {
    if (weight(i, k) > 0) left.push_back(k);
    if (weight(j, k) > 0) right.push_back(k);
  }
  const Index n = static_cast<Index>(left.size()), m = static_cast<Index>(right.size());
  Matrix cost(n, m);
  Vector from(n), to(m);
  for (Index a = 0; a < n; ++a) from(a) = weight(i, left[static_cast<std::size_t>(a)]);
  for (Index b = 0; b < m; ++b) to(b) = weight(j, right[static_cast<std::size_t>(b)]);
  for (Index a = 0; a < n; ++a) {
    for (Index b = 0; b < m; ++b) {
      const double squared = distance.squared(i, left[static_cast<std::size_t>(a)], j,
                                              right[static_cast<std::size_t>(b)]);
      cost(a, b) = order == 2.0 ? squared : std::pow(std::sqrt(squared), order);
    }
  }
  const double total = std::max(cheapest_coupling(cost, from, to), 0.0);
  return std::pow(total, 1.0 / order);
}

// The symmetric matrix of value(i, j), with 0 on its diagonal.
template <class Value>
Matrix symmetric_pairs(const Engine& engine, Index n, const Value& value) {
  Matrix out = Matrix::Zero(n, n);
  parallel_for(engine, n, [&](Index j) {
    for (Index i = j + 1; i < n; ++i) out(i, j) = value(i, j);
  });
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return out;
}

}  // namespace calibrisk

#endif
