// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms and densities on a grid against the sums that they stand for.
#include "check.h"

#include <calibrisk/classical/row_folds.h>
#include <calibrisk/classical/bin_rows.h>
#include <calibrisk/classical/cumulative.h>
#include <calibrisk/classical/follow_up.h>
#include <calibrisk/math/weighted_quantile.h>
#include <calibrisk/classical/random_effects.h>
#include <calibrisk/classical/bin_terms.h>
#include <calibrisk/classical/cell_gaps.h>
#include <calibrisk/classical/crossfit_bound.h>
#include <calibrisk/classical/decision_curve.h>
#include <calibrisk/classical/library_bins.h>
#include <calibrisk/classical/mmce.h>
#include <calibrisk/pairs/line_pair.h>
#include <calibrisk/classical/local_polynomials.h>
#include <calibrisk/classical/moments.h>
#include <calibrisk/classical/smooth_ece.h>
#include <calibrisk/classical/sorted_rows.h>
#include <calibrisk/classical/triweight_error.h>
#include <calibrisk/classical/width_cells.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/single_forms.h>

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <numeric>

using namespace calibrisk;

namespace {

const double pi = std::acos(-1.0);

Vector uniform(Index n) { return (Vector::Random(n).array() + 1.0) / 2.0; }

double normal(double x, double mean, double sd) {
  return std::exp(-0.5 * (x - mean) * (x - mean) / (sd * sd)) / (sd * std::sqrt(2.0 * pi));
}

}  // namespace

TEST(sums_of_cosines_are_the_transform_of_the_even_extension) {
  for (const Index cells : {1, 2, 6, 64}) {
    CosineSums cosine(static_cast<std::size_t>(cells));
    const Vector v = Vector::Random(cells + 1);
    Vector sums(cells + 1), twice(cells + 1);
    cosine(v.data(), sums.data());
    cosine(sums.data(), twice.data());
    for (Index k = 0; k <= cells; ++k) {
      double naive = 0.0;
      for (Index j = 0; j < 2 * cells; ++j) {
        naive += v(j <= cells ? j : 2 * cells - j) *
                 std::cos(pi * static_cast<double>(k * j) / static_cast<double>(cells));
      }
      CHECK(is_near(sums(k), naive) && is_near(twice(k), 2.0 * static_cast<double>(cells) * v(k)));
    }
  }
}

TEST(masses_are_blurred_by_the_kernel_and_its_images) {
  const Index n = 1024;
  CosineSums cosine(n);
  const GaussianBlur blur(cosine);
  GridValues mass = GridValues::Zero(n + 1), naive(n + 1);
  CHECK(blur.of_mass(mass, 0.05).isZero(0.0));
  mass(0) = 0.2;
  mass(250) = -0.3;
  mass(n) = 0.5;
  for (Index j = 0; j <= n; ++j) {
    const double t = static_cast<double>(j) / static_cast<double>(n);
    naive(j) = 0.0;
    for (int m = -4; m <= 4; m += 2) {
      for (const Index from : {Index{0}, Index{250}, n}) {
        const double x = static_cast<double>(from) / static_cast<double>(n);
        naive(j) += mass(from) * (normal(t, m + x, 0.05) + normal(t, m - x, 0.05));
      }
    }
  }
  CHECK((blur.of_mass(mass, 0.05) - naive).abs().maxCoeff() < 1e-9);
  const GridValues spectrum = blur.spectrum(mass);
  const auto at = blur.error(spectrum, 0.05);
  CHECK(is_near(at.value, blur.integral(naive.abs()), 1e-9));
  const double slope =
      (blur.error(spectrum, 0.05 + 1e-6).value - blur.error(spectrum, 0.05 - 1e-6).value) / 2e-6;
  CHECK(is_near(at.slope, slope, 1e-5));
  const double s = blur.fixed_point(spectrum);
  CHECK(is_near(blur.error(spectrum, s).value, s, 1e-12));
}

TEST(triweight_densities_are_sums_over_all_values) {
  const Grid grid = {-0.6, 2.2 / 511.0, 512};
  Vector x(66), w = uniform(66);
  x << 0.0, 1.0, 0.3, 0.3, 0.5, 0.999, uniform(60).cwiseAbs2();
  for (const double h : {1e-3, 0.02, 0.1, 0.3}) {
    const TriweightDensity density(grid, h);
    const auto exact = density(x.data(), 66, 1e12, w.data());
    for (std::size_t g = 0; g < grid.size; ++g) {
      const double t = grid.at(g);
      double naive = 0.0;
      for (Index i = 0; i < 66; ++i) {
        for (const double centre : {x(i), x(i) < 0.5 ? -x(i) : 2.0 - x(i)}) {
          const double u = (t - centre) / (3.0 * h);
          naive += w(i) * 35.0 / 32.0 * std::pow(std::max(1.0 - u * u, 0.0), 3.0) / (3.0 * h);
        }
      }
      CHECK(is_near(exact[g], t > 0.0 && t < 1.0 ? naive / w.sum() : 0.0, 1e-11));
    }
  }
  // sharing between the points of a fine grid changes little, and both are densities on [0, 1]
  const Grid fine = {-0.6, 2.2 / 16383.0, 16384};
  const TriweightDensity density(fine, 0.05);
  const auto exact = density(x.data(), 66, 1e12), shared = density(x.data(), 66, 0.0);
  double most = 0.0, sum = 0.0;
  for (std::size_t g = 0; g < fine.size; ++g) {
    most = std::max(most, std::fabs(exact[g] - shared[g]));
    sum += exact[g] * fine.step;
  }
  CHECK(most < 1e-4 && std::fabs(sum - 1.0) < 1e-3);
}

