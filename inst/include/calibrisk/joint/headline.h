// SPDX-License-Identifier: GPL-3.0-or-later
// The headline of a scalar notion: estimate, interval and test of the calibration error, which
// agree: 0 is in the interval exactly where the p-value is at least alpha.
#ifndef CALIBRISK_JOINT_HEADLINE_H
#define CALIBRISK_JOINT_HEADLINE_H

#include <calibrisk/joint/law.h>
#include <calibrisk/joint/redraws.h>
#include <calibrisk/ladder/stack.h>
#include <calibrisk/joint/upper.h>

#include <memory>

namespace calibrisk {

struct JointHeadline {
  double estimate = 0.0, std_error = std::numeric_limits<double>::quiet_NaN();
  double low = 0.0, high = 1.0, lower_bound = 0.0;  // roots; lower_bound one-sided
  double p_value = 1.0, statistic = 0.0;            // the statistic of the deciding part
  double cap = 1.0;
  double square = 0.0, noise = 0.0;  // the squared estimate, and its variance at calibration
  Vector influence;                  // [n] rows as given
  std::vector<double> lows, highs, psi, weighted;  // of the parts, of the rungs
  Vector weights;                                  // of the rungs in the estimate
  std::vector<double> group;  // the one with the largest statistic, where that part rejects
  JointUpper upper;
};

// Parts, redraws and their distributions, which depend on the predictions alone.
class JointTest {
 public:
  JointTest(const Engine& engine, JointRows rows, Index redraws,
            std::vector<std::vector<double>> knots = {})
      : engine_(engine),
        parts_(joint_parts(engine, std::move(rows), knots)),
        scan_(parts_.rows, knots.empty() ? std::vector<double>() : knots.back(),
              redraws_rows(parts_.rows, redraws)),
        law_(null_statistics(engine, parts_, scan(), redraws),
             part_shares(parts_, scan() != nullptr)) {}

  const JointParts& parts() const { return parts_; }
  const JointLaw& law() const { return law_; }

  // e: residuals of the sorted rows
  JointHeadline headline(const Vector& e, double level) const {
    JointHeadline out;
    const double alpha = rejected_level(level), tail = alpha / 2.0;
    const std::vector<ObservedRung> rungs = observe_rungs(engine_, parts_, e);
    const Vector scores = observed_scores(engine_, parts_, e);
    const ObservedGroups groups = scan_.observe(parts_.rows, e);
    Vector observed(static_cast<Index>(law_.parts()));
    observed.head(statistics_of(parts_, nullptr)) = observed_statistics(parts_, scores, rungs);
    if (scan() != nullptr) observed(observed.size() - 1) = groups.largest();
    out.weighted = law_.weighted(observed);
    const auto least = std::min_element(out.weighted.begin(), out.weighted.end());
    out.p_value = law_.p_value(*least);
    out.statistic = observed(static_cast<Index>(least - out.weighted.begin()));
    const Failures failures = count_failures(parts_.rows, e);

    const double threshold = law_.threshold(alpha);
    std::vector<double> bounds;
    for (std::size_t m = 0; m < law_.parts(); ++m) {
      const bool rejects = out.weighted[m] < threshold;
      out.lows.push_back(
          rejects ? lower(m, e, scores, rungs, groups, observed, failures, threshold, alpha, 2.0)
                  : 0.0);
      bounds.push_back(
          rejects ? lower(m, e, scores, rungs, groups, observed, failures, threshold, alpha, 1.0)
                  : 0.0);
    }
    out.low = *std::max_element(out.lows.begin(), out.lows.end());
    out.lower_bound = std::max(out.low, *std::max_element(bounds.begin(), bounds.end()));

    out.upper = upper(e, rungs, groups, failures);
    if (groups_reject(out)) out.group = scan_.described(parts_.rows, groups);
    out.highs = out.upper.of_rungs(tail);
    if (out.upper.constant) constant(alpha, out);
    out.high = std::max(out.low, out.upper.high(tail, out.highs));
    out.cap = out.upper.cap(tail);
    estimate(e, rungs, out);
    out.lower_bound = std::min(out.lower_bound, out.high);
    return out;
  }

 private:
  const GroupScan* scan() const { return scan_.groups().empty() ? nullptr : &scan_; }
  bool groups_reject(const JointHeadline& found) const {
    return scan() != nullptr && found.lows.back() > 0.0;
  }

