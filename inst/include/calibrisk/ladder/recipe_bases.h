// SPDX-License-Identifier: GPL-3.0-or-later
// The columns of each recipe, and the rung on them, which recipes.h declares.
#ifndef CALIBRISK_LADDER_RECIPE_BASES_H
#define CALIBRISK_LADDER_RECIPE_BASES_H

#include <calibrisk/ladder/local_cluster_rung.h>
#include <calibrisk/ladder/recipes.h>
#include <calibrisk/ladder/shared_rung.h>
#include <calibrisk/ladder/symmetric_order.h>

#include <memory>

namespace calibrisk {

// Features of probability vectors that the recipes need, row by row.
struct SimplexRows {
  std::vector<int> top;        // K where several classes are
  Vector confidence, entropy;  // H = sum p log p

  explicit SimplexRows(const ConstMatrixRef& p)
      : top(static_cast<std::size_t>(p.rows())), confidence(p.rows()), entropy(p.rows()) {
    for (Index i = 0; i < p.rows(); ++i) {
      Index at = 0;
      bool tied = false;
      double sum = 0.0;
      for (Index k = 0; k < p.cols(); ++k) {
        if (k > 0 && p(i, k) >= p(i, at)) {
          tied = p(i, k) == p(i, at);
          if (!tied) at = k;
        }
        sum += p(i, k) * log_of(p(i, k));
      }
      top[static_cast<std::size_t>(i)] = static_cast<int>(tied ? p.cols() : at);
      confidence(i) = p(i, at);
      entropy(i) = sum;
    }
  }
  static double log_of(double p) { return std::log(std::max(p, 1e-300)); }
};

namespace detail {

// p^(1/t) over its sum in each row; NaN where a row has one.
inline Matrix tempered(const ConstMatrixRef& p, const SimplexRows& simplex, double t) {
  Matrix out(p.rows(), p.cols());
  for (Index j = 0; j < p.cols(); ++j) {
    out.col(j) = (p.col(j).array() / simplex.confidence.array()).pow(1.0 / t);
  }
  const Vector sums = out.rowwise().sum();
  out.array().colwise() /= sums.array();
  return out;
}

// Median of the distances of all rows to the landmarks (above 10,000 copies of 10,000 spaced ones).
inline double median_distance(const ConstMatrixRef& p, const Matrix& landmarks,
                              const SymmetricOrder& order, const RowWeights& weights) {
  constexpr Index most = 10000;
  const bool thin = weights.count(p.rows()) > static_cast<double>(most);
  Matrix thinned;
  if (thin) thinned = order.spaced(most);
  const ConstMatrixRef rows = thin ? ConstMatrixRef(thinned) : p;
  std::vector<std::pair<double, double>> distances;
  distances.reserve(static_cast<std::size_t>(rows.rows() * landmarks.rows()));
  double total = 0.0;
  for (Index i = 0; i < rows.rows(); ++i) {
    const double v = thin ? 1.0 : weights(i);
    for (Index r = 0; r < landmarks.rows(); ++r) {
      distances.emplace_back((rows.row(i) - landmarks.row(r)).norm(), v);
      total += v;
    }
  }
  std::sort(distances.begin(), distances.end());
  double sum = 0.0, smallest = 0.0;
  for (std::size_t t = 0; t < distances.size(); ++t) {
    if (smallest == 0.0) smallest = distances[t].first;
    sum += distances[t].second;
    if (sum < total / 2.0) continue;
    const bool between = sum == total / 2.0 && t + 1 < distances.size();
    const double median =
        between ? (distances[t].first + distances[t + 1].first) / 2.0 : distances[t].first;
    if (median > 0.0) return median;
    if (smallest > 0.0) return smallest;  // most rows are landmarks' twins
  }
  return smallest > 0.0 ? smallest : 1.0;
}

// All classes, of which the whitening drops one: no class is the one left out.
inline Matrix kernel_columns(const ConstMatrixRef& p, const BasisShape& shape,
                             const std::vector<Index>& rows) {
  const Index m = static_cast<Index>(rows.size()), k = p.cols(), r = shape.landmarks.rows();
  require(r == 0 || shape.landmarks.cols() == k, "Landmarks have a column for every class.");
  Matrix out(m, 1 + k + r);
  for (Index i = 0; i < m; ++i) {
    const auto row = p.row(rows[static_cast<std::size_t>(i)]);
    out(i, 0) = 1.0;
    out.row(i).segment(1, k) = row;
    for (Index l = 0; l < r; ++l) {
      out(i, 1 + k + l) = std::exp(-(row - shape.landmarks.row(l)).norm() / shape.scale);
    }
  }
  return out;
}

inline Matrix affine_columns(const ConstMatrixRef& p, const std::vector<Index>& rows) {
  Matrix out = Matrix::Ones(static_cast<Index>(rows.size()), 1 + p.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.row(static_cast<Index>(i)).tail(p.cols()) = p.row(rows[i]);
  }
  return out;
}

}  // namespace detail

std::vector<std::vector<std::vector<double>>> own_knots(const Engine& engine,
                                                        const ConstMatrixRef& features,
                                                        const RowWeights& weights,
                                                        const std::vector<Index>& sizes) {
  std::vector<std::vector<std::vector<double>>> out(sizes.size());
  if (sizes.empty()) return out;
  for (auto& knots : out) knots.resize(static_cast<std::size_t>(features.cols()));
  for_columns(engine, features.cols(), [&](const Engine& within, Index j) {
    auto knots = hat_knots(within, features.col(j), weights, sizes);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      out[s][static_cast<std::size_t>(j)] = std::move(knots[s]);
    }
  });
  return out;
}

