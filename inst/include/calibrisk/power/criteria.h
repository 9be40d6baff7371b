// SPDX-License-Identifier: GPL-3.0-or-later
// Widths of the intervals of the published criteria at n rows of a planned study (Riley et al.
// 2021, equation by equation).
#ifndef CALIBRISK_POWER_CRITERIA_H
#define CALIBRISK_POWER_CRITERIA_H

#include <calibrisk/power/expected_rungs.h>

#include <limits>

namespace calibrisk {

// `z`: the normal quantile of the level; `reach`: of nodes that stand for an interval of logits,
// half of its length.
struct PlannedStudy {
  double z, prevalence, auroc, oe_ratio, threshold, reach;
};

// On the log scale, se^2 = (1 - phi) / (n phi).
inline double oe_width(const PlannedStudy& of, double n) {
  return 2.0 * of.oe_ratio *
         std::sinh(of.z * std::sqrt((1.0 - of.prevalence) / (n * of.prevalence)));
}

// Of the logistic regression on the linear predictor, by its information.
inline double slope_width(const PowerNodes& nodes, const PlannedStudy& of, double n) {
  const Vector weight = nodes.variance();
  const double own = nodes.mean(weight), cross = nodes.mean(weight.cwiseProduct(nodes.logit)),
               square = nodes.mean(weight.cwiseProduct(nodes.logit.cwiseAbs2()));
  const double determinant = own * square - cross * cross;
  if (determinant <= 1e-12 * own * square) return std::numeric_limits<double>::infinity();
  return 2.0 * of.z * std::sqrt(own / (n * determinant));
}

// Newcombe's (2006) variance.
inline double auroc_width(const PlannedStudy& of, double n) {
  const double c = of.auroc, phi = of.prevalence, half = n / 2.0 - 1.0;
  const double terms = 1.0 + half * (1.0 - c) / (2.0 - c) + half * c / (1.0 + c);
  return 2.0 * of.z * std::sqrt(c * (1.0 - c) * terms / (n * n * phi * (1.0 - phi)));
}

// The share of every node that lies at or above the threshold.
inline Vector share_above(const PowerNodes& nodes, const PlannedStudy& of) {
  if (of.reach == 0.0) {
    return (nodes.p.array() >= of.threshold).select(Vector::Ones(nodes.p.size()), 0.0);
  }
  const double at = std::log(of.threshold / (1.0 - of.threshold));
  const Vector above = (nodes.logit.array() + of.reach - at) / (2.0 * of.reach);
  return above.cwiseMax(0.0).cwiseMin(1.0);
}

// The mean of 1{p >= c} (y - c) / (1 - c).
inline double benefit_width(const PowerNodes& nodes, const PlannedStudy& of, double n) {
  const Vector above = share_above(nodes, of);
  const double odds = of.threshold / (1.0 - of.threshold);
  const double right = nodes.mean(above.cwiseProduct(nodes.eta));
  const double wrong = nodes.mean(above) - right, benefit = right - odds * wrong;
  return 2.0 * of.z * std::sqrt((right + odds * odds * wrong - benefit * benefit) / n);
}

// Riley's standardised net benefit is that over the prevalence; both are estimated (Marsh, Janes
// and Pepe 2020).
inline double standardized_benefit_width(const PowerNodes& nodes, const PlannedStudy& of,
                                         double n) {
  const Vector above = share_above(nodes, of);
  const double phi = nodes.mean(nodes.eta), right = nodes.mean(above.cwiseProduct(nodes.eta));
  const double sensitivity = right / phi,
               specificity = 1.0 - (nodes.mean(above) - right) / (1.0 - phi);
  const double w = (1.0 - phi) / phi * of.threshold / (1.0 - of.threshold);
  const double variance = sensitivity * (1.0 - sensitivity) / phi +
                          w * w * specificity * (1.0 - specificity) / (1.0 - phi) +
                          w * w * (1.0 - specificity) * (1.0 - specificity) / (phi * (1.0 - phi));
  return 2.0 * of.z * std::sqrt(variance / n);
}

}  // namespace calibrisk

#endif
