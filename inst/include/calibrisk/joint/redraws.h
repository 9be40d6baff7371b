// SPDX-License-Identifier: GPL-3.0-or-later
// The joint distribution of the test's statistics under calibration: from redrawn outcomes, or
// where there are many failures to draw, from the normal distribution of the vector of all sums.
#ifndef CALIBRISK_JOINT_REDRAWS_H
#define CALIBRISK_JOINT_REDRAWS_H

#include <calibrisk/joint/row_draws.h>
#include <calibrisk/joint/row_redraws.h>
#include <calibrisk/math/tail_quantiles.h>
#include <calibrisk/short_work.h>

namespace calibrisk {

// Outcomes that differ from the likelier one of their row (`rare`), all redraws together.
constexpr double most_redrawn = 2e6;
constexpr double most_drawn_rows = 2e6;

inline Index statistics_of(const JointParts& parts, const GroupScan* scan) {
  return 3 + static_cast<Index>(tested_rungs(parts).size()) + (scan != nullptr ? 1 : 0);
}

inline bool redraws_rows(const JointRows& rows, Index redraws) {
  double rare = 0.0;
  for (Index i = 0; i < rows.size(); ++i) rare += rows.copies(i) * detail::rarer(rows.p(i));
  return rare * static_cast<double>(redraws) <= most_redrawn && rows.count <= most_drawn_rows;
}

// Statistics [redraws x parts] under calibration.
inline Matrix redraw_rows(const Engine& engine, const JointParts& parts, const GroupScan* scan,
                          Index redraws) {
  const detail::RowDraws draws(parts.rows);
  const auto factor = [&](Index i) { return draws.factor(i); };
  const Vector usual = (parts.rows.p.array() > 0.5).cast<double>();
  const RowRedraws<decltype(factor)> rows(parts, usual, factor, scan);
  Matrix out(redraws, statistics_of(parts, scan));
  // a draw and the sums that it changes take two operations
  const Engine within = engine_for(engine, 2.0 * parts.rows.count * static_cast<double>(redraws));
  parallel_for(within, (redraws + redraw_block - 1) / redraw_block, [&](Index task) {
    const Index begin = task * redraw_block, size = std::min(redraw_block, redraws - begin);
    Matrix block(size, out.cols());
    rows.statistics(
        size, [&](auto& sums) { draws.rare(static_cast<std::uint64_t>(begin), sums); }, block);
    out.middleRows(begin, size) = block;
  });
  return out;
}

// For redraws begin ... begin + size - 1, a column each.
CALIBRISK_SHARED Matrix standard_normals(Index rows, Index begin, Index size);

// The same from the normal distribution of all sums; own pairs are taken at their mean. The largest
// statistic of a group has its bound's distribution, independent of the others, which is
// conservative.
CALIBRISK_SHARED Matrix redraw_coefficients(const Engine& engine, const JointParts& parts,
                                            const GroupScan* scan, Index redraws);

inline Matrix null_statistics(const Engine& engine, const JointParts& parts, const GroupScan* scan,
                              Index redraws) {
  return redraws_rows(parts.rows, redraws) ? redraw_rows(engine, parts, scan, redraws)
                                           : redraw_coefficients(engine, parts, scan, redraws);
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_FLIPS)
Matrix standard_normals(Index rows, Index begin, Index size) {
  Matrix out(rows, size);
  for (Index r = 0; r < size; ++r) {
    for (Index j = 0; j < rows; ++j) {
      const double u = counter_uniform(redraw_key, static_cast<std::uint64_t>(begin + r),
                                       static_cast<std::uint64_t>(j));
      out(j, r) = normal_quantile(1.0 - u);
    }
  }
  return out;
}

Matrix redraw_coefficients(const Engine& engine, const JointParts& parts, const GroupScan* scan,
                           Index redraws) {
  const JointRows& rows = parts.rows;
  const std::vector<const JointRung*> rungs = tested_rungs(parts);
  const Index n = rows.size(), q = parts.n_scores();
  std::vector<Index> first(rungs.size() + 1, q);
  for (std::size_t m = 0; m < rungs.size(); ++m) {
    first[m + 1] = first[m] + rungs[m]->basis.columns();
  }
  const Index k = first.back();
  Matrix covariance = parallel_reduce(
      engine, n, rung_block, Matrix(Matrix::Zero(k, k)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, k);
        std::vector<std::pair<Index, double>> values;
        for (Index i = begin; i < begin + size; ++i) {
          values.clear();
          for (Index j = 0; j < q; ++j) values.emplace_back(j, parts.score(i, j));
          for (std::size_t m = 0; m < rungs.size(); ++m) {
            const PairRow row = rungs[m]->basis.row(i);
            const double root = std::sqrt(rungs[m]->left_out(row, rows.each(i)).scale);
            for (const auto& [column, value] : row.values()) {
              values.emplace_back(first[m] + column, root * value);
            }
          }
          const double w = rows.weight(i) * rows.each(i) * rows.variance(i);
          for (std::size_t a = 0; a < values.size(); ++a) {
            const double value = w * values[a].second;
            for (std::size_t b = 0; b <= a; ++b) {
              part(values[a].first, values[b].first) += value * values[b].second;
            }
          }
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
  covariance.triangularView<Eigen::StrictlyUpper>() = covariance.transpose();
  // in orthonormal bases, where all rungs have one scale
  Index kept = q;
  for (const JointRung* rung : rungs) kept += rung->columns();
  Matrix turn = Matrix::Zero(kept, k);
  for (Index j = 0; j < q; ++j) turn(j, j) = 1.0 / std::sqrt(parts.information(j));
  std::vector<Index> place(rungs.size() + 1, q);
  for (std::size_t m = 0; m < rungs.size(); ++m) {
    place[m + 1] = place[m] + rungs[m]->columns();
    turn.block(place[m], first[m], rungs[m]->columns(), first[m + 1] - first[m]) =
        rungs[m]->whitener;
  }
  Matrix turned = turn * covariance * turn.transpose();
  const SymEigen spectrum = engine.dense.sym_eigen(0.5 * (turned + turned.transpose()));
  const Matrix root = spectrum.vectors * spectrum.values.cwiseMax(0.0).cwiseSqrt().asDiagonal();

  Matrix out(redraws, statistics_of(parts, scan));
  parallel_for(engine, (redraws + redraw_block - 1) / redraw_block, [&](Index task) {
    const Index begin = task * redraw_block, size = std::min(redraw_block, redraws - begin);
    const Matrix sums = root * standard_normals(kept, begin, size);
    for (Index r = 0; r < size; ++r) {
      Vector z = sums.col(r).head(q);
      // the normal distribution has no skewness to take out
      out(begin + r, 0) = nine_digits(z.squaredNorm());
      out(begin + r, 1) = nine_digits(z(0));
      out(begin + r, 2) = nine_digits(-z(0));
      for (std::size_t m = 0; m < rungs.size(); ++m) {
        const double square = sums.col(r).segment(place[m], place[m + 1] - place[m]).squaredNorm();
        out(begin + r, 3 + static_cast<Index>(m)) = nine_digits(
            (square - rungs[m]->null.spread) / (rows.total * std::sqrt(rungs[m]->null.variance)));
      }
      if (scan == nullptr) continue;
      out(begin + r, out.cols() - 1) = GroupScan::bound(counter_uniform(
          redraw_key, static_cast<std::uint64_t>(begin + r), static_cast<std::uint64_t>(kept)));
    }
  });
  return out;
}
#endif

}  // namespace calibrisk

#endif