TEST(triweight_errors_have_the_gaps_of_the_other_folds) {
  const Grid grid = {-0.6, 2.2 / 16383.0, 16384};
  const Index n = 40;
  const Vector x = uniform(n), w = uniform(n).array() + 0.5;
  Vector y(n);
  std::vector<int> fold;
  for (Index i = 0; i < n; ++i) {
    y(i) = i % 3 == 0 ? 0.0 : 1.0;
    fold.push_back(1 + static_cast<int>(i % 4));
  }
  const double h = 0.1;
  CosineSums cosine(8192);
  const TriweightError found = TriweightProblem(grid, h, x, y, w).error(2.0, 1e12, fold, cosine);
  const auto rate_at = [&](double t, int without) {
    double right = 0.0, all = 0.0;
    for (Index i = 0; i < n; ++i) {
      if (fold[static_cast<std::size_t>(i)] == without) continue;
      for (const double centre : {x(i), x(i) < 0.5 ? -x(i) : 2.0 - x(i)}) {
        const double u = (t - centre) / (3.0 * h);
        const double k = w(i) * std::pow(std::max(1.0 - u * u, 0.0), 3.0);
        all += k;
        right += y(i) * k;
      }
    }
    return std::array<double, 2>{right / all, all};
  };
  for (Index i = 0; i < n; ++i) {
    const double gap = x(i) - rate_at(x(i), fold[static_cast<std::size_t>(i)])[0];
    CHECK(is_near(found.fold_gap(i), gap, 1e-4));
  }
  double power = 0.0, total = 0.0;
  for (int g = 1; g < 4000; ++g) {
    const double t = g / 4000.0;
    const auto at = rate_at(t, 0);
    power += (t - at[0]) * (t - at[0]) * at[1];
    total += at[1];
  }
  CHECK(is_near(found.power, power / total, 1e-3));
}

TEST(local_weights_are_those_of_weighted_least_squares) {
  const Index n = 9;
  Vector at(n), size = uniform(n).array() + 1.0;
  at << -2.0, -1.2, -0.7, 0.0, 0.4, 0.9, 1.1, 2.0, 3.0;
  const Vector places = Eigen::Vector3d(-1.0, 0.3, 2.2);
  const double h = 0.8;
  const LocalPolynomials found = local_polynomials(places, at, size, h, true);
  for (Index g = 0; g < places.size(); ++g) {
    for (const Index degree : {1, 2}) {
      Matrix x(n, degree + 1);
      Vector k(n);
      for (Index i = 0; i < n; ++i) {
        const double u = (at(i) - places(g)) / h;
        k(i) = size(i) * std::exp(-0.5 * u * u);
        for (Index q = 0; q <= degree; ++q) x(i, q) = std::pow(u, static_cast<double>(q));
      }
      const Matrix normal = x.transpose() * k.asDiagonal() * x;
      const Vector first = normal.ldlt().solve(Vector::Unit(degree + 1, 0));
      const Vector naive = (x * first).cwiseProduct(k).cwiseQuotient(size);
      const Vector own = (degree == 1 ? found.linear : found.quadratic).row(g);
      CHECK((own - naive).cwiseAbs().maxCoeff() < 1e-6);
    }
  }
}

TEST(forms_in_single_numbers_are_within_their_error) {
  for (const Index size : {1, 4, 7, 120}) {
    const Matrix half = Matrix::Random(size, size), p = half + half.transpose();
    const Index count = 2 * SingleForm::lanes;
    const Matrix columns = 1e3 * Matrix::Random(size, count);
    std::vector<float> v(static_cast<std::size_t>(SingleForm::padded(size) * count));
    for (Index k = 0; k < size; ++k) {
      for (Index r = 0; r < count; ++r) {
        v[static_cast<std::size_t>(k * count + r)] = static_cast<float>(columns(k, r));
      }
    }
    std::vector<float> found(static_cast<std::size_t>(count));
    const SingleForm form(p);
    form.forms(v.data(), count, found.data());
    for (Index r = 0; r < count; ++r) {
      const Vector own = columns.col(r);
      const double error = form.error().dot(own.cwiseAbs2()), exact = own.dot(p * own) / 2.0;
      CHECK(std::abs(static_cast<double>(found[static_cast<std::size_t>(r)]) - exact) < error);
      CHECK(error < 1e-2 * own.squaredNorm());
    }
  }
}

