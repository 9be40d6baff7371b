// SPDX-License-Identifier: GPL-3.0-or-later
// A rung where rows belong to clusters: a row's whole cluster is left out of its gap. With the
// orthonormal basis B_c, weights V_c and residuals e_c of the rows of cluster c, x_c = B_c'V_c e_c
// and A_c = (I - B_c'V_c B_c)^-1,
//   g_c  = B_c A_c sum_{c' != c} x_c'         the fit of all other clusters, at the rows of c
//   psi  = sum_{c != c'} x_c'A_c x_c' / V     a sum over pairs of clusters
// A_c = 0 in directions where a cluster's leverage exceeds the limit. For clusters of one row A_c
// x_c = x_c / (1 - h): the rung of independent rows. Clusters are summed before squares are taken,
// so noise, skewness and scatter are those of the pairs of clusters.
#ifndef CALIBRISK_LADDER_CLUSTER_RUNG_H
#define CALIBRISK_LADDER_CLUSTER_RUNG_H

#include <calibrisk/ladder/local_basis.h>
#include <calibrisk/ladder/shared_rung.h>

#include <memory>

namespace calibrisk {

// A basis of some coordinates of the residuals, on some rows.
struct ClusterPart {
  SharedGroup group;
  std::vector<Index> coordinates;
};

// `worker`: dense algebra for the engine's workers. Without `moments` only psi, gaps and weights.
// Both passes take the same decompositions of clusters, which are kept where they have at most
// `most_kept` numbers (32 MB).
CALIBRISK_SHARED Rung cluster_rung(const Engine& engine, const DenseAlgebra& worker,
                                   const std::vector<ClusterPart>& parts,
                                   const ConstMatrixRef& residuals, const RowWeights& weights,
                                   const RowClusters& clusters, bool moments,
                                   double most_kept = 4e6);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSE_RUNGS) || \
    defined(CALIBRISK_COMPILE_CLUSTERS)
namespace detail {

// The root of the sum of a cluster's squared leverages up to which A_c takes no eigendecomposition.
constexpr double small_leverage = 0.5;

// (I - H)^-1/2 w of small leverages: sum_k c_k H^k w.
template <class Square, class Columns>
Columns root_of_small(const Square& h, const Columns& w) {
  const double least = 1e-17 * w.cwiseAbs().maxCoeff();
  Columns moved = w, turned = w, out = w;
  double coefficient = 1.0;
  for (int k = 1; moved.cwiseAbs().maxCoeff() > least; ++k) {
    turned.noalias() = h.lazyProduct(moved);
    moved.swap(turned);
    coefficient *= (2.0 * k - 1.0) / (2.0 * k);
    out += coefficient * moved;
  }
  return out;
}

inline Matrix inverse_of_small(const DenseAlgebra& dense, const Matrix& h) {
  Matrix factor = Matrix::Identity(h.rows(), h.rows()) - h;
  Matrix inverse = Matrix::Identity(h.rows(), h.rows());
  require(dense.cholesky(factor), "I - H of small leverages is positive definite.");
  dense.solve_lower(factor, false, inverse);
  return dense.crossprod(inverse);
}

}  // namespace detail
#endif

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSE_RUNGS)
namespace detail {

// A_c of a cluster with H = B B' (B: its rows times the roots of their weights), from the smaller
// side of H: by eigenvectors, or of small leverages by the inverse and powers.
class ClusterLeverage {
 public:
  // `dense`: that of the workers
  ClusterLeverage(const DenseAlgebra& dense, Matrix basis)
      : basis_(std::move(basis)),
        square_(tall() ? dense.crossprod(basis_) : dense.crossprod(basis_.transpose())),
        small_(square_.norm() <= small_leverage) {
    if (small_) {
      vectors_ = inverse_of_small(dense, square_);
      return;
    }
    SymEigen spectrum = dense.sym_eigen(std::move(square_));
    vectors_ = std::move(spectrum.vectors);
    scale_ = spectrum.values.unaryExpr([](double h) { return left_out_scale(h); });
  }

  Matrix plain(const Matrix& w) const { return basis_.transpose() * w; }
  // A^power B'w
  Matrix scaled(const Matrix& w, bool root) const {
    return tall() ? turn(root, basis_.transpose() * w) : Matrix(basis_.transpose() * turn(root, w));
  }
  // B A z
  Matrix fitted(const Matrix& z) const {
    return tall() ? Matrix(basis_ * turn(false, z)) : turn(false, basis_ * z);
  }
  const Matrix& basis() const { return basis_; }

 private:
  bool tall() const { return basis_.rows() > basis_.cols(); }
  Matrix turn(bool root, const Matrix& x) const {
    if (small_) return root ? root_of_small(square_, x) : Matrix(vectors_ * x);
    const Vector a = root ? Vector(scale_.cwiseSqrt()) : scale_;
    return vectors_ * (a.asDiagonal() * (vectors_.transpose() * x));
  }

