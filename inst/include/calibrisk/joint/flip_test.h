// SPDX-License-Identifier: GPL-3.0-or-later
// The test of sums of independent clusters by flips of their signs (flips.h), and where each
// cluster is one row of known predictions, by redrawn outcomes too. If weights depend on the
// prediction, few rows make the sums, and flips alone reject too often; redrawn outcomes are those
// of a calibrated model only if weights do not depend on the outcome. The larger p-value counts: it
// is valid where one of the two is.
#ifndef CALIBRISK_JOINT_FLIP_TEST_H
#define CALIBRISK_JOINT_FLIP_TEST_H

#include <calibrisk/joint/flip_sums.h>
#include <calibrisk/joint/law.h>
#include <calibrisk/joint/parts.h>
#include <calibrisk/joint/redraws.h>
#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/math/roots.h>
#include <calibrisk/short_work.h>

#include <functional>

namespace calibrisk {

constexpr Index flip_block = flip_draws;
constexpr Index most_enumerated = 12;  // clusters whose flips are all used
// Products of all flips together. Above, the sums are drawn from their normal approximation.
constexpr double most_flipped = 4e8;

// Some of the columns, in one norm.
struct FlipNorm {
  Index first;
  Matrix whitener;
  double null;     // variance at calibration over that of the flips, at least 1
  int event = 0;   // number of its class, from 1 on
  Index sum = -1;  // column of residuals alone; `turn` of their sign
  double turn = 1.0;
  double trust = 1.0;  // factor of the statistic
  double unit = 1.0;   // the error is at least as many times the norm
  double scale = 0.0;  // mean of |W S|^2 among the flips, or among the redraws
  double here = 1.0;   // variance at the estimate over that of the flips, or of the redraws
  // of redrawn sums, the columns whose sum is |W c_i|^2 summed over rows: what scale is of the
  // flips
  std::vector<Index> own = {};

  double square(const Vector& s) const {
    return (whitener * s.segment(first, whitener.cols())).squaredNorm();
  }
  double statistic(const Vector& s) const { return trust * square(s) / scale; }
};

struct FlipPart {
  int number;
  double share;  // of the level
  std::vector<FlipNorm> norms;
};

// The distribution over all flips, the sample among them: counts.
class CountedLaw {
 public:
  CALIBRISK_SHARED CountedLaw(const Matrix& flipped, std::vector<double> shares);