TEST(largest_products_in_single_numbers_are_within_their_error) {
  for (const Index size : {1, 6, 99}) {
    const Matrix a = Matrix::Random(size, size), v = Matrix::Random(2 * size, 50);
    std::vector<Index> rows;
    for (Index k = 0; k < size; ++k) rows.push_back(2 * k + 1);
    const SingleColumns columns(v);
    const Eigen::ArrayXd found = columns.largest_products(a, rows);
    for (Index r = 0; r < v.cols(); ++r) {
      Vector own(size);
      for (Index k = 0; k < size; ++k) own(k) = v(2 * k + 1, r);
      const double error = SingleColumns::error(a) * columns.norm(r);
      CHECK(std::abs(found(r) - (a * own).cwiseAbs().maxCoeff()) < error && error < 1e-2);
    }
  }
}

TEST(a_value_of_a_rank_is_that_of_sorted_values) {
  for (const Index n : {1, 2, 17, 500}) {
    for (const double steps : {1.0, 4.0, 1e9}) {
      Vector x = (uniform(n).array() * steps).floor();
      Vector sorted = x;
      std::sort(sorted.data(), sorted.data() + n);
      for (const Index rank : {Index(0), n / 40, n / 2, n - 1}) {
        select_rank(x.data(), n, rank);
        CHECK(x(rank) == sorted(rank));
        CHECK(x.head(rank + 1).maxCoeff() == x(rank) && x.tail(n - rank).minCoeff() == x(rank));
      }
    }
  }
}

TEST(errors_of_bins_and_their_bounds_are_those_of_their_rows) {
  // bins of 30, 1 and 29 rows in three folds, of which the single row's bin is in one
  const Index n = 60;
  const int n_folds = 3;
  const std::vector<std::size_t> ends = {30, 31, 60};
  std::vector<double> d;
  std::vector<int> fold;
  Matrix size = Matrix::Zero(3, n_folds), sum = size, square = size, events = size;
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const double prob = counter_uniform(1, 0, at);
    const double y = counter_uniform(2, 0, at) < 0.3 * prob ? 1.0 : 0.0;
    const Index bin = (i >= 30) + (i >= 31);
    d.push_back(prob - y);
    fold.push_back(static_cast<int>(i % n_folds) + 1);
    const Index f = fold.back() - 1;
    size(bin, f) += 1.0;
    sum(bin, f) += d.back();
    square(bin, f) += d.back() * d.back();
    events(bin, f) += y;
  }
  const BinTable bins = bins_of_sums(size, sum, square, events);
  for (const double p : {1.0, 1.5, 2.0}) {
    const CellBound bound = cell_bound(size, sum, square, bins, p);
    const CrossfitBound rows = crossfit_bound(d.data(), nullptr, fold.data(), ends, n_folds, p);
    CHECK(is_near(bound.mean, rows.mean) && is_near(bound.squares, rows.squares));
    // that of the mean prediction of a bin is not below the mean over its rows
    CHECK(bound.known * static_cast<double>(n) > rows.known && rows.known > 0.0);
  }
  for (const double p : {1.0, 1.5, 2.0, std::numeric_limits<double>::infinity()}) {
    const BinTerms terms = bin_terms(bins, static_cast<double>(n), p, false);
    // the mean of the influence is the power, and its variance that within and between bins
    double power = 0.0, influence = 0.0, squares = 0.0, expected = 0.0;
    for (Index b = 0; b < 3; ++b) {
      const double gap = std::abs(bins.gap(b));
      power = std::isinf(p) ? std::max(power, gap) : power + bins.size(b) / 60.0 * std::pow(gap, p);
      expected += terms.share(b) * std::pow(terms.centre(b) - terms.power, 2);
    }
    for (Index i = 0; i < n; ++i) {
      const Index bin = (i >= 30) + (i >= 31);
      const double own = terms.offset(bin) + terms.slope(bin) * d[static_cast<std::size_t>(i)];
      influence += own / 60.0;
      squares += std::pow(own - terms.power, 2) / 60.0;
    }
    CHECK(is_near(terms.power, power) && is_near(influence, power));
    CHECK(is_near(squares, expected + terms.within));
  }
  // without bias: a bin of one row adds nothing
  const BinTerms unbiased = bin_terms(bins, 60.0, 2.0, true);
  double expected = 0.0;
  for (const Index b : {0, 2}) {
    const double share = bins.accuracy(b);
    expected += bins.size(b) / 60.0 *
                (bins.gap(b) * bins.gap(b) - share * (1.0 - share) / (bins.size(b) - 1.0));
  }
  CHECK(is_near(unbiased.power, expected) && unbiased.slope(1) == 0.0);
}

TEST(rows_are_sorted_by_their_values_and_equal_ones_by_outcome) {
  for (const Index n : {1, 2, 70, 5000}) {
    Vector x = Vector::Random(n);
    // far apart, so that the leading bits of most rows agree
    if (n > 2) x.tail(n / 2) = (1.0 + 1e-12 * (1e4 * x.tail(n / 2).array()).round()).matrix();
    if (n > 100) x.head(20) = (10.0 * x.head(20).array()).round() / 10.0;
    std::vector<int> y(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i * i % 3 == 1);
    RowOrder order(y.size());
    sort_rows(order, x.data(), y.data(), static_cast<const double*>(nullptr));
    std::vector<std::size_t> expected(y.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](std::size_t a, std::size_t b) {
      const double left = x(static_cast<Index>(a)), right = x(static_cast<Index>(b));
      return left < right || (left == right && y[a] < y[b]);
    });
    bool same = order.size() == expected.size();
    for (std::size_t i = 0; i < expected.size(); ++i) same = same && order[i] == expected[i];
    CHECK(same);
  }
}