  Matrix basis_, square_;
  bool small_;
  Matrix vectors_;  // or the inverse
  Vector scale_;
};

struct FittedPart {
  std::vector<std::vector<Index>> rows;  // by cluster
  Matrix turned;                         // [columns x kept]
  Index first = 0;                       // its place among the columns of all parts
  Index kept() const { return turned.cols(); }
};

inline FittedPart whitened_part(const Engine& engine, const ClusterPart& part,
                                const RowWeights& weights, const RowClusters& clusters, Index n) {
  FittedPart out;
  out.rows.resize(static_cast<std::size_t>(clusters.units(n)));
  for (Index i : part.group.rows) {
    out.rows[static_cast<std::size_t>(clusters.unit(i))].push_back(i);
  }
  out.turned = group_whitener(engine, part.group, weights).transpose();
  return out;
}

// One part for the rows of a cluster: the roots of their weights times basis and residuals.
struct ClusterRows {
  Vector root;
  Matrix residuals;
  ClusterLeverage leverage;
};

inline ClusterRows cluster_rows(const DenseAlgebra& dense, const ClusterPart& part,
                                const FittedPart& fitted, const std::vector<Index>& rows,
                                const ConstMatrixRef& residuals, const RowWeights& weights) {
  const auto m = static_cast<Index>(rows.size());
  Vector root(m);
  Matrix e(m, static_cast<Index>(part.coordinates.size()));
  for (Index r = 0; r < m; ++r) {
    const Index i = rows[static_cast<std::size_t>(r)];
    root(r) = std::sqrt(weights(i));
    for (std::size_t j = 0; j < part.coordinates.size(); ++j) {
      e(r, static_cast<Index>(j)) = root(r) * residuals(i, part.coordinates[j]);
    }
  }
  Matrix basis = root.asDiagonal() * (part.group.columns(rows) * fitted.turned);
  return {root, e, ClusterLeverage(dense, std::move(basis))};
}

}  // namespace detail
#endif

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSE_RUNGS) || \
    defined(CALIBRISK_COMPILE_CLUSTERS)
namespace detail {

// Sums over clusters of root root', x x', y x' and y y' (x_c, y_c = A_c x_c and the root of A_c
// times x_c); the last three if variances are exact.
struct ClusterProducts {
  Matrix s, t0, t1, t2;

  void add(const ClusterProducts& other) {
    s += other.s;
    t0 += other.t0;
    t1 += other.t1;
    t2 += other.t2;
  }
};

// Sums over pairs of clusters, added up over blocks of them: by columns, or by clusters where there
// are fewer of those.
class ClusterSums {
 public:
  ClusterSums(const Engine& engine, Index units, Index columns)
      : engine_(engine), by_unit_(units < columns) {
    const Index size = std::min(units, columns);
    sums_.exact = rung_is_exact(units, columns);
    if (by_unit_) {
      x_ = y_ = root_ = Matrix(units, columns);
      return;
    }
    all_.s = Matrix::Zero(size, size);
    if (sums_.exact) all_.t0 = all_.t1 = all_.t2 = all_.s;
  }

  bool by_unit() const { return by_unit_; }
  bool exact() const { return sums_.exact; }

  // Takes the products of all clusters, by columns; `own`: the sum of the squares of x_c'y_c.
  void take(ClusterProducts products, double own) {
    all_ = std::move(products);
    sums_.own = own;
  }

  // Rows: x_c, A_c x_c and the root of A_c times x_c of the clusters from `begin` on.
  void add(Index begin, const Matrix& x, const Matrix& y, const Matrix& root) {
    const Vector own = x.cwiseProduct(y).rowwise().sum();
    sums_.own += own.squaredNorm();
    if (by_unit_) {
      x_.middleRows(begin, x.rows()) = x;
      y_.middleRows(begin, x.rows()) = y;
      root_.middleRows(begin, x.rows()) = root;
      return;
    }
    all_.s += engine_.dense.crossprod(root);
    if (!sums_.exact) return;
    all_.t0 += engine_.dense.crossprod(x);
    all_.t1 += engine_.dense.multiply_at_b(y, x);
    all_.t2 += engine_.dense.crossprod(y);
  }

  RungSums finish() {
    if (by_unit_) {
      all_.s = engine_.dense.multiply_a_bt(root_, root_);
      if (sums_.exact) {
        const Matrix pairs = engine_.dense.multiply_a_bt(y_, x_);
        sums_.t20 = pairs.squaredNorm();
        sums_.t11 = pairs.cwiseProduct(pairs.transpose()).sum();
      }
    } else if (sums_.exact) {
      sums_.t20 = all_.t2.cwiseProduct(all_.t0).sum();
      sums_.t11 = all_.t1.cwiseProduct(all_.t1.transpose()).sum();
    }
    sums_.s2 = all_.s.squaredNorm();
    sums_.s3 = all_.s.cols() > bound_columns ? largest_eigenvalue(engine_, all_.s) * sums_.s2
                                             : trace_cube(engine_, all_.s);
    return sums_;
  }

