// SPDX-License-Identifier: GPL-3.0-or-later
// The bases of the ladder. A recipe says which columns; its shape holds what they take from the
// predictions that they were made on (knots, landmarks), so that new rows get the same columns.
//   hats         own hats of coordinate j
// and for probability vectors p with l = log p, H = sum p log p, top class t and confidence c =
// p_t:
//   temperature  1, p_j, p_j l_j, p_j H: the tangent of the temperature family
//   own_top      own hats, p_j l_j, p_j H, 1{p_j = c} x hats(c)
//   own_both     own hats, p_j x hats(c), 1{p_j = c} x hats(c)
//   top_affine   1{t = k} x (1, p) for every class k, shared by all coordinates; rows of several
//                top classes have a basis of their own
//   kernel       1, p, exp(-|p - landmark| / s), shared
//   columns      any matrix, shared
#ifndef CALIBRISK_LADDER_RECIPES_H
#define CALIBRISK_LADDER_RECIPES_H

#include <calibrisk/ladder/rung.h>

namespace calibrisk {

enum class Recipe { hats, temperature, own_top, own_both, top_affine, kernel, columns };

inline bool is_shared(Recipe recipe) {
  return recipe == Recipe::top_affine || recipe == Recipe::kernel || recipe == Recipe::columns;
}

struct BasisShape {
  Recipe recipe = Recipe::hats;
  std::vector<std::vector<double>> own;  // knots of every coordinate
  std::vector<double> fine, coarse;      // knots of the confidence
  Matrix landmarks;                      // [r x K]
  double scale = 1.0;
  Index classes = 0;
};

// Temperatures whose maps are columns of the temperature family's basis, with its tangent at 1.
// Networks often need 2 to 4, where the tangent sees 60 to 90 % of the squared error.
constexpr double basis_temperatures[] = {0.5, 2.0, 4.0};

struct BasisSizes {
  Index own = 0, fine = 0, coarse = 0, landmarks = 0;
};

// Knots of every coordinate for each of several numbers of own hats.
CALIBRISK_SHARED std::vector<std::vector<std::vector<double>>> own_knots(
    const Engine& engine, const ConstMatrixRef& features, const RowWeights& weights,
    const std::vector<Index>& sizes);

CALIBRISK_SHARED BasisShape basis_shape(const Engine& engine, Recipe recipe,
                                        const BasisSizes& sizes, const ConstMatrixRef& features,
                                        const RowWeights& weights);

// A rung of a shape; `columns` is the user's matrix, `worker` the dense algebra of workers. Without
// `moments` only psi, gaps and weights. With hats in clusters a row may have no value (NaN, and
// residual 0) in some coordinates: it is then left out of these.
CALIBRISK_SHARED Rung shape_rung(const Engine& engine, const DenseAlgebra& worker,
                                 const BasisShape& shape, const ConstMatrixRef& features,
                                 const ConstMatrixRef& columns, const ConstMatrixRef& residuals,
                                 const RowWeights& weights, const RowClusters& clusters,
                                 bool moments);

// Adds gaps of new rows, their columns times the weights of a rung, times `scale`.
CALIBRISK_SHARED void add_basis_gap(const Engine& engine, const BasisShape& shape,
                                    const std::vector<Matrix>& weights,
                                    const ConstMatrixRef& features, const ConstMatrixRef& columns,
                                    double scale, MatrixRef out);

}  // namespace calibrisk

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_RUNGS)
#include <calibrisk/ladder/recipe_bases.h>
#endif

#endif
