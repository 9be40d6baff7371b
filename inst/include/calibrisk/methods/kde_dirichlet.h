// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel density ratios with the Dirichlet kernel, every pair evaluated:
//   r(x) = sum_i onehot(y_i) w_i / sum_i w_i,   log w_i = <p_i, log x> / h + c_i(h)
// (Gruber & Bach 2025, Eqs. 11 and 25). One product serves all bandwidths; a row's sums are
// kept per block (fold) with their own maximum, so that leaving out any fold costs K.
// At the boundary: 0 log 0 = 0, a log 0 = -Inf, and only where all weights of a training
// set vanish are the coordinates of x replaced by max(x_k, 2^-53).
#ifndef CALIBRISK_METHODS_KDE_DIRICHLET_H
#define CALIBRISK_METHODS_KDE_DIRICHLET_H

#include <calibrisk/math/exp_sums.h>
#include <calibrisk/methods/kde_training.h>

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

  Index m() const { return features.rows(); }
};

struct KdeValue {
  Index row;            // of the queries
  Index bandwidth;      // index
  Index left_out;       // block left out, 0 where none is
  const double* ratio;  // [K]; NaN where there is no training row
  double log_total;     // log sum_i w_i without the constant reduced_log_gamma_total
};

namespace detail {

constexpr double smallest_coordinate = 1.1102230246251565e-16;  // 2^-53

// The work of one query row, reused by the rows of a task.
class DirichletRow {
 public:
  DirichletRow(const KdeTraining& train, const Matrix& coefficients,
               const std::vector<double>& bandwidths)
      : train_(train),
        coefficients_(coefficients),
        bandwidths_(bandwidths),
        weights_(static_cast<std::size_t>(train.n())),
        segment_sums_(train.segments.size()),
        tops_(static_cast<std::size_t>(train.n_blocks())),
        ratio_(static_cast<std::size_t>(train.n_classes)) {}

  // <p_i, log x> is minus infinity where x_k = 0 < p_ik
  void mark_zeros(const ConstMatrixRef& features, Index row, double* s) const {
    for (Index k = 0; k < features.cols(); ++k) {
      if (features(row, k) > 0.0) continue;
      const double* p = train_.centres.col(k).data();
      for (Index i = 0; i < train_.n(); ++i) {
        if (p[i] > 0.0) s[i] = minus_infinity;
      }
    }
  }

  // Does any block but `left_out` have a weight above zero?
  bool any_weight(const double* s, Index left_out) const {
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      if (b == left_out) continue;
      for (Index i = block_begin(b); i < block_begin(b + 1); ++i) {
        if (s[i] > minus_infinity) return true;
      }
    }
    return false;
  }

  // All bandwidths for the blocks to leave out in turn (-1: none).
  template <class Sink>
  void ratios(const double* s, Index row, const std::vector<Index>& left_out, const Sink& sink) {
    const Index skip = left_out.size() == 1 ? left_out[0] : -1;
    for (std::size_t h = 0; h < bandwidths_.size(); ++h) {
      const double inv_h = inverse_bandwidth(bandwidths_[h]);
      const double* c = coefficients_.col(static_cast<Index>(h)).data();
      for (Index b = 0; b < train_.n_blocks(); ++b) {
        if (b != skip) sum_block(s, c, inv_h, b);
      }
      for (Index e : left_out) {
        const double log_total = combine(e);
        sink(KdeValue{row, static_cast<Index>(h), std::max<Index>(e, 0), ratio_.data(), log_total});
      }
    }
  }

 private:
  Index block_begin(Index b) const { return train_.block_begin[static_cast<std::size_t>(b)]; }

  void sum_block(const double* s, const double* c, double inv_h, Index b) {
    const ExpLoops& loops = exp_loops();
    const Index begin = block_begin(b), size = block_begin(b + 1) - begin;
    double* w = weights_.data();
    const double top = loops.affine(s + begin, c + begin, inv_h, size, w + begin);
    tops_[static_cast<std::size_t>(b)] = top;
    if (!(top > minus_infinity)) return;
    loops.exp_shifted(w + begin, top, size);
    for (Index g = segment(b); g < segment(b + 1); ++g) {
      const LabelSegment& part = train_.segments[static_cast<std::size_t>(g)];
      segment_sums_[static_cast<std::size_t>(g)] = loops.sum(w + part.begin, part.end - part.begin);
    }
  }

