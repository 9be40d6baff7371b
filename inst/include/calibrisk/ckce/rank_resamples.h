// SPDX-License-Identifier: GPL-3.0-or-later
// Several models' metrics on the same outcomes: all of them, or subsamples, the resampling behind a
// ranking. One task is one model on one subsample; tasks run in parallel, each serially.
#ifndef CALIBRISK_CKCE_RANK_TRIALS_H
#define CALIBRISK_CKCE_RANK_TRIALS_H

#include <calibrisk/canonical_ece.h>
#include <calibrisk/ckce/dual.h>
#include <calibrisk/ckce/low_rank.h>
#include <calibrisk/kernels/gram.h>

#include <cmath>
#include <type_traits>

namespace calibrisk {

// Columns of a resample's result.
enum class RankMetric {
  ckce,
  ckce_off_diagonal,
  ckce_null_mean,
  jkce,
  ece,
  ece_pointwise,
  brier,
  log_loss,
  error
};
constexpr Index n_rank_metrics = 9;
// Rows of which a Gram matrix is affordable at all.
constexpr Index most_exact_rows = 2000;

struct RankSettings {
  bool kernel_metrics = true;  // any of the first four
  bool debiased = false;       // the second or third
  double ridge = 0.0;          // <= 0: m^(-1/4) for m rows
  int n_bins = 3;
  Index exact_rows = 199;  // up to which kernel metrics take the whole Gram matrix
};

namespace detail {

template <class Leaf, class = void>
struct HasBandwidth : std::false_type {};
template <class Leaf>
struct HasBandwidth<Leaf, std::void_t<decltype(std::declval<Leaf&>().bandwidth)>> : std::true_type {
};

// Rows between which distances are taken, evenly spaced.
constexpr Index median_rows = 10000;

// Bandwidths that are NaN become the median distance of the rows of x.
inline void resolve_median(const Engine& engine, Kernel& kernel, const ConstMatrixRef& x) {
  if (x.rows() > median_rows) {
    std::vector<Index> some(static_cast<std::size_t>(median_rows));
    const double step = static_cast<double>(x.rows() - 1) / static_cast<double>(median_rows - 1);
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i] = static_cast<Index>(std::nearbyint(step * static_cast<double>(i)));
    }
    return resolve_median(engine, kernel, take_rows(x, some));
  }
  for (Kernel& part : kernel.parts) resolve_median(engine, part, x);
  if (kernel.form != Kernel::Form::leaf) return;
  std::visit(
      [&](auto& leaf) {
        if constexpr (HasBandwidth<std::decay_t<decltype(leaf)>>::value) {
          if (std::isnan(leaf.bandwidth)) {
            leaf.bandwidth = median_distance(engine, leaf.metric, x);
          }
        }
      },
      kernel.leaf);
}

struct RankKernelValues {
  CkceValues ckce;
  double jkce;
  bool by_factor;
};

// Uses a certified low-rank factor if its rank is much smaller than the sample, else the dual, or
// the spectrum for a tiny ridge. For many rows: a factor of the largest affordable rank. Errors
// of networks and of simulated models were below a thirtieth of the bound. With a bound of a tenth
// they are far below the noise of any subsample.
inline RankKernelValues rank_kernel_values(const Engine& engine, const Kernel& kernel,
                                           const ConstMatrixRef& q, const Matrix& residuals,
                                           double ridge, const RankSettings& settings) {
  const Index n = q.rows();
  const bool many = n > most_exact_rows;
  const double tolerance = many ? 0.01 : 0.1;
  const Vector variances = 1.0 - q.rowwise().squaredNorm().array();
  if (n > settings.exact_rows) {
    const Index rank = many ? std::max<Index>(50, std::min<Index>(1000, 100000000 / n)) : n / 2;
    const auto certified = ckce_factor(engine, kernel, q, residuals, ridge, {tolerance, rank});
    const KernelFactor& factor = certified.factor;
    const FactorMoments moments =
        all_moments(engine, factor.l, certified.moments, residuals, variances, settings.debiased);
    const CkceValues value =
        ckce_of_moments(engine, moments, factor.residual.sum(), ridge, settings.debiased);
    if (many || value.error_bound <= tolerance * value.estimate) {
      return {value, factor_totals(factor.l, residuals, moments.cross).unbiased(), true};
    }
  }
  Matrix k = gram(engine, kernel, q);
  const double joint = pair_totals(engine, k, residuals).unbiased();
  const bool tiny = ridge * static_cast<double>(n) < smallest_dual_share * k.trace();
  if (!tiny) {
    return {ckce_dual(engine, k, residuals, variances, ridge, settings.debiased), joint, false};
  }
  const FactoredSpectrum whole = factored_spectrum(engine, std::move(k), residuals, variances);
  return {ckce_values(whole.spectrum, ridge), joint, false};
}

}  // namespace detail

