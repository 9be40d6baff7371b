// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

#include <calibrisk/ladder/recipes.h>

using namespace calibrisk;

namespace {

struct Rows {
  Matrix p, e;
};

// Probability vectors with residuals p - onehot of a class by turns.
Rows rows_of(Index n, Index k) {
  Rows out{Matrix(n, k), Matrix(n, k)};
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < k; ++j)
      out.p(i, j) = 1.0 + static_cast<double>((7 * i + 11 * j * i) % 23);
    out.p.row(i) /= out.p.row(i).sum();
  }
  out.e = out.p;
  for (Index i = 0; i < n; ++i) out.e(i, (3 * i) % k) -= 1.0;
  return out;
}

Rows first_column(const Rows& rows) { return {rows.p.leftCols(1), rows.e.leftCols(1)}; }

Rung own_hats(const Engine& engine, const Rows& rows, Index knots, const RowWeights& weights) {
  const BasisShape shape = basis_shape(engine, Recipe::hats, {knots, 0, 0, 0}, rows.p, weights);
  const LocalBases bases(engine, shape, rows.p);
  return local_rung(engine, bases.bases(), rows.e, weights, true);
}

}  // namespace

TEST(local_and_shared_rungs_agree_on_the_same_columns) {
  const Engine engine = serial_engine();
  for (const Index n : {Index(9), Index(80), 3 * rung_block + 5}) {
    const Rows rows = first_column(rows_of(n, 3));
    const RowWeights none;
    const Rung local = own_hats(engine, rows, 6, none);
    const std::vector<double> knots = hat_knots(engine, rows.p.col(0), none, {6})[0];
    const HatPositions at = hat_positions(engine, rows.p.col(0), knots);
    Matrix columns = Matrix::Zero(n, static_cast<Index>(knots.size()));
    for (Index i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      columns(i, at.cell[row]) += 1.0 - at.t[row];
      if (at.t[row] > 0.0) columns(i, at.cell[row] + 1) += at.t[row];
    }
    BasisShape shape;
    shape.recipe = Recipe::columns;
    const Rung shared =
        shared_rung(engine, shared_groups(shape, rows.p, columns), rows.e, none, true);
    CHECK(is_near(local.psi, shared.psi, 1e-10));
    CHECK(is_near(local.noise, shared.noise, 1e-10));
    CHECK(is_near(local.skew, shared.skew, 1e-10));
    CHECK(is_near(local.linear, shared.linear, 1e-10));
    CHECK((local.gap - shared.gap).cwiseAbs().maxCoeff() < 1e-12);
    CHECK((local.half - shared.half).cwiseAbs().maxCoeff() < 1e-12);
    Matrix naive(2, 2);
    naive << local.gap.squaredNorm(), local.gap.col(0).dot(rows.p.col(0)),
        local.gap.col(0).dot(rows.p.col(0)), rows.p.squaredNorm();
    CHECK((gap_products(engine, {local.gap, rows.p}, none) - naive).norm() < 1e-10 * naive.norm());
  }
}

TEST(knots_are_the_sorted_values_at_their_shares) {
  ThreadedEngine three(3);
  for (const Index n : {Index(500), Index(100003)}) {
    const Vector spread = Vector::Random(n);
    Vector tied = (spread.array() * 50.0).round(), most = spread;
    for (Index i = 0; i < n; ++i) {
      if (i % 10 > 0) most(i) = 0.25;
    }
    for (const Vector& x : {spread, tied, most}) {
      std::vector<double> sorted(x.data(), x.data() + n);
      std::sort(sorted.begin(), sorted.end());
      std::vector<double> distinct = sorted;
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      const std::vector<Index> sizes = {2, 8, 60};
      const auto knots = hat_knots(three.engine(), x, RowWeights(), sizes);
      const auto weighted = hat_knots(three.engine(), x, RowWeights(Vector::Ones(n)), sizes);
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        std::vector<double> expected;
        for (Index q = 0; q < sizes[s]; ++q) {
          const Index steps = sizes[s] - 1, rank = (q * n + steps - 1) / steps;
          const auto low = static_cast<std::size_t>(std::max<Index>(rank - 1, 0));
          // of a whole number of rows the mean with the next one
          const bool whole = q > 0 && q < steps && q * n % steps == 0;
          expected.push_back((sorted[low] + sorted[whole ? low + 1 : low]) / 2.0);
        }
        if (distinct.size() <= static_cast<std::size_t>(sizes[s])) expected = distinct;
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        CHECK(knots[s] == expected);
        CHECK(weighted[s] == expected);
      }
    }
  }
}