BasisShape basis_shape(const Engine& engine, Recipe recipe, const BasisSizes& sizes,
                       const ConstMatrixRef& features, const RowWeights& weights) {
  BasisShape out;
  out.recipe = recipe;
  out.classes = features.cols();
  if (sizes.own > 0) out.own = own_knots(engine, features, weights, {sizes.own})[0];
  if (sizes.fine > 0 || sizes.coarse > 0) {
    const Vector confidence = features.rowwise().maxCoeff();
    const auto knots = [&](Index m) { return hat_knots(engine, confidence, weights, {m})[0]; };
    if (sizes.fine > 0) out.fine = knots(sizes.fine);
    if (sizes.coarse > 0) out.coarse = knots(sizes.coarse);
  }
  if (sizes.landmarks > 0) {
    const SymmetricOrder order(features, weights);
    out.landmarks = order.spaced(sizes.landmarks);
    out.scale = 0.7 * detail::median_distance(features, out.landmarks, order, weights);
  }
  return out;
}

// The local bases of a shape on given rows; owns what their terms point to.
class LocalBases {
 public:
  LocalBases(const Engine& engine, const BasisShape& shape, const ConstMatrixRef& features) {
    const auto d = static_cast<std::size_t>(features.cols());
    const Recipe recipe = shape.recipe;
    require(recipe == Recipe::temperature || shape.own.size() == d,
            "A basis has knots of its own for every coordinate.");
    require(recipe == Recipe::hats || recipe == Recipe::temperature ||
                (!shape.fine.empty() && (recipe == Recipe::own_top || !shape.coarse.empty())),
            "A basis has knots of the confidence.");
    bases_.resize(d);
    own_.resize(d);
    if (recipe != Recipe::hats) {
      simplex_ = std::make_unique<SimplexRows>(features);
      values_ = features;
    }
    if (recipe == Recipe::temperature || recipe == Recipe::own_top) {
      with_log_ = features.unaryExpr([](double p) { return p * SimplexRows::log_of(p); });
      with_entropy_ = simplex_->entropy.asDiagonal() * features;
    }
    if (recipe == Recipe::temperature) {
      for (const double t : basis_temperatures) {
        tempered_.push_back(detail::tempered(features, *simplex_, t));
      }
    }
    const bool both = recipe == Recipe::own_both;
    if (both) coarse_ = hat_positions(engine, simplex_->confidence, shape.coarse);
    if (both || recipe == Recipe::own_top) {
      fine_ = hat_positions(engine, simplex_->confidence, shape.fine);
    }
    for_columns(engine, features.cols(), [&](const Engine& within, Index j) {
      const auto at = static_cast<std::size_t>(j);
      if (recipe == Recipe::temperature) {
        column(at, nullptr);
        column(at, values_.col(j).data());
        for (const Matrix& tempered : tempered_) column(at, tempered.col(j).data());
      } else {
        own_[at] = hat_positions(within, features.col(j), shape.own[at]);
        hats(at, own_[at], shape.own[at], nullptr, false);
      }
      if (recipe == Recipe::temperature || recipe == Recipe::own_top) {
        column(at, with_log_.col(j).data());
        column(at, with_entropy_.col(j).data());
      }
      if (both) hats(at, coarse_, shape.coarse, values_.col(j).data(), false);
      if (both || recipe == Recipe::own_top) hats(at, fine_, shape.fine, nullptr, true);
    });
  }

