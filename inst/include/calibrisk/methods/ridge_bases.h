// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel ridge over folds and ridges. A kernel's bases (eigenvectors of every fold's training set)
// do not depend on the ridge, and both methods share them: made once for a problem, they grow on
// demand (ridge_growth.h). A Gaussian kernel of one scalar has explicit features; other kernels
// have a factor of all rows, or block Krylov spaces; weighted rows explicit features of a factor.
#ifndef CALIBRISK_METHODS_RIDGE_BASES_H
#define CALIBRISK_METHODS_RIDGE_BASES_H

#include <calibrisk/methods/ridge_explicit.h>
#include <calibrisk/methods/ridge_factor.h>
#include <calibrisk/methods/ridge_form.h>
#include <calibrisk/methods/ridge_growth.h>
#include <calibrisk/methods/ridge_krylov.h>
#include <calibrisk/pairs/pair_source.h>

#include <memory>

namespace calibrisk {

// What an estimator of calibration errors is fitted to. Views: the host keeps the data.
struct Problem {
  MatrixView features;   // [n x q], what h is a function of
  MatrixView residuals;  // [n x d], prediction minus outcome
  Labels fold;           // the fold that holds a row out, 1..k; 0: a test row
  RowWeights weights{};
  RowClusters clusters{};

  Index folds() const { return fold.empty() ? 0 : *std::max_element(fold.begin(), fold.end()); }
};

// Explicit features of a Gaussian kernel of one scalar, unless it is too narrow for its range:
// above that rank a factor is cheaper, and no less accurate.
inline std::optional<TaylorFeatures> scalar_features(const Kernel& kernel,
                                                     const ConstMatrixRef& x) {
  const auto* leaf = std::get_if<GaussianKernel>(&kernel.leaf);
  if (leaf == nullptr || kernel.form != Kernel::Form::leaf || x.cols() != 1) return {};
  TaylorFeatures out;
  const double low = x.minCoeff(), high = x.maxCoeff();
  out.centre = 0.5 * (low + high);
  out.gamma = 1.0 / (2.0 * leaf->bandwidth * leaf->bandwidth);
  out.scale = kernel.scale;
  out.rank = TaylorFeatures::rank_for(out.gamma, 0.5 * (high - low), 60);
  if (out.rank == 0) return {};
  return out;
}

// What was found over ridges; `size`: of the bases of each, their rank or (spaces) number of
// blocks.
struct RidgeTuned {
  RidgePath path;
  ridge::Errors errors;
  Vector size, rank, residual_trace;
  std::vector<bool> reliable;
  bool spaces = false;
};

class RidgeBases {
 public:
  // `ridge`: the smallest that weighted rows are fitted with.
  RidgeBases(const Engine& engine, const Kernel& kernel, const Problem& problem,
             const RidgeLimits& limits = {}, double ridge = 1.0)
      : problem_(problem), limits_(limits), kernel_(kernel), folds_(problem.folds()) {
    taylor_ = scalar_features(kernel, problem.features);
    const bool weighted = !problem.weights.all_equal() || problem.clusters.given();
    if (taylor_) {
      explicit_ = explicit_ridge(engine, ExplicitFeatures(*taylor_), problem.features);
    } else if (weighted) {
      factor_ = weighted_factor(engine, 1e-6 * ridge);
      explicit_ = explicit_ridge(engine, ExplicitFeatures(factor_.l.cols()), factor_.l);
    } else {
      sort_rows();
      factor_ = empty_factor(kernel, x_);
      diagonal_ = gram_diagonal(kernel, x_).mean();
    }
  }

