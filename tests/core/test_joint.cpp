// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

#include <calibrisk/joint/flips.h>
#include <calibrisk/joint/headline.h>

using namespace calibrisk;

namespace {

// Predictions between 0 and 1, and outcomes with another probability.
Vector predictions(Index n, double steepness) {
  Vector out(n);
  for (Index i = 0; i < n; ++i) {
    const double u = counter_uniform(5, 1, static_cast<std::uint64_t>(i));
    out(i) = 1.0 / (1.0 + std::exp(-steepness * (2.0 * u - 1.2)));
  }
  return out;
}

Vector outcomes(const Vector& p, double power, std::uint64_t draw) {
  Vector out(p.size());
  for (Index i = 0; i < p.size(); ++i) {
    const double u = counter_uniform(6, draw, static_cast<std::uint64_t>(i));
    out(i) = u < std::pow(p(i), power) ? 1.0 : 0.0;
  }
  return out;
}

JointTest test_of(const Engine& engine, const Vector& p, const Vector& y, Index redraws,
                  const Vector& weights = Vector(), const Vector& copies = Vector()) {
  return JointTest(engine, joint_rows(p, weights, copies, y), redraws);
}

JointHeadline headline_of(const Engine& engine, const Vector& p, const Vector& y, Index redraws) {
  const JointTest test = test_of(engine, p, y, redraws);
  return test.headline(test.parts().rows.residuals(y), 0.95);
}

bool same(const JointHeadline& a, const JointHeadline& b) {
  return a.estimate == b.estimate && a.low == b.low && a.high == b.high && a.p_value == b.p_value &&
         a.cap == b.cap && a.lower_bound == b.lower_bound;
}

// Probability of k events of n.
double binomial(double k, double n, double q) {
  if (q <= 0.0) return k == 0.0 ? 1.0 : 0.0;
  if (q >= 1.0) return k == n ? 1.0 : 0.0;
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                  k * std::log(q) + (n - k) * std::log1p(-q));
}

// task(row) for every draw of one redraw whose outcome is the rarer one
template <class Task>
void rare_rows(const detail::RowDraws& draws, std::uint64_t redraw, const Task& task) {
  struct First {
    const Task& task;
    void one(Index row, int r) {
      if (r == 0) task(row);
    }
    void several(Index row, const DrawMask& mask) {
      if (mask.of[0] != 0) task(row);
    }
  } first{task};
  draws.rare(redraw, first);
}

}  // namespace

TEST(packs_compare_and_add_as_numbers_do) {
  std::uint64_t keys[counter_draws];
  for (std::uint64_t r = 0; r < counter_draws; ++r) keys[r] = counter_key(7, r);
  Matrix sums = Matrix::Zero(counter_draws, 3), expected = sums;
  const int columns[2] = {0, 2};
  const double values[2] = {0.1, -3.0};
  DrawMask mask;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const double p = static_cast<double>(i) / 49.0;
    counter_loops().below(keys, i, counter_limit(p), mask);
    counter_loops().add(mask, columns, values, 2, sums.data());
    for (Index r = 0; r < counter_draws; ++r) {
      const bool below = counter_uniform(7, static_cast<std::uint64_t>(r), i) < p;
      CHECK((mask.of[r] != 0) == below);
      for (int a = 0; a < 2 && below; ++a) expected(r, columns[a]) += values[a];
    }
  }
  CHECK(sums == expected);
}

TEST(packs_flip_signs_as_numbers_do) {
  Matrix sums = Matrix::Zero(flip_draws, 3), expected = sums;
  const ColumnChange changes[2] = {{0, 0.1}, {2, -3.7}};
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::uint64_t bits = counter_bits(counter_key(7, 0), i);
    counter_loops().flip(bits, changes, 2, sums.data());
    for (int r = 0; r < flip_draws; ++r) {
      for (const ColumnChange& change : changes) {
        expected(r, change.column) += ((bits >> r) & 1) != 0 ? -change.value : change.value;
      }
    }
  }
  CHECK(sums == expected);
}