  std::vector<double> weighted(const Vector& observed) const {
    std::vector<double> out;
    for (std::size_t m = 0; m < shares_.size(); ++m) {
      const double x = observed(static_cast<Index>(m));
      const auto end =
          std::upper_bound(sorted_[m].begin(), sorted_[m].end(), x, std::greater<double>());
      out.push_back(of_rank(m, static_cast<std::size_t>(end - sorted_[m].begin())));
    }
    return out;
  }
  double p_value(double t) const {
    return static_cast<double>(std::upper_bound(smallest_.begin(), smallest_.end(), t) -
                               smallest_.begin()) /
           static_cast<double>(smallest_.size());
  }
  // the least t with a p-value of at least alpha
  double threshold(double alpha) const {
    const double rank = std::ceil(alpha * static_cast<double>(smallest_.size()) - 1e-9);
    return smallest_[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  }
  // the largest statistic of a flip that does not reject
  double edge(std::size_t m, double threshold) const {
    for (std::size_t r = 0; r + 1 < sorted_[m].size(); ++r) {
      const bool tied = sorted_[m][r + 1] == sorted_[m][r];
      if (!tied && of_rank(m, r + 1) >= threshold) return sorted_[m][r];
    }
    return sorted_[m].back();
  }

 private:
  // ranks of parts whose shares are 5 to 4 can be ties
  double of_rank(std::size_t m, std::size_t rank) const {
    const double p = static_cast<double>(rank) / static_cast<double>(sorted_[m].size());
    return nine_digits(p / shares_[m]);
  }
  std::vector<double> shares_;
  std::vector<std::vector<double>> sorted_;  // descending
  std::vector<double> smallest_;
};

struct FlipResult {
  double p_value = 1.0, statistic = 0.0;
  double low = 0.0;    // root
  double least = 1.0;  // p-value that so few clusters can have
  Index clusters = 0, flips = 0;
  // of the parts that have any noise
  std::vector<int> parts, events;
  std::vector<double> weighted, lows;
  std::vector<double> signs;  // of the sum of residuals
};

// Sums S of redrawn outcomes, of redraws begin ... begin + size - 1, a row each; and after them the
// columns of FlipNorm::own.
using RedrawnBlock = std::function<Matrix(Index begin, Index size)>;

// `total`: N; `redraws`: flips where there are too many for all.
// `redrawn`: of rows whose outcomes are drawn from the predictions too.
CALIBRISK_SHARED FlipResult flip_test(const Engine& engine, const FlipSums& sums,
                                      std::vector<FlipPart> parts, double total, Index redraws,
                                      double alpha, const RedrawnBlock& redrawn = nullptr);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_FLIPS)
namespace detail {

// S of flips begin ... begin + 31, a row each. `all`: flip r has the bits of r.
inline Matrix flipped_sums(const FlipSums& sums, const std::vector<Index>& order, Index begin,
                           bool all) {
  Matrix out = Matrix::Zero(flip_block, sums.columns());
  for (std::size_t at = 0; at < order.size(); ++at) {
    const double u = counter_uniform(redraw_key, static_cast<std::uint64_t>(begin), at);
    auto bits = static_cast<std::uint64_t>(u * 0x1.0p53);
    if (all) {
      bits = 0;
      for (Index r = 0; r < flip_block; ++r) {
        bits |= ((static_cast<std::uint64_t>(begin + r) >> at) & 1) << r;
      }
    }
    sums.flip(order[at], bits, out);
  }
  return out;
}

// The largest |W S|^2 over its mean among the flips, rounded: sums in another order are ties.
inline Vector flip_statistics(const std::vector<FlipPart>& parts, const Vector& s) {
  Vector out(static_cast<Index>(parts.size()));
  for (std::size_t m = 0; m < parts.size(); ++m) {
    double most = 0.0;
    for (const FlipNorm& norm : parts[m].norms) most = std::max(most, norm.statistic(s));
    out(static_cast<Index>(m)) = nine_digits(most);
  }
  return out;
}

// The parts whose norms have a positive scale, their shares of the level summing to 1.
template <class Scale>
std::vector<FlipPart> parts_with_noise(const std::vector<FlipPart>& parts, const Scale& scale) {
  std::vector<FlipPart> out;
  double sum = 0.0;
  for (const FlipPart& part : parts) {
    FlipPart kept{part.number, part.share, {}};
    for (const FlipNorm& norm : part.norms) {
      kept.norms.push_back(norm);
      kept.norms.back().scale = scale(norm);
      if (!(kept.norms.back().scale > 0.0)) kept.norms.pop_back();
    }
    if (kept.norms.empty()) continue;
    sum += kept.share;
    out.push_back(std::move(kept));
  }
  for (FlipPart& part : out) part.share /= sum;
  return out;
}

inline std::vector<double> shares_of(const std::vector<FlipPart>& parts) {
  std::vector<double> out;
  for (const FlipPart& part : parts) out.push_back(part.share);
  return out;
}

// The statistics of the sample's sums; its events and signs into `out`.
inline Vector observed_parts(const std::vector<FlipPart>& parts, const Vector& seen,
                             FlipResult& out) {
  Vector observed = Vector::Zero(static_cast<Index>(parts.size()));
  for (std::size_t m = 0; m < parts.size(); ++m) {
    const FlipNorm* most = nullptr;
    for (const FlipNorm& norm : parts[m].norms) {
      const double value = nine_digits(norm.statistic(seen)) / norm.null;
      if (most != nullptr && value <= observed(static_cast<Index>(m))) continue;
      observed(static_cast<Index>(m)) = value;
      most = &norm;
    }
    out.parts.push_back(parts[m].number);
    out.events.push_back(most->event);
    const double sum = most->sum < 0 ? 0.0 : most->turn * seen(most->sum);
    out.signs.push_back(sum > 0.0 ? 1.0 : sum < 0.0 ? -1.0 : 0.0);
  }
  return observed;
}

// p-value and limits from a law of the statistics; edge(m, threshold): the largest one of part m
// that does not reject.
template <class Law, class Edge>
void conclude(const Law& law, const Edge& edge, const std::vector<FlipPart>& parts,
              const Vector& seen, const Vector& observed, double total, double alpha,
              FlipResult& out) {
  out.weighted = law.weighted(observed);
  const auto at = std::min_element(out.weighted.begin(), out.weighted.end()) - out.weighted.begin();
  out.p_value = std::max(law.p_value(out.weighted[static_cast<std::size_t>(at)]), out.least);
  out.statistic = observed(static_cast<Index>(at));
  out.lows.assign(parts.size(), 0.0);
  if (!(out.p_value < alpha)) return;
  const double threshold = law.threshold(alpha);
  for (std::size_t m = 0; m < parts.size(); ++m) {
    if (!(out.weighted[m] < threshold)) continue;
    const double limit = edge(m, threshold);
    for (const FlipNorm& norm : parts[m].norms) {
      const double value = nine_digits(norm.statistic(seen)) / norm.null;
      if (value < observed(static_cast<Index>(m)) && value <= limit) continue;
      const double unit = norm.unit * std::sqrt(norm.scale / norm.trust / total);
      const double size = unit * std::sqrt(norm.null * value), q = unit * std::sqrt(limit);
      const auto excess = [&](double x) {
        return size - x - q * std::sqrt(norm.null + (norm.here - norm.null) * x / size);
      };
      out.lows[m] = std::max(out.lows[m], root_below(excess, size));
    }
    out.low = std::max(out.low, out.lows[m]);
  }
}

// The same parts against redrawn outcomes. The scale of a norm is the geometric mean of its
// variance at calibration and of the sum of squares that an outcome shows: with one alone
// miscalibration that lowers, or that raises, the squares is hardly seen. That sum is also the
// variance at the estimate.
inline FlipResult redrawn_test(const Engine& engine, const std::vector<FlipPart>& parts,
                               const Vector& seen, double total, Index redraws, double alpha,
                               const RedrawnBlock& redrawn) {
  std::vector<const FlipNorm*> norms;
  for (const FlipPart& part : parts) {
    for (const FlipNorm& norm : part.norms) norms.push_back(&norm);
  }
  const auto k = static_cast<Index>(norms.size());
  Matrix squares(redraws, k), own_squares = Matrix::Zero(redraws, k);
  parallel_for(engine, (redraws + flip_block - 1) / flip_block, [&](Index task) {
    const Index begin = task * flip_block, size = std::min(flip_block, redraws - begin);
    const Matrix drawn = redrawn(begin, size);
    for (Index r = 0; r < size; ++r) {
      const Vector s = drawn.row(r).transpose();
      for (Index j = 0; j < k; ++j) {
        const FlipNorm& norm = *norms[static_cast<std::size_t>(j)];
        squares(begin + r, j) = norm.square(s);
        for (const Index column : norm.own) own_squares(begin + r, j) += s(column);
      }
    }
  });
  Index column = 0;
  std::vector<FlipPart> drawn = parts;
  Matrix statistics = Matrix::Zero(redraws, static_cast<Index>(parts.size()));
  for (std::size_t m = 0; m < drawn.size(); ++m) {
    const auto at = static_cast<Index>(m);
    for (FlipNorm& norm : drawn[m].norms) {
      const Vector square = squares.col(column), own = own_squares.col(column);
      ++column;
      // without noise among the redraws, predictions are certain there
      const double known = own.mean() > 0.0 ? own.mean() : norm.scale;
      const auto scale = [&](double squared) { return std::sqrt(squared * known); };
      const double squared = norm.scale;
      norm.scale = scale(squared);
      norm.here = squared / norm.scale;
      norm.null = 1.0;
      for (Index r = 0; r < redraws; ++r) {
        if (!(square(r) > 0.0)) continue;
        statistics(r, at) =
            std::max(statistics(r, at), nine_digits(norm.trust * square(r) / scale(own(r))));
      }
    }
  }
  FlipResult out;
  out.least = 0.0;
  const Vector observed = observed_parts(drawn, seen, out);
  const JointLaw law(statistics, shares_of(drawn));
  conclude(
      law, [&](std::size_t m, double t) { return law.tail(m).edge(law.share(m) * t); }, drawn, seen,
      observed, total, alpha, out);
  return out;
}

}  // namespace detail

FlipResult flip_test(const Engine& engine, const FlipSums& sums, std::vector<FlipPart> parts,
                     double total, Index redraws, double alpha, const RedrawnBlock& redrawn) {
  FlipResult out;
  out.clusters = sums.size();
  if (sums.size() == 0) return out;
  out.least = std::pow(2.0, -static_cast<double>(std::min<Index>(sums.size() - 1, 1000)));
  const std::vector<Index> order = sums.order();
  const Matrix products = sums.products(engine, order);
  const std::vector<FlipPart> kept = detail::parts_with_noise(parts, [&](const FlipNorm& norm) {
    const Index k = norm.whitener.cols();
    return (norm.whitener * products.block(norm.first, norm.first, k, k))
        .cwiseProduct(norm.whitener)
        .sum();
  });
  if (kept.empty()) return out;

  Vector seen = Vector::Zero(sums.columns());
  for (Index g : order) sums.each(g, [&](int column, double value) { seen(column) += value; });
  const Vector observed = detail::observed_parts(kept, seen, out);

  const bool all = sums.size() <= most_enumerated;
  out.flips = all ? Index{1} << (sums.size() - 1) : redraws;
  const bool normal =
      !all && static_cast<double>(sums.entries()) * static_cast<double>(redraws) > most_flipped;
  Matrix root;
  if (normal) root = semidefinite_root(products);
  Matrix flipped(out.flips, static_cast<Index>(kept.size()));
  const auto entries = static_cast<double>(sums.entries());
  const Engine within = engine_for(engine, entries * static_cast<double>(out.flips));
  parallel_for(within, (out.flips + flip_block - 1) / flip_block, [&](Index task) {
    const Index begin = task * flip_block, size = std::min(flip_block, out.flips - begin);
    const Matrix drawn =
        normal ? Matrix((root * standard_normals(root.cols(), begin, size)).transpose())
               : detail::flipped_sums(sums, order, begin, all);
    for (Index r = 0; r < size; ++r) {
      flipped.row(begin + r) = detail::flip_statistics(kept, drawn.row(r).transpose()).transpose();
    }
  });

  if (all) {
    const CountedLaw law(flipped, detail::shares_of(kept));
    detail::conclude(
        law, [&](std::size_t m, double t) { return law.edge(m, t); }, kept, seen, observed, total,
        alpha, out);
  } else {
    const JointLaw law(flipped, detail::shares_of(kept));
    detail::conclude(
        law, [&](std::size_t m, double t) { return law.tail(m).edge(law.share(m) * t); }, kept,
        seen, observed, total, alpha, out);
  }
  if (redrawn == nullptr) return out;
  // the larger p-value, and the smaller limit
  FlipResult drawn = detail::redrawn_test(engine, kept, seen, total, redraws, alpha, redrawn);
  const double low = std::min(out.low, drawn.low);
  if (drawn.p_value > out.p_value) {
    drawn.least = out.least;
    drawn.clusters = out.clusters;
    drawn.flips = out.flips;
    out = std::move(drawn);
  }
  out.low = low;
  return out;
}

CountedLaw::CountedLaw(const Matrix& flipped, std::vector<double> shares)
    : shares_(std::move(shares)) {
  for (Index m = 0; m < flipped.cols(); ++m) {
    const Vector column = flipped.col(m);
    sorted_.emplace_back(column.data(), column.data() + column.size());
    std::sort(sorted_.back().begin(), sorted_.back().end(), std::greater<double>());
  }
  for (Index s = 0; s < flipped.rows(); ++s) {
    const std::vector<double> all = weighted(flipped.row(s).transpose());
    smallest_.push_back(*std::min_element(all.begin(), all.end()));
  }
  std::sort(smallest_.begin(), smallest_.end());
}
#endif

}  // namespace calibrisk

#endif
