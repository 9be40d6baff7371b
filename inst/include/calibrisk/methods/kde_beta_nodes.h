// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over the rows of a path. Gaps z - r(z) are smooth in logit(z): over a cell of logits a
// polynomial through 16 Chebyshev nodes has them to about 1e-14. Where a cell has many rows, sums
// over its rows of gaps, squares and fourth powers are sums over its nodes. The weights of the
// nodes are the same for all bandwidths.
#ifndef CALIBRISK_METHODS_KDE_BETA_NODES_H
#define CALIBRISK_METHODS_KDE_BETA_NODES_H

#include <calibrisk/ladder/row_weights.h>
#include <calibrisk/math/row_order.h>
#include <calibrisk/methods/kde_beta_boxes.h>

namespace calibrisk {

namespace detail {

// Rows in ascending order of z.
struct BetaRows {
  std::vector<Index> row;
  std::vector<double> z;
  std::vector<int> label, fold;
  const RowWeights& weights;  // of the rows as they were given

  BetaRows(const Engine& engine, const ConstVectorRef& all, const Labels& labels,
           const std::vector<int>& folds, const RowWeights& row_weights)
      : row(ascending_order(all)), weights(row_weights) {
    require(static_cast<Index>(row.size()) == all.size() && labels.size() == row.size() &&
                folds.size() == row.size(),
            "kde: one label and one fold for each row are needed.");
    constexpr Index block = 8192;
    const auto n = static_cast<Index>(row.size());
    z.resize(row.size());
    label.resize(row.size());
    fold.resize(row.size());
    parallel_for(engine, (n + block - 1) / block, [&](Index task) {
      for (Index i = task * block; i < std::min(n, (task + 1) * block); ++i) {
        const auto to = static_cast<std::size_t>(i), from = static_cast<std::size_t>(row[to]);
        z[to] = all(row[to]);
        label[to] = labels[from];
        fold[to] = folds[from];
      }
    });
  }
};

// Sums over queries: of e g, g^2 and (e^2 - g^2)^2 of held-out rows with residual e and gap g, and
// of g^2 of test rows.
struct BetaFoldSums {
  double cross = 0.0, squared = 0.0, delta_squares = 0.0, squared_test = 0.0;

  void add(const BetaFoldSums& other) {
    cross += other.cross;
    squared += other.squared;
    delta_squares += other.delta_squares;
    squared_test += other.squared_test;
  }
};

// Widths of cells in units of the kernel's standard deviation at the smallest bandwidth, and at
// most, where the gap varies with z itself.
constexpr double beta_cell_width = 1.2;
constexpr double beta_widest_cell = 1.0;
constexpr Index beta_many_rows = 48;      // distinct values of a cell from which on it has nodes
constexpr double beta_last_gaps = 3e-14;  // last coefficients; rounding leaves about 5e-15

inline double beta_cell_end(double logit, double bandwidth) {
  const auto width = [&](double at) {
    const double half = 2.0 * std::cosh(0.5 * at);  // 1 / sqrt(p (1 - p))
    return std::min(beta_widest_cell, beta_cell_width * std::sqrt(bandwidth) * half);
  };
  const double first = width(logit);
  return logit + std::min(first, width(logit + first));
}

// A cell of rows [begin, end) that nodes stand for.
class BetaCellOfRows {
 public:
  static constexpr int m = beta_nodes;

  BetaCellOfRows(const BetaRows& rows, const std::vector<double>& residuals, Index n_folds,
                 const double* logit, Index from, Index to)
      : begin(from), end(to), folds_(static_cast<std::size_t>(n_folds) + 1) {
    half_ = 0.5 * (logit[end - 1] - logit[begin]);
    middle_ = logit[begin] + half_;
    struct Columns {
      std::vector<double> x, cross, total, lengths, squares;
    };
    std::vector<Columns> columns(folds_.size());
    for (Index i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i), f = static_cast<std::size_t>(rows.fold[at]);
      const double e = residuals[at], w = rows.weights(rows.row[at]),
                   squares = rows.weights.squares(rows.row[at]);
      Columns& of = columns[f];
      of.x.push_back(logit[i]);
      of.cross.push_back(w * e);
      of.total.push_back(w);
      of.lengths.push_back(squares * e * e);
      of.squares.push_back(squares);
      folds_[f].fourth += squares * e * e * e * e;
    }
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      const Columns& of = columns[f];
      folds_[f].known = !of.x.empty();
      set_weights(of.x, of.total, folds_[f].total);
      if (f == 0) continue;
      set_weights(of.x, of.cross, folds_[f].cross);
      set_weights(of.x, of.lengths, folds_[f].lengths);
      set_weights(of.x, of.squares, folds_[f].squares);
    }
  }

  Index begin, end;  // rows

  // ascending in k
  double node(int k) const { return middle_ + half_ * chebyshev_rule<m>().node[m - 1 - k]; }