TEST(quantiles_are_those_of_tables) {
  for (double z = -3.0; z < 37.0; z += 0.37) {
    CHECK(is_near(normal_quantile(normal_tail(z)), z, 1e-12));
  }
  CHECK(is_near(normal_quantile(0.025), 1.959963984540054));
  CHECK(is_near(normal_quantile(1e-9), 5.997807015007687, 1e-10));
  CHECK(is_near(normal_quantile(0.9), -1.2815515655446004));
  CHECK(is_near(2.0 * gamma_quantile(2.5, 0.05), 11.070497693516351));
  CHECK(is_near(2.0 * gamma_quantile(0.5, 0.05), 3.841458820694124));
  CHECK(is_near(2.0 * gamma_quantile(0.5, 0.975), 0.0009820691171752583));
  CHECK(is_near(2.0 * gamma_quantile(50.0, 0.01), 135.80672317102676));
  for (const double shape : {799.0, 801.0, 1e5}) {
    for (const double tail : {0.001, 0.5, 0.99}) {
      CHECK(is_near(gamma_tail(shape, gamma_quantile(shape, tail)), tail, 1e-8));
    }
  }
  const ShareLimits share = clopper_pearson(3.0, 50.0, 0.025);
  CHECK(is_near(share.low, 0.01254858783533, 1e-11));
  CHECK(is_near(share.high, 0.16548194660377, 1e-11));
  CHECK(is_near(clopper_pearson(0.0, 20.0, 0.025).high, 1.0 - std::pow(0.025, 1.0 / 20.0), 1e-11));
}

TEST(redrawn_statistics_are_those_of_the_redrawn_outcomes) {
  const Engine engine = serial_engine();
  for (const double steepness : {2.0, 9.0}) {
    const Vector p = predictions(150, steepness);
    const JointParts parts = joint_parts(engine, joint_rows(p, Vector(), Vector(), Vector()));
    const GroupScan scan(parts.rows, {}, true);
    const Matrix redrawn = redraw_rows(engine, parts, &scan, 70);
    const detail::RowDraws draws(parts.rows);
    Vector mean = Vector::Zero(150);
    for (Index r = 0; r < 70; ++r) {
      Vector e(150);
      for (Index i = 0; i < 150; ++i) {
        e(i) = parts.rows.p(i) > 0.5 ? parts.rows.p(i) - 1.0 : parts.rows.p(i);
      }
      rare_rows(draws, static_cast<std::uint64_t>(r),
                [&](Index i) { e(i) += parts.rows.p(i) > 0.5 ? 1.0 : -1.0; });
      mean += e / 70.0;
      const Vector observed = observed_statistics(parts, observed_scores(engine, parts, e),
                                                  observe_rungs(engine, parts, e));
      CHECK((redrawn.row(r).head(observed.size()).transpose() - observed).cwiseAbs().maxCoeff() <
            1e-8);
      CHECK(redrawn(r, observed.size()) == scan.observe(parts.rows, e).largest());
    }
    CHECK(std::abs(mean.sum()) < 4.0 * std::sqrt(parts.rows.variance.sum() / 70.0));
  }
}

TEST(rare_outcomes_have_their_probabilities) {
  Vector p(400);
  for (Index i = 0; i < 400; ++i) p(i) = i < 390 ? 0.001 * (1.0 + double(i % 7)) : 0.99;
  const JointRows rows = joint_rows(p, Vector(), Vector(), Vector());
  const detail::RowDraws draws(rows);
  Vector seen = Vector::Zero(400);
  constexpr int times = 20000;
  for (std::uint64_t r = 0; r < times; ++r) rare_rows(draws, r, [&](Index i) { seen(i) += 1.0; });
  double square = 0.0;
  for (Index i = 0; i < 400; ++i) {
    const double q = detail::rarer(rows.p(i)), expected = times * q;
    square += std::pow(seen(i) - expected, 2.0) / (expected * (1.0 - q));
  }
  CHECK(std::abs(square - 400.0) < 4.0 * std::sqrt(2.0 * 400.0 * 1.1));
}

