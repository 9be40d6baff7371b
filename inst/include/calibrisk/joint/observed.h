// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the parts that depend on outcomes: sums of residuals, the statistics, and of every
// rung psi, gaps and estimated moments.
#ifndef CALIBRISK_JOINT_OBSERVED_H
#define CALIBRISK_JOINT_OBSERVED_H

#include <calibrisk/joint/parts.h>
#include <calibrisk/math/growing_variance.h>

namespace calibrisk {

struct ObservedRung {
  double psi = 0.0;
  Vector plain, scaled;  // coefficients of the basis, from residuals and from scaled ones
  // here: from squared residuals; null: of calibration, with the observed gap's slope
  RungMoments here, null;
};

inline Vector observed_scores(const Engine& engine, const JointParts& parts, const Vector& e) {
  Vector out(parts.n_scores());
  for (Index j = 0; j < out.size(); ++j) {
    out(j) = sum_of_rows(engine, parts.rows.size(),
                         [&](Index i) { return parts.rows.weight(i) * parts.score(i, j) * e(i); });
  }
  return out;
}

// The gap of a row with residual e, and half of its influence per residual.
struct RowGap {
  double gap, half;
};

namespace detail {

inline RowGap gap_of(const JointRung& rung, const ObservedRung& observed, const PairRow& row,
                     double each, double e) {
  const LeftOut left = rung.left_out(row, each);
  const double own = left.leverage * e;
  const double gap = left.scale * (row.dot(observed.plain) - own);
  return {gap, (gap + row.dot(observed.scaled) - own * left.scale) / 2.0};
}

CALIBRISK_SHARED ObservedRung observe_rung(const Engine& engine, const JointRows& rows,
                                           const JointRung& rung, const Vector& e);

}  // namespace detail

CALIBRISK_SHARED std::vector<ObservedRung> observe_rungs(const Engine& engine,
                                                         const JointParts& parts, const Vector& e);

// The statistics in the order of the parts.
inline Vector observed_statistics(const JointParts& parts, const Vector& scores,
                                  const std::vector<ObservedRung>& rungs) {
  std::vector<double> forms;
  for (std::size_t m = 0; m < rungs.size(); ++m) {
    if (!(parts.rungs[m]->share > 0.0)) continue;
    forms.push_back(nine_digits(rungs[m].psi / std::sqrt(parts.rungs[m]->null.variance)));
  }
  Vector out(3 + static_cast<Index>(forms.size()));
  const Vector z = scores.cwiseQuotient(parts.information.cwiseSqrt());
  score_statistics(parts, z, [&](Index at) -> double& { return out(at); });
  for (std::size_t m = 0; m < forms.size(); ++m) out(3 + static_cast<Index>(m)) = forms[m];
  return out;
}

#if !defined(CALIBRISK_SHARED_PRODUCTS) || defined(CALIBRISK_COMPILE_JOINT)

namespace detail {

ObservedRung observe_rung(const Engine& engine, const JointRows& rows, const JointRung& rung,
                          const Vector& e) {
  const Index n = rows.size(), k = rung.basis.columns();
  const Matrix sums = parallel_reduce(
      engine, n, rung_block, Matrix(Matrix::Zero(k, 2)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, 2);
        for (Index i = begin; i < begin + size; ++i) {
          const PairRow row = rung.basis.row(i);
          const double term = rows.weight(i) * e(i);
          const double scale = rung.left_out(row, rows.each(i)).scale;
          row.add_to(term, part.col(0));
          row.add_to(term * scale, part.col(1));
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
  ObservedRung out;
  out.plain = rung.inverse * sums.col(0);
  out.scaled = rung.inverse * sums.col(1);
  struct Sums {
    double psi = 0.0, drift = 0.0, here = 0.0, null = 0.0;
  };
  const Sums of_rows = parallel_reduce(
      engine, n, rung_block, Sums(),
      [&](Index begin, Index size) {
        Sums part;
        for (Index i = begin; i < begin + size; ++i) {
          const PairRow row = rung.basis.row(i);
          const double square = rows.weight(i) * rows.each(i), variance = rows.variance(i);
          const RowGap at = gap_of(rung, out, row, rows.each(i), e(i));
          part.psi += rows.weight(i) * e(i) * at.gap;
          part.drift += square * variance * at.half * at.half;
          part.here += square * e(i) * e(i);
          part.null += square * variance;
        }
        return part;
      },
      [](Sums& total, const Sums& part) {
        total.psi += part.psi;
        total.drift += part.drift;
        total.here += part.here;
        total.null += part.null;
      });
  const double square = rows.total * rows.total;
  out.psi = of_rows.psi / rows.total;
  out.here = moments_of(engine, rows, rung, [&](Index i) { return e(i) * e(i); });
  out.null = rung.null;
  const auto slope = [&](double linear, double scatter, double variance) {
    return slope_of_form(out.psi, variance, linear, scatter);
  };
  const double influence = sum_of_rows(engine, n, [&](Index i) {
    const PairRow row = rung.basis.row(i);
    const double off = e(i) * gap_of(rung, out, row, rows.each(i), e(i)).half - out.psi;
    return rows.weight(i) * rows.each(i) * off * off;
  });
  out.here.slope =
      slope(4.0 * rows.count / (rows.count - 1.0) * influence / square - 2.0 * out.here.variance,
            4.0 * of_rows.here / square, out.here.variance);
  out.null.slope = slope(4.0 * of_rows.drift / square - 2.0 * out.null.variance,
                         4.0 * of_rows.null / square, out.null.variance);
  return out;
}

}  // namespace detail

std::vector<ObservedRung> observe_rungs(const Engine& engine, const JointParts& parts,
                                        const Vector& e) {
  std::vector<ObservedRung> out;
  for (const auto& rung : parts.rungs) {
    out.push_back(detail::observe_rung(engine, parts.rows, *rung, e));
  }
  return out;
}

#endif

}  // namespace calibrisk

#endif
