// SPDX-License-Identifier: GPL-3.0-or-later
// The accuracy of kernel ridges on a factor or a Krylov space is tied to the selected ridge: bases
// grow for it and its rivals until the numbers that are reported of them are stable. Here is what
// decides: errors of the ridges, who may still be selected, how far to grow next.
#ifndef CALIBRISK_METHODS_RIDGE_GROWTH_H
#define CALIBRISK_METHODS_RIDGE_GROWTH_H

#include <calibrisk/methods/ridge_spectrum.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace calibrisk {

// Limits for the rank of a factor. Cheap factors are exact: up to rank `direct` only rounding error
// is left, and up to rank `single`, if one ridge is fitted, only errors that this ridge does not
// notice. Otherwise ranks grow from `start`, first by `growth`, until the selected ridge's relative
// errors are below `risk` and `squared_error`, at most to rank `most`. Up to `small` rows all ranks
// are cheap. Up to `gram` rows the Gram matrix fits into memory, and block Krylov spaces may grow
// instead. They are used if the factor of rank `direct` leaves more than `diffuse` of the trace, or
// would need a rank of more than the share `spaces` of the rows (measured: they are then cheaper).
// Their products grow with the square of the rows, a factor's do not: from `wide` rows on `diffuse`
// grows with the rows.
struct RidgeLimits {
  double direct = 128, small = 256, single = 1536, start = 64, growth = 1.5, most = 5000,
         gram = 16384, wide = 4096, diffuse = 0.0025, spaces = 0.25, risk = 1e-6,
         squared_error = 2e-4;
};

namespace ridge {

// Relative errors are about 0.01 tolerance / ridge (measured on canonical problems).
inline double factor_tolerance(const ConstVectorRef& ridges) { return 1e-6 * ridges.minCoeff(); }

// Largest error from rounding in a double precision factor (measured on canonical problems).
inline Vector rounding_errors(RidgeType type, const ConstVectorRef& ridges) {
  if (type == RidgeType::two_step) return Vector::Zero(ridges.size());
  return 0.1 * std::numeric_limits<double>::epsilon() * ridges.cwiseInverse();
}

// Relative errors, one for each ridge.
struct Errors {
  Vector risk, squared_error;

  // Beside what is allowed.
  Vector excess(const RidgeLimits& limits) const {
    return (risk / limits.risk).cwiseMax(squared_error / limits.squared_error);
  }
};

using Rows = std::vector<Index>;

inline bool contains(const Rows& rows, Index row) {
  return std::find(rows.begin(), rows.end(), row) != rows.end();
}

inline Rows all_rows(Index n) {
  Rows out(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = i;
  return out;
}

inline Vector take(const Vector& x, const Rows& rows) { return take_rows(x, rows); }

inline void put(Vector& to, const Rows& rows, const Vector& values) {
  for (std::size_t i = 0; i < rows.size(); ++i) to(rows[i]) = values(static_cast<Index>(i));
}

inline RidgePath missing_path(Index ridges, Index folds) {
  const Matrix missing = Matrix::Constant(ridges, folds, not_a_number);
  return {missing, missing, missing, missing};
}

inline RidgePath take(const RidgePath& x, const Rows& rows) {
  return {take_rows(x.risk, rows), take_rows(x.squared, rows), take_rows(x.squared_test, rows),
          take_rows(x.rank, rows)};
}

inline void put(RidgePath& to, const Rows& rows, const RidgePath& part) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Index at = static_cast<Index>(i);
    to.risk.row(rows[i]) = part.risk.row(at);
    to.squared.row(rows[i]) = part.squared.row(at);
    to.squared_test.row(rows[i]) = part.squared_test.row(at);
    to.rank.row(rows[i]) = part.rank.row(at);
  }
}

// Mean of every row over the folds in which it is defined; NaN if there are none.
inline Vector mean_over_folds(const Matrix& x) {
  Vector out(x.rows());
  for (Index i = 0; i < x.rows(); ++i) {
    long double sum = 0.0L;
    Index n = 0;
    for (Index f = 0; f < x.cols(); ++f) {
      if (std::isnan(x(i, f))) continue;
      sum += static_cast<long double>(x(i, f));
      ++n;
    }
    out(i) = n > 0 ? static_cast<double>(sum / static_cast<long double>(n)) : not_a_number;
  }
  return out;
}