TEST(coefficients_have_the_laws_of_redrawn_rows) {
  const Engine engine = serial_engine();
  const Vector p = predictions(3000, 3.0);
  const JointParts parts = joint_parts(engine, joint_rows(p, Vector(), Vector(), Vector()));
  const GroupScan scan(parts.rows, {}, true);
  const Matrix rows = redraw_rows(engine, parts, &scan, 999),
               law = redraw_coefficients(engine, parts, &scan, 999);
  // a bound for groups
  const Index last = rows.cols() - 1;
  CHECK((rows.col(last).array() > 3.0).count() <= (law.col(last).array() > 3.0).count());
  for (Index m = 0; m < last; ++m) {
    const auto tail = [m](const Matrix& redrawn) {
      std::vector<double> values(redrawn.col(m).data(), redrawn.col(m).data() + redrawn.rows());
      std::sort(values.begin(), values.end());
      return RedrawnTail(values);
    };
    const RedrawnTail a = tail(rows), b = tail(law);
    CHECK(std::abs(a.survival(b.edge(0.2)) - 0.2) < 0.06);
    CHECK(std::abs(a.survival(b.edge(0.02)) - 0.02) < 0.02);
  }
}

TEST(copies_are_repeated_rows) {
  const Engine engine = serial_engine();
  const Vector p = predictions(60, 3.0), y = outcomes(p, 1.6, 3);
  Vector copies(60), repeated_p(60 * 4), repeated_y(60 * 4);
  Index at = 0;
  for (Index i = 0; i < 60; ++i) {
    copies(i) = static_cast<double>(1 + i % 4);
    for (Index c = 0; c < 1 + i % 4; ++c, ++at) {
      repeated_p(at) = p(i);
      repeated_y(at) = y(i);
    }
  }
  const JointTest test = test_of(engine, p, y, 199, copies, copies);
  const JointHeadline few = test.headline(test.parts().rows.residuals(y), 0.95);
  const JointHeadline all = headline_of(engine, repeated_p.head(at), repeated_y.head(at), 199);
  CHECK(few.p_value == all.p_value);
  CHECK(is_near(few.estimate, all.estimate, 1e-9));
  CHECK(is_near(few.low, all.low, 1e-8));
  CHECK(is_near(few.high, all.high, 1e-9));
  CHECK(is_near(few.cap, all.cap, 1e-10));
}

TEST(weights_have_no_unit) {
  const Engine engine = serial_engine();
  const Vector p = predictions(120, 3.0), y = outcomes(p, 1.4, 4);
  Vector weights(120);
  for (Index i = 0; i < 120; ++i) weights(i) = 0.5 + double(i % 5);
  std::vector<JointHeadline> found;
  for (const double unit : {1.0, 1000.0}) {
    const JointTest test = test_of(engine, p, y, 199, unit * weights);
    found.push_back(test.headline(test.parts().rows.residuals(y), 0.95));
  }
  CHECK(found[0].p_value == found[1].p_value);
  CHECK(is_near(found[0].estimate, found[1].estimate, 1e-9));
  CHECK(is_near(found[0].low, found[1].low, 1e-8));
  CHECK(is_near(found[0].high, found[1].high, 1e-9));
}

TEST(order_of_rows_and_threads_change_nothing) {
  const Engine engine = serial_engine();
  ThreadedEngine three(3);
  const Engine threads = three.engine();
  Vector p = predictions(500, 4.0);
  for (Index i = 0; i < 500; i += 3) p(i) = std::nearbyint(20.0 * p(i)) / 20.0;
  const Vector y = outcomes(p, 1.5, 5);
  const JointHeadline one = headline_of(engine, p, y, 399);
  CHECK(same(one, headline_of(threads, p, y, 399)));
  const Vector p2 = p.reverse(), y2 = y.reverse();
  const JointHeadline two = headline_of(engine, p2, y2, 399);
  CHECK(same(one, two));
  CHECK((one.influence - two.influence.reverse()).cwiseAbs().maxCoeff() == 0.0);
}

TEST(the_complementary_event_has_the_same_headline) {
  const Engine engine = serial_engine();
  const Vector even = Vector::LinSpaced(200, 0.1, 0.9);
  for (const Vector& p : {predictions(300, 3.0), even}) {
    const Vector y = outcomes(p, 1.3, 4);
    const JointHeadline one = headline_of(engine, p, y, 399);
    const JointHeadline two =
        headline_of(engine, (1.0 - p.array()).matrix(), (1.0 - y.array()).matrix(), 399);
    CHECK(one.p_value == two.p_value);
    CHECK(is_near(one.low, two.low, 1e-9) && is_near(one.high, two.high, 1e-9));
    CHECK(is_near(one.estimate, two.estimate, 1e-9));
    CHECK((one.influence - two.influence).cwiseAbs().maxCoeff() < 1e-9);
  }
}