TEST(folds_of_sorted_rows_are_those_of_their_keys) {
  std::vector<double> x(600);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::floor(i / 3.0) / 200.0;
  std::vector<int> y(x.size()), expected(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i * i % 5 == 1);
  row_folds(row_keys(x.data(), x.size(), 1, y.data()), 5, expected.data());
  CHECK(sorted_row_folds(
            x.data(), [&](std::size_t i) { return y[i] == 1; }, x.size(), 5) == expected);
}

TEST(joint_copies_have_the_folds_of_both_models) {
  const std::vector<std::uint64_t> keys[2] = {{mix_bits(1), mix_bits(2), mix_bits(1)},
                                              {mix_bits(3), mix_bits(3), mix_bits(4)}};
  const Vector copies = (Vector(3) << 700.0, 3.0, 40.0).finished();
  const JointCopies joint = joint_copies(keys, copies, 5);
  for (int m = 0; m < 2; ++m) {
    const Matrix own = copy_folds(keys[m], copies, 5);
    std::vector<double> sums(15, 0.0), expected;
    for (std::size_t r = 0; r < joint.copies.size(); ++r) {
      sums[static_cast<std::size_t>(joint.rows[m][r] - 1)] += joint.copies[r];
    }
    for (Index c = 0; c < own.size(); ++c) {
      if (own.data()[c] > 0) expected.push_back(own.data()[c]);
    }
    sums.resize(expected.size());
    CHECK(sums == expected);
  }
}

TEST(values_are_sorted_whatever_their_range) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double power : {1.0, 40.0}) {  // most of them near 0
    for (const double last : {0.5, infinity, 1e300}) {
      std::vector<double> x(1000, 0.25);
      for (std::size_t a = 500; a < x.size(); ++a) x[a] = std::pow(counter_uniform(3, 0, a), power);
      x.back() = last;
      std::vector<double> sorted = x;
      std::sort(sorted.begin(), sorted.end());
      RowOrder order(x.size());
      CHECK(sort_values(order, [&](std::size_t i) { return x[i]; }) == sorted);
    }
  }
}

TEST(rows_in_ascending_order_are_those_of_a_stable_sort) {
  for (const Index n : {Index(1), Index(32769), Index(65537), Index(150001)}) {
    const Vector spread = Vector::Random(n), tied = (spread.array() * 9.0).round();
    for (const Vector& z : {spread, tied}) {
      std::vector<Index> expected(static_cast<std::size_t>(n));
      std::iota(expected.begin(), expected.end(), Index{0});
      std::stable_sort(expected.begin(), expected.end(),
                       [&](Index a, Index b) { return z(a) < z(b); });
      CHECK(ascending_order(z) == expected);
    }
  }
}

TEST(bins_of_sorted_rows_are_those_of_their_own_sums) {
  const Index n = 40;
  Vector x(n), y(n), w(n), d(n), w2(n);
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    x(i) = static_cast<double>(i + 1) / 50.0;
    y(i) = counter_uniform(3, 0, at) < x(i) ? 1.0 : 0.0;
    // a bin of two rows that are lost in prefix sums
    w(i) = (i == 30 || i == 31 ? 1e-12 : 1.0) * (1.0 + counter_uniform(4, 0, at));
  }
  d = x - y;
  w2 = w.array().square();
  const auto prefix = [n](const Vector& v) {
    Vector out(n);
    std::partial_sum(v.data(), v.data() + n, out.data());
    return out;
  };
  const Vector sum_d = prefix(w.cwiseProduct(d)), sum_y = prefix(w.cwiseProduct(y));
  const Vector sum_d2 = prefix(w.cwiseProduct(d).cwiseProduct(d));
  const Vector sum_w = prefix(w), sum_w2 = prefix(w2);
  const SortedSums rows{sum_d.data(), sum_d2.data(), sum_y.data(), d.data(),      y.data(),
                        w.data(),     w2.data(),     sum_w.data(), sum_w2.data(), nullptr};
  const double given[] = {0, 10, 10, 30, 32, 40};
  const std::vector<Index> ends = used_ends(given, 6);
  CHECK((ends == std::vector<Index>{10, 30, 32, 40}));
  const BinTable bins = bins_of_rows(rows, ends, 0);
  for (Index b = 0, begin = 0; b < 4; ++b) {
    const Index end = ends[static_cast<std::size_t>(b)], size = end - begin;
    const auto own = [&](const Vector& v) { return v.segment(begin, size); };
    const double weight = own(w).sum(), gap = own(w).dot(own(d)) / weight;
    const double square = own(w).dot(own(d).cwiseProduct(own(d))) / weight;
    CHECK(bins.copies(b) == static_cast<double>(size) && is_near(bins.size(b), weight, 1e-14));
    CHECK(is_near(bins.gap(b), gap) && is_near(bins.accuracy(b), own(w).dot(own(y)) / weight));
    CHECK(is_near(bins.spread(b), std::max(square - gap * gap, 0.0)));
    CHECK(is_near(bins.concentration(b), own(w2).sum() / (weight * weight)));
    begin = end;
  }
  const BinTerms whole = bin_terms(bins, w.sum(), 2.0, false);
  for (const Index at_once : {1, 3, 10}) {
    const BinnedPower parts = power_in_blocks(rows, ends, 2.0, false, at_once);
    CHECK(is_near(parts.power, whole.power) && is_near(parts.noise, whole.noise));
    CHECK(is_near(parts.squares, w.sum() * (squares_about(whole, whole.power) + whole.within)));
  }
}