// Smallest mean risk; the smallest value on ties, the first where no risk is defined.
inline Index selected(const ConstVectorRef& mean_risk, const ConstVectorRef& values) {
  Index best = -1;
  for (Index v = 0; v < mean_risk.size(); ++v) {
    if (std::isnan(mean_risk(v))) continue;
    if (best < 0 || mean_risk(v) < mean_risk(best) ||
        (mean_risk(v) == mean_risk(best) && values(v) < values(best))) {
      best = v;
    }
  }
  return std::max<Index>(best, 0);
}

// Relative errors of the finer of two evaluations. An error is about proportional to the residual
// trace of its factor, so the change between the two says how large it is.
inline Errors change_errors(const RidgePath& coarse, const RidgePath& fine,
                            const ConstVectorRef& coarse_trace, const ConstVectorRef& fine_trace) {
  const double least = std::numeric_limits<double>::min();
  const Vector left = fine_trace.array() / (coarse_trace - fine_trace).array().max(least);
  const Vector risk = mean_over_folds(fine.risk);
  Vector scale = mean_over_folds(fine.squared).cwiseAbs();
  for (Index v = 0; v < scale.size(); ++v) {
    // squared errors near zero are judged on the scale of the risk's root
    const double root = 1e-3 * std::sqrt(std::abs(risk(v)));
    if (std::isnan(scale(v)) || root > scale(v)) scale(v) = root;
  }
  const auto change = [](const Matrix& a, const Matrix& b, const Vector& of) {
    const Vector relative = mean_over_folds(a - b).cwiseAbs().cwiseQuotient(of);
    return Vector(relative.array().isNaN().select(0.0, relative));
  };
  // for a larger change proportionality is not assumed
  const auto extrapolated = [&](const Vector& x) {
    return Vector((x.array() > 0.1).select(x, x.cwiseProduct(left)));
  };
  return {extrapolated(change(coarse.risk, fine.risk, risk)),
          extrapolated(change(coarse.squared, fine.squared, scale)
                           .cwiseMax(change(coarse.squared_test, fine.squared_test, scale)))};
}

// The largest ridge whose risk is surely a fiftieth above the selected one's, below it: beyond it
// the fit is noise, and no smaller one is looked at. (A bound closer to the smallest risk would not
// do: from no signal to signal the risk rises first.)
inline double noise_ridge(Index v, const ConstVectorRef& ridges, const Vector& risk,
                          const Vector& spread) {
  double out = 0.0;
  for (Index u = 0; u < ridges.size(); ++u) {
    if (ridges(u) < ridges(v) && risk(u) - spread(u) > 1.02 * risk(v)) {
      out = std::max(out, ridges(u));
    }
  }
  return out;
}

// The selected ridge v and those that might have a smaller risk, within five times the errors,
// which are extrapolated.
inline Rows rivals(Index v, const ConstVectorRef& ridges, const Vector& risk, const Vector& error) {
  const Vector spread = 5.0 * error.cwiseProduct(risk.cwiseAbs());
  const double lowest = noise_ridge(v, ridges, risk, spread);
  Rows out{v};
  for (Index u = 0; u < ridges.size(); ++u) {
    if (u != v && risk(u) - spread(u) < risk(v) + spread(v) && ridges(u) > lowest) out.push_back(u);
  }
  return out;
}

// Adds the next smaller and larger ridge to the selected one and its rivals.
inline Rows with_neighbours(Rows rows, Index v, const ConstVectorRef& ridges) {
  Index below = v, above = v;
  for (Index u = 0; u < ridges.size(); ++u) {
    if (ridges(u) < ridges(v) && (below == v || ridges(u) > ridges(below))) below = u;
    if (ridges(u) > ridges(v) && (above == v || ridges(u) < ridges(above))) above = u;
  }
  for (Index u : {below, above}) {
    if (!contains(rows, u)) rows.push_back(u);
  }
  return rows;
}

