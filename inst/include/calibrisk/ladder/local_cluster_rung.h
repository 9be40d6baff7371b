// SPDX-License-Identifier: GPL-3.0-or-later
// The rung of cluster_rung.h on local bases, for clusters of few rows. With the basis B_c of a
// cluster's rows times the roots of their weights (few nonzero values, not orthonormal), the
// inverse Gram matrix J of all rows and H_c = B_c J B_c', A_c is (I - H_c)^-1, a matrix of the
// cluster's rows:
//   x_c = B_c'w_c,  A_c x_c = B_c'A_c w_c,  g_c = A_c (B_c J sum_{c'} x_c' - H_c w_c)
// A cluster costs the square of its nonzero values, regardless of the size of the basis.
#ifndef CALIBRISK_LADDER_LOCAL_CLUSTER_RUNG_H
#define CALIBRISK_LADDER_LOCAL_CLUSTER_RUNG_H

#include <calibrisk/ladder/cluster_rung.h>
#include <calibrisk/ladder/local_rung.h>

namespace calibrisk {

// Whether a cluster's rows are so few that their pairs cost less than the columns of the basis.
inline bool clusters_are_small(const RowClusters& clusters, Index n, Index columns) {
  double cubes = 0.0;
  for (Index c = 0; c < clusters.units(n); ++c) {
    cubes += std::pow(static_cast<double>(clusters.rows(c).size()), 3.0);
  }
  const auto width = static_cast<double>(columns);
  return cubes <= static_cast<double>(n) * std::max(width * width, 1000.0);
}

// `bases`: one per column of the residuals. A row without a value (NaN, and residual 0) in some
// coordinates is not a row of theirs. Without `moments` only psi, gaps and weights.
CALIBRISK_SHARED Rung local_cluster_rung(const Engine& engine, const DenseAlgebra& worker,
                                         const std::vector<LocalBasis>& bases,
                                         const ConstMatrixRef& features,
                                         const ConstMatrixRef& residuals, const RowWeights& weights,
                                         const RowClusters& clusters, bool moments);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_CLUSTERS)
namespace detail {

// From more columns on the sums over clusters are made in one block.
constexpr Index shared_columns = 400;
// As small_leverage, for few rows, where an eigendecomposition takes as long as some powers.
constexpr double small_leverage_of_few = 0.1;
constexpr int few_rows = 8;

// The rows of a coordinate, cluster by cluster, and what leaving out their cluster gives.
struct ClusteredCoordinate {
  const LocalBasis* basis = nullptr;
  Index coordinate = 0;
  Matrix whitener, inverse;         // [kept x columns], J
  Index first = 0, first_kept = 0;  // its place among the columns of all coordinates
  std::vector<Index> rows;
  std::vector<std::size_t> begin;   // of cluster c: rows begin[c], ..., begin[c + 1] - 1
  std::vector<std::size_t> square;  // where A_c begins
  Vector root, w, scaled, rooted;   // roots of the weights, w_c, A_c w_c, A_c^(1/2) w_c
  Vector own, own_scaled;           // A_c H_c w_c, H_c A_c w_c
  Vector left_out;                  // A_c