  // All ridges; `exact`: each of them to full precision, rather than the selected one to the digits
  // that are reported.
  RidgeTuned tune(const Engine& engine, RidgeType type, const ConstVectorRef& ridges,
                  bool exact = false) {
    const Index n_ridges = ridges.size();
    if (explicit_) {
      const Vector none = Vector::Zero(n_ridges);
      return {explicit_path(engine, type, ridges), {none, none}, size(n_ridges, explicit_rank()),
              size(n_ridges, explicit_rank()),     none,         flags(n_ridges, true)};
    }
    const double n = static_cast<double>(x_.rows());
    const Step step = first_step(engine, exact || n <= limits_.small);
    const Vector noise = ridge::rounding_errors(type, ridges);
    std::vector<bool> accurate;
    for (Index v = 0; v < n_ridges; ++v) accurate.push_back(noise(v) <= limits_.risk);
    if (step.exact) {
      return {path(engine, type, ridges, step.rank, {0.1, 1.0}),
              {noise, noise},
              size(n_ridges, step.rank),
              size(n_ridges, step.rank),
              Vector::Constant(n_ridges, step.trace),
              accurate};
    }
    const bool fits = n <= limits_.gram;
    const bool diffuse = step.trace > limits_.diffuse * std::max(1.0, n / limits_.wide) * diagonal_;
    if (!diffuse || !fits) {
      auto by_rank = adapt_rank(engine, type, ridges, fits ? limits_.spaces * n : infinite);
      if (by_rank) return *by_rank;
    }
    RidgeTuned out = adapt_blocks(engine, type, ridges);
    out.errors.risk = out.errors.risk.cwiseMax(noise);
    for (std::size_t v = 0; v < accurate.size(); ++v) {
      out.reliable[v] = out.reliable[v] && accurate[v];
    }
    return out;
  }

  // One ridge on all rows, which train: those of fold 2 are the training set of fold 1, which is
  // empty.
  RidgeForm fit(const Engine& engine, RidgeType type, double ridge, bool exact = false) {
    if (explicit_) return form(engine, type, ridge, 1, 0, not_a_number, false);
    const double tolerance = 1e-6 * ridge;
    Step step = first_step(engine, exact);
    if (!step.exact) step = factor_step(engine, limits_.single, tolerance);
    const auto of = [&](Index rank) { return form(engine, type, ridge, 1, rank, rank, false); };
    if (step.exact) return of(step.rank);
    // the rank grows until the mean of h(p, p) on the training rows stands
    step = factor_step(engine, limits_.start, tolerance);
    double value = mean_squared(engine, of(step.rank), step.rank), trace = step.trace;
    step = factor_step(engine, limits_.start * limits_.growth, tolerance);
    for (;;) {
      const RidgeForm fitted = of(step.rank);
      const double finer = mean_squared(engine, fitted, step.rank);
      const double left =
          step.trace / std::max(trace - step.trace, std::numeric_limits<double>::min());
      const double excess =
          std::abs(finer - value) * left / (std::abs(finer) * limits_.squared_error);
      if (!(excess > 1.0) || step.last) return fitted;
      value = finer;
      trace = step.trace;
      step = finer_step(engine, step, excess, tolerance);
    }
  }

  // The form of the training set without fold f; `used`: eigenvectors of it, `size` and `spaces` as
  // tune() has found.
  RidgeForm form(const Engine& engine, RidgeType type, double ridge, Index f, Index size,
                 double used, bool spaces) {
    RidgeForm out;
    const RidgeSpectrum& s = spectrum(engine, f, size, spaces);
    const Index rank = std::isnan(used) ? s.rank() : static_cast<Index>(used);
    set_ridge(engine, s, type, ridge, rank, out);
    if (spaces) {
      const KrylovSpace& space = krylov_->spaces()[static_cast<std::size_t>(f - 1)];
      out.map = RidgeForm::Map::gram;
      out.basis = space.of_tune_rows(engine.dense.multiply(space.basis(size), out.basis));
    } else if (taylor_) {
      out.map = RidgeForm::Map::taylor;
      out.taylor = *taylor_;
    }
    return out;
  }

  // Sets what maps rows: the same for the forms of all folds of one size.
  void set_map(Index size, RidgeForm& form) const {
    form.kernel = kernel_;
    if (form.map == RidgeForm::Map::gram) {
      form.rows = x_.bottomRows(x_.rows() - begin_[1]);
    } else if (form.map == RidgeForm::Map::factor) {
      const Index rank = explicit_ ? factor_.rank() : size;
      form.rows = factor_.pivot_rows.topRows(rank);
      form.triangle = factor_.triangle().topLeftCorner(rank, rank);
    }
  }

