// SPDX-License-Identifier: GPL-3.0-or-later
// The joint test of predictive distributions of a number. Let u = F(y), z its normal quantile, and
// a and b the normal scores of the ranks of the predicted mean and standard deviation, each centred
// by the weights w. The parts are sums over the rows of w times
//   place        z
//   spread       z^2 - 1
//   means        a z                   the place by the predicted mean
//   deviations   b (z^2 - 1)           the spread by the predicted standard deviation
//   scatter      a (z^2 - 1)           the spread by the predicted mean
//   skewness     z^3 - 3 z
//   tails        z^4 - 6 z^2 + 3
//   pit          u - 1/2
// An outcome at a jump of F, or of which only the cell between two levels is known, has the mean of
// each term over its cell. All terms then have mean 0 under calibration. Levels are redrawn by a
// generator that counts, and each part is two: large sums and small ones.
#ifndef CALIBRISK_JOINT_LAW_TEST_H
#define CALIBRISK_JOINT_LAW_TEST_H

#include <calibrisk/engine.h>
#include <calibrisk/joint/law.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/row_order.h>
#include <calibrisk/math/tail_quantiles.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <tuple>

namespace calibrisk {

constexpr std::uint64_t law_key = 20261128;
constexpr int law_parts = 8;
// in 21sts of the level
constexpr std::array<double, law_parts> law_shares = {3, 6, 2, 3, 1, 4, 1, 1};

// Powers of the sums whose tails are extrapolated: those of z^k fall as exp(-|x|^(2 / k) / 2).
constexpr std::array<double, law_parts> law_powers = {1, 1, 1, 1, 1, 2.0 / 3.0, 0.5, 1};

namespace detail {

using LawSums = std::array<double, law_parts>;

// z; z^2 - 1; z^3 - 3 z; z^4 - 6 z^2 + 3; u - 1/2
using LevelTerms = std::array<double, 5>;

inline double inner_level(double u) { return std::min(std::max(u, 0x1.0p-53), 1.0 - 0x1.0p-53); }

inline LevelTerms level_terms(double u) {
  u = inner_level(u);
  const double z = -normal_quantile(u), square = z * z;
  return {z, square - 1.0, z * (square - 3.0), square * (square - 6.0) + 3.0, u - 0.5};
}

// The integrals of the first four terms up to level u.
inline std::array<double, 4> level_integrals(double u) {
  if (!(u > 0.0 && u < 1.0)) return {0.0, 0.0, 0.0, 0.0};
  const double z = -normal_quantile(inner_level(u)), square = z * z;
  const double density = 0.39894228040143267794 * std::exp(-0.5 * square);
  return {-density, -z * density, -(square - 1.0) * density, -z * (square - 3.0) * density};
}

inline LevelTerms cell_terms(double low, double high) {
  if (!(high - low > 1e-10)) return level_terms(0.5 * (low + high));
  const std::array<double, 4> from = level_integrals(low), to = level_integrals(high);
  LevelTerms out;
  for (std::size_t k = 0; k < 4; ++k) out[k] = (to[k] - from[k]) / (high - low);
  out[4] = 0.5 * (low + high) - 0.5;
  return out;
}

}  // namespace detail

// What a row's terms are multiplied by.
struct LawRow {
  double weight, mean, deviation;

  void add(const detail::LevelTerms& t, detail::LawSums& sums) const {
    sums[0] += weight * t[0];
    sums[1] += weight * t[1];
    sums[2] += mean * t[0];
    sums[3] += deviation * t[1];
    sums[4] += mean * t[1];
    sums[5] += weight * t[2];
    sums[6] += weight * t[3];
    sums[7] += weight * t[4];
  }
};

// Cells of each row's levels, ascending: those of row i are start[i] to start[i + 1] - 1. Elsewhere
// the levels of outcomes are known; without cells they are so everywhere.
struct LawCells {
  std::vector<int> start;
  Vector low, high;
};

namespace detail {

// The cells of one row.
class RowCells {
 public:
  RowCells(const LawCells& cells, Index row) {
    if (cells.start.empty()) return;
    const auto at = static_cast<std::size_t>(row);
    const Index begin = cells.start[at], size = cells.start[at + 1] - begin;
    low_ = cells.low.data() + begin;
    high_ = cells.high.data() + begin;
    size_ = static_cast<std::size_t>(size);
  }
  // the number of a level's cell, or that of the cells
  std::size_t at(double u) const {
    const double least = u - 1e-12;  // a level that is a cell's end is in this cell
    const auto found =
        static_cast<std::size_t>(std::lower_bound(high_, high_ + size_, least) - high_);
    return found < size_ && low_[found] < u ? found : size_;
  }
  std::size_t size() const { return size_; }
  LevelTerms terms(std::size_t cell) const { return cell_terms(low_[cell], high_[cell]); }

