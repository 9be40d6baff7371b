// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel density ratios with the Beta kernel in near-linear time. With s = logit(z) / h the
// weight of a training value p at the query z is, up to a common factor,
//   exp(c(p) + p s),   c(p) = -lgamma(p/h + 1) - lgamma((1-p)/h + 1)   (strictly concave in p)
// so numerator and denominator of the ratio are Laplace transforms of discrete measures.
//   * Training values are in boxes (kde_beta_boxes.h). Only boxes within 42 of the largest exponent
//     count; concavity finds them, and they move to the right as s grows.
//   * Nodes stand for the values of a box wherever interpolating its terms errs by less than about
//     1e-12 of the largest term: with v the variation of the exponent over the box, 16 nodes err by
//     2 (v/4)^16 / 16! of the term in its middle. If they vary faster (a query far from all
//     training values), the cells of the box are tried in the same way, and then the values.
//   * Where many queries share a stretch of s, the two sums are evaluated at 16 Chebyshev nodes
//     of the stretch and interpolated there: the common factor cancels in the ratio. Even
//     coefficients of a sum of exponentials have one sign, so the last ones bound what is left out;
//     where they are not small the stretch is halved.
//   * Blocks of the training rows have sums of their own, of the same exponentials; the ratio that
//     leaves a block out has those of the others. Where the others are a small part of all, what is
//     small next to all is not small next to them: their values are summed one by one, and where
//     these are many by a training set of their own.
// Ties are merged first.
#ifndef CALIBRISK_METHODS_KDE_BETA_SUMS_H
#define CALIBRISK_METHODS_KDE_BETA_SUMS_H

#include <calibrisk/math/dirichlet_log_gamma.h>
#include <calibrisk/methods/kde_beta_boxes.h>

namespace calibrisk {

namespace detail {

constexpr double half_epsilon = 1.1102230246251565e-16;  // 2^-53
constexpr double beta_cut = 42.0;      // exponents below the largest that still count
constexpr double beta_stretch = 26.0;  // (width of the window in p) x (of the stretch in s)
constexpr double beta_last_coefficients = 1e-11;  // of a stretch, relative to the smallest value
constexpr double beta_least_share = 0.125;        // of all, that the blocks of a ratio have
constexpr Index beta_few_values = 64;             // that are summed one by one

// Whether 16 nodes are enough for terms that vary by v and stay `below` the largest: tangents of
// 16 log(v / 4) - v / 2 - 3.
inline bool nodes_are_enough(double v, double below) {
  return v <= 6.0 || below >= std::min(0.86 + 1.63 * (v - 6.0), 9.36 + 0.73 * (v - 13.0));
}

}  // namespace detail

// The two sums of each block for one training set and one bandwidth, at least that of the cells.
class BetaSums {
 public:
  BetaSums(const BetaCells& cells, double bandwidth)
      : cells_(&cells),
        bandwidth_(bandwidth),
        inv_h_(inverse_bandwidth(bandwidth)),
        log_inv_h_(std::log(inv_h_)),
        items_(cells.values.n_blocks),
        others_(static_cast<std::size_t>(cells.values.n_blocks)) {
    const Index n = static_cast<Index>(cells.cells.size());
    for (Index begin = 0; begin < n;) begin = add_box(begin);
  }

  // The ratios of all sets, whose queries together have these ascending logits; needs at least one
  // training value. NaN where all of them are left out.
  void ratios(const double* logit, Index n, std::vector<BetaRatios>& sets) const;
  // r at z = 1 (`one`) or z = 0
  double ratio_at_end(Index left_out, bool one) const;

 private:
  struct Box {
    Index cell_begin, cell_end;
    Index item_begin, item_end;  // what stands for them
    double lowest, highest;      // first and last offset
    double c_lowest, c_highest;
    bool upper, condensed;
  };
  // Values or nodes relative to an end of [0, 1].
  struct Terms {
    std::vector<double> x, c, weight;
  };
  // The values that count on a stretch of s.
  struct Active {
    const double *x, *c, *weight;
    Index n;
    double shift;   // exponent taken out at the middle of the stretch
    double middle;  // of the stretch
    double centre;  // of the window, relative to the anchor
  };
  struct Window {
    Index largest = 0;          // box with the largest first exponent
    Index first = 0, last = 0;  // boxes
    double top = 0.0;           // largest exponent seen, relative to the anchor
  };

