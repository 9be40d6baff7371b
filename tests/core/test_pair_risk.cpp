// SPDX-License-Identifier: GPL-3.0-or-later
// Eq. 20 of Gruber & Bach from statistics, rows and cells against the double loop over pairs.
#include "check.h"
#include "threads.h"

#include <calibrisk/methods/bins_path.h>
#include <calibrisk/methods/steps.h>
#include <calibrisk/pair_design.h>
#include <calibrisk/taylor_risk.h>

#include <random>

using namespace calibrisk;

namespace {

Matrix normal_matrix(Index rows, Index cols, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, cols, [&] { return normal(random); });
}

// (<e_i, e_j> - h_ij)^2, 0 on the diagonal
Matrix naive_losses(const Matrix& e, const Matrix& h) {
  Matrix out = (e * e.transpose() - h).array().square();
  out.diagonal().setZero();
  return out;
}

// The loops without wide instructions, and those that this processor has.
std::vector<detail::RowFormLoops> loop_sets() {
  return {detail::row_form_loops_baseline(), detail::row_form_loops()};
}

}  // namespace

TEST(forms_of_rows_are_those_of_the_products_with_the_same_digits_for_all_instructions) {
  for (const Index n : {0, 1, 7, 8, 21}) {
    for (const Index p : {1, 3, 6}) {
      for (const Index q : {1, 4, 6}) {
        // rows of larger matrices
        const Matrix a = normal_matrix(n + 3, p, 1), b = normal_matrix(n + 2, q, 2),
                     core = normal_matrix(p, q, 3);
        std::vector<Vector> values;
        for (const detail::RowFormLoops& loops : loop_sets()) {
          values.emplace_back(n);
          loops.rows({a.data() + 2, n + 3, p, b.data() + 1, n + 2, q, core.data(), p, n,
                      values.back().data()});
        }
        CHECK(values[0] == values[1]);
        for (Index i = 0; i < n; ++i) {
          CHECK(is_near(values[0](i), (a.row(i + 2) * core).dot(b.row(i + 1))));
        }
        if (p != q) continue;
        Vector plain(n);
        row_forms(a.middleRows(2, n), Matrix(0, 0), b.middleRows(1, n), plain);
        for (Index i = 0; i < n; ++i) CHECK(is_near(plain(i), a.row(i + 2).dot(b.row(i + 1))));
      }
    }
  }
  Vector none = Vector::Ones(2);
  row_forms(Matrix(2, 0), Matrix(0, 0), Matrix(2, 0), none);
  CHECK(none.isZero(0.0));
}

TEST(products_of_columns_are_those_of_matrices_with_the_same_digits_for_all_instructions) {
  for (const Index n : {0, 5, 8, 27}) {
    for (const Index q : {1, 2, 5, 8, 11}) {
      const Matrix x = normal_matrix(n, q, 4);
      std::vector<const double*> columns;
      for (Index k = 0; k < q; ++k) columns.push_back(x.data() + k * n);
      std::vector<Matrix> values;
      for (const detail::RowFormLoops& loops : loop_sets()) {
        values.emplace_back(Matrix::Constant(q, q, -1.0));
        loops.columns({columns.data(), q, n, values.back().data()});
      }
      CHECK(values[0] == values[1]);
      const Matrix squares = x.transpose() * x;
      for (Index k = 0; k < q; ++k) {
        for (Index l = 0; l < q; ++l) {
          CHECK(l > k ? values[0](k, l) == -1.0 : is_near(values[0](k, l), squares(k, l)));
        }
      }
      const PairStatistics stats = pair_statistics(serial_engine(), x.leftCols(1), x);
      CHECK((stats.cross - squares.topRows(1)).norm() <= 1e-12 * (1.0 + squares.norm()));
      CHECK((stats.feature - squares).norm() <= 1e-12 * (1.0 + squares.norm()));
    }
  }
}