  // Features, in that form, of the rows that fold f holds out and of the test rows, which a tuned
  // path has already. Those of scalars are made anew.
  struct Unseen {
    Matrix held_out, test, core;
  };
  Unseen unseen(const Engine& engine, RidgeType type, double ridge, Index f, Index size,
                double used, bool spaces) {
    const RidgeSpectrum& s = spectrum(engine, f, size, spaces);
    RidgeForm of;
    set_ridge(engine, s, type, ridge, std::isnan(used) ? s.rank() : static_cast<Index>(used), of);
    const auto rows = [&](Index fold) {
      if (explicit_) return engine.dense.multiply(rows_of(fold), of.basis);
      return engine.dense.multiply(
          detail::fold_rows(factor_.l.leftCols(s.basis.rows()), begin_, fold), of.basis);
    };
    if (!spaces) return {rows(f), rows(0), of.core};
    const UnseenFeatures images = krylov_->spaces()[static_cast<std::size_t>(f - 1)].unseen(size);
    return {engine.dense.multiply(images.held_out, of.basis),
            engine.dense.multiply(images.test, of.basis), of.core};
  }

  const std::optional<TaylorFeatures>& taylor() const { return taylor_; }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  // The factor cut at a rank. `last`: it need not or must not grow.
  struct Step {
    Index rank;
    double trace;
    bool exact, last;
  };

  std::unique_ptr<ExplicitRidge> explicit_ridge(const Engine& engine,
                                                const ExplicitFeatures& features,
                                                const ConstMatrixRef& x) const {
    return std::make_unique<ExplicitRidge>(engine, features, x, problem_.residuals, problem_.fold,
                                           folds_, problem_.weights, problem_.clusters);
  }

  KernelFactor weighted_factor(const Engine& engine, double tolerance) const {
    CholeskyOptions options;
    const bool few = static_cast<double>(problem_.features.rows()) <= limits_.single;
    options.tolerance = few ? 1e-17 : std::max(tolerance, 1e-17);
    options.max_rank = std::min(static_cast<Index>(limits_.most), problem_.features.rows());
    return pivoted_cholesky(engine, kernel_, problem_.features, options);
  }

  Index explicit_rank() const { return taylor_ ? taylor_->rank : factor_.rank(); }

  ConstMatrixRef explicit_features() const {
    if (taylor_) return problem_.features;
    return factor_.l;
  }

  RidgePath explicit_path(const Engine& engine, RidgeType type, const ConstVectorRef& ridges) {
    return explicit_->path(engine, type, ridges, explicit_features(), problem_.residuals);
  }

  Matrix rows_of(Index fold) const {
    const FoldRows rows(problem_.fold, folds_);
    return take_rows(explicit_features(), {rows.rows(fold), rows.rows(fold) + rows.size(fold)});
  }

  // Test rows first.
  void sort_rows() {
    const FoldRows rows(problem_.fold, folds_);
    x_ = take_rows(problem_.features, rows.order);
    residuals_ = take_rows(problem_.residuals, rows.order);
    begin_ = rows.offset;
  }

  const RidgeSpectrum& spectrum(const Engine& engine, Index f, Index size, bool spaces) {
    if (explicit_) return explicit_->spectrum(f);
    const auto& of = spaces ? krylov(engine).spectra(engine, size) : spectra(engine, size, {0, 0});
    return of[static_cast<std::size_t>(f - 1)];
  }

  const std::vector<RidgeSpectrum>& spectra(const Engine& engine, Index rank, ProgressSpan span) {
    require(rank <= factor_.rank(), "The factor has fewer columns.");
    std::vector<RidgeSpectrum>& out = spectra_[rank];
    if (out.empty()) {
      out = factor_spectra(engine, factor_.l.leftCols(rank), residuals_, begin_, span);
    }
    return out;
  }

