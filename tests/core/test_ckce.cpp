// SPDX-License-Identifier: GPL-3.0-or-later
// The conditional kernel calibration error of one ridge and of ranked models, and folds of rows.
#include "check.h"

#include <calibrisk/ckce/left_out_clusters.h>
#include <calibrisk/ckce/by_factor.h>
#include <calibrisk/ckce/rank_resamples.h>
#include <calibrisk/classical/row_folds.h>
#include <calibrisk/serial_engine.h>

using namespace calibrisk;

TEST(ckce_of_one_ridge_without_a_spectrum_is_that_of_the_spectrum) {
  const Engine& engine = serial_engine();
  const Matrix f = Matrix::Random(60, 7), residuals = Matrix::Random(60, 3);
  const Vector variances = Vector::Random(60).cwiseAbs();
  const FactorMoments moments = factor_moments(engine, f, residuals, variances, true);
  for (double ridge : {1e-9, 1e-3, 0.2, 50.0}) {
    const CkceValues one = ckce_of_moments(engine, moments, 0.1, ridge, true);
    const CkceValues other = ckce_values(spectrum_of(engine, moments, 0.1).spectrum, ridge);
    CHECK(is_near(one.estimate / other.estimate, 1.0, 1e-10));
    CHECK(is_near(one.diagonal / other.diagonal, 1.0, 1e-10));
    CHECK(is_near(one.null_mean / other.null_mean, 1.0, 1e-10));
    CHECK(is_near(one.cce2 / other.cce2, 1.0, 1e-10));
    CHECK(is_near(one.residual_mse / other.residual_mse, 1.0, 1e-10));
    CHECK(is_near(one.error_bound / other.error_bound, 1.0));
  }
}

TEST(the_error_of_a_factor_is_within_its_bound_for_any_residuals) {
  const Engine& engine = serial_engine();
  double closest = 0.0;
  for (int trial = 0; trial < 200; ++trial) {
    const Index n = 12, kept = trial % 5;
    const Matrix f = Matrix::Random(n, 5) * std::pow(10.0, trial % 3 - 1);
    const Matrix part = f.leftCols(kept), gram = f * f.transpose(),
                 factored = part * part.transpose();
    const double c = 0.3 * static_cast<double>(trial % 7 + 1), lost = (gram - factored).trace();
    const auto weights = [&](const Matrix& k) {
      const Matrix inverse = (k + c * Matrix::Identity(n, n)).inverse();
      return Matrix(inverse * k * inverse);
    };
    const Matrix difference = weights(gram) - weights(factored);
    // residuals along the largest change, and any
    const SymEigen change = engine.dense.sym_eigen(difference);
    const Matrix residuals = trial % 2 == 0
                                 ? Matrix(Matrix::Random(n, 3))
                                 : Matrix(change.vectors.col(trial % 4 == 1 ? 0 : n - 1));
    FactorMoments moments(0, residuals.cols());
    moments.widen(engine, part, residuals);
    CHECK(is_near(moments.norm_residual, residuals.jacobiSvd().singularValues().cwiseAbs2()(0),
                  1e-10));
    const double error = std::abs((residuals.transpose() * difference * residuals).trace());
    const double bound = ckce_error_bound(moments.norm_residual, lost, c);
    CHECK(error <= bound * (1.0 + 1e-10));
    closest = std::max(closest, error / bound);
  }
  CHECK(closest > 0.3);
}

TEST(moments_of_a_widened_factor_are_those_of_all_its_columns) {
  const Engine& engine = serial_engine();
  const Matrix f = Matrix::Random(60, 9), residuals = Matrix::Random(60, 3);
  const Vector variances = Vector::Random(60).cwiseAbs();
  const FactorMoments all = factor_moments(engine, f, residuals, variances, false);
  FactorMoments wider(0, 3);
  for (Index rank : {4, 4, 5, 9}) wider.widen(engine, f.leftCols(rank), residuals);
  CHECK((wider.gram - all.gram).cwiseAbs().maxCoeff() < 1e-12);
  CHECK((wider.cross - all.cross).cwiseAbs().maxCoeff() < 1e-12);
  CHECK(wider.n_obs == 60 && is_near(wider.trace_residual, all.trace_residual));
  CHECK(wider.residual == all.residual && wider.null == all.null);
}

TEST(repeated_keys_are_counted_before_each_row) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 3000; ++i) keys.push_back(mix_bits(i % 7 < 3 ? i % 11 : i));
  std::vector<std::uint64_t> found(keys.size());
  for_repeated(keys, [&](std::size_t i, std::uint64_t before) { found[i] = before; });
  bool same = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t before = 0;
    for (std::size_t j = 0; j < i; ++j) before += keys[j] == keys[i];
    same = same && found[i] == before;
  }
  CHECK(same);
}

