// SPDX-License-Identifier: GPL-3.0-or-later
#include "as_weights.h"
#include "nested_limits.h"
#include "r_engine.h"
#include <calibrisk/ladder/recipes.h>
#include <calibrisk/recal/class_scores.h>

#include <algorithm>
#include <cmath>

using calibrisk::Index;
using calibrisk::Matrix;
using calibrisk::Recipe;
using calibrisk::Vector;

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

// A basis and its rung.
struct Step {
  Recipe recipe;
  calibrisk::BasisSizes sizes;
  std::vector<std::vector<double>> at;
  Matrix columns;
  calibrisk::BasisShape shape;
  calibrisk::Rung rung;
};

std::vector<Step> make_steps(const calibrisk::Engine& engine, const calibrisk::ConstMatrixRef& x,
                             const calibrisk::ConstMatrixRef& e, const calibrisk::RowWeights& v,
                             const calibrisk::RowClusters& clusters, const Rcpp::List& bases,
                             bool moments) {
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
  return steps;
}

// The number of knots of each coordinate, or of columns where a basis has none.
double resolution_of(const Step& step) {
  double knots = 0.0;
  for (const auto& own : step.shape.own) knots = std::max(knots, static_cast<double>(own.size()));
  if (knots > 0.0 || step.recipe != Recipe::columns) return knots;
  return static_cast<double>(step.rung.weights[0].rows());
}

// Residuals of the size that predictions say.
Matrix predicted_residuals(const calibrisk::ConstMatrixRef& p, double scale) {
  return p.unaryExpr([=](double one) {
    const double variance = one * (1.0 - one);
    return variance > 0.0 ? scale * std::sqrt(variance) : 0.0;
  });
}

// What limits need of rungs, a column each.
Rcpp::NumericMatrix rung_numbers(const std::vector<Vector>& rungs) {
  Rcpp::NumericMatrix out(5, static_cast<int>(rungs.size()));
  for (std::size_t m = 0; m < rungs.size(); ++m) {
    std::copy(rungs[m].data(), rungs[m].data() + 5, out.begin() + 5 * m);
  }
  Rcpp::CharacterVector names = {"psi", "noise", "skew", "linear", "scatter"};
  out.attr("dimnames") = Rcpp::List::create(names, R_NilValue);
  return out;
}

}  // namespace

// Every rung of a ladder. `bases`: lists of `recipe` and its sizes (`own`, `fine`, `coarse` knots,
// `landmarks`), its knots `at` of every coordinate, or `columns`. Without `moments` only psi, the
// sums of products of the gaps of every two rungs and what new rows need.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_ladder(Rcpp::NumericMatrix features, Rcpp::NumericMatrix residuals,
                      Rcpp::Nullable<Rcpp::List> design, Rcpp::List bases, bool moments,
                      int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto x = as_matrix(features), e = as_matrix(residuals);
  const RowDesign of(design);
  const calibrisk::RowWeights& v = of.weights;
  const calibrisk::RowClusters& clusters = of.clusters;
  const std::vector<Step> steps = make_steps(engine, x, e, v, clusters, bases, moments);
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

