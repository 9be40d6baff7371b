// SPDX-License-Identifier: GPL-3.0-or-later
// What ce_estimate() is expected to find in the n rows of a planned study: the width of its
// interval, the power of its test, and the power to show that the error is below delta.
#include "nested_limits.h"
#include "r_engine.h"
#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/power/criteria.h>
#include <calibrisk/power/expected_rungs.h>

#include <cmath>
#include <limits>

namespace {

using calibrisk::ExpectedRung;
using calibrisk::Index;
using calibrisk::Matrix;
using calibrisk::PowerNodes;
using calibrisk::Vector;

double normal_quantile(double p) { return R::qnorm(p, 0.0, 1.0, 1, 0); }
double normal_share(double x) { return R::pnorm(x, 0.0, 1.0, 1, 0); }

double slope_of(const ExpectedRung& rung) {
  return calibrisk::slope_of_form(rung.psi, rung.noise, rung.linear, rung.scatter);
}

// At calibration, and of its distribution under the assumption.
Rung at_calibration(const ExpectedRung& rung) {
  return {rung.psi, rung.noise, rung.skew, slope_of(rung)};
}
double deviation(const ExpectedRung& rung) { return std::sqrt(rung.noise + rung.linear); }
double skewness(const ExpectedRung& rung) {
  return std::min(rung.skew * std::pow(rung.noise / (rung.noise + rung.linear), 1.5), 2.8);
}

// The probability that psi is below a value.
double below(const ExpectedRung& rung, double value) {
  return -std::expm1(pearson3_log_tail((value - rung.psi) / deviation(rung), skewness(rung)));
}

// The probability that a rung exceeds its critical value, at the quantile z. The distribution is
// Pearson III, less skew away from calibration.
double rejection(const ExpectedRung& rung, double z) {
  return 1.0 - below(rung, pearson3_quantile(z, rung.skew) * std::sqrt(rung.noise));
}

struct Interval {
  double low, power;
};

class ExpectedLadder {
 public:
  // `df`: of the clusters that are the independent draws, infinite without.
  ExpectedLadder(const calibrisk::DenseAlgebra& dense, const PowerNodes& nodes, double n,
                 const std::vector<int>& knots, double df, double level)
      : nodes_(nodes), n_(n), df_(df), alpha_(1.0 - level) {
    for (const int m : knots) {
      const ExpectedRung rung = calibrisk::expected_rung(dense, nodes, m, n);
      columns_ = std::max(columns_, static_cast<double>(rung.columns));
      psi_.push_back(rung.psi);
      if (rung.noise > 0.0) rungs_.push_back(rung);
    }
  }

  const std::vector<double>& psi() const { return psi_; }

  // c(width, power)
  std::vector<double> headline() const {
    std::vector<Rung> limits;
    for (const ExpectedRung& rung : rungs_) limits.push_back(at_calibration(rung));
    const double high = upper_limits(limits, squares(), columns_, alpha_ / 2.0).error;
    // certain predictions, and right ones: no row has a residual
    if (rungs_.empty()) return {high, 0.0};
    const Interval found = R_FINITE(df_) ? of_flips() : of_redraws();
    return {std::max(high - std::min(found.low, high), 0.0), found.power};
  }

  double equivalence(double delta, double prevalence) const;

 private:
  // 1, and the logit orthogonal to it under calibration; `v`: variance there.
  struct Scores {
    Vector v;
    Matrix columns;
  };
  Scores scores() const {
    Vector v = nodes_.p.array() * (1.0 - nodes_.p.array());
    v = (v.array() == 0.0).select(1e-12, v);
    const Vector l = nodes_.logit.cwiseMax(-12.0).cwiseMin(12.0);
    const bool sloped = l.maxCoeff() - l.minCoeff() > 1e-9;
    Matrix columns = Matrix::Ones(l.size(), sloped ? 2 : 1);
    if (sloped) columns.col(1) = l.array() - nodes_.mean(v.cwiseProduct(l)) / nodes_.mean(v);
    return {v, columns};
  }

