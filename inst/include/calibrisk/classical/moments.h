// SPDX-License-Identifier: GPL-3.0-or-later
// How predicted means and variances fit the outcomes: means over rows and slopes, with the standard
// errors and the skewness of both.
#ifndef CALIBRISK_CLASSICAL_MOMENTS_H
#define CALIBRISK_CLASSICAL_MOMENTS_H

#include <calibrisk/ladder/row_strata.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace calibrisk {

constexpr double missing_moment = std::numeric_limits<double>::quiet_NaN();

// Estimated skewness of squares is too small, by about this factor in samples of 50 rows with heavy
// tails.
constexpr double raised_skew = 1.6;

// z where h(z) = z + s z^2 / 3 + s^2 z^3 / 27 + s / 6 is q (Hall 1992), s the skewness of the
// estimate. Beyond the largest one limits would be far from the data: 0.45 for a limit at 1.96, and
// less for larger ones, of high levels or of few clusters.
inline double skewed_quantile(double q, double skew) {
  if (std::isnan(skew) || std::abs(skew) < 1e-6) return q;
  const double most = 0.45 * std::min(1.0, 1.96 / std::abs(q));
  const double s = std::min(std::max(skew, -most), most);
  return 3.0 / s * (std::cbrt(1.0 + s * (q - s / 6.0)) - 1.0);
}

// Means and sums over rows, in long double, of rows that count `weights`, in clusters or alone.
class RowMoments {
 public:
  RowMoments(const RowWeights& weights, const RowClusters& clusters, const RowStrata& strata,
             Index n)
      : weights_(weights), clusters_(clusters), strata_(strata), n_(n), total_(weights.total(n)) {}

  const RowWeights& weights() const { return weights_; }
  Index size() const { return n_; }

  template <class Term>
  double sum(const Term& term) const {
    long double out = 0.0L;
    for (Index i = 0; i < n_; ++i) out += term(i);
    return static_cast<double>(out);
  }
  double mean(const Vector& v) const {
    if (weights_.all_equal()) return sum([&](Index i) { return v(i); }) / total_;
    return sum([&](Index i) { return weights_(i) * v(i); }) / total_;
  }
  double mean_power(const Vector& v, int k) const {
    return sum([&](Index i) { return weights_(i) * std::pow(v(i), k); }) / total_;
  }
  // the sum of weight^k over the copies of a row
  double copy_power(Index i, int k) const {
    return weights_(i) * std::pow(weights_.each(i), k - 1);
  }
  // sum w^2 / W1^2
  double concentration() const {
    return sum([&](Index i) { return copy_power(i, 2); }) / (total_ * total_);
  }
  // (w v)^k of every independent unit: of a cluster, whose rows are added up, or of a row's copies
  double unit_powers(const Vector& v, int k) const {
    if (!clusters_.given()) {
      return sum([&](Index i) { return copy_power(i, k) * std::pow(v(i), k); });
    }
    return unit_sums(v).array().pow(k).sum();
  }
  // The variance of the sum of w v, of units that are drawn again: in each stratum for itself.
  double sum_variance(const Vector& v, double correction) const {
    return strata_.given() ? strata_.products(unit_sums(v))(0, 0) : correction * unit_powers(v, 2);
  }

  // Of the mean; missing unless all are finite.
  double std_error(const Vector& v) const {
    const double units =
        clusters_.given() ? static_cast<double>(clusters_.units(n_)) : weights_.count(n_);
    const double of = mean(v), correction = units / (units - 1.0);
    if (units < 2.0 || (!std::isfinite(of) && !v.allFinite())) return missing_moment;
    if (weights_.all_equal() && !clusters_.given() && !strata_.given()) {
      return std::sqrt(correction * sum([&](Index i) { return (v(i) - of) * (v(i) - of); })) /
             total_;
    }
    const Vector off = v.array() - of;
    return std::sqrt(sum_variance(off, correction)) / total_;
  }
  // Of the means of several columns.
  Matrix covariance(const ConstMatrixRef& columns) const {
    const Index units = clusters_.units(n_);
    Matrix z(units, columns.cols());
    for (Index k = 0; k < columns.cols(); ++k) {
      const Vector off = columns.col(k).array() - mean(columns.col(k));
      if (clusters_.given()) {
        z.col(k) = unit_sums(off);
        continue;
      }
      for (Index i = 0; i < n_; ++i) z(i, k) = weights_.root(i) * off(i);
    }
    const double square = total_ * total_;
    if (strata_.given()) return strata_.products(z) / square;
    const double n = clusters_.given() ? static_cast<double>(units) : weights_.count(n_);
    if (n < 2.0) return Matrix::Constant(z.cols(), z.cols(), missing_moment);
    return n / (n - 1.0) * (z.transpose() * z) / square;
  }
  double skew(const Vector& v) const {
    if (!v.allFinite()) return 0.0;
    const Vector off = v.array() - mean(v);
    return raised_skew * unit_powers(off, 3) / std::pow(unit_powers(off, 2), 1.5);
  }