TEST(ranked_models_of_many_rows_do_without_the_algebra_of_the_host) {
  const Index n = most_exact_rows + 1;
  const Matrix some = Matrix::Random(n, 3).array().exp();
  const Matrix p = some.array().colwise() / some.rowwise().sum().array();
  Labels truth(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = static_cast<int>(1 + i % 3);
  Eigen::MatrixXi rows(n, 1);
  for (Index i = 0; i < n; ++i) rows(i, 0) = static_cast<int>(i);
  struct Host : EigenAlgebra {
    mutable Index calls = 0;
    Matrix crossprod(const ConstMatrixRef& a) const override {
      ++calls;
      return EigenAlgebra::crossprod(a);
    }
    bool cholesky(Matrix& a) const override {
      ++calls;
      return EigenAlgebra::cholesky(a);
    }
    void product(bool at, bool bt, double alpha, const ConstMatrixRef& a, const ConstMatrixRef& b,
                 double beta, MatrixRef c) const override {
      ++calls;
      EigenAlgebra::product(at, bt, alpha, a, b, beta, c);
    }
  } host;
  const Engine serial = serial_engine(), engine{serial.executor, host, serial.progress};
  Kernel kernel;
  kernel.leaf = GaussianKernel{0.5};
  const Matrix values = rank_resamples(engine, serial, {p}, {kernel}, truth, rows, {});
  CHECK(values(0, 0) > 0.0 && host.calls == 0);
  rank_resamples(engine, serial, {p}, {kernel}, truth, rows.topRows(500), {});
  CHECK(host.calls > 0);
}

TEST(inverses_from_halves_of_a_triangle_are_inverses) {
  const Engine engine = serial_engine();
  const Matrix root = Matrix::Random(211, 211);
  const Matrix a = Matrix::Identity(211, 211) + root * root.transpose();
  const Matrix inverse =
      detail::inverse_from_cholesky(engine, detail::shifted_cholesky(engine, a, 0.0));
  CHECK((inverse * a - Matrix::Identity(211, 211)).cwiseAbs().maxCoeff() < 1e-9);
  CHECK((inverse - inverse.transpose()).cwiseAbs().maxCoeff() < 1e-12);
}

// A factor of half the rank serves for smooth kernels, and not for rough ones.
TEST(the_first_subsample_of_a_model_decides_whether_a_factor_is_tried) {
  const Index n = 400;
  const Matrix some = Matrix::Random(n, 4).array().exp();
  const Matrix p = some.array().colwise() / some.rowwise().sum().array();
  Labels truth(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = static_cast<int>(1 + i % 4);
  Eigen::MatrixXi rows(300, 2);
  for (Index i = 0; i < 300; ++i) {
    rows(i, 0) = static_cast<int>(i);
    rows(i, 1) = static_cast<int>(n - 1 - i);
  }
  Matrix last(300, 4);
  Labels last_truth(300);
  for (Index i = 0; i < 300; ++i) {
    last.row(i) = p.row(rows(i, 1));
    last_truth[static_cast<std::size_t>(i)] = truth[static_cast<std::size_t>(rows(i, 1))];
  }
  const Engine engine = serial_engine();
  std::vector<Kernel> kernels(2);
  kernels[0].leaf = GaussianKernel{2.0};
  kernels[1].leaf = GaussianKernel{0.002};
  RankSettings settings;
  settings.ridge = 0.5;
  const Matrix values = rank_resamples(engine, engine, {p, p}, kernels, truth, rows, settings);
  for (Index model = 0; model < 2; ++model) {
    RankSettings exact = settings, tried = settings;
    exact.exact_rows = most_exact_rows;
    const Kernel& kernel = kernels[static_cast<std::size_t>(model)];
    const double whole = rank_metrics(engine, kernel, exact, last, last_truth)(0);
    const double factor = rank_metrics(engine, kernel, tried, last, last_truth)(0);
    CHECK((tried.exact_rows == most_exact_rows) == (model == 1));
    CHECK(values(0, 2 + model) == (model == 1 ? whole : factor));
    CHECK((whole == factor) == (model == 1));
  }
}

TEST(errors_without_a_cluster_are_those_of_a_fit_to_the_others) {
  const Engine engine = serial_engine();
  const Index n = 12;
  const Matrix f = Matrix::Random(n, 3), y = Matrix::Random(n, 2);
  const double ridge = 0.3;
  Eigen::SelfAdjointEigenSolver<Matrix> eigen(f * f.transpose());
  const Matrix filters = eigen.eigenvalues().array() / (eigen.eigenvalues().array() + ridge);
  Labels cluster;
  for (Index i = 0; i < n; ++i) cluster.push_back(1 + static_cast<int>(i % 4));
  double naive = 0.0;
  for (int c = 1; c <= 4; ++c) {
    Matrix gram = ridge * Matrix::Identity(3, 3), cross = Matrix::Zero(3, 2);
    for (Index i = 0; i < n; ++i) {
      if (cluster[static_cast<std::size_t>(i)] == c) continue;
      gram += f.row(i).transpose() * f.row(i);
      cross += f.row(i).transpose() * y.row(i);
    }
    const Matrix fit = gram.inverse() * cross;
    for (Index i = 0; i < n; ++i) {
      if (cluster[static_cast<std::size_t>(i)] == c)
        naive += (y.row(i) - f.row(i) * fit).squaredNorm();
    }
  }
  const Vector found = errors_without_clusters(engine, eigen.eigenvectors(), filters, y, cluster);
  CHECK(is_near(found(0), naive, 1e-10));
}