TEST(positions_between_knots_are_those_of_a_search) {
  const Vector x = Vector::Random(300);
  for (const Index size : {2, 3, 7, 8, 100}) {
    std::vector<double> knots;
    for (Index k = 0; k < size; ++k) knots.push_back(-0.9 + 1.8 * double(k) / double(size - 1));
    knots.front() = x(7);
    std::sort(knots.begin(), knots.end());
    const HatPositions at = hat_positions(serial_engine(), x, knots);
    for (std::size_t i = 0; i < 300; ++i) {
      const double value = x(static_cast<Index>(i));
      std::size_t cell = 0;
      while (cell + 2 < knots.size() && knots[cell + 1] <= value) ++cell;
      const double t = (value - knots[cell]) / (knots[cell + 1] - knots[cell]);
      CHECK(at.cell[i] == cell && at.t[i] == std::min(std::max(t, 0.0), 1.0));
    }
  }
}

TEST(a_rung_has_the_same_digits_on_any_number_of_threads) {
  ThreadedEngine three(3);
  for (const Rows& rows : {rows_of(300, 5), first_column(rows_of(100003, 3))}) {
    const Rung a = own_hats(serial_engine(), rows, 9, RowWeights());
    const Rung b = own_hats(three.engine(), rows, 9, RowWeights());
    CHECK(a.psi == b.psi && a.noise == b.noise && a.skew == b.skew && a.linear == b.linear);
    CHECK(a.gap == b.gap && a.half == b.half);
  }
}

TEST(clusters_of_one_row_are_none_on_any_number_of_threads) {
  const Rows rows = rows_of(300, 5);
  const Vector weights = Vector::LinSpaced(300, 0.5, 2.0);
  Labels alone, pairs;
  for (int i = 0; i < 300; ++i) {
    alone.push_back(300 - i);
    pairs.push_back(1 + i / 2);
  }
  const auto clustered = [&](const Engine& engine, const Labels& cluster) {
    const RowWeights v(weights);
    const BasisShape shape = basis_shape(engine, Recipe::hats, {4, 0, 0, 0}, rows.p, v);
    return shape_rung(engine, serial_engine().dense, shape, rows.p, Matrix(), rows.e, v,
                      RowClusters(cluster), true);
  };
  const Rung a = own_hats(serial_engine(), rows, 4, RowWeights(weights));
  const Rung b = clustered(serial_engine(), alone);
  CHECK(is_near(a.psi, b.psi, 1e-10));
  CHECK(is_near(a.noise, b.noise, 1e-10));
  CHECK(is_near(a.skew, b.skew, 1e-10));
  CHECK(is_near(a.linear, b.linear, 1e-10));
  CHECK((a.half - b.half).norm() < 1e-12);
  ThreadedEngine three(3);
  const Rung c = clustered(serial_engine(), pairs), d = clustered(three.engine(), pairs);
  CHECK(c.psi == d.psi && c.noise == d.noise && c.skew == d.skew && c.linear == d.linear);
  CHECK(c.psi != a.psi);
  const auto scatter = [&](const RowClusters& clusters) {
    return residual_scatter(serial_engine(), rows.e, RowWeights(weights), clusters);
  };
  CHECK(is_near(scatter(RowClusters()), scatter(RowClusters(alone)), 1e-10));
  CHECK(scatter(RowClusters(pairs)) > scatter(RowClusters()));
}

