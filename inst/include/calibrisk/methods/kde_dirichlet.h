// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel density ratios with the Dirichlet kernel, every pair evaluated:
//   r(x) = sum_i onehot(y_i) w_i / sum_i w_i,   log w_i = <p_i, log x> / h + c_i(h)
// (Gruber & Bach 2025, Eqs. 11 and 25). One product serves all bandwidths. A row's sums are kept
// per block (fold) with their own maximum, so leaving out any fold costs K. Training rows are taken
// in chunks that stay in the cache for a tile of queries. A chunk is not exponentiated if its
// weights are negligible in its block. At the boundary: 0 log 0 = 0, a log 0 = -Inf, and only where
// all weights of a training set vanish are the coordinates of x replaced by max(x_k, 2^-53).
#ifndef CALIBRISK_METHODS_KDE_DIRICHLET_H
#define CALIBRISK_METHODS_KDE_DIRICHLET_H

#include <calibrisk/math/row_pairs.h>
#include <calibrisk/methods/kde_training.h>

#include <functional>
#include <limits>
#include <vector>

namespace calibrisk {

// Which training blocks a row sees.
constexpr int kde_all_blocks = -1;
constexpr int kde_each_left_out = -2;  // one ratio for every block left out in turn

struct KdeQueries {
  Matrix features;            // [m x K] on the simplex
  std::vector<int> left_out;  // [m] a block, kde_all_blocks or kde_each_left_out
  std::vector<Index> self;    // [m] sorted training position to skip; empty: none
  Vector self_share;          // [m] log of the share of its weight that is kept; empty: none is
  bool whole_too = false;     // besides, the ratio that leaves no block out

  Index m() const { return features.rows(); }
};

struct KdeValue {
  Index row;            // of the queries
  Index bandwidth;      // index
  Index left_out;       // block left out, 0 where none is
  bool whole;           // none is
  const double* ratio;  // [K]; NaN where there is no training row
  double log_total;     // log sum_i w_i without the constant reduced_log_gamma_total
};

// What is done with ratios, each of which takes a sum over all training rows: a call costs nothing
// beside that.
using KdeSink = std::function<void(const KdeValue& value)>;

// Calls sink(KdeValue) once for every row, bandwidth and block left out, from workers.
CALIBRISK_SHARED void dirichlet_ratios(const Engine& engine, const KdeTraining& train,
                                       const KdeQueries& queries,
                                       const std::vector<double>& bandwidths, const KdeSink& sink,
                                       ProgressSpan span = {});

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSITIES)
namespace detail {

constexpr double smallest_coordinate = 1.1102230246251565e-16;  // 2^-53
// exp(-lost) of every training row together is far below the rounding of one
constexpr double lost = 80.0;

// The weights of a tile of queries, summed by segments of the training rows.
class DirichletTile {
 public:
  DirichletTile(const KdeTraining& train, const Matrix& coefficients,
                const std::vector<double>& bandwidths, Index queries)
      : train_(train),
        coefficients_(coefficients),
        n_bandwidths_(static_cast<Index>(bandwidths.size())),
        inner_(chunk, queries),
        weights_(chunk),
        tops_(train.n_blocks(), queries * n_bandwidths_),
        sums_(static_cast<Index>(train.segments.size()), queries * n_bandwidths_),
        ratio_(train.n_classes) {
    for (double h : bandwidths) inverse_.push_back(inverse_bandwidth(h));
  }

