// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

#include <calibrisk/kernels/gram.h>

#include <algorithm>

using namespace calibrisk;

namespace {

Kernel leaf(AnyLeaf value) {
  Kernel kernel;
  kernel.leaf = value;
  return kernel;
}

Kernel compose(Kernel::Form form, Kernel a, Kernel b) {
  Kernel kernel;
  kernel.form = form;
  kernel.parts = {a, b};
  return kernel;
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels = {
      leaf(GaussianKernel{0.7}),    leaf(LaplaceKernel{0.4}),     leaf(TotalVariationKernel{0.3}),
      leaf(MaternKernel{0.5, 0.6}), leaf(MaternKernel{1.5, 0.6}), leaf(MaternKernel{2.5, 0.6}),
      leaf(LinearKernel{}),         leaf(WhiteKernel{})};
  kernels.push_back(compose(Kernel::Form::sum, kernels[0], kernels[6]));
  kernels.push_back(compose(Kernel::Form::product, kernels[1], kernels[2]));
  kernels.back().scale = 2.5;
  return kernels;
}

}  // namespace

TEST(kernels_have_their_closed_forms) {
  Matrix x(1, 2), y(1, 2);
  x << 0.2, 0.8;
  y << 0.5, 0.5;
  const double r = std::sqrt(0.18), tv = 0.3;
  const auto value = [&](const Kernel& kernel) {
    return gram(serial_engine(), kernel, x, y)(0, 0);
  };
  CHECK(is_near(value(leaf(GaussianKernel{0.7})), std::exp(-0.18 / (2 * 0.49))));
  CHECK(is_near(value(leaf(LaplaceKernel{0.4})), std::exp(-r / 0.4)));
  CHECK(is_near(value(leaf(TotalVariationKernel{0.3})), std::exp(-tv / 0.3)));
  CHECK(is_near(value(leaf(MaternKernel{0.5, 0.6})), std::exp(-r / 0.6)));
  const double t = std::sqrt(5.0) * r / 0.6;
  CHECK(is_near(value(leaf(MaternKernel{2.5, 0.6})), (1 + t + t * t / 3) * std::exp(-t)));
  CHECK(is_near(value(leaf(LinearKernel{})), 0.5));
  CHECK(value(leaf(WhiteKernel{})) == 0.0);
}

TEST(gram_matrices_are_symmetric_positive_and_match_their_diagonal) {
  ThreadedEngine host(2);
  // More rows than a tile, so that tiles are mirrored.
  Matrix x = (Matrix::Random(300, 3).array() + 1.0) / 2.0;
  x.row(7) = x.row(3);
  for (const Kernel& kernel : all_kernels()) {
    const Matrix k = gram(host.engine(), kernel, x);
    CHECK((k - k.transpose()).norm() == 0.0);
    CHECK((k - gram(serial_engine(), kernel, x, x)).norm() < 1e-12);
    CHECK((k.diagonal() - gram_diagonal(kernel, x)).norm() < 1e-12);
    CHECK(EigenAlgebra().sym_eigen(k).values.minCoeff() > -1e-10);
  }
}

TEST(median_distance_is_the_median_of_all_pairs) {
  ThreadedEngine host(2);
  // more than half of the distances are 0 where few rows differ; `sorted`: the distances by which
  // the middle is sought are smaller than the others
  for (const auto& [n, distinct, sorted] :
       std::vector<std::tuple<Index, Index, bool>>{{2, 2, false},
                                                   {3, 3, false},
                                                   {40, 40, false},
                                                   {151, 151, false},
                                                   {700, 700, false},
                                                   {700, 30, false},
                                                   {700, 150, false},
                                                   {640, 640, true}}) {
    Matrix x = Matrix::Random(n, 3);
    for (Index i = distinct; i < n; ++i) x.row(i) = x.row(0);
    const std::vector<Index> order = detail::random_order(n);
    for (Index i = 0; sorted && i < n; ++i) {
      x.row(order[static_cast<std::size_t>(i)]).setConstant(static_cast<double>(i));
    }
    std::vector<double> distances;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) distances.push_back((x.row(i) - x.row(j)).norm());
    }
    const std::size_t zeros =
        static_cast<std::size_t>(std::count(distances.begin(), distances.end(), 0.0));
    if (2 * zeros > distances.size()) {
      distances.erase(std::remove(distances.begin(), distances.end(), 0.0), distances.end());
    }
    std::sort(distances.begin(), distances.end());
    const std::size_t m = distances.size();
    const double median = 0.5 * (distances[(m - 1) / 2] + distances[m / 2]);
    CHECK(is_near(median_distance(host.engine(), Metric::squared_euclidean, x), median));
  }
  CHECK(median_distance(host.engine(), Metric::squared_euclidean, Matrix::Ones(5, 2)) == 1.0);
}

TEST(sums_over_pairs_of_rows_have_the_digits_of_a_loop) {
  const detail::RowPairLoops sets[] = {detail::row_pair_loops_baseline(), detail::row_pair_loops()};
  const Matrix all = Matrix::Random(60, 7);
  for (Index m : {1, 3, 8, 21}) {
    for (Index n : {1, 4, 6}) {
      const auto x = all.middleRows(2, m), y = all.middleRows(25, n);
      for (const detail::RowPairLoops& loops : sets) {
        Matrix absolute(m, n), squared(m, n), product(m, n);
        for_row_pairs(loops.absolute, x, y, absolute);
        for_row_pairs(loops.squared, x, y, squared);
        for_row_pairs(loops.product, x, y, product);
        for (Index i = 0; i < m; ++i) {
          for (Index j = 0; j < n; ++j) {
            volatile double sums[3] = {0.0, 0.0, 0.0};  // without fused products
            for (Index k = 0; k < x.cols(); ++k) {
              const double v = x(i, k) - y(j, k);
              const volatile double square = v * v, xy = x(i, k) * y(j, k);
              sums[0] = sums[0] + std::abs(v);
              sums[1] = sums[1] + square;
              sums[2] = sums[2] + xy;
            }
            CHECK(absolute(i, j) == sums[0] && squared(i, j) == sums[1] &&
                  product(i, j) == sums[2]);
          }
        }
      }
    }
  }
}

TEST(stretches_are_copied_in_order_and_count_what_is_below) {
  const Vector v = Vector::Random(61);
  Vector odd = v;
  odd(3) = odd(40) = std::numeric_limits<double>::quiet_NaN();
  odd(5) = 0.25;  // bounds are inside
  odd(6) = -0.5;
  for (const Vector& values : {v, odd}) {
    for (Index n : {0, 5, 8, 61}) {
      for (const auto& [from, to] :
           {std::pair(-0.5, 0.25), {-2.0, 2.0}, {0.25, -0.5}, {2.0, 3.0}}) {
        std::vector<double> expected;
        std::int64_t below = 0;
        for (Index i = 0; i < n; ++i) {
          if (values(i) < from) ++below;
          if (values(i) >= from && values(i) <= to) expected.push_back(values(i));
        }
        for (const auto loop :
             {detail::copy_stretch_baseline, CALIBRISK_WIDEST(detail::copy_stretch)}) {
          std::vector<double> inside(static_cast<std::size_t>(n) + 8);
          detail::StretchCopy at{values.data(), n, from, to, inside.data(), 0, 0};
          loop(at);
          inside.resize(static_cast<std::size_t>(at.used));
          CHECK(inside == expected && at.below == below);
        }
      }
    }
  }
}