  void constant(double alpha, JointHeadline& out) const {
    const ConstantPrediction& exact = out.upper.exact;
    out.p_value = exact.p_value();
    const bool rejects = out.p_value < alpha;
    out.low = rejects ? exact.low(alpha / 2.0) : 0.0;
    out.lower_bound = rejects ? exact.low(alpha) : 0.0;
  }

  // Limit of a part that rejects. `sides`: the tail of the noncentral distribution is that share of
  // the part's level.
  double lower(std::size_t m, const Vector& e, const Vector& scores,
               const std::vector<ObservedRung>& rungs, const ObservedGroups& groups,
               const Vector& observed, const Failures& failures, double threshold, double alpha,
               double sides) const {
    const double edge = law_.tail(m).edge(law_.share(m) * threshold);
    if (scan() != nullptr && m + 1 == law_.parts()) return scan_.low(groups, edge);
    double most = 0.0;
    for (std::size_t k = 0; k < law_.parts(); ++k) most = std::max(most, law_.share(k));
    const double tail = law_.share(m) * std::min(threshold, alpha / most);
    const double z = normal_quantile(tail);
    const Vector units = scores.cwiseQuotient(parts_.information.cwiseSqrt());
    constexpr double inside = 1.0 - 1e-6;
    if (m == 0) {
      const double c =
          scores.size() == 1 ? std::pow(normal_quantile(tail / 2.0), 2.0) : -2.0 * std::log(tail);
      return lower_cox(engine_, parts_, e, scores, std::min(c, units.squaredNorm() * inside));
    }
    if (m < 3) {
      const double normal = lower_total(parts_, e, std::min(z, std::abs(units(0)) * inside));
      return std::max(std::min(normal, lower_count(failures, tail)), 1e-9 * normal);
    }
    std::size_t at = 0;
    for (std::size_t tested = 3; true; ++at) {
      if (parts_.rungs[at]->share > 0.0 && tested++ == m) break;
    }
    const RungMoments& null = parts_.rungs[at]->null;
    const double seen = observed(static_cast<Index>(m)) * inside;
    // outcomes of few values leave spaces between possible statistics: there the quantile of the
    // continuous distribution
    const double critical =
        std::max(edge, std::min({pearson3_quantile(z, null.cube / std::pow(null.variance, 1.5)),
                                 law_.tail(m).beyond(edge) * inside, seen}));
    return few_failures_trust(failures) * std::sqrt(lower_rung(rungs[at], critical, tail / sides));
  }

  JointUpper upper(const Vector& e, const std::vector<ObservedRung>& rungs,
                   const ObservedGroups& groups, const Failures& failures) const {
    const JointRows& rows = parts_.rows;
    JointUpper out;
    out.failures = failures.count;
    out.expected = failures.share;
    out.copies = failures.size;
    out.apart = std::min(
        2.0, rows.mean(rows.variance.cwiseAbs2()) / std::pow(rows.mean(rows.variance), 2.0));
    if (scan() != nullptr) {
      const double edge = law_.tail(law_.parts() - 1).edge(0.05);
      for (const std::size_t g : scan_.beyond(groups, edge)) {
        out.groups.push_back(scan_.failing(g, groups));
      }
    }
    out.brier = brier_facts(rows, e);
    double squares = 0.0, cubes = 0.0;
    for (Index i = 0; i < rows.size(); ++i) {
      const double v = rows.variance(i);
      squares += rows.weight(i) * v * v;
      cubes += rows.weight(i) * rows.each(i) * v * v * v;
    }
    const double carriers = squares * squares / cubes;  // that bear the variance
    out.normal = carriers / (carriers + 30.0);
    double coarse = -std::numeric_limits<double>::infinity();
    for (std::size_t m = 0; m < rungs.size(); ++m) {
      const RungMoments &here = rungs[m].here, &null = rungs[m].null;
      // the noise of the fine rung widens the interval, so that it counts where it sees more
      JointUpper::Rung rung{rungs[m].psi,
                            here,
                            {std::max(here.variance - null.variance, 0.0), 0.0,
                             std::max(here.slope - null.slope, 0.0)},
                            !is_fine(m) || rungs[m].psi > coarse};
      if (out.lack() * null.variance > here.variance) {
        rung.here.variance = out.lack() * null.variance;
        rung.here.cube = null.cube;
      }
      coarse = std::max(coarse, rung.psi);
      out.rungs.push_back(rung);
    }
    out.constant = rows.constant() && rows.equal_copies();
    if (out.constant) {
      const double p = rows.p(0), share = std::min(std::max(p - rows.mean(e), 0.0), 1.0);
      out.exact = {p, rows.count, nine_digits(rows.count * share)};
    }
    return out;
  }