  // log_x: [size x K]; x: the queries themselves where <p_i, log x> is minus infinity if
  // x_k = 0 < p_ik, else empty; skip: per query a block that is not needed, -1: none; self and
  // self_share: as in KdeQueries.
  void add(const Matrix& log_x, const Matrix& x, const std::vector<Index>& skip,
           const std::vector<Index>& self, const Vector& self_share) {
    const Index size = log_x.rows();
    tops_.setConstant(minus_infinity);
    sums_.setZero();
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      const Index end = train_.block_begin[static_cast<std::size_t>(b + 1)];
      Index segment = train_.segment_begin[static_cast<std::size_t>(b)];
      for (Index begin = train_.block_begin[static_cast<std::size_t>(b)]; begin < end;
           begin += chunk) {
        const Index m = std::min(chunk, end - begin);
        while (train_.segments[static_cast<std::size_t>(segment)].end <= begin) ++segment;
        row_products(train_.centres.middleRows(begin, m), log_x, inner_.topLeftCorner(m, size));
        for (Index t = 0; t < size; ++t) {
          if (skip[static_cast<std::size_t>(t)] == b) continue;
          double* s = inner_.col(t).data();
          if (x.rows() > 0) mark_zeros(x, t, begin, m, s);
          Index own = self[static_cast<std::size_t>(t)] - begin;
          if (own >= m) own = -1;
          const double share = self_share.size() > 0 ? self_share(t) : minus_infinity;
          if (own >= 0 && !(share > minus_infinity)) {
            s[own] = minus_infinity;
            own = -1;
          }
          for (Index h = 0; h < n_bandwidths_; ++h) {
            add_chunk(s, begin, m, t, h, b, segment, own, share);
          }
        }
      }
    }
  }

  // Does any block but `left_out` have a weight above zero? (For one bandwidth is for all.)
  bool any_weight(Index t, Index left_out) const {
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      if (b != left_out && tops_(b, column(t, 0)) > minus_infinity) return true;
    }
    return false;
  }

  // All bandwidths of query t, which is `row`, without block `left_out` (-1: none).
  void ratios(Index t, Index row, Index left_out, const KdeSink& sink) {
    for (Index h = 0; h < n_bandwidths_; ++h) {
      const double log_total = combine(column(t, h), left_out);
      sink(KdeValue{row, h, std::max<Index>(left_out, 0), left_out < 0, ratio_.data(), log_total});
    }
  }

 private:
  static constexpr Index chunk = 512;

  Index column(Index t, Index h) const { return t * n_bandwidths_ + h; }

  void mark_zeros(const Matrix& x, Index t, Index begin, Index m, double* s) const {
    for (Index k = 0; k < x.cols(); ++k) {
      if (x(t, k) > 0.0) continue;
      const double* p = train_.centres.col(k).data() + begin;
      for (Index i = 0; i < m; ++i) {
        if (p[i] > 0.0) s[i] = minus_infinity;
      }
    }
  }

  // Rows begin, ... of block b; `segment`: the one of the first row; own: the row of which this
  // share is kept, or below 0.
  void add_chunk(const double* s, Index begin, Index m, Index t, Index h, Index b, Index segment,
                 Index own, double share) {
    const ExpLoops& loops = exp_loops();
    double* w = weights_.data();
    const double top = loops.affine(s, coefficients_.col(h).data() + begin,
                                    inverse_[static_cast<std::size_t>(h)], m, w);
    if (own >= 0) w[own] += share;
    double& block_top = tops_(b, column(t, h));
    if (!(top > block_top - lost)) return;  // -Inf too
    auto sums = sums_.col(column(t, h));
    if (top > block_top) {
      const Index first = train_.segment_begin[static_cast<std::size_t>(b)];
      sums.segment(first, segment - first + 1) *= std::exp(block_top - top);
      block_top = top;
    }
    loops.exp_shifted(w, block_top, m);
    for (Index g = segment, at = begin; at < begin + m; ++g) {
      const Index end = std::min(train_.segments[static_cast<std::size_t>(g)].end, begin + m);
      sums(g) += loops.sum(w + (at - begin), end - at);
      at = end;
    }
  }

  // Fills ratio_ from all blocks but `left_out`; returns the log of the total weight.
  double combine(Index column, Index left_out) {
    double top = minus_infinity;
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      if (b != left_out) top = std::max(top, tops_(b, column));
    }
    ratio_.setZero();
    double total = 0.0;
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      const double block_top = tops_(b, column);
      if (b == left_out || !(block_top > minus_infinity)) continue;
      const double scale = std::exp(block_top - top);
      const Index end = train_.segment_begin[static_cast<std::size_t>(b + 1)];
      for (Index g = train_.segment_begin[static_cast<std::size_t>(b)]; g < end; ++g) {
        const double sum = scale * sums_(g, column);
        ratio_(train_.segments[static_cast<std::size_t>(g)].label) += sum;
        total += sum;
      }
    }
    ratio_ /= total;
    return top + std::log(total);
  }

  const KdeTraining& train_;
  const Matrix& coefficients_;
  std::vector<double> inverse_;
  Index n_bandwidths_;
  Matrix inner_;    // <p_i, log x>, [chunk x queries]
  Vector weights_;  // [chunk]
  Matrix tops_;     // [blocks x (queries, bandwidths)], largest log weight so far
  Matrix sums_;     // [segments x (queries, bandwidths)], of weights over exp(top of the block)
  Vector ratio_;
};

}  // namespace detail