TEST(cells_of_several_numbers_of_bins_are_those_of_each_alone) {
  const std::vector<int> n_bins = {1, 6, 4, 6, 50, 49};
  const WidthBins all(n_bins);
  // all edges, and values beside them
  std::vector<double> x = {0.0, 1e-300, 0x1p-60};
  for (const int bins : n_bins) {
    for (int b = 1; b <= bins; ++b) {
      const double edge = static_cast<double>(b) / bins;
      for (const double to : {0.0, edge, 1.0}) x.push_back(std::nextafter(edge, to));
    }
  }
  std::vector<int> y, fold;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(static_cast<int>(i * i % 3 == 0));
    fold.push_back(static_cast<int>(i % 5 % 3) + 1);
  }
  const auto cells = width_cells(x.data(), y.data(), fold.data(), x.size(), all, 3);
  for (const int bins : n_bins) {
    const auto own = cells_of_bins(cells, all, bins, 3);
    std::vector<WidthCell> naive(own.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      int bin = 0;
      while (x[i] > static_cast<double>(bin + 1) / bins) ++bin;
      WidthCell& cell = naive[static_cast<std::size_t>(bin + bins * (fold[i] - 1))];
      ++cell.rows;
      cell.events += y[i];
      cell.residual.add(x[i] - y[i]);
    }
    for (std::size_t c = 0; c < own.size(); ++c) {
      CHECK(own[c].rows == naive[c].rows && own[c].events == naive[c].events);
      CHECK(own[c].residual.value() == naive[c].residual.value());
    }
  }
  std::sort(x.begin(), x.end());
  const std::vector<Index> halves = {9, static_cast<Index>(x.size())};
  const std::vector<Index> parts = {1, 2, 9, 40, static_cast<Index>(x.size())};
  for (const double* w :
       {static_cast<const double*>(nullptr), static_cast<const double*>(x.data())}) {
    const auto together = fold_sums(x.data(), w, fold.data(), 3, {halves, parts});
    for (std::size_t k = 0; k < 2; ++k) {
      const auto& ends = k == 0 ? halves : parts;
      Matrix size = Matrix::Zero(static_cast<Index>(ends.size()), 3), d = size, d2 = size;
      Index bin = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (static_cast<Index>(i) == ends[static_cast<std::size_t>(bin)]) ++bin;
        const double weight = w == nullptr ? 1.0 : x[i];
        size(bin, fold[i] - 1) += weight;
        d(bin, fold[i] - 1) += weight * x[i];
        d2(bin, fold[i] - 1) += weight * x[i] * x[i];
      }
      CHECK((together[k].size - size).norm() < 1e-9 && (together[k].d - d).norm() < 1e-9);
      CHECK((together[k].d2 - d2).norm() < 1e-9);
    }
  }
}

TEST(gaps_of_cells_are_those_of_the_other_folds) {
  const int cell[] = {1, 1, 2, 1, 2, 3}, fold[] = {1, 2, 1, 2, 2, 1};
  Matrix residuals(6, 1);
  residuals << 0.5, -0.1, 0.3, 0.3, 1e-15, 0.2;
  const Matrix gaps = cell_gaps(residuals, cell, fold, Vector(), 1e-13);
  CHECK(is_near(gaps(0, 0), 0.1) && is_near(gaps(1, 0), 0.5) && is_near(gaps(3, 0), 0.5));
  CHECK(gaps(2, 0) == 0.0 && is_near(gaps(4, 0), 0.3) && !std::isfinite(gaps(5, 0)));
  Vector weights(6);
  weights << 1.0, 3.0, 1.0, 1.0, 1.0, 1.0;
  CHECK(is_near(cell_gaps(residuals, cell, fold, weights, 1e-13)(0, 0), 0.0));
}