TEST(clusters_of_one_row_are_none_where_columns_are_many) {
  const Engine engine = serial_engine();
  Rows rows = rows_of(120, 60);
  rows.p = Matrix::Random(120, 60).array() + 1.1;
  for (Index i = 0; i < 120; ++i) rows.p.row(i) /= rows.p.row(i).sum();
  Labels alone(120);
  std::iota(alone.begin(), alone.end(), 1);
  for (const Recipe recipe : {Recipe::hats, Recipe::kernel}) {
    const BasisSizes sizes = recipe == Recipe::hats ? BasisSizes{40} : BasisSizes{0, 0, 0, 8};
    const BasisShape shape = basis_shape(engine, recipe, sizes, rows.p, RowWeights());
    const auto rung = [&](const RowClusters& clusters) {
      return shape_rung(engine, engine.dense, shape, rows.p, Matrix(), rows.e, RowWeights(),
                        clusters, true);
    };
    const Rung a = rung(RowClusters()), b = rung(RowClusters(alone));
    CHECK(a.columns > exact_columns);
    CHECK(is_near(a.psi, b.psi, 1e-10));
    CHECK(std::abs(a.noise / b.noise - 1.0) < 1e-8);
    CHECK(is_near(a.skew, b.skew, 1e-8));
  }
}

TEST(small_clusters_on_local_bases_are_those_on_their_columns) {
  Rows rows = rows_of(400, 5);
  const Vector weights = Vector::LinSpaced(400, 0.5, 2.0);
  Labels small, one_large;
  for (int i = 0; i < 400; ++i) {
    small.push_back(1 + (7 * i) % 150);
    one_large.push_back(i < 60 ? 1 : 2 + i / 3);
  }
  for (int& label : one_large) label = label > 1 ? label - 20 : 1;
  // rows that are not rows of the first coordinate
  for (Index i = 0; i < 400; i += 11) {
    rows.p(i, 0) = std::numeric_limits<double>::quiet_NaN();
    rows.e(i, 0) = 0.0;
  }
  ThreadedEngine three(3);
  for (const Rows& data : {rows, first_column(rows_of(400, 3))}) {
    const Index d = data.p.cols();
    for (const Index knots : {3, 9, 70}) {  // fewer columns than clusters, and more
      BasisShape shape;
      shape.recipe = Recipe::hats;
      for (Index j = 0; j < d; ++j) {
        std::vector<double> at;
        for (Index k = 0; k < knots; ++k) at.push_back(0.5 * double(k) / double(knots - 1));
        shape.own.push_back(at);
      }
      const LocalBases bases(serial_engine(), shape, data.p);
      std::vector<ClusterPart> parts;
      for (Index j = 0; j < d; ++j) {
        const LocalBasis& basis = bases.bases()[static_cast<std::size_t>(j)];
        SharedGroup group;
        group.columns = [&basis](const std::vector<Index>& at) { return local_columns(basis, at); };
        for (Index i = 0; i < 400; ++i) {
          if (!std::isnan(data.p(i, j))) group.rows.push_back(i);
        }
        parts.push_back({group, {j}});
      }
      for (const Labels& cluster : {small, one_large}) {
        const RowWeights v(weights);
        const RowClusters clusters(cluster);
        const auto local = [&](const Engine& engine) {
          return local_cluster_rung(engine, serial_engine().dense, bases.bases(), data.p, data.e, v,
                                    clusters, true);
        };
        const Rung a = local(serial_engine()), c = local(three.engine());
        const Engine serial = serial_engine();
        const Rung b = cluster_rung(serial, serial.dense, parts, data.e, v, clusters, true);
        CHECK(a.columns == b.columns);
        CHECK(is_near(a.psi, b.psi, 1e-9));
        CHECK(is_near(a.noise, b.noise, 1e-9));
        CHECK(is_near(a.skew, b.skew, 1e-9));
        CHECK(is_near(a.linear, b.linear, 1e-9));
        CHECK((a.gap - b.gap).norm() < 1e-10 * (1.0 + b.gap.norm()));
        CHECK((a.half - b.half).norm() < 1e-10 * (1.0 + b.half.norm()));
        for (std::size_t j = 0; j < a.weights.size(); ++j) {
          CHECK((a.weights[j] - b.weights[j]).norm() < 1e-8 * (1.0 + b.weights[j].norm()));
        }
        CHECK(a.psi == c.psi && a.noise == c.noise && a.skew == c.skew && a.gap == c.gap);
      }
    }
  }
}