// q: predictions of the subsample, labels 1..m. Where a factor does not serve, `settings` take the
// whole Gram matrix from now on.
inline Vector rank_metrics(const Engine& engine, const Kernel& kernel, RankSettings& settings,
                           const ConstMatrixRef& q, const Labels& labels) {
  const Index n = q.rows();
  const double count = static_cast<double>(n);
  Vector out = Vector::Constant(n_rank_metrics, std::numeric_limits<double>::quiet_NaN());
  auto at = [&](RankMetric metric) -> double& { return out(static_cast<Index>(metric)); };
  Matrix residuals = q;
  double log_loss = 0.0, errors = 0.0;
  for (Index i = 0; i < n; ++i) {
    const Index y = labels[static_cast<std::size_t>(i)] - 1;
    residuals(i, y) -= 1.0;
    log_loss -= std::log(q(i, y));
    Index top;
    q.row(i).maxCoeff(&top);
    errors += top == y ? 0.0 : 1.0;
  }
  at(RankMetric::brier) = residuals.rowwise().squaredNorm().mean();
  at(RankMetric::log_loss) = log_loss / count;
  at(RankMetric::error) = errors / count;
  const CanonicalEce ece = canonical_ece(q, labels, settings.n_bins);
  at(RankMetric::ece) = ece.binmean;
  at(RankMetric::ece_pointwise) = ece.pointwise;
  if (!settings.kernel_metrics) return out;
  Kernel resolved = kernel;
  detail::resolve_median(engine, resolved, q);
  const double ridge = settings.ridge > 0 ? settings.ridge : std::pow(count, -0.25);
  const detail::RankKernelValues value =
      detail::rank_kernel_values(engine, resolved, q, residuals, ridge, settings);
  if (!value.by_factor) settings.exact_rows = most_exact_rows;
  at(RankMetric::ckce) = value.ckce.estimate;
  if (settings.debiased) {
    at(RankMetric::ckce_off_diagonal) = value.ckce.estimate - value.ckce.diagonal;
    at(RankMetric::ckce_null_mean) = value.ckce.estimate - value.ckce.null_mean;
  }
  at(RankMetric::jkce) = value.jkce;
  return out;
}

// models: predictions of all rows; kernels: one per model; rows: [m x resamples], 0-based.
// Returns [metrics x (models * resamples)], models fastest. `serial` is the engine of a task, whose
// dense algebra may be called from a worker; a single resample has all threads to itself, and time
// for exact kernel metrics. Its products of many rows are small ones between other work: the
// threads of a host's BLAS would spend more time on waiting than on them.
inline Matrix rank_resamples(const Engine& engine, const Engine& serial,
                             const std::vector<ConstMatrixRef>& models,
                             const std::vector<Kernel>& kernels, const Labels& labels,
                             const Eigen::Ref<const Eigen::MatrixXi>& rows,
                             const RankSettings& settings) {
  const Index n_models = static_cast<Index>(models.size()), resamples = rows.cols(),
              m = rows.rows();
  Matrix out(n_rank_metrics, n_models * resamples);
  // the first subsample of a model decides for the others whether a factor is tried
  std::vector<RankSettings> of_model(models.size(), settings);
  const auto run = [&](const Engine& within, RankSettings choices, Index task) {
    const std::size_t model = static_cast<std::size_t>(task % n_models);
    const Index resample = task / n_models;
    Matrix q(m, models[model].cols());
    Labels chosen(static_cast<std::size_t>(m));
    for (Index i = 0; i < m; ++i) {
      q.row(i) = models[model].row(rows(i, resample));
      chosen[static_cast<std::size_t>(i)] = labels[static_cast<std::size_t>(rows(i, resample))];
    }
    out.col(task) = rank_metrics(within, kernels[model], choices, q, chosen);
    if (resample == 0) of_model[model] = choices;
  };
  if (resamples == 1) {
    RankSettings exact = settings;
    exact.exact_rows = most_exact_rows;
    const bool many = m > most_exact_rows;
    const Engine whole{engine.executor, many ? serial.dense : engine.dense, engine.progress};
    for (Index task = 0; task < n_models; ++task) run(whole, exact, task);
  } else {
    const double first = 1.0 / static_cast<double>(resamples);
    parallel_for(engine, n_models, [&](Index task) { run(serial, settings, task); }, {0.0, first});
    parallel_for(engine, n_models * (resamples - 1),
                 [&](Index task) {
                   run(serial, of_model[static_cast<std::size_t>(task % n_models)],
                       n_models + task);
                 },
                 {first, 1.0});
  }
  return out;
}

}  // namespace calibrisk

#endif
