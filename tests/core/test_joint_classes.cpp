// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

#include <calibrisk/joint/class_flips.h>
#include <calibrisk/joint/class_test.h>

using namespace calibrisk;

namespace {

// Rows on the simplex; those of a third of the rows are in tenths, and one in eight has zeros.
Matrix simplex(Index n, Index k, double steepness) {
  Matrix out(n, k);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < k; ++j) {
      const double u =
          counter_uniform(8, static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(i));
      out(i, j) = std::exp(steepness * (u - 0.1 * double(j)));
      if (i % 3 == 0) out(i, j) = 1.0 + std::floor(3.0 * u);
      if (i % 8 == 1 && j == i % k) out(i, j) = 0.0;
    }
    out.row(i) /= out.row(i).sum();
  }
  return out;
}

// Labels (1, ..., K) with probabilities in proportion to p^power.
Labels labels_of(const Matrix& p, double power, std::uint64_t draw) {
  Labels out;
  for (Index i = 0; i < p.rows(); ++i) {
    const Vector q = p.row(i).array().pow(power);
    double u = counter_uniform(9, draw, static_cast<std::uint64_t>(i)) * q.sum();
    int label = 0;
    while (label + 1 < q.size() && (q(label) == 0.0 || u >= q(label))) u -= q(label++);
    out.push_back(label + 1);
  }
  return out;
}

const std::vector<int> all_parts = {0, 1, 2, 3, 4, 5, 6};

ClassResult result_of(const Engine& engine, const Matrix& p, const Labels& y, Index redraws,
                      double level = 0.95) {
  const ClassTest test(engine, class_rows(p, y), redraws);
  return test.result(test.rows().labels(y), all_parts, test.law(all_parts), level);
}

// Cox and hats of an event, as of two classes.
Vector event_statistics(const Engine& engine, const Vector& p, const Vector& y) {
  const Vector none;
  JointRows rows = joint_rows(p, none, none, none);
  std::vector<double> knots = joint_knots(rows, detail::even_shares(8));
  if (rows.turned) {
    std::reverse(knots.begin(), knots.end());
    for (double& at : knots) at = 1.0 - at;
  }
  const JointParts parts = joint_parts(engine, std::move(rows), {knots, knots});
  const Vector e = parts.rows.residuals(y);
  const Vector found = observed_statistics(parts, observed_scores(engine, parts, e),
                                           observe_rungs(engine, parts, e));
  const double trust = parts.information(0) / (1.0 + parts.information(0));
  Vector out(3);
  out << found(0), found(3), trust;
  return out;
}

}  // namespace

TEST(parts_of_classes_are_their_formulas) {
  const Engine engine = serial_engine();
  const Matrix p = simplex(90, 4, 3.0);
  const Labels y = labels_of(p, 1.4, 3);
  const ClassTest test(engine, class_rows(p, y), 20);
  const std::vector<int> own = test.rows().labels(y);
  const Vector found =
      test.statistics(1, [&](Index, Index i) { return own[static_cast<std::size_t>(i)]; })
          .row(0)
          .transpose();
  const Index n = 90, k = 4;
  Matrix hit = Matrix::Zero(n, k), c = Matrix::Identity(k, k);
  for (Index i = 0; i < n; ++i) {
    hit(i, y[static_cast<std::size_t>(i)] - 1) = 1.0;
    c += Matrix(p.row(i).asDiagonal()) - p.row(i).transpose() * p.row(i);
  }
  const Vector bias = (p - hit).colwise().sum();
  CHECK(is_near(found(biases_part), bias.dot(c.inverse() * bias), 1e-8));
  CHECK(is_near(found(bias_part), (bias.array().square() / c.diagonal().array()).maxCoeff(), 1e-8));
  double t = 0.0, variance = 0.0, cube = 0.0;
  for (Index i = 0; i < n; ++i) {
    const Vector l = p.row(i).array().max(std::exp(-12.0)).log();
    const double mean = p.row(i).dot(l);
    t += mean - l(y[static_cast<std::size_t>(i)] - 1);
    variance += p.row(i).dot((l.array() - mean).square().matrix());
    cube -= p.row(i).dot((l.array() - mean).cube().matrix());
  }
  const double z = without_skew(t / std::sqrt(variance), cube / std::pow(variance, 1.5));
  CHECK(is_near(found(temperature_part), z * z, 1e-7));
  Vector slope(k), gap(k);
  for (Index j = 0; j < k; ++j) {
    const Vector one = event_statistics(engine, p.col(j), hit.col(j));
    slope(j) = one(0) * one(2);
    gap(j) = one(1) * one(2);
  }
  CHECK(is_near(found(slope_part), slope.maxCoeff(), 1e-7));
  CHECK(is_near(found(gap_part), gap.maxCoeff(), 1e-7));
  Vector confidence = Vector::Zero(n), right = confidence;
  for (Index i = 0; i < n; ++i) {
    const double most = p.row(i).maxCoeff();
    for (Index j = 0; j < k; ++j) {
      if (p(i, j) != most) continue;
      confidence(i) += most;
      right(i) += hit(i, j);
    }
  }
  const Vector top = event_statistics(engine, confidence.cwiseMin(1.0), right);
  CHECK(is_near(found(confidence_part), top(0), 1e-7));
  CHECK(is_near(found(steps_part), top(1), 1e-7));
}