  Index segment(Index b) const { return train_.segment_begin[static_cast<std::size_t>(b)]; }

  // Fills ratio_ from all blocks but `left_out`; returns the log of the total weight.
  double combine(Index left_out) {
    double top = minus_infinity;
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      if (b != left_out) top = std::max(top, tops_[static_cast<std::size_t>(b)]);
    }
    std::fill(ratio_.begin(), ratio_.end(), 0.0);
    double total = 0.0;
    for (Index b = 0; b < train_.n_blocks(); ++b) {
      const double block_top = tops_[static_cast<std::size_t>(b)];
      if (b == left_out || !(block_top > minus_infinity)) continue;
      const double scale = std::exp(block_top - top);
      for (Index g = segment(b); g < segment(b + 1); ++g) {
        const double sum = scale * segment_sums_[static_cast<std::size_t>(g)];
        ratio_[static_cast<std::size_t>(train_.segments[static_cast<std::size_t>(g)].label)] += sum;
        total += sum;
      }
    }
    for (double& r : ratio_) r /= total;
    return top + std::log(total);
  }

  const KdeTraining& train_;
  const Matrix& coefficients_;
  const std::vector<double>& bandwidths_;
  std::vector<double> weights_;
  std::vector<double> segment_sums_;
  std::vector<double> tops_;
  std::vector<double> ratio_;
};

}  // namespace detail

// Calls sink(KdeValue) once for every row, bandwidth and block left out, from workers.
template <class Sink>
void dirichlet_ratios(const Engine& engine, const KdeTraining& train, const KdeQueries& queries,
                      const std::vector<double>& bandwidths, const Sink& sink,
                      ProgressSpan span = {}) {
  require(queries.features.cols() == train.centres.cols(), "kde: numbers of columns differ.");
  const Matrix coefficients = kde_log_coefficients(engine, train, bandwidths);
  // a tile of inner products should stay in the second-level cache
  const Index tile = std::clamp<Index>((Index{1} << 17) / std::max<Index>(train.n(), 1), 4, 32);
  const Index n_tasks = (queries.m() + tile - 1) / tile;
  parallel_for(
      engine, n_tasks,
      [&](Index task) {
        const Index first = task * tile, size = std::min(tile, queries.m() - first);
        const Matrix x = queries.features.middleRows(first, size);
        const Matrix log_x = (x.array() > 0.0).select(x.array().log(), 0.0).transpose();
        Matrix inner(train.n(), size);
        inner.noalias() = train.centres * log_x;
        detail::DirichletRow work(train, coefficients, bandwidths);
        std::vector<Index> left_out, kept, clamped;
        for (Index t = 0; t < size; ++t) {
          const std::size_t row = static_cast<std::size_t>(first + t);
          left_out.clear();
          if (queries.left_out[row] == kde_each_left_out) {
            for (Index b = 0; b < train.n_blocks(); ++b) left_out.push_back(b);
          } else {
            left_out.push_back(queries.left_out[row]);
          }
          double* s = inner.col(t).data();
          const Index self = queries.self.empty() ? -1 : queries.self[row];
          if (self >= 0) s[self] = detail::minus_infinity;
          if ((x.row(t).array() > 0.0).all()) {
            work.ratios(s, first + t, left_out, sink);
            continue;
          }
          work.mark_zeros(x, t, s);
          kept.clear();
          clamped.clear();
          for (Index e : left_out) (work.any_weight(s, e) ? kept : clamped).push_back(e);
          if (!kept.empty()) work.ratios(s, first + t, kept, sink);
          if (clamped.empty()) continue;
          const Vector log_clamped =
              x.row(t).array().max(detail::smallest_coordinate).log().transpose();
          inner.col(t).noalias() = train.centres * log_clamped;
          if (self >= 0) s[self] = detail::minus_infinity;
          work.ratios(s, first + t, clamped, sink);
        }
      },
      span);
}

}  // namespace calibrisk

#endif