TEST(given_knots_are_the_quantiles_where_they_are_the_same) {
  const Engine engine = serial_engine();
  const Vector p = predictions(300, 5.0), y = outcomes(p, 1.4, 7);
  const JointRows rows = joint_rows(p, Vector(), Vector(), y);
  std::vector<std::vector<double>> knots = {joint_knots(rows, detail::even_shares(8)),
                                            joint_knots(rows, detail::even_shares(18))};
  if (rows.turned) {
    for (std::vector<double>& own : knots) {
      std::reverse(own.begin(), own.end());
      for (double& at : own) at = 1.0 - at;
    }
  }
  const JointHeadline own = headline_of(engine, p, y, 199);
  const JointTest given(engine, rows, 199, knots);
  CHECK(given.parts().resolution == 18);
  const JointHeadline two = given.headline(given.parts().rows.residuals(y), 0.95);
  CHECK(own.psi == two.psi && is_near(own.highs.back(), two.highs.back(), 1e-9));
  knots[1].resize(12);
  const JointTest coarse(engine, rows, 199, knots);
  CHECK(coarse.headline(coarse.parts().rows.residuals(y), 0.95).psi.back() != own.psi.back());
}

TEST(the_interval_holds_0_exactly_where_the_test_does_not_reject) {
  const Engine engine = serial_engine();
  int rejected = 0, all = 0;
  for (const double steepness : {2.0, 6.0, 0.0}) {
    Vector p = predictions(200, steepness);
    if (steepness == 6.0) {
      for (Index i = 0; i < 200; ++i) p(i) = 0.1 + 0.8 * (std::nearbyint(3.0 * p(i)) / 3.0);
    }
    const JointTest test = test_of(engine, p, Vector(), 299);
    for (std::uint64_t draw = 0; draw < 40; ++draw) {
      const Vector y = outcomes(test.parts().rows.p, draw % 2 == 0 ? 1.0 : 1.3, draw);
      for (const double level : {0.8, 0.95, 0.99}) {
        const JointHeadline h = test.headline(test.parts().rows.p - y, level);
        const bool rejects = h.p_value < 1.0 - level - 1e-12;
        CHECK((h.low > 0.0) == rejects);
        CHECK(h.low <= h.estimate && h.estimate <= h.high && h.high <= h.cap + 1e-15);
        CHECK(h.low <= h.lower_bound && h.lower_bound <= h.high);
        rejected += rejects ? 1 : 0;
        ++all;
      }
    }
  }
  CHECK(rejected > 40 && rejected < all - 40);
}

TEST(of_one_prediction_the_interval_covers) {
  for (const double p : {0.9, 0.98, 0.999}) {
    for (const double n : {50.0, 120.0, 300.0, 1200.0}) {
      std::vector<double> low, high;
      for (double k = 0.0; k <= n; k += 1.0) {
        const ConstantPrediction one{p, n, k};
        const bool rejects = one.p_value() < 0.05;
        low.push_back(rejects ? one.low(0.025) : 0.0);
        high.push_back(one.high(0.025));
        CHECK((low.back() > 0.0) == rejects && low.back() <= high.back());
      }
      for (std::size_t k = 0; k + 1 < high.size(); ++k) {  // more failures than expected
        if (n - static_cast<double>(k + 1) > n * (1.0 - p)) CHECK(high[k] >= high[k + 1]);
      }
      for (double q = 0.7; q < 1.0; q += 0.000731) {
        double above = 0.0, below = 0.0;
        for (std::size_t k = 0; k < low.size(); ++k) {
          const double here = binomial(static_cast<double>(k), n, q);
          if (high[k] < std::abs(q - p) - 1e-12) above += here;
          if (low[k] > std::abs(q - p) + 1e-12) below += here;
        }
        CHECK(above <= 0.03);
        CHECK(below <= 0.03);
      }
    }
  }
}

