// SPDX-License-Identifier: GPL-3.0-or-later
// The ratios of kde_beta_terms.h: from the terms that count at a query, or at the nodes of a
// stretch of queries.
#ifndef CALIBRISK_METHODS_KDE_BETA_SUMS_H
#define CALIBRISK_METHODS_KDE_BETA_SUMS_H

#include <calibrisk/methods/kde_beta_terms.h>

namespace calibrisk {

// False where 16 nodes are too few for the stretch, which ends at the logit `last`.
inline bool BetaSums::stretch_ratios(const Active& active, double half, double last,
                                     std::vector<BetaRatios>& sets) const {
  constexpr int m = detail::beta_nodes;
  const ChebyshevRule<m>& rule = chebyshev_rule<m>();
  const Index width = items_.width();
  Matrix terms(active.n, m);
  for (int k = 0; k < m; ++k) {
    exponentials(active, active.middle + half * rule.node[k], terms.col(k).data());
  }
  const Matrix sums = block_sums(active, terms);
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

// The ratios at these few queries themselves, ascending.
inline void BetaSums::query_ratios(const Active& active, const double* logit, Index n,
                                   std::vector<BetaRatios>& sets) const {
  std::vector<double> distinct(logit, logit + n);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Matrix terms(active.n, static_cast<Index>(distinct.size()));
  for (std::size_t q = 0; q < distinct.size(); ++q) {
    exponentials(active, distinct[q] * inv_h_, terms.col(static_cast<Index>(q)).data());
  }
  const Matrix sums = block_sums(active, terms);
  for (BetaRatios& set : sets) {
    const double* at_query = sums.data();
    for (const double at : distinct) {
      const std::size_t end = set.end(at);
      if (end > set.done) {
        const BetaPair kept(at_query, items_.n_blocks, set.set.left_out);
        if (set.set.left_out >= 0 && is_small(at_query, kept)) {
          one_by_one(end, set);
        } else {
          for (; set.done < end; ++set.done) set.ratio[set.done] = kept.positive / kept.count;
        }
      }
      at_query += items_.width();
    }
  }
}

// Queries one by one; those with too many values for that go to others() at once.
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
      const BetaPair kept(values, i, left_out);
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
    const BetaPair kept(values, at, left_out);
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
    while (true) {
      const bool few = stop > i;
      const double last = few ? logit[stop - 1] * inv_h_ : s_high;
      const Window high = window(last, anchor, low);
      if ((end_of(high) - from) * (last - s_low) <= 1.5 * stretch) {
        const Active active = activate(s_low, last, anchor, low, high, copies);
        if (few) {
          query_ratios(active, logit + i, stop - i, sets);
          break;
        }
        stop =
            static_cast<Index>(std::partition_point(logit + i, logit + n,
                                                    [&](double z) { return z * inv_h_ <= last; }) -
                               logit);
        const bool done = stretch_ratios(active, 0.5 * (last - s_low), logit[stop - 1], sets);
        stretch = done ? std::min(detail::beta_stretch, 1.3 * stretch) : 0.6 * stretch;
        if (done) break;
      }
      s_high = s_low + 0.6 * (last - s_low);
      stop = few_until(s_high);
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