  RidgePath path(const Engine& engine, RidgeType type, const ConstVectorRef& ridges, Index rank,
                 ProgressSpan span) {
    const double at = span.from + 0.3 * (span.to - span.from);
    const auto l = factor_.l.leftCols(rank);
    const auto features = [&](Index f) {
      return UnseenFeatures{detail::fold_rows(l, begin_, f), detail::fold_rows(l, begin_, 0)};
    };
    return factor_path(engine, type, spectra(engine, rank, {span.from, at}), features, residuals_,
                       begin_, ridges, {at, span.to});
  }

  // The first step with at least `rank` columns, or a residual trace of at most `tolerance`.
  // However large the ridge that this follows, the kernel itself is met to 1e-5.
  Step factor_step(const Engine& engine, double rank, double tolerance) {
    CholeskyOptions options;
    options.tolerance = std::min(std::max(tolerance, 1e-17), 1e-5 * diagonal_);
    options.enough = static_cast<Index>(std::min(rank, static_cast<double>(x_.rows())));
    extend_factor(engine, x_, options, factor_, {0.0, 0.0});
    const auto& steps = factor_.steps;
    std::size_t at = 0;
    const auto exact = [&] { return steps[at].residual_trace <= options.tolerance; };
    while (at + 1 < steps.size() && static_cast<double>(steps[at].rank) < rank && !exact()) ++at;
    const bool done = exact() || (factor_.full && at + 1 == steps.size());
    return {steps[at].rank, steps[at].residual_trace, done, done || rank >= limits_.most};
  }

  Step first_step(const Engine& engine, bool exact) {
    return factor_step(engine, exact ? infinite : limits_.direct, 0.0);
  }

  // Errors are about proportional to the residual trace. The next trace would halve the allowed
  // errors, but is between 1/10 and 1/2 of the present one. It is a half power of ten, so that both
  // methods use the same ranks and share their bases.
  Step finer_step(const Engine& engine, const Step& step, double excess, double tolerance) {
    double target = step.trace * std::min(std::max(0.5 / excess, 0.1), 0.5);
    target = std::pow(10.0, std::floor(2.0 * std::log10(target)) / 2.0);
    double rank = std::min(limits_.most, 2.0 * static_cast<double>(step.rank));
    factor_step(engine, rank, std::max(target, tolerance));
    for (const FactorStep& each : factor_.steps) {
      if (each.residual_trace <= target) rank = std::min(rank, static_cast<double>(each.rank));
    }
    return factor_step(engine, rank, tolerance);
  }

  // All ridges are evaluated at two ranks, and their difference gives the residual trace that the
  // selected ridge needs. The rank then grows for that ridge and its neighbours until its reported
  // numbers are stable. None if that takes a rank above `most`.
  std::optional<RidgeTuned> adapt_rank(const Engine& engine, RidgeType type,
                                       const ConstVectorRef& ridges, double most) {
    using namespace ridge;
    const Index n = ridges.size();
    const double tolerance = factor_tolerance(ridges);
    int level = 1;
    const auto part = [&] {
      return ProgressSpan{std::min(0.1 + 0.2 * level, 0.9), std::min(0.3 + 0.2 * level, 1.0)};
    };
    Step step = factor_step(engine, limits_.start, tolerance);
    const Vector unknown = Vector::Constant(n, infinite);
    RidgeTuned out{path(engine, type, ridges, step.rank, part()),
                   {unknown, unknown},
                   size(n, step.rank),
                   Vector(),
                   Vector::Constant(n, step.trace),
                   flags(n, false)};
    Rows rows = all_rows(n);
    step = factor_step(engine, limits_.start * limits_.growth, tolerance);
    for (;;) {
      ++level;
      const Vector traces = Vector::Constant(static_cast<Index>(rows.size()), step.trace);
      const RidgePath finer = path(engine, type, take(ridges, rows), step.rank, part());
      Errors found =
          change_errors(take(out.path, rows), finer, take(out.residual_trace, rows), traces);
      if (step.exact) found.risk = found.squared_error = 0.0 * traces;
      put(out.errors.risk, rows, found.risk);
      put(out.errors.squared_error, rows, found.squared_error);
      put(out.path, rows, finer);
      put(out.residual_trace, rows, traces);
      put(out.size, rows, size(traces.size(), step.rank));
      const Vector risk = mean_over_folds(out.path.risk);
      const Index v = selected(risk, ridges);
      const Rows others = rivals(v, ridges, risk, out.errors.risk);
      rows.clear();
      // a rival that is not known to a risk's accuracy may still be the smallest
      double excess = out.errors.excess(limits_)(v);
      for (Index u : others) {
        if (out.size(u) < static_cast<double>(step.rank)) rows.push_back(u);
        if (u != v) excess = std::max(excess, out.errors.risk(u) / limits_.risk);
      }
      if (!rows.empty()) continue;
      if (excess <= 1.0 || step.last) break;
      step = finer_step(engine, step, excess, tolerance);
      if (static_cast<double>(step.rank) > most) return {};
      rows = with_neighbours(others, v, ridges);
    }
    out.rank = out.size;
    settle(out.errors, out.reliable);
    return out;
  }