TEST(the_upper_limit_falls_with_the_probability_of_a_miss) {
  const Engine engine = serial_engine();
  Vector equal = Vector::Constant(80, 0.3);
  for (const Vector& p : {predictions(250, 3.0), predictions(60, 12.0), equal}) {
    for (const double power : {1.0, 1.5, 4.0}) {
      const Vector y = outcomes(p, power, 9);
      const JointTest test = test_of(engine, p, y, 199);
      const Vector e = test.parts().rows.residuals(y);
      const JointUpper upper = test.headline(e, 0.95).upper;
      double before = 2.0, cap_before = 2.0;
      for (const double tail : {1e-9, 1e-3, 0.005, 0.025, 0.1, 0.4, 0.5, 0.6, 0.9, 0.999}) {
        const double high = upper.high(tail), cap = upper.cap(tail);
        CHECK(high <= before && high >= 0.0 && cap <= cap_before && high <= cap);
        before = high;
        cap_before = cap;
        if (tail >= 0.5) continue;
        const JointHeadline h = test.headline(e, 1.0 - 2.0 * tail);
        CHECK(is_near(h.high, std::max(h.low, high), 1e-9));
        CHECK(is_near(h.cap, cap, 1e-9));
      }
    }
  }
}

TEST(surprises_are_tails_of_the_binomial_distribution) {
  for (const auto& [n, mean] : std::vector<std::pair<double, double>>{
           {4.0, 0.003}, {15.0, 0.3}, {37.0, 30.0}, {500.0, 250.0}, {2000.0, 1e-7}}) {
    int first;
    const std::vector<double> table = detail::surprises(n, mean, first);
    CHECK(first == 0 || table.front() > 30.0);
    for (std::size_t j = 0; j < table.size(); ++j) {
      const double k = static_cast<double>(first) + static_cast<double>(j);
      double tail = 0.0;
      for (double i = k > mean ? n : 0.0; k > mean ? i >= k : i <= k; i += k > mean ? -1.0 : 1.0) {
        tail += binomial(i, n, mean / n);
      }
      if (tail < 1e-40) continue;  // the table ends
      CHECK(is_near(table[j], -std::log(tail), 1e-9));
      CHECK(is_near(table[j], detail::binomial_surprise(k, n, mean), 1e-9));
    }
  }
}

TEST(groups_are_ties_and_neighbouring_cells) {
  Vector p(40), y = Vector::Zero(40);
  for (Index i = 0; i < 40; ++i) p(i) = 0.01 * static_cast<double>(i / 2 + 1);
  p.segment(20, 5).setConstant(0.11);
  y.segment(20, 3).setOnes();
  const JointRows rows = joint_rows(p, Vector(), Vector(), y);
  const GroupScan scan(rows, {}, true);
  // five rows of .11 are a cell; so are two pairs of ties
  CHECK(scan.cell(19) != scan.cell(20) && scan.cell(20) == scan.cell(24));
  CHECK(scan.cell(24) != scan.cell(25) && scan.cells() == 10);
  CHECK(scan.groups().size() == 1 + 8 + 9);  // the last two rows are too few
  const Vector e = rows.residuals(y);
  const ObservedGroups seen = scan.observe(rows, e);
  double most = 0.0;
  for (double k = 3.0; k <= 5.0; k += 1.0) most += binomial(k, 5.0, 0.11);
  CHECK(is_near(seen.largest(), -std::log(2.0 * 3.0 * most), 1e-8));
  const std::vector<double> group = scan.described(rows, seen);
  CHECK(group[0] == 0.11 && group[1] == 0.11 && group[2] == 5.0 && group[3] == 3.0);
  // too few events of one kind are too many of the other
  const FailingGroup few = scan.failing(1, seen);
  CHECK(few.failures == 4.0 && is_near(few.expected, 4.0 - 2.0 * 0.01 - 2.0 * 0.02));
  const std::size_t tie = scan.beyond(seen, 0.0)[0];
  CHECK(scan.failing(tie, seen).failures == 3.0 && is_near(scan.failing(tie, seen).expected, 0.55));
  // limits of Clopper and Pearson: 3 of 5, and 3 of 40
  const FailingGroup group_of_five{5.0, 3.0, 0.55, 40.0};
  const double rate = clopper_pearson(3.0, 5.0, 0.025).high - 0.11;
  const double failing = (clopper_pearson(3.0, 40.0, 0.025).high - 0.55 / 40.0) * 2.45 / 5.0;
  CHECK(is_near(group_of_five.high(0.025), std::max(5.0 / 40.0 * rate * rate, failing)));
  CHECK(is_near(group_of_five.low(0.025),
                std::sqrt(0.125) * (clopper_pearson(3.0, 5.0, 0.025).low - 0.11)));
  // rows that stand for those between knots are a cell
  const GroupScan knots(rows, {0.01, 0.07, 0.11, 0.2}, true);
  CHECK(knots.cells() == 3 && knots.cell(0) == 0 && knots.cell(14) == 1 && knots.cell(25) == 2);
  CHECK(GroupScan(joint_rows(Vector::Constant(9, 0.3), Vector(), Vector(), Vector()), {}, true)
            .groups()
            .empty());
}