TEST(labels_are_drawn_with_their_probabilities) {
  const Matrix p = simplex(40, 5, 4.0);
  const ClassRows rows = class_rows(p, {});
  Matrix seen = Matrix::Zero(40, 5);
  constexpr int times = 20000;
  for (std::uint64_t r = 0; r < times; ++r) {
    for (Index i = 0; i < 40; ++i) {
      seen(i, rows.drawn(i, counter_uniform(class_key, r, static_cast<std::uint64_t>(i)))) += 1.0;
    }
  }
  double square = 0.0;
  for (Index i = 0; i < 40; ++i) {
    for (Index j = 0; j < 5; ++j) {
      const double expected = times * rows.p(i, j);
      if (expected == 0.0) {
        CHECK(seen(i, j) == 0.0);
      } else {
        square += std::pow(seen(i, j) - expected, 2.0) / expected;
      }
    }
  }
  CHECK(std::abs(square - 160.0) < 4.0 * std::sqrt(2.0 * 160.0));
}

TEST(order_of_rows_and_classes_and_threads_change_nothing) {
  const Engine engine = serial_engine();
  ThreadedEngine three(3);
  const Matrix p = simplex(150, 4, 3.0);
  const Labels y = labels_of(p, 0.7, 5);
  const ClassResult one = result_of(engine, p, y, 199);
  const ClassResult threads = result_of(three.engine(), p, y, 199);
  CHECK(one.p_value == threads.p_value && one.low == threads.low);
  const std::vector<int> turn = {2, 0, 3, 1};
  Matrix p2(150, 4);
  Labels y2;
  for (Index i = 0; i < 150; ++i) {
    const Index from = 149 - i;
    for (Index j = 0; j < 4; ++j) p2(i, j) = p(from, turn[static_cast<std::size_t>(j)]);
    const auto at = std::find(turn.begin(), turn.end(), y[static_cast<std::size_t>(from)] - 1);
    y2.push_back(static_cast<int>(at - turn.begin()) + 1);
  }
  const ClassResult two = result_of(engine, p2, y2, 199);
  CHECK(one.p_value == two.p_value && is_near(one.low, two.low, 1e-9));
  CHECK(turn[static_cast<std::size_t>(two.classes[bias_part] - 1)] + 1 == one.classes[bias_part]);
  CHECK(one.signs == two.signs);
}

TEST(the_lower_limit_is_above_0_exactly_where_the_test_of_classes_rejects) {
  const Engine engine = serial_engine();
  int rejected = 0, all = 0;
  for (const double steepness : {1.0, 5.0}) {
    const Matrix p = simplex(120, 3, steepness);
    const ClassTest test(engine, class_rows(p, {}), 299);
    for (const std::vector<int>& parts : {all_parts, std::vector<int>{1, 2, 3, 4}}) {
      const JointLaw law = test.law(parts);
      for (std::uint64_t draw = 0; draw < 40; ++draw) {
        const std::vector<int> y =
            test.rows().labels(labels_of(p, draw % 2 == 0 ? 1.0 : 2.0, draw));
        for (const double level : {0.8, 0.95, 0.99}) {
          const ClassResult found = test.result(y, parts, law, level);
          const bool rejects = found.p_value < 1.0 - level - 1e-12;
          CHECK((found.low > 0.0) == rejects && found.low < 1.0);
          rejected += rejects ? 1 : 0;
          ++all;
        }
      }
    }
  }
  CHECK(rejected > 60 && rejected < all - 60);
}

