// SPDX-License-Identifier: GPL-3.0-or-later
// Weights on the simplex that maximise sum_i share_i log(sum_j w_j b_ij): EM, sped up by Newton
// steps on the weights in use. By concavity max_j sum_i share_i b_ij / mixture_i - 1 bounds what is
// left to gain.
#ifndef CALIBRISK_RECAL_MIXTURE_WEIGHTS_H
#define CALIBRISK_RECAL_MIXTURE_WEIGHTS_H

#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <vector>

namespace calibrisk {

struct MixtureWeights {
  Vector weights;
  double left = 0.0;
  int steps = 0;
};

CALIBRISK_SHARED MixtureWeights mixture_weights(const ConstMatrixRef& b,
                                                const ConstVectorRef& share,
                                                double tolerance = 1e-10, int max_steps = 2000);

// min over the simplex of w' products w - 2 w' gains, three parts, exactly: the best stationary
// point of the seven faces. Faces with a singular system can be left out: their minima reach a
// smaller face.
CALIBRISK_SHARED Vector simplex_least_squares(const Eigen::Matrix3d& products,
                                              const Eigen::Vector3d& gains);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_MIXTURES)
namespace detail {

// The Newton step from w on its coordinates in use, shortened to stay on the simplex; empty where
// the system is singular. Coordinates that are 0 and would fall are left out.
inline Vector face_newton(const ConstMatrixRef& scaled, const Vector& w, const Vector& score,
                          std::vector<Index> face, const ConstVectorRef& share) {
  Vector direction;
  for (bool falls = true; falls;) {
    const auto m = static_cast<Index>(face.size());
    if (m < 2) return {};
    Matrix used(scaled.rows(), m);
    Vector right = Vector::Zero(m + 1);
    for (Index f = 0; f < m; ++f) {
      used.col(f) = scaled.col(face[static_cast<std::size_t>(f)]);
      right(f) = score(face[static_cast<std::size_t>(f)]);
    }
    Matrix system = Matrix::Ones(m + 1, m + 1);
    system.topLeftCorner(m, m) = used.transpose() * share.asDiagonal() * used;
    system(m, m) = 0.0;
    Vector solution;
    if (!solve_conditioned(system, right, 1e-13, solution)) return {};
    direction = Vector::Zero(w.size());
    for (Index f = 0; f < m; ++f) direction(face[static_cast<std::size_t>(f)]) = solution(f);
    const auto first = std::find_if(face.begin(), face.end(),
                                    [&](Index j) { return w(j) == 0.0 && direction(j) < 0.0; });
    falls = first != face.end();
    if (falls) face.erase(first);
  }
  double length = 1.0;
  for (Index j = 0; j < w.size(); ++j) {
    if (direction(j) < 0.0) length = std::min(length, -w(j) / direction(j));
  }
  const Vector out = (w + length * direction).cwiseMax(0.0);
  return out / out.sum();
}

}  // namespace detail

MixtureWeights mixture_weights(const ConstMatrixRef& b, const ConstVectorRef& share,
                               double tolerance, int max_steps) {
  require(b.rows() == share.size(), "A mixture has a share per row.");
  const Index m = b.cols();
  const auto objective = [&](const Vector& w) { return share.dot((b * w).array().log().matrix()); };
  const auto shares_of = [&](const Vector& w) {
    return Matrix((b * w).cwiseInverse().asDiagonal() * b);
  };
  Vector w = Vector::Constant(m, 1.0 / static_cast<double>(m));
  MixtureWeights out;
  for (out.steps = 1; out.steps < max_steps; ++out.steps) {
    const Matrix scaled = shares_of(w);
    const Vector score = scaled.transpose() * share;
    if (score.maxCoeff() - 1.0 < tolerance) break;
    Vector next = w.cwiseProduct(score);
    next /= next.sum();
    std::vector<Index> face;
    for (Index j = 0; j < m; ++j) {
      if (next(j) > 1e-9 || score(j) > 1.0) face.push_back(j);
    }
    const Vector newton = detail::face_newton(scaled, w, score, face, share);
    w = newton.size() > 0 && objective(newton) > objective(next) ? newton : next;
  }
  w = (w.array() < 1e-9).select(0.0, w);
  w /= w.sum();
  // a mixture that is no better than its first part is that part
  const Vector first = Vector::Unit(m, 0);
  if (objective(first) >= objective(w)) w = first;
  out.left = (shares_of(w).transpose() * share).maxCoeff() - 1.0;
  out.weights = w;
  return out;
}

Vector simplex_least_squares(const Eigen::Matrix3d& products, const Eigen::Vector3d& gains) {
  const auto objective = [&](const Eigen::Vector3d& w) {
    return w.dot(products * w) - 2.0 * gains.dot(w);
  };
  Eigen::Vector3d best = Eigen::Vector3d::UnitX();
  for (const std::vector<Index>& face :
       std::vector<std::vector<Index>>{{1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    const auto m = static_cast<Index>(face.size());
    Matrix system = Matrix::Ones(m + 1, m + 1);
    Vector right = Vector::Ones(m + 1);
    system(m, m) = 0.0;
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < m; ++j) {
        system(i, j) =
            2.0 * products(face[static_cast<std::size_t>(i)], face[static_cast<std::size_t>(j)]);
      }
      right(i) = 2.0 * gains(face[static_cast<std::size_t>(i)]);
    }
    Vector solution;
    if (!solve_conditioned(system, right, 1e-13, solution)) continue;
    Eigen::Vector3d w = Eigen::Vector3d::Zero();
    for (Index i = 0; i < m; ++i) w(face[static_cast<std::size_t>(i)]) = solution(i);
    if (w.minCoeff() >= 0.0 && objective(w) < objective(best) - 1e-15) best = w;
  }
  return best / best.sum();
}
#endif

}  // namespace calibrisk

#endif
