// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

#include <calibrisk/kernels/kernel.h>
#include <calibrisk/ladder/recipes.h>
#include <calibrisk/states/cell_rule.h>
#include <calibrisk/states/sums.h>

using namespace calibrisk;

namespace {

struct Sums {
  explicit Sums(Index size) : sum(static_cast<std::size_t>(size)), left(sum.size()) {}
  PairedSums view() { return PairedSums(sum.data(), left.data(), static_cast<Index>(sum.size())); }
  std::vector<double> sum, left;
};

}  // namespace

TEST(sums_do_not_depend_on_the_order_of_what_is_added) {
  constexpr Index n = 3000;
  std::vector<double> values;
  for (Index i = 0; i < n; ++i) {
    values.push_back(std::sin(static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i % 9)));
  }
  Sums forward(1), backward(1), merged(1), half(1);
  for (double value : values) forward.view().add(0, value);
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    backward.view().add(0, *value);
  for (Index i = 0; i < n; ++i) {
    (i % 3 == 0 ? half : merged).view().add(0, values[static_cast<std::size_t>(i)]);
  }
  forward.view().tidy();
  backward.view().tidy();
  half.view().tidy();
  merged.view().add(half.view());
  CHECK(forward.sum[0] == backward.sum[0]);
  CHECK(forward.sum[0] == merged.sum[0]);
}

TEST(a_rule_of_few_values_is_those_values) {
  const Engine engine = serial_engine();
  const std::vector<double> edges = {0.0, 0.25, 1.0};
  const CellEdges cells(edges.data(), 3);
  CHECK(cells.cell(0.0) == 0 && cells.cell(0.25) == 0 && cells.cell(0.2500001) == 1);
  CHECK(cells.cell(1.0) == 1 && cells.place(1.0, 1) == 1.0 && cells.place(0.25, 1) == -1.0);
  constexpr Index m = 10;
  Sums sums(m * 2 * 2);
  PairedSums view = sums.view();
  for (double x : {0.3, 0.4, 0.4, 0.99}) add_moments(view, cells, m, {x, 1, 0, 2.0});
  const CellRule rule = cell_rule(engine.dense, sums.sum.data() + 3 * m, m / 2);
  const std::vector<double> values = {0.3, 0.4, 0.99}, counts = {2.0, 4.0, 2.0};
  CHECK(rule.node.size() == 3);
  for (Index q = 0; q < rule.node.size(); ++q) {
    const auto at = static_cast<std::size_t>(q);
    CHECK(is_near(0.625 + 0.375 * rule.node(q), values[at]));
    CHECK(is_near(rule.count(q), counts[at], 1e-10));
  }
}

TEST(copies_are_repeated_rows) {
  const Engine engine = serial_engine();
  constexpr Index n = 60;
  Matrix p(n, 1), e(n, 1), twice_p(2 * n, 1), twice_e(2 * n, 1);
  for (Index i = 0; i < n; ++i) {
    p(i, 0) = static_cast<double>((7 * i) % 61) / 61.0;
    e(i, 0) = p(i, 0) - (i % 3 == 0 ? 1.0 : 0.0);
    twice_p(2 * i, 0) = twice_p(2 * i + 1, 0) = p(i, 0);
    twice_e(2 * i, 0) = twice_e(2 * i + 1, 0) = e(i, 0);
  }
  const RowWeights copies = RowWeights::copies(Vector::Constant(n, 2.0));
  const auto rung = [&](const Matrix& x, const Matrix& residuals, const RowWeights& weights) {
    BasisShape shape;
    shape.own = {{0.0, 0.3, 0.6, 1.0}};
    const LocalBases bases(engine, shape, x);
    return local_rung(engine, bases.bases(), residuals, weights, true);
  };
  const Rung counted = rung(p, e, copies), repeated = rung(twice_p, twice_e, RowWeights());
  CHECK(is_near(counted.psi, repeated.psi));
  CHECK(is_near(counted.noise, repeated.noise));
  CHECK(is_near(counted.skew, repeated.skew));
  CHECK(is_near(counted.linear, repeated.linear));
  const auto scatter = [&](const Matrix& residuals, const RowWeights& weights) {
    return residual_scatter(engine, residuals, weights, RowClusters());
  };
  CHECK(is_near(scatter(e, copies), scatter(twice_e, RowWeights())));
}

