// SPDX-License-Identifier: GPL-3.0-or-later
// Draws on the line with the Laplace or a Matern target kernel. With t = rate |x - z| these are
// e^-t times a polynomial of t, and sum_z over the draws z <= x moves from one point to the next,
// rate times their distance being g, by
//   s_0 <- e^-g s_0,  s_1 <- e^-g (s_1 + g s_0),  s_2 <- e^-g (s_2 + 2 g s_1 + g^2 s_0),
// s_k = sum_z t^k e^-t; likewise from the right. All pairs of draws of two predictions then cost
// O(S), not O(S^2).
#ifndef CALIBRISK_TARGETS_DRAWS_LINE_H
#define CALIBRISK_TARGETS_DRAWS_LINE_H

#include <calibrisk/math/vector_exp.h>
#include <calibrisk/targets/target.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace calibrisk {

// scale * sum_k coefficient_k t^k e^-t
struct LineKernel {
  double rate, scale;
  Index order;  // 1, 2 or 3 terms: e^-t, (1 + t) e^-t, (1 + t + t^2 / 3) e^-t

  static std::optional<LineKernel> of(const Kernel& kernel) {
    if (kernel.form != Kernel::Form::leaf || kernel.n_columns >= 0) return std::nullopt;
    if (const auto* laplace = std::get_if<LaplaceKernel>(&kernel.leaf)) {
      return LineKernel{1.0 / laplace->bandwidth, kernel.scale, 1};
    }
    if (const auto* matern = std::get_if<MaternKernel>(&kernel.leaf)) {
      const Index order = matern->nu == 0.5 ? 1 : matern->nu == 1.5 ? 2 : 3;
      return LineKernel{std::sqrt(2.0 * matern->nu) / matern->bandwidth, kernel.scale, order};
    }
    return std::nullopt;
  }
};

namespace detail {

struct LinePoint {
  double x;
  Index owner;
};

inline bool is_left(const LinePoint& a, const LinePoint& b) { return a.x < b.x; }

// Sorts points that are sorted in consecutive runs.
inline void merge_runs(std::vector<LinePoint>& points, std::size_t run) {
  std::vector<LinePoint> merged(points.size());
  for (; run < points.size(); run *= 2) {
    for (std::size_t begin = 0; begin < points.size(); begin += 2 * run) {
      const std::size_t middle = std::min(begin + run, points.size()),
                        end = std::min(begin + 2 * run, points.size());
      const LinePoint* from = points.data();
      std::merge(from + begin, from + middle, from + middle, from + end, merged.data() + begin,
                 is_left);
    }
    points.swap(merged);
  }
}

// out(a, b) += sum over the points x of b and the draws z of a with z < x (z <= x if `closed`);
// both sorted. `reflected`: the line's other direction.
inline void sweep_line(const LineKernel& kernel, const std::vector<LinePoint>& draws,
                       const std::vector<LinePoint>& points, bool reflected, bool closed,
                       MatrixRef out) {
  const std::size_t n_draws = draws.size(), n_points = points.size();
  const auto nth = [&](const std::vector<LinePoint>& list, std::size_t k) {
    return reflected ? LinePoint{-list[list.size() - 1 - k].x, list[list.size() - 1 - k].owner}
                     : list[k];
  };
  // distances from one point to the next, and from a draw to the point that meets it first
  Eigen::ArrayXd gap(n_points), entry(n_draws);
  std::vector<std::size_t> upto(n_points);  // draws that have entered at each point
  std::size_t entered = 0;
  for (std::size_t k = 0; k < n_points; ++k) {
    const double x = nth(points, k).x;
    gap[static_cast<Index>(k)] = k > 0 ? kernel.rate * (x - nth(points, k - 1).x) : 0.0;
    while (entered < n_draws) {
      const double z = nth(draws, entered).x;
      if (!(z < x || (closed && z == x))) break;
      entry[static_cast<Index>(entered++)] = kernel.rate * (x - z);
    }
    upto[k] = entered;
  }
  Eigen::ArrayXd gap_decay = -gap, entry_decay = -entry.head(static_cast<Index>(entered));
  exp_in_place(gap_decay);
  exp_in_place(entry_decay);
  Eigen::ArrayXXd s = Eigen::ArrayXXd::Zero(out.rows(), 3);
  std::size_t d = 0;
  for (std::size_t k = 0; k < n_points; ++k) {
    const double g = gap[static_cast<Index>(k)], e = gap_decay[static_cast<Index>(k)];
    if (kernel.order > 2) s.col(2) = e * (s.col(2) + (2.0 * g) * s.col(1) + (g * g) * s.col(0));
    if (kernel.order > 1) s.col(1) = e * (s.col(1) + g * s.col(0));
    s.col(0) *= e;
    for (; d < upto[k]; ++d) {
      const Index a = nth(draws, d).owner;
      const double t = entry[static_cast<Index>(d)], w = entry_decay[static_cast<Index>(d)];
      s(a, 0) += w;
      s(a, 1) += t * w;
      s(a, 2) += t * t * w;
    }
    auto to = out.col(nth(points, k).owner).array();
    if (kernel.order == 1) {
      to += s.col(0);
    } else if (kernel.order == 2) {
      to += s.col(0) + s.col(1);
    } else {
      to += s.col(0) + s.col(1) + s.col(2) / 3.0;
    }
  }
}

}  // namespace detail

