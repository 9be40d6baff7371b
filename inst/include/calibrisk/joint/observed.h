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
  Vector gap, half;  // the influence of a row is 2 half
  // here: from squared residuals; null: of calibration, with the observed gap's slope
  RungMoments here, null;
};

inline Vector observed_scores(const JointParts& parts, const Vector& e) {
  Vector out(parts.scores.cols());
  for (Index j = 0; j < out.size(); ++j) {
    out(j) = parts.scores.col(j).cwiseProduct(parts.rows.weight).dot(e);
  }
  return out;
}

namespace detail {

inline double row_dot(const LocalRow& row, const Vector& c) {
  double out = 0.0;
  for (int a = 0; a < row.size; ++a) out += c(row.column[a]) * row.value[a];
  return out;
}

inline ObservedRung observe_rung(const Engine& engine, const JointRows& rows, const JointRung& rung,
                                 const Vector& e) {
  const Index n = rows.size(), k = rung.basis.columns();
  const Matrix sums = parallel_reduce(
      engine, n, rung_block, Matrix(Matrix::Zero(k, 2)),
      [&](Index begin, Index size) {
        Matrix part = Matrix::Zero(k, 2);
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          rung.basis.row(i, row);
          const double term = rows.weight(i) * e(i);
          for (int a = 0; a < row.size; ++a) {
            part(row.column[a], 0) += term * row.value[a];
            part(row.column[a], 1) += term * rung.scale(i) * row.value[a];
          }
        }
        return part;
      },
      [](Matrix& total, const Matrix& part) { total += part; });
  const Vector plain = rung.inverse * sums.col(0), scaled = rung.inverse * sums.col(1);
  ObservedRung out;
  out.gap.resize(n);
  out.half.resize(n);
  struct Sums {
    double psi = 0.0, drift = 0.0, here = 0.0, null = 0.0;
  };
  const Sums of_rows = parallel_reduce(
      engine, n, rung_block, Sums(),
      [&](Index begin, Index size) {
        Sums part;
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          rung.basis.row(i, row);
          const double square = rows.weight(i) * rows.each(i), variance = rows.variance(i);
          const double own = rung.leverage(i) * e(i);
          const double gap = rung.scale(i) * (row_dot(row, plain) - own);
          const double f = (gap + row_dot(row, scaled) - own * rung.scale(i)) / 2.0;
          out.gap(i) = gap;
          out.half(i) = e(i) * f;
          part.psi += rows.weight(i) * e(i) * gap;
          part.drift += square * variance * f * f;
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
    const double off = out.half(i) - out.psi;
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

inline std::vector<ObservedRung> observe_rungs(const Engine& engine, const JointParts& parts,
                                               const Vector& e) {
  std::vector<ObservedRung> out;
  for (const auto& rung : parts.rungs) {
    out.push_back(detail::observe_rung(engine, parts.rows, *rung, e));
  }
  return out;
}

// The statistics in the order of the parts.
inline Vector observed_statistics(const JointParts& parts, const Vector& e,
                                  const std::vector<ObservedRung>& rungs) {
  std::vector<double> forms;
  for (std::size_t m = 0; m < rungs.size(); ++m) {
    if (!(parts.rungs[m]->share > 0.0)) continue;
    forms.push_back(nine_digits(rungs[m].psi / std::sqrt(parts.rungs[m]->null.variance)));
  }
  Vector out(3 + static_cast<Index>(forms.size()));
  const Vector z = observed_scores(parts, e).cwiseQuotient(parts.information.cwiseSqrt());
  score_statistics(parts, z, [&](Index at) -> double& { return out(at); });
  for (std::size_t m = 0; m < forms.size(); ++m) out(3 + static_cast<Index>(m)) = forms[m];
  return out;
}

}  // namespace calibrisk

#endif
