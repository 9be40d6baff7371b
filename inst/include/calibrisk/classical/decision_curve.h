// SPDX-License-Identifier: GPL-3.0-or-later
// Net benefit of decisions at thresholds, and what another prediction of the same rows adds to it.
// A row with the prediction p is treated at the threshold c if p >= c, and then contributes
// (y - c) / (1 - c). Rows whose two predictions lie between the same thresholds have the same
// decisions: they are counted in cells, so the cost does not grow with rows times thresholds.
#ifndef CALIBRISK_CLASSICAL_DECISION_CURVE_H
#define CALIBRISK_CLASSICAL_DECISION_CURVE_H

#include <calibrisk/classical/share_limits.h>
#include <calibrisk/classical/simulated_band.h>
#include <calibrisk/ladder/row_strata.h>
#include <calibrisk/math/single_forms.h>

#include <array>
#include <numeric>

namespace calibrisk {

// For bands at all thresholds. Rows (clusters) times independent standard normal multipliers have,
// given the data, exactly the normal distribution with the covariance matrix of the influences: it
// is drawn from at once, and with few degrees of freedom Student's.
struct NormalDraws {
  Matrix normal;  // [thresholds x times]
  SingleColumns single;
  std::vector<double> stretch;

  NormalDraws(const Engine& engine, Index count, Index times, double df)
      : normal(counter_normals(engine, count, times, seed)),
        single(normal),
        stretch(static_cast<std::size_t>(times), 1.0) {
    if (!std::isfinite(df)) return;
    parallel_for(engine, times, [&](Index r) {
      const std::uint64_t key = counter_key(seed, static_cast<std::uint64_t>(r));
      const double tail = 1.0 - counter_number(key, static_cast<std::uint64_t>(count));
      stretch[static_cast<std::size_t>(r)] = std::sqrt(df / (2.0 * gamma_quantile(df / 2.0, tail)));
    });
  }

  // The value of upper_order() of the draws' max |root normal| times their stretch; `rows`:
  // thresholds of the root. Single numbers tell of most draws that they are above or below it.
  double upper_maximum(const Engine& engine, const Matrix& root, const std::vector<Index>& rows,
                       double level) const {
    const Eigen::Map<const Eigen::ArrayXd> factor(stretch.data(),
                                                  static_cast<Index>(stretch.size()));
    const Eigen::ArrayXd about = single.largest_products(root, rows) * factor,
                         off = SingleColumns::error(root) * single.norm * factor;
    const auto order = [&](const Eigen::ArrayXd& of) {
      return upper_order({of.data(), of.data() + of.size()}, level);
    };
    const double least = order(about - off), most = order(about + off);
    std::vector<double> close;
    Index below = 0;
    for (Index r = 0; r < about.size(); ++r) {
      if (about(r) + off(r) < least) ++below;
      if (about(r) + off(r) < least || about(r) - off(r) > most) continue;
      Vector own(root.cols());
      for (Index k = 0; k < own.size(); ++k) own(k) = normal(rows[static_cast<std::size_t>(k)], r);
      close.push_back(engine.dense.multiply(root, own).cwiseAbs().maxCoeff() * factor(r));
    }
    const Index rank = upper_rank(about.size(), level) - below;
    select_rank(close.data(), static_cast<Index>(close.size()), rank);
    return close[static_cast<std::size_t>(rank)];
  }

 private:
  static constexpr std::uint64_t seed = 0xd2b74407b1ce6e93ULL;
};

struct DecisionRows {
  ConstVectorRef p, better, y;
  const RowWeights& weights;
  const RowClusters& clusters;
  const RowStrata& strata;
};

// Limits at every threshold. Where a number is missing, so is what is made of it.
struct BenefitLimits {
  Vector low, high;
};

inline double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// Limits of the net benefit at z standard errors; `events` and `others`: the shares of treated rows
// with and without an event. If few rows are treated, or none, their outcomes may all be the same,
// with a variance of 0. The limits are therefore at least as wide as Wilson's for the two shares
// together (Zou and Donner 2008).
inline BenefitLimits net_benefit_limits(const Vector& value, const Vector& std_error,
                                        const Vector& events, const Vector& others,
                                        const Vector& thresholds, double n, double z) {
  BenefitLimits out{value, value};
  const auto both = [](double a, double b) { return std::hypot(larger(a, 0.0), larger(b, 0.0)); };
  for (Index k = 0; k < value.size(); ++k) {
    const double odds = thresholds(k) / (1.0 - thresholds(k));
    const auto acts = wilson_limits(events(k), n, z), needless = wilson_limits(others(k), n, z);
    const double half = z * std_error(k);
    out.low(k) -= larger(half, both(events(k) - acts[0], odds * (needless[1] - others(k))));
    out.high(k) += larger(half, both(acts[1] - events(k), odds * (others(k) - needless[0])));
  }
  return out;
}

// If fewer than five rows have another decision, or none, limits allow for Wilson's share of such
// rows. `changed`: of `copies` rows that count as n.
inline void allow_few_changes(BenefitLimits& limits, const Vector& value, const Vector& changed,
                              const Vector& thresholds, double copies, double n, double z) {
  for (Index k = 0; k < value.size(); ++k) {
    if (!(changed(k) < 5.0)) continue;
    const double share = changed(k) / copies, odds = thresholds(k) / (1.0 - thresholds(k));
    const double half = std::max(1.0, odds) * (wilson_limits(share, n, z)[1] - share);
    limits.low(k) = -larger(-limits.low(k), half - value(k));
    limits.high(k) = larger(limits.high(k), value(k) + half);
  }
}

// What the net benefit, the one with the better predictions, and the difference sum over.
enum class Benefit { own, better, difference };

class DecisionCurve {
 public:
  struct Moments {  // per threshold
    Vector value, std_error;
    Matrix covariance;
  };

