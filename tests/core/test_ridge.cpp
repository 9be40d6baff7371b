// SPDX-License-Identifier: GPL-3.0-or-later
// Both kernel ridges on folds against the linear systems that define them, and paths of bins
// against fits of each fold on its own.
#include "check.h"
#include "threads.h"

#include <calibrisk/estimator.h>
#include <calibrisk/kernels/pivoted_cholesky.h>
#include <calibrisk/methods/bins_path.h>
#include <calibrisk/methods/kde_path.h>
#include <calibrisk/methods/ridge_explicit.h>
#include <calibrisk/methods/ridge_factor.h>
#include <calibrisk/methods/ridge_krylov.h>
#include <calibrisk/methods/scalar_nodes.h>
#include <calibrisk/pair_risk.h>

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <random>

using namespace calibrisk;

namespace {

// h(p, p') of the fit to the rows of l and d, at the rows of `at`.
Matrix naive_ridge(RidgeType type, const Matrix& l, const Matrix& d, const Matrix& at,
                   double ridge) {
  const Index n = l.rows();
  const Matrix k = l * l.transpose(), cross = at * l.transpose();
  const double count = static_cast<double>(n);
  if (type == RidgeType::two_step) {
    const Matrix shifted = k + ridge * count * Matrix::Identity(n, n);
    const Matrix gap = cross * shifted.inverse() * d;
    return gap * gap.transpose();
  }
  // (K x K + ridge n^2 I) vec(A) = vec(D D')
  Matrix system(n * n, n * n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) system.block(i * n, j * n, n, n) = k(i, j) * k;
  }
  system.diagonal().array() += ridge * count * count;
  const Matrix outer = d * d.transpose();
  const Vector solved = system.inverse() * Eigen::Map<const Vector>(outer.data(), n * n);
  return cross * Eigen::Map<const Matrix>(solved.data(), n, n) * cross.transpose();
}

double naive_risk(const Matrix& e, const Matrix& h) {
  double sum = 0.0;
  for (Index i = 0; i < e.rows(); ++i) {
    for (Index j = 0; j < e.rows(); ++j) {
      const double loss = e.row(i).dot(e.row(j)) - h(i, j);
      if (i != j) sum += loss * loss;
    }
  }
  return sum / static_cast<double>(e.rows() * (e.rows() - 1));
}

Kernel gaussian(double bandwidth) {
  Kernel kernel;
  kernel.leaf = GaussianKernel{bandwidth};
  return kernel;
}

Matrix without(const Matrix& x, Index begin, Index size, Index first) {
  Matrix out(x.rows() - size - first, x.cols());
  out << x.middleRows(first, begin - first), x.bottomRows(x.rows() - begin - size);
  return out;
}

}  // namespace

TEST(sums_at_nodes_are_those_over_all_rows) {
  std::mt19937 random(5);
  const Index n = 5000;
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  SummedRows rows{Matrix(n, 1), Vector(n), Vector(n), Vector(n), 3.0};
  for (Index i = 0; i < n; ++i) rows.x(i, 0) = uniform();
  for (Vector* column : {&rows.total, &rows.squares, &rows.lengths}) {
    for (Index i = 0; i < n; ++i) (*column)(i) = uniform();
  }
  const SummedRows nodes = at_nodes(rows);
  CHECK(nodes.x.rows() == 256 && nodes.fourth == 3.0);
  const auto sums = [](const SummedRows& at) {
    const Eigen::ArrayXd g = (3.0 * at.x.col(0).array() - at.x.col(0).array().square()).exp();
    return std::array<double, 3>{(at.total.array() * g).sum(),
                                 (at.squares.array() * g.square()).sum(),
                                 (at.lengths.array() * g).sum()};
  };
  for (std::size_t k = 0; k < 3; ++k) CHECK(is_near(sums(nodes)[k] / sums(rows)[k], 1.0, 1e-13));
  SummedRows few = rows;
  few.x.setConstant(0.5);
  CHECK(at_nodes(few).x.rows() == n);
}

