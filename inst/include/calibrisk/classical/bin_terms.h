// SPDX-License-Identifier: GPL-3.0-or-later
// Binned errors from the sums of their bins: the error with what its standard error needs, and its
// cross-fitted bound (R/crossfit.R). Sums are in long double, as those of R.
#ifndef CALIBRISK_CLASSICAL_BIN_TERMS_H
#define CALIBRISK_CLASSICAL_BIN_TERMS_H

#include <calibrisk/classical/crossfit_terms.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <cmath>

namespace calibrisk {

template <class Term>
double exact_sum(Index n, const Term& term) {
  long double sum = 0.0L;
  for (Index i = 0; i < n; ++i) sum += static_cast<long double>(term(i));
  return static_cast<double>(sum);
}

// Per bin: copies of rows, their weight, mean residual, share of events, mean square of the
// residuals about their mean, and sum w^2 / (sum w)^2.
struct BinTable {
  Vector copies, size, gap, accuracy, spread, concentration;
};

// The bins of cells [bins x folds] with these sums of w, w d, w d^2 and w y, of unweighted rows.
inline BinTable bins_of_sums(const Matrix& size, const Matrix& d, const Matrix& d2,
                             const Matrix& events) {
  const auto total = [](const Matrix& sums, Index bin) {
    return exact_sum(sums.cols(), [&](Index fold) { return sums(bin, fold); });
  };
  const Index n = size.rows();
  for (const Matrix* sums : {&d, &d2, &events}) {
    require(sums->rows() == n && sums->cols() == size.cols(), "bins_of_sums: cells are the same.");
  }
  BinTable out{Vector(n), Vector(n), Vector(n), Vector(n), Vector(n), Vector(n)};
  for (Index b = 0; b < n; ++b) {
    const double rows = total(size, b), gap = total(d, b) / rows;
    out.copies(b) = out.size(b) = rows;
    out.gap(b) = gap;
    out.accuracy(b) = total(events, b) / rows;
    out.spread(b) = std::max(total(d2, b) / rows - gap * gap, 0.0);
    out.concentration(b) = 1.0 / rows;
  }
  return out;
}

inline double sign_of(double x) { return static_cast<double>(x > 0.0) - (x < 0.0); }

// Variance of |g|^p for a normal g of variance 1 around 0. The influence of a row vanishes with the
// gaps where p > 1: no standard error is below that of a calibrated model with these bins.
inline double calibrated_variance(double p) {
  const double pi = std::acos(-1.0), half = std::tgamma((p + 1.0) / 2.0);
  return std::pow(2.0, p) / std::sqrt(pi) * (std::tgamma(p + 0.5) - half * half / std::sqrt(pi));
}

// The sum of share |gap|^p over bins (Gruber & Buettner 2022, Eq. 3 and Definition C.1; infinite p:
// the largest |gap|), of bins among rows of weight n. The influence of a row with the residual d is
// offset + slope d; `within` and `noise`: the variance within bins, and under calibration; `lone`:
// what debiasing leaves out, the squares of rows without another one in their bin.
struct BinTerms {
  double power = 0.0, within = 0.0, noise = 0.0, lone = 0.0;
  Vector share, centre, offset, slope;
};

inline BinTerms bin_terms(const BinTable& bins, double n, double p, bool debias) {
  const Index size = bins.gap.size();
  for (const Vector* column :
       {&bins.copies, &bins.size, &bins.accuracy, &bins.spread, &bins.concentration}) {
    require(size > 0 && column->size() == size, "bin_terms: one value per bin.");
  }
  BinTerms out;
  out.share = bins.size / n;
  out.centre = out.slope = out.offset = Vector::Zero(size);
  if (std::isinf(p)) {
    Index top = 0;
    for (Index b = 1; b < size; ++b) {
      if (std::abs(bins.gap(b)) > std::abs(bins.gap(top))) top = b;
    }
    out.power = std::abs(bins.gap(top));
    out.centre.setConstant(out.power);
    out.slope(top) = sign_of(bins.gap(top)) / out.share(top);
  } else {
    for (Index b = 0; b < size; ++b) {
      const double gap = bins.gap(b);
      out.centre(b) = std::pow(std::abs(gap), p);
      // of p = 1 a gap of 0 has noise on both sides
      out.slope(b) =
          p == 1.0 ? (gap < 0.0 ? -1.0 : 1.0) : p * std::pow(std::abs(gap), p - 1.0) * sign_of(gap);
    }
  }
  if (debias) {
    for (Index b = 0; b < size; ++b) {
      if (bins.copies(b) >= 2.0) {
        out.centre(b) -= bins.accuracy(b) * (1.0 - bins.accuracy(b)) * bins.concentration(b) /
                         (1.0 - bins.concentration(b));
      } else {
        out.lone += out.share(b) * out.centre(b);
        out.centre(b) = out.slope(b) = 0.0;
      }
    }
  }
  const auto sum = [&](const auto& term) { return exact_sum(size, term); };
  if (!std::isinf(p) || debias) {
    out.power = sum([&](Index b) { return out.share(b) * out.centre(b); });
  }
  out.within =
      sum([&](Index b) { return out.share(b) * (out.slope(b) * out.slope(b)) * bins.spread(b); });
  if (!std::isinf(p)) {
    const double unit = calibrated_variance(p);
    out.noise = sum([&](Index b) {
      const double noise = out.share(b) * out.share(b) *
                           (std::pow(bins.spread(b) * bins.concentration(b), p) * unit);
      if (!debias) return noise;
      // of pairs of different rows, with the spread that divides by n - 1
      const double others = 1.0 - bins.concentration(b);
      return bins.copies(b) >= 2.0 ? noise / (others * others * others) : 0.0;
    });
  }
  for (Index b = 0; b < size; ++b) out.offset(b) = out.centre(b) - out.slope(b) * bins.gap(b);
  return out;
}

// Without its noise the mean square is one over pairs of different rows of a bin: its trace and, of
// outcomes of a bin's mean prediction, its variance under calibration and its trace there.
struct BinPairs {
  double trace = 0.0, known = 0.0, known_trace = 0.0;
};

inline BinPairs bin_pairs(const BinTable& bins, const BinTerms& terms) {
  BinPairs out;
  for (Index b = 0; b < bins.gap.size(); ++b) {
    if (bins.copies(b) < 2.0) continue;
    const double unit = terms.share(b) * bins.concentration(b);
    const double mean = std::min(std::max(bins.gap(b) + bins.accuracy(b), 0.0), 1.0);
    const double own = unit * mean * (1.0 - mean);
    const double others = 1.0 - bins.concentration(b);
    out.trace += unit * bins.spread(b) / others;
    out.known += 2.0 * own * own / others;
    out.known_trace += own;
  }
  return out;
}

// The bound of bins with these weights and gaps from cells [bins x folds] with these sums of w, w d
// and w d^2: the term of a row is slope * d - offset; `squares` is that of unweighted rows, `known`
// the variance of the mean if outcomes are drawn from the predictions, at most that of outcomes
// drawn from the mean prediction of their bin.
struct CellBound {
  double mean = 0.0, squares = 0.0, known = 0.0;
  Matrix slope, offset;
};

inline CellBound cell_bound(const Matrix& size, const Matrix& d, const Matrix& d2,
                            const BinTable& table, double p) {
  const Index bins = size.rows(), folds = size.cols(), cells = bins * folds;
  const Vector &bin_size = table.size, &bin_gap = table.gap;
  for (const Vector* column : {&bin_size, &bin_gap, &table.accuracy, &table.concentration}) {
    require(bins > 0 && column->size() == bins, "cell_bound: one value per bin.");
  }
  for (const Matrix* sums : {&d, &d2}) {
    require(sums->rows() == bins && sums->cols() == folds, "cell_bound: cells are the same.");
  }
  const double total = exact_sum(cells, [&](Index i) { return size.data()[i]; });
  Matrix gap(bins, folds);
  for (Index f = 0; f < folds; ++f) {
    for (Index b = 0; b < bins; ++b) {
      gap(b, f) = gap_of_others(bin_size(b), bin_size(b) * bin_gap(b), size(b, f), d(b, f));
    }
  }
  CellBound out;
  out.slope = out.offset = Matrix::Zero(bins, folds);
  if (std::isinf(p)) {
    for (Index f = 0; f < folds; ++f) {
      Index top = 0;
      for (Index b = 1; b < bins; ++b) {
        if (std::abs(gap(b, f)) > std::abs(gap(top, f))) top = b;
      }
      out.slope(top, f) = sign_of(gap(top, f)) * total / bin_size(top);
    }
  } else {
    const double* own = gap.data();
    const double product =
        exact_sum(cells, [&](Index i) { return gap_slope(own[i], p) * d.data()[i]; });
    const double power =
        exact_sum(cells, [&](Index i) { return size.data()[i] * std::pow(std::abs(own[i]), p); });
    const double scale = gap_scale(product, power);
    for (Index i = 0; i < cells; ++i) {
      const CrossfitTerm term = crossfit_term(scale, own[i], p);
      out.slope.data()[i] = term.slope;
      out.offset.data()[i] = term.offset;
    }
  }
  const double *slope = out.slope.data(), *offset = out.offset.data();
  out.mean =
      exact_sum(cells,
                [&](Index i) { return slope[i] * d.data()[i] - offset[i] * size.data()[i]; }) /
      total;
  const double square = exact_sum(cells, [&](Index i) {
    return slope[i] * slope[i] * d2.data()[i] - 2.0 * slope[i] * offset[i] * d.data()[i] +
           offset[i] * offset[i] * size.data()[i];
  });
  out.squares = square - total * (out.mean * out.mean);
  out.known =
      exact_sum(cells,
                [&](Index i) {
                  const Index b = i % bins;
                  const double mean = std::min(std::max(bin_gap(b) + table.accuracy(b), 0.0), 1.0);
                  // sum w^2 of the cell's rows, as they are in the bin
                  const double squares = size.data()[i] * bin_size(b) * table.concentration(b);
                  return slope[i] * slope[i] * squares * mean * (1.0 - mean);
                }) /
      (total * total);
  return out;
}

}  // namespace calibrisk

#endif
