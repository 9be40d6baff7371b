// SPDX-License-Identifier: GPL-3.0-or-later
// Hotelling's statistic, and the witness of the conditional mean embedding (CME) test at labels.
#ifndef CALIBRISK_SKCE_HOTELLING_H
#define CALIBRISK_SKCE_HOTELLING_H

#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/types.h>

#include <limits>
#include <utility>
#include <vector>

namespace calibrisk {

// n zbar' S^-1 zbar of the rows of z, each of which there are `copies` of (none: 1); NaN where S is
// singular to rounding.
inline double hotelling(const ConstMatrixRef& z, const ConstVectorRef& copies) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const bool counted = copies.size() > 0;
  require(!counted || copies.size() == z.rows(), "hotelling: one count per row.");
  const double n = counted ? copies.sum() : static_cast<double>(z.rows());
  if (n < 2 || z.cols() == 0) return none;
  const Vector mean = counted ? Vector(z.transpose() * copies / n) : Vector(z.colwise().mean());
  Matrix off = z.rowwise() - mean.transpose();
  // in squares
  if (counted) off.array().colwise() *= copies.array().sqrt();
  const Vector scale = (off.colwise().squaredNorm() / (n - 1.0)).cwiseSqrt();
  if (!scale.allFinite() || scale.minCoeff() <= 0.0) return none;
  const Vector inverse = scale.cwiseInverse();
  const Matrix correlation =
      inverse.asDiagonal() * Matrix(off.transpose() * off / (n - 1.0)) * inverse.asDiagonal();
  const Vector unit = mean.cwiseProduct(inverse);
  Vector solution;
  if (!solve_conditioned(correlation, unit, 1e-14, solution)) return none;
  return n * unit.dot(solution);
}

// Hotelling's statistic of z_ij = k(p_i, p_j) (l(y_i, y_j) - E l(Z_i, y_j)) at locations (p_j, y_j)
// for labels on the same predictions.
class LabelWitness {
 public:
  // columns: k, [n x J]; expected: E l, [n x J]; gram: l of each class and y_j, [m x J]
  LabelWitness(const ConstMatrixRef& columns, const ConstMatrixRef& expected,
               const ConstMatrixRef& gram)
      : columns_(columns), expected_(expected), gram_(gram) {
    require(columns.rows() == expected.rows() && columns.cols() == expected.cols() &&
                columns.cols() == gram.cols(),
            "LabelWitness: one expectation per row and location, and one location per column.");
  }

  // labels: from 0
  double statistic(const Labels& labels) const {
    Matrix z(columns_.rows(), columns_.cols());
    for (Index j = 0; j < z.cols(); ++j) {
      for (Index i = 0; i < z.rows(); ++i) z(i, j) = at(i, labels[static_cast<std::size_t>(i)], j);
    }
    return hotelling(z, Vector());
  }

  // counts: how many copies of each row are of each class, [n x m]
  double statistic(const ConstMatrixRef& counts) const {
    std::vector<std::pair<Index, Index>> used;
    for (Index k = 0; k < counts.cols(); ++k) {
      for (Index i = 0; i < counts.rows(); ++i) {
        if (counts(i, k) > 0.0) used.emplace_back(i, k);
      }
    }
    Matrix z(static_cast<Index>(used.size()), columns_.cols());
    Vector copies(z.rows());
    for (Index u = 0; u < z.rows(); ++u) {
      const auto [i, k] = used[static_cast<std::size_t>(u)];
      copies(u) = counts(i, k);
      for (Index j = 0; j < z.cols(); ++j) z(u, j) = at(i, k, j);
    }
    return hotelling(z, copies);
  }

 private:
  double at(Index i, Index k, Index j) const {
    return columns_(i, j) * (gram_(k, j) - expected_(i, j));
  }

  ConstMatrixRef columns_, expected_, gram_;
};

}  // namespace calibrisk

#endif
