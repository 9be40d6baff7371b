// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_CURVE_COUNTS_H
#define CALIBRISK_CURVE_COUNTS_H

#include "r_values.h"
#include <calibrisk/classical/count_draws.h>

#include <cmath>

// What the rows of a curve count, from row_counts() (R/curve-design.R); NULL: 1, or their copies.
// Weights are u k^y, with u of rows whose events are as frequent as at k times lower odds.
class CurveCounts {
 public:
  calibrisk::Vector copies, w, v, even;  // even: the weights u
  double k = 1.0, shrink = 1.0;

  CurveCounts(const Rcpp::Nullable<Rcpp::List>& counts, const Rcpp::NumericVector& copies_of,
              const Rcpp::NumericVector& y)
      : copies(as_vector(copies_of)) {
    if (counts.isNull()) return;
    const Rcpp::List given(counts.get());
    w = even = as_vector(Rcpp::NumericVector(field(given, "w")));
    v = as_vector(Rcpp::NumericVector(field(given, "v")));
    rate_ = as_vector(Rcpp::NumericVector(field(given, "rate")));
    k = number_field(given, "k");
    shrink = number_field(given, "shrink");
    for (calibrisk::Index i = 0; k != 1.0 && i < even.size(); ++i) even(i) /= std::pow(k, y[i]);
  }

  bool plain() const { return w.size() == 0; }
  double row(calibrisk::Index i) const { return copies.size() == 0 ? 1.0 : copies(i); }

  // Probabilities at k times lower odds.
  double even_prob(double p) const { return k == 1.0 ? p : p / k / (p / k + 1.0 - p); }

  // The variance of rows with a v of 1 and their event rates, as a multiple of that of independent
  // rows. Weights are in proportion to k with an event and 1 without, and so are their squares over
  // them.
  calibrisk::Vector noise() const {
    if (plain()) return {};
    const auto odds = rate_.array();
    const double share = (w.array() * (k * odds + 1.0 - odds)).sum();
    return (k * (1.0 - odds) + odds) * (w.sum() / share);
  }

  // Of rows in this order, where outcomes are drawn: the variance of weighted sums is that of the
  // fractions of rows. Weights that depend on the outcome are drawn with it, or are those u.
  class Drawn {
   public:
    Drawn(const CurveCounts& of, bool as_even, const std::vector<int>& order)
        : k_(as_even ? 1.0 : of.k) {
      const auto ordered = [&](const calibrisk::Vector& x) {
        calibrisk::Vector out(x.size());
        for (calibrisk::Index i = 0; i < x.size(); ++i) {
          out(i) = x(order.empty() ? i : order[static_cast<std::size_t>(i)]);
        }
        return out;
      };
      copies_ = ordered(of.copies);
      if (of.plain()) return;
      calibrisk::Vector counted = of.v;
      if (as_even && of.k != 1.0) {
        double squares = 0.0;
        for (calibrisk::Index i = 0; i < counted.size(); ++i)
          squares += of.even(i) * of.even(i) / of.row(i);
        counted = of.even * (of.shrink * of.even.sum() / squares);
      }
      v_ = ordered(counted);
      u_ = v_ / std::sqrt(of.shrink);
      if (!as_even) u_ = u_.cwiseProduct(ordered(of.even.cwiseQuotient(of.w)));
    }
    calibrisk::RowCounts rows() const { return {copies_, v_, u_, k_}; }

   private:
    calibrisk::Vector copies_, v_, u_;
    double k_;
  };

 private:
  calibrisk::Vector rate_;  // the outcomes' fit
};

inline Rcpp::List limits_list(const calibrisk::Vector& low, const calibrisk::Vector& high) {
  return named_list({{"low", low}, {"high", high}});
}

#endif