TEST(risk_and_projections_are_those_of_the_double_loop) {
  const Engine engine = serial_engine();
  for (const Index d : {1, 3}) {
    const Index m = 23;
    const Matrix e = normal_matrix(m, d, 1), phi = normal_matrix(m, 4, 2);
    const Matrix half = normal_matrix(4, 4, 3);
    const Matrix core = half + half.transpose();
    const Matrix losses = naive_losses(e, phi * core * phi.transpose());
    const Matrix zero = naive_losses(e, Matrix::Zero(m, m));
    const PairRisk linear = pair_risk_linear(engine, e, phi, core);
    const PairRisk tiled = pair_risk_tiled(engine, e, phi, core);
    for (const PairRisk& risk : {linear, tiled}) {
      CHECK(is_near(risk.risk, losses.sum() / (m * (m - 1.0))));
      CHECK(is_near(risk.zero_risk, zero.sum() / (m * (m - 1.0))));
      for (Index i = 0; i < m; ++i) {
        CHECK(is_near(risk.projections[i], losses.row(i).sum() / (m - 1.0)));
        CHECK(is_near(risk.zero_projections[i], zero.row(i).sum() / (m - 1.0)));
      }
    }
    const Vector delta = e.rowwise().squaredNorm() - linear.squared;
    const PairStatistics stats = pair_statistics(engine, e, phi);
    CHECK(is_near(pair_risk_value(engine, stats, core, delta.squaredNorm()), linear.risk));
  }
}

TEST(the_risk_of_cells_is_that_of_their_indicators) {
  const Engine engine = serial_engine();
  const Index m = 40;
  const Matrix e = normal_matrix(m, 1, 4);
  const Vector z = Vector::LinSpaced(m, 0.0, 1.0);
  Labels outcome(static_cast<std::size_t>(m), 0);
  for (std::size_t i = 0; i < outcome.size(); i += 3) outcome[i] = 1;
  const std::vector<double> edges = {0.2, 0.5, 0.9};
  const std::vector<CellSums> cells = cell_sums(z, e.col(0), outcome, edges);
  for (const bool debias : {false, true}) {
    const BinValues h = bin_values(cells, debias);
    Matrix phi = Matrix::Zero(m, 4);
    for (Index i = 0; i < m; ++i) phi(i, cell_of(edges, z[i])) = 1.0;
    const Vector b = Eigen::Map<const Vector>(h.b.data(), 4);
    Matrix core = b * b.transpose();
    core.diagonal() -= Eigen::Map<const Vector>(h.v.data(), 4);
    const PairRisk rows = pair_risk_linear(engine, e, phi, core);
    const BinRisk risk = bin_risk(cells, h, own_pairs(cells, e.array().pow(4).sum(), h));
    CHECK(is_near(risk.risk, rows.risk));
    CHECK(is_near(risk.squared_error, rows.squared.mean()));
  }
}

TEST(one_row_has_no_pair) {
  const Engine engine = serial_engine();
  const Matrix one = Matrix::Constant(1, 1, 0.5);
  const PairRisk risk = pair_risk_linear(engine, one, one, Matrix(0, 0));
  CHECK(std::isnan(risk.risk) && std::isnan(risk.zero_risk));
  CHECK(std::isnan(risk.projections[0]) && std::isnan(risk.zero_projections[0]));
  CHECK(is_near(risk.squared[0], 0.25));
  CHECK(std::isnan(pair_risk_value(1.0, 0.5, 1.0)));
}

TEST(explicit_features_are_made_where_they_are_used) {
  ThreadedEngine three(3);
  TaylorFeatures map;
  map.centre = 0.3;
  map.gamma = 0.8;
  map.scale = 1.5;
  map.rank = 9;
  for (const Index n : {Index(1), Index(30), Index(2999)}) {
    const Vector x = normal_matrix(n, 1, 5).col(0) / 4.0;
    for (const Index d : {1, 2}) {
      const Matrix e = normal_matrix(n, d, 6);
      for (const Index r : {0, 5, 50}) {  // none, few and many columns
        const Matrix basis = normal_matrix(r == 0 ? 0 : 9, r, 7);
        const Index columns = r == 0 ? 9 : r;
        const Matrix half = normal_matrix(columns, columns, 8);
        for (const Matrix& core : {Matrix(0, 0), Matrix(half + half.transpose())}) {
          Matrix features(n, 9);
          map.evaluate(x, features);
          const Matrix phi = r == 0 ? features : Matrix(features * basis);
          const PairRisk whole = pair_risk_linear(serial_engine(), e, phi, core);
          const TaylorForm form(map, basis, core);
          const auto risk_of = [&](const Engine& engine) {
            return owned_risk(n,
                              [&](RiskRows rows) { return taylor_risk(engine, e, x, form, rows); });
          };
          const PairRisk risk = risk_of(serial_engine()), again = risk_of(three.engine());
          const Vector squared = taylor_squared(three.engine(), x, form);
          CHECK((squared - whole.squared).norm() <= 1e-10 * (1.0 + whole.squared.norm()));
          CHECK((risk.squared - whole.squared).norm() <= 1e-10 * (1.0 + whole.squared.norm()));
          if (n == 1) {
            CHECK(std::isnan(risk.risk) && std::isnan(risk.projections[0]));
            continue;
          }
          CHECK(is_near(risk.risk, whole.risk, 1e-9) && risk.risk == again.risk);
          CHECK(is_near(risk.zero_risk, whole.zero_risk, 1e-9));
          CHECK((risk.projections - whole.projections).norm() < 1e-9 * whole.projections.norm());
          CHECK(risk.projections == again.projections);
        }
      }
    }
  }
}