TEST(moments_of_copies_are_those_of_repeated_rows) {
  const Index n = 30;
  Vector mean(3 * n), variance(3 * n), outcome(3 * n), counts(n);
  Index rows = 0;
  const Vector m = uniform(n), v = uniform(n).array() + 0.2, y = uniform(n);
  Labels cluster;
  for (Index i = 0; i < n; ++i) {
    counts(i) = static_cast<double>(1 + i % 3);
    for (Index k = 0; k <= i % 3; ++k, ++rows) {
      mean(rows) = m(i);
      variance(rows) = v(i);
      outcome(rows) = y(i);
      cluster.push_back(static_cast<int>(rows) + 1);
    }
  }
  const RowWeights one, copies = RowWeights::copies(counts);
  const RowClusters none, of_one(cluster);
  const auto head = [&](const Vector& x) -> Vector { return x.head(rows); };
  const RowStrata no_strata;
  const RowMoments repeated(one, none, no_strata, rows), counted(copies, none, no_strata, n),
      alone(one, of_one, no_strata, rows);
  const MomentTable expected = moment_table(repeated, head(mean), head(variance), head(outcome));
  const MomentTable found = moment_table(counted, m, v, y);
  const MomentTable clustered = moment_table(alone, head(mean), head(variance), head(outcome));
  CHECK(is_near(expected.of[0].value, head(mean - outcome).mean()));
  const Vector x = head(mean).array() - head(mean).mean();
  CHECK(is_near(expected.of[1].value, x.dot(head(outcome)) / x.squaredNorm(), 1e-10));
  CHECK(is_near(expected.mean_row.dot(head(outcome)), expected.of[1].value, 1e-10));
  for (int k = 0; k < 9; ++k) {
    CHECK(is_near(clustered.of[k].value, expected.of[k].value, 1e-10));
    CHECK(is_near(found.of[k].value, expected.of[k].value, 1e-10));
    // few rows may move the spread of a slope by their number
    if (k == 5 || k == 7) continue;
    CHECK(is_near(clustered.of[k].std_error, expected.of[k].std_error, 1e-10));
    CHECK(is_near(found.of[k].std_error, expected.of[k].std_error, 1e-10));
    CHECK(is_near(found.of[k].skew, expected.of[k].skew, 1e-10));
  }
}

TEST(the_tail_of_the_largest_value_of_a_bridge_is_right_on_both_of_its_branches) {
  const double x[] = {0.5, 0.9049154, 1.2, 5.0},
               tail[] = {0.9639452436, 0.3859797, 0.1122496667, 2.0 * std::exp(-50.0)};
  for (int k = 0; k < 4; ++k) CHECK(is_near(std::exp(log_kolmogorov_tail(x[k])), tail[k], 1e-7));
  CHECK(is_near(log_kolmogorov_tail(1.0 - 1e-9), log_kolmogorov_tail(1.0 + 1e-9), 1e-7));
  CHECK(log_kolmogorov_tail(0.0) == 0.0);
}

TEST(walks_of_residuals_are_their_sums_and_have_their_extremes_where_they_say) {
  Vector prob(4), weight(4), sum_d(4);
  prob << 0.2, 0.2, 0.5, 0.9;
  weight << 1, 2, 1, 1;
  sum_d << 0.2, -1.4, -0.9, -1.0;  // of w (p - y) with y = 0, 1, 0, 1
  const ResidualWalk of = residual_walk(prob, weight, sum_d, {2, 3, 4});
  const double total = 5.0 * 0.16 + 0.25 + 0.09;
  CHECK(is_near(of.scale, std::sqrt(total)));
  CHECK(is_near(of.walk[0], 1.4 / of.scale) && is_near(of.walk[2], 1.0 / of.scale));
  CHECK(is_near(of.time[1], 1.05 / total) && is_near(of.time[2], 1.0));
  const WalkPlaces at = walk_places(of);
  CHECK(at.largest == 0.2 && at.range == (std::vector<double>{0.0, 0.2}) && at.bridge == 0.2);
  const ResidualWalk sure =
      residual_walk(Vector::Ones(2), Vector::Ones(2), Vector::Ones(2), {1, 2});
  CHECK(sure.scale == 1.0 && sure.time == (std::vector<double>{0.5, 1.0}));
}

TEST(two_classes_and_an_exponential_kernel_are_a_line) {
  Matrix probs(3, 2), left(3, 2), right(3, 2);
  probs << 0.25, 0.75, 1.0, 0.0, 0.5, 0.5;
  left << 0.25, -0.25, 0.0, 0.0, -0.5, 0.5;
  right = left * (Matrix(2, 2) << 3.0, 1.0, 1.0, 2.0).finished();
  const auto of = [&](const AnyLeaf& leaf) {
    Kernel kernel;
    kernel.leaf = leaf;
    kernel.scale = 2.0;
    return line_pair(kernel, probs, left, right);
  };
  CHECK(is_near(of(TotalVariationKernel{0.4}).bandwidth, 0.4));
  for (const LinePair& pair : {of(LaplaceKernel{0.4}), of(MaternKernel{0.5, 0.4})}) {
    CHECK(is_near(pair.bandwidth, 0.4 / std::sqrt(2.0)));
    // e_1 - e_2 times the matrix
    CHECK(is_near(pair.scale, 6.0));
  }
  CHECK(of(GaussianKernel{0.4}).bandwidth == 0.0 && of(MaternKernel{1.5, 0.4}).bandwidth == 0.0);
  probs(0, 0) += 1e-9;
  CHECK(of(TotalVariationKernel{0.4}).bandwidth == 0.0);
  // a scalar is one as it is
  Kernel kernel;
  kernel.leaf = LaplaceKernel{0.4};
  const LinePair scalar =
      line_pair(kernel, probs.rightCols(1), left.rightCols(1), 3.0 * left.rightCols(1));
  CHECK(scalar.bandwidth == 0.4 && is_near(scalar.scale, 3.0));
  CHECK(line_pair(kernel, probs.rightCols(1), left, right).bandwidth == 0.0);
}