  const std::vector<LocalBasis>& bases() const { return bases_; }

 private:
  void column(std::size_t j, const double* factor) {
    LocalTerm term;
    term.factor = factor;
    bases_[j].add(term, 1);
  }
  void hats(std::size_t j, const HatPositions& positions, const std::vector<double>& knots,
            const double* factor, bool gated) {
    LocalTerm term;
    term.hats = &positions;
    term.factor = factor;
    if (gated) {
      term.gate = values_.col(static_cast<Index>(j)).data();
      term.open = simplex_->confidence.data();
    }
    bases_[j].add(term, static_cast<Index>(knots.size()));
  }

  std::unique_ptr<SimplexRows> simplex_;
  Matrix values_, with_log_, with_entropy_;
  std::vector<Matrix> tempered_;
  std::vector<HatPositions> own_;
  HatPositions fine_, coarse_;
  std::vector<LocalBasis> bases_;
};

// The groups of a shared basis; `columns` is the user's matrix.
inline std::vector<SharedGroup> shared_groups(const BasisShape& shape,
                                              const ConstMatrixRef& features,
                                              const ConstMatrixRef& columns) {
  std::vector<SharedGroup> out(shape.recipe == Recipe::top_affine
                                   ? static_cast<std::size_t>(shape.classes) + 1
                                   : std::size_t{1});
  const Index n = shape.recipe == Recipe::columns ? columns.rows() : features.rows();
  if (shape.recipe == Recipe::top_affine) {
    const SimplexRows simplex(features);
    for (Index i = 0; i < n; ++i) {
      out[static_cast<std::size_t>(simplex.top[static_cast<std::size_t>(i)])].rows.push_back(i);
    }
  } else {
    out[0].rows.resize(static_cast<std::size_t>(n));
    std::iota(out[0].rows.begin(), out[0].rows.end(), Index{0});
  }
  for (SharedGroup& group : out) {
    group.columns = [&](const std::vector<Index>& rows) -> Matrix {
      if (shape.recipe == Recipe::top_affine) return detail::affine_columns(features, rows);
      if (shape.recipe == Recipe::kernel) return detail::kernel_columns(features, shape, rows);
      Matrix block(static_cast<Index>(rows.size()), columns.cols());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        block.row(static_cast<Index>(i)) = columns.row(rows[i]);
      }
      return block;
    };
  }
  return out;
}

// The values of a local basis as columns.
inline Matrix local_columns(const LocalBasis& basis, const std::vector<Index>& rows) {
  Matrix out = Matrix::Zero(static_cast<Index>(rows.size()), basis.columns());
  LocalRow row;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    basis.row(rows[r], row);
    for (int a = 0; a < row.size; ++a) out(static_cast<Index>(r), row.column[a]) += row.value[a];
  }
  return out;
}

