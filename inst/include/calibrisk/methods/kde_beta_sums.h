// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel density ratios with the Beta kernel in near-linear time. With s = logit(z) / h the
// weight of a training value p at the query z is, up to a common factor,
//   exp(c(p) + p s),   c(p) = -lgamma(p/h + 1) - lgamma((1-p)/h + 1)   (strictly concave in p)
// so numerator and denominator of the ratio are Laplace transforms of discrete measures.
//   * Training values are cut into boxes over which relevant terms vary by a few units of the
//     logarithm; a full box is replaced by 16 Chebyshev nodes that carry its moments.
//   * Only boxes within 42 of the largest exponent count; concavity finds them by bisection.
//   * Where many queries share a stretch of s, the two sums are evaluated at 16 Chebyshev nodes
//     of the stretch and interpolated there: the common factor cancels in the ratio.
// A box whose terms vary too fast at a query (a query far from all training values) is summed
// value by value. Ties are merged first.
#ifndef CALIBRISK_METHODS_KDE_BETA_SUMS_H
#define CALIBRISK_METHODS_KDE_BETA_SUMS_H

#include <calibrisk/math/chebyshev_rule.h>
#include <calibrisk/math/dirichlet_log_gamma.h>
#include <calibrisk/math/exp_sums.h>
#include <calibrisk/methods/kde_beta_training.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace calibrisk {

namespace detail {

constexpr int beta_nodes = 16;
constexpr double beta_box_variation = 6.0;  // aimed at when boxes are cut
constexpr double beta_box_tolerance = 7.0;  // a box that varies more is summed value by value
constexpr double beta_cut = 42.0;           // exponents below the largest that still count
constexpr double beta_stretch = 6.0;        // (width of the window in p) x (of the stretch in s)

}  // namespace detail

// The two sums for one training set and one bandwidth.
class BetaSums {
 public:
  // slope_limit: largest |logit z| of the queries
  BetaSums(const BetaTraining& train, double bandwidth, double slope_limit)
      : train_(&train),
        inv_h_(inverse_bandwidth(bandwidth)),
        log_inv_h_(std::log(inv_h_)),
        slope_limit_(std::max(37.0, slope_limit)) {
    cut_boxes(0, train.n_lower);
    cut_boxes(train.n_lower, train.n());
  }

  // ratio[i] for queries with ascending logits; needs at least one training value.
  void ratios(const double* logit, Index n, double* ratio) const;

 private:
  struct Box {
    Index begin, end;            // training values
    Index item_begin, item_end;  // what stands for them
    double lowest, highest;      // first and last offset
    double c_lowest, c_highest;
    bool upper;
  };
  // What counts on a stretch of s: values relative to an end of [0, 1].
  struct Active {
    std::vector<double> x, c, count, positive, w;
    double anchor = 0.0;  // 0 or 1
    double shift = 0.0;   // exponent taken out at the middle of the stretch
    double middle = 0.0;  // of the stretch
    double centre = 0.0;  // of the window, relative to the anchor

    void append(const std::vector<double>& offset, const std::vector<double>& exponent,
                const std::vector<double>& counts, const std::vector<double>& positives,
                Index begin, Index end, double origin) {
      x.insert(x.end(), offset.begin() + begin, offset.begin() + end);
      for (std::size_t at = x.size() - static_cast<std::size_t>(end - begin); at < x.size(); ++at) {
        x[at] += origin;
      }
      c.insert(c.end(), exponent.begin() + begin, exponent.begin() + end);
      count.insert(count.end(), counts.begin() + begin, counts.begin() + end);
      positive.insert(positive.end(), positives.begin() + begin, positives.begin() + end);
    }
  };
  struct Window {
    Index first, last;  // boxes
    double top;         // largest exponent seen, relative to the anchor
  };

  double coefficient(double x, bool upper) const {
    const double p = upper ? 1.0 + x : x, u = upper ? -x : 1.0 - x;
    const double log_p = upper ? std::log1p(x) : (x > 0.0 ? std::log(x) : 0.0);
    const double log_u = upper ? (x < 0.0 ? std::log(-x) : 0.0) : std::log1p(-x);
    return -reduced_log_gamma(p, log_p, inv_h_, log_inv_h_) -
           reduced_log_gamma(u, log_u, inv_h_, log_inv_h_);
  }

