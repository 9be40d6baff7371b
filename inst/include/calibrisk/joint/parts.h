// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of the joint test: scores of intercept and slope, and rungs (bases of the predictions
// with leave-one-out quadratic forms psi, see ladder/rung.h). All of it depends on the predictions
// and on what rows count, not on outcomes. Under calibration a row's variance is known, p (1 - p).
#ifndef CALIBRISK_JOINT_PARTS_H
#define CALIBRISK_JOINT_PARTS_H

#include <calibrisk/joint/rows.h>
#include <calibrisk/ladder/local_basis.h>
#include <calibrisk/ladder/rung.h>
#include <calibrisk/linalg/small_algebra.h>

#include <array>
#include <memory>

namespace calibrisk {

// Variance and third cumulant of psi, and the further variance per unit of the squared error.
struct RungMoments {
  double variance = 0.0, cube = 0.0, slope = 0.0;
};

struct JointRung {
  const char* name = "";
  double share = 0.0;  // of the level; 0: no part of the test
  LocalBasis basis;
  HatPositions hats;
  Matrix whitener, inverse;  // of the Gram matrix in the weights
  Vector leverage, scale;    // of one copy of a row: h, 1 / (1 - h)
  double spread = 0.0;       // sum over copies of weight^2 scale |b|^2 variance
  RungMoments null;
  Index columns() const { return whitener.rows(); }
};

struct JointParts {
  JointRows rows;
  Matrix scores;       // [n x 1 or 2]: 1, and the logit orthogonal to it under calibration
  Vector information;  // their variances
  // Cumulants of the scores in units of their deviations: number j is of j factors of the slope.
  Vector third = Vector::Zero(4), fourth = Vector::Zero(5);
  Matrix norm;  // W: theta' W theta is the squared norm of the projection on the scores
  std::vector<std::unique_ptr<JointRung>> rungs;
  Index resolution = 0;  // knots of the finest rung
  // logistic tangent
  Vector tangent;
};

namespace detail {

// sum_i f(i) b_i b_i'
template <class Weight>
Matrix weighted_gram(const Engine& engine, const LocalBasis& basis, Index n, const Weight& f) {
  const Index k = basis.columns();
  return parallel_reduce(
      engine, n, rung_block, Matrix(Matrix::Zero(k, k)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, k);
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          const double w = f(i);
          if (w == 0.0) continue;
          basis.row(i, row);
          for (int a = 0; a < row.size; ++a) {
            const double value = w * row.value[a];
            for (int b = 0; b < row.size; ++b) {
              part(row.column[b], row.column[a]) += value * row.value[b];
            }
          }
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
}

// Variance and third cumulant of psi where copies are independent with these variances and there is
// no gap; the own pairs are left out.
template <class Variance>
RungMoments moments_of(const Engine& engine, const JointRows& rows, const JointRung& rung,
                       const Variance& variance) {
  const Index n = rows.size();
  const auto square = [&](Index i) { return rows.weight(i) * rows.each(i) * variance(i); };
  const auto turned = [&](const Matrix& gram) {
    return Matrix(rung.whitener * gram * rung.whitener.transpose());
  };
  const Matrix t1 = turned(
      weighted_gram(engine, rung.basis, n, [&](Index i) { return rung.scale(i) * square(i); }));
  double t20 = t1.squaredNorm();
  if (n <= exact_rows) {
    const Matrix t0 = turned(weighted_gram(engine, rung.basis, n, square));
    const Matrix t2 = turned(weighted_gram(
        engine, rung.basis, n, [&](Index i) { return rung.scale(i) * rung.scale(i) * square(i); }));
    t20 = t2.cwiseProduct(t0).sum();
  }
  const double own = sum_of_rows(engine, n, [&](Index i) {
    const double one = rung.scale(i) * rung.leverage(i) * rows.each(i) * variance(i);
    return rows.copies(i) * one * one;
  });
  RungMoments out;
  out.variance = (t20 + t1.squaredNorm() - 2.0 * own) / (rows.total * rows.total);
  out.cube = 8.0 * (t1 * t1).cwiseProduct(t1).sum() / (rows.total * rows.total * rows.total);
  return out;
}

inline void finish_joint_rung(const Engine& engine, const JointRows& rows, JointRung& rung) {
  const Index n = rows.size();
  rung.whitener =
      whitening(weighted_gram(engine, rung.basis, n, [&](Index i) { return rows.weight(i); }));
  rung.inverse = rung.whitener.transpose() * rung.whitener;
  rung.leverage.resize(n);
  rung.scale.resize(n);
  rung.spread = sum_of_rows(engine, n, [&](Index i) {
    LocalRow row;
    rung.basis.row(i, row);
    double norm = 0.0;
    for (int a = 0; a < row.size; ++a) {
      double sum = 0.0;
      for (int b = 0; b < row.size; ++b) {
        sum += rung.inverse(row.column[b], row.column[a]) * row.value[b];
      }
      norm += sum * row.value[a];
    }
    rung.leverage(i) = rows.each(i) * norm;
    rung.scale(i) = left_out_scale(rung.leverage(i));
    return rows.weight(i) * rung.scale(i) * rung.leverage(i) * rows.variance(i);
  });
  rung.null = moments_of(engine, rows, rung, [&](Index i) { return rows.variance(i); });
}

// One copy's third and fourth cumulants are -v (1 - 2 p) and v (1 - 6 v).
inline void score_cumulants(JointParts& parts) {
  const JointRows& rows = parts.rows;
  const Vector deviation = parts.information.cwiseSqrt();
  for (Index i = 0; i < rows.size(); ++i) {
    const double v = rows.variance(i), level = rows.each(i) / deviation(0);
    const double ratio =
        deviation.size() == 1 ? 0.0 : parts.scores(i, 1) * deviation(0) / deviation(1);
    double term = -rows.copies(i) * v * (1.0 - 2.0 * rows.p(i)) * level * level * level;
    for (Index j = 0; j < parts.third.size(); ++j, term *= ratio) parts.third(j) += term;
    term = rows.copies(i) * v * (1.0 - 6.0 * v) * level * level * level * level;
    for (Index j = 0; j < parts.fourth.size(); ++j, term *= ratio) parts.fourth(j) += term;
  }
}

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
inline std::vector<std::vector<double>> rung_knots(const JointRows& rows,
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

// `knots`: see rung_knots().
inline JointParts joint_parts(const Engine& engine, JointRows rows,
                              std::vector<std::vector<double>> knots = {}) {
  JointParts out;
  out.rows = std::move(rows);
  const JointRows& r = out.rows;
  const Index n = r.size();
  const Vector known = r.weight.cwiseProduct(r.each).cwiseProduct(r.variance);
  const bool sloped = !r.constant();
  out.scores = Matrix::Ones(n, sloped ? 2 : 1);
  if (sloped) out.scores.col(1) = r.logit.array() - known.dot(r.logit) / known.sum();
  const Index q = out.scores.cols();
  Matrix gram(q, q);
  out.information.resize(q);
  for (Index a = 0; a < q; ++a) {
    out.information(a) = out.scores.col(a).cwiseAbs2().dot(known);
    for (Index b = 0; b <= a; ++b) {
      gram(a, b) = gram(b, a) = out.scores.col(a).cwiseProduct(out.scores.col(b)).dot(r.weight);
    }
  }
  detail::score_cumulants(out);
  out.norm = r.total * inverse_of(gram);

  out.tangent = r.variance.cwiseProduct(r.logit);
  std::vector<std::vector<double>> known_knots;
  const auto add = [&](const char* name, double share) {
    out.rungs.push_back(std::make_unique<JointRung>());
    out.rungs.back()->name = name;
    out.rungs.back()->share = share;
    return out.rungs.back().get();
  };
  const auto column = [](JointRung& rung, const double* factor) {
    LocalTerm term;
    term.factor = factor;
    rung.basis.add(term, 1);
  };
  column(*add("one", 0.0), nullptr);
  if (sloped) {
    JointRung& tangent = *add("tangent", 0.0);
    column(tangent, out.rows.variance.data());
    column(tangent, out.tangent.data());
  }
  const auto hats = [&](const char* name, std::vector<double> own) {
    out.resolution = std::max(out.resolution, static_cast<Index>(own.size()));
    if (own.size() < 2) return;
    for (std::size_t m = 0; m < known_knots.size(); ++m) {  // the same columns once
      if (known_knots[m] != own) continue;
      out.rungs[out.rungs.size() - known_knots.size() + m]->share += 1.0;
      return;
    }
    JointRung& rung = *add(name, 1.0);
    rung.hats = hat_positions(engine, r.p, own);
    LocalTerm term;
    term.hats = &rung.hats;
    rung.basis.add(term, static_cast<Index>(own.size()));
    known_knots.push_back(std::move(own));
  };
  knots = rung_knots(r, std::move(knots));
  hats("eight", std::move(knots[0]));
  hats("fine", std::move(knots[1]));
  for (auto& rung : out.rungs) detail::finish_joint_rung(engine, r, *rung);
  out.rungs.erase(std::remove_if(out.rungs.begin(), out.rungs.end(),
                                 [](const auto& rung) { return !(rung->null.variance > 0.0); }),
                  out.rungs.end());
  return out;
}

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

inline std::vector<double> part_shares(const JointParts& parts) {
  std::vector<double> out = {10.0, 1.5, 1.5};  // the sum of residuals with its sign: two of 1.5
  for (const JointRung* rung : tested_rungs(parts)) out.push_back(rung->share);
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

}  // namespace calibrisk

#endif