  Vector mean_squares(const Matrix& columns, const Vector& weight) const {
    return columns.cwiseAbs2().transpose() * nodes_.share.cwiseProduct(weight);
  }
  Vector theta(const Matrix& columns) const {
    return columns.transpose() * nodes_.share.cwiseProduct(nodes_.gap());
  }

  // As score_facts(); third moments are those of rows.
  SquareFacts squares() const {
    const auto moment = [&](int power) {
      const auto &p = nodes_.p.array(), &eta = nodes_.eta.array();
      return nodes_.mean(eta * (1.0 - p).pow(power) + (1.0 - eta) * p.pow(power));
    };
    const double mean = moment(2), fourth = moment(4);
    const Vector score = 1.0 - 2.0 * nodes_.p.array();
    const double variance = fourth - mean * mean + calibrisk::cluster_covariance(nodes_, score)(0);
    const double third = moment(6) - 3.0 * mean * fourth + 2.0 * std::pow(mean, 3.0);
    return {mean,
            std::sqrt(std::max(variance, 0.0) / n_),
            third / (n_ * n_),
            n_ / (1.0 + nodes_.others),
            n_,
            1.0,
            df_};
  }

  std::size_t first_of_hats() const {
    return rungs_.size() - std::min<std::size_t>(rungs_.size(), 2);
  }
  double power_of_hats(double z) const {
    double power = 0.0;
    for (std::size_t m = first_of_hats(); m < rungs_.size(); ++m) {
      power = std::max(power, rejection(rungs_[m], z));
    }
    return power;
  }
  // The root of the largest lower limit of the rungs from the first one on.
  double nested_low(std::size_t first, double tail) const {
    double low = 0.0;
    for (std::size_t m = first; m < rungs_.size(); ++m) {
      low = std::max(low, at_calibration(rungs_[m]).low(R::qt(tail, df_, 0, 0)));
    }
    return std::sqrt(low);
  }

  Interval of_flips() const;
  Interval of_redraws() const;