  const Box& box(Index b) const { return boxes_[static_cast<std::size_t>(b)]; }
  double coefficient(double x, bool upper) const {
    const double p = upper ? 1.0 + x : x, u = upper ? -x : 1.0 - x;
    const double log_p = upper ? std::log1p(x) : (x > 0.0 ? std::log(x) : 0.0);
    const double log_u = upper ? (x < 0.0 ? std::log(-x) : 0.0) : std::log1p(-x);
    return -reduced_log_gamma(p, log_p, inv_h_, log_inv_h_) -
           reduced_log_gamma(u, log_u, inv_h_, log_inv_h_);
  }
  Index add_box(Index begin);

  // offset relative to the anchor's
  static double relative(double x, bool upper, double anchor) {
    return upper ? x + (1.0 - anchor) : x - anchor;
  }
  double at_lowest(const Box& box, double s, double anchor) const {
    return relative(box.lowest, box.upper, anchor) * s + box.c_lowest;
  }
  double at_highest(const Box& box, double s, double anchor) const {
    return relative(box.highest, box.upper, anchor) * s + box.c_highest;
  }

  Window window(double s, double anchor, const Window& before) const;
  Active activate(double s_low, double s_high, double anchor, const Window& low, const Window& high,
                  Terms& copies) const;
  bool enough(const Box& box, double s, double anchor, double top) const {
    const double a = at_lowest(box, s, anchor), b = at_highest(box, s, anchor);
    return detail::nodes_are_enough(std::abs(a - b), top - std::max(a, b));
  }
  void copy_values(const BetaCell& cell, double s_low, double s_high, double anchor,
                   double floor_low, double floor_high, Terms& copies) const;
  void append(const BetaTraining& from, Index begin, Index end, bool upper, double anchor,
              Terms& copies) const;
  // w_i = exp(c_i + x_i s) up to a factor
  static void exponentials(const Active& active, double s, double* w) {
    exp_loops().affine(active.x, active.c, s, active.n, w);
    exp_loops().exp_shifted(w, active.shift + (s - active.middle) * active.centre, active.n);
  }
  bool stretch_ratios(const Active& active, double half, double last,
                      std::vector<BetaRatios>& sets) const;
  void query_ratios(const Active& active, double logit, std::vector<BetaRatios>& sets) const;
  bool is_small(const double* sums, const BetaPair& kept) const {
    return !(kept.count >= detail::beta_least_share * BetaPair(sums, items_.n_blocks, -1).count);
  }
  void one_by_one(std::size_t end, BetaRatios& set) const;
  bool few_values_ratio(double logit, Index left_out, double& ratio) const;
  const BetaSums* others(Index left_out) const;

  // What is made of the training rows of all blocks but one, where it is asked for.
  struct Others {
    std::once_flag made;
    std::unique_ptr<BetaSums> sums;
  };

