// SPDX-License-Identifier: GPL-3.0-or-later
// Bins of whole probability vectors: cells of the simplex by splits at medians, and the errors of
// the bins of any cells.
#ifndef CALIBRISK_CLASSICAL_SIMPLEX_BINS_H
#define CALIBRISK_CLASSICAL_SIMPLEX_BINS_H

#include <calibrisk/classical/cell_gaps.h>
#include <calibrisk/classical/crossfit_terms.h>

#include <limits>
#include <numeric>

namespace calibrisk {

namespace detail {

// The class of these rows whose probability has the largest variance, and its median.
inline std::pair<Index, double> widest_class(const ConstMatrixRef& probs,
                                             const std::vector<Index>& rows) {
  const auto n = static_cast<long double>(rows.size());
  Index widest = 0;
  double largest = -1.0;
  for (Index k = 0; k < probs.cols(); ++k) {
    // sums in long double: classes of equal variance are told apart by the last digits
    long double sum = 0.0L, squares = 0.0L;
    for (const Index i : rows) sum += probs(i, k);
    const auto mean = static_cast<double>(sum / n);
    for (const Index i : rows) {
      const double off = probs(i, k) - mean;
      squares += off * off;
    }
    if (static_cast<double>(squares) > largest) {
      largest = static_cast<double>(squares);
      widest = k;
    }
  }
  std::vector<double> values;
  for (const Index i : rows) values.push_back(probs(i, widest));
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return {widest, *half};
  return {widest, (*std::max_element(values.begin(), half) + *half) / 2.0};
}

// The same of rows that stand for several.
inline std::pair<Index, double> widest_class(const ConstMatrixRef& probs,
                                             const std::vector<Index>& rows, const Vector& copies) {
  double n = 0.0;
  for (const Index i : rows) n += copies(i);
  Index widest = 0;
  double largest = -1.0;
  for (Index k = 0; k < probs.cols(); ++k) {
    long double sum = 0.0L, squares = 0.0L;
    for (const Index i : rows) sum += static_cast<long double>(copies(i)) * probs(i, k);
    const auto mean = static_cast<double>(sum / static_cast<long double>(n));
    for (const Index i : rows) {
      const double off = probs(i, k) - mean;
      squares += static_cast<long double>(copies(i)) * (off * off);
    }
    if (static_cast<double>(squares) > largest) {
      largest = static_cast<double>(squares);
      widest = k;
    }
  }
  std::vector<Index> order = rows;
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return probs(a, widest) < probs(b, widest); });
  // the one in the middle, or the mean of the two there
  const double half = std::floor(n / 2.0);
  double reached = 0.0, below = 0.0;
  for (const Index i : order) {
    const double value = probs(i, widest);
    if (reached < half) below = value;
    reached += copies(i);
    if (reached > half) return {widest, 2.0 * half < n ? value : (below + value) / 2.0};
  }
  return {widest, below};
}

}  // namespace detail

// The cell of every row, from 1: rows are split at the median of their widest class, as long as
// both parts have `least` rows, which stand for `copies` (empty: 1). The order of the splits does
// not matter: each looks at its own set only.
inline std::vector<int> median_variance_cells(const ConstMatrixRef& probs, Index least,
                                              const Vector& copies = Vector()) {
  require(copies.size() == 0 || copies.size() == probs.rows(), "median_cells: one count per row.");
  const auto enough = [&](const std::vector<Index>& rows, double needed) {
    if (copies.size() == 0) return static_cast<double>(rows.size()) >= needed;
    double n = 0.0;
    for (const Index i : rows) n += copies(i);
    return n >= needed;
  };
  const double few = static_cast<double>(least);
  std::vector<int> cell(static_cast<std::size_t>(probs.rows()));
  std::vector<std::vector<Index>> waiting(1);
  waiting[0].resize(cell.size());
  std::iota(waiting[0].begin(), waiting[0].end(), Index{0});
  int cells = 0;
  while (!waiting.empty()) {
    const std::vector<Index> rows = std::move(waiting.back());
    waiting.pop_back();
    std::vector<Index> low, high;
    if (enough(rows, 2.0 * few)) {
      const auto [widest, median] = copies.size() == 0 ? detail::widest_class(probs, rows)
                                                       : detail::widest_class(probs, rows, copies);
      for (const Index i : rows) (probs(i, widest) < median ? low : high).push_back(i);
    }
    if (enough(low, few) && enough(high, few)) {
      waiting.push_back(std::move(high));
      waiting.push_back(std::move(low));
      continue;
    }
    ++cells;
    for (const Index i : rows) cell[static_cast<std::size_t>(i)] = cells;
  }
  return cell;
}

// The p-th power of the error, with each row's influence. Of other folds the gaps that a row's
// bound needs (cell_gaps.h); of p = Inf, where the error is the largest gap, which has no tangent,
// the slopes: each fold looks at the cell and class that stand out in the others.
struct SimplexErrors {
  double value = 0.0, lone = 0.0;  // see BinTerms
  Vector rows;
  Matrix gaps;
};