TEST(sums_over_pairs_are_those_of_all_columns_in_one_matrix) {
  const Engine engine = serial_engine();
  const Rows rows = rows_of(60, 12);
  const RowWeights weights(Vector::LinSpaced(60, 0.5, 2.0));
  const Vector counts = Vector::LinSpaced(60, 1.0, 3.0);
  std::vector<Index> all_rows(60);
  std::iota(all_rows.begin(), all_rows.end(), Index{0});
  for (const RowWeights& v : {RowWeights(), weights, RowWeights::copies(counts)}) {
    BasisShape shape = basis_shape(engine, Recipe::hats, {8, 0, 0, 0}, rows.p, v);
    shape.own[3] = {0.1};                   // a constant
    shape.own[5] = {-0.9, -0.8, 0.0, 1.0};  // hats without a row are dropped
    const LocalBases bases(engine, shape, rows.p);
    std::vector<detail::LocalCoordinate> parts;
    Matrix gap(60, 12), half(60, 12);
    Index columns = 0;
    for (Index j = 0; j < 12; ++j) {
      parts.push_back(detail::smooth_coordinate(engine, bases.bases()[static_cast<std::size_t>(j)],
                                                rows.e.col(j), v, gap.col(j), half.col(j)));
      columns += parts.back().whitener.rows();
    }
    CHECK(columns > 60);
    Matrix x(60, columns), a(60, columns);  // rows times their basis, and left-out scales
    for (Index j = 0, at = 0; j < 12; ++j) {
      const auto& part = parts[static_cast<std::size_t>(j)];
      const Matrix basis = local_columns(bases.bases()[static_cast<std::size_t>(j)], all_rows) *
                           part.whitener.transpose();
      for (Index i = 0; i < 60; ++i) {
        x.row(i).segment(at, basis.cols()) =
            std::sqrt(v.copies(i)) * v.each(i) * rows.e(i, j) * basis.row(i);
        a.row(i).segment(at, basis.cols()).setConstant(part.scale(i));
      }
      at += basis.cols();
    }
    const Matrix root = x.cwiseProduct(a.cwiseSqrt()), scaled = x.cwiseProduct(a);
    const Matrix s = root.transpose() * root, t1 = x.transpose() * scaled;
    const double t20 = (x.transpose() * x).cwiseProduct(scaled.transpose() * scaled).sum();
    RungSums sums[3];
    detail::sums_of_rows(engine, bases.bases(), parts, rows.e, v, sums[0]);
    detail::sums_of_dense(engine, bases.bases(), parts, rows.e, v, sums[1]);
    detail::sums_of_columns(engine, bases.bases(), parts, rows.e, v, sums[2]);
    for (int way = 0; way < 3; ++way) {
      CHECK(is_near(sums[way].t20, t20, 1e-10));
      CHECK(is_near(sums[way].t11, t1.cwiseProduct(t1.transpose()).sum(), 1e-10));
      CHECK(is_near(sums[way].s2, s.squaredNorm(), 1e-10));
      CHECK(is_near(sums[way].s3, (s * s * s).trace(), 1e-10));
    }
    // 64 random vectors span 60 rows
    const Matrix pairs = (x * scaled.transpose() + scaled * x.transpose()) / 2.0;
    RungSums random;
    detail::sums_of_random_vectors(engine, bases.bases(), parts, rows.e, v, random, 0.0);
    CHECK(!random.exact);
    CHECK(is_near(2.0 * random.s2, sums[0].t20 + sums[0].t11, 1e-10));
    CHECK(is_near(random.s3, (pairs * pairs * pairs).trace(), 1e-10));
  }
}

