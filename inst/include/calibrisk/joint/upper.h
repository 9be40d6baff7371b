// SPDX-License-Identifier: GPL-3.0-or-later
// Upper limits of the calibration error.
#ifndef CALIBRISK_JOINT_UPPER_H
#define CALIBRISK_JOINT_UPPER_H

#include <calibrisk/joint/lower.h>
#include <calibrisk/joint/scan.h>

namespace calibrisk {

// The largest squared error that a rung does not reject: by the noncentral distribution's own lower
// quantile as far as there are failures enough for a normal one (`normal` near 1). `tail`: of this
// side. The variance of rarely predicted failures grows with the gap: what it has more at the
// estimate than at calibration (`growth`) goes on with the root of the squared error.
inline double upper_rung(double observed, const RungMoments& here, const RungMoments& growth,
                         double tail, double normal) {
  const double z = normal_quantile(tail), psi = std::max(observed, 0.0);
  const double unit = 2.0 * std::sqrt(std::max(here.variance, 0.0));
  const auto excess = [&](double x) {
    const double beyond = x > psi ? std::sqrt((x + unit) / (psi + unit)) - 1.0 : 0.0;
    const double slope = here.slope + beyond * growth.slope;
    const double variance = here.variance + beyond * growth.variance + slope * x;
    if (!(variance > 0.0)) return x - psi;
    const double skew =
        std::min(2.8, (here.cube + 1.5 * slope * slope * x) / std::pow(variance, 1.5));
    return x - psi + pearson3_quantile(-z, normal * skew) * std::sqrt(variance);
  };
  if (excess(1.0) < 0.0) return 1.0;
  return bracketed_root([&](double x) { return -excess(x); }, z < 0.0 ? 0.0 : psi, 1.0, 1e-12);
}

// The mean of squared residuals, which no squared calibration error exceeds: what its upper limit
// needs. The variance of a mean of few large squares grows with the mean, by their skewness.
struct BrierFacts {
  double mean = 0.0, variance = 0.0, slope = 0.0, size = 0.0;
  bool known = true;  // of one draw nothing is

  double root_limit(double tail) const {
    if (!known) return 1.0;
    const double z = normal_quantile(tail);
    const double high = growing_limit(mean, variance, slope, z);
    const double unseen = (1.0 - std::pow(tail, 1.0 / size)) * std::max(0.0, 1.0 - size * mean);
    return std::sqrt(std::min(1.0, std::max(high, unseen)));
  }
};

inline BrierFacts brier_facts(const JointRows& rows, const Vector& e) {
  BrierFacts out;
  out.mean = rows.mean(e.cwiseAbs2());
  out.size = rows.effective();
  out.known = rows.count > 1.0;
  if (!out.known) return out;
  double squares = 0.0, cubes = 0.0;
  for (Index i = 0; i < rows.size(); ++i) {
    const double off = e(i) * e(i) - out.mean, w = rows.weight(i) * rows.each(i) * off * off;
    squares += w;
    cubes += w * rows.each(i) * off;
  }
  out.variance = rows.count / (rows.count - 1.0) * squares / (rows.total * rows.total);
  out.slope = slope_of_mean(out.variance, cubes / std::pow(rows.total, 3.0));
  return out;
}

// Facts about the rows from which the upper limit follows at any level: `tail` is the
// probability of a miss that it allows, and the limit falls as that grows.
struct JointUpper {
  struct Rung {
    double psi;
    RungMoments here, growth;
    bool counts;
  };
  std::vector<Rung> rungs;
  double normal = 0.0;  // as far as failures bear the normal law
  double failures = 0.0, expected = 0.0,
         copies = 0.0;               // their number, predicted share, and of how many
  double apart = 1.0;                // failures may lie where the predictions vary most
  std::vector<FailingGroup> groups;  // beyond what chance explains
  BrierFacts brier;
  bool constant = false;  // one prediction, of equal copies: the law is the binomial one
  ConstantPrediction exact{0.0, 0.0, 0.0};

  double lack() const { return std::max(0.0, 1.0 - failures / 10.0); }
  double rung(std::size_t m, double tail) const {
    return std::sqrt(upper_rung(rungs[m].psi, rungs[m].here, rungs[m].growth, tail, normal));
  }
  // of the rate of failures
  double gap(double tail) const {
    const ShareLimits share = clopper_pearson(failures, copies, tail);
    return std::max({share.high - expected, expected - share.low, 0.0});
  }
  // no calibration error exceeds it
  double cap(double tail) const {
    const double most = std::max(brier.root_limit(tail), gap(tail));
    return constant ? std::max(most, exact.high(tail)) : most;
  }
  std::vector<double> of_rungs(double tail) const {
    std::vector<double> out;
    for (std::size_t m = 0; m < rungs.size(); ++m) out.push_back(rung(m, tail));
    return out;
  }
  double high(double tail) const { return high(tail, of_rungs(tail)); }
  double high(double tail, const std::vector<double>& highs) const {
    if (constant) return exact.high(tail);
    double out = 0.0;
    for (std::size_t m = 0; m < rungs.size(); ++m) {
      if (rungs[m].counts) out = std::max(out, highs[m]);
    }
    const double d = gap(tail);
    double unseen = std::max(d * d, lack() * std::min(d * d * apart, d));
    for (const FailingGroup& group : groups) unseen = std::max(unseen, group.high(tail));
    return std::min(cap(tail), std::max(out, std::sqrt(unseen)));
  }
};

}  // namespace calibrisk

#endif
