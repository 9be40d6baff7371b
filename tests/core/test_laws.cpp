// SPDX-License-Identifier: GPL-3.0-or-later
// Distributions of predictions, and gaps that leave them, against their definitions.
#include "check.h"

#include <calibrisk/law/closed_forms.h>
#include <calibrisk/law/jumps.h>
#include <calibrisk/law/mixture.h>
#include <calibrisk/law/multivariate_normal.h>
#include <calibrisk/methods/bounded_gap.h>

using namespace calibrisk;

TEST(mixtures_are_the_weighted_functions_of_their_components) {
  Matrix weight(1, 2), location(1, 2), scale(1, 2);
  weight << 0.25, 0.75;
  location << 1.0, 2.0;
  scale << 2.0, 0.0;
  const Vector at = Vector::Constant(1, 2.0);
  const double normal = 0.25 * 0.69146246127401310, laplace = 0.25 * (1.0 - std::exp(-0.5) / 2.0);
  const LocationScaleMixture law{weight, location, scale};
  CHECK(is_near(mixture_cdf<NormalComponents>(law, at, true)[0], normal));
  CHECK(is_near(mixture_cdf<NormalComponents>(law, at, false)[0], normal + 0.75));
  CHECK(is_near(mixture_cdf<LaplaceComponents>(law, at, true)[0], laplace));
  const Vector below = Vector::Constant(1, 0.0);
  CHECK(is_near(mixture_cdf<LaplaceComponents>(law, below, true)[0], 0.25 * std::exp(-0.5) / 2.0));
  // a quantile is reached at the point, or where the distribution function has its level
  CHECK(mixture_quantile<NormalComponents>(law, 0.5, 0.0)[0] == 2.0);
  const Vector low = mixture_quantile<LaplaceComponents>(law, 0.1, std::log(0.2));
  CHECK(is_near(mixture_cdf<LaplaceComponents>(law, low, false)[0], 0.1));
}

TEST(roots_of_covariances_are_symmetric_and_square_to_them) {
  Matrix cov(2, 8);
  cov << 2.0, 1.0, 1.0, 3.0, 1.0, 0.0, 0.0, 4.0, 1.0, 1.0, 1.0, 1.0, 5.0, -2.0, -2.0, 1.0;
  const Matrix roots = covariance_roots(cov, 2);
  for (Index i = 0; i < 2; ++i) {
    for (const Index at : {0, 4}) {
      const Matrix root = row_square(roots.middleCols(at, 4), i, 2);
      const Matrix square = root * root;
      for (Index k = 0; k < 4; ++k) CHECK(is_near(square.data()[k], cov(i, at + k)));
      CHECK(is_near(root(0, 1), root(1, 0)));
    }
  }
  CHECK(covariance_roots(Matrix::Constant(1, 1, 9.0), 1)(0, 0) == 3.0);
}

TEST(jumps_of_finite_forecasts_end_at_their_levels) {
  Matrix draws(2, 3);
  draws << 1.0, 2.0, 2.0, 5.0, 3.0, 4.0;
  Vector y(2);
  y << 1.0, 6.0;
  const Jumps ranks = ensemble_jumps(draws, y);
  CHECK((ranks.start == std::vector<int>{0, 2, 6}));
  CHECK((ranks.low == std::vector<double>{0.0, 0.5, 0.0, 0.25, 0.5, 0.75}));
  CHECK((ranks.high == std::vector<double>{0.5, 1.0, 0.25, 0.5, 0.75, 1.0}));
  Matrix values(3, 3), levels(3, 3);
  values << 1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0;
  levels << 0.1, 0.5, 0.9, 0.1, 0.5, 0.9, 0.1, 0.5, 0.9;
  const Jumps cells = quantile_jumps(values, levels);
  CHECK((cells.start == std::vector<int>{0, 4, 7, 8}));
  CHECK((cells.high == std::vector<double>{0.1, 0.5, 0.9, 1.0, 0.5, 0.9, 1.0, 1.0}));
  CHECK((cells.low == std::vector<double>{0.0, 0.1, 0.5, 0.9, 0.0, 0.5, 0.9, 0.0}));
}

TEST(bounded_gaps_leave_the_nearest_probabilities) {
  Matrix p(2, 3), gap(2, 3);
  p << 0.2, 0.3, 0.5, 0.2, 0.3, 0.5;
  gap << 0.1, -0.1, 0.0, 0.6, 0.1, -0.7;
  const Matrix bounded = bounded_gap(gap, p);
  for (Index c = 0; c < 3; ++c) CHECK(is_near(bounded(0, c), gap(0, c)));
  // p - gap is (-0.4, 0.2, 1.2), whose projection is (0, 0, 1)
  CHECK(is_near(bounded(1, 0), 0.2) && is_near(bounded(1, 1), 0.3) && is_near(bounded(1, 2), -0.5));
  CHECK(bounded_gap(Matrix::Constant(1, 1, 0.6), Matrix::Constant(1, 1, 0.2))(0, 0) == 0.2);
  CHECK(bounded_gap(Matrix::Constant(1, 1, -0.9), Matrix::Constant(1, 1, 0.2))(0, 0) == -0.8);
}

TEST(closed_forms_are_their_sums_and_integrals) {
  // of a geometric distribution, P(X <= k) = 1 - q^(k + 1): E|X - X'| / 2 = sum F (1 - F)
  const double mean = 3.0, q = mean / (1.0 + mean);
  double spread = 0.0, below = 0.0;
  for (int k = 0; k < 400; ++k) {
    below = 1.0 - std::pow(q, k + 1);
    spread += below * (1.0 - below);
  }
  CHECK(is_near(negbin_spread(mean, 1.0), spread, 1e-9));
  for (const double scale : {0.7, 1.3, 1.3002}) {
    double integral = 0.0;
    const double step = 1e-3;
    for (double x = -40.0; x < 40.0; x += step) {
      const double a = std::exp(-std::abs(x) / 1.3) / 2.6;
      const double b = std::exp(-std::abs(x - 0.9) / scale) / (2.0 * scale);
      integral += step * std::sqrt(a * b);
    }
    CHECK(is_near(laplace_affinity(-0.9, 1.3, scale), integral, 1e-6));
  }
  const std::vector<double> draws = {0.3, -1.0, 2.5, 0.3};
  double near = 0.0, apart = 0.0;
  for (const double a : draws) {
    near += std::abs(a - 0.8) / 4.0;
    for (const double b : draws) apart += std::abs(a - b) / 32.0;
  }
  CHECK(is_near(crps_of_draws(draws, 0.8), near - apart));
}