  const BetaCells* cells_;
  double bandwidth_, inv_h_, log_inv_h_;
  std::vector<Box> boxes_;
  BetaTraining items_;
  std::vector<double> c_, from_zero_, from_one_;  // of the items
  mutable std::vector<Others> others_;
};

// The box that begins with this cell; returns the cell after it.
inline Index BetaSums::add_box(Index begin) {
  const std::vector<BetaCell>& cells = cells_->cells;
  const BetaCell& first = cells[static_cast<std::size_t>(begin)];
  const double last = detail::beta_box_end(first.lowest, inv_h_, cells_->slope_limit);
  Index end = begin + 1;
  bool condensed = first.condensed;
  while (end < static_cast<Index>(cells.size())) {
    const BetaCell& cell = cells[static_cast<std::size_t>(end)];
    if (cell.upper != first.upper || cell.highest > last) break;
    condensed = condensed || cell.condensed;
    ++end;
  }
  const Index item_begin = items_.n();
  const Index from = first.item_begin, to = cells[static_cast<std::size_t>(end - 1)].item_end;
  if (detail::condense(cells_->items, from, to, items_)) condensed = true;
  for (Index i = item_begin; i < items_.n(); ++i) {
    const double x = items_.offset[static_cast<std::size_t>(i)];
    c_.push_back(coefficient(x, first.upper));
    from_zero_.push_back(relative(x, first.upper, 0.0));
    from_one_.push_back(relative(x, first.upper, 1.0));
  }
  const double highest = cells[static_cast<std::size_t>(end - 1)].highest;
  boxes_.push_back({begin, end, item_begin, items_.n(), first.lowest, highest,
                    condensed ? coefficient(first.lowest, first.upper)
                              : c_[static_cast<std::size_t>(item_begin)],
                    condensed ? coefficient(highest, first.upper) : c_.back(), first.upper,
                    condensed});
  return end;
}

// Boxes with an exponent within the cut of the largest: exponents are concave along the boxes.
// `before`: the window of a smaller s.
inline BetaSums::Window BetaSums::window(double s, double anchor, const Window& before) const {
  const Index n = static_cast<Index>(boxes_.size());
  Window out = before;
  Index& at = out.largest;
  double first_exponent = at_lowest(box(at), s, anchor);
  while (at + 1 < n) {
    const double next = at_lowest(box(at + 1), s, anchor);
    if (!(next > first_exponent)) break;
    first_exponent = next;
    ++at;
  }
  out.top = std::max(first_exponent, at_highest(box(at), s, anchor));
  if (at > 0) out.top = std::max(out.top, at_highest(box(at - 1), s, anchor));
  const double floor = out.top - detail::beta_cut;
  const auto reaches = [&](Index b) {
    return at_highest(box(b), s, anchor) >= floor || at_lowest(box(b), s, anchor) >= floor;
  };
  while (out.first < at && !reaches(out.first)) ++out.first;
  out.last = std::max(out.last, at);
  while (out.last + 1 < n && reaches(out.last + 1)) ++out.last;
  return out;
}

inline BetaSums::Active BetaSums::activate(double s_low, double s_high, double anchor,
                                           const Window& low, const Window& high,
                                           Terms& copies) const {
  const Index first = low.first, last = high.last;
  bool as_they_are = true;
  const auto is_enough = [&](Index b) {
    return !box(b).condensed || (enough(box(b), s_low, anchor, low.top) &&
                                 (s_high == s_low || enough(box(b), s_high, anchor, high.top)));
  };
  for (Index b = first; b <= last && as_they_are; ++b) as_they_are = is_enough(b);
  Active active;
  if (as_they_are) {
    const Index begin = box(first).item_begin;
    active.x = (anchor == 0.0 ? from_zero_ : from_one_).data() + begin;
    active.c = c_.data() + begin;
    active.weight = items_.weights(begin);
    active.n = box(last).item_end - begin;
  } else {
    copies.x.clear();
    copies.c.clear();
    copies.weight.clear();
    for (Index b = first; b <= last; ++b) {
      const Box& whole = box(b);
      if (is_enough(b)) {
        for (Index i = whole.item_begin; i < whole.item_end; ++i) {
          const std::size_t at = static_cast<std::size_t>(i);
          copies.x.push_back((anchor == 0.0 ? from_zero_ : from_one_)[at]);
          copies.c.push_back(c_[at]);
        }
        copies.weight.insert(copies.weight.end(), items_.weights(whole.item_begin),
                             items_.weights(whole.item_end));
        continue;
      }
      for (Index k = whole.cell_begin; k < whole.cell_end; ++k) {
        const BetaCell& cell = cells_->cells[static_cast<std::size_t>(k)];
        Box part = whole;
        part.lowest = cell.lowest;
        part.highest = cell.highest;
        part.c_lowest = coefficient(cell.lowest, cell.upper);
        part.c_highest = coefficient(cell.highest, cell.upper);
        if (!cell.condensed ||
            (enough(part, s_low, anchor, low.top) && enough(part, s_high, anchor, high.top))) {
          append(cells_->items, cell.item_begin, cell.item_end, cell.upper, anchor, copies);
        } else {
          copy_values(cell, s_low, s_high, anchor, low.top - detail::beta_cut,
                      high.top - detail::beta_cut, copies);
        }
      }
    }
    active.x = copies.x.data();
    active.c = copies.c.data();
    active.weight = copies.weight.data();
    active.n = static_cast<Index>(copies.x.size());
  }
  active.middle = 0.5 * (s_low + s_high);
  active.shift = s_low == s_high ? low.top : window(active.middle, anchor, low).top;
  active.centre = 0.5 * (relative(box(first).lowest, box(first).upper, anchor) +
                         relative(box(last).highest, box(last).upper, anchor));
  return active;
}

inline void BetaSums::append(const BetaTraining& from, Index begin, Index end, bool upper,
                             double anchor, Terms& copies) const {
  for (Index i = begin; i < end; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    copies.x.push_back(relative(from.offset[at], upper, anchor));
    copies.c.push_back(coefficient(from.offset[at], upper));
  }
  copies.weight.insert(copies.weight.end(), from.weights(begin), from.weights(end));
}

// The values of a cell that reach the floor at either end of the stretch.
inline void BetaSums::copy_values(const BetaCell& cell, double s_low, double s_high, double anchor,
                                  double floor_low, double floor_high, Terms& copies) const {
  const auto counts = [&](Index i) {
    const double x = cells_->values.offset[static_cast<std::size_t>(i)];
    const double at = relative(x, cell.upper, anchor), c = coefficient(x, cell.upper);
    return at * s_low + c >= floor_low || at * s_high + c >= floor_high;
  };
  // the exponents fall towards the end that is further from the mode: skip from there
  Index begin = cell.begin, end = cell.end;
  if (!counts(begin) && counts(end - 1)) {
    Index a = begin, b = end - 1;
    while (a < b) {
      const Index mid = a + (b - a) / 2;
      if (counts(mid)) {
        b = mid;
      } else {
        a = mid + 1;
      }
    }
    begin = a;
  } else if (counts(begin) && !counts(end - 1)) {
    Index a = begin, b = end - 1;
    while (a < b) {
      const Index mid = a + (b - a + 1) / 2;
      if (counts(mid)) {
        a = mid;
      } else {
        b = mid - 1;
      }
    }
    end = a + 1;
  }
  append(cells_->values, begin, end, cell.upper, anchor, copies);
}

// False where 16 nodes are too few for the stretch, which ends at the logit `last`.
inline bool BetaSums::stretch_ratios(const Active& active, double half, double last,
                                     std::vector<BetaRatios>& sets) const {
  constexpr int m = detail::beta_nodes;
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const ChebyshevRule<m>& rule = chebyshev_rule<m>();
  const Index width = items_.width();
  Matrix terms(active.n, m);
  for (int k = 0; k < m; ++k) {
    exponentials(active, active.middle + half * rule.node[k], terms.col(k).data());
  }
  const Rows sums = terms.transpose() * Eigen::Map<const Rows>(active.weight, active.n, width);
  struct Series {
    bool known = false;
    double count[m], positive[m];
  };
  std::vector<Series> series(sets.size());
  for (std::size_t t = 0; t < sets.size(); ++t) {
    const BetaRatios& set = sets[t];
    if (set.end(last) == set.done) continue;
    double count[m], positive[m], smallest = 0.0;
    Series& of_set = series[t];
    of_set.known = true;
    for (int k = 0; k < m; ++k) {
      const double* at_node = sums.data() + k * width;
      const BetaPair kept(at_node, items_.n_blocks, set.set.left_out);
      if (set.set.left_out >= 0 && is_small(at_node, kept)) of_set.known = false;
      count[k] = kept.count;
      positive[k] = kept.positive;
      smallest = k == 0 ? count[k] : std::min(smallest, count[k]);
    }
    for (int j = m - 1; j >= 0 && of_set.known; --j) {
      of_set.count[j] = of_set.positive[j] = 0.0;
      for (int k = 0; k < m; ++k) {
        of_set.count[j] += rule.basis[j][k] * count[k];
        of_set.positive[j] += rule.basis[j][k] * positive[k];
      }
      if (j >= m - 2 && !(std::abs(of_set.count[j]) <= detail::beta_last_coefficients * smallest)) {
        return false;
      }
    }
  }
  for (std::size_t t = 0; t < sets.size(); ++t) {
    BetaRatios& set = sets[t];
    const std::size_t end = set.end(last);
    if (series[t].known) {
      exp_loops().chebyshev_ratio(&set.set.logit[set.done], active.middle / inv_h_, inv_h_ / half,
                                  static_cast<Index>(end - set.done), m, series[t].positive,
                                  series[t].count, &set.ratio[set.done]);
      set.done = end;
    } else {
      one_by_one(end, set);
    }
  }
  return true;
}

// The ratios at one query.
inline void BetaSums::query_ratios(const Active& active, double logit,
                                   std::vector<BetaRatios>& sets) const {
  const Index width = items_.width();
  std::vector<double> w(static_cast<std::size_t>(active.n)), sums(static_cast<std::size_t>(width));
  exponentials(active, active.middle, w.data());
  const double* weight = active.weight;
  for (const double term : w) {
    for (double& sum : sums) sum += term * *weight++;
  }
  for (BetaRatios& set : sets) {
    const std::size_t end = set.end(logit);
    if (end == set.done) continue;
    const BetaPair kept(sums.data(), items_.n_blocks, set.set.left_out);
    if (set.set.left_out >= 0 && is_small(sums.data(), kept)) {
      one_by_one(end, set);
    } else {
      for (; set.done < end; ++set.done) set.ratio[set.done] = kept.positive / kept.count;
    }
  }
}

// Where one query has too many values for it, the others are left to others() at once.
inline void BetaSums::one_by_one(std::size_t end, BetaRatios& set) const {
  for (; set.done < end; ++set.done) {
    const double logit = set.set.logit[set.done];
    if (!set.refused.empty() || !few_values_ratio(logit, set.set.left_out, set.ratio[set.done])) {
      set.refused.push_back(set.done);
    }
  }
}

// The values of other blocks around the query, from it to both sides. The exponents are concave:
// one that is below the cut ends its side.
inline bool BetaSums::few_values_ratio(double logit, Index left_out, double& ratio) const {
  const BetaTraining& values = cells_->values;
  const double s = logit * inv_h_, anchor = logit >= 0.0 ? 1.0 : 0.0;
  const double end = std::exp(-std::abs(logit)), near_end = end / (1.0 + end);
  const double* x = values.offset.data();
  const Index at = (logit >= 0.0 ? std::lower_bound(x + values.n_lower, x + values.n(), -near_end)
                                 : std::lower_bound(x, x + values.n_lower, near_end)) -
                   x;
  double top = -std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, BetaPair>> terms;
  Index seen = 0;
  for (const Index step : {Index{1}, Index{-1}}) {
    for (Index i = step > 0 ? at : at - 1; i >= 0 && i < values.n(); i += step) {
      if (++seen > 8 * detail::beta_few_values) return false;
      const BetaPair kept(values.weights(i), values.n_blocks, left_out);
      if (!(kept.count > 0.0)) continue;
      const bool upper = i >= values.n_lower;
      const double exponent = relative(x[i], upper, anchor) * s + coefficient(x[i], upper);
      if (exponent < top - detail::beta_cut) break;
      if (static_cast<Index>(terms.size()) == detail::beta_few_values) return false;
      top = std::max(top, exponent);
      terms.emplace_back(exponent, kept);
    }
  }
  double count = 0.0, positive = 0.0;
  for (const auto& term : terms) {
    const double w = std::exp(term.first - top);
    count += w * term.second.count;
    positive += w * term.second.positive;
  }
  ratio = positive / count;  // NaN without terms
  return true;
}

// NULL where all training values are left out.
inline const BetaSums* BetaSums::others(Index left_out) const {
  Others& out = others_[static_cast<std::size_t>(left_out)];
  std::call_once(out.made, [&] {
    const BetaCells& cells = cells_->others(left_out);
    if (cells.values.n() > 0) out.sums = std::make_unique<BetaSums>(cells, bandwidth_);
  });
  return out.sums.get();
}

// At the ends the density is taken literally (kde_beta.h).
inline double BetaSums::ratio_at_end(Index left_out, bool one) const {
  const BetaTraining& values = cells_->values;
  const Index at = one ? values.n() - 1 : 0;
  const bool same_side = one ? values.n_lower < values.n() : values.n_lower > 0;
  if (same_side && values.offset[static_cast<std::size_t>(at)] == 0.0) {
    const BetaPair kept(values.weights(at), values.n_blocks, left_out);
    if (kept.count > 0.0) return kept.positive / kept.count;
  }
  const double logit = beta_logit(one ? 1.0 - detail::half_epsilon : detail::half_epsilon);
  const BetaSet query{left_out, {}, {logit}, 0};
  std::vector<BetaRatios> out{BetaRatios(query)};
  ratios(&logit, 1, out);
  return out[0].ratio[0];
}

inline void BetaSums::ratios(const double* logit, Index n, std::vector<BetaRatios>& sets) const {
  Terms copies;
  Window before;
  double stretch = detail::beta_stretch;
  Index i = 0;
  while (i < n) {
    const double s_low = logit[i] * inv_h_;
    const double anchor = logit[i] >= 0.0 ? 1.0 : 0.0;
    const Window low = window(s_low, anchor, before);
    before = low;
    const auto end_of = [&](const Window& at) {
      return relative(box(at.last).highest, box(at.last).upper, anchor);
    };
    const double from = relative(box(low.first).lowest, box(low.first).upper, anchor);
    double s_high = logit[n - 1] * inv_h_;
    if (s_low < 0.0) s_high = std::min(s_high, 0.0);  // where the anchor changes
    s_high = std::min(s_high, s_low + stretch / std::max(end_of(low) - from, 1e-300));
    // the end of the queries up to s_high where they are few (ties count once), else i
    const auto few_until = [&](double last) {
      Index stop = i, distinct = 0;
      for (; stop < n && logit[stop] * inv_h_ <= last; ++stop) {
        if (stop == i || logit[stop] != logit[stop - 1]) ++distinct;
        if (distinct > detail::beta_nodes) return i;
      }
      return stop;
    };
    Index stop = few_until(s_high);
    bool interpolated = false;
    while (stop == i) {
      const Window high = window(s_high, anchor, low);
      if ((end_of(high) - from) * (s_high - s_low) <= 1.5 * stretch) {
        const double last = s_high;
        stop =
            static_cast<Index>(std::partition_point(logit + i, logit + n,
                                                    [&](double z) { return z * inv_h_ <= last; }) -
                               logit);
        const Active active = activate(s_low, s_high, anchor, low, high, copies);
        interpolated = stretch_ratios(active, 0.5 * (s_high - s_low), logit[stop - 1], sets);
        stretch = interpolated ? std::min(detail::beta_stretch, 1.3 * stretch) : 0.6 * stretch;
        if (interpolated) break;
      }
      s_high = s_low + 0.6 * (s_high - s_low);
      stop = s_high > s_low ? few_until(s_high) : i + 1;
    }
    for (Index j = i; j < stop && !interpolated; ++j) {
      if (j > i && logit[j] == logit[j - 1]) continue;
      const double s = logit[j] * inv_h_;
      before = window(s, anchor, before);
      query_ratios(activate(s, s, anchor, before, before, copies), logit[j], sets);
    }
    i = stop;
  }
  for (BetaRatios& set : sets) {
    const BetaSums* of_others = set.refused.empty() ? nullptr : others(set.set.left_out);
    if (!of_others) continue;
    BetaSet queries;
    for (const std::size_t at : set.refused) queries.logit.push_back(set.set.logit[at]);
    std::vector<BetaRatios> rest{BetaRatios(queries)};
    of_others->ratios(queries.logit.data(), static_cast<Index>(queries.logit.size()), rest);
    for (std::size_t r = 0; r < set.refused.size(); ++r) {
      set.ratio[set.refused[r]] = rest[0].ratio[r];
    }
  }
}

}  // namespace calibrisk

#endif
