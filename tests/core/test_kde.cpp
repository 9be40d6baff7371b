// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel density ratio against loops in long double.
#include "check.h"
#include "threads.h"

#include <calibrisk/methods/kde_path.h>

#include <random>

using namespace calibrisk;

namespace {

using Real = long double;

Real log_gamma(Real x) {
#ifdef __GLIBC__
  return lgammal(x);
#else
  return std::lgamma(x);
#endif
}

// log of the Dirichlet density with parameters p / h + 1 at x, row i of p, row j of x
Real log_weight(const Matrix& p, Index i, const Matrix& x, Index j, Real h) {
  Real out = 0.0L;
  for (Index k = 0; k < p.cols(); ++k) {
    const Real a = p(i, k) / h;
    if (p(i, k) > 0.0) out += a * std::log(static_cast<Real>(x(j, k)));
    out -= log_gamma(a + 1.0L);
  }
  return out;
}

// Share of `label` (1-based) at row j of x.
double naive_ratio(const Matrix& p, const Labels& labels, int label, const Matrix& x, Index j,
                   double h) {
  std::vector<Real> w(static_cast<std::size_t>(p.rows()));
  for (Index i = 0; i < p.rows(); ++i) w[static_cast<std::size_t>(i)] = log_weight(p, i, x, j, h);
  const Real top = *std::max_element(w.begin(), w.end());
  Real total = 0.0L, of_label = 0.0L;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Real weight = std::exp(w[i] - top);
    total += weight;
    if (labels[i] == label) of_label += weight;
  }
  return static_cast<double>(of_label / total);
}

struct Sample {
  Matrix p;
  Labels labels;
};

// Rows on the simplex, many of them close to a corner.
Sample simplex_sample(Index n, Index k, unsigned seed) {
  std::mt19937 random(seed);
  std::gamma_distribution<double> gamma(0.3);
  std::uniform_int_distribution<int> label(1, static_cast<int>(k));
  Sample out{Matrix(n, k), Labels(static_cast<std::size_t>(n))};
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < k; ++j) out.p(i, j) = gamma(random) + 1e-9;
    out.p.row(i) /= out.p.row(i).sum();
    out.labels[static_cast<std::size_t>(i)] = label(random);
  }
  return out;
}

const double bandwidths[] = {1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0};

}  // namespace

