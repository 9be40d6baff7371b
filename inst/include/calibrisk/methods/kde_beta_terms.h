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
//     leaves a block out has those of the others. Where the others are a small part of all, an
//     error that is small next to all is not small next to them. Their values are then summed one
//     by one, and where these are many, by a training set of their own.
// Ties are merged first.
#ifndef CALIBRISK_METHODS_KDE_BETA_TERMS_H
#define CALIBRISK_METHODS_KDE_BETA_TERMS_H

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
  void append(double x, bool upper, double anchor, Terms& copies) const {
    copies.x.push_back(relative(x, upper, anchor));
    copies.c.push_back(coefficient(x, upper));
  }
  // w_i = exp(c_i + x_i s) up to a factor
  static void exponentials(const Active& active, double s, double* w) {
    exp_loops().affine(active.x, active.c, s, active.n, w);
    exp_loops().exp_shifted(w, active.shift + (s - active.middle) * active.centre, active.n);
  }
  bool stretch_ratios(const Active& active, double half, double last,
                      std::vector<BetaRatios>& sets) const;
  void query_ratios(const Active& active, const double* logit, Index n,
                    std::vector<BetaRatios>& sets) const;
  // the two sums of each block, a column for each column of the terms
  Matrix block_sums(const Active& active, const Matrix& terms) const {
    return Eigen::Map<const Matrix>(active.weight, items_.width(), active.n) * terms;
  }
  bool is_small(const double* sums, const BetaPair& kept) const {
    return !(kept.count >= detail::beta_least_share * BetaPair(sums, items_.n_blocks, -1).count);
  }
  void one_by_one(std::size_t end, BetaRatios& set) const;
  bool few_values_ratio(double logit, Index left_out, double& ratio) const;
  const BetaSums* others(Index left_out) const;

  // Made of the training rows of all blocks but one, on request.
  struct Others {
    std::once_flag made;
    std::unique_ptr<BetaSums> sums;
  };

  const BetaCells* cells_;
  double bandwidth_, inv_h_, log_inv_h_;
  std::vector<Box> boxes_;
  BetaItems items_;
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
          const BetaItems& items = cells_->items;
          for (Index i = cell.item_begin; i < cell.item_end; ++i) {
            append(items.offset[static_cast<std::size_t>(i)], cell.upper, anchor, copies);
          }
          copies.weight.insert(copies.weight.end(), items.weights(cell.item_begin),
                               items.weights(cell.item_end));
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
  for (Index i = begin; i < end; ++i) {
    append(cells_->values.offset[static_cast<std::size_t>(i)], cell.upper, anchor, copies);
    BetaItems::append_weights(cells_->values, i, copies.weight);
  }
}

}  // namespace calibrisk

#endif
