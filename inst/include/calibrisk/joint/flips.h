// SPDX-License-Identifier: GPL-3.0-or-later
// The test of rows whose variances are not known: of clusters, or with weights that may depend on
// the outcome. Sums over independent clusters of w_i e_i phi_i have mean 0 at calibration, so a
// flip of their signs is as likely as the sample. Every part has a norm, or is the largest of
// several
//   Q = |W S| / sqrt(N),  S = sum_g s_g c_g,  c_g = sum_{i in g} w_i e_i phi_i,  N = sum_i w_i,
// with W' W the inverse of sum_i w_i phi_i phi_i': the root of the calibration error's projection
// on phi, and its noise. With q the critical values of the parts at their common level all norms of
// the noise are at most q with probability 1 - alpha, and the error is at least the largest Q - q.
// Too few events also mean too small squares of residuals, and few clusters do not average that
// out. If the squares at calibration are r > 1 times those seen, the noise at calibration is taken
// to be r^(1/4) times that of the flips.
#ifndef CALIBRISK_JOINT_FLIPS_H
#define CALIBRISK_JOINT_FLIPS_H

#include <calibrisk/joint/flip_sums.h>
#include <calibrisk/joint/law.h>
#include <calibrisk/joint/parts.h>
#include <calibrisk/joint/redraws.h>
#include <calibrisk/ladder/local_rung.h>
#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/linalg/small_algebra.h>
#include <calibrisk/math/roots.h>
#include <calibrisk/short_work.h>

#include <array>
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
  double scale = 0.0;  // mean of |W S|^2 among the flips

  double statistic(const Vector& s) const {
    return trust * (whitener * s.segment(first, whitener.cols())).squaredNorm() / scale;
  }
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

// `total`: N; `redraws`: flips where there are too many for all.
CALIBRISK_SHARED FlipResult flip_test(const Engine& engine, const FlipSums& sums,
                                      std::vector<FlipPart> parts, double total, Index redraws,
                                      double alpha);

// Sums of squares of a column phi, those expected at calibration and those observed. As weights may
// depend on the outcome, those of events and of others have means of their own.
struct ColumnSquares {
  double known = 0.0, seen = 0.0;

  ColumnSquares& operator+=(const ColumnSquares& other) {
    known += other.known;
    seen += other.seen;
    return *this;
  }
  // half of the way (in logarithms) from the observed ones to the expected ones, where these are
  // larger
  double null_ratio() const { return seen > 0.0 ? std::sqrt(std::max(known / seen, 1.0)) : 1.0; }
};

CALIBRISK_SHARED ColumnSquares column_squares(const JointRows& rows, const Vector& e,
                                              const Vector& phi);

// The clusters (1 ... C) of rows as given, for the sorted rows; none where none are given.
inline RowClusters sorted_clusters(const JointRows& rows, const Labels& cluster) {
  if (cluster.empty()) return RowClusters();
  Labels sorted;
  for (const int i : rows.order) sorted.push_back(cluster[static_cast<std::size_t>(i)]);
  return RowClusters(sorted);
}

// The test of a scalar notion, on the sum of residuals, the slope in the logit, and hats on 8 and
// on as many knots as the rows ask for. `cluster`: of the rows as given, empty where each is its
// own.
CALIBRISK_SHARED FlipResult joint_flips(const Engine& engine, const JointRows& rows,
                                        const Vector& e, const Labels& cluster,
                                        std::vector<std::vector<double>> knots, Index redraws,
                                        double alpha);

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

}  // namespace detail

FlipResult flip_test(const Engine& engine, const FlipSums& sums, std::vector<FlipPart> parts,
                     double total, Index redraws, double alpha) {
  FlipResult out;
  out.clusters = sums.size();
  if (sums.size() == 0) return out;
  out.least = std::pow(2.0, -static_cast<double>(std::min<Index>(sums.size() - 1, 1000)));
  const std::vector<Index> order = sums.order();
  const Matrix products = sums.products(engine, order);
  std::vector<double> shares;
  std::vector<FlipPart> kept;
  for (FlipPart& part : parts) {
    std::vector<FlipNorm> norms;
    for (FlipNorm& norm : part.norms) {
      const Index k = norm.whitener.cols();
      norm.scale = (norm.whitener * products.block(norm.first, norm.first, k, k))
                       .cwiseProduct(norm.whitener)
                       .sum();
      if (norm.scale > 0.0) norms.push_back(std::move(norm));
    }
    if (norms.empty()) continue;
    shares.push_back(part.share);
    kept.push_back({part.number, part.share, std::move(norms)});
  }
  if (kept.empty()) return out;
  const double all_shares = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= all_shares;

  Vector seen = Vector::Zero(sums.columns());
  for (Index g : order) sums.each(g, [&](int column, double value) { seen(column) += value; });
  Vector observed = Vector::Zero(static_cast<Index>(kept.size()));
  for (std::size_t m = 0; m < kept.size(); ++m) {
    const FlipNorm* most = nullptr;
    for (const FlipNorm& norm : kept[m].norms) {
      const double value = nine_digits(norm.statistic(seen)) / norm.null;
      if (most != nullptr && value <= observed(static_cast<Index>(m))) continue;
      observed(static_cast<Index>(m)) = value;
      most = &norm;
    }
    out.parts.push_back(kept[m].number);
    out.events.push_back(most->event);
    const double sum = most->sum < 0 ? 0.0 : most->turn * seen(most->sum);
    out.signs.push_back(sum > 0.0 ? 1.0 : sum < 0.0 ? -1.0 : 0.0);
  }

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

  const auto finish = [&](const auto& law, const auto& edge) {
    out.weighted = law.weighted(observed);
    const auto at =
        std::min_element(out.weighted.begin(), out.weighted.end()) - out.weighted.begin();
    out.p_value = std::max(law.p_value(out.weighted[static_cast<std::size_t>(at)]), out.least);
    out.statistic = observed(static_cast<Index>(at));
    out.lows.assign(kept.size(), 0.0);
    if (!(out.p_value < alpha)) return;
    const double threshold = law.threshold(alpha);
    for (std::size_t m = 0; m < kept.size(); ++m) {
      if (!(out.weighted[m] < threshold)) continue;
      const double limit = edge(m, threshold);
      for (const FlipNorm& norm : kept[m].norms) {
        const double value = nine_digits(norm.statistic(seen)) / norm.null;
        if (value < observed(static_cast<Index>(m)) && value <= limit) continue;
        const double unit = norm.unit * std::sqrt(norm.scale / norm.trust / total);
        const double size = unit * std::sqrt(norm.null * value), q = unit * std::sqrt(limit);
        const auto excess = [&](double x) {
          return size - x - q * std::sqrt(norm.null + (1.0 - norm.null) * x / size);
        };
        out.lows[m] = std::max(out.lows[m], root_below(excess, size));
      }
      out.low = std::max(out.low, out.lows[m]);
    }
  };
  if (all) {
    const CountedLaw law(flipped, shares);
    finish(law, [&](std::size_t m, double t) { return law.edge(m, t); });
  } else {
    const JointLaw law(flipped, shares);
    finish(law, [&](std::size_t m, double t) { return law.tail(m).edge(law.share(m) * t); });
  }
  return out;
}