TEST(ridge_paths_solve_the_system_of_every_fold) {
  ThreadedEngine host(2);
  const FoldBegin begin = {0, 3, 7, 12, 16};  // three test rows, folds of 4, 5 and 4
  const Matrix l = Matrix::Random(16, 3), d = Matrix::Random(16, 2);
  Vector ridges(4);  // weights of all ridges are more than the unseen rows of folds 1 and 3
  ridges << 0.5, 0.01, 2.0, 0.1;
  const auto spectra = factor_spectra(host.engine(), l, d, begin);
  const auto features = [&](Index f) {
    return UnseenFeatures{detail::fold_rows(l, begin, f), l.topRows(3)};
  };
  for (const RidgeType type : {RidgeType::kronecker, RidgeType::two_step}) {
    const RidgePath path = factor_path(host.engine(), type, spectra, features, d, begin, ridges);
    for (Index f = 1; f <= 3; ++f) {
      const Index from = begin[static_cast<std::size_t>(f)], size = detail::fold_size(begin, f);
      const Matrix train = without(l, from, size, 3), gaps = without(d, from, size, 3);
      for (Index v = 0; v < ridges.size(); ++v) {
        const Matrix h = naive_ridge(type, train, gaps, l.middleRows(from, size), ridges(v));
        const Matrix test = naive_ridge(type, train, gaps, l.topRows(3), ridges(v));
        CHECK(is_near(path.risk(v, f - 1), naive_risk(d.middleRows(from, size), h), 1e-7));
        CHECK(is_near(path.squared(v, f - 1), h.diagonal().mean(), 1e-7));
        CHECK(is_near(path.squared_test(v, f - 1), test.diagonal().mean(), 1e-7));
      }
    }
  }
}

TEST(products_with_blocks_of_folds_are_those_with_the_gram_matrix) {
  ThreadedEngine host(2);
  const Kernel kernel = gaussian(0.7);
  const Matrix x = Matrix::Random(16, 2);
  for (const FoldBegin& begin : {FoldBegin{0, 3, 7, 12, 16}, FoldBegin{0, 0, 4, 5, 16}}) {
    // sets of fold 1 and 3 have two columns and one, fold 2 none; what must not be read is NaN
    const std::vector<FoldColumns> sets = {{1, 0, 2}, {3, 2, 1}};
    Matrix q = Matrix::Random(16, 3), zeros = q;
    const auto leave_out = [&](Index f, Index start, Index width) {
      const Index from = begin[static_cast<std::size_t>(f)], size = detail::fold_size(begin, f);
      q.block(from, start, size, width).setConstant(not_a_number);
      zeros.block(from, start, size, width).setZero();
    };
    leave_out(0, 0, 3);
    leave_out(1, 0, 2);
    leave_out(3, 2, 1);
    const FoldGram blocks(host.engine(), kernel, x, begin);
    const Matrix expected = gram(host.engine(), kernel, x) * zeros;
    CHECK((blocks.multiply(host.engine(), q, sets) - expected).cwiseAbs().maxCoeff() < 1e-12);
  }
}

TEST(krylov_paths_of_full_spaces_solve_the_system_of_every_fold) {
  ThreadedEngine host(2);
  const FoldBegin begin = {0, 3, 7, 12, 16};
  const Kernel kernel = gaussian(0.4);
  const Matrix x = Matrix::Random(16, 2), d = Matrix::Random(16, 2);
  // K = L L', so that rows of L are features
  const Matrix l = pivoted_cholesky(host.engine(), kernel, x, {}).l;
  const Vector ridges = Vector::Constant(1, 0.01);
  KrylovRidge ridge(host.engine(), kernel, x, d, begin);
  ridge.extend(host.engine(), 16);
  for (const RidgeType type : {RidgeType::kronecker, RidgeType::two_step}) {
    const RidgePath path = ridge.path(host.engine(), type, 16, d, ridges);
    for (Index f = 1; f <= 3; ++f) {
      const Index from = begin[static_cast<std::size_t>(f)], size = detail::fold_size(begin, f);
      const Matrix train = without(l, from, size, 3), gaps = without(d, from, size, 3);
      const Matrix h = naive_ridge(type, train, gaps, l.middleRows(from, size), ridges(0));
      const Matrix test = naive_ridge(type, train, gaps, l.topRows(3), ridges(0));
      CHECK(ridge.spaces()[static_cast<std::size_t>(f - 1)].exhausted());
      CHECK(is_near(path.risk(0, f - 1), naive_risk(d.middleRows(from, size), h), 1e-7));
      CHECK(is_near(path.squared_test(0, f - 1), test.diagonal().mean(), 1e-7));
    }
  }
}