  std::size_t size(Index c) const {
    const auto at = static_cast<std::size_t>(c);
    return begin[at + 1] - begin[at];
  }
};

inline ClusteredCoordinate clustered_coordinate(const Engine& engine, const LocalBasis& basis,
                                                Index coordinate, const ConstVectorRef& x,
                                                const ConstVectorRef& e, const RowWeights& weights,
                                                const RowClusters& clusters) {
  const Index n = x.size(), units = clusters.units(n);
  ClusteredCoordinate out;
  out.basis = &basis;
  out.coordinate = coordinate;
  const auto is_row = [&](Index i) { return !std::isnan(x(i)); };
  out.whitener = whitening(local_gram(engine, basis, n, weights, is_row));
  out.inverse = out.whitener.transpose() * out.whitener;
  out.begin = out.square = {0};
  out.rows.reserve(static_cast<std::size_t>(n));
  for (Index c = 0; c < units; ++c) {
    for (Index i : clusters.rows(c)) {
      if (is_row(i)) out.rows.push_back(i);
    }
    const std::size_t size = out.rows.size() - out.begin.back();
    out.begin.push_back(out.rows.size());
    out.square.push_back(out.square.back() + size * size);
  }
  const auto all = static_cast<Index>(out.rows.size());
  out.root.resize(all);
  for (Index r = 0; r < all; ++r) {
    out.root(r) = std::sqrt(weights(out.rows[static_cast<std::size_t>(r)]));
  }
  out.w.resize(all);
  for (Index r = 0; r < all; ++r) {
    out.w(r) = out.root(r) * e(out.rows[static_cast<std::size_t>(r)]);
  }
  out.scaled = out.rooted = out.own = out.own_scaled = Vector(all);
  out.left_out.resize(static_cast<Index>(out.square.back()));
  return out;
}

// (I - H)^-1 of small leverages: by powers of H, or by a Cholesky factor where these take longer.
template <class Square>
Square inverse_of_small(const DenseAlgebra&, const Square& h) {
  Square power = Square::Identity(h.rows(), h.rows()), next = power, out = power;
  while (power.cwiseAbs().maxCoeff() > 1e-17) {
    next.noalias() = power.lazyProduct(h);
    power.swap(next);
    out += power;
  }
  return out;
}

// A_c and its products with w_c. `Square`, `Column`: types of its matrices and vectors.
template <class Square, class Column>
void leave_out_cluster(const DenseAlgebra& dense, ClusteredCoordinate& part, Index c,
                       std::vector<LocalRow>& rows) {
  const auto from = static_cast<Index>(part.begin[static_cast<std::size_t>(c)]);
  const auto m = static_cast<Index>(part.size(c));
  if (rows.size() < static_cast<std::size_t>(m)) rows.resize(static_cast<std::size_t>(m));
  Square h(m, m);
  for (Index r = 0; r < m; ++r) {
    LocalRow& row = rows[static_cast<std::size_t>(r)];
    part.basis->row(part.rows[static_cast<std::size_t>(from + r)], row);
    for (int a = 0; a < row.size; ++a) row.value[a] *= part.root(from + r);
    for (Index s = 0; s <= r; ++s) {
      const LocalRow& other = rows[static_cast<std::size_t>(s)];
      double sum = 0.0;
      for (int a = 0; a < row.size; ++a) {
        for (int b = 0; b < other.size; ++b) {
          sum += row.value[a] * other.value[b] * part.inverse(other.column[b], row.column[a]);
        }
      }
      h(r, s) = h(s, r) = sum;
    }
  }
  Eigen::Map<Matrix> a(part.left_out.data() + part.square[static_cast<std::size_t>(c)], m, m);
  const Column w = part.w.segment(from, m);
  if (h.norm() <= (m <= few_rows ? small_leverage_of_few : small_leverage)) {
    part.rooted.segment(from, m) = root_of_small(h, w);
    a = inverse_of_small(dense, h);
  } else {
    const SymEigen spectrum = dense.sym_eigen(h);
    const double largest = spectrum.values(m - 1);
    // if directions are left out, those that the basis does not have are too: rounding has them
    const double least = largest > largest_leverage ? 1e-14 * largest : -1.0;
    const Vector scale =
        spectrum.values.unaryExpr([&](double x) { return x <= least ? 0.0 : left_out_scale(x); });
    const Vector turned = spectrum.vectors.transpose() * w;
    a.noalias() = spectrum.vectors * scale.asDiagonal() * spectrum.vectors.transpose();
    part.rooted.segment(from, m).noalias() =
        spectrum.vectors * scale.cwiseSqrt().cwiseProduct(turned);
  }
  const Column scaled = a.lazyProduct(w), smooth = h.lazyProduct(w);
  part.scaled.segment(from, m) = scaled;
  part.own.segment(from, m) = a.lazyProduct(smooth);
  part.own_scaled.segment(from, m) = h.lazyProduct(scaled);
}

inline void leave_out_cluster(const DenseAlgebra& dense, ClusteredCoordinate& part, Index c,
                              std::vector<LocalRow>& rows) {
  // of few rows without memory of the heap, which takes longer than their products
  using Square =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, few_rows, few_rows>;
  using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, few_rows, 1>;
  const std::size_t size = part.size(c);
  if (size == 0) return;
  if (size <= few_rows) {
    leave_out_cluster<Square, Column>(dense, part, c, rows);
  } else {
    leave_out_cluster<Matrix, Vector>(dense, part, c, rows);
  }
}

// A value in the sums over the rows of a cluster.
struct ClusterEntry {
  Index column;
  double x, y, root;
};

// The values of the vectors x_c, A_c x_c and A_c^(1/2) x_c over the columns of all coordinates, the
// ones of a column together if there are many.
inline void cluster_entries(const std::vector<ClusteredCoordinate>& parts, Index columns, Index c,
                            std::vector<ClusterEntry>& out) {
  out.clear();
  LocalRow row;
  for (const ClusteredCoordinate& part : parts) {
    const auto at = static_cast<std::size_t>(c);
    for (std::size_t r = part.begin[at]; r < part.begin[at + 1]; ++r) {
      part.basis->row(part.rows[r], row);
      const auto i = static_cast<Index>(r);
      for (int a = 0; a < row.size; ++a) {
        const double value = part.root(i) * row.value[a];
        out.push_back({part.first + row.column[a], value * part.w(i), value * part.scaled(i),
                       value * part.rooted(i)});
      }
    }
  }
  if (static_cast<Index>(out.size()) <= columns) return;
  std::vector<ClusterEntry> sums;
  for (Index k = 0; k < columns; ++k) sums.push_back({k, 0.0, 0.0, 0.0});
  for (const ClusterEntry& entry : out) {
    ClusterEntry& sum = sums[static_cast<std::size_t>(entry.column)];
    sum.x += entry.x;
    sum.y += entry.y;
    sum.root += entry.root;
  }
  out.swap(sums);
}

}  // namespace detail