  void cut_boxes(Index begin, Index end);
  void fill_box(Index begin, Index end, bool upper);

  // exponent relative to the anchor's
  static double relative(double x, bool upper, double anchor) {
    return upper ? x + (1.0 - anchor) : x - anchor;
  }
  double at_lowest(const Box& box, double s, double anchor) const {
    return relative(box.lowest, box.upper, anchor) * s + box.c_lowest;
  }
  double at_highest(const Box& box, double s, double anchor) const {
    return relative(box.highest, box.upper, anchor) * s + box.c_highest;
  }

  Window window(double s, double anchor) const;
  void activate(double s_low, double s_high, double anchor, const Window& low, const Window& high,
                Active& active) const;
  void activate_values(const Box& box, double s_low, double s_high, double anchor, double floor_low,
                       double floor_high, Active& active) const;
  void sums(Active& active, double s, double& count, double& positive) const;

  const BetaTraining* train_;
  double inv_h_, log_inv_h_, slope_limit_;
  std::vector<Box> boxes_;
  std::vector<double> x_, c_, count_, positive_;  // items: values or nodes
};

inline void BetaSums::cut_boxes(Index begin, Index end) {
  const std::vector<double>& x = train_->offset;
  const bool upper = begin >= train_->n_lower;
  while (begin < end) {
    const double q = std::abs(x[static_cast<std::size_t>(begin)]);
    const double spread = 1.0 / (inv_h_ * q);
    const double slope = std::min(slope_limit_, 40.0 * spread + std::sqrt(80.0 * spread));
    const double last =
        x[static_cast<std::size_t>(begin)] + detail::beta_box_variation / (inv_h_ * slope);
    const auto stop = std::upper_bound(x.begin() + begin + 1, x.begin() + end, last);
    const Index next = static_cast<Index>(stop - x.begin());
    fill_box(begin, next, upper);
    begin = next;
  }
}

inline void BetaSums::fill_box(Index begin, Index end, bool upper) {
  Box box;
  box.begin = begin;
  box.end = end;
  box.upper = upper;
  box.lowest = train_->offset[static_cast<std::size_t>(begin)];
  box.highest = train_->offset[static_cast<std::size_t>(end - 1)];
  box.item_begin = static_cast<Index>(x_.size());
  if (end - begin <= detail::beta_nodes) {
    for (Index i = begin; i < end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      x_.push_back(train_->offset[at]);
      c_.push_back(coefficient(train_->offset[at], upper));
      count_.push_back(train_->count[at]);
      positive_.push_back(train_->positive[at]);
    }
    box.c_lowest = c_[static_cast<std::size_t>(box.item_begin)];
    box.c_highest = c_.back();
  } else {
    constexpr int m = detail::beta_nodes;
    const ChebyshevRule<detail::beta_nodes>& rule = chebyshev_rule<detail::beta_nodes>();
    const double centre = box.lowest + 0.5 * (box.highest - box.lowest);
    const double half = 0.5 * (box.highest - box.lowest);
    double count[m], positive[m];
    const auto moments = exp_loops().chebyshev_moments;
    moments(&train_->offset[static_cast<std::size_t>(begin)],
            &train_->count[static_cast<std::size_t>(begin)], centre, 1.0 / half, end - begin, m,
            count);
    moments(&train_->offset[static_cast<std::size_t>(begin)],
            &train_->positive[static_cast<std::size_t>(begin)], centre, 1.0 / half, end - begin, m,
            positive);
    for (int k = m - 1; k >= 0; --k) {  // ascending
      double node_count = 0.0, node_positive = 0.0;
      for (int j = 0; j < m; ++j) {
        node_count += rule.basis[j][k] * count[j];
        node_positive += rule.basis[j][k] * positive[j];
      }
      x_.push_back(centre + half * rule.node[k]);
      c_.push_back(coefficient(x_.back(), upper));
      count_.push_back(node_count);
      positive_.push_back(node_positive);
    }
    box.c_lowest = coefficient(box.lowest, upper);
    box.c_highest = coefficient(box.highest, upper);
  }
  box.item_end = static_cast<Index>(x_.size());
  boxes_.push_back(box);
}