TEST(the_upper_limit_covers_a_cliff_among_confident_predictions) {
  const Engine engine = serial_engine();
  // one row in 40 is nearly certain, and half of these rows fail
  const double error = std::sqrt(0.4995 * 0.4995 / 40.0);
  int below = 0, wide = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    Vector p(300), sure(300), y(300);
    for (Index i = 0; i < 300; ++i) {
      const auto uniform = [&](std::uint64_t k) {
        return counter_uniform(8 + k, draw, static_cast<std::uint64_t>(i));
      };
      const bool cliff = uniform(0) < 1.0 / 40.0;
      p(i) = cliff ? 0.9995 : 1.0 / (1.0 + std::exp(-1.0 - 6.0 * uniform(1)));
      y(i) = uniform(2) < (cliff ? 0.5 : p(i)) ? 1.0 : 0.0;
      sure(i) = uniform(2) < p(i) ? 1.0 : 0.0;
    }
    below += headline_of(engine, p, y, 199).high < error ? 1 : 0;
    const JointTest test = test_of(engine, p, sure, 199);
    const JointHeadline calibrated = test.headline(test.parts().rows.residuals(sure), 0.95);
    wide += calibrated.upper.groups.empty() ? 0 : 1;
  }
  CHECK(below <= 12);
  CHECK(wide <= 18);  // of calibrated samples, by a test at 5 percent
}

TEST(flips_of_few_clusters_are_counted_and_those_of_many_agree_with_their_interval) {
  const Engine engine = serial_engine();
  const Vector p = predictions(240, 4.0);
  int rejected = 0, all = 0;
  for (const int clusters : {1, 4, 6, 12, 13, 40}) {
    std::vector<int> cluster, renamed;
    for (int i = 0; i < 240; ++i) {
      cluster.push_back(i % clusters + 1);
      renamed.push_back(clusters - i % clusters);
    }
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      const Vector y = outcomes(p, draw % 2 == 0 ? 1.0 : 1.6, draw);
      const JointRows rows = joint_rows(p, Vector(), Vector(), y);
      const Vector e = rows.residuals(y);
      const FlipResult found = joint_flips(engine, rows, e, cluster, {}, 199, 0.05);
      CHECK(found.clusters == clusters);
      CHECK(found.flips == (clusters > 12 ? 199 : 1 << (clusters - 1)));
      CHECK(found.p_value >= found.least && found.p_value <= 1.0);
      CHECK((found.low > 0.0) == (found.p_value < 0.05));
      if (clusters < 6) CHECK(found.low == 0.0);
      const FlipResult other = joint_flips(engine, rows, e, renamed, {}, 199, 0.05);
      CHECK(other.p_value == found.p_value && other.low == found.low);
      rejected += found.low > 0.0 ? 1 : 0;
      ++all;
    }
  }
  CHECK(rejected > 10 && rejected < all / 2);
  const Vector sure = predictions(50, 0.0);
  const JointRows rows = joint_rows(sure, Vector(), Vector(), sure);
  CHECK(joint_flips(engine, rows, Vector::Zero(50), {}, {}, 199, 0.05).p_value == 1.0);
}