TEST(sums_of_the_laplace_kernel_are_those_of_a_loop_over_pairs) {
  const Index n = 9;
  const double bandwidth = 0.3;
  Vector x = uniform(n), d(n), w = uniform(n).array() + 0.5, copies(n);
  std::sort(x.data(), x.data() + n);
  Labels cluster;
  for (Index i = 0; i < n; ++i) {
    d(i) = x(i) - static_cast<double>(i % 2);
    copies(i) = 1.0 + static_cast<double>(i % 3);
    cluster.push_back(1 + static_cast<int>(i % 4));
  }
  const RowWeights weights(w, copies);
  const RowClusters clusters(cluster);
  const auto kernel = [&](Index i, Index j) {
    return std::exp(-std::abs(x(i) - x(j)) / bandwidth);
  };
  for (const bool apart : {false, true}) {
    const MmceSums plain = mmce_sums(x, d, weights, RowClusters(), apart, bandwidth);
    const MmceSums found = mmce_sums(x, d, RowWeights(w), clusters, apart, bandwidth);
    double squares = 0.0, squares_apart = 0.0, known = 0.0, trace = 0.0;
    for (Index i = 0; i < n; ++i) {
      double off = 0.0, across = 0.0, all = 0.0;
      for (Index j = 0; j < n; ++j) {
        const double h = d(i) * d(j) * kernel(i, j), own = weights.each(i), other = weights.each(j);
        const double pairs = copies(i) * (copies(j) - (i == j ? 1.0 : 0.0));
        off += other * (copies(j) - (i == j ? 1.0 : 0.0)) * h;
        squares += pairs * std::pow(own * other * h, 2);
        known +=
            pairs * std::pow(own * other * kernel(i, j), 2) * x(i) * (1 - x(i)) * x(j) * (1 - x(j));
        const bool same = clusters.unit(i) == clusters.unit(j);
        across += same ? 0.0 : w(j) * h;
        all += i == j ? 0.0 : w(j) * h;
        squares_apart += (apart ? same : i == j) ? 0.0 : std::pow(w(i) * w(j) * h, 2);
      }
      trace += weights.squares(i) * x(i) * (1 - x(i));
      CHECK(is_near(plain.off_diagonal(i), off) &&
            is_near(plain.diagonal(i), weights.each(i) * d(i) * d(i)));
      CHECK(is_near(found.off_diagonal(i), apart ? across : all));
      if (!apart) CHECK(is_near(found.across(i), across));
    }
    CHECK(is_near(plain.squares, squares) && is_near(plain.known, known));
    CHECK(is_near(plain.trace, trace) && is_near(found.squares, squares_apart));
    CHECK(plain.across.size() == 0 && (found.across.size() == 0) == apart);
  }
}

TEST(bins_of_other_libraries_end_where_theirs_do) {
  const std::vector<double> x = {0.0, 0.1, 0.25, 0.25, 0.5, 0.7, 0.75, 1.0};
  using Ends = std::vector<int>;
  // a value on an edge is above it in torchmetrics and netcal, below it in scikit-learn
  CHECK(inner_ends(x, torch_edges(4), EdgeSide::above) == (Ends{2, 4, 6, 7, 8}));
  CHECK(torch_edges(3)[1] == static_cast<double>(1.0f - 1.0f / 3.0f));
  CHECK(inner_ends(x, numpy_edges(x, 4, false), EdgeSide::above) == (Ends{2, 4, 6, 8}));
  CHECK(inner_ends(x, numpy_edges(x, 4, false), EdgeSide::below) == (Ends{4, 5, 7, 8}));
  const auto quantiles = numpy_edges(x, 4, true);
  CHECK(is_near(quantiles[0], 0.2125) && is_near(quantiles[1], 0.375) &&
        is_near(quantiles[2], 0.7125));
  CHECK(chunk_edges(x, 3, true) == (std::vector<double>{0.25, (0.7 + 0.75) / 2}));
  CHECK(chunk_edges(x, 5, false) ==
        (std::vector<double>{(0.1 + 0.25) / 2, 0.375, (0.7 + 0.75) / 2}));
  CHECK(chunk_edges(x, 20, true).size() == 7);
}

TEST(limits_of_net_benefit_are_wilsons_where_nothing_varies) {
  Vector at(2), value = Vector::Zero(2), error = Vector::Zero(2);
  at << 0.2, 0.5;
  const double n = 50.0, z = 1.96, most = z * z / (n + z * z);
  const BenefitLimits of = net_benefit_limits(value, error, value, value, at, n, z);
  CHECK(is_near(of.high(0), most) && is_near(of.low(0), -0.25 * most) && is_near(of.low(1), -most));
  BenefitLimits few{value, value};
  Vector changed(2);
  changed << 0.0, 6.0;
  allow_few_changes(few, value, changed, at, n, n, z);
  CHECK(is_near(few.high(0), most) && is_near(few.low(0), -most) && few.high(1) == 0.0);
  error(0) = std::nan("");
  CHECK(std::isnan(net_benefit_limits(value, error, value, value, at, n, z).low(0)));
  const auto wilson = wilson_limits(0.3, n, z);
  for (const double p : wilson) CHECK(is_near(std::abs(0.3 - p), z * std::sqrt(p * (1 - p) / n)));
  CHECK(wilson_limits(1.0, n, z)[1] == 1.0);
}