Rung local_cluster_rung(const Engine& engine, const DenseAlgebra& worker,
                        const std::vector<LocalBasis>& bases, const ConstMatrixRef& features,
                        const ConstMatrixRef& residuals, const RowWeights& weights,
                        const RowClusters& clusters, bool moments) {
  using namespace detail;
  const Index n = residuals.rows(), d = residuals.cols(), units = clusters.units(n);
  const Index block = std::max<Index>(4096, units / 64);
  const Index some = std::min<Index>(block, units / 64 + 1);  // of clusters by themselves
  Rung out;
  out.gap = Matrix::Zero(n, d);
  out.half = Vector::Zero(n);
  std::vector<ClusteredCoordinate> parts(static_cast<std::size_t>(d));
  for_columns(engine, d, [&](const Engine& within, Index j) {
    const auto at = static_cast<std::size_t>(j);
    parts[at] = clustered_coordinate(within, bases[at], j, features.col(j), residuals.col(j),
                                     weights, clusters);
  });
  Index columns = 0;
  for (ClusteredCoordinate& part : parts) {
    part.first = columns;
    part.first_kept = out.columns;
    columns += part.basis->columns();
    out.columns += part.whitener.rows();
  }
  parallel_for(engine, (units + some - 1) / some, [&](Index task) {
    std::vector<LocalRow> rows;
    for (Index c = task * some; c < std::min(units, (task + 1) * some); ++c) {
      for (ClusteredCoordinate& part : parts) leave_out_cluster(worker, part, c, rows);
    }
  });

  std::unique_ptr<ClusterSums> sums;
  if (moments) sums = std::make_unique<ClusterSums>(engine, units, out.columns);
  // of all clusters, whose vectors are whitened at the end
  struct Total {
    Matrix vectors;   // [columns x 2]: sums of x_c, A_c x_c
    Matrix products;  // [1 or 4 x columns^2]: the sums of ClusterProducts, those of a pair together
  };
  const bool by_unit = moments && sums->by_unit(), squares = moments && !by_unit;
  const bool exact = squares && sums->exact();
  Total zero{Matrix::Zero(columns, 2), {}};
  if (squares) zero.products = Matrix::Zero(exact ? 4 : 1, columns * columns);
  const Total total = parallel_reduce(
      engine, units, columns <= shared_columns ? block : units, zero,
      [&](Index begin, Index size) {
        Total part = zero;
        std::vector<ClusterEntry> entries;
        for (Index c = begin; c < begin + size; ++c) {
          cluster_entries(parts, columns, c, entries);
          for (const ClusterEntry& entry : entries) {
            part.vectors(entry.column, 0) += entry.x;
            part.vectors(entry.column, 1) += entry.y;
          }
          if (!squares) continue;
          for (const ClusterEntry& l : entries) {
            for (const ClusterEntry& k : entries) {
              double* pair = &part.products(0, l.column * columns + k.column);
              pair[0] += k.root * l.root;
              if (!exact) continue;
              pair[1] += k.x * l.x;
              pair[2] += k.y * l.x;
              pair[3] += k.y * l.y;
            }
          }
        }
        return part;
      },
      [](Total& to, const Total& part) {
        to.vectors += part.vectors;
        to.products += part.products;
      });

  // [kept x columns] of all coordinates, block by block
  const auto whitened = [&](const Matrix& x) {
    Matrix half(out.columns, x.cols());
    for (const ClusteredCoordinate& part : parts) {
      half.middleRows(part.first_kept, part.whitener.rows()).noalias() =
          part.whitener * x.middleRows(part.first, part.whitener.cols());
    }
    return half;
  };
  if (squares) {
    const auto both_sides = [&](Index which) {
      if (which >= total.products.rows()) return Matrix();
      const Vector values = total.products.row(which).transpose();
      const Matrix x = Eigen::Map<const Matrix>(values.data(), columns, columns);
      return Matrix(whitened(whitened(x).transpose()).transpose());
    };
    ClusterProducts products{both_sides(0), both_sides(1), both_sides(2), both_sides(3)};
    double own = 0.0;
    for (Index c = 0; c < units; ++c) {
      double sum = 0.0;
      for (const ClusteredCoordinate& part : parts) {
        const auto from = static_cast<Index>(part.begin[static_cast<std::size_t>(c)]);
        const auto size = static_cast<Index>(part.size(c));
        sum += part.w.segment(from, size).dot(part.own_scaled.segment(from, size));
      }
      own += sum * sum;
    }
    sums->take(std::move(products), own);
  } else if (by_unit) {
    Matrix x = Matrix::Zero(columns, units), y = x, root = x;
    std::vector<ClusterEntry> entries;
    for (Index c = 0; c < units; ++c) {
      cluster_entries(parts, columns, c, entries);
      for (const ClusterEntry& entry : entries) {
        x(entry.column, c) += entry.x;
        y(entry.column, c) += entry.y;
        root(entry.column, c) += entry.root;
      }
    }
    sums->add(0, whitened(x).transpose(), whitened(y).transpose(), whitened(root).transpose());
  }

  std::vector<Vector> plain, scaled;  // coefficients of the sums of x_c and of A_c x_c
  for (const ClusteredCoordinate& part : parts) {
    const auto vectors = total.vectors.middleRows(part.first, part.basis->columns());
    plain.push_back(part.inverse * vectors.col(0));
    scaled.push_back(part.inverse * vectors.col(1));
    out.weights.push_back(plain.back());
  }
  parallel_for(engine, (units + some - 1) / some, [&](Index task) {
    LocalRow row;
    Matrix smooth;
    for (Index c = task * some; c < std::min(units, (task + 1) * some); ++c) {
      for (std::size_t p = 0; p < parts.size(); ++p) {
        const ClusteredCoordinate& part = parts[p];
        const auto at = static_cast<std::size_t>(c);
        const auto from = static_cast<Index>(part.begin[at]);
        const auto m = static_cast<Index>(part.size(c));
        if (smooth.rows() < m) smooth.resize(m, 3);
        for (Index r = 0; r < m; ++r) {
          part.basis->row(part.rows[part.begin[at] + static_cast<std::size_t>(r)], row);
          smooth(r, 0) = part.root(from + r) * linear(row, plain[p]);
          smooth(r, 1) = part.root(from + r) * linear(row, scaled[p]);
        }
        const Eigen::Map<const Matrix> a(part.left_out.data() + part.square[at], m, m);
        auto gap = smooth.col(2).head(m);
        gap = a.lazyProduct(smooth.col(0).head(m)) - part.own.segment(from, m);
        for (Index r = 0; r < m; ++r) {
          const Index i = part.rows[part.begin[at] + static_cast<std::size_t>(r)];
          const double back = smooth(r, 1) - part.own_scaled(from + r), root = part.root(from + r);
          out.gap(i, part.coordinate) = gap(r) / root;
          out.half(i) += residuals(i, part.coordinate) * (gap(r) + back) / root / 2.0;
        }
      }
    }
  });
  finish_rung(engine, residuals, weights, clusters, moments ? sums->finish() : RungSums(), out);
  return out;
}
#endif

}  // namespace calibrisk

#endif