 private:
  const double* low_ = nullptr;
  const double* high_ = nullptr;
  std::size_t size_ = 0;
};

// Normal scores of the ranks of some values, which all that is not finite shares the last of;
// centred.
inline Vector rank_scores(const ConstVectorRef& values, const Vector& weight) {
  const Index n = values.size();
  std::vector<double> rounded(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {  // to nine digits, in which equal values agree
    const double v = values(i);
    const double unit = std::pow(10.0, std::floor(std::log10(std::abs(v))) - 8.0);
    const double digits = std::nearbyint(v / unit) * unit;
    rounded[static_cast<std::size_t>(i)] = !std::isfinite(v)
                                               ? std::numeric_limits<double>::infinity()
                                           : std::isfinite(digits) ? digits
                                                                   : 0.0;
  }
  RowOrder order(rounded.size());
  const std::vector<double> sorted = sort_values(order, [&](std::size_t i) { return rounded[i]; });
  Vector out(n);
  for (std::size_t begin = 0, end; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end] == sorted[begin];) ++end;
    const double rank = 0.5 * static_cast<double>(begin + end) / static_cast<double>(n);
    for (std::size_t at = begin; at < end; ++at) {
      out(static_cast<Index>(order[at])) = -normal_quantile(rank);
    }
  }
  out.array() -= out.dot(weight) / weight.sum();
  return out;
}

}  // namespace detail

