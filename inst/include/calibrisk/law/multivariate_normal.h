// SPDX-License-Identifier: GPL-3.0-or-later
// Multivariate normals: means [n x d] and covariances [n x d^2], a row per observation.
#ifndef CALIBRISK_LAW_MULTIVARIATE_NORMAL_H
#define CALIBRISK_LAW_MULTIVARIATE_NORMAL_H

#include <calibrisk/engine.h>
#include <calibrisk/linalg/small_algebra.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace calibrisk {

// A row as a matrix.
inline Matrix row_square(const ConstMatrixRef& x, Index row, Index d) {
  const Vector values = x.row(row);
  return Eigen::Map<const Matrix>(values.data(), d, d);
}

// The largest |S - S'| and the least eigenvalue of every row, [n x 2], over the largest |S|. NaN
// where the eigenvalues do not converge.
inline Matrix covariance_faults(const ConstMatrixRef& cov, Index d) {
  require(cov.cols() == d * d, "covariance_faults: a row is a square matrix.");
  Matrix out(cov.rows(), 2);
  SymEigen eigen;
  for (Index i = 0; i < cov.rows(); ++i) {
    const Matrix s = row_square(cov, i, d);
    const double size = std::max(s.cwiseAbs().maxCoeff(), std::numeric_limits<double>::min());
    out(i, 0) = (s - s.transpose()).cwiseAbs().maxCoeff() / size;
    out(i, 1) = small_eigen(s / size, eigen) ? eigen.values.minCoeff()
                                             : std::numeric_limits<double>::quiet_NaN();
  }
  return out;
}

// Symmetric roots of covariances, of those of K components side by side [n x K d^2]. NaN where
// eigenvalues do not converge.
inline Matrix covariance_roots(const ConstMatrixRef& cov, Index d) {
  require(d > 0 && cov.cols() % (d * d) == 0, "covariance_roots: a row has square matrices.");
  if (d == 1) return cov.cwiseMax(0.0).cwiseSqrt();
  Matrix out(cov.rows(), cov.cols());
  SymEigen eigen;
  for (Index i = 0; i < cov.rows(); ++i) {
    for (Index at = 0; at < cov.cols(); at += d * d) {
      const Matrix s = row_square(cov.middleCols(at, d * d), i, d);
      const bool found = small_eigen(s, eigen);
      for (Index k = 0; k < d; ++k) {
        for (Index l = 0; l < d; ++l) {
          double value = found ? 0.0 : std::numeric_limits<double>::quiet_NaN();
          for (Index m = 0; m < d && found; ++m) {
            value += std::sqrt(std::max(eigen.values(m), 0.0)) * eigen.vectors(k, m) *
                     eigen.vectors(l, m);
          }
          out(i, at + l * d + k) = value;
        }
      }
    }
  }
  return out;
}

// Whether all covariances commute: if the eigenvectors of one generic combination diagonalise each.
inline bool covariances_commute(const ConstMatrixRef& cov, Index d) {
  if (d == 1 || cov.rows() == 0) return true;
  Vector weight(cov.rows());
  for (Index i = 0; i < weight.size(); ++i) {
    weight(i) = 1.0 + std::fmod(static_cast<double>(i + 1) * 0.6180339887498949, 1.0);
  }
  SymEigen generic;
  if (!small_eigen(row_square(weight.transpose() * cov, 0, d), generic)) return false;
  double largest = 0.0;
  for (Index i = 0; i < cov.rows(); ++i) {
    Matrix turned = generic.vectors.transpose() * row_square(cov, i, d) * generic.vectors;
    turned.diagonal().setZero();
    largest = std::max(largest, turned.cwiseAbs().maxCoeff());
  }
  return largest <= 1e-10 * cov.cwiseAbs().maxCoeff();
}

// mean + root noise for component `pick` (from 1) of each row's draws; noise and result
// [n size x d], roots side by side [n x K d^2].
inline Matrix normal_draws(const ConstMatrixRef& mean, const ConstMatrixRef& roots,
                           const std::vector<int>& pick, const ConstMatrixRef& noise) {
  const Index n = mean.rows(), d = noise.cols();
  require(n > 0 && noise.rows() == static_cast<Index>(pick.size()) && noise.rows() % n == 0 &&
              roots.rows() == n && roots.cols() == mean.cols() * d,
          "normal_draws: shapes do not agree.");
  Matrix out(noise.rows(), d);
  for (Index r = 0; r < out.rows(); ++r) {
    const Index row = r % n, at = pick[static_cast<std::size_t>(r)] - 1;
    require(at >= 0 && (at + 1) * d <= mean.cols(), "normal_draws: no such component.");
    for (Index k = 0; k < d; ++k) {
      double value = mean(row, at * d + k);
      for (Index l = 0; l < d; ++l) value += roots(row, at * d * d + l * d + k) * noise(r, l);
      out(r, k) = value;
    }
  }
  return out;
}

// int sqrt(p_i p_j), which is NaN where a covariance is singular.
inline Matrix normal_affinity(const Engine& engine, const ConstMatrixRef& mean,
                              const ConstMatrixRef& cov) {
  const Index n = mean.rows(), d = mean.cols();
  require(cov.rows() == n && cov.cols() == d * d, "normal_affinity: shapes do not agree.");
  const auto half_log_det = [](const Matrix& factor) {
    return factor.diagonal().array().log().sum();
  };
  Vector own(n);
  for (Index i = 0; i < n; ++i) own[i] = half_log_det(cholesky_factor(row_square(cov, i, d)));
  Matrix out = Matrix::Identity(n, n);
  parallel_for(engine, n, [&](Index j) {
    for (Index i = j + 1; i < n; ++i) {
      const Matrix factor = cholesky_factor((row_square(cov, i, d) + row_square(cov, j, d)) / 2.0);
      const double gap = inverse_square(factor, (mean.row(i) - mean.row(j)).transpose());
      out(i, j) = std::exp((own[i] + own[j]) / 2.0 - half_log_det(factor) - gap / 8.0);
    }
  });
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return out;
}

}  // namespace calibrisk

#endif