  DecisionCurve(const Engine& engine, const DecisionRows& rows, const Vector& thresholds)
      : engine_(engine),
        thresholds_(thresholds),
        apart_(rows.clusters.given() || rows.strata.given()),
        strata_(rows.strata) {
    const Index n = rows.p.size();
    const auto size = static_cast<std::size_t>(count()) + 1;
    std::vector<int> place(apart_ ? 0 : 2 * size * size, -1);
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Index(0));
    if (rows.clusters.given()) {
      std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return rows.clusters.unit(a) < rows.clusters.unit(b);
      });
    }
    for (const Index i : order) {
      Cell row{reached(rows.p[i]),
               reached(rows.better[i]),
               rows.y[i],
               rows.weights(i),
               rows.weights.squares(i),
               rows.weights.copies(i),
               apart_ ? static_cast<int>(rows.clusters.unit(i)) : 0};
      total_ += row.w;
      if (apart_) {
        units_ += cells_.empty() || cells_.back().unit != row.unit ? 1.0 : 0.0;
        cells_.push_back(row);
        continue;
      }
      int& at =
          place[(static_cast<std::size_t>(row.own) * size + static_cast<std::size_t>(row.better)) *
                    2 +
                (row.y > 0.5)];
      if (at < 0) {
        at = row.unit = static_cast<int>(cells_.size());
        cells_.push_back(row);
        continue;
      }
      Cell& cell = cells_[static_cast<std::size_t>(at)];
      cell.w += row.w;
      cell.w2 += row.w2;
      cell.rows += row.rows;
    }
    if (!apart_) units_ = rows.weights.count(n);
  }

  Index count() const { return thresholds_.size(); }

  // The number of rows whose decision changes at every threshold, and the least variance of the
  // outcomes of these decisions: that of outcomes which happen as often as the threshold says,
  // c / (1 - c) a row. If few decisions change, all of their outcomes may be the more likely one
  // and look as if they did not vary.
  Vector changed() const {
    return of_changed([](const Cell& cell) { return cell.rows; });
  }
  Vector noise() const {
    const Vector weight = of_changed([](const Cell& cell) { return cell.w2; }) / (total_ * total_);
    return weight.cwiseProduct(thresholds_.cwiseQuotient((1.0 - thresholds_.array()).matrix()));
  }
  // The share of rows that are treated and have the outcome y.
  Vector treated(double y) const {
    Vector out = Vector::Zero(count());
    for (const Cell& cell : cells_) {
      if (cell.y == y) out.head(cell.own).array() += cell.w;
    }
    return out / total_;
  }

  // Mean, its standard error and covariance matrix, as row_mean() and row_covariance() of all rows
  // have them. `least`: of the variances.
  Moments moments(Benefit which, const Vector& least) const {
    Moments out{Vector::Zero(count()), Vector(), Matrix()};
    for (const Cell& cell : cells_) add(cell, which, cell.w, out.value);
    out.value /= total_;
    if (units_ < 2.0) {
      out.std_error = Vector::Constant(count(), std::numeric_limits<double>::quiet_NaN());
      return out;
    }
    out.covariance = Matrix::Zero(count(), count());
    Matrix common = Matrix::Zero(count(), strata_.count());
    const auto draw_in_stratum = [&](int unit, Eigen::Ref<Vector> sum) {
      common.col(strata_.stratum(unit)) += strata_.share(unit) * sum;
      sum *= strata_.scale(unit);
    };
    const auto most = std::max<Index>(1, 4000000 / count());
    std::size_t next = 0;
    while (next < cells_.size()) {
      Matrix block(count(), std::min(most, static_cast<Index>(cells_.size() - next)));
      Index used = 0;
      int unit = -1;
      for (; next < cells_.size(); ++next) {
        const Cell& cell = cells_[next];
        if (used == 0 || cell.unit != unit) {
          if (used == block.cols()) break;
          if (used > 0 && strata_.given()) draw_in_stratum(unit, block.col(used - 1));
          block.col(used++).setZero();
          unit = cell.unit;
        }
        const double w = apart_ ? cell.w : std::sqrt(cell.w2);
        add(cell, which, w, block.col(used - 1));
        block.col(used - 1) -= w * out.value;
      }
      if (strata_.given()) draw_in_stratum(unit, block.col(used - 1));
      const auto filled = block.leftCols(used);
      out.covariance += engine_.dense.multiply_a_bt(filled, filled);
    }
    if (strata_.given()) {
      out.covariance -= engine_.dense.multiply_a_bt(common, common);
    } else {
      out.covariance *= units_ / (units_ - 1.0);
    }
    out.covariance /= total_ * total_;
    out.std_error = out.covariance.diagonal().cwiseMax(least).cwiseSqrt();
    return out;
  }

  // By how many standard errors a band is wide that holds all thresholds at once. `pointwise`: at
  // one.
  double band_factor(const Moments& of, const NormalDraws& draws, double level,
                     double pointwise) const {
    std::vector<Index> used;  // where decisions vary: elsewhere the root is 0
    for (Index k = 0; k < count(); ++k) {
      if (of.std_error(k) > 0.0 && of.covariance(k, k) > 0.0) used.push_back(k);
    }
    if (used.empty() || std::isnan(pointwise)) return pointwise;
    const auto size = static_cast<Index>(used.size());
    Matrix scaled(size, size);
    for (Index l = 0; l < size; ++l) {
      const Index column = used[static_cast<std::size_t>(l)];
      for (Index k = 0; k < size; ++k) {
        const Index row = used[static_cast<std::size_t>(k)];
        scaled(k, l) = of.covariance(row, column) / of.std_error(row) / of.std_error(column);
      }
    }
    const SymEigen spectrum = engine_.dense.sym_eigen(std::move(scaled));
    // the symmetric root, which does not jump where eigenvalues are equal; what is 0 except for
    // rounding is 0
    const double least = 1e-12 * spectrum.values(spectrum.values.size() - 1);
    const Vector length =
        spectrum.values.unaryExpr([&](double v) { return v > least ? std::sqrt(v) : 0.0; });
    const Matrix root =
        engine_.dense.multiply_a_bt(spectrum.vectors * length.asDiagonal(), spectrum.vectors);
    return std::max(pointwise, draws.upper_maximum(engine_, root, used, level));
  }

 private:
  struct Cell {
    int own, better;  // how many thresholds the predictions reach
    double y, w, w2, rows;
    int unit;  // cluster or row of a stratum, or cell
  };

  // Except for rounding: 0.3 reaches 3 * 0.1, and 2/3 the threshold 2/3 with 12 digits.
  int reached(double p) const {
    const double* from = thresholds_.data();
    return static_cast<int>(std::upper_bound(from, from + count(), p + 1e-12) - from);
  }

  template <class Out>
  void add(const Cell& cell, Benefit which, double w, Out&& out) const {
    const auto treat = [&](Index from, Index to, double sign) {
      for (Index k = from; k < to; ++k) {
        out(k) += sign * w * (cell.y - thresholds_(k)) / (1.0 - thresholds_(k));
      }
    };
    if (which == Benefit::own) treat(0, cell.own, 1.0);
    if (which == Benefit::better) treat(0, cell.better, 1.0);
    if (which == Benefit::difference) {
      treat(cell.own, cell.better, 1.0);
      treat(cell.better, cell.own, -1.0);
    }
  }

  template <class Of>
  Vector of_changed(const Of& of) const {
    Vector out = Vector::Zero(count());
    for (const Cell& cell : cells_) {
      const int from = std::min(cell.own, cell.better), to = std::max(cell.own, cell.better);
      out.segment(from, to - from).array() += of(cell);
    }
    return out;
  }

  const Engine& engine_;
  const Vector thresholds_;
  const bool apart_;  // rows are no longer counted in cells: units are known by cluster, stratum
  const RowStrata& strata_;
  std::vector<Cell> cells_;
  double total_ = 0.0;
  double units_ = 0.0;
};

}  // namespace calibrisk

#endif