// Cost of a block of A x B pairs: (A + B) S log(A + B) for the order and A B S for the sums.
class LineDrawsTarget : public DrawsTarget {
 public:
  // draws: [n x S], outcome: [n x 1]
  LineDrawsTarget(Kernel kernel, LineKernel line, MatrixView draws, MatrixView outcome)
      : DrawsTarget(std::move(kernel), draws, outcome), line_(line), sorted_(draws.transpose()) {
    for (Index i = 0; i < sorted_.cols(); ++i) {
      std::sort(sorted_.col(i).data(), sorted_.col(i).data() + sorted_.rows());
    }
  }
  void inner(Index i, Index j, MatrixRef out) const override {
    const double s = static_cast<double>(sorted_.rows());
    sums(i, points_of(j, out.cols()), out);
    for (Index b = 0; b < out.cols(); ++b) {
      for (Index a = 0; a < out.rows(); ++a) {
        if (i + a == j + b) {
          out(a, b) = (out(a, b) - s * line_.scale) / (s * (s - 1.0));
        } else {
          out(a, b) /= s * s;
        }
      }
    }
  }
  void expectation(Index i, const ConstMatrixRef& points, MatrixRef out) const override {
    std::vector<detail::LinePoint> at;
    for (Index b = 0; b < points.rows(); ++b) at.push_back({points(b, 0), b});
    std::sort(at.begin(), at.end(), detail::is_left);
    sums(i, at, out);
    out /= static_cast<double>(sorted_.rows());
  }
  double cost() const override { return 1.0 + static_cast<double>(sorted_.rows()); }

 private:
  // The draws of observations i, i + 1, ..., owned by 0, 1, ..., from left to right.
  std::vector<detail::LinePoint> points_of(Index i, Index size) const {
    std::vector<detail::LinePoint> out;
    out.reserve(static_cast<std::size_t>(size * sorted_.rows()));
    for (Index a = 0; a < size; ++a) {
      for (Index s = 0; s < sorted_.rows(); ++s) out.push_back({sorted_(s, i + a), a});
    }
    detail::merge_runs(out, static_cast<std::size_t>(sorted_.rows()));
    return out;
  }
  // out(a, b) = sum over the draws of observation i + a and the points of b.
  void sums(Index i, const std::vector<detail::LinePoint>& points, MatrixRef out) const {
    const std::vector<detail::LinePoint> draws = points_of(i, out.rows());
    out.setZero();
    detail::sweep_line(line_, draws, points, false, true, out);
    detail::sweep_line(line_, draws, points, true, false, out);
    if (line_.scale != 1.0) out *= line_.scale;
  }

  LineKernel line_;
  Matrix sorted_;  // [S x n]
};

}  // namespace calibrisk

#endif
