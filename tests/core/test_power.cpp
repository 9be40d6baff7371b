// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"

#include <calibrisk/linalg/eigen_algebra.h>
#include <calibrisk/power/criteria.h>
#include <calibrisk/power/expected_rungs.h>

using namespace calibrisk;

namespace {

PowerNodes some_nodes(Index n) {
  PowerNodes out{Vector(n), Vector(n), Vector(n), Vector(n)};
  for (Index i = 0; i < n; ++i) {
    out.p(i) = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    out.share(i) = 1.0 + static_cast<double>((5 * i) % 7);
    out.eta(i) = 0.1 + 0.8 * static_cast<double>((11 * i) % 13) / 13.0;
    out.logit(i) = std::log(out.p(i) / (1.0 - out.p(i)));
  }
  out.share /= out.share.sum();
  return out;
}

}  // namespace

TEST(the_covariance_of_a_cluster_is_that_of_every_pair_of_nodes) {
  const Index n = 12;
  PowerNodes nodes = some_nodes(n);
  Matrix b(n, 2), naive = Matrix::Zero(2, 2);
  for (Index i = 0; i < n; ++i) b.row(i) << std::sin(static_cast<double>(i)), 1.0 - nodes.p(i);
  CHECK(cluster_covariance(nodes, b).isZero(0.0));
  nodes.others = 68.0 / 12.0;
  nodes.icc = 0.3;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const double pair = std::min(nodes.eta(i), nodes.eta(j)) - nodes.eta(i) * nodes.eta(j);
      naive += nodes.share(i) * nodes.share(j) * pair * b.row(i).transpose() * b.row(j);
    }
  }
  const Matrix found = cluster_covariance(nodes, b);
  for (Index k = 0; k < 4; ++k) {
    CHECK(is_near(found(k / 2, k % 2), 68.0 / 12.0 * 0.3 * naive(k / 2, k % 2)));
  }
}

TEST(expected_hats_sum_to_one_and_are_linear_between_knots) {
  const PowerNodes nodes = some_nodes(200);
  const Matrix hats = expected_hats(nodes, 8, 1000.0);
  CHECK(hats.cols() == 8);
  CHECK((hats.rowwise().sum() - Vector::Ones(200)).cwiseAbs().maxCoeff() < 1e-12);
  CHECK(((hats.array() > 0.0).rowwise().count() <= 2).all());
  PowerNodes one = some_nodes(5);
  one.p.setConstant(0.3);
  CHECK(expected_hats(one, 8, 1000.0) == Matrix::Ones(5, 1));
}

TEST(without_noise_the_finest_rung_sees_the_whole_gap) {
  PowerNodes nodes = some_nodes(2000);
  nodes.eta = 0.3 + 0.4 * nodes.p.array();
  const EigenAlgebra dense;
  const double gap = nodes.mean(nodes.gap().cwiseAbs2());
  double before = 0.0;
  for (const Index m : {Index(2), Index(8), Index(100)}) {
    const ExpectedRung rung = expected_rung(dense, nodes, m, 1e6);
    CHECK(rung.psi > before - 1e-12);
    before = rung.psi;
    CHECK(rung.noise > 0.0 && rung.columns == m);
  }
  CHECK(is_near(before, gap, 1e-8));
}

TEST(widths_of_criteria_are_those_of_their_formulas) {
  // z, prevalence, auroc, oe_ratio, threshold, reach
  const PlannedStudy of{2.0, 0.2, 0.75, 1.1, 0.3, 0.0};
  CHECK(is_near(oe_width(of, 400.0), 1.1 * (std::exp(0.2) - std::exp(-0.2))));
  // 400 rows, of which 80 have an event
  const double variance = 0.75 * 0.25 * (1.0 + 199.0 * 0.25 / 1.25 + 199.0 * 0.75 / 1.75) / 25600.0;
  CHECK(is_near(auroc_width(of, 400.0), 4.0 * std::sqrt(variance)));
  const PowerNodes nodes = some_nodes(50);
  double right = 0.0, wrong = 0.0;
  for (Index i = 0; i < 50; ++i) {
    if (nodes.p(i) < 0.3) continue;
    right += nodes.share(i) * nodes.eta(i);
    wrong += nodes.share(i) * (1.0 - nodes.eta(i));
  }
  const double odds = 3.0 / 7.0, mean = right - odds * wrong;
  CHECK(is_near(benefit_width(nodes, of, 400.0),
                4.0 * std::sqrt((right + odds * odds * wrong - mean * mean) / 400.0)));
  CHECK(standardized_benefit_width(nodes, of, 400.0) > 0.0);
  // an interval of logits that holds the threshold counts in part
  PlannedStudy wide = of;
  wide.reach = 0.25;
  const double at = std::log(odds);
  const Vector above = share_above(nodes, wide);
  for (Index i = 0; i < 50; ++i) {
    CHECK(is_near(above(i), std::min(std::max(2.0 * (nodes.logit(i) + 0.25 - at), 0.0), 1.0)));
  }
  PowerNodes same = nodes;
  same.logit.setConstant(0.5);
  CHECK(std::isinf(slope_width(same, of, 400.0)));
}