// Boxes with an exponent within the cut of the largest: exponents are concave along the boxes.
inline BetaSums::Window BetaSums::window(double s, double anchor) const {
  const Index n = static_cast<Index>(boxes_.size());
  const auto box = [&](Index b) -> const Box& { return boxes_[static_cast<std::size_t>(b)]; };
  Index low = 0, high = n - 1;  // the largest of the boxes' first exponents
  while (low < high) {
    const Index b = low + (high - low) / 2;
    if (at_lowest(box(b + 1), s, anchor) > at_lowest(box(b), s, anchor)) {
      low = b + 1;
    } else {
      high = b;
    }
  }
  Window out;
  out.top = std::max(at_lowest(box(low), s, anchor), at_highest(box(low), s, anchor));
  if (low > 0) out.top = std::max(out.top, at_highest(box(low - 1), s, anchor));
  const double floor = out.top - detail::beta_cut;
  Index a = 0, b = low;  // first box that reaches the floor
  while (a < b) {
    const Index mid = a + (b - a) / 2;
    if (at_highest(box(mid), s, anchor) >= floor || at_lowest(box(mid), s, anchor) >= floor) {
      b = mid;
    } else {
      a = mid + 1;
    }
  }
  out.first = a;
  a = low;
  b = n - 1;  // last box that reaches it
  while (a < b) {
    const Index mid = a + (b - a + 1) / 2;
    if (at_lowest(box(mid), s, anchor) >= floor || at_highest(box(mid), s, anchor) >= floor) {
      a = mid;
    } else {
      b = mid - 1;
    }
  }
  out.last = a;
  return out;
}

inline void BetaSums::activate(double s_low, double s_high, double anchor, const Window& low,
                               const Window& high, Active& active) const {
  active.anchor = anchor;
  active.middle = 0.5 * (s_low + s_high);
  active.x.clear();
  active.c.clear();
  active.count.clear();
  active.positive.clear();
  // windows move to the right as s grows
  const Index first = std::min(low.first, high.first), last = std::max(low.last, high.last);
  for (Index b = first; b <= last; ++b) {
    const Box& box = boxes_[static_cast<std::size_t>(b)];
    const double variation =
        std::max(std::abs(at_highest(box, s_low, anchor) - at_lowest(box, s_low, anchor)),
                 std::abs(at_highest(box, s_high, anchor) - at_lowest(box, s_high, anchor)));
    if (box.item_end - box.item_begin < box.end - box.begin &&
        variation > detail::beta_box_tolerance) {
      activate_values(box, s_low, s_high, anchor, low.top - detail::beta_cut,
                      high.top - detail::beta_cut, active);
      continue;
    }
    active.append(x_, c_, count_, positive_, box.item_begin, box.item_end,
                  relative(0.0, box.upper, anchor));
  }
  active.w.resize(active.x.size());
  const Window at_middle = window(active.middle, anchor);
  active.shift = at_middle.top;
  const Box& left = boxes_[static_cast<std::size_t>(first)];
  const Box& right = boxes_[static_cast<std::size_t>(last)];
  active.centre = 0.5 * (relative(left.lowest, left.upper, anchor) +
                         relative(right.highest, right.upper, anchor));
}

// The values of a box that reach the floor at either end of the stretch.
inline void BetaSums::activate_values(const Box& box, double s_low, double s_high, double anchor,
                                      double floor_low, double floor_high, Active& active) const {
  const auto counts = [&](Index i) {
    const double x = train_->offset[static_cast<std::size_t>(i)];
    const double at = relative(x, box.upper, anchor), c = coefficient(x, box.upper);
    return at * s_low + c >= floor_low || at * s_high + c >= floor_high;
  };
  // the exponents fall towards the end that is further from the mode: skip from there
  Index begin = box.begin, end = box.end;
  if (!counts(begin) && counts(end - 1)) {
    Index a = begin, b = end - 1;
    while (a < b) {
      const Index mid = a + (b - a) / 2;
      if (counts(mid))
        b = mid;
      else
        a = mid + 1;
    }
    begin = a;
  } else if (counts(begin) && !counts(end - 1)) {
    Index a = begin, b = end - 1;
    while (a < b) {
      const Index mid = a + (b - a + 1) / 2;
      if (counts(mid))
        a = mid;
      else
        b = mid - 1;
    }
    end = a + 1;
  }
  for (Index i = begin; i < end; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    active.x.push_back(relative(train_->offset[at], box.upper, anchor));
    active.c.push_back(coefficient(train_->offset[at], box.upper));
    active.count.push_back(train_->count[at]);
    active.positive.push_back(train_->positive[at]);
  }
}