  bool is_fine(std::size_t m) const { return std::string(parts_.rungs[m]->name) == "fine"; }

  // sum_i v_i g_i g'_i for the gaps g and g' of every two rungs, over the rows' total
  Matrix gap_products(const Vector& e, const std::vector<ObservedRung>& rungs) const {
    const auto k = static_cast<Index>(rungs.size());
    Matrix out = parallel_reduce(
        engine_, parts_.rows.size(), rung_block, Matrix(Matrix::Zero(k, k)),
        [&](Index begin, Index size) {
          Matrix part = Matrix::Zero(k, k);
          Vector gaps(k);
          for (Index i = begin; i < begin + size; ++i) {
            for (Index m = 0; m < k; ++m) gaps(m) = gap_at(rungs, m, e, i).gap;
            for (Index a = 0; a < k; ++a) {
              const double value = parts_.rows.weight(i) * gaps(a);
              for (Index b = 0; b <= a; ++b) part(a, b) += value * gaps(b);
            }
          }
          return part;
        },
        [](Matrix& total, const Matrix& part) { total += part; });
    out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
    return out / parts_.rows.total;
  }

  RowGap gap_at(const std::vector<ObservedRung>& rungs, Index m, const Vector& e, Index i) const {
    const JointRung& rung = *parts_.rungs[static_cast<std::size_t>(m)];
    return detail::gap_of(rung, rungs[static_cast<std::size_t>(m)], rung.basis.row(i),
                          parts_.rows.each(i), e(i));
  }

  // The stack, never outside of the interval.
  void estimate(const Vector& e, const std::vector<ObservedRung>& rungs, JointHeadline& out) const {
    const Index n = parts_.rows.size(), k = static_cast<Index>(rungs.size());
    if (rungs.empty()) {
      out.influence = Vector::Zero(n);
      return;
    }
    for (const ObservedRung& rung : rungs) out.psi.push_back(rung.psi);
    const Vector psi = Eigen::Map<const Vector>(out.psi.data(), k);
    out.weights = stack_weights(gap_products(e, rungs), psi);
    out.square = stacked_square(out.weights, psi);
    Index lead;
    out.weights.maxCoeff(&lead);
    if (out.square < out.low * out.low) {
      // the stack shrinks noisy rungs; one of them is surer than all of them together
      double most = -1.0;
      for (std::size_t m = 0; m < rungs.size(); ++m) {
        const double clear = rungs[m].psi / std::sqrt(parts_.rungs[m]->null.variance);
        if (m > 0 && clear <= most) continue;
        most = clear;
        lead = static_cast<Index>(m);
      }
      out.weights.setZero();
      out.weights(lead) = 1.0;
      out.square = std::max(rungs[static_cast<std::size_t>(lead)].psi, out.low * out.low);
    }
    out.estimate = std::min(out.high, std::sqrt(out.square));
    const ObservedRung& leading = rungs[static_cast<std::size_t>(lead)];
    if (out.estimate > 0.0 && leading.psi > 0.0 &&
        leading.psi >= 2.0 * std::sqrt(leading.here.variance)) {
      out.std_error = std::sqrt(leading.here.variance + leading.here.slope * leading.psi) /
                      (2.0 * out.estimate);
    }
    const double unit = out.weights.sum() > 0.0 ? 1.0 / std::sqrt(out.weights.sum()) : 0.0;
    double deviation = 0.0;
    for (Index m = 0; m < k; ++m) {
      const double variance = rungs[static_cast<std::size_t>(m)].here.variance;
      deviation += unit * out.weights(m) * std::sqrt(std::max(variance, 0.0));
    }
    out.noise = deviation * deviation;
    out.influence.resize(n);
    parallel_for(engine_, (n + rung_block - 1) / rung_block, [&](Index task) {
      for (Index i = task * rung_block; i < std::min(n, (task + 1) * rung_block); ++i) {
        double half = 0.0;
        for (Index m = 0; m < k; ++m) {
          if (out.weights(m) != 0.0) half += out.weights(m) * gap_at(rungs, m, e, i).half;
        }
        out.influence(parts_.rows.order[static_cast<std::size_t>(i)]) = 2.0 * unit * e(i) * half;
      }
    });
  }

  const Engine engine_;
  JointParts parts_;
  GroupScan scan_;
  JointLaw law_;
};

}  // namespace calibrisk

#endif
