// SPDX-License-Identifier: GPL-3.0-or-later
// Objectives of recalibration maps against finite differences, isotonic fits against the min-max
// formula, Cox's model and linear maps against their score equations, mixtures against a grid.
#include "check.h"
#include "threads.h"

#include <calibrisk/canonical_ece.h>
#include <calibrisk/classical/logistic.h>
#include <calibrisk/math/common_values.h>
#include <calibrisk/recal/isotonic.h>
#include <calibrisk/recal/knot_line.h>
#include <calibrisk/recal/mixture_weights.h>
#include <calibrisk/recal/monotone_network.h>
#include <calibrisk/recal/own_order.h>
#include <calibrisk/recal/pit.h>
#include <calibrisk/recal/softmax_regression.h>
#include <calibrisk/recal/temperature.h>

#include <algorithm>

using namespace calibrisk;

namespace {

double naive_loss(const Matrix& scores, const Labels& y, const Vector& w, Loss loss) {
  double sum = 0.0;
  for (Index i = 0; i < scores.rows(); ++i) {
    const Vector e = scores.row(i).array().exp();
    const Vector p = e / e.sum();
    const Index k = y[static_cast<std::size_t>(i)] - 1;
    const double score = loss == Loss::log ? -std::log(p(k)) : p.squaredNorm() - 2.0 * p(k) + 1.0;
    sum += (w.size() > 0 ? w(i) / w.sum() : 1.0 / static_cast<double>(scores.rows())) * score;
  }
  return sum;
}

}  // namespace

TEST(rows_and_classes_have_an_order_of_their_own_and_copies_are_repeated_rows) {
  const Index n = 12, k = 3;
  const Matrix logs = -Matrix::Random(n, k).cwiseAbs();
  Labels y;
  Vector w(n), copies(n);
  for (Index i = 0; i < n; ++i) {
    y.push_back(1 + static_cast<int>(i % 3));
    copies(i) = 1.0 + static_cast<double>(i % 2);
    w(i) = copies(i) / 2.0;
  }
  const OwnOrder of(logs, y, w, copies);
  // rows from the last to the first, classes moved on
  Labels moved(y.rbegin(), y.rend());
  for (int& label : moved) label = 1 + label % 3;
  Matrix turned(n, k);
  for (Index j = 0; j < k; ++j) turned.col((j + 1) % k) = logs.col(j).reverse();
  const OwnOrder again(turned, moved, w.reverse(), copies.reverse());
  CHECK(of.logs == again.logs && of.labels == again.labels);
  CHECK(of.weights == again.weights && of.copies == again.copies);
  double last = -1e9;
  for (Index i = 0; i < n; ++i) {
    const double own = of.logs(i, of.labels[static_cast<std::size_t>(i)] - 1);
    CHECK(own >= last);
    last = own;
  }
  Matrix repeated(18, k);
  Index row = 0;
  for (Index i = 0; i < n; ++i) {
    for (int c = 0; c < copies(i); ++c) repeated.row(row++) = logs.row(i);
  }
  const NumberSpread counted(logs, copies, 4), each(repeated, Vector(), 4);
  CHECK(is_near(counted.deviation, each.deviation));
  CHECK((counted.quantiles - each.quantiles).cwiseAbs().maxCoeff() < 1e-12);
  const double mean = repeated.mean();
  CHECK(is_near(each.deviation, std::sqrt((repeated.array() - mean).square().sum() / 53.0)));
}

TEST(a_network_starts_at_a_temperature) {
  const Index n = 40, k = 3;
  const Matrix logs = -4.0 * Matrix::Random(n, k).cwiseAbs();
  Labels y;
  for (int i = 0; i < n; ++i) y.push_back(1 + i % 3);
  const NumberSpread spread(logs, Vector(), 4);
  for (const double b : {0.6, 1.0, 1.7}) {
    const Vector start = start_parameters({4, 3}, b, spread.deviation, spread.quantiles);
    CHECK(start.size() == 27);
    SlopeTable table(std::log(1e-16), 0.0, 1024);
    const auto found =
        network_loss(serial_engine(), {{4, 3}, start}, table, logs, y, Vector(), Loss::log);
    CHECK(is_near(found.value, naive_loss(b * logs, y, Vector(), Loss::log), 1e-6));
  }
}