TEST(risks_of_weights_copies_and_clusters_are_those_of_the_double_loop) {
  const Engine engine = serial_engine();
  const Index m = 19;
  const Matrix e = normal_matrix(m, 2, 11), phi = normal_matrix(m, 3, 12);
  const Matrix half = normal_matrix(3, 3, 13), core = half + half.transpose();
  const Matrix losses = (e * e.transpose() - phi * core * phi.transpose()).array().square();
  const Vector w = normal_matrix(m, 1, 14).col(0).array().abs() + 0.2;
  Vector copies(m);
  Labels cluster(static_cast<std::size_t>(m));
  for (Index i = 0; i < m; ++i) {
    copies(i) = static_cast<double>(1 + i % 4);
    cluster[static_cast<std::size_t>(i)] = static_cast<int>(1 + i % 5);
  }
  const RowClusters groups(cluster);
  for (const bool clustered : {false, true}) {
    const PairRisk risk = owned_risk(m, [&](RiskRows rows) {
      return pair_risk(engine, e, phi, core, RowWeights(w, copies),
                       clustered ? groups : RowClusters(), rows);
    });
    double total = 0.0, pairs = 0.0;
    for (Index i = 0; i < m; ++i) {
      double sum = 0.0, partners = 0.0;
      for (Index j = 0; j < m; ++j) {
        // of another row, or of the other copies of this one
        const double weight = i != j ? w(j) : w(i) - w(i) / copies(i);
        if (clustered && i % 5 == j % 5) continue;
        sum += weight * losses(i, j);
        partners += weight;
      }
      CHECK(is_near(risk.projections(i), sum / partners));
      total += w(i) * sum;
      pairs += w(i) * partners;
      CHECK(is_near(risk.squared(i), phi.row(i).dot(core * phi.row(i).transpose())));
    }
    CHECK(is_near(risk.risk, total / pairs));
  }
}

TEST(the_risk_of_a_mean_of_debiased_bins_is_that_of_its_features) {
  const std::vector<StepPart> parts = {{{0.3, 0.6}, {0.1, -0.2, 0.05}, {0.01, 0.0, 0.02}},
                                       {{0.5}, {-0.1, 0.3}, {0.03, 0.04}}};
  Vector p(7), core(6);
  p << 0.1, 0.3, 0.45, 0.5, 0.55, 0.9, 0.31;
  core << 1.0, 1.0, -0.01, -0.02, -0.03, -0.04;
  const Matrix m = (core / 2.0).asDiagonal(), e = normal_matrix(7, 1, 5);
  const StepRows rows = step_rows(parts, p);
  const Matrix phi = step_features(parts, rows);
  CHECK((step_squared(rows) - pair_squared(serial_engine(), phi, m)).norm() < 1e-15);
  const PairRisk risk = step_risk(parts, p, e.col(0));
  const PairRisk dense = pair_risk_tiled(serial_engine(), e, phi, m);
  CHECK(is_near(risk.risk, dense.risk));
  CHECK(is_near(risk.zero_risk, dense.zero_risk));
  CHECK((risk.projections - dense.projections).norm() < 1e-12);
}