TEST(bins_paths_are_the_fits_of_every_fold) {
  ThreadedEngine host(2);
  const Index n = 60;
  const Vector z = (Vector::Random(n).array() + 1.0) / 2.0;
  std::vector<int> fold;
  Labels outcome;
  Vector e(n);
  for (Index i = 0; i < n; ++i) {
    fold.push_back(static_cast<int>(i % 4));  // 0: test
    outcome.push_back(static_cast<int>(i * i % 3 == 0));
    e(i) = z(i) - outcome.back();
  }
  const BinsProblem problem(host.engine(), z, e, outcome, fold, 3);
  const std::vector<int> numbers = {1, 4, 9};
  for (const BinType type : {BinType::width, BinType::mass}) {
    const BinsPath path = bins_path(host.engine(), problem, numbers, type, true);
    for (int f = 1; f <= 3; ++f) {
      std::vector<double> train;
      for (Index i = 0; i < n; ++i) {
        const int at = fold[static_cast<std::size_t>(i)];
        if (at != 0 && at != f) train.push_back(z(i));
      }
      std::sort(train.begin(), train.end());
      for (std::size_t v = 0; v < numbers.size(); ++v) {
        const auto edges = bin_edges(type, numbers[v], SortedValues{train, {}});
        const std::size_t cells = edges.size() + 1;
        std::vector<double> count(cells), sum(cells), ones(cells);
        double all = 0.0;
        for (Index i = 0; i < n; ++i) {
          const int at = fold[static_cast<std::size_t>(i)];
          if (at == 0 || at == f) continue;
          std::size_t k = 0;
          while (k < edges.size() && z(i) > edges[k]) ++k;
          count[k] += 1.0;
          sum[k] += e(i);
          ones[k] += outcome[static_cast<std::size_t>(i)];
          all += e(i);
        }
        std::vector<Index> rows;
        for (Index i = 0; i < n; ++i) {
          if (fold[static_cast<std::size_t>(i)] == f) rows.push_back(i);
        }
        const Index m = static_cast<Index>(rows.size());
        Matrix h(m, m), held(m, 1);
        for (Index i = 0; i < m; ++i) {
          held(i, 0) = e(rows[static_cast<std::size_t>(i)]);
          for (Index j = 0; j < m; ++j) {
            const auto cell = [&](Index row) {
              std::size_t k = 0;
              while (k < edges.size() && z(rows[static_cast<std::size_t>(row)]) > edges[k]) ++k;
              return k;
            };
            const auto mean = [&](std::size_t k) {
              return count[k] > 0.0 ? sum[k] / count[k] : all / static_cast<double>(train.size());
            };
            const std::size_t a = cell(i), b = cell(j);
            const double rate = ones[a] / count[a];
            h(i, j) = mean(a) * mean(b);
            if (a == b && count[a] >= 2.0) h(i, j) -= rate * (1.0 - rate) / (count[a] - 1.0);
          }
        }
        const Index row = static_cast<Index>(v);
        CHECK(is_near(path.risk(row, f - 1), std::max(naive_risk(held, h), 0.0), 1e-10));
        CHECK(is_near(path.squared_error(row, f - 1), h.diagonal().mean(), 1e-10));
      }
    }
  }
}

TEST(paths_of_weighted_rows_are_those_of_rows_that_occur_so_often) {
  const Engine engine = serial_engine();
  const Index n = 40;
  const Vector z = (Vector::Random(n).array() + 1.0) / 2.0;
  std::vector<int> fold, folds;
  Vector counts(n), e(n);
  Labels outcome, outcomes;
  std::vector<double> value, residual;
  for (Index i = 0; i < n; ++i) {
    fold.push_back(static_cast<int>(i % 4));
    outcome.push_back(static_cast<int>(i * i % 3 == 0));
    counts(i) = static_cast<double>(1 + i % 3);
    e(i) = z(i) - outcome.back();
    for (Index k = 0; k <= i % 3; ++k) {
      folds.push_back(fold.back());
      outcomes.push_back(outcome.back());
      value.push_back(z(i));
      residual.push_back(e(i));
    }
  }
  const auto repeated = [](const std::vector<double>& x) {
    return Vector(Eigen::Map<const Vector>(x.data(), static_cast<Index>(x.size())));
  };
  const Vector all_z = repeated(value), all_e = repeated(residual);
  const RowWeights copies = RowWeights::copies(counts);
  const BinsPath bins = bins_path(engine, BinsProblem(engine, z, e, outcome, fold, 3, copies),
                                  {3, 8}, BinType::width, true);
  const BinsPath all_bins = bins_path(engine, BinsProblem(engine, all_z, all_e, outcomes, folds, 3),
                                      {3, 8}, BinType::width, true);
  CHECK((bins.risk - all_bins.risk).cwiseAbs().maxCoeff() < 1e-10);
  CHECK((bins.squared_error_test - all_bins.squared_error_test).cwiseAbs().maxCoeff() < 1e-10);
  const KdePath kde = kde_path(engine, z, e, outcome, fold, 3, {0.01, 0.2}, 0.0, copies);
  const KdePath all_kde = kde_path(engine, all_z, all_e, outcomes, folds, 3, {0.01, 0.2}, 0.0);
  CHECK((kde.risk - all_kde.risk).cwiseAbs().maxCoeff() < 1e-9);
  CHECK((kde.squared_error_test - all_kde.squared_error_test).cwiseAbs().maxCoeff() < 1e-9);
}

