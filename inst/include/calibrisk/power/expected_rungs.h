// SPDX-License-Identifier: GPL-3.0-or-later
// The rungs of the main estimate that n rows of a planned study are expected to have: sums over
// rows are replaced by their expectations, which are sums over nodes of predictions.
#ifndef CALIBRISK_POWER_EXPECTED_RUNGS_H
#define CALIBRISK_POWER_EXPECTED_RUNGS_H

#include <calibrisk/linalg/dense_algebra.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace calibrisk {

// Predictions in ascending order with their shares (of sum 1), the probability of the event given
// each, and its logit. In clusters a row has `others` beside it in the mean, whose outcomes
// correlate by `icc` where risks are equal.
struct PowerNodes {
  Vector p, share, eta, logit;
  double others = 0.0, icc = 0.0;

  double mean(const ConstVectorRef& values) const { return share.dot(values); }
  Vector gap() const { return p - eta; }
  Vector variance() const { return eta.array() * (1.0 - eta.array()); }  // of the outcome
  // E[(p - y)^2 | p]
  Vector second() const { return p.array().square() + (1.0 - 2.0 * p.array()) * eta.array(); }
};

// The part of sum_{i, j of a cluster} E[b_i b_j' Cov(y_i, y_j)] per row that is due to pairs of
// different rows, whose outcomes have the covariance icc (min(eta, eta') - eta eta'). Since the
// minimum is the integral of 1{u < eta} 1{u < eta'}, it is an integral of squares of sums over the
// nodes above u.
inline Matrix cluster_covariance(const PowerNodes& nodes, const Matrix& b) {
  Matrix out = Matrix::Zero(b.cols(), b.cols());
  const double pairs = nodes.others * nodes.icc;
  if (pairs == 0.0) return out;
  std::vector<Index> order(static_cast<std::size_t>(b.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index i, Index j) { return nodes.eta(i) < nodes.eta(j); });
  Matrix above(b.rows(), b.cols());
  Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(b.cols());
  for (Index k = b.rows(); k-- > 0;) {
    const Index i = order[static_cast<std::size_t>(k)];
    const double below = k > 0 ? nodes.eta(order[static_cast<std::size_t>(k) - 1]) : 0.0;
    sum += nodes.share(i) * b.row(i);
    above.row(k) = std::sqrt(nodes.eta(i) - below) * sum;
  }
  const Vector mean = b.transpose() * nodes.share.cwiseProduct(nodes.eta);
  out.noalias() = pairs * (above.transpose() * above - mean * mean.transpose());
  return out;
}

// Hats on the knots, at most m, that n rows are expected to have.
inline Matrix expected_hats(const PowerNodes& nodes, Index m, double n) {
  const Index size = nodes.p.size();
  std::vector<double> reached, knots;
  long double sum = 0.0L;  // a share of pilot rows is reached except for rounding
  for (Index i = 0; i < size; ++i) {
    reached.push_back(static_cast<double>(sum += nodes.share(i)));
  }
  const double step = 1.0 / static_cast<double>(m - 1);
  for (Index k = 0; k < m; ++k) {
    const double at = k == m - 1 ? 1.0 : static_cast<double>(k) * step;
    const auto place = std::lower_bound(reached.begin(), reached.end(),
                                        std::min(std::max(at, 0.5 / n), 1.0 - 0.5 / n));
    const double knot = nodes.p(std::min<Index>(place - reached.begin(), size - 1));
    if (knots.empty() || knots.back() != knot) knots.push_back(knot);
  }
  if (knots.size() < 2) return Matrix::Ones(size, 1);
  const auto last = static_cast<Index>(knots.size()) - 2;
  Matrix hats = Matrix::Zero(size, last + 2);
  for (Index i = 0; i < size; ++i) {
    const auto next = std::upper_bound(knots.begin(), knots.end(), nodes.p(i)) - knots.begin();
    const Index cell = std::min<Index>(std::max<Index>(next - 1, 0), last);
    const double left = knots[static_cast<std::size_t>(cell)];
    const double right = knots[static_cast<std::size_t>(cell) + 1];
    const double t = std::min(std::max((nodes.p(i) - left) / (right - left), 0.0), 1.0);
    hats(i, cell) = 1.0 - t;
    hats(i, cell + 1) = t;
  }
  Index used = 0;
  for (Index j = 0; j < hats.cols(); ++j) {
    if (!(nodes.share.dot(hats.col(j)) > 0.0)) continue;
    if (used != j) hats.col(used) = hats.col(j);
    ++used;
  }
  return hats.leftCols(used);
}

// As a rung of the estimate (ladder/rung.h).
struct ExpectedRung {
  double psi, noise, skew, linear, scatter;
  Index columns;
};

// With orthonormal hats b and the projection g = b' E[b (p - eta)] of the gap: psi = |E b (p -
// eta)|^2; with T = E[v b b'] and v = E[(p - y)^2 | p], noise = 2 tr T^2 / n^2 (leverages: 1 / (1 -
// h)); linear = 4 Var(e g) / n; scatter = 4 E v / n. The pairs of rows of a cluster add R = E[b b'
// Cov(y, y')] times their number to T, and the same to the variances.
inline ExpectedRung expected_rung(const DenseAlgebra& dense, const PowerNodes& nodes, Index m,
                                  double n) {
  const Matrix hats = expected_hats(nodes, m, n);
  const auto rooted = [](const Matrix& x, const Vector& weight) -> Matrix {
    return weight.cwiseSqrt().asDiagonal() * x;
  };
  const Matrix shared = rooted(hats, nodes.share);
  const SymEigen spectrum = dense.sym_eigen(dense.crossprod(shared));
  const double least = 1e-10 * spectrum.values.maxCoeff();
  Matrix whitening(hats.cols(), hats.cols());
  Index kept = 0;
  for (Index j = 0; j < hats.cols(); ++j) {
    if (!(spectrum.values(j) > least)) continue;
    whitening.col(kept++) = spectrum.vectors.col(j) / std::sqrt(spectrum.values(j));
  }
  const Matrix b = hats * whitening.leftCols(kept);
  const Vector second = nodes.second(), ones = Vector::Ones(second.size());
  const Vector projection = b.transpose() * nodes.share.cwiseProduct(nodes.gap());
  const Vector fitted = b * projection;
  const Matrix spread_root = rooted(b, nodes.share.cwiseProduct(second));
  const Matrix spread = cluster_covariance(nodes, b) + dense.crossprod(spread_root);
  const double psi = projection.squaredNorm(), squares = spread.squaredNorm();
  const double cube = (spread * spread).cwiseProduct(spread).sum();
  // rows, or clusters, are left out of their own gap; those of a cluster have different predictions
  const double leverage = std::min((static_cast<double>(kept) + nodes.others) / n, 0.5);
  const auto of_pairs = [&](const Vector& values) { return cluster_covariance(nodes, values)(0); };
  const double slope = nodes.mean(second.cwiseProduct(fitted.cwiseAbs2())) - psi * psi;
  return {psi,
          2.0 * squares / std::pow(n * (1.0 - leverage), 2.0),
          std::min(2.8, 8.0 * cube / std::pow(2.0 * squares, 1.5)),
          4.0 * std::max(slope + of_pairs(fitted), 0.0) / n,
          4.0 * (nodes.mean(second) + of_pairs(ones)) / n,
          kept};
}

}  // namespace calibrisk

#endif