  void settle(const ridge::Errors& errors, std::vector<bool>& settled) const {
    for (std::size_t v = 0; v < settled.size(); ++v) {
      const Index at = static_cast<Index>(v);
      settled[v] =
          errors.risk(at) <= limits_.risk && errors.squared_error(at) <= limits_.squared_error;
    }
  }

  KrylovRidge& krylov(const Engine& engine) {
    if (!krylov_) {
      krylov_ = std::make_unique<KrylovRidge>(engine, kernel_, x_, residuals_, begin_);
    }
    return *krylov_;
  }

  // Spaces of so many blocks: the largest rank, the part of the trace outside them, and whether all
  // are exact.
  Step extend_spaces(const Engine& engine, Index blocks) {
    KrylovRidge& all = krylov(engine);
    all.extend(engine, blocks, {0.0, 0.0});
    Step out{0, 0.0, true, false};
    for (const KrylovSpace& space : all.spaces()) {
      out.rank = std::max(out.rank, space.rank(blocks));
      out.trace = std::max(out.trace, space.residual_trace(blocks));
      out.exact = out.exact && space.exhausted() && space.blocks() <= blocks;
    }
    out.last = out.exact || static_cast<double>(out.rank) >= limits_.most;
    return out;
  }

  // Mean over the folds of the risk of no gap, sum_{i != j} <e_i, e_j>^2 / (m (m - 1)).
  double zero_risk(const Engine& engine) const {
    Matrix risks(1, folds_);
    for (Index f = 1; f <= folds_; ++f) {
      const Matrix e = detail::fold_rows(residuals_, begin_, f);
      risks(0, f - 1) =
          pair_risk_value(engine.dense.crossprod(e).squaredNorm(),
                          e.rowwise().squaredNorm().squaredNorm(), static_cast<double>(e.rows()));
    }
    return ridge::mean_over_folds(risks)(0);
  }