  const PowerNodes& nodes_;
  double n_, df_, alpha_, columns_ = 0.0;
  std::vector<double> psi_;
  std::vector<ExpectedRung> rungs_;
};

// For clusters: sum and slope of the flipped residuals at their shares of the threshold, with
// Student's t for the flips. The threshold is about 1.4 alpha. Hats and the nested bases' limits
// are as they are.
Interval ExpectedLadder::of_flips() const {
  const double unit = 1.4 * alpha_ / 11.0, shares[2] = {5.0 * unit, 4.0 * unit};
  const Matrix columns = scores().columns;
  const Vector gap = theta(columns), length = mean_squares(columns, Vector::Ones(columns.rows()));
  const Vector noise = mean_squares(columns, nodes_.variance()) +
                       calibrisk::cluster_covariance(nodes_, columns).diagonal();
  Interval out = {nested_low(0, alpha_ / (2.0 * static_cast<double>(rungs_.size()))),
                  power_of_hats(R::qt(1.0 - unit, df_, 1, 0))};
  for (Index k = 0; k < columns.cols(); ++k) {
    const double error = std::sqrt(std::max(noise(k), 1e-12) / n_);
    const double distance = std::abs(gap(k)) - R::qt(1.0 - shares[k] / 2.0, df_, 1, 0) * error;
    out.low = std::max(out.low, distance / std::sqrt(length(k)));
    out.power = std::max(out.power, normal_share(distance / error));
  }
  return out;
}

// For independent rows, from the parts of the joint test at their shares of the threshold. The
// threshold is about 1.4 alpha since the parts are dependent. The scores z of intercept and slope
// are normal; their statistic is taken as |z|^2, a scaled noncentral chi-squared variable with the
// variance that the assumed risks give.
Interval ExpectedLadder::of_redraws() const {
  const double part = 1.4 * alpha_ / 16.0, cox = 10.0 * part, total = 1.5 * part;
  const Scores of = scores();
  const Matrix& columns = of.columns;
  const auto count = static_cast<double>(columns.cols());
  const Vector unit = mean_squares(columns, of.v).cwiseSqrt(), gap = theta(columns);
  const Vector delta = std::sqrt(n_) * gap.cwiseQuotient(unit);
  const Matrix turned = columns * unit.cwiseInverse().asDiagonal();
  const Vector variance = nodes_.variance();
  const Vector spread = mean_squares(turned, variance);
  const double scale = std::max(spread.mean(), 1e-12);
  const double critical = R::qchisq(1.0 - cox, count, 1, 0);
  Interval out = {nested_low(first_of_hats(), part / 2.0),
                  power_of_hats(normal_quantile(1.0 - part))};
  out.power =
      std::max({out.power, R::pnchisq(critical / scale, count, delta.squaredNorm() / scale, 0, 0),
                normal_share((std::abs(delta(0)) - normal_quantile(1.0 - total)) /
                             std::sqrt(std::max(spread(0), 1e-12)))});
  // the norm of the projection on the scores, and its standard error
  const Matrix square = columns.transpose() * nodes_.share.asDiagonal() * columns;
  const Vector weighted = calibrisk::inverse_of(square) * gap;
  const double size = std::sqrt(gap.dot(weighted));
  const Vector moved = turned * unit.cwiseProduct(weighted) / std::max(size, 1e-12);
  const double error = std::sqrt(nodes_.mean(variance.cwiseProduct(moved.cwiseAbs2())) / n_);
  out.low = std::max(out.low, size - std::sqrt(critical) * error);
  return out;
}

// The probability that the upper limit at 1 - 2 alpha is below delta: that psi of every basis is
// below the value at which its limit is delta. The finest basis has that of the coarser one and an
// increment, independent of it, which counts where it is above 0 (joint/headline.h). The mean
// residual has a limit of its own, from the binomial distribution of the number of events.
double ExpectedLadder::equivalence(double delta, double prevalence) const {
  const Upper of_squares = upper_limits({}, squares(), columns_, alpha_);
  if (std::sqrt(of_squares.unseen) >= delta) return 0.0;
  if (of_squares.root_brier < delta || rungs_.empty()) return 1.0;
  // limits are those of a psi of at least 0
  const auto reached = [](double psi) {
    return psi > 0.0 ? psi : -std::numeric_limits<double>::infinity();
  };
  const double square = delta * delta;
  if (R_FINITE(df_)) {
    const double z = R::qt(1.0 - alpha_, df_, 1, 0);
    double least = 1.0;
    for (const ExpectedRung& rung : rungs_) {
      const double error = std::sqrt(rung.noise + slope_of(rung) * square);
      least = std::min(least, below(rung, reached(square - z * error)));
    }
    return least;
  }
  const Vector v = (nodes_.p.array() * (1.0 - nodes_.p.array())).max(1e-12);
  const double carriers =
      n_ * std::pow(nodes_.mean(v.cwiseAbs2()), 2.0) / nodes_.mean(v.array().cube().matrix());
  const auto limit = [&](const ExpectedRung& rung) {
    const double slope = slope_of(rung), variance = rung.noise + slope * square;
    const double skew =
        std::min((rung.skew * std::pow(rung.noise, 1.5) + 1.5 * slope * slope * square) /
                     std::pow(variance, 1.5),
                 2.8);
    const double quantile =
        pearson3_quantile(normal_quantile(alpha_), carriers / (carriers + 30.0) * skew);
    return reached(square + quantile * std::sqrt(variance));
  };
  const ExpectedRung& coarse = rungs_[first_of_hats()];
  const ExpectedRung& fine = rungs_.back();
  const double noise = std::max(fine.noise - coarse.noise, 1e-12 * fine.noise);
  const double third =
      fine.skew * std::pow(fine.noise, 1.5) - coarse.skew * std::pow(coarse.noise, 1.5);
  const ExpectedRung more = {fine.psi - coarse.psi,
                             noise,
                             std::max(third, 0.0) / std::pow(noise, 1.5),
                             std::max(fine.linear - coarse.linear, 0.0),
                             0.0,
                             0};
  const double own = below(coarse, limit(coarse)), most = limit(fine);
  constexpr int steps = 64;
  double together = 0.0;
  for (int k = 0; k < steps; ++k) {
    const double z = normal_quantile((k + 0.5) / steps * own);
    const double psi = coarse.psi + deviation(coarse) * pearson3_quantile(z, skewness(coarse));
    together += own * below(more, std::max(0.0, most - psi)) / steps;
  }
  // the mean residual, by the limits of the event rate
  const double spread = std::sqrt(nodes_.mean(nodes_.variance()) / n_);
  const double within =
      delta - normal_quantile(1.0 - alpha_) * std::sqrt(prevalence * (1.0 - prevalence) / n_);
  const double gap = nodes_.mean(nodes_.gap());
  const double rate =
      normal_share((within - gap) / spread) - normal_share((-within - gap) / spread);
  return std::max(std::min(together, rate), 0.0);
}

PowerNodes nodes_of(const Rcpp::List& nodes) {
  return {vector_view(field(nodes, "p")), vector_view(field(nodes, "share")),
          vector_view(field(nodes, "eta")), vector_view(field(nodes, "logit"))};
}

}  // namespace