TEST(weights_of_follow_up_are_those_of_the_product_limit_estimate) {
  FollowUp rows{Vector(8), Vector(8), Vector::Ones(8), Vector::Zero(8)};
  rows.time << 1, 2, 2, 3, 3, 4, 5, 6;
  rows.event << 1, 1, 0, 0, 1, 1, 0, 1;
  // at 2: 7 at risk, 1 event, 1 censored; at 3: 5 at risk, 1 event, 1 censored
  const double g2 = 5.0 / 6.0, g3 = g2 * 0.75;
  Vector by_hand(8);
  by_hand << 1, 1, 0, 0, 1 / g2, 1 / g3, 1 / g3, 1 / g3;
  const FollowUpWeights found = censoring_weights(rows, rows, 4.0);
  CHECK((found.weights - by_hand).norm() < 1e-12);
  CHECK(!found.lost && found.last == 6.0);
  // from 0 on both are weights of one estimate: their shares of events agree
  const FollowUpWeights late = entry_weights(rows, 4.0);
  double share = 0.0, same = 0.0;
  for (Index i = 0; i < 8; ++i) {
    const bool happened = rows.event(i) == 1.0 && rows.time(i) <= 4.0;
    share += happened ? found.weights(i) : 0.0;
    same += happened ? late.weights(i) : 0.0;
  }
  CHECK(is_near(share / found.weights.sum(), same / late.weights.sum()));
  CHECK(censoring_weights(rows, rows, 7.0).last == 6.0);
  rows.event(7) = 0.0;
  CHECK(censoring_weights(rows, rows, 7.0).lost);
  // all that were followed at 1 had an event
  rows.entry << 0, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5;
  CHECK(entry_weights(rows, 4.0).certain == 1.0);
}

TEST(random_effects_of_equal_variances_are_those_of_a_plain_mean) {
  Vector value(4), variance = Vector::Constant(4, 0.04), df = Vector::Constant(4, 20.0);
  value << 0.1, 0.9, 0.4, 1.4;
  const RandomEffects of = random_effects(value, variance, df);
  const Vector off = value.array() - value.mean();
  const double between = off.squaredNorm() / 3.0;
  CHECK(is_near(of.mean, value.mean()));
  CHECK(is_near(of.tau2, between - 0.04, 1e-9));
  // one value of tau2, at which Q is 3: a normal distribution of that spread
  const GroupMean one(value, variance, Vector::Constant(1, 3.0));
  CHECK(is_near(one.limit(1.5, 1.0, false), value.mean() + 1.5 * std::sqrt(between / 4.0), 1e-8));
  CHECK(is_near(one.limit(1.5, -1.0, true), value.mean() - 1.5 * std::sqrt(between / 4.0 + of.tau2),
                1e-8));
  CHECK(is_near(of.q, off.squaredNorm() / 0.04));
  CHECK((of.weights.array() - 0.25).abs().maxCoeff() < 1e-12);
  value.setConstant(0.3);
  CHECK(random_effects(value, variance, df).tau2 == 0.0);
}

TEST(weighted_quantiles_are_those_of_repeated_values) {
  Vector values(4), copies(4);
  values << 3, 1, 4, 2;
  copies << 2, 1, 3, 2;
  Vector repeated(8);
  repeated << 1, 2, 2, 3, 3, 4, 4, 4;
  const WeightedQuantiles of(values, copies, copies), again(repeated, Vector::Ones(8), Vector());
  EqualQuantiles few(repeated.reverse(), true), many(repeated.reverse(), false);
  for (const double share : {0.0, 0.1, 0.3, 0.5, 0.77, 1.0, 0.25}) {
    for (EqualQuantiles* equal : {&few, &many}) {
      CHECK(is_near(equal->between(share), again.between(share)));
      CHECK(equal->reached(share) == again.reached(share));
    }
    CHECK(is_near(of.between(share), again.between(share)));
    CHECK(of.reached(share) == again.reached(share));
    const double at = 7.0 * share, below = std::floor(at);
    const auto k = static_cast<Index>(below);
    const double next = repeated(std::min<Index>(k + 1, 7));
    CHECK(is_near(again.between(share), repeated(k) + (at - below) * (next - repeated(k))));
  }
}

TEST(the_covariance_of_means_has_their_standard_errors) {
  const Index n = 30;
  const Matrix rows = Matrix::Random(n, 2);
  const Vector w = Vector::Random(n).array() + 1.5;
  Labels cluster;
  for (Index i = 0; i < n; ++i) cluster.push_back(1 + static_cast<int>(i % 7));
  const RowStrata none;
  for (const bool clustered : {false, true}) {
    const RowWeights weights(w);
    const RowClusters clusters = clustered ? RowClusters(cluster) : RowClusters();
    const RowMoments of(weights, clusters, none, n);
    const Matrix found = of.covariance(rows);
    const Vector sum = rows.rowwise().sum();
    for (Index k = 0; k < 2; ++k) CHECK(is_near(std::sqrt(found(k, k)), of.std_error(rows.col(k))));
    CHECK(is_near(std::sqrt(found.sum()), of.std_error(sum)));
  }
}
