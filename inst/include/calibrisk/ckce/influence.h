// SPDX-License-Identifier: GPL-3.0-or-later
// Standard errors of CKCE. At a fixed ridge it is a smooth function of the means of f f' and
// f d' (f the features of a prediction, d its residual): with C = F'F / n, A = C + ridge I,
// w = A^-1 F'D / n and v = A^-1 w, CKCE = |w|^2 and its influence function is
//   2 <v'f_i, d_i - w'f_i> minus its mean
// (the infinitesimal jackknife). With c = n ridge, H = (K + c I)^-1 D this is 2 n q_i,
//   q_i = c <(K (K + c I)^-1 H)_i, H_i>.
#ifndef CALIBRISK_CKCE_INFLUENCE_H
#define CALIBRISK_CKCE_INFLUENCE_H

#include <calibrisk/ckce/spectrum.h>

#include <vector>

namespace calibrisk {

struct Influence {
  Matrix conditional;   // q_i, [n x ridges]
  Vector off_diagonal;  // sum_{j != i} K_ij G_ij: the joint error's
  Vector diagonal;      // K_ii G_ii
  Influence() = default;
  Influence(Index n, Index n_ridges) : conditional(n, n_ridges), off_diagonal(n), diagonal(n) {}
};

// From a factor F whose spectrum is known: two products with d columns per ridge.
class InfluenceWeights {
 public:
  // rotation: P = F rotation; none where F = P. cross: F'D.
  InfluenceWeights(const Engine& engine, const Spectrum& spectrum, const Matrix* rotation,
                   const Matrix& cross, const ConstVectorRef& ridges)
      : cross_(cross), ridges_(ridges) {
    const Matrix turned = rotation ? engine.dense.multiply_at_b(*rotation, cross) : cross;
    const Index d = cross.cols();
    for (Index v = 0; v < ridges.size(); ++v) {
      const double c = static_cast<double>(spectrum.n_obs) * ridges(v);
      const Vector once = (spectrum.values.array() + c).inverse(), twice = once.cwiseAbs2();
      Matrix both(turned.rows(), 2 * d);
      both.leftCols(d) = once.asDiagonal() * turned;
      both.rightCols(d) = twice.asDiagonal() * turned;
      weights_.push_back(rotation ? engine.dense.multiply(*rotation, both) : both);
    }
  }

  // Rows first, first + 1, ... of the result, from these rows of F and D.
  void fill(const Engine& engine, const ConstMatrixRef& f, const ConstMatrixRef& residuals,
            Index first, Influence& out) const {
    const Index d = residuals.cols(), n = f.rows();
    for (Index v = 0; v < ridges_.size(); ++v) {
      const Matrix both = engine.dense.multiply(f, weights_[static_cast<std::size_t>(v)]);
      out.conditional.col(v).segment(first, n) =
          both.rightCols(d).cwiseProduct(residuals - both.leftCols(d)).rowwise().sum();
    }
    out.diagonal.segment(first, n) =
        f.rowwise().squaredNorm().cwiseProduct(residuals.rowwise().squaredNorm());
    out.off_diagonal.segment(first, n) =
        engine.dense.multiply(f, cross_).cwiseProduct(residuals).rowwise().sum() -
        out.diagonal.segment(first, n);
  }

 private:
  Matrix cross_;
  Vector ridges_;
  std::vector<Matrix> weights_;
};

}  // namespace calibrisk

#endif
