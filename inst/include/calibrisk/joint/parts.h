// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of the joint test: scores of intercept and slope, and rungs (bases of the predictions
// with leave-one-out quadratic forms psi, see ladder/rung.h). All of it depends on the predictions
// and on what rows count, not on outcomes. Under calibration a row's variance is known, p (1 - p).
#ifndef CALIBRISK_JOINT_PARTS_H
#define CALIBRISK_JOINT_PARTS_H

#include <calibrisk/joint/pair_basis.h>
#include <calibrisk/joint/rows.h>
#include <calibrisk/ladder/rung.h>
#include <calibrisk/linalg/small_algebra.h>

#include <array>
#include <memory>

namespace calibrisk {

// Variance and third cumulant of psi, and the further variance per unit of the squared error.
struct RungMoments {
  double variance = 0.0, cube = 0.0, slope = 0.0;
  double spread = 0.0;  // sum over copies of weight^2 scale |b|^2 variance
};

// The leverage h of one copy of a row, and 1 / (1 - h).
struct LeftOut {
  double leverage, scale;
};

struct JointRung {
  const char* name = "";
  double share = 0.0;  // of the level; 0: no part of the test
  PairBasis basis;
  Matrix whitener, inverse;  // of the Gram matrix in the weights
  RungMoments null;
  Index columns() const { return whitener.rows(); }
  // Computed anew where it is needed: fresh memory for all rows takes longer.
  LeftOut left_out(const PairRow& row, double each) const {
    const double leverage = each * row.quadratic(inverse);
    return {leverage, left_out_scale(leverage)};
  }
};

struct JointParts {
  JointRows rows;
  // Scores of a row: 1 and, unless there is one prediction, the logit without its part along 1.
  double centre = 0.0;
  double score(Index row, Index j) const { return j == 0 ? 1.0 : rows.logit(row) - centre; }
  Vector information;  // their variances under calibration
  Index n_scores() const { return information.size(); }
  // Cumulants of the scores in units of their deviations: number j is of j factors of the slope.
  Vector third = Vector::Zero(4), fourth = Vector::Zero(5);
  Matrix norm;  // W: theta' W theta is the squared norm of the projection on the scores
  std::vector<std::unique_ptr<JointRung>> rungs;
  Index resolution = 0;  // knots of the finest rung
};

namespace detail {

// Shares at which the knots of the rungs lie.
inline std::vector<double> even_shares(Index m) {
  std::vector<double> out;
  for (Index q = 0; q < m; ++q) {
    out.push_back(m > 1 ? static_cast<double>(q) / static_cast<double>(m - 1) : 0.0);
  }
  return out;
}

}  // namespace detail

// The knots of the two rungs of hats: quantiles if none are given, otherwise those of the event
// that the rows have.
CALIBRISK_SHARED std::vector<std::vector<double>> rung_knots(
    const JointRows& rows, std::vector<std::vector<double>> given);

// `knots`: see rung_knots().
CALIBRISK_SHARED JointParts joint_parts(const Engine& engine, JointRows rows,
                                        std::vector<std::vector<double>> knots = {});

// Sums over copies of residuals: of the scores, of every rung's columns (plain and scaled) and of
// its own pairs.
struct JointSums {
  Vector scores;
  std::vector<Vector> plain, scaled;
  std::vector<double> own;
};

// psi of a rung from its sums.
inline double rung_psi(const JointRung& rung, const Vector& plain, const Vector& scaled, double own,
                       double total) {
  return (plain.dot(rung.inverse * scaled) - own) / total;
}

// Hall's monotone cubic takes the skewness out of a score: few events then surprise as much as
// many.
inline double without_skew(double z, double skew) {
  return z - skew / 6.0 * (z * z - 1.0) + skew * skew / 108.0 * z * z * z;
}

// The same sums in another order are the same number.
inline double nine_digits(double x) { return std::nearbyint(x * 1e9) / 1e9; }

// The parts in this order: cox, up, down, then every rung with a share.
inline std::vector<const JointRung*> tested_rungs(const JointParts& parts) {
  std::vector<const JointRung*> out;
  for (const auto& rung : parts.rungs) {
    if (rung->share > 0.0) out.push_back(rung.get());
  }
  return out;
}

inline std::vector<double> part_shares(const JointParts& parts, bool scanned) {
  std::vector<double> out = {10.0, 1.5, 1.5};  // the sum of residuals with its sign: two of 1.5
  for (const JointRung* rung : tested_rungs(parts)) out.push_back(rung->share);
  if (scanned) out.push_back(1.0);
  double sum = 0.0;
  for (double share : out) sum += share;
  for (double& share : out) share /= sum;
  return out;
}

// The likelihood ratio of intercept and slope from their scores z (in units of their deviations):
// twice Legendre's transform of their cumulant function, with cumulants up to the fourth. As a
// fraction it grows with z in the tails, where a polynomial need not.
inline double likelihood_ratio(const JointParts& parts, const Vector& z) {
  const double square = z.squaredNorm(), x = z(0), y = z.size() > 1 ? z(1) : 0.0;
  if (square == 0.0) return 0.0;
  const Vector& t = parts.third;
  const Vector& f = parts.fourth;
  const double level = t(0) * x * x + 2.0 * t(1) * x * y + t(2) * y * y;
  const double slope = t(1) * x * x + 2.0 * t(2) * x * y + t(3) * y * y;
  const double cubic = (level * x + slope * y) / square;
  const double quartic = x * x * (x * (f(0) * x + 4.0 * f(1) * y) + 6.0 * f(2) * y * y) +
                         y * y * y * (4.0 * f(3) * x + f(4) * y);
  const double first = -cubic / 3.0;
  const double second = ((level * level + slope * slope) / 4.0 - quartic / 12.0) / square;
  return square / std::max(1.0 - first + first * first - second, 0.2);
}

// From scores z to the statistics cox, up, down. Where few events are expected, scores without
// skewness see more of them best, likelihood ratios fewer; elsewhere scores slopes below 1,
// likelihood ratios slopes above 1. Their mean loses little against either.
template <class Out>
void score_statistics(const JointParts& parts, const Vector& z, Out&& out) {
  const double first = without_skew(z(0), parts.third(0));
  double squares = first * first;
  if (z.size() > 1) squares += std::pow(without_skew(z(1), parts.third(3)), 2.0);
  out(0) = nine_digits((squares + likelihood_ratio(parts, z)) / 2.0);
  out(1) = nine_digits(first);
  out(2) = nine_digits(-first);
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)

namespace detail {

// sum_i v_i b_i b_i'
inline Matrix pair_gram(const Engine& engine, const PairBasis& basis, const JointRows& rows) {
  const Index k = basis.columns();
  return parallel_reduce(
      engine, rows.size(), rung_block, Matrix(Matrix::Zero(k, k)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, k);
        for (Index i = begin; i < begin + size; ++i) {
          add_square(basis.row(i), rows.weight(i), part);
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
}

// Variance, third cumulant and spread of psi where copies are independent with these variances and
// there is no gap; the own pairs are left out.
template <class Variance>
RungMoments moments_of(const Engine& engine, const JointRows& rows, const JointRung& rung,
                       const Variance& variance) {
  const Index n = rows.size(), k = rung.basis.columns(), all = n <= exact_rows ? k : 0;
  // sums of b b' times scale^0, 1, 2; zeros of no size where the first power serves for all
  struct Sums {
    Matrix t0, t1, t2;
    double own = 0.0;
  };
  const Sums zero{Matrix::Zero(all, all), Matrix::Zero(k, k), Matrix::Zero(all, all)};
  const Sums sums = parallel_reduce(
      engine, n, rung_block, zero,
      [&](Index begin, Index size) {
        Sums part = zero;
        for (Index i = begin; i < begin + size; ++i) {
          const PairRow row = rung.basis.row(i);
          const LeftOut left = rung.left_out(row, rows.each(i));
          const double square = rows.weight(i) * rows.each(i) * variance(i);
          add_square(row, left.scale * square, part.t1);
          if (all > 0) add_square(row, square, part.t0);
          if (all > 0) add_square(row, left.scale * left.scale * square, part.t2);
          const double one = left.scale * left.leverage * rows.each(i) * variance(i);
          part.own += rows.copies(i) * one * one;
        }
        return part;
      },
      [](Sums& total, const Sums& part) {
        total.t0 += part.t0;
        total.t1 += part.t1;
        total.t2 += part.t2;
        total.own += part.own;
      });
  const auto turned = [&](const Matrix& gram) {
    return Matrix(rung.whitener * gram * rung.whitener.transpose());
  };
  const Matrix t1 = turned(sums.t1);
  const double t20 =
      all > 0 ? turned(sums.t2).cwiseProduct(turned(sums.t0)).sum() : t1.squaredNorm();
  RungMoments out;
  out.variance = (t20 + t1.squaredNorm() - 2.0 * sums.own) / (rows.total * rows.total);
  out.cube = 8.0 * (t1 * t1).cwiseProduct(t1).sum() / (rows.total * rows.total * rows.total);
  out.spread = t1.trace();
  return out;
}

// One copy's third and fourth cumulants are -v (1 - 2 p) and v (1 - 6 v).
inline void score_cumulants(JointParts& parts) {
  const JointRows& rows = parts.rows;
  const Vector deviation = parts.information.cwiseSqrt();
  for (Index i = 0; i < rows.size(); ++i) {
    const double v = rows.variance(i), level = rows.each(i) / deviation(0);
    const double ratio =
        deviation.size() == 1 ? 0.0 : parts.score(i, 1) * deviation(0) / deviation(1);
    double term = -rows.copies(i) * v * (1.0 - 2.0 * rows.p(i)) * level * level * level;
    for (Index j = 0; j < parts.third.size(); ++j, term *= ratio) parts.third(j) += term;
    term = rows.copies(i) * v * (1.0 - 6.0 * v) * level * level * level * level;
    for (Index j = 0; j < parts.fourth.size(); ++j, term *= ratio) parts.fourth(j) += term;
  }
}

}  // namespace detail

std::vector<std::vector<double>> rung_knots(const JointRows& rows,
                                            std::vector<std::vector<double>> given) {
  require(given.empty() || given.size() == 2, "There are two rungs of hats.");
  if (given.empty()) {
    const auto fine = static_cast<Index>(std::min(100.0, std::ceil(std::sqrt(rows.count))));
    return {joint_knots(rows, detail::even_shares(8)),
            joint_knots(rows, detail::even_shares(fine))};
  }
  if (!rows.turned) return given;
  for (std::vector<double>& own : given) {
    std::reverse(own.begin(), own.end());
    for (double& at : own) at = 1.0 - at;
  }
  return given;
}

JointParts joint_parts(const Engine& engine, JointRows rows,
                       std::vector<std::vector<double>> knots) {
  JointParts out;
  out.rows = std::move(rows);
  const JointRows& r = out.rows;
  const Index n = r.size();
  const bool sloped = !r.constant();
  const auto known = [&](Index i) { return r.weight(i) * r.each(i) * r.variance(i); };
  const double level = sum_of_rows(engine, n, known);
  if (sloped) {
    out.centre = sum_of_rows(engine, n, [&](Index i) { return known(i) * r.logit(i); }) / level;
  }
  const Index q = sloped ? 2 : 1;
  Matrix gram(q, q);
  out.information.resize(q);
  for (Index a = 0; a < q; ++a) {
    out.information(a) =
        sum_of_rows(engine, n, [&](Index i) { return known(i) * std::pow(out.score(i, a), 2); });
    for (Index b = 0; b <= a; ++b) {
      gram(a, b) = gram(b, a) = sum_of_rows(
          engine, n, [&](Index i) { return r.weight(i) * out.score(i, a) * out.score(i, b); });
    }
  }
  detail::score_cumulants(out);
  out.norm = r.total * inverse_of(gram);

  std::vector<std::vector<double>> known_knots;
  const auto add = [&](const char* name, double share) {
    out.rungs.push_back(std::make_unique<JointRung>());
    out.rungs.back()->name = name;
    out.rungs.back()->share = share;
    return out.rungs.back().get();
  };
  add("one", 0.0);
  // of the logistic function, whose slope is the variance
  if (sloped) add("tangent", 0.0)->basis = PairBasis(r.variance.data(), r.logit.data());
  const auto hats = [&](const char* name, std::vector<double> own) {
    out.resolution = std::max(out.resolution, static_cast<Index>(own.size()));
    if (own.size() < 2) return;
    for (std::size_t m = 0; m < known_knots.size(); ++m) {  // the same columns once
      if (known_knots[m] != own) continue;
      out.rungs[out.rungs.size() - known_knots.size() + m]->share += 1.0;
      return;
    }
    add(name, 1.0)->basis =
        PairBasis(hat_positions(engine, r.p, own), static_cast<Index>(own.size()));
    known_knots.push_back(std::move(own));
  };
  knots = rung_knots(r, std::move(knots));
  hats("eight", std::move(knots[0]));
  hats("fine", std::move(knots[1]));
  for (auto& rung : out.rungs) {
    rung->whitener = whitening(detail::pair_gram(engine, rung->basis, r));
    rung->inverse = rung->whitener.transpose() * rung->whitener;
    rung->null = detail::moments_of(engine, r, *rung, [&](Index i) { return r.variance(i); });
  }
  out.rungs.erase(std::remove_if(out.rungs.begin(), out.rungs.end(),
                                 [](const auto& rung) { return !(rung->null.variance > 0.0); }),
                  out.rungs.end());
  return out;
}

#endif

}  // namespace calibrisk

#endif