Rung shape_rung(const Engine& engine, const DenseAlgebra& worker, const BasisShape& shape,
                const ConstMatrixRef& features, const ConstMatrixRef& columns,
                const ConstMatrixRef& residuals, const RowWeights& weights,
                const RowClusters& clusters, bool moments) {
  const Index d = residuals.cols();
  std::vector<ClusterPart> parts;
  if (is_shared(shape.recipe)) {
    const std::vector<SharedGroup> groups = shared_groups(shape, features, columns);
    if (!clusters.given()) return shared_rung(engine, groups, residuals, weights, moments);
    for (const SharedGroup& group : groups) {
      parts.push_back({group, std::vector<Index>(static_cast<std::size_t>(d))});
      std::iota(parts.back().coordinates.begin(), parts.back().coordinates.end(), Index{0});
    }
    return cluster_rung(engine, worker, parts, residuals, weights, clusters, moments);
  }
  const LocalBases local(engine, shape, features);
  if (!clusters.given()) return local_rung(engine, local.bases(), residuals, weights, moments);
  require(static_cast<Index>(local.bases().size()) == d, "There must be a basis per coordinate.");
  if (clusters_are_small(clusters, residuals.rows(), local.bases()[0].columns())) {
    return local_cluster_rung(engine, worker, local.bases(), features, residuals, weights, clusters,
                              moments);
  }
  for (Index j = 0; j < d; ++j) {
    const LocalBasis& basis = local.bases()[static_cast<std::size_t>(j)];
    SharedGroup group;
    group.columns = [&basis](const std::vector<Index>& rows) { return local_columns(basis, rows); };
    for (Index i = 0; i < residuals.rows(); ++i) {
      if (!std::isnan(features(i, j))) group.rows.push_back(i);
    }
    parts.push_back({group, {j}});
  }
  return cluster_rung(engine, worker, parts, residuals, weights, clusters, moments);
}

void add_basis_gap(const Engine& engine, const BasisShape& shape,
                   const std::vector<Matrix>& weights, const ConstMatrixRef& features,
                   const ConstMatrixRef& columns, double scale, MatrixRef out) {
  const Index n = out.rows();
  require(n == (shape.recipe == Recipe::columns ? columns : features).rows(),
          "There is a gap for every row.");
  if (!is_shared(shape.recipe)) {
    require(out.cols() == features.cols() && static_cast<Index>(weights.size()) == out.cols(),
            "A basis has weights for every coordinate.");
    const LocalBases local(engine, shape, features);
    for_columns(engine, out.cols(), [&](const Engine& within, Index j) {
      const auto at = static_cast<std::size_t>(j);
      const LocalBasis& basis = local.bases()[at];
      require(weights[at].cols() == 1, "Weights of a coordinate are one column.");
      const Vector w = weights[at].col(0);
      require(w.size() == basis.columns(), "Weights and columns do not agree.");
      parallel_for(within, (n + rung_block - 1) / rung_block, [&](Index task) {
        LocalRow row;
        for (Index i = task * rung_block; i < std::min(n, (task + 1) * rung_block); ++i) {
          basis.row(i, row);
          out(i, j) += scale * detail::linear(row, w);
        }
      });
    });
    return;
  }
  const std::vector<SharedGroup> groups = shared_groups(shape, features, columns);
  require(weights.size() == groups.size(), "A basis has weights for every group.");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (weights[g].size() == 0) continue;  // no row of the fit was here
    require(weights[g].cols() == out.cols(), "Weights and gaps do not agree.");
    detail::for_shared_blocks(engine, groups[g],
                              [&](const std::vector<Index>& rows, const Matrix& block) {
                                const Matrix gap = engine.dense.multiply(block, weights[g]);
                                for (std::size_t i = 0; i < rows.size(); ++i) {
                                  out.row(rows[i]) += scale * gap.row(static_cast<Index>(i));
                                }
                              });
  }
}

}  // namespace calibrisk

#endif