TEST(paths_of_weighted_clusters_are_means_over_pairs_of_different_clusters) {
  ThreadedEngine host(2);
  const Index n = 48;
  const Matrix phi = Matrix::Random(n, 3), d = Matrix::Random(n, 2);
  const Vector z = (phi.col(0).array() + 1.0) / 2.0, w = phi.col(1).array().abs() + 0.1;
  std::vector<int> fold;
  Labels cluster, outcome(static_cast<std::size_t>(n), 0);
  for (Index i = 0; i < n; ++i) {
    fold.push_back(static_cast<int>(i % 3));  // 0: test
    // of 1 to 8 rows, the largest with more than features and residuals; folds cut some
    cluster.push_back(i < 24 ? static_cast<int>(i % 3) + 1 : 4 + static_cast<int>((i - 24) / 2));
  }
  const RowWeights weights(w);
  const RowClusters clusters(cluster);
  // of h, whose features are phi times a basis, on the pairs of rows of a fold
  const auto check = [&](int f, const Matrix& h, const Matrix& e, double risk, double squared) {
    double sum = 0.0, pairs = 0.0, diagonal = 0.0, total = 0.0;
    for (Index i = 0; i < n; ++i) {
      if (fold[static_cast<std::size_t>(i)] != f) continue;
      diagonal += w(i) * h(i, i);
      total += w(i);
      for (Index j = 0; j < n; ++j) {
        if (fold[static_cast<std::size_t>(j)] != f ||
            cluster[static_cast<std::size_t>(i)] == cluster[static_cast<std::size_t>(j)]) {
          continue;
        }
        const double loss = e.row(i).dot(e.row(j)) - h(i, j);
        sum += w(i) * w(j) * loss * loss;
        pairs += w(i) * w(j);
      }
    }
    CHECK(is_near(risk, sum / pairs, 1e-10));
    CHECK(is_near(squared, diagonal / total, 1e-10));
  };
  const ExplicitRidge ridge(host.engine(), ExplicitFeatures(3), phi, d, fold, 2, weights, clusters);
  const Vector ridges = Vector::Constant(1, 0.02);
  for (const RidgeType type : {RidgeType::kronecker, RidgeType::two_step}) {
    const RidgePath path = ridge.path(host.engine(), type, ridges, phi, d);
    for (int f = 1; f <= 2; ++f) {
      const RidgeSpectrum& s = ridge.spectrum(f);
      Matrix features = phi * s.basis;
      if (type == RidgeType::two_step) features *= two_step_weights(s, 0.02);
      const Matrix core = type == RidgeType::two_step ? Matrix(Matrix::Identity(2, 2))
                                                      : kronecker_core(host.engine(), s, 0.02);
      check(f, features * core * features.transpose(), d, path.risk(0, f - 1),
            path.squared(0, f - 1));
    }
  }
  const Matrix e = d.col(0);
  const BinsProblem bins(host.engine(), z, e.col(0), outcome, fold, 2, weights, clusters);
  const BinsPath path = bins_path(host.engine(), bins, {4}, BinType::width, false);
  for (int f = 1; f <= 2; ++f) {
    const BinsFit fit = bins_fit(bins, f, 4, BinType::width, false);
    Vector b(n);
    for (Index i = 0; i < n; ++i) {
      b(i) = fit.values.b[static_cast<std::size_t>(cell_of(fit.edges, z(i)))];
    }
    check(f, b * b.transpose(), e, path.risk(0, f - 1), path.squared_error(0, f - 1));
  }
}