class LawTest {
 public:
  // `low`, `high`: the jumps of F at the outcomes; `mean`, `deviation`: of the predictions
  LawTest(const ConstVectorRef& low, const ConstVectorRef& high, const ConstVectorRef& mean,
          const ConstVectorRef& deviation, const Vector& weight, Index redraws)
      : order(static_cast<std::size_t>(low.size())), level_(0.5 * (low + high)) {
    const Index n = low.size();
    require(n > 0 && high.size() == n && mean.size() == n && deviation.size() == n &&
                weight.size() == n,
            "The test needs the same number of everything.");
    const Vector a = detail::rank_scores(mean, weight), b = detail::rank_scores(deviation, weight);
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
      return std::make_tuple(a(i), b(i), weight(i)) < std::make_tuple(a(j), b(j), weight(j));
    });
    for (const Index i : order) rows_.push_back({weight(i), weight(i) * a(i), weight(i) * b(i)});
    sums_.assign(static_cast<std::size_t>(redraws) + 1, detail::LawSums{});
    squares_ = {weight.squaredNorm(), weight.cwiseProduct(a).squaredNorm(),
                weight.cwiseProduct(b).squaredNorm()};
    sizes_ = {weight.sum(), weight.dot(a.cwiseAbs2()), weight.dot(b.cwiseAbs2())};
  }

  // The rows in the order in which they are drawn.
  std::vector<Index> order;

  // Adds rows `first`, ..., in this order, with their cells. The last sums are the observed ones.
  void add(const Engine& engine, Index first, Index count, const LawCells& cells) {
    const auto n = static_cast<double>(order.size());
    const auto redraws = sums_.size() - 1;
    std::vector<std::uint64_t> keys(redraws);
    for (std::size_t r = 0; r < redraws; ++r) keys[r] = counter_key(law_key, r);
    using Sums = std::vector<detail::LawSums>;
    const auto map = [&](Index begin, Index size) {
      Sums part(redraws + 1, detail::LawSums{});
      std::vector<detail::LevelTerms> terms;
      for (Index i = begin; i < begin + size; ++i) {
        const detail::RowCells own(cells, i);
        terms.resize(own.size());
        for (std::size_t c = 0; c < own.size(); ++c) terms[c] = own.terms(c);
        const LawRow& row = rows_[static_cast<std::size_t>(first + i)];
        const auto add_level = [&](double u, detail::LawSums& sums) {
          const std::size_t cell = own.at(u);
          row.add(cell < own.size() ? terms[cell] : detail::level_terms(u), sums);
        };
        for (std::size_t r = 0; r < redraws; ++r) {
          add_level(counter_number(keys[r], static_cast<std::uint64_t>(first + i)), part[r]);
        }
        add_level(level_(order[static_cast<std::size_t>(first + i)]), part[redraws]);
      }
      return part;
    };
    sums_ =
        parallel_reduce(engine, count, Index(128), std::move(sums_), map,
                        [](Sums& sums, const Sums& part) {
                          for (std::size_t r = 0; r < sums.size(); ++r) {
                            for (std::size_t m = 0; m < law_parts; ++m) sums[r][m] += part[r][m];
                          }
                        },
                        {static_cast<double>(first) / n, static_cast<double>(first + count) / n});
  }

  struct Result {
    double p_value;
    std::vector<double> estimate;  // of the parts: means, and slopes on scores
    std::vector<double> weighted;  // p-values over their shares, of the likelier side
    std::vector<int> rejects;      // 1 or -1, the sign of the sum, where the part rejects, else 0
    Vector evidence;               // -log10 of the smallest weighted p-value; the last is observed
  };

  Result result(double level) const {
    const auto redraws = static_cast<Index>(sums_.size()) - 1;
    Matrix sides(redraws + 1, 2 * law_parts);
    for (Index m = 0; m < law_parts; ++m) {
      const double unit = std::sqrt(squares_[factor(m)]);
      for (Index r = 0; r <= redraws; ++r) {
        const double sum = sums_[static_cast<std::size_t>(r)][static_cast<std::size_t>(m)];
        // sums that only their rounding sets apart agree
        const double rounded = unit > 0.0 ? std::nearbyint(sum / unit * 1e9) / 1e9 : 0.0;
        sides(r, m) = std::copysign(
            std::pow(std::abs(rounded), law_powers[static_cast<std::size_t>(m)]), rounded);
      }
    }
    sides.rightCols(law_parts) = -sides.leftCols(law_parts);
    std::vector<double> shares;
    for (int m = 0; m < 2 * law_parts; ++m) {
      shares.push_back(law_shares[static_cast<std::size_t>(m % law_parts)] / 42.0);
    }
    const JointLaw law(sides.topRows(redraws), shares);
    Result out;
    out.evidence.resize(redraws + 1);
    std::vector<double> weighted;
    for (Index r = 0; r <= redraws; ++r) {
      weighted = law.weighted(sides.row(r).transpose());
      out.evidence(r) = -std::log10(*std::min_element(weighted.begin(), weighted.end()));
    }
    out.p_value = law.p_value(*std::min_element(weighted.begin(), weighted.end()));
    const double threshold = law.threshold(rejected_level(level));
    for (std::size_t m = 0; m < law_parts; ++m) {
      const double above = weighted[m], below = weighted[m + law_parts];
      const double size = sizes_[factor(static_cast<Index>(m))];
      out.weighted.push_back(std::min(above, below));
      out.rejects.push_back(std::min(above, below) < threshold ? (above < below ? 1 : -1) : 0);
      out.estimate.push_back(size > 0.0 ? sums_.back()[m] / size
                                        : std::numeric_limits<double>::quiet_NaN());
    }
    return out;
  }

 private:
  // a part's factor beside its terms: none, mean or deviation
  static std::size_t factor(Index part) { return part == 2 || part == 4 ? 1 : part == 3 ? 2 : 0; }

  Vector level_;
  std::vector<LawRow> rows_;
  std::vector<detail::LawSums> sums_;
  std::array<double, 3> squares_, sizes_;
};

}  // namespace calibrisk

#endif