TEST(exponentials_of_every_instruction_set_are_right_to_two_ulp) {
  std::vector<ExpLoops> sets = {detail::exp_loops_baseline(), exp_loops()};
  std::vector<double> x;
  for (double v = -720.0; v <= 0.0; v += 0.0137) x.push_back(v);
  x.push_back(-std::numeric_limits<double>::infinity());
  for (const ExpLoops& loops : sets) {
    std::vector<double> w(x);
    loops.exp_shifted(w.data(), 0.0, static_cast<Index>(w.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = x[i] > detail::exp_lowest ? std::exp(x[i]) : 0.0;
      CHECK(std::abs(w[i] - want) <= 4.5e-16 * want);
    }
    double undefined[3] = {0.0, std::numeric_limits<double>::quiet_NaN(), -1e300};
    loops.exp_shifted(undefined, 0.0, 3);
    CHECK(undefined[0] == 1.0 && std::isnan(undefined[1]) && undefined[2] == 0.0);
    const Vector ones = Vector::Ones(static_cast<Index>(w.size()));
    double sum = 0.0;
    for (double v : w) sum += v;
    CHECK(is_near(loops.sum(w.data(), ones.size()), sum));
    CHECK(is_near(loops.dot(w.data(), ones.data(), ones.size()), sum));
  }
}

TEST(reduced_log_gammas_are_right) {
  for (double h : bandwidths) {
    for (double p : {1e-300, 1e-9, 1e-4, 0.03, 0.4, 1.0}) {
      const Real a = static_cast<Real>(p) / h;
      const Real want = log_gamma(a + 1.0L) - a * (std::log(1.0L / h) - 1.0L);
      const double got = reduced_log_gamma(p, std::log(p), 1.0 / h, std::log(1.0 / h));
      CHECK(is_near(got, static_cast<double>(want), 1e-13 + 1e-15 * static_cast<double>(a)));
    }
    const Real total = log_gamma(1.0L / h + 7.0L) - (std::log(1.0L / h) - 1.0L) / h;
    CHECK(is_near(reduced_log_gamma_total(7.0, 1.0 / h), static_cast<double>(total), 1e-10));
  }
}

TEST(dirichlet_ratios_are_those_of_a_loop) {
  for (Index k : {2, 3, 12}) {
    const Sample train = simplex_sample(120, k, 1), test = simplex_sample(15, k, 2);
    for (double h : bandwidths) {
      const Matrix r = kde_ratio(serial_engine(), train.p, train.labels, k, test.p, h, false);
      for (Index j = 0; j < 15; ++j) {
        for (int c = 0; c < k; ++c) {
          CHECK(std::abs(r(j, c) - naive_ratio(train.p, train.labels, c + 1, test.p, j, h)) < 1e-9);
        }
      }
    }
  }
}

TEST(beta_ratios_are_those_of_a_loop) {
  const Sample train = simplex_sample(4000, 2, 3), test = simplex_sample(60, 2, 4);
  // the loop reads a scalar as (1 - z, z), with 1 - z exact where z is at least 1/2
  const Matrix z = train.p.col(1), x = test.p.col(1);
  const Matrix p = simplex_features(z), q = simplex_features(x);
  Labels outcomes(train.labels);
  for (int& label : outcomes) label -= 1;
  for (double h : bandwidths) {
    for (double direct_pairs : {0.0, 1e18}) {
      const Matrix r = kde_ratio(serial_engine(), z, outcomes, 2, x, h, false, direct_pairs);
      for (Index j = 0; j < x.rows(); j += 3) {
        CHECK(std::abs(r(j, 0) - naive_ratio(p, train.labels, 2, q, j, h)) < 1e-9);
      }
    }
  }
}

// Full boxes over which the terms of a distant query vary by hundreds of units.
TEST(queries_far_from_all_training_values_are_right) {
  const Index n = 3000;
  Matrix z(n, 1), x(6, 1);
  Labels outcomes(static_cast<std::size_t>(n)), labels(outcomes);
  std::mt19937 random(6);
  for (Index i = 0; i < n; ++i) {
    z(i, 0) = 0.5 + 0.02 * static_cast<double>(i) / static_cast<double>(n);
    outcomes[static_cast<std::size_t>(i)] = static_cast<int>(random() % 2);
    labels[static_cast<std::size_t>(i)] = outcomes[static_cast<std::size_t>(i)] + 1;
  }
  x << 1e-9, 0.01, 0.49, 0.53, 0.97, 0.999999;
  const Matrix p = simplex_features(z), q = simplex_features(x);
  for (double h : {1e-5, 1e-4, 1e-3}) {
    const Matrix r = kde_ratio(serial_engine(), z, outcomes, 2, x, h, false, 0.0);
    for (Index j = 0; j < x.rows(); ++j) {
      CHECK(std::abs(r(j, 0) - naive_ratio(p, labels, 2, q, j, h)) < 1e-8);
    }
  }
}

// Rows of value(i, u) in fold(i), u uniform: the path in near-linear time is that of all pairs.
template <class Value, class Fold>
void check_path(Index n, int n_folds, const std::vector<double>& grid, Value value, Fold fold_of,
                const RowWeights& weights = RowWeights()) {
  Matrix z(n, 1), residuals(n, 1);
  Labels outcomes(static_cast<std::size_t>(n));
  std::vector<int> fold(outcomes.size());
  std::mt19937 random(8);
  for (Index i = 0; i < n; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    z(i, 0) = value(i, static_cast<double>(random()) / 4294967296.0);
    fold[at] = fold_of(i);
    outcomes[at] = random() % 3 == 0 ? 0 : 1;
    residuals(i, 0) = z(i, 0) - outcomes[at];
  }
  const KdePath fast =
      kde_path(serial_engine(), z, residuals, outcomes, fold, n_folds, grid, 0.0, weights);
  const KdePath direct =
      kde_path(serial_engine(), z, residuals, outcomes, fold, n_folds, grid, 1e18);
  CHECK(fast.squared_error.allFinite());
  CHECK((fast.squared_error - direct.squared_error).cwiseAbs().maxCoeff() < 1e-10);
  CHECK((fast.risk - direct.risk).cwiseAbs().maxCoeff() < 1e-10);
  CHECK(fast.squared_error_test.array().isFinite().all() ==
        direct.squared_error_test.array().isFinite().all());
  if (direct.squared_error_test.allFinite()) {
    CHECK((fast.squared_error_test - direct.squared_error_test).cwiseAbs().maxCoeff() < 1e-10);
  }
}

// Cells under boxes, stretches of many queries, and test rows on both sides of a gap without any
// training value.
TEST(paths_in_near_linear_time_are_those_of_all_pairs) {
  check_path(
      2400, 3, {3e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.3},
      [](Index i, double u) {
        return i % 4 == 0 ? 0.2 + 0.8 * u : i % 3 == 0 ? 0.4 + 0.002 * u : 0.9 + 0.1 * u * u;
      },
      [](Index i) { return static_cast<int>(i % 4); });
}

// Folds that hold stretches of values: next to a held-out row the values of the other folds are a
// vanishing part of all. Few of them are summed one by one, many by a training set of their own.
TEST(paths_of_folds_apart_from_each_other_are_those_of_all_pairs) {
  for (const bool few : {false, true}) {
    check_path(
        1500, 2, {1e-5, 1e-4, 1e-3, 1e-2, 0.3},
        [](Index i, double) {
          return i % 500 == 7 ? (i < 750 ? 0.0 : 1.0) : (static_cast<double>(i) + 0.5) / 1500.0;
        },
        // tenths by turns, or twenty rows of the second fold among those of the first
        [few](Index i) {
          return few ? (i % 75 == 0 ? 2 : 1) : static_cast<int>(10 * i / 1500 % 3);
        });
  }
}

// Where rows are dense nodes stand for them, also where they have weights; where the ratio jumps
// within a cell, between the training values around it, they do not.
TEST(paths_of_dense_rows_are_those_of_all_pairs) {
  const Vector ones = Vector::Ones(4000);
  for (const bool apart : {false, true}) {
    const auto value = [apart](Index i, double u) {
      return apart && i % 3 != 0 ? (i % 2 == 0 ? 0.41 : 0.59) + 0.002 * u : 0.4 + 0.2 * u;
    };
    const auto fold = [](Index i) { return static_cast<int>(i % 3); };
    check_path(4000, 2, {1e-3, 1e-2}, value, fold);
    check_path(4000, 2, {1e-3, 1e-2}, value, fold, RowWeights(ones));
  }
  const std::vector<double> z = [] {
    std::vector<double> out(4000);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = 0.4 + 0.2 * double(i) / 4000.0;
    return out;
  }();
  const std::vector<int> fold(4000, 1);
  const RowWeights weights;
  const detail::BetaRows rows(serial_engine(), Eigen::Map<const Vector>(z.data(), 4000),
                              Labels(4000, 1), fold, weights);
  const detail::BetaNodes nodes(serial_engine(), rows, z, 1, BetaQueries(serial_engine(), z, fold),
                                1e-3);
  CHECK(nodes.cells.size() > 5 && nodes.queries.n() < 400);
}

TEST(paths_have_the_same_digits_for_any_number_of_threads) {
  ThreadedEngine threads(3);
  const Sample data = simplex_sample(300, 3, 5);
  std::vector<int> fold(300);
  for (std::size_t i = 0; i < fold.size(); ++i) fold[i] = static_cast<int>(i % 5);
  const std::vector<double> grid(std::begin(bandwidths), std::end(bandwidths));
  const KdePath one = kde_path(serial_engine(), data.p, data.p, data.labels, fold, 4, grid);
  const KdePath many = kde_path(threads.engine(), data.p, data.p, data.labels, fold, 4, grid);
  CHECK(one.risk == many.risk && one.squared_error == many.squared_error);
  CHECK(one.squared_error_test == many.squared_error_test);
  Labels outcomes(data.labels);
  for (int& label : outcomes) label = label == 1;
  const Matrix z = data.p.col(0);
  const KdePath fast = kde_path(serial_engine(), z, z, outcomes, fold, 4, grid, 0.0);
  const KdePath fast_many = kde_path(threads.engine(), z, z, outcomes, fold, 4, grid, 0.0);
  const KdePath direct = kde_path(serial_engine(), z, z, outcomes, fold, 4, grid, 1e18);
  CHECK(fast.risk == fast_many.risk && fast.squared_error_test == fast_many.squared_error_test);
  CHECK((fast.squared_error - direct.squared_error).cwiseAbs().maxCoeff() < 1e-11);
  CHECK((fast.risk - direct.risk).cwiseAbs().maxCoeff() < 1e-11);
}
