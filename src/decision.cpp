// SPDX-License-Identifier: GPL-3.0-or-later
// Decision curves.
#include "as_weights.h"
#include "r_engine.h"
#include <calibrisk/classical/decision_curve.h>

#include <utility>
#include <vector>

// Per threshold the net benefit, that of the first better predictions (both where `curve`), and
// what each of the better predictions adds: each with its limits at one threshold and at all, which
// are `factor` standard errors away, of the net benefit itself at least as wide as those of two
// shares of `rows` rows. Those of differences between models (`few`, of each of them) allow for
// decisions that differ in few rows. With the number of rows that the first ones change.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_decision_curve(Rcpp::NumericVector p, Rcpp::NumericMatrix better,
                              Rcpp::NumericVector y, Rcpp::Nullable<Rcpp::List> design,
                              Rcpp::NumericVector thresholds, bool curve, std::vector<int> few,
                              int times, double level, double pointwise, double df, double n,
                              int threads) {
  using calibrisk::Benefit;
  using calibrisk::Index;
  using calibrisk::Vector;
  struct Sum {
    calibrisk::DecisionCurve::Moments of;
    calibrisk::BenefitLimits one, all;
  };
  REngine host(threads);
  const calibrisk::Engine engine = host;
  const RowDesign rows(design);
  const Vector reached = as_vector(thresholds);
  const calibrisk::NormalDraws draws(engine, reached.size(), times, df);
  const auto own_p = as_vector(p), own_y = as_vector(y);
  const auto more = as_matrix(better);
  std::vector<std::vector<Sum>> sums(static_cast<std::size_t>(more.cols()));
  Vector changed;
  // pairs of many models are side by side
  const calibrisk::Executor one_thread;
  calibrisk::Progress quiet;
  const calibrisk::Engine within{one_thread, worker_algebra(), quiet};
  calibrisk::parallel_for(engine, more.cols(), [&](Index j) {
    const calibrisk::DecisionCurve own(
        within, {own_p, more.col(j), own_y, rows.weights, rows.clusters, rows.strata}, reached);
    const Vector own_changed = own.changed();
    const auto add = [&](Benefit which, const Vector& least) {
      auto of = own.moments(which, least);
      const auto limits = [&](double z) -> calibrisk::BenefitLimits {
        if (which == Benefit::own) {
          return calibrisk::net_benefit_limits(of.value, of.std_error, own.treated(1.0),
                                               own.treated(0.0), reached, n, z);
        }
        const Vector half = z * of.std_error;
        calibrisk::BenefitLimits out{of.value - half, of.value + half};
        if (few[static_cast<std::size_t>(j)] != 0) {
          calibrisk::allow_few_changes(out, of.value, own_changed, reached,
                                       rows.weights.count(own_p.size()), n, z);
        }
        return out;
      };
      const double factor = own.band_factor(of, draws, level, pointwise);
      of.covariance.resize(0, 0);
      calibrisk::BenefitLimits one = limits(pointwise), all = limits(factor);
      sums[static_cast<std::size_t>(j)].push_back({std::move(of), std::move(one), std::move(all)});
    };
    if (j == 0 && curve) {
      add(Benefit::own, Vector::Zero(reached.size()));
      add(Benefit::better, Vector::Zero(reached.size()));
    }
    add(Benefit::difference, own.noise());
    if (j == 0) changed = own_changed;
  });
  Rcpp::List out((curve ? 2 : 0) + more.cols());
  R_xlen_t place = 0;
  for (const std::vector<Sum>& of_column : sums) {
    for (const Sum& sum : of_column) {
      out[place++] = named_list({{"estimate", sum.of.value},
                                 {"std.error", sum.of.std_error},
                                 {"conf.low", sum.one.low},
                                 {"conf.high", sum.one.high},
                                 {"band.low", sum.all.low},
                                 {"band.high", sum.all.high}});
    }
  }
  return named_list({{"sums", static_cast<SEXP>(out)}, {"changed", changed}});
}