void dirichlet_ratios(const Engine& engine, const KdeTraining& train, const KdeQueries& queries,
                      const std::vector<double>& bandwidths, const KdeSink& sink,
                      ProgressSpan span) {
  require(queries.features.cols() == train.centres.cols(), "kde: numbers of columns differ.");
  const Matrix coefficients = kde_log_coefficients(engine, train, bandwidths);
  // small problems should have a task for every thread
  const Index tile = queries.m() < 512 ? 4 : 16;
  const Index n_tasks = (queries.m() + tile - 1) / tile;
  parallel_for(
      engine, n_tasks,
      [&](Index task) {
        const Index first = task * tile, size = std::min(tile, queries.m() - first);
        detail::DirichletTile work(train, coefficients, bandwidths, size);
        const Matrix x = queries.features.middleRows(first, size);
        const bool inside = (x.array() > 0.0).all();
        std::vector<std::vector<Index>> left_out(static_cast<std::size_t>(size));
        std::vector<Index> skip, self;
        const Vector share = queries.self_share.size() > 0
                                 ? Vector(queries.self_share.segment(first, size))
                                 : Vector();
        for (Index t = 0; t < size; ++t) {
          const std::size_t row = static_cast<std::size_t>(first + t);
          const int own = queries.left_out[row];
          std::vector<Index>& out = left_out[static_cast<std::size_t>(t)];
          if (own == kde_each_left_out) {
            for (Index b = 0; b < train.n_blocks(); ++b) out.push_back(b);
          } else {
            out.push_back(own);
          }
          if (queries.whole_too && own != kde_all_blocks) out.push_back(-1);
          skip.push_back(out.size() == 1 ? out[0] : -1);
          self.push_back(queries.self.empty() ? -1 : queries.self[row]);
        }
        work.add((x.array() > 0.0).select(x.array().log(), 0.0), inside ? Matrix() : x, skip, self,
                 share);
        bool clamp = false;
        for (Index t = 0; t < size; ++t) {
          std::vector<Index> clamped;
          for (Index e : left_out[static_cast<std::size_t>(t)]) {
            if (inside || (x.row(t).array() > 0.0).all() || work.any_weight(t, e)) {
              work.ratios(t, first + t, e, sink);
            } else {
              clamped.push_back(e);
            }
          }
          clamp = clamp || !clamped.empty();
          left_out[static_cast<std::size_t>(t)] = std::move(clamped);
        }
        if (!clamp) return;
        work.add(x.array().max(detail::smallest_coordinate).log(), Matrix(), skip, self, share);
        for (Index t = 0; t < size; ++t) {
          for (Index e : left_out[static_cast<std::size_t>(t)]) {
            work.ratios(t, first + t, e, sink);
          }
        }
      },
      span);
}
#endif

}  // namespace calibrisk

#endif
