// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_weights.h"
#include "r_engine.h"
#include <calibrisk/ladder/recipes.h>

using calibrisk::Index;
using calibrisk::Matrix;
using calibrisk::Recipe;

namespace {

Recipe recipe_of(const Rcpp::List& basis) {
  static const char* names[] = {"hats",       "temperature", "own_top", "own_both",
                                "top_affine", "kernel",      "columns"};
  const std::string name = text_field(basis, "recipe");
  for (int r = 0; r < 7; ++r) {
    if (name == names[r]) return static_cast<Recipe>(r);
  }
  throw std::invalid_argument("Unknown recipe of a basis: " + name);
}

Index size_of(const Rcpp::List& basis, const char* name) {
  if (!has_field(basis, name)) return 0;
  const double size = number_field(basis, name);
  calibrisk::require(size >= 0.0 && size < 65536.0, "A basis has up to 65,535 knots or landmarks.");
  return static_cast<Index>(size);
}

// The user's columns, or none.
Matrix columns_of(const Rcpp::List& basis) {
  if (!has_field(basis, "columns")) return Matrix();
  return as_matrix(Rcpp::as<Rcpp::NumericMatrix>(field(basis, "columns")));
}

Rcpp::List wrap_shape(const calibrisk::BasisShape& shape, const Rcpp::List& basis,
                      const std::vector<Matrix>& weights) {
  Rcpp::List coefficients(static_cast<R_xlen_t>(weights.size()));
  for (std::size_t g = 0; g < weights.size(); ++g) {
    coefficients[static_cast<R_xlen_t>(g)] = wrap_matrix(weights[g]);
  }
  return named_list({{"recipe", field(basis, "recipe")},
                     {"own", Rcpp::wrap(shape.own)},
                     {"fine", shape.fine},
                     {"coarse", shape.coarse},
                     {"landmarks", shape.landmarks},
                     {"scale", shape.scale},
                     {"weights", coefficients}});
}

calibrisk::BasisShape as_shape(const Rcpp::List& basis, Index classes) {
  calibrisk::BasisShape out;
  out.recipe = recipe_of(basis);
  out.own = Rcpp::as<std::vector<std::vector<double>>>(field(basis, "own"));
  out.fine = numbers_field(basis, "fine");
  out.coarse = numbers_field(basis, "coarse");
  out.landmarks = as_matrix(Rcpp::as<Rcpp::NumericMatrix>(field(basis, "landmarks")));
  out.scale = number_field(basis, "scale");
  out.classes = classes;
  return out;
}

}  // namespace