  // Block Krylov spaces (ridge_krylov.h). Blocks are added until the selected ridge and its rivals
  // are settled. A risk is computed where the equation is solved to a tenth at least, those of
  // ridges that are left by then on the last spaces.
  RidgeTuned adapt_blocks(const Engine& engine, RidgeType type, const ConstVectorRef& ridges) {
    using namespace ridge;
    const Index n = ridges.size();
    const Vector unknown = Vector::Constant(n, infinite);
    RidgeTuned out{missing_path(n, folds_),
                   {unknown, unknown},
                   Vector::Zero(n),
                   Vector(n),
                   Vector(n),
                   flags(n, false),
                   true};
    const double no_gap = zero_risk(engine);
    Errors found{unknown, unknown};
    Vector equation = unknown, coarse = unknown;
    Index blocks = 1, grown = 1;
    Step step = extend_spaces(engine, blocks);
    const auto evaluate = [&](const Rows& rows, double from, double to) {
      if (rows.empty()) return;
      const RidgePath part =
          krylov_->path(engine, type, blocks, residuals_, take(ridges, rows), {from, to});
      const Errors changes =
          change_errors(take(out.path, rows), part, take(coarse, rows), take(equation, rows));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Index v = rows[i], at = static_cast<Index>(i);
        if (!(out.size(v) > 0.0 && coarse(v) > equation(v))) continue;
        found.risk(v) = changes.risk(at);
        found.squared_error(v) = changes.squared_error(at);
      }
      put(out.path, rows, part);
      put(coarse, rows, take(equation, rows));
      put(out.size, rows, size(static_cast<Index>(rows.size()), blocks));
    };
    Rows open = all_rows(n);
    for (;;) {
      const Vector before = equation;
      put(equation, open,
          step.exact ? Vector(Vector::Zero(static_cast<Index>(open.size())))
                     : mean_over_folds(
                           krylov_->equation_errors(engine, type, blocks, take(ridges, open))));
      Rows rows;
      for (Index v : open) {
        if (equation(v) <= 0.1) rows.push_back(v);
      }
      const double done = static_cast<double>(blocks);
      evaluate(rows, 0.9 - 0.9 / done, 0.9 - 0.8 / done);
      out.errors =
          settled_errors(equation_bounds(equation, no_gap, mean_over_folds(out.path.risk)), found);
      settle(out.errors, out.reliable);
      const auto still_open = [&] {
        return open_ridges(mean_over_folds(out.path.risk), ridges, out.errors.risk, out.reliable);
      };
      open = still_open();
      if (open.empty() || step.last) {
        rows.clear();
        for (Index v = 0; v < n; ++v) {
          if (out.size(v) == 0.0) rows.push_back(v);
        }
        evaluate(rows, 0.9, 1.0);
        open = still_open();
        if (open.empty() || step.last) break;
      }
      grown = further_blocks({blocks, grown, before.cwiseQuotient(equation)},
                             mean_over_folds(out.path.risk), ridges, out.errors.risk,
                             out.errors.excess(limits_), open);
      blocks += grown;
      step = extend_spaces(engine, blocks);
    }
    if (step.exact) {
      out.errors.risk.setZero();
      out.errors.squared_error.setZero();
      out.reliable = flags(n, true);
    }
    for (Index v = 0; v < n; ++v) {
      const Step of = extend_spaces(engine, static_cast<Index>(out.size(v)));
      out.rank(v) = static_cast<double>(of.rank);
      out.residual_trace(v) = of.trace;
    }
    return out;
  }

  // Of h(p, p) over the rows of the factor.
  double mean_squared(const Engine& engine, const RidgeForm& form, Index rank) const {
    constexpr Index block = 8192;  // of rows, whose features need not be kept
    double sum = 0.0;
    for (Index begin = 0; begin < x_.rows(); begin += block) {
      const Index size = std::min(block, x_.rows() - begin);
      sum += pair_squared(engine,
                          engine.dense.multiply(factor_.l.block(begin, 0, size, rank), form.basis),
                          form.core)
                 .sum();
    }
    return sum / static_cast<double>(x_.rows());
  }

  static Vector size(Index n, Index value) {
    return Vector::Constant(n, static_cast<double>(value));
  }
  static std::vector<bool> flags(Index n, bool value) {
    return std::vector<bool>(static_cast<std::size_t>(n), value);
  }

  Problem problem_;
  RidgeLimits limits_;
  Kernel kernel_;
  Index folds_;
  std::optional<TaylorFeatures> taylor_;
  std::unique_ptr<ExplicitRidge> explicit_;
  Matrix x_, residuals_;  // sorted by fold, without explicit features
  FoldBegin begin_;
  double diagonal_ = 0.0;  // mean of k(x, x)
  KernelFactor factor_;
  std::map<Index, std::vector<RidgeSpectrum>> spectra_;  // by rank
  std::unique_ptr<KrylovRidge> krylov_;
};

}  // namespace calibrisk

#endif
