// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

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
  CHECK(is_near(counted.scatter, repeated.scatter));
}
