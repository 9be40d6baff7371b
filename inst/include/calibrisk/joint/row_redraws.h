// SPDX-License-Identifier: GPL-3.0-or-later
// The statistics of the joint test for redrawn outcomes: their sums change by the rows whose
// outcome is not the usual one.
#ifndef CALIBRISK_JOINT_ROW_REDRAWS_H
#define CALIBRISK_JOINT_ROW_REDRAWS_H

#include <calibrisk/joint/parts.h>
#include <calibrisk/joint/scan.h>
#include <calibrisk/linalg/pack_product.h>
#include <calibrisk/math/counter_packs.h>

#include <cmath>
#include <memory>
#include <vector>

namespace calibrisk {

constexpr Index redraw_block = counter_draws;

namespace detail {

// The changes of sums by the other outcome of a draw, for each row.
struct RowChanges {
  std::vector<int> column;
  std::vector<double> value;
  std::vector<std::size_t> first = {0};  // of a row
};

// Sums of 64 redraws [64 x sums] to which changes are added.
class RedrawnSums {
 public:
  RedrawnSums(const RowChanges& changes, const Vector& usual)
      : changes_(changes), memory_(static_cast<std::size_t>(redraw_block * (usual.size() + 1))) {
    // a pack does not lie across two lines of the cache
    void* begin = memory_.data();
    std::size_t room = memory_.size() * sizeof(double);
    sums_ = static_cast<double*>(std::align(64, sizeof(double), begin, room));
    for (Index j = 0; j < usual.size(); ++j) column(j).setConstant(usual(j));
  }
  RedrawnSums(const RedrawnSums&) = delete;  // sums_ points into memory_
  RedrawnSums& operator=(const RedrawnSums&) = delete;

  Eigen::Map<Vector> column(Index j) const { return {sums_ + redraw_block * j, redraw_block}; }
  Eigen::Map<Matrix> columns(Index j, Index size) const {
    return {sums_ + redraw_block * j, redraw_block, size};
  }

  void one(Index row, Index r) {
    const auto at = static_cast<std::size_t>(row);
    for (std::size_t a = changes_.first[at]; a < changes_.first[at + 1]; ++a) {
      sums_[redraw_block * changes_.column[a] + r] += changes_.value[a];
    }
  }
  void several(Index row, const DrawMask& mask) {
    const auto at = static_cast<std::size_t>(row);
    const std::size_t a = changes_.first[at];
    counter_loops().add(mask, changes_.column.data() + a, changes_.value.data() + a,
                        static_cast<Index>(changes_.first[at + 1] - a), sums_);
  }