// The width of the interval of a published criterion; `facts`: z, prevalence, auroc, oe_ratio and,
// for net benefit, threshold.
// [[Rcpp::export(rng = false)]]
double cpp_criterion_width(std::string name, double n, Rcpp::List nodes, Rcpp::List facts) {
  const bool benefit = name.find("net_benefit") != std::string::npos;
  const calibrisk::PlannedStudy of = {number_field(facts, "z"),
                                      number_field(facts, "prevalence"),
                                      number_field(facts, "auroc"),
                                      number_field(facts, "oe_ratio"),
                                      benefit ? number_field(facts, "threshold") : NA_REAL,
                                      number_field(nodes, "reach")};
  if (name == "oe_ratio") return calibrisk::oe_width(of, n);
  if (name == "auroc") return calibrisk::auroc_width(of, n);
  const PowerNodes at = nodes_of(nodes);
  if (name == "slope") return calibrisk::slope_width(at, of, n);
  calibrisk::require(benefit, "criterion_width: a criterion by its name.");
  return name == "net_benefit" ? calibrisk::benefit_width(at, of, n)
                               : calibrisk::standardized_benefit_width(at, of, n);
}

// Of an assumption's nodes, for n rows and hats on so many knots: the width of the interval, the
// power of the test and, unless `delta` is missing, that of equivalence; psi of the rungs.
// `clusters`: empty, or others, icc and the mean size.
// [[Rcpp::export(rng = false)]]
Rcpp::List cpp_expected_ladder(Rcpp::List nodes, double n, std::vector<int> knots, double level,
                               std::vector<double> clusters, double delta, double prevalence) {
  PowerNodes of = nodes_of(nodes);
  double df = std::numeric_limits<double>::infinity();
  if (!clusters.empty()) {
    of.others = clusters[0];
    of.icc = clusters[1];
    df = n / clusters[2] - 1.0;
  }
  // fewer than two clusters give no information
  if (df < 1.0) {
    return named_list(
        {{"width", std::numeric_limits<double>::infinity()}, {"power", 0.0}, {"equivalence", 0.0}});
  }
  REngine r_engine(1);
  const calibrisk::Engine engine = r_engine;
  const ExpectedLadder ladder(engine.dense, of, n, knots, df, level);
  const std::vector<double> found = ladder.headline();
  return named_list(
      {{"width", found[0]},
       {"power", found[1]},
       {"equivalence", ISNAN(delta) ? NA_REAL : ladder.equivalence(delta, prevalence)},
       {"psi", ladder.psi()}});
}