TEST(spaces_grow_by_what_is_still_needed) {
  const double nan = not_a_number;
  const Vector ridges = (Vector(4) << 1.0, 0.1, 0.01, 0.001).finished();
  const auto numbers = [](std::array<double, 4> x) {
    return Vector(Eigen::Map<Vector>(x.data(), 4));
  };
  const auto blocks = [&](std::array<double, 4> risk, std::array<double, 4> error,
                          std::array<double, 4> excess, const ridge::Rows& open, Index grown = 1) {
    return ridge::further_blocks({10, grown, numbers({1.0, 2.0, 2.0, 1.5})}, numbers(risk), ridges,
                                 numbers(error), numbers(excess), open);
  };
  // the second is selected; its error has to fall to an eighth
  CHECK(blocks({1.5, 1, 1.1, nan}, {0, 0.8, 1, 5}, {0, 8, 10, 50}, {1, 2, 3}) == 3);
  CHECK(blocks({1.5, 1, 1.1, nan}, {0, 0.8, 1, 5}, {0, 8, 10, 50}, {1, 2, 3}, 2) == 5);
  // it is settled: the third must be surely noise, 1.02 of its risk, for the fourth not to matter
  const std::array<double, 4> error = {0, 0, 2 * (1 - 1 / 1.1), 5};
  CHECK(blocks({1.5, 1, 1.1, nan}, error, {0, 0, 1e5, 1e6}, {2, 3}) == 2);
  // or surely larger, where there is no fourth
  CHECK(blocks({1.5, 1, 1.1, 1.3}, error, {0, 0, 1e5, 1e6}, {2}) == 1);
  CHECK(blocks({1.5, 1, 1.01, nan}, error, {0, 0, 1e5, 1e6}, {2, 3}) == 5);
}

TEST(a_settled_error_is_three_times_the_change_within_the_worst_case) {
  Vector worst(3), change(3);
  worst << 0.2, 1.0, 5.0;
  change << 0.1, 0.1, 0.01;
  // the worst case itself, three times the change, a hundredth of the worst case
  const ridge::Errors of = ridge::settled_errors({worst, 2.0 * worst}, {change, 2.0 * change});
  CHECK((of.risk - Eigen::Vector3d(0.2, 0.3, 0.05)).norm() < 1e-15);
  CHECK((of.squared_error - 2.0 * of.risk).norm() < 1e-15);
}

TEST(a_problem_is_tuned_and_predicted_without_a_host) {
  std::mt19937 random(8);
  const Index n = 30;
  Matrix x(n, 3);
  Labels labels, fold;
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < 3; ++k) x(i, k) = 1.0 + static_cast<double>(random() % 1000);
    x.row(i) /= x.row(i).sum();
    labels.push_back(1 + static_cast<int>(random() % 3));
    fold.push_back(1 + static_cast<int>(i % 3));
  }
  const Matrix d = class_residuals(x, labels);
  const MatrixView features(x.data(), n, 3), residuals(d.data(), n, 3);
  const Engine engine = serial_engine();
  const Vector ridges = (Vector(3) << 1e-4, 1e-2, 1.0).finished();
  for (RidgeType type : {RidgeType::kronecker, RidgeType::two_step}) {
    const Tuned tuned = tune(engine, {features, residuals, fold}, {type, gaussian(0.5), ridges});
    const KernelFactor whole = pivoted_cholesky(engine, gaussian(0.5), x, CholeskyOptions());
    Matrix mean = Matrix::Zero(n, n);
    Vector risks = Vector::Zero(3);
    for (Index v = 0; v < 3; ++v) {
      for (int f = 1; f <= 3; ++f) {
        std::vector<Index> in, out;
        for (Index i = 0; i < n; ++i) {
          (fold[static_cast<std::size_t>(i)] == f ? out : in).push_back(i);
        }
        const Matrix h =
            naive_ridge(type, take_rows(whole.l, in), take_rows(d, in), whole.l, ridges(v));
        const Matrix of_rows = take_rows(h, out).transpose();
        risks(v) += naive_risk(take_rows(d, out), take_rows(of_rows, out)) / 3.0;
        if (ridges(v) == tuned.value) mean += h / 3.0;
      }
    }
    Index best;
    risks.minCoeff(&best);
    CHECK(tuned.value == ridges(best));
    CHECK((tuned.risks - risks).norm() <= 1e-8 * risks.norm());
    const Vector squared = tuned.form.squared(engine, x);
    CHECK((squared - mean.diagonal()).norm() <= 1e-6 * mean.diagonal().norm());
  }
}