FlipResult joint_flips(const Engine& engine, const JointRows& rows, const Vector& e,
                       const Labels& cluster, std::vector<std::vector<double>> knots, Index redraws,
                       double alpha) {
  const Index n = rows.size();
  std::vector<double> shares = {5.0},
                      nulls = {column_squares(rows, e, Vector::Ones(n)).null_ratio()};
  LocalBasis basis;
  basis.add(LocalTerm(), 1);
  const Vector known = rows.weighted(rows.variance);
  const Vector slope = rows.logit.array() - known.dot(rows.logit) / known.sum();
  std::array<HatPositions, 2> hats;
  std::vector<Index> first = {0};
  if (!rows.constant()) {
    LocalTerm term;
    term.factor = slope.data();
    first.push_back(basis.columns());
    shares.push_back(4.0);
    nulls.push_back(column_squares(rows, e, slope).null_ratio());
    basis.add(term, 1);
    knots = rung_knots(rows, std::move(knots));
    for (std::size_t m = 0; m < 2; ++m) {
      if (knots[m].size() < 2 || (m == 1 && knots[1] == knots[0])) continue;
      hats[m] = hat_positions(engine, rows.p, knots[m]);
      LocalTerm hat;
      hat.hats = &hats[m];
      first.push_back(basis.columns());
      shares.push_back(1.0);
      nulls.push_back(nulls[0]);
      basis.add(hat, static_cast<Index>(knots[m].size()));
    }
  }
  const Matrix gram = detail::local_gram(engine, basis, n, rows.counts, [](Index) { return true; });
  std::vector<FlipPart> parts;
  for (std::size_t m = 0; m < first.size(); ++m) {
    const Index end = m + 1 < first.size() ? first[m + 1] : basis.columns(), k = end - first[m];
    parts.push_back({static_cast<int>(m),
                     shares[m],
                     {{first[m], whitening(gram.block(first[m], first[m], k, k)), nulls[m]}}});
  }

  // residuals of the other sign are the same test
  const double turn = rows.mean(e) < 0.0 ? -1.0 : 1.0;
  FlipSums sums(basis.columns());
  LocalRow row;
  const auto add = [&](Index i, double copies) {
    const double term = turn * rows.weight(i) * e(i) / copies;
    for (int a = 0; a < row.size; ++a) sums.add(row.column[a], term * row.value[a]);
  };
  const RowClusters clusters = sorted_clusters(rows, cluster);
  for (Index c = 0; c < clusters.units(n); ++c) {
    if (clusters.given()) {
      for (const Index i : clusters.rows(c)) {
        basis.row(i, row);
        add(i, 1.0);
      }
      sums.close();
      continue;
    }
    // without clusters every copy has a sign of its own
    const double copies = std::nearbyint(rows.copies(c));
    basis.row(c, row);
    for (double d = 0.0; d < copies; ++d) {
      add(c, copies);
      sums.close();
    }
  }
  return flip_test(engine, sums, std::move(parts), rows.total, redraws, alpha);
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

ColumnSquares column_squares(const JointRows& rows, const Vector& e, const Vector& phi) {
  std::array<double, 2> sum = {0.0, 0.0}, square = {0.0, 0.0}, mean;
  const auto event = [&](Index i) { return static_cast<std::size_t>(rows.p(i) - e(i) > 0.5); };
  for (Index i = 0; i < rows.size(); ++i) {
    sum[event(i)] += rows.weight(i);
    square[event(i)] += rows.weight(i) * rows.each(i);
  }
  for (std::size_t y = 0; y < 2; ++y) {
    const std::size_t from = sum[y] > 0.0 ? y : 1 - y;
    mean[y] = square[from] / sum[from];
  }
  ColumnSquares out;
  for (Index i = 0; i < rows.size(); ++i) {
    const double p = rows.p(i), factor = rows.weight(i) * phi(i) * phi(i);
    out.known += factor * rows.variance(i) * ((1.0 - p) * mean[1] + p * mean[0]);
    out.seen += factor * mean[event(i)] * e(i) * e(i);
  }
  return out;
}
#endif

}  // namespace calibrisk

#endif