TEST(sums_of_the_transform_are_those_of_a_loop_over_rows) {
  Vector low(7), high(7), w(7), levels(4);
  low << 0.0, 0.2, 0.25, 0.5, 1.0, 0.1, 0.0;
  high << 0.3, 0.9, 0.25, 0.5, 1.0, 0.15, 1.0;
  w << 1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0;
  levels << 0.05, 0.5, 0.9, 1.0;
  Matrix naive = Matrix::Zero(4, 4);
  for (Index i = 0; i < 7; ++i) {
    double before = 0.0;
    for (Index j = 0; j < 4; ++j) {
      const double part = std::max(levels(j) - low(i), 0.0) / std::max(high(i) - low(i), 1e-300);
      const double value = levels(j) >= high(i) ? 1.0 : part, mass = value - before;
      naive.row(j) += w(i) * Eigen::RowVector4d(value, value * value, mass, mass * mass);
      before = value;
    }
  }
  CHECK((pit_sums(low, high, levels, w) - naive).cwiseAbs().maxCoeff() < 1e-12);
}

TEST(losses_of_softmax_scores_have_their_gradients) {
  ThreadedEngine host(2);
  const Index n = 7, k = 3;
  const Matrix scores = 2.0 * Matrix::Random(n, k);
  Labels y;
  for (int i = 0; i < n; ++i) y.push_back(1 + i % 3);
  const Vector weights = Vector::Random(n).array() + 1.5;
  for (const Loss loss : {Loss::log, Loss::brier}) {
    for (const Vector& w : {Vector(), weights}) {
      const ColumnArray shares = RowShares(w, n).block(0, n);
      RowBlock gradient = scores.array(), probs = scores.array();
      const double value = softmax_loss_block(gradient, y.data(), shares, loss, true) / n;
      CHECK(is_near(value, naive_loss(scores, y, w, loss)));
      CHECK(is_near(value, softmax_loss_block(probs, y.data(), shares, loss, false) / n));
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < k; ++j) {
          Matrix up = scores, down = scores;
          up(i, j) += 1e-5;
          down(i, j) -= 1e-5;
          const double slope = (naive_loss(up, y, w, loss) - naive_loss(down, y, w, loss)) / 2e-5;
          CHECK(is_near(gradient(i, j) / n, slope, 1e-8));
        }
      }
      const auto at = [&](double b) { return naive_loss(b * scores, y, w, loss); };
      const ClassScores given(host.engine(), scores, true, 1e-300);
      const TemperatureLoss t = temperature_loss(host.engine(), given, y, w, 0.7, loss);
      CHECK(is_near(t.value, at(0.7)));
      CHECK(is_near(t.slope, (at(0.7 + 1e-5) - at(0.7 - 1e-5)) / 2e-5, 1e-8));
      if (loss == Loss::log) {
        const double curvature = (at(0.701) - 2.0 * at(0.7) + at(0.699)) / 1e-6;
        CHECK(is_near(t.curvature, curvature, 1e-5));
      }
    }
  }
}

TEST(linear_maps_solve_their_score_equations) {
  ThreadedEngine host(2);
  const Index n = 600, k = 3;
  const Matrix l = Matrix::Random(n, k);
  Labels y;
  for (int i = 0; i < n; ++i) y.push_back(l(i, i % 3) > 0.2 ? 1 + i % 3 : 1 + (i / 7) % 3);
  const Vector weights = Vector::Random(n).array() + 1.5;
  for (const bool diagonal : {false, true}) {
    const Index n_weights = diagonal ? k : k * k;
    const auto naive = [&](const Vector& theta, Loss loss) {
      Matrix scores(n, k);
      double penalty = 0.0;
      for (Index j = 0; j < k; ++j) {
        scores.col(j).setConstant(theta(n_weights + j));
        penalty += 0.5 * theta(n_weights + j) * theta(n_weights + j) / 3.0;
        for (Index m = 0; m < k; ++m) {
          if (diagonal && m != j) continue;
          const double w = theta(diagonal ? j : j + k * m);
          scores.col(j) += w * l.col(m);
          if (diagonal) penalty += 0.3 * (w - 1.0) * (w - 1.0) / 3.0;
          if (!diagonal && m != j) penalty += 0.3 * w * w / 6.0;
        }
      }
      return naive_loss(scores, y, weights, loss) + penalty;
    };
    const Vector theta = Vector::Random(n_weights + k);
    for (const Loss loss : {Loss::log, Loss::brier}) {
      const SoftmaxRegression model(host.engine(), l, y, weights, {loss, 0.3, 0.5, diagonal});
      const auto at = model.at(theta);
      CHECK(is_near(at.value, naive(theta, loss)));
      for (Index j = 0; j < theta.size(); ++j) {
        const Vector step = 1e-5 * Vector::Unit(theta.size(), j);
        const double slope = (naive(theta + step, loss) - naive(theta - step, loss)) / 2e-5;
        CHECK(is_near(at.gradient(j), slope, 1e-8));
      }
      CHECK(!model.separates(theta));
    }
    const SoftmaxRegression model(host.engine(), l, y, weights, {Loss::log, 0.3, 0.5, diagonal});
    CHECK(model.at(model.newton(theta)).steepest() < 1e-11);
    // labels of the largest score
    Labels own;
    const Matrix map = linear_map(host.engine(), theta, l, diagonal);
    for (Index i = 0; i < n; ++i) {
      Index top;
      map.row(i).maxCoeff(&top);
      own.push_back(static_cast<int>(top) + 1);
    }
    CHECK(SoftmaxRegression(host.engine(), l, own, weights, {Loss::log, 0.0, 0.0, diagonal})
              .separates(theta));
    CHECK(!SoftmaxRegression(host.engine(), l, own, weights, {Loss::log, 0.3, 0.5, diagonal})
               .separates(theta));
  }
}