// Every rung of a ladder. `bases`: lists of `recipe` and its sizes (`own`, `fine`, `coarse` knots,
// `landmarks`), its knots `at` of every coordinate, or `columns`. `weights` and `cluster` (1..C)
// may be empty, and so may `copies`, how many copies each row stands for. Without `moments` only
// psi, the sums of products of the gaps of every two rungs and what new rows need.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ladder(Rcpp::NumericMatrix features, Rcpp::NumericMatrix residuals,
                      Rcpp::NumericVector weights, Rcpp::NumericVector copies,
                      Rcpp::IntegerVector cluster, Rcpp::List bases, bool moments, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto x = as_matrix(features), e = as_matrix(residuals);
  const calibrisk::RowWeights v = as_row_weights(weights, copies);
  const calibrisk::RowClusters clusters(as_labels(cluster));
  struct Step {
    Recipe recipe;
    calibrisk::BasisSizes sizes;
    std::vector<std::vector<double>> at;
    Matrix columns;
    calibrisk::BasisShape shape;
    calibrisk::Rung rung;
  };
  std::vector<Step> steps;
  for (R_xlen_t m = 0; m < bases.size(); ++m) {
    const Rcpp::List basis = bases[m];
    steps.push_back({recipe_of(basis),
                     {size_of(basis, "own"), size_of(basis, "fine"), size_of(basis, "coarse"),
                      size_of(basis, "landmarks")},
                     {},
                     columns_of(basis),
                     {},
                     {}});
    if (has_field(basis, "at")) {
      steps.back().at = Rcpp::as<std::vector<std::vector<double>>>(field(basis, "at"));
    }
  }
  std::vector<Index> own;
  for (const Step& step : steps) {
    if (step.at.empty() && step.sizes.own > 0) own.push_back(step.sizes.own);
  }
  auto knots = calibrisk::own_knots(engine, x, v, own);
  auto next = knots.begin();
  for (Step& step : steps) {
    if (step.at.empty() && step.sizes.own > 0) step.at = std::move(*next++);
    step.sizes.own = 0;
  }
  const auto make = [&](const calibrisk::Engine& on, Step& step) {
    step.shape = calibrisk::basis_shape(on, step.recipe, step.sizes, x, v);
    step.shape.own = step.at;
    step.rung = calibrisk::shape_rung(on, worker_algebra(), step.shape, x, step.columns, e, v,
                                      clusters, moments);
  };
  if (e.cols() == 1 && e.rows() < 4 * calibrisk::rung_block) {  // rungs in place of their rows
    const calibrisk::Executor one_thread;
    calibrisk::Progress quiet;
    const calibrisk::Engine alone{one_thread, worker_algebra(), quiet};
    calibrisk::parallel_for(engine, static_cast<Index>(steps.size()),
                            [&](Index m) { make(alone, steps[static_cast<std::size_t>(m)]); });
  } else {
    for (Step& step : steps) make(engine, step);
  }
  Matrix products;
  if (!moments) {
    std::vector<calibrisk::ConstMatrixRef> gaps;
    for (const Step& step : steps) gaps.emplace_back(step.rung.gap);
    products = calibrisk::gap_products(engine, gaps, v);
  }
  const double scatter = moments ? calibrisk::residual_scatter(engine, e, v, clusters) : 0.0;
  Rcpp::List out(bases.size());
  for (R_xlen_t m = 0; m < bases.size(); ++m) {
    const Step& step = steps[static_cast<std::size_t>(m)];
    const calibrisk::Rung& rung = step.rung;
    const Rcpp::List shape = wrap_shape(step.shape, bases[m], rung.weights);
    if (!moments) {
      out[m] = named_list(
          {{"psi", rung.psi}, {"products", calibrisk::Vector(products.col(m))}, {"shape", shape}});
      continue;
    }
    out[m] = named_list({{"psi", rung.psi},
                         {"noise", rung.noise},
                         {"skew", rung.skew},
                         {"linear", rung.linear},
                         {"scatter", scatter},
                         {"columns", static_cast<double>(rung.columns)},
                         {"half", rung.half},
                         {"gap", rung.gap},
                         {"shape", shape}});
  }
  return out;
}

// Sums of products of gaps, a matrix for each rung.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_gap_products(Rcpp::List gaps, Rcpp::NumericVector weights, int threads) {
  REngine engine(threads);
  std::vector<Rcpp::NumericMatrix> held;
  for (R_xlen_t m = 0; m < gaps.size(); ++m) held.emplace_back(gaps[m]);
  std::vector<calibrisk::ConstMatrixRef> parts;
  for (const Rcpp::NumericMatrix& gap : held) parts.emplace_back(as_matrix(gap));
  return wrap_matrix(
      calibrisk::gap_products(engine, parts, calibrisk::RowWeights(as_vector(weights))));
}

// Gaps of new rows by the shapes of rungs (with `columns` of the new rows where they are the
// user's), each times its `scale`, summed.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_ladder_gap(Rcpp::List shapes, Rcpp::NumericVector scale,
                                   Rcpp::NumericMatrix features, int d, int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  calibrisk::require(shapes.size() > 0 && scale.size() == shapes.size(),
                     "Every shape of a stack has a weight.");
  calibrisk::require(d >= 1 && d <= std::max(features.ncol(), 1), "A gap has a column per class.");
  Rcpp::NumericMatrix out;
  for (R_xlen_t m = 0; m < shapes.size(); ++m) {
    const Rcpp::List shape = shapes[m];
    const Rcpp::List coefficients(field(shape, "weights"));
    std::vector<Matrix> weights;
    for (R_xlen_t g = 0; g < coefficients.size(); ++g) {
      weights.push_back(as_matrix(Rcpp::as<Rcpp::NumericMatrix>(coefficients[g])));
    }
    const Matrix columns = columns_of(shape);
    const calibrisk::BasisShape basis = as_shape(shape, features.ncol());
    if (m == 0) {
      const bool users = basis.recipe == Recipe::columns;
      out = Rcpp::NumericMatrix(users ? static_cast<int>(columns.rows()) : features.nrow(), d);
    }
    calibrisk::add_basis_gap(engine, basis, weights, as_matrix(features), columns, scale[m],
                             Eigen::Map<Matrix>(out.begin(), out.nrow(), out.ncol()));
  }
  return out;
}
