// SPDX-License-Identifier: GPL-3.0-or-later
// Bases with few nonzero values per row, one for each coordinate of the residuals. A basis is a sum
// of terms, each a factor per row times hat functions (or a constant), on the rows of one top class
// or on all rows.
#ifndef CALIBRISK_LADDER_LOCAL_BASIS_H
#define CALIBRISK_LADDER_LOCAL_BASIS_H

#include <calibrisk/ladder/knots.h>

namespace calibrisk {

struct LocalTerm {
  const HatPositions* hats = nullptr;  // the constant 1 without
  const double* factor = nullptr;      // per row; 1 without
  const double* gate = nullptr;        // only rows with gate[i] == open[i]
  const double* open = nullptr;
  Index first = 0;  // its first column
};

// A row of a basis: at most 8 nonzero values.
struct LocalRow {
  Index column[8];
  double value[8];
  int size = 0;
};

class LocalBasis {
 public:
  Index columns() const { return columns_; }
  int values() const { return values_; }  // of a row, at most

  void add(LocalTerm term, Index columns) {
    values_ += term.hats == nullptr ? 1 : 2;
    require(values_ <= 8, "A row of a local basis has at most eight values.");
    term.first = columns_;
    columns_ += columns;
    terms_.push_back(term);
  }

  void row(Index i, LocalRow& out) const {
    out.size = 0;
    for (const LocalTerm& term : terms_) {
      if (term.gate != nullptr && term.gate[i] != term.open[i]) continue;
      const double factor = term.factor == nullptr ? 1.0 : term.factor[i];
      if (term.hats == nullptr) {
        push(out, term.first, factor);
        continue;
      }
      const auto at = static_cast<std::size_t>(i);
      const double t = term.hats->t[at];
      const Index column = term.first + term.hats->cell[at];
      if (t < 1.0) push(out, column, factor * (1.0 - t));
      if (t > 0.0) push(out, column + 1, factor * t);
    }
  }

 private:
  static void push(LocalRow& out, Index column, double value) {
    out.column[out.size] = column;
    out.value[out.size] = value;
    ++out.size;
  }

  std::vector<LocalTerm> terms_;
  Index columns_ = 0;
  int values_ = 0;
};

}  // namespace calibrisk

#endif