 private:
  Vector unit_sums(const Vector& v) const {
    Vector sums = Vector::Zero(clusters_.units(n_));
    for (Index i = 0; i < n_; ++i) sums(clusters_.unit(i)) += weights_(i) * v(i);
    return sums;
  }

  const RowWeights& weights_;
  const RowClusters& clusters_;
  const RowStrata& strata_;
  Index n_;
  double total_;
};

struct MomentEstimate {
  double value = missing_moment, std_error = missing_moment, skew = 0.0;
};

inline double larger_known(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? missing_moment : std::max(a, b);
}

// Least squares slope of y on x with the weights 1 / scale^2, which is the sum of row y. `square`:
// of the standard error (HC3). Without rows where x is constant or infinite.
struct WeightedSlope {
  Vector row, residual;
  double slope = missing_moment, square = missing_moment;

  WeightedSlope(const RowMoments& of, const Vector& x, const Vector& y, const Vector& scale) {
    const Index n = of.size();
    const auto w = [&](Index i) { return of.weights()(i) / (scale(i) * scale(i)); };
    const auto weighted = [&](const Vector& v) {
      return of.sum([&](Index i) { return w(i) * v(i); });
    };
    const double all = of.sum(w);
    const Vector centred = x.array() - weighted(x) / all;
    const double total = weighted(centred.cwiseAbs2());
    if (n < 3 || !(total > 1e-20 * weighted(x.cwiseAbs2()))) return;
    row = centred.array() / scale.array().square() / total;
    slope = of.sum([&](Index i) { return of.weights()(i) * row(i) * y(i); });
    residual = y.array() - weighted(y) / all - slope * centred.array();
    Vector part(n);
    for (Index i = 0; i < n; ++i) {
      const double leverage =
          w(i) / of.weights().copies(i) * (1.0 / all + centred(i) * centred(i) / total);
      part(i) = row(i) * residual(i) / std::max(1.0 - leverage, 0.01);
    }
    square = of.sum_variance(part, 1.0);
  }

  // What a row's outcome adds to the slope.
  Vector influence(const RowMoments& of) const {
    Vector out = row;
    for (Index i = 0; i < out.size(); ++i) out(i) *= of.weights()(i);
    return out;
  }
};

struct MomentTable {
  // bias, mean_slope, mse, variance, variance_gap, variance_slope, ratio, ratio_sd, dss
  MomentEstimate of[9];
  Vector mean_row, variance_row;  // of the slopes, empty without
};

// A variance of 0 scores -Inf where the mean is exact, else +Inf.
inline double dss_of(double variance, double square) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (variance == 0.0) return square > 0.0 ? infinite : -infinite;
  return square / variance + std::log(variance);
}