TEST(mixtures_are_the_best_of_a_grid) {
  for (const double tilt : {0.0, 0.6, 3.0}) {
    Matrix b = (Matrix::Random(50, 3).array() + 1.01) / 2.0;
    b.col(1) *= 1.0 + tilt;
    const Vector share = Vector::Constant(50, 0.02);
    const auto objective = [&](const Vector& w) {
      return share.dot((b * w).array().log().matrix());
    };
    const MixtureWeights found = mixture_weights(b, share);
    CHECK(is_near(found.weights.sum(), 1.0) && found.weights.minCoeff() >= 0.0);
    CHECK(found.left < 1e-9);
    for (int i = 0; i <= 40; ++i) {
      for (int j = 0; i + j <= 40; ++j) {
        const Vector w = Eigen::Vector3d(i, j, 40 - i - j) / 40.0;
        CHECK(objective(found.weights) >= objective(w) - 1e-9);
      }
    }
  }
  // parts that are the same: the first
  CHECK(mixture_weights(Matrix::Constant(4, 3, 0.5), Vector::Constant(4, 0.25)).weights(0) == 1.0);
}

TEST(isotonic_fits_are_the_largest_of_the_smallest_means) {
  const std::vector<double> weight = {1, 3, 2, 1, 4, 1, 2, 1}, mean = {3, 1, 2, 5, 4, 4, 0, 6};
  std::vector<double> total;
  for (std::size_t i = 0; i < mean.size(); ++i) total.push_back(mean[i] * weight[i]);
  const Vector fit = isotonic(total, weight);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double largest = -1e9;
    for (std::size_t from = 0; from <= i; ++from) {
      double smallest = 1e9;
      for (std::size_t to = i; to < mean.size(); ++to) {
        double sum = 0.0, size = 0.0;
        for (std::size_t j = from; j <= to; ++j) {
          sum += total[j];
          size += weight[j];
        }
        smallest = std::min(smallest, sum / size);
      }
      largest = std::max(largest, smallest);
    }
    CHECK(is_near(fit(static_cast<Index>(i)), largest));
  }
}

TEST(a_line_through_knots_is_the_formula_of_each_value) {
  const auto spread = [](std::size_t n, double power) {
    std::vector<double> x;
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(std::pow((static_cast<double>(i) + 0.5) / static_cast<double>(n), power));
    }
    return x;
  };
  // knots as dense as the stretches, a few, one, and nearly all of them in one stretch
  for (const auto& x :
       {spread(50, 1), spread(2, 1), spread(1, 1), spread(60, 40), spread(9, 0.1)}) {
    std::vector<double> y, v = {-1.0, 0.0, 1.0, 2.0};
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(std::sqrt(static_cast<double>(i / 2)));
    for (std::size_t i = 0; i < x.size(); ++i) {
      v.insert(v.end(), {x[i], std::nextafter(x[i], 0.0), std::nextafter(x[i], 1.0)});
      if (i > 0) v.insert(v.end(), {0.3 * x[i - 1] + 0.7 * x[i], 0.9 * x[i - 1] + 0.1 * x[i]});
    }
    const KnotLine line(x, y);
    for (const double value : v) {
      double expected = y.back();
      if (value <= x.front()) expected = y.front();
      for (std::size_t i = 1; i < x.size(); ++i) {
        if (value < x[i - 1] || value >= x[i]) continue;
        expected = y[i - 1] + (y[i] - y[i - 1]) * ((value - x[i - 1]) / (x[i] - x[i - 1]));
      }
      CHECK(line(value) == expected);
    }
    CHECK(std::isnan(line(std::nan(""))));
  }
}