namespace {

template <class Task>
bool refused(const Task& task) {
  try {
    task();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(rows_and_sums_that_do_not_fit_are_refused) {
  const std::vector<double> edges = {0.0, 0.25, 1.0};
  const CellEdges cells(edges.data(), 3);
  Sums sums(4 * 2 * 2), scores(6), squares(3), other(1);
  PairedSums view = sums.view(), of_scores = scores.view(), of_squares = squares.view();
  add_moments(view, cells, 4, {0.5, 1, 0, 1.0});
  CHECK(are_moments(sums.sum.data(), sums.left.data(), 16, 4));
  CHECK(!are_moments(sums.sum.data(), sums.left.data(), 16, 5));
  for (const StateRow& row : {StateRow{0.5, 1, 1, 1.0}, StateRow{0.5, 1, -1, 1.0},
                              StateRow{0.5, 2, 0, 1.0}, StateRow{0.5, -1, 0, 1.0}}) {
    CHECK(refused([&] { add_moments(view, cells, 4, row); }));
  }
  CHECK(refused([&] { add_moments(view, cells, 5, {0.5, 1, 0, 1.0}); }));
  CHECK(refused([&] { add_scores(of_scores, {0.5, 1, 1, 1.0}); }));
  CHECK(refused([&] { add_squares(of_squares, {1.0, 2.0}, 1); }));
  CHECK(refused([&] { add_squares(of_squares, {1.0, 2.0, 3.0}, 0); }));
  CHECK(refused([&] { view.add(other.view()); }));
  CHECK(refused([&] { CellEdges(edges.data(), 1); }));
  sums.sum[0] = -1.0;
  CHECK(!are_moments(sums.sum.data(), sums.left.data(), 16, 4));
}

TEST(shapes_and_weights_that_do_not_fit_are_refused) {
  const Engine engine = serial_engine();
  const Matrix p = Matrix::Constant(5, 3, 1.0 / 3.0), none;
  Matrix gap = Matrix::Zero(5, 3);
  BasisShape shape;
  shape.classes = 3;
  shape.own.assign(3, {0.0, 0.5, 1.0});
  const std::vector<Matrix> weights(3, Matrix::Ones(3, 1));
  const auto add = [&](const BasisShape& of, const std::vector<Matrix>& by) {
    return refused([&] { add_basis_gap(engine, of, by, p, none, 1.0, gap); });
  };
  CHECK(!add(shape, weights));
  CHECK(add(shape, {weights[0]}));
  CHECK(add(shape, std::vector<Matrix>(3, Matrix::Ones(2, 1))));
  CHECK(add(shape, std::vector<Matrix>(3, Matrix(3, 0))));
  BasisShape fewer = shape, confident = shape, affine = shape, landmarks = shape, unused = shape;
  // knots that its recipe does not use
  unused.fine = unused.coarse = {0.2, 0.4};
  CHECK(!add(unused, weights));
  fewer.own.resize(1);
  CHECK(add(fewer, weights));
  confident.recipe = Recipe::own_top;
  CHECK(add(confident, std::vector<Matrix>(3, Matrix::Ones(5, 1))));
  affine.recipe = Recipe::top_affine;
  CHECK(!add(affine, std::vector<Matrix>(4, Matrix::Ones(4, 3))));
  CHECK(add(affine, std::vector<Matrix>(1, Matrix::Ones(4, 3))));
  CHECK(add(affine, std::vector<Matrix>(4, Matrix::Ones(4, 2))));
  landmarks.recipe = Recipe::kernel;
  landmarks.landmarks = Matrix::Ones(2, 2);
  CHECK(add(landmarks, {Matrix::Ones(5, 3)}));
}

TEST(kernels_whose_parts_or_columns_are_missing_are_refused) {
  const Matrix x = Matrix::Ones(4, 2);
  Matrix out(4, 4);
  Kernel empty, beyond;
  empty.form = Kernel::Form::sum;
  beyond.first_column = 1;
  beyond.n_columns = 2;
  CHECK(refused([&] { gram_block(empty, x, x, out); }));
  CHECK(refused([&] { gram_diagonal(empty, x); }));
  CHECK(refused([&] { gram_block(beyond, x, x, out); }));
  CHECK(refused([&] { gram_block(Kernel(), x, x.leftCols(1), out); }));
}