 private:
  const Engine& engine_;
  bool by_unit_;
  Matrix x_, y_, root_;
  ClusterProducts all_;
  RungSums sums_;
};

}  // namespace detail
#endif

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSE_RUNGS)
Rung cluster_rung(const Engine& engine, const DenseAlgebra& worker,
                  const std::vector<ClusterPart>& parts, const ConstMatrixRef& residuals,
                  const RowWeights& weights, const RowClusters& clusters, bool moments,
                  double most_kept) {
  using namespace detail;
  constexpr Index block = 256;
  const Index n = residuals.rows(), units = clusters.units(n);
  Rung out;
  out.gap = Matrix::Zero(n, residuals.cols());
  out.half = Vector::Zero(n);
  std::vector<FittedPart> fitted;
  for (const ClusterPart& part : parts) {
    fitted.push_back(whitened_part(engine, part, weights, clusters, n));
    fitted.back().first = out.columns;
    out.columns += fitted.back().kept() * static_cast<Index>(part.coordinates.size());
  }

  double numbers = 0.0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    numbers +=
        static_cast<double>(parts[p].group.rows.size()) * static_cast<double>(fitted[p].kept());
  }
  const bool keep = numbers <= most_kept;
  std::vector<std::vector<std::shared_ptr<const ClusterRows>>> known(
      parts.size(),
      std::vector<std::shared_ptr<const ClusterRows>>(static_cast<std::size_t>(keep ? units : 0)));

  // task(part, what is fitted of it, the cluster's rows of it, what these have of it)
  const auto for_parts = [&](Index c, const auto& task) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto at = static_cast<std::size_t>(c);
      const std::vector<Index>& rows = fitted[p].rows[at];
      if (rows.empty() || fitted[p].kept() == 0) continue;
      std::shared_ptr<const ClusterRows> own = keep ? known[p][at] : nullptr;
      if (!own) {
        own = std::make_shared<const ClusterRows>(
            cluster_rows(worker, parts[p], fitted[p], rows, residuals, weights));
        if (keep) known[p][at] = own;
      }
      task(parts[p], fitted[p], rows, *own);
    }
  };
  Vector sum = Vector::Zero(out.columns), scaled_sum = sum;
  std::unique_ptr<ClusterSums> sums;
  if (moments) sums = std::make_unique<ClusterSums>(engine, units, out.columns);
  for (Index begin = 0; begin < units; begin += block) {
    const Index size = std::min(block, units - begin);
    Matrix x = Matrix::Zero(size, out.columns), y = x, root = x;
    parallel_for(engine, size, [&](Index at) {
      for_parts(begin + at, [&](const ClusterPart&, const FittedPart& fit,
                                const std::vector<Index>&, const ClusterRows& own) {
        const auto put = [&](Matrix& to, const Matrix& value) {
          to.row(at).segment(fit.first, value.size()) =
              Eigen::Map<const Vector>(value.data(), value.size()).transpose();
        };
        put(x, own.leverage.plain(own.residuals));
        put(y, own.leverage.scaled(own.residuals, false));
        if (moments) put(root, own.leverage.scaled(own.residuals, true));
      });
    });
    sum += x.colwise().sum().transpose();
    scaled_sum += y.colwise().sum().transpose();
    if (moments) sums->add(begin, x, y, root);
  }
  parallel_for(engine, units, [&](Index c) {
    for_parts(c, [&](const ClusterPart& part, const FittedPart& fit, const std::vector<Index>& rows,
                     const ClusterRows& own) {
      const auto others = [&](const Vector& all, const Matrix& mine) {
        return Matrix(Eigen::Map<const Matrix>(all.data() + fit.first, mine.rows(), mine.cols()) -
                      mine);
      };
      const Matrix gap = own.leverage.fitted(others(sum, own.leverage.plain(own.residuals)));
      const Matrix back =
          own.leverage.basis() * others(scaled_sum, own.leverage.scaled(own.residuals, false));
      for (Index r = 0; r < gap.rows(); ++r) {
        const Index i = rows[static_cast<std::size_t>(r)];
        for (std::size_t j = 0; j < part.coordinates.size(); ++j) {
          const auto column = static_cast<Index>(j);
          const Index at = part.coordinates[j];
          out.gap(i, at) = gap(r, column) / own.root(r);
          out.half(i) += residuals(i, at) * (gap(r, column) + back(r, column)) / own.root(r) / 2.0;
        }
      }
    });
  });
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Eigen::Map<const Matrix> coefficients(sum.data() + fitted[p].first, fitted[p].kept(),
                                                static_cast<Index>(parts[p].coordinates.size()));
    out.weights.push_back(fitted[p].turned * coefficients);
  }
  finish_rung(engine, residuals, weights, clusters, moments ? sums->finish() : RungSums(), out);
  return out;
}
#endif

}  // namespace calibrisk

#endif