inline MomentTable moment_table(const RowMoments& of, const ConstVectorRef& mean,
                                const ConstVectorRef& variance, const ConstVectorRef& outcome) {
  const Index n = of.size();
  const Vector bias = mean - outcome, r = bias.cwiseAbs2(), v = variance, gap = v - r;
  Vector ratio(n), dss(n);
  for (Index i = 0; i < n; ++i) {
    const double none = r(i) == 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
    ratio(i) = v(i) == 0.0 ? none : r(i) / v(i);
    dss(i) = dss_of(v(i), r(i));
  }
  MomentTable out;
  const auto mean_of = [&](int k, const Vector& rows) {
    out.of[k].value = of.mean(rows);
    out.of[k].std_error = of.std_error(rows);
  };
  mean_of(0, bias);
  mean_of(2, r);
  mean_of(3, v);
  mean_of(4, gap);
  mean_of(6, ratio);
  mean_of(8, dss);
  out.of[2].skew = of.skew(r);
  out.of[6].skew = of.skew(ratio);
  const double size = of.concentration();
  if (ratio.allFinite()) {
    const Vector off = ratio.array() - of.mean(ratio);
    const double squares = of.mean_power(off, 2);
    // unbiased for a variance that does not depend on the weights
    if (n > 1) out.of[7].value = std::sqrt(squares / (1.0 - size));
    // The mean of v - r where all r / v have the same variance and third moment: few rows with
    // large variances decide on the squares of v - r themselves.
    const double mean_v = of.mean(v), spread = of.mean_power(v, 2) * squares;
    const Vector around = v.array() - mean_v;
    const double of_means = std::pow(1.0 - of.mean(r) / mean_v, 2.0) * of.mean_power(around, 2);
    const double error = std::sqrt((spread + of_means) * size / (1.0 - size));
    out.of[4].std_error = larger_known(out.of[4].std_error, v.allFinite() ? error : missing_moment);
    out.of[4].skew =
        -of.mean_power(v, 3) * of.mean_power(off, 3) / std::pow(spread, 1.5) * std::sqrt(size);
  } else {
    out.of[4].std_error = missing_moment;
  }
  const WeightedSlope slope(of, mean, outcome, Vector::Ones(n));
  // Few rows with large predicted variances may have small errors by chance: the standard error is
  // at least that of squared errors in proportion to v.
  double mean_square = slope.square;
  if (slope.row.size() > 0) {
    const double rows = of.weights().count(n);
    const double known = of.mean(ratio) * rows / (rows - 2.0) * of.sum([&](Index i) {
      return of.copy_power(i, 2) * slope.row(i) * slope.row(i) * v(i);
    });
    if (std::isfinite(known)) mean_square = std::max(mean_square, known);
  }
  out.of[1] = {slope.slope, std::sqrt(mean_square), 0.0};
  out.mean_row = slope.influence(of);
  // Squared errors of calibrated predictions have variances in proportion to v^2. The standard
  // error is the larger one of HC3 and of that proportion.
  const Vector scale = v.cwiseMax(1e-8 * of.mean(v));
  const WeightedSlope spread(of, v, r, scale);
  if (spread.row.size() == 0) return out;
  const auto moment = [&](int k) {
    const double rows = of.weights().count(n);
    const Vector unit = spread.residual.cwiseQuotient(scale);
    return rows / (rows - 2.0) * of.mean_power(unit, k) * of.sum([&](Index i) {
      return of.copy_power(i, k) * std::pow(spread.row(i) * scale(i), k);
    });
  };
  out.of[5] = {spread.slope, std::sqrt(larger_known(spread.square, moment(2))),
               raised_skew * moment(3) / std::pow(moment(2), 1.5)};
  out.variance_row = spread.influence(of);
  return out;
}

// Of a sample of ensembles whose members are exchangeable with the outcome: any of them may be the
// outcome. `pool`: outcome and members of every row; `pick(i)`: which of them is the outcome of row
// i. Its moments are those of a sample, so that the estimates are not on average those of known
// moments.
template <class Pick>
MomentTable exchanged_moments(const RowMoments& of, const ConstMatrixRef& pool, const Pick& pick) {
  const Vector centre = pool.rowwise().mean();
  const Matrix off = pool.colwise() - centre;
  const double members = static_cast<double>(pool.cols() - 1);
  Vector mean(pool.rows()), variance(pool.rows()), outcome(pool.rows());
  for (Index i = 0; i < pool.rows(); ++i) {
    const double y = off(i, pick(i));
    mean(i) = (off.row(i).sum() - y) / members;
    variance(i) = std::max((off.row(i).squaredNorm() - y * y) / members - mean(i) * mean(i), 0.0);
    outcome(i) = centre(i) + y;
  }
  return moment_table(of, centre + mean, variance, outcome);
}

}  // namespace calibrisk

#endif