  // Adds the sums of fold f for its gaps at the nodes, ascending; false where they are not smooth.
  bool add(std::size_t f, const double* gap, BetaFoldSums& sums) const {
    const OfFold &held_out = folds_[f], &test = folds_[0];
    if (!held_out.known && !test.known) return true;
    if (!is_smooth(gap)) return false;
    BetaFoldSums out;
    out.delta_squares = held_out.fourth;
    for (int k = 0; k < m; ++k) {
      const double squared = gap[k] * gap[k];
      out.squared_test += test.total[k] * squared;
      out.cross += held_out.cross[k] * gap[k];
      out.squared += held_out.total[k] * squared;
      out.delta_squares += (held_out.squares[k] * squared - 2.0 * held_out.lengths[k]) * squared;
    }
    sums.add(out);
    return true;
  }

 private:
  // Weights of the nodes: sums over the fold's rows of w e, w, w^2 e^2 and w^2 times what is 1 at
  // the node and 0 at the others.
  struct OfFold {
    double cross[m] = {}, total[m] = {}, lengths[m] = {}, squares[m] = {};
    double fourth = 0.0;  // sum of w^2 e^4
    bool known = false;
  };

  void set_weights(const std::vector<double>& x, const std::vector<double>& values,
                   double* out) const {
    const ChebyshevRule<m>& rule = chebyshev_rule<m>();
    double moments[m];
    exp_loops().chebyshev_moments(x.data(), values.data(), middle_, 1.0 / half_,
                                  static_cast<Index>(x.size()), m, moments);
    for (int k = 0; k < m; ++k) {
      for (int j = 0; j < m; ++j) out[k] += rule.basis[std::size_t(j)][m - 1 - k] * moments[j];
    }
  }

  static bool is_smooth(const double* gap) {
    const ChebyshevRule<m>& rule = chebyshev_rule<m>();
    double last[2] = {0.0, 0.0};
    for (int k = 0; k < m; ++k) {
      for (int j = 0; j < 2; ++j) last[j] += rule.basis[std::size_t(m - 1 - j)][m - 1 - k] * gap[k];
    }
    return std::abs(last[0]) <= beta_last_gaps && std::abs(last[1]) <= beta_last_gaps;
  }

  double middle_, half_;
  std::vector<OfFold> folds_;  // [0]: test rows
};

// The queries of a path: the rows, or nodes in their place.
struct BetaNodes {
  std::vector<BetaCellOfRows> cells;
  BetaQueries queries;
  std::vector<Index> source;  // row of a query; -1 - node where it is a node

  // `all`: the rows as queries
  BetaNodes(const Engine& engine, const BetaRows& rows, const std::vector<double>& residuals,
            Index n_folds, const BetaQueries& all, double smallest_bandwidth) {
    const std::vector<double>& logit = all.logit;
    const auto n = static_cast<Index>(logit.size());
    std::vector<std::pair<Index, Index>> large;
    for (Index begin = 0; begin < n;) {
      const auto from = logit.begin() + begin;
      const Index end =
          std::upper_bound(from, logit.end(), beta_cell_end(*from, smallest_bandwidth)) -
          logit.begin();
      Index distinct = 1;
      for (Index i = begin + 1; i < end && distinct < beta_many_rows; ++i) {
        if (logit[std::size_t(i)] != logit[std::size_t(i) - 1]) ++distinct;
      }
      if (distinct == beta_many_rows) large.emplace_back(begin, end);
      begin = end;
    }
    std::vector<std::unique_ptr<BetaCellOfRows>> made(large.size());
    parallel_for(engine, static_cast<Index>(large.size()), [&](Index c) {
      const auto at = static_cast<std::size_t>(c);
      made[at] = std::make_unique<BetaCellOfRows>(
          rows, residuals, n_folds, logit.data() - all.n_zeros, all.n_zeros + large[at].first,
          all.n_zeros + large[at].second);
    });
    for (const auto& cell : made) cells.push_back(std::move(*cell));
    queries.n_zeros = all.n_zeros;
    queries.n_ones = all.n_ones;
    Index row = 0;
    const auto add_rows = [&](Index end) {
      for (; row < end; ++row) add_row(rows, all, row);
    };
    Index node = 0;
    for (const BetaCellOfRows& cell : cells) {
      add_rows(cell.begin);
      for (int k = 0; k < BetaCellOfRows::m; ++k) {
        queries.logit.push_back(cell.node(k));
        queries.fold.push_back(0);  // without each fold in turn
        source.push_back(-1 - node++);
      }
      row = cell.end;
    }
    add_rows(all.n());
  }

  // The rows of some cells, in the same form.
  BetaNodes(const BetaRows& rows, const BetaQueries& all,
            const std::vector<const BetaCellOfRows*>& of) {
    for (const BetaCellOfRows* cell : of) {
      for (Index row = cell->begin; row < cell->end; ++row) add_row(rows, all, row);
    }
  }

 private:
  void add_row(const BetaRows& rows, const BetaQueries& all, Index row) {
    const Index inside = row - all.n_zeros;
    if (inside >= 0 && inside < static_cast<Index>(all.logit.size())) {
      queries.logit.push_back(all.logit[static_cast<std::size_t>(inside)]);
    }
    queries.fold.push_back(rows.fold[static_cast<std::size_t>(row)]);
    source.push_back(row);
  }
};

}  // namespace detail

}  // namespace calibrisk

#endif
