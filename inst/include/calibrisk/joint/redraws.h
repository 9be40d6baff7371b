// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics of redrawn outcomes, y* ~ Bernoulli(p), by a generator that counts: a random number
// depends on the number of its draw among the sorted ones and on that of the redraw. Neither the
// order of the rows nor the number of threads matters. Where there are many failures to draw, the
// vector of all sums is drawn from its normal distribution in their place.
#ifndef CALIBRISK_JOINT_REDRAWS_H
#define CALIBRISK_JOINT_REDRAWS_H

#include <calibrisk/joint/parts.h>
#include <calibrisk/joint/scan.h>
#include <calibrisk/linalg/pack_product.h>
#include <calibrisk/math/counter_packs.h>
#include <calibrisk/math/tail_quantiles.h>
#include <calibrisk/short_work.h>

#include <array>
#include <cstdint>
#include <memory>

namespace calibrisk {

constexpr std::uint64_t redraw_key = 20261124;
constexpr Index redraw_block = counter_draws;

// Outcomes that differ from the likelier one of their row (`rare`), all redraws together.
constexpr double most_redrawn = 2e6;
constexpr double most_drawn_rows = 2e6;

namespace detail {

// Consecutive draws of similar probability of the rarer outcome, at most `largest`.
struct DrawBlock {
  std::size_t begin, end;
  double largest;
};

// The copies of rows. A row of c copies, not a whole number, is the nearest number of copies,
// each multiplied by the root of c over that number: variances are those of c.
class RowDraws {
 public:
  explicit RowDraws(const JointRows& rows) {
    for (Index i = 0; i < rows.size(); ++i) {
      const auto m = static_cast<Index>(std::max(std::nearbyint(rows.copies(i)), 1.0));
      for (Index d = 0; d < m; ++d) row_.push_back(static_cast<int>(i));
      factor_.push_back(std::sqrt(rows.copies(i) / static_cast<double>(m)));
    }
    for (const int i : row_) rarer_.push_back(rarer(rows.p(i)));
    std::size_t begin = 0;
    double expected = 0.0, least = 1.0, most = 0.0;
    for (std::size_t d = 0; d < row_.size(); ++d) {
      const double q = rarer_[d];
      const double low = std::min(least, q), high = std::max(most, q);
      if (d > begin && (high > 2.0 * low || expected > 8.0 || d - begin == most_of_block)) {
        blocks_.push_back({begin, d, most});
        begin = d;
        expected = 0.0;
        least = most = q;
      } else {
        least = low;
        most = high;
      }
      expected += q;
    }
    blocks_.push_back({begin, row_.size(), most});
  }

  double factor(Index row) const { return factor_[static_cast<std::size_t>(row)]; }

  // For every draw whose outcome is the rarer one, in redraws begin ... begin + 63: task.one(row,
  // r) where that is so in redraw begin + r, or task.several(row, mask) for all of them. The rows
  // of a redraw ascend.
  template <class Task>
  void rare(std::uint64_t begin, Task& task) const {
    constexpr double often = 0.1;
    std::uint64_t keys[counter_draws];
    for (std::uint64_t r = 0; r < counter_draws; ++r) keys[r] = counter_key(redraw_key, begin + r);
    DrawMask mask;
    for (const DrawBlock& block : blocks_) {
      if (block.largest > often) {
        for (std::size_t d = block.begin; d < block.end; ++d) {
          counter_loops().below(keys, 2 * d, counter_limit(rarer_[d]), mask);
          task.several(static_cast<Index>(row_[d]), mask);
        }
        continue;
      }
      skip(block, keys, task);
    }
  }

 private:
  static constexpr std::size_t most_of_block = 4096;

  // To the next candidate at once, then by the ratio of probabilities.
  template <class Task>
  void skip(const DrawBlock& block, const std::uint64_t* keys, Task& task) const {
    const double most = std::max(block.largest, 1e-300), rate = std::log1p(-most);
    const std::size_t size = block.end - block.begin;
    // whether there is one in what is left of the block, without its logarithm; nearly
    std::array<double, most_of_block + 1> any;
    double none = 1.0;
    for (std::size_t left = 0; left <= size; ++left, none *= 1.0 - most) {
      any[left] = 1.0 - none + 1e-9;
    }
    DrawMask some;
    counter_loops().below(keys, 2 * block.begin, counter_limit(any[size]), some);
    for (int r = 0; r < counter_draws; ++r) {
      if (some.of[r] == 0) continue;
      std::uint64_t counter = 2 * block.begin;
      const auto uniform = [&] { return counter_number(keys[r], counter++); };
      std::size_t d = block.begin;
      while (true) {
        const double u = uniform();
        if (!(u < any[block.end - d])) break;
        const double steps = std::floor(std::log(1.0 - u) / rate);
        if (!(steps < static_cast<double>(block.end - d))) break;
        d += static_cast<std::size_t>(steps);
        if (uniform() * block.largest < rarer_[d]) task.one(static_cast<Index>(row_[d]), r);
        ++d;
      }
    }
  }

  std::vector<int> row_;
  std::vector<double> rarer_;   // probability of each draw
  std::vector<double> factor_;  // of each row
  std::vector<DrawBlock> blocks_;
};

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

inline bool redraws_rows(const JointRows& rows, Index redraws) {
  double rare = 0.0;
  for (Index i = 0; i < rows.size(); ++i) rare += rows.copies(i) * detail::rarer(rows.p(i));
  return rare * static_cast<double>(redraws) <= most_redrawn && rows.count <= most_drawn_rows;
}

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

inline Index statistics_of(const JointParts& parts, const GroupScan* scan) {
  return 3 + static_cast<Index>(tested_rungs(parts).size()) + (scan != nullptr ? 1 : 0);
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
inline Matrix standard_normals(Index rows, Index begin, Index size) {
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

// The same from the normal distribution of all sums; own pairs are taken at their mean. The largest
// statistic of a group has its bound's distribution, independent of the others, which is
// conservative.
inline Matrix redraw_coefficients(const Engine& engine, const JointParts& parts,
                                  const GroupScan* scan, Index redraws) {
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

inline Matrix null_statistics(const Engine& engine, const JointParts& parts, const GroupScan* scan,
                              Index redraws) {
  return redraws_rows(parts.rows, redraws) ? redraw_rows(engine, parts, scan, redraws)
                                           : redraw_coefficients(engine, parts, scan, redraws);
}

}  // namespace calibrisk

#endif