inline void BetaSums::sums(Active& active, double s, double& count, double& positive) const {
  const ExpLoops& loops = exp_loops();
  const Index n = static_cast<Index>(active.x.size());
  const double shift = active.shift + (s - active.middle) * active.centre;
  loops.exp_line(active.x.data(), active.c.data(), s, shift, n, active.w.data());
  count = loops.dot(active.w.data(), active.count.data(), n);
  positive = loops.dot(active.w.data(), active.positive.data(), n);
}

inline void BetaSums::ratios(const double* logit, Index n, double* ratio) const {
  constexpr int m = detail::beta_nodes;
  const ChebyshevRule<detail::beta_nodes>& rule = chebyshev_rule<detail::beta_nodes>();
  Active active;
  Index i = 0;
  while (i < n) {
    const double s_low = logit[i] * inv_h_;
    const double anchor = logit[i] >= 0.0 ? 1.0 : 0.0;
    const Window low = window(s_low, anchor);
    // as far as the window's width allows; widths change slowly, so few halvings are needed
    const auto offset_of = [&](double x, bool upper) { return relative(x, upper, anchor); };
    const Box& left = boxes_[static_cast<std::size_t>(low.first)];
    double s_high = logit[n - 1] * inv_h_;
    if (s_low < 0.0) s_high = std::min(s_high, 0.0);  // where the anchor changes
    Window high = low;
    if (s_high > s_low) {
      const Box& right = boxes_[static_cast<std::size_t>(low.last)];
      const double from = offset_of(left.lowest, left.upper);
      const double width = offset_of(right.highest, right.upper) - from;
      if (width * (s_high - s_low) > detail::beta_stretch) {
        s_high = s_low + 0.9 * detail::beta_stretch / width;
      }
      for (;;) {
        high = window(s_high, anchor);
        const Box& end = boxes_[static_cast<std::size_t>(high.last)];
        const double spread = offset_of(end.highest, end.upper) - from;
        if (spread * (s_high - s_low) <= detail::beta_stretch) break;
        s_high = s_low + 0.5 * (s_high - s_low);
      }
    }
    Index stop = i, distinct = 0;  // ties cost nothing, and many of them make no stretch
    while (stop < n && logit[stop] * inv_h_ <= s_high) {
      if (stop == i || logit[stop] != logit[stop - 1]) ++distinct;
      ++stop;
    }
    if (distinct <= m) {
      double last_s = 0.0;
      for (Index j = i; j < stop; ++j) {
        const double s = logit[j] * inv_h_;
        if (j > i && s == last_s) {
          ratio[j] = ratio[j - 1];
          continue;
        }
        last_s = s;
        const Window own = j == i ? low : window(s, anchor);
        activate(s, s, anchor, own, own, active);
        double count, positive;
        sums(active, s, count, positive);
        ratio[j] = positive / count;
      }
    } else {
      activate(s_low, s_high, anchor, low, high, active);
      const double half = 0.5 * (s_high - s_low);
      double count[m], positive[m], count_series[m], positive_series[m];
      for (int k = 0; k < m; ++k) {
        sums(active, active.middle + half * rule.node[k], count[k], positive[k]);
      }
      for (int j = 0; j < m; ++j) {
        count_series[j] = positive_series[j] = 0.0;
        for (int k = 0; k < m; ++k) {
          count_series[j] += rule.basis[j][k] * count[k];
          positive_series[j] += rule.basis[j][k] * positive[k];
        }
      }
      exp_loops().chebyshev_ratio(logit + i, active.middle / inv_h_, inv_h_ / half, stop - i, m,
                                  positive_series, count_series, ratio + i);
    }
    i = stop;
  }
}

}  // namespace calibrisk

#endif
