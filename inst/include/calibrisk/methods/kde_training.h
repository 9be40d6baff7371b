// SPDX-License-Identifier: GPL-3.0-or-later
// The training side of a kernel density ratio. Rows are sorted by block (fold) and label, so
// weights are summed segment by segment for any number of classes, and each pair is exponentiated
// once for all folds.
#ifndef CALIBRISK_METHODS_KDE_TRAINING_H
#define CALIBRISK_METHODS_KDE_TRAINING_H

#include <calibrisk/engine.h>
#include <calibrisk/math/dirichlet_log_gamma.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace calibrisk {

struct LabelSegment {
  Index begin, end;  // rows of one label in one block
  Index label;       // 0-based
};

struct KdeTraining {
  Matrix centres;                      // [n x K], sorted
  std::vector<Index> order;            // sorted position -> row of the input
  std::vector<Index> block_begin;      // [n_blocks + 1]
  std::vector<LabelSegment> segments;  // sorted
  std::vector<Index> segment_begin;    // [n_blocks + 1], into segments
  Index n_classes = 0;
  Vector log_weights;   // of the sorted rows; none where all count the same
  bool scalar = false;  // centres are (1 - z, z), whose sum is 1 by definition

  Index n() const { return centres.rows(); }
  Index n_blocks() const { return static_cast<Index>(block_begin.size()) - 1; }
};

// A scalar prediction as a point of the simplex: the Beta kernel is the Dirichlet kernel there.
CALIBRISK_SHARED Matrix simplex_features(const ConstMatrixRef& features);

// Rows with block[i] >= 0, sorted by (block, label); labels are 0-based here.
CALIBRISK_SHARED KdeTraining kde_training(const ConstMatrixRef& features, const Labels& labels,
                                          Index n_classes, const std::vector<Index>& block,
                                          Index n_blocks, bool scalar);

// c_i of the log weight <p_i, log x> / h + c_i, up to reduced_log_gamma_total: minus the sum of
// lgamma(p_ik / h + 1). [n x n_bandwidths], Gruber & Bach 2025, Eqs. 11, 25.
CALIBRISK_SHARED Matrix kde_log_coefficients(const Engine& engine, const KdeTraining& train,
                                             const std::vector<double>& bandwidths);

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_DENSITIES)
Matrix kde_log_coefficients(const Engine& engine, const KdeTraining& train,
                            const std::vector<double>& bandwidths) {
  const Index n = train.n(), n_bandwidths = static_cast<Index>(bandwidths.size());
  const Index tile = 256;
  Matrix out = Matrix::Zero(n, n_bandwidths);
  parallel_for(engine, (n + tile - 1) / tile, [&](Index task) {
    const Index begin = task * tile, size = std::min(tile, n - begin);
    const Matrix p = train.centres.middleRows(begin, size);
    const Matrix log_p = (p.array() > 0.0).select(p.array().log(), 0.0);
    // rows of predictions sum to 1 only up to rounding, which 1/h magnifies
    Vector excess = Vector::Zero(size);
    for (Index i = 0; i < size && !train.scalar; ++i) {
      long double total = -1.0L;
      for (Index k = 0; k < p.cols(); ++k) total += p(i, k);
      excess(i) = static_cast<double>(total);
    }
    for (Index h = 0; h < n_bandwidths; ++h) {
      const double inv_h = inverse_bandwidth(bandwidths[static_cast<std::size_t>(h)]);
      const double log_inv_h = std::log(inv_h);
      auto c = out.col(h).segment(begin, size);
      for (Index k = 0; k < p.cols(); ++k) {
        for (Index i = 0; i < size; ++i) {
          if (p(i, k) > 0.0) c(i) -= reduced_log_gamma(p(i, k), log_p(i, k), inv_h, log_inv_h);
        }
      }
      c -= excess * (inv_h * (log_inv_h - 1.0));
      if (train.log_weights.size() > 0) c += train.log_weights.segment(begin, size);
    }
  });
  return out;
}

KdeTraining kde_training(const ConstMatrixRef& features, const Labels& labels, Index n_classes,
                         const std::vector<Index>& block, Index n_blocks, bool scalar) {
  const Index n_rows = features.rows();
  require(static_cast<Index>(labels.size()) == n_rows, "kde: one label for each row is needed.");
  require(static_cast<Index>(block.size()) == n_rows, "kde: one block for each row is needed.");
  std::vector<Index> count(static_cast<std::size_t>(n_blocks * n_classes + 1), 0);
  const auto key = [&](Index i) {
    const Index label = labels[static_cast<std::size_t>(i)];
    require(label >= 0 && label < n_classes, "kde: a label is out of range.");
    return static_cast<std::size_t>(block[static_cast<std::size_t>(i)] * n_classes + label);
  };
  for (Index i = 0; i < n_rows; ++i) {
    if (block[static_cast<std::size_t>(i)] >= 0) ++count[key(i) + 1];
  }
  std::partial_sum(count.begin(), count.end(), count.begin());

  KdeTraining out;
  out.n_classes = n_classes;
  out.scalar = scalar;
  out.block_begin.push_back(0);
  out.segment_begin.push_back(0);
  for (Index b = 0; b < n_blocks; ++b) {
    for (Index label = 0; label < n_classes; ++label) {
      const std::size_t at = static_cast<std::size_t>(b * n_classes + label);
      if (count[at + 1] > count[at]) out.segments.push_back({count[at], count[at + 1], label});
    }
    out.block_begin.push_back(count[static_cast<std::size_t>((b + 1) * n_classes)]);
    out.segment_begin.push_back(static_cast<Index>(out.segments.size()));
  }
  out.order.resize(static_cast<std::size_t>(count.back()));
  std::vector<Index> next(count);
  for (Index i = 0; i < n_rows; ++i) {
    if (block[static_cast<std::size_t>(i)] < 0) continue;
    out.order[static_cast<std::size_t>(next[key(i)]++)] = i;
  }
  out.centres = take_rows(features, out.order);
  return out;
}

Matrix simplex_features(const ConstMatrixRef& features) {
  if (features.cols() > 1) return features;
  Matrix out(features.rows(), 2);
  out.col(1) = features.col(0);
  out.col(0) = 1.0 - features.col(0).array();
  return out;
}
#endif

}  // namespace calibrisk

#endif