TEST(sums_of_random_vectors_are_near_those_of_all_pairs_in_any_order) {
  ThreadedEngine three(3);
  const Index n = 2000, k = 20;
  Rows rows{Matrix(n, k), Matrix(n, k)};
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < k; ++j) {
      rows.p(i, j) = std::pow(counter_uniform(7, static_cast<std::uint64_t>(j), i), 8.0);
    }
    rows.p.row(i) /= rows.p.row(i).sum();
  }
  rows.e = rows.p;
  for (Index i = 0; i < n; ++i) rows.e(i, i % k) -= 1.0;
  const auto sums = [&](const Engine& engine, const Rows& of, bool random,
                        double left_out = detail::small_squares) {
    const RowWeights none;
    const BasisShape shape = basis_shape(engine, Recipe::hats, {20, 0, 0, 0}, of.p, none);
    const LocalBases bases(engine, shape, of.p);
    std::vector<detail::LocalCoordinate> parts;
    Vector gap(n), half(n);
    for (Index j = 0; j < k; ++j) {
      parts.push_back(detail::smooth_coordinate(engine, bases.bases()[static_cast<std::size_t>(j)],
                                                of.e.col(j), none, gap, half));
    }
    RungSums out;
    if (random) {
      detail::sums_of_random_vectors(engine, bases.bases(), parts, of.e, none, out, left_out);
    } else {
      detail::sums_of_columns(engine, bases.bases(), parts, of.e, none, out);
    }
    return out;
  };
  const RungSums all = sums(serial_engine(), rows, false),
                 random = sums(serial_engine(), rows, true);
  CHECK(is_near(2.0 * random.s2, all.t20 + all.t11, 0.03));
  CHECK(is_near(random.s3, all.s3, 0.03));
  // small residuals matter little
  const RungSums full = sums(serial_engine(), rows, true, 0.0);
  CHECK(random.s2 != full.s2 && is_near(random.s2, full.s2, 2e-3));
  CHECK(is_near(random.s3, full.s3, 2e-3));
  const RungSums threads = sums(three.engine(), rows, true);
  CHECK(random.s2 == threads.s2 && random.s3 == threads.s3);
  const RungSums turned = sums(serial_engine(), {rows.p.reverse(), rows.e.reverse()}, true);
  CHECK(is_near(random.s2, turned.s2, 1e-10));
  CHECK(is_near(random.s3, turned.s3, 1e-10));
}

TEST(decompositions_of_clusters_that_are_not_kept_give_the_same_digits) {
  const Rows rows = rows_of(600, 3);
  const Vector weights = Vector::LinSpaced(600, 0.5, 2.0);
  Labels cluster;
  for (int i = 0; i < 600; ++i) cluster.push_back(1 + i / 2);
  BasisShape shape;
  shape.recipe = Recipe::columns;
  Matrix basis(600, 4);
  basis << Vector::Ones(600), rows.p;
  // which the groups refer to
  const ConstMatrixRef features = rows.p, columns = basis;
  const std::vector<ClusterPart> parts{{shared_groups(shape, features, columns)[0], {0, 1, 2}}};
  const Engine engine = serial_engine();
  const auto rung = [&](double most_kept) {
    return cluster_rung(engine, engine.dense, parts, rows.e, RowWeights(weights),
                        RowClusters(cluster), true, most_kept);
  };
  const Rung kept = rung(1e6), again = rung(0.0);
  CHECK(kept.psi == again.psi && kept.noise == again.noise && kept.skew == again.skew);
  CHECK(kept.gap == again.gap && kept.half == again.half);
  CHECK(kept.gap.norm() > 0.0);
}

TEST(whitening_drops_dependent_columns) {
  Matrix b = Matrix::Random(30, 4);
  b.col(3) = b.col(0) - 2.0 * b.col(1);
  const Matrix gram = b.transpose() * b;
  const Matrix r = whitening(gram);
  CHECK(r.rows() == 3);
  CHECK((r * gram * r.transpose() - Matrix::Identity(3, 3)).norm() < 1e-10);
}

TEST(the_trace_of_a_cube_is_that_of_the_product) {
  Matrix s = Matrix::Random(600, 600);
  s = (s + s.transpose()).eval();
  CHECK(is_near(trace_cube(serial_engine(), s), (s * s * s).trace(), 1e-10));
}

TEST(the_largest_eigenvalue_of_many_columns_is_that_of_the_decomposition) {
  const Engine engine = serial_engine();
  for (const Index rank : {3, 250}) {
    const Matrix x = Matrix::Random(rank, 300);
    const Matrix s = x.transpose() * x;
    CHECK(is_near(largest_eigenvalue(engine, s), engine.dense.sym_eigen(s).values(299)));
  }
  CHECK(largest_eigenvalue(engine, Matrix::Zero(300, 300)) == 0.0);
}
