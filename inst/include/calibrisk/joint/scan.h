// SPDX-License-Identifier: GPL-3.0-or-later
// Groups of neighbouring predictions with too many or too few events. A few rows, often wrong, have
// an error that hats spread over their neighbours; here they are counted. Where 15 of 1,000 rows
// have the prediction .02 and the risk .4, the joint test rejects .92 of samples, .36 without it.
//
// Cells are four neighbouring copies, or one in 256 of many; rows of one prediction are in one
// cell, alone where there are as many. Groups are the cells, and 2, 4, 8, ... neighbouring cells,
// up to a quarter of all, half of which are in the next group too.
#ifndef CALIBRISK_JOINT_SCAN_H
#define CALIBRISK_JOINT_SCAN_H

#include <calibrisk/joint/constant.h>
#include <calibrisk/joint/parts.h>
#include <calibrisk/math/counter_packs.h>

namespace calibrisk {

// Equal copies with neighbouring predictions: how many they are, their failures (outcomes of the
// kind of which there are more than expected), how many were expected, and of how many copies they
// are a part.
struct FailingGroup {
  double copies, failures, expected, size;

  // The squared error that lies in the group.
  double square() const { return std::pow(failures - expected, 2.0) / (copies * size); }

  // Upper limit of the squared error that lies in the group, whose share of all copies times the
  // squared gap of its failure rate it is. With the observed share, the rate is uncertain; with the
  // observed rate, the share of failing copies is. The larger limit counts.
  double high(double tail) const {
    const double rate = clopper_pearson(failures, copies, tail).high - expected / copies;
    const double failing = clopper_pearson(failures, size, tail).high - expected / size;
    const double gap = (failures - expected) / copies;
    return std::max(copies / size * std::pow(std::max(rate, 0.0), 2.0),
                    std::max(failing, 0.0) * gap);
  }
  // Lower limit of the root of that error.
  double low(double tail) const {
    const double rate = clopper_pearson(failures, copies, tail).low - expected / copies;
    return std::sqrt(copies / size) * std::max(rate, 0.0);
  }
};

namespace detail {

// Minus the logarithm of the tail that k events of n are in, on their side of the mean. From 1
// beyond the mean on, no sum of unequal copies has more in its tail than the binomial one of the
// same mean (Hoeffding, 1956).
inline double binomial_surprise(double k, double n, double mean) {
  const double q = mean / n;
  const double tail = k > mean ? ConstantPrediction::at_least(k, n, q)
                               : ConstantPrediction::at_least(n - k, n, 1.0 - q);
  return -std::log(std::min(std::max(tail, 1e-300), 1.0));
}

// The same of the whole numbers from `first` on that redraws have.
inline std::vector<double> surprises(double n, double mean, int& first) {
  const double q = mean / n, odds = q / (1.0 - q), spread = 12.0 + 12.0 * std::sqrt(mean);
  const double lo = std::max(0.0, std::floor(mean - spread)),
               hi = std::min(n, std::ceil(mean + spread));
  first = static_cast<int>(lo);
  std::vector<double> out(static_cast<std::size_t>(hi - lo) + 1);
  // from an end on to the mean, in units of the probability there
  const auto fill = [&](double k, double end, double step, const auto& ratio) {
    double unit = std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) +
                  k * std::log(q) + (n - k) * std::log1p(-q);
    double term = 1.0, sum = 0.0;
    for (; step * (end - k) >= 0.0; k += step) {
      sum += term;
      out[static_cast<std::size_t>(k - lo)] = -unit - std::log(sum);
      term *= ratio(k);
      if (sum < 1e200) continue;
      sum *= 1e-200;
      term *= 1e-200;
      unit += 200.0 * std::log(10.0);
    }
  };
  fill(hi, std::floor(mean) + 1.0, -1.0, [&](double k) { return k / ((n - k + 1.0) * odds); });
  fill(lo, std::floor(mean), 1.0, [&](double k) { return (n - k) * odds / (k + 1.0); });
  return out;
}

}  // namespace detail

// Numbers of events of the groups, and their statistics.
struct ObservedGroups {
  std::vector<double> events, statistics;
  double largest() const { return *std::max_element(statistics.begin(), statistics.end()); }
};

class GroupScan {
 public:
  // Cells first ... last - 1. Ties have a share of the level, and so have other cells, and groups
  // of every number of cells; those of a kind have the same. A group's p-value is its tail over its
  // share (Bonferroni). The statistic is minus the logarithm of twice that, at least 0: p-values
  // above 1/2 decide nothing.
  struct Group {
    Index first, last;
    double copies, expected;    // of events
    double others;              // the logarithm of 2 over that share
    bool whole;                 // as many copies are redrawn
    int least;                  // number of events of the table's first entry
    std::vector<double> table;  // statistics of redraws
    int low, high;              // numbers of events between which the statistic is 0