// n = 5, K = 3: all 243 labels with their probabilities.
TEST(p_values_of_few_rows_are_those_of_all_labels) {
  const Engine engine = serial_engine();
  Matrix p(5, 3);
  p << 0.5, 0.3, 0.2, 0.1, 0.2, 0.7, 0.6, 0.1, 0.3, 0.25, 0.35, 0.4, 0.15, 0.8, 0.05;
  const ClassTest test(engine, class_rows(p, {}), 15999);
  const auto label = [](Index r, Index i) {
    for (Index a = 0; a < i; ++a) r /= 3;
    return static_cast<int>(r % 3);
  };
  const Matrix all = test.statistics(243, label);
  Vector probability = Vector::Ones(243);
  for (Index r = 0; r < 243; ++r) {
    for (Index i = 0; i < 5; ++i) probability(r) *= test.rows().p(i, label(r, i));
  }
  CHECK(is_near(probability.sum(), 1.0, 1e-12));
  const JointLaw law = test.law(all_parts);
  for (Index m = 0; m < all.cols(); ++m) {
    for (Index r = 0; r < 243; ++r) {
      double above = 0.0;
      for (Index s = 0; s < 243; ++s) {
        if (all(s, m) >= all(r, m)) above += probability(s);
      }
      CHECK(std::abs(law.tail(static_cast<std::size_t>(m)).survival(all(r, m)) - above) < 0.03);
    }
  }
  Vector least(243);  // weighted p-value of the part that decides
  for (Index r = 0; r < 243; ++r) {
    const std::vector<double> weighted = law.weighted(all.row(r).transpose());
    least(r) = *std::min_element(weighted.begin(), weighted.end());
  }
  double level = 0.0;
  for (Index r = 0; r < 243; ++r) {
    const double p_value = law.p_value(least(r));
    double expected = 0.0;
    for (Index s = 0; s < 243; ++s) {
      if (least(s) <= least(r) + 1e-12) expected += probability(s);
    }
    CHECK(std::abs(p_value - expected) < 0.03);
    if (p_value < 0.05) level += probability(r);
  }
  CHECK(level > 0.0 && level < 0.055);
}

TEST(certain_predictions_and_classes_that_never_occur_have_a_test) {
  const Engine engine = serial_engine();
  Matrix certain = Matrix::Zero(30, 4);
  Labels y;
  for (Index i = 0; i < 30; ++i) {
    certain(i, i % 3) = 1.0;  // never the fourth
    y.push_back(static_cast<int>(i % 3) + 1);
  }
  CHECK(result_of(engine, certain, y, 199).p_value == 1.0);
  y[4] = 4;
  const ClassResult wrong = result_of(engine, certain, y, 199);
  CHECK(wrong.p_value < 0.01 && wrong.low > 0.0);
  const Matrix equal = Matrix::Constant(30, 4, 0.25);
  const ClassResult one = result_of(engine, equal, y, 199);
  CHECK(one.p_value > 0.0 && one.p_value <= 1.0 && one.low >= 0.0);
}

TEST(flips_of_classes_agree_with_their_interval_at_any_order_and_number_of_threads) {
  const Engine engine = serial_engine();
  ThreadedEngine threads(3);
  constexpr Index n = 200;
  const Matrix p = simplex(n, 4, 3.0);
  int rejected = 0, all = 0;
  for (const int clusters : {1, 5, 8, 40, 200}) {  // of one row each
    std::vector<int> cluster, other;
    for (int i = 0; i < n; ++i) cluster.push_back(i % clusters + 1);
    for (std::uint64_t draw = 0; draw < 6; ++draw) {
      const Labels y = labels_of(p, draw % 2 == 0 ? 1.0 : 3.0, draw);
      for (const bool canonical : {true, false}) {
        const FlipResult found = class_flips(engine, p, y, Vector(), cluster, canonical, 199, 0.05);
        CHECK(found.clusters == clusters && found.p_value >= found.least);
        CHECK((found.low > 0.0) == (found.p_value < 0.05));
        CHECK(found.parts.size() == (canonical ? 7 : 5));
        if (clusters < 6) CHECK(found.low == 0.0);
        Matrix turned(n, 4);  // rows and classes the other way round
        Labels labels;
        std::vector<int> renamed;
        for (Index i = 0; i < n; ++i) {
          const auto from = static_cast<std::size_t>(n - 1 - i);
          turned.row(i) = p.row(n - 1 - i).reverse();
          labels.push_back(5 - y[from]);
          renamed.push_back(clusters + 1 - cluster[from]);
        }
        const FlipResult same =
            class_flips(threads.engine(), turned, labels, Vector(), renamed, canonical, 199, 0.05);
        CHECK(same.p_value == found.p_value && same.low == found.low);
        CHECK(same.statistic == found.statistic && same.weighted == found.weighted);
        rejected += found.low > 0.0 ? 1 : 0;
        ++all;
      }
    }
  }
  CHECK(rejected > 4 && rejected < all / 2);
}

TEST(flips_of_certain_predictions_reject_nothing) {
  const Engine engine = serial_engine();
  Matrix certain = Matrix::Zero(30, 4);
  Labels y;
  for (Index i = 0; i < 30; ++i) {
    certain(i, i % 3) = 1.0;
    y.push_back(static_cast<int>(i % 3) + 1);
  }
  CHECK(class_flips(engine, certain, y, Vector(), {}, true, 199, 0.05).p_value == 1.0);
}