// Upper bounds for the errors of a risk and of a squared error, from the relative error e of the
// equation. (Measured with 10 and 26 classes, for errors of risks above 1e-8.) The error of a risk
// is at most the larger of 10 e^(3/2) and e sqrt(zero_risk / risk) / 5: a risk far below that of h
// = 0 magnifies a small error of h. The error of a squared error is at most 40 e.
inline Errors equation_bounds(const Vector& equation, double zero_risk, const Vector& risk) {
  Errors out{Vector(equation.size()), 40.0 * equation};
  for (Index v = 0; v < equation.size(); ++v) {
    const double ratio = zero_risk / std::max(risk(v), std::numeric_limits<double>::min());
    const double left = std::isnan(risk(v)) || !(ratio > 1.0) ? 1.0 : std::sqrt(ratio);
    out.risk(v) = std::max(10.0 * std::pow(equation(v), 1.5), 0.2 * left * equation(v));
  }
  return out;
}

// Errors of ridges that were evaluated on two spaces: three times the change between them, but at
// least a hundredth of the worst case. The change says more, since what is left of it falls at
// least as the error of the equation does.
inline Errors settled_errors(const Errors& worst, const Errors& found) {
  const auto of = [](const Vector& most, const Vector& change) {
    return Vector(most.cwiseMin((3.0 * change).cwiseMax(most / 100.0)));
  };
  return {of(worst.risk, found.risk), of(worst.squared_error, found.squared_error)};
}

// None where the selected ridge and all that might be it are settled, else those that are not: also
// the larger ones, which settle sooner. None beyond noise.
inline Rows open_ridges(const Vector& risk, const ConstVectorRef& ridges, const Vector& error,
                        const std::vector<bool>& settled) {
  const Index v = selected(risk, ridges);
  const bool unknown = std::isnan(risk(v));
  Vector spread = error.cwiseProduct(risk.cwiseAbs());
  for (Index u = 0; u < spread.size(); ++u) {
    if (settled[static_cast<std::size_t>(u)]) spread(u) = 0.0;
  }
  const double lowest = unknown ? -1.0 : noise_ridge(v, ridges, risk, spread);
  Rows out;
  bool any = false;
  for (Index u = 0; u < ridges.size(); ++u) {
    if (settled[static_cast<std::size_t>(u)] || ridges(u) <= lowest) continue;
    out.push_back(u);
    any = any || unknown || std::isnan(risk(u)) || risk(u) - spread(u) <= risk(v) + spread(v);
  }
  return any ? out : Rows();
}

// What one step has shown: the blocks it added, and by which factor each equation's error fell.
struct KrylovStep {
  Index blocks, grown;
  Vector fall;
};

// Half as many again, fewer where the selected ridge is about to settle: its error, `excess` times
// what is allowed, fell by the factor `fall` with the last `grown` blocks, and falls ever faster.
// Where it is settled, until those that might have a smaller risk are known to have none, or to lie
// beyond a ridge that is noise.
inline Index further_blocks(const KrylovStep& step, const Vector& risk,
                            const ConstVectorRef& ridges, const Vector& error, const Vector& excess,
                            const Rows& open) {
  const Index most = (step.blocks + 1) / 2, v = selected(risk, ridges);
  const double never = std::numeric_limits<double>::infinity();
  const auto until = [&](double times, Index u) {
    if (times <= 1.0) return 0.0;
    const double fall = step.fall(u);
    const double needed = std::log(times) / std::log(fall) * static_cast<double>(step.grown);
    return !(fall > 1.0) || std::isnan(needed) ? never : needed;
  };
  const auto known = [&](double level, Index u) {
    return until(error(u) / std::max(1.0 - level / risk(u), 0.0), u);
  };
  // of all that a ridge leaves open: blocks until none of them is a rival
  const auto rivals_above = [&](double ridge) {
    double out = 0.0;
    for (Index u : open) {
      if (ridges(u) > ridge) {
        const double rival = std::isnan(risk(u)) ? never : known(risk(v), u);
        out = std::max(out, std::min(rival, until(excess(u), u)));
      }
    }
    return out;
  };
  double needed = contains(open, v) ? until(excess(v), v) : rivals_above(0.0);
  for (Index u = 0; u < ridges.size() && !contains(open, v); ++u) {
    const double noise =
        ridges(u) < ridges(v) && !std::isnan(risk(u)) ? known(1.02 * risk(v), u) : never;
    needed = std::min(needed, std::max(rivals_above(ridges(u)), noise));
  }
  if (!(needed < static_cast<double>(most))) return most;
  return std::max<Index>(1, static_cast<Index>(std::ceil(needed)));
}

}  // namespace ridge
}  // namespace calibrisk

#endif