    double statistic(double events) const {
      const double near = std::nearbyint(events), at = near - least;
      if (whole && std::abs(events - near) < 1e-6 && at >= 0.0 &&
          at < static_cast<double>(table.size())) {
        return table[static_cast<std::size_t>(at)];
      }
      return of_surprise(detail::binomial_surprise(events, copies, expected));
    }
    double of_surprise(double surprise) const {
      return nine_digits(std::max(surprise - others, 0.0));
    }
  };

  // `knots`: none, or those given of the finest rung. Rows between two of them stand for the rows
  // there, which need not have these predictions, and are a cell. `tables`: for redraws.
  GroupScan(const JointRows& rows, const std::vector<double>& knots, bool tables)
      : size_(rows.count) {
    if (rows.constant() || !rows.equal_copies() || knots.size() == 1) return;
    const double least = std::max(4.0, knots.empty() ? std::ceil(size_ / 256.0) : 0.0);
    const auto place = [&](Index i) {
      if (knots.empty()) return rows.p(i);
      const double p = (rows.turned ? 1.0 - rows.p(i) : rows.p(i)) - 1e-12;
      const auto below = std::lower_bound(knots.begin() + 1, knots.end() - 1, p);
      return static_cast<double>(below - knots.begin());
    };
    std::vector<Sums> cells;
    for (Index i = 0, end = 0; i < rows.size(); i = end) {
      Sums own;
      for (const double here = place(i); end < rows.size() && place(end) == here; ++end) {
        own.add(rows, end);
      }
      own.tie = knots.empty() && own.copies >= least;
      if (cells.empty() || !knots.empty() || own.tie || cells.back().copies >= least) {
        cells.emplace_back();
      }
      cells.back() += own;
      cells.back().tie = own.tie;
      cell_.resize(static_cast<std::size_t>(end), static_cast<int>(cells.size()) - 1);
    }
    cells_ = static_cast<Index>(cells.size());
    double sizes = 0.0;
    const auto add_size = [&](Index width, const auto& takes) {
      const Index step = std::max<Index>(width / 2, 1);
      std::vector<Index> firsts;
      for (Index first = 0; first + width <= cells_; first += step) firsts.push_back(first);
      if (firsts.back() + width < cells_) firsts.push_back(cells_ - width);
      const std::size_t smaller = groups_.size();
      for (const Index first : firsts) {
        if (takes(first)) add(cells, first, first + width, least, tables);
      }
      const auto same = static_cast<double>(groups_.size() - smaller);
      if (same > 0.0) sizes += 1.0;
      for (std::size_t g = smaller; g < groups_.size(); ++g) groups_[g].others = std::log(same);
    };
    const auto tie = [&](Index c) { return cells[static_cast<std::size_t>(c)].tie; };
    add_size(1, tie);
    add_size(1, [&](Index c) { return !tie(c); });
    for (Index width = 2; 4 * width <= cells_; width *= 2)
      add_size(width, [](Index) { return true; });
    for (Group& group : groups_) {
      group.others += std::log(2.0 * sizes);
      for (double& value : group.table) value = group.of_surprise(value);
      const auto zero = [](double value) { return value == 0.0; };
      const auto first = std::find_if(group.table.begin(), group.table.end(), zero);
      const auto last = std::find_if_not(first, group.table.end(), zero);
      group.low = group.least + static_cast<int>(first - group.table.begin());
      group.high = group.least + static_cast<int>(last - group.table.begin()) - 1;
    }
  }

  Index cells() const { return cells_; }
  Index cell(Index row) const { return cell_[static_cast<std::size_t>(row)]; }
  const std::vector<Group>& groups() const { return groups_; }

  // e: residuals of the sorted rows
  ObservedGroups observe(const JointRows& rows, const Vector& e) const {
    ObservedGroups out;
    if (groups_.empty()) return out;
    std::vector<double> sum(static_cast<std::size_t>(cells_) + 1, 0.0);
    for (Index i = 0; i < rows.size(); ++i) {
      sum[static_cast<std::size_t>(cell(i)) + 1] += rows.copies(i) * (rows.p(i) - e(i));
    }
    std::partial_sum(sum.begin(), sum.end(), sum.begin());
    for (const Group& group : groups_) {
      out.events.push_back(sum[static_cast<std::size_t>(group.last)] -
                           sum[static_cast<std::size_t>(group.first)]);
      out.statistics.push_back(group.statistic(out.events.back()));
    }
    return out;
  }