// The headline of nested bases (limits.cpp), without rungs that have no noise: those are `numbers`.
// With the number of knots of the finest basis (`resolution`), its columns, and for the squared
// estimate the influences of the rows, the weights of the rungs taken as fixed, and its noise.
// Rungs see much the same noise: its standard deviation is at most the sum of theirs. `facts`: of
// the squared residuals (score_facts() in R). If failures lack, a rung's variance where predictions
// are calibrated is also that which they give themselves: what squares of residuals that are mostly
// absent understate. Rows are independent there, and may have `expected_copies` and residuals times
// `expected_scale`. `scatter`: of the rungs, NA where it is that of the residuals.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_nested_ladder(Rcpp::NumericMatrix features, Rcpp::NumericMatrix residuals,
                             Rcpp::Nullable<Rcpp::List> design, Rcpp::List bases, Rcpp::List facts,
                             double df, double level, double scatter,
                             Rcpp::NumericVector expected_copies, double expected_scale,
                             int threads) {
  // Among 300 predictions of .999 that were all right nothing varies, but the accuracy may be .99
  // (all are right in 5% of such samples). All are right in three of four samples of a calibrated
  // model. The variance of unseen failures is added, less of it up to so many failures.
  constexpr double few_failures = 10.0;
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto x = as_matrix(features), e = as_matrix(residuals);
  const RowDesign of(design);
  const calibrisk::RowWeights& v = of.weights;
  const calibrisk::RowClusters& clusters = of.clusters;
  const std::vector<Step> steps = make_steps(engine, x, e, v, clusters, bases, true);
  if (std::isnan(scatter)) scatter = calibrisk::residual_scatter(engine, e, v, clusters);
  const SquareFacts squares = square_facts(facts, df);
  const double lack = squares.lack(few_failures);
  std::vector<Step> expected;
  double expected_scatter = 0.0;
  if (lack > 0.0) {
    const calibrisk::RowWeights rows =
        expected_copies.size() > 0 ? as_row_weights(expected_copies, expected_copies) : v;
    const Matrix redrawn = predicted_residuals(x, expected_scale);
    expected = make_steps(engine, x, redrawn, rows, {}, bases, true);
    expected_scatter = calibrisk::residual_scatter(engine, redrawn, rows, {});
  }
  std::vector<Vector> used;
  std::vector<const calibrisk::Rung*> rungs;
  double resolution = 0.0, columns = 0.0;
  for (std::size_t m = 0; m < steps.size(); ++m) {
    const calibrisk::Rung& rung = steps[m].rung;
    resolution = std::max(resolution, resolution_of(steps[m]));
    columns =
        std::max(columns, static_cast<double>(rung.columns) / static_cast<double>(rung.gap.cols()));
    Vector numbers(5);
    numbers << rung.psi, rung.noise, rung.skew, rung.linear, scatter;
    if (lack > 0.0) {
      const double noise = lack * expected[m].rung.noise;
      if (noise > rung.noise) numbers.segment(1, 2) << noise, expected[m].rung.skew;
      numbers(4) = std::max(scatter, lack * expected_scatter);
    }
    if (!std::isfinite(numbers(1)) || numbers(1) <= 0.0 || !(df > 0.0)) continue;
    used.push_back(numbers);
    rungs.push_back(&rung);
  }
  const Rcpp::NumericMatrix numbers = rung_numbers(used);
  const auto with_facts = [&](Rcpp::List found, double noise, const Vector& influence) {
    found.push_back(numbers, "numbers");
    found.push_back(columns, "columns");
    found.push_back(resolution, "resolution");
    found.push_back(noise, "noise");
    found.push_back(wrap_vector(influence), "influence");
    return found;
  };
  if (used.empty()) {
    const Upper limits = upper_limits({}, squares, columns, (1.0 - level) / 2.0);
    return with_facts(named_list({{"estimate", squares.certain() ? 0.0 : NA_REAL},
                                  {"std.error", NA_REAL},
                                  {"low", 0.0},
                                  {"high", limits.error},
                                  {"lower_bound", 0.0},
                                  {"p.value", NA_REAL},
                                  {"statistic", NA_REAL},
                                  {"upper_bound", limits.root_brier},
                                  {"weights", Vector()}}),
                      0.0, Vector());
  }
  std::vector<calibrisk::ConstMatrixRef> gaps;
  for (const calibrisk::Rung* rung : rungs) gaps.emplace_back(rung->gap);
  const Matrix products = calibrisk::gap_products(engine, gaps, v) / v.total(x.rows());
  const Rcpp::List found =
      cpp_nested_headline(numbers, wrap_matrix(products), facts, columns, df, level);
  const Rcpp::NumericVector share = found["weights"];
  const double sum = as_vector(share).sum();
  Vector influence = Vector::Zero(x.rows());
  double deviation = 0.0;
  for (std::size_t m = 0; m < rungs.size(); ++m) {
    const double own = share[static_cast<R_xlen_t>(m)];
    const double scale = sum > 0.0 ? own / std::sqrt(sum) : own;
    influence += scale * rungs[m]->half;
    deviation += scale * std::sqrt(used[m](1));
  }
  return with_facts(found, deviation * deviation, 2.0 * influence);
}

// What limits need of the rung of tangents of vector scaling at the temperatures 2 and 4, whose
// coefficients all residuals of a row share: they are a cluster of one long column. `cluster`: of
// the rows; `weights` may be empty.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cpp_scaling_rung(Rcpp::NumericMatrix probs, Rcpp::NumericMatrix residuals,
                                     Rcpp::NumericVector weights, std::vector<int> cluster,
                                     int threads) {
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const auto p = as_matrix(probs), e = as_matrix(residuals);
  const Index n = p.rows(), k = p.cols();
  calibrisk::require(e.rows() == n && e.cols() == k && static_cast<Index>(cluster.size()) == n &&
                         (weights.size() == 0 || weights.size() == n),
                     "scaling_rung: a residual for each probability.");
  const Matrix logs = p.array().max(1e-300).log();
  Matrix columns(n * k, 4 * k + 3);
  const auto block = [&](Index column) {
    return Eigen::Map<Matrix>(columns.col(column).data(), n, k);
  };
  block(0) = p;
  Index next = 1;
  for (const double slope : {0.5, 0.25}) {
    const Matrix tempered = slope * logs;
    const calibrisk::ClassScores scores(engine, tempered, true, 0.0);
    Matrix q(n, k);
    scores.for_blocks(engine, [&](Index begin, Index size) {
      calibrisk::RowBlock rows;
      scores.probs(begin, size, rows);
      q.middleRows(begin, size) = rows.matrix();
    });
    block(next) = q;
    for (Index c = 0; c < k; ++c) {
      auto bias = block(next + 1 + c), weight = block(next + 1 + k + c);
      for (Index j = 0; j < k; ++j) {
        bias.col(j) = q.col(j).array() * ((j == c ? 1.0 : 0.0) - q.col(c).array());
        weight.col(j) = bias.col(j).cwiseProduct(logs.col(c));
      }
    }
    next += 1 + 2 * k;
  }
  calibrisk::Labels rows;
  for (Index j = 0; j < k; ++j) rows.insert(rows.end(), cluster.begin(), cluster.end());
  const Vector each = as_vector(weights).replicate(k, 1);
  const calibrisk::RowWeights v = calibrisk::RowWeights(each);
  const calibrisk::RowClusters clusters(rows);
  const Eigen::Map<const Vector> x(p.data(), n * k), d(e.data(), n * k);
  const auto shape = calibrisk::basis_shape(engine, Recipe::columns, {0, 0, 0, 0}, x, v);
  const calibrisk::Rung rung =
      calibrisk::shape_rung(engine, worker_algebra(), shape, x, columns, d, v, clusters, true);
  const double scatter = calibrisk::residual_scatter(engine, d, v, clusters);
  const auto scale = static_cast<double>(k), square = scale * scale;
  Vector numbers(5);
  numbers << scale * rung.psi, square * rung.noise, rung.skew, square * rung.linear,
      square * scatter;
  return rung_numbers({numbers});
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