 private:
  const RowChanges& changes_;
  std::vector<double> memory_;
  double* sums_;
};

}  // namespace detail

// The statistics of redrawn outcomes from those of their rows that are not the usual ones, `usual`
// (0 and 1). `factor` of a row: m copies with residual sqrt(c / m) e each, of weight v / c. `scan`:
// none for tests without that part.
template <class Factor>
class RowRedraws {
 public:
  RowRedraws(const JointParts& parts, const Vector& usual, const Factor& factor_of,
             const GroupScan* scan = nullptr)
      : parts_(parts), rungs_(tested_rungs(parts)), scan_(scan), column_(rungs_.size() + 1, 0) {
    const JointRows& rows = parts.rows;
    const Index n = rows.size(), q = parts.n_scores();
    for (std::size_t m = 0; m < rungs_.size(); ++m) {
      column_[m + 1] = column_[m] + rungs_[m]->basis.columns();
    }
    const Index k = column_.back();
    own_ = 2 * k;
    score_ = own_ + static_cast<Index>(rungs_.size());
    cell_ = score_ + q;
    usual_ = Vector::Zero(cell_ + (scan_ != nullptr ? scan_->cells() : 0));
    const std::size_t most = static_cast<std::size_t>(n) * (5 * rungs_.size() + 3);
    changes_.column.reserve(most);
    changes_.value.reserve(most);
    for (Index i = 0; i < n; ++i) {
      const double factor = factor_of(i), v = rows.weight(i);
      const double residual = rows.p(i) - usual(i), turn = usual(i) > 0.5 ? 1.0 : -1.0;
      const double base = v / factor * residual, change = rows.each(i) * factor * turn;
      const auto add = [&](Index column, double sum, double by) {
        usual_(column) += sum;
        changes_.column.push_back(static_cast<int>(column));
        changes_.value.push_back(by);
      };
      for (std::size_t m = 0; m < rungs_.size(); ++m) {
        const JointRung& rung = *rungs_[m];
        const PairRow row = rung.basis.row(i);
        const LeftOut left = rung.left_out(row, rows.each(i));
        for (const auto& [column, value] : row.values()) {
          if (value == 0.0) continue;
          add(column_[m] + column, base * value, change * value);
          add(k + column_[m] + column, base * left.scale * value, change * left.scale * value);
        }
        const double own = left.scale * left.leverage;
        add(own_ + static_cast<Index>(m), v * own * residual * residual,
            rows.each(i) * factor * factor * own *
                ((residual + turn) * (residual + turn) - residual * residual));
      }
      for (Index j = 0; j < q; ++j) {
        add(score_ + j, base * parts.score(i, j), change * parts.score(i, j));
      }
      if (scan_ != nullptr) {
        const double draws = std::nearbyint(rows.copies(i) / (factor * factor));
        add(cell_ + static_cast<Index>(scan_->cell(i)), draws * usual(i), -turn);
      }
      changes_.first.push_back(changes_.value.size());
    }
  }

  // A row of `out` for each of at most 64 redraws. unusual(sums): tells sums.one() and
  // sums.several() of every draw with the other outcome (see RowDraws::rare()).
  template <class Unusual>
  void statistics(Index size, const Unusual& unusual, Eigen::Ref<Matrix> out) const {
    detail::RedrawnSums sums(changes_, usual_);
    unusual(sums);
    const auto scores = sums.columns(score_, parts_.information.size());
    const Vector deviation = parts_.information.cwiseSqrt();
    Vector z;
    for (Index r = 0; r < size; ++r) {
      z = scores.row(r).transpose().cwiseQuotient(deviation);
      score_statistics(parts_, z, [&](Index at) -> double& { return out(r, at); });
    }
    for (std::size_t m = 0; m < rungs_.size(); ++m) {
      const Index columns = column_[m + 1] - column_[m];
      const auto plain = sums.columns(column_[m], columns);
      const auto scaled = sums.columns(column_.back() + column_[m], columns);
      Matrix fitted = Matrix::Zero(redraw_block, columns);
      add_pack_product(pack_product(false, true, 1.0, scaled, rungs_[m]->inverse, fitted));
      Vector forms = Vector::Zero(redraw_block);
      for (Index a = 0; a < columns; ++a) forms += plain.col(a).cwiseProduct(fitted.col(a));
      const auto at = static_cast<Index>(m);
      forms -= sums.column(own_ + at);
      const double unit = parts_.rows.total * std::sqrt(rungs_[m]->null.variance);
      for (Index r = 0; r < size; ++r) out(r, 3 + at) = nine_digits(forms(r) / unit);
    }
    if (scan_ != nullptr) {
      out.col(3 + static_cast<Index>(rungs_.size())) =
          scan_->largest(sums.columns(cell_, scan_->cells())).head(size);
    }
  }

 private:
  const JointParts& parts_;
  std::vector<const JointRung*> rungs_;
  const GroupScan* scan_;
  // Sums are those of the columns of all rungs, plain and scaled, of their own pairs, and scores.
  std::vector<Index> column_;  // the first one of each rung
  Index own_ = 0, score_ = 0, cell_ = 0;
  Vector usual_;  // of the usual outcomes
  detail::RowChanges changes_;
};

}  // namespace calibrisk

#endif