  // Of the groups with statistics above `edge`, the one with the largest error for every number of
  // cells.
  std::vector<std::size_t> beyond(const ObservedGroups& seen, double edge) const {
    std::vector<std::size_t> out;
    const auto width = [&](std::size_t g) { return groups_[g].last - groups_[g].first; };
    const auto square = [&](std::size_t g) { return failing(g, seen).square(); };
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!(seen.statistics[g] > edge)) continue;
      if (out.empty() || width(g) > width(out.back())) {
        out.push_back(g);
      } else if (square(g) > square(out.back())) {
        out.back() = g;
      }
    }
    return out;
  }

  // The group with the outcomes (events or not) that are more than expected as its failures.
  FailingGroup failing(std::size_t g, const ObservedGroups& seen) const {
    const Group& group = groups_[g];
    const double events = seen.events[g];
    if (events > group.expected) return {group.copies, events, group.expected, size_};
    return {group.copies, group.copies - events, group.copies - group.expected, size_};
  }

  // Lower limit of the root of an error where statistics of at most `edge` would not reject, and
  // some are above.
  double low(const ObservedGroups& seen, double edge) const {
    double out = 1e-9;
    for (const std::size_t g : beyond(seen, edge)) {
      out = std::max(out, failing(g, seen).low(std::exp(-edge - groups_[g].others)));
    }
    return out;
  }

  // The group with the largest statistic: its least and largest prediction, copies, events and
  // expected events.
  std::vector<double> described(const JointRows& rows, const ObservedGroups& seen) const {
    const auto g = static_cast<std::size_t>(
        std::max_element(seen.statistics.begin(), seen.statistics.end()) - seen.statistics.begin());
    const Group& group = groups_[g];
    Index first = 0, last = rows.size() - 1;
    while (cell(first) < group.first) ++first;
    while (cell(last) >= group.last) --last;
    if (!rows.turned) {
      return {rows.p(first), rows.p(last), group.copies, seen.events[g], group.expected};
    }
    return {1.0 - rows.p(last), 1.0 - rows.p(first), group.copies, group.copies - seen.events[g],
            group.copies - group.expected};
  }

  // The largest statistic of a group for each of 64 redraws whose numbers of events in the cells
  // these are [64 x cells].
  Vector largest(const ConstMatrixRef& events) const {
    constexpr int draws = counter_draws;
    std::vector<int> sums(static_cast<std::size_t>(draws * (cells_ + 1)), 0);
    for (Index c = 0; c < cells_; ++c) {
      const double* own = events.col(c).data();
      int* sum = sums.data() + draws * c;
      for (int r = 0; r < draws; ++r) sum[draws + r] = sum[r] + static_cast<int>(own[r]);
    }
    Vector out = Vector::Zero(draws);
    for (const Group& group : groups_) {
      const int *from = sums.data() + draws * group.first, *to = sums.data() + draws * group.last;
      const int low = group.low, high = group.high;
      int any = 0;  // most groups have none
      for (int r = 0; r < draws; ++r) {
        const int own = to[r] - from[r];
        any |= static_cast<int>(own < low) | static_cast<int>(own > high);
      }
      if (any == 0) continue;
      const int most = static_cast<int>(group.table.size()) - 1;
      for (int r = 0; r < draws; ++r) {
        const int own = to[r] - from[r];
        if (own >= low && own <= high) continue;
        const int at = std::min(std::max(own - group.least, 0), most);
        out(r) = std::max(out(r), group.table[static_cast<std::size_t>(at)]);
      }
    }
    return out;
  }

  // The largest statistic exceeds this with probability u at most.
  static double bound(double u) { return std::max(-std::log(2.0 * u), 0.0); }

 private:
  struct Sums {
    double copies = 0.0, expected = 0.0, drawn = 0.0, drawn_events = 0.0;
    bool tie = false;  // one prediction
    void add(const JointRows& rows, Index i) {
      const double draws = std::max(std::nearbyint(rows.copies(i)), 1.0);
      *this += {rows.copies(i), rows.copies(i) * rows.p(i), draws, draws * rows.p(i), false};
    }
    void operator+=(const Sums& other) {
      copies += other.copies;
      expected += other.expected;
      drawn += other.drawn;
      drawn_events += other.drawn_events;
    }
  };

  void add(const std::vector<Sums>& cells, Index first, Index last, double least, bool tables) {
    Sums own;
    for (Index c = first; c < last; ++c) own += cells[static_cast<std::size_t>(c)];
    if (own.copies < least) return;
    const auto inside = [](double mean, double n) {
      return std::min(std::max(mean, 1e-12 * n), (1.0 - 1e-12) * n);
    };
    Group group{first, last, own.copies, inside(own.expected, own.copies), 0.0, false, 0, {}, 0, 0};
    if (tables) {
      group.whole = std::abs(own.drawn - own.copies) < 1e-6;
      group.table = detail::surprises(own.drawn, inside(own.drawn_events, own.drawn), group.least);
    }
    groups_.push_back(std::move(group));
  }

  std::vector<int> cell_;  // of the rows
  std::vector<Group> groups_;
  Index cells_ = 0;
  double size_;
};

}  // namespace calibrisk

#endif