// Sums over the rows of cells: weights, their squares, rows, and of each class residuals and
// frequencies, in means.
class SimplexBins {
 public:
  // Cells and folds count from 1; without folds there are no gaps. Weights, and the copies that
  // have them together, are empty or one per row.
  SimplexBins(const ConstMatrixRef& probs, const ConstMatrixRef& residuals,
              const std::vector<int>& cell, const ConstVectorRef& weights,
              const Vector& copies = Vector())
      : residuals_(residuals), weights_(weights), cell_(cell) {
    const Index n = residuals.rows(), d = residuals.cols();
    require(probs.rows() == n && probs.cols() == d && static_cast<Index>(cell.size()) == n && n > 0,
            "simplex_bins: a cell and a residual of each class for every row.");
    require(*std::min_element(cell.begin(), cell.end()) > 0, "simplex_bins: cells count from 1.");
    const Index cells = *std::max_element(cell.begin(), cell.end());
    size_ = squares_ = count_ = Vector::Zero(cells);
    gap_ = frequency_ = Matrix::Zero(cells, d);
    for (Index i = 0; i < n; ++i) {
      const double w = weights.size() == 0 ? 1.0 : weights(i);
      const Index c = at(i);
      size_(c) += w;
      const double count = copies.size() == 0 ? 1.0 : copies(i);
      squares_(c) += w * w / count;
      count_(c) += count;
      gap_.row(c) += w * residuals.row(i);
      frequency_.row(c) += w * (probs.row(i) - residuals.row(i));
    }
    gap_.array().colwise() /= size_.array();
    frequency_.array().colwise() /= size_.array();
    share_ = size_ / size_.sum();
  }

  SimplexErrors errors(double p, bool debias, const std::vector<int>& fold) const {
    SimplexErrors out = std::isinf(p) ? largest() : powers(p, debias);
    if (fold.empty()) return out;
    out.gaps = cell_gaps(residuals_, cell_.data(), fold.data(), weights_, rounding);
    if (std::isinf(p)) out.gaps = slopes(out.gaps, fold);
    return out;
  }

 private:
  static constexpr double rounding = 1e-13;  // a gap of 0 up to rounding has no sign

  Index at(Index row) const { return cell_[static_cast<std::size_t>(row)] - 1; }
  static double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

  SimplexErrors largest() const {
    SimplexErrors out;
    Index c = 0, k = 0;
    out.value = gap_.cwiseAbs().maxCoeff(&c, &k);
    out.rows = Vector::Constant(residuals_.rows(), out.value);
    for (Index i = 0; i < out.rows.size(); ++i) {
      if (at(i) == c) {
        out.rows(i) += sign(gap_(c, k)) * (residuals_(i, k) - gap_(c, k)) / share_(c);
      }
    }
    return out;
  }

  SimplexErrors powers(double p, bool debias) const {
    SimplexErrors out;
    const Matrix size = gap_.cwiseAbs();
    Vector centre =
        size.unaryExpr([p](double g) { return p == 2.0 ? g * g : std::pow(g, p); }).rowwise().sum();
    // a gap of 0, up to rounding, has noise on both sides
    Matrix slope = gap_.unaryExpr([p](double g) {
      if (p == 1.0) return g < -rounding ? -1.0 : 1.0;
      return p * std::pow(std::abs(g), p - 1.0) * sign(g);
    });
    for (Index c = 0; debias && c < centre.size(); ++c) {
      if (count_(c) < 2.0) {
        out.lone += share_(c) * centre(c);
        centre(c) = 0.0;
        slope.row(c).setZero();
        continue;
      }
      // sum over classes of the variances of the observed frequencies
      const double concentration = squares_(c) / (size_(c) * size_(c));
      const auto f = frequency_.row(c).array();
      centre(c) -= (f * (1.0 - f)).sum() * concentration / (1.0 - concentration);
    }
    out.value = share_.dot(centre);
    out.rows.resize(residuals_.rows());
    for (Index i = 0; i < out.rows.size(); ++i) {
      out.rows(i) = centre(at(i)) + slope.row(at(i)).dot(residuals_.row(i) - gap_.row(at(i)));
    }
    return out;
  }

  Matrix slopes(const Matrix& gaps, const std::vector<int>& fold) const {
    const Index n = gaps.rows();
    Matrix out = Matrix::Zero(n, gaps.cols());
    const auto finite = [&](Index i, Index k) {
      return std::isfinite(gaps(i, k)) ? gaps(i, k) : 0.0;
    };
    for (int f = 1; f <= *std::max_element(fold.begin(), fold.end()); ++f) {
      const auto held = [&](Index i) { return fold[static_cast<std::size_t>(i)] == f; };
      Index row = 0, column = 0;
      double largest = 0.0;
      for (Index k = 0; k < gaps.cols(); ++k) {
        for (Index i = 0; i < n; ++i) {
          if (held(i) && std::abs(finite(i, k)) > largest) {
            largest = std::abs(finite(i, k));
            row = i;
            column = k;
          }
        }
      }
      if (largest == 0.0) continue;
      for (Index i = 0; i < n; ++i) {
        if (held(i) && at(i) == at(row)) {
          out(i, column) = sign(gaps(row, column)) / share_(at(row));
        }
      }
    }
    return out;
  }

  ConstMatrixRef residuals_;
  ConstVectorRef weights_;
  const std::vector<int>& cell_;
  Vector size_, squares_, count_, share_;
  Matrix gap_, frequency_;
};

}  // namespace calibrisk

#endif