TEST(common_values_are_those_that_a_search_finds) {
  std::vector<double> many, some;
  for (int i = 0; i < 3000; ++i) many.push_back(std::sin(i % 2000));
  for (int i = 1900; i < 2300; ++i) some.push_back(i % 7 == 0 ? -0.0 : std::sin(i));
  const auto naive = [](const std::vector<double>& a, const std::vector<double>& b) {
    return static_cast<std::size_t>(std::count_if(a.begin(), a.end(), [&](double value) {
      return std::find(b.begin(), b.end(), value) != b.end();
    }));
  };
  const auto count = [](const std::vector<double>& a, const std::vector<double>& b) {
    return count_common(a.data(), a.size(), b.data(), b.size());
  };
  CHECK(naive(some, many) > 80 && naive(many, some) > 80);
  for (const auto& other : {some, many, {0.5}, {}}) {
    CHECK(count(many, other) == naive(many, other));
    CHECK(count(other, many) == naive(other, many));
  }
}

TEST(regressions_solve_their_score_equations) {
  const Index n = 600;  // more than a block
  Matrix x(n, 2);
  Vector y(n), w(n), offset(n);
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<double>(i);
    x.row(i) << 1.0, at / 150.0 - 2.0;
    y(i) = i % 5 < 2 || i > 450 ? 1.0 : 0.0;
    w(i) = 1.0 + static_cast<double>(i % 3);
    offset(i) = std::sin(at);
  }
  const Vector none, start = Vector::Zero(2), centre = Vector::Ones(2);
  for (const double penalty : {0.0, 0.3}) {
    for (const bool given : {false, true}) {
      const Vector ridge = Vector::Constant(2, penalty);
      const LogisticFit fit = LogisticRegression(x, y, given ? w : none, given ? offset : none)
                                  .fit(start, centre, ridge);
      Vector score;
      Matrix curvature;
      const auto loss_at = [&](const Vector& theta) {
        score = 2.0 * ridge.cwiseProduct(theta - centre);
        curvature = Matrix((2.0 * ridge).asDiagonal());
        double loss = ridge.dot((theta - centre).cwiseAbs2());
        for (Index i = 0; i < n; ++i) {
          const double eta = (given ? offset(i) : 0.0) + x.row(i).dot(theta);
          const double mu = 1.0 / (1.0 + std::exp(-eta)), weight = given ? w(i) : 1.0;
          score += weight * (mu - y(i)) * x.row(i).transpose();
          curvature += weight * mu * (1.0 - mu) * x.row(i).transpose() * x.row(i);
          loss -= weight * std::log(y(i) > 0.0 ? mu : 1.0 - mu);
        }
        return loss;
      };
      CHECK(std::abs(fit.first_loss - loss_at(start)) < 1e-11);
      CHECK(std::abs(fit.loss - loss_at(fit.theta)) < 1e-11);
      CHECK(fit.converged && score.cwiseAbs().maxCoeff() < 1e-11);
      CHECK((fit.inverse * curvature - Matrix::Identity(2, 2)).cwiseAbs().maxCoeff() < 1e-6);
    }
  }
  // the same column twice
  Matrix twice(n, 2);
  twice << x.col(1), x.col(1);
  CHECK(!LogisticRegression(twice, y, none, none).fit(start, start, start).converged);
}

TEST(cells_of_the_simplex_are_right_closed) {
  // 25 * (7 / 25) rounds above 7: membership is decided by the edges k / 25 themselves
  CHECK(25.0 * (7.0 / 25.0) > 7.0);
  CHECK(uniform_bin(7.0 / 25.0, 25) == 6 && uniform_bin(7.0 / 25.0 + 1e-9, 25) == 7);
  CHECK(uniform_bin(0.0, 25) == 0 && uniform_bin(1.0, 25) == 24);
  Matrix probs(3, 3);
  probs << 0.28, 0.3, 0.42, 0.275, 0.305, 0.42, 0.6, 0.2, 0.2;
  const CanonicalEce ece = canonical_ece(probs, {1, 2, 3}, 25);
  CHECK(ece.occupied == 2);
  // two rows with outcomes 1, 2 and means (.2775, .3025, .42), and one alone
  CHECK(is_near(ece.binmean, (0.445 + 0.395 + 0.84 + 0.6 + 0.2 + 0.8) / 3.0));
}
