// SPDX-License-Identifier: GPL-3.0-or-later
// Marginalised target kernels against quadrature and against their definition.
#include "check.h"
#include "threads.h"

#include <calibrisk/targets/normal.h>
#include <calibrisk/targets/pairings.h>

using namespace calibrisk;

namespace {

constexpr double pi = 3.14159265358979323846;

double normal_density(double x, double s) {
  return std::exp(-0.5 * x * x / (s * s)) / (s * std::sqrt(2.0 * pi));
}
double laplace_density(double x, double s) { return std::exp(-std::abs(x) / s) / (2.0 * s); }

// The midpoint rule between -range and range.
template <class F>
double integral(const F& f, double range, int steps = 100000) {
  const double h = 2.0 * range / steps;
  double sum = 0.0;
  for (int i = 0; i < steps; ++i) sum += f(-range + h * (i + 0.5));
  return h * sum;
}

// E k(Z, y) with Z at distance z, and E k(Z, Z'): the second from the first.
template <class Pairing, class Density>
void check_pairing(const Pairing& pairing, const Density& density) {
  for (const double z : {0.0, 0.4, -2.0}) {
    for (const double s : {0.3, 1.7}) {
      const double one =
          integral([&](double x) { return pairing.value(z + x) * density(x, s); }, 40.0);
      CHECK(is_near(pairing.single(z, s), one, 2e-6));
      for (const double t : {0.3, 0.9}) {
        const double two =
            integral([&](double x) { return pairing.single(z + x, s) * density(x, t); }, 40.0);
        CHECK(is_near(pairing.both(z, s, t), two, 2e-6));
      }
    }
  }
}

MatrixView view(const Matrix& x) { return MatrixView(x.data(), x.rows(), x.cols()); }

}  // namespace

TEST(pairings_are_the_expectations_of_their_kernels) {
  check_pairing(NormalGaussian{0.8}, normal_density);
  for (const double nu : {0.5, 1.5, 2.5}) check_pairing(NormalMatern{nu, 1.3}, normal_density);
  check_pairing(LaplaceLaplace{1.1}, laplace_density);
  check_pairing(LaplaceGaussian{0.7}, laplace_density);
}

// h_Y = k(y, y') - E k(Z, y') - E k(y, Z') + E k(Z, Z')
template <class Kernel>
void check_marginalised(const Target& target, const Matrix& y, const Kernel& kernel) {
  const Index n = target.size();
  Matrix h(n, n), inner(n, n), expectation(n, n);
  target.block(0, 0, h);
  target.inner(0, 0, inner);
  target.expectation(0, y, expectation);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const double expected = kernel(i, j) - expectation(i, j) - expectation(j, i) + inner(i, j);
      CHECK(is_near(h(i, j), expected, 1e-12));
    }
  }
}

TEST(targets_are_marginalised_over_both_outcomes) {
  const Index n = 6;
  const Matrix y = Matrix::Random(n, 1);
  Matrix weight = Matrix::Random(n, 2).cwiseAbs(), location = Matrix::Random(n, 2);
  weight.array().colwise() /= weight.rowwise().sum().eval().array();
  const Matrix scale = Matrix::Random(n, 2).cwiseAbs();
  const NormalGaussian pairing{0.6};
  const LocationScaleTarget<NormalGaussian> mixture(pairing, view(weight), view(location),
                                                    view(scale), view(y));
  check_marginalised(mixture, y,
                     [&](Index i, Index j) { return pairing.value(y(i, 0) - y(j, 0)); });

  const Matrix mean = Matrix::Random(n, 2), outcome = Matrix::Random(n, 2);
  const LinearTarget linear(view(mean), view(outcome));
  check_marginalised(linear, outcome,
                     [&](Index i, Index j) { return outcome.row(i).dot(outcome.row(j)); });

  Matrix probs = Matrix::Random(n, 3).cwiseAbs(), root = Matrix::Random(3, 3), labels(n, 1);
  probs.array().colwise() /= probs.rowwise().sum().eval().array();
  const Matrix gram = root * root.transpose();
  Matrix residuals = probs;
  for (Index i = 0; i < n; ++i) {
    labels(i, 0) = static_cast<double>(1 + i % 3);
    residuals(i, i % 3) -= 1.0;
  }
  const Matrix right = residuals * gram, probs_right = probs * gram;
  const FiniteTarget finite(view(residuals), view(right), view(probs), view(probs_right));
  check_marginalised(finite, labels, [&](Index i, Index j) { return gram(i % 3, j % 3); });
}
