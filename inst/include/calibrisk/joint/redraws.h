// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics of redrawn outcomes, y* ~ Bernoulli(p), by a generator that counts: a random number
// depends on the number of its draw among the sorted ones and on that of the redraw. Neither the
// order of the rows nor the number of threads matters. Where there are many failures to draw, the
// vector of all sums is drawn from its normal distribution in their place.
#ifndef CALIBRISK_JOINT_REDRAWS_H
#define CALIBRISK_JOINT_REDRAWS_H

#include <calibrisk/joint/parts.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/tail_quantiles.h>

#include <array>
#include <cstdint>

namespace calibrisk {

constexpr std::uint64_t redraw_key = 20261124;
constexpr Index redraw_block = 64;

// Outcomes that differ from the likelier one of their row (`rare`), all redraws together.
constexpr double most_redrawn = 2e6;
constexpr double most_drawn_rows = 2e6;

namespace detail {

// Consecutive draws of similar probability of the rarer outcome, at most `largest`.
struct DrawBlock {
  std::size_t begin, end;
  double largest;
};

// The rows as single draws. A row of c draws, not a whole number, is the nearest number of draws,
// each multiplied by the root of c over that number: variances are those of c.
class RowDraws {
 public:
  explicit RowDraws(const JointRows& rows) {
    for (Index i = 0; i < rows.size(); ++i) {
      const auto m = static_cast<Index>(std::max(std::nearbyint(rows.draws(i)), 1.0));
      for (Index d = 0; d < m; ++d) row_.push_back(static_cast<int>(i));
      factor_.push_back(std::sqrt(rows.draws(i) / static_cast<double>(m)));
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

  // task(row) for every draw of redraw r whose outcome is the rarer one
  template <class Task>
  void rare(std::uint64_t r, const Task& task) const {
    constexpr double often = 0.1;
    for (const DrawBlock& block : blocks_) {
      if (block.largest > often) {
        // found first without a branch, which would often be guessed wrong
        std::size_t count = 0;
        std::array<int, most_of_block> found;
        for (std::size_t d = block.begin; d < block.end; ++d) {
          found[count] = row_[d];
          count += counter_uniform(redraw_key, r, 2 * d) < rarer_[d] ? 1 : 0;
        }
        for (std::size_t a = 0; a < count; ++a) task(static_cast<Index>(found[a]));
        continue;
      }
      // to the next candidate at once, then by the ratio of probabilities
      const double rate = std::log1p(-std::max(block.largest, 1e-300));
      std::uint64_t counter = 2 * block.begin;
      double at = static_cast<double>(block.begin) - 1.0;
      while (true) {
        const double u = 1.0 - counter_uniform(redraw_key, r, counter++);
        at += 1.0 + std::floor(std::log(u) / rate);
        if (!(at < static_cast<double>(block.end))) break;
        const auto d = static_cast<std::size_t>(at);
        const double v = counter_uniform(redraw_key, r, counter++);
        if (v * block.largest < rarer_[d]) task(static_cast<Index>(row_[d]));
      }
    }
  }

 private:
  static constexpr std::size_t most_of_block = 4096;

  std::vector<int> row_;
  std::vector<double> rarer_;   // probability of each draw
  std::vector<double> factor_;  // of each row
  std::vector<DrawBlock> blocks_;
};

// Changes of all sums by one other outcome: entries of columns, rung after rung.
struct DrawEntry {
  int column;
  double plain, scaled;
};

}  // namespace detail

inline bool redraws_rows(const JointRows& rows, Index redraws) {
  double rare = 0.0;
  for (Index i = 0; i < rows.size(); ++i) rare += rows.draws(i) * detail::rarer(rows.p(i));
  return rare * static_cast<double>(redraws) <= most_redrawn && rows.count <= most_drawn_rows;
}

// The statistics of redrawn outcomes from those of their rows that are not the usual ones, `usual`
// (0 and 1). `factor` of a row: m draws with residual sqrt(c / m) e each, of weight v / c.
template <class Factor>
class RowRedraws {
 public:
  RowRedraws(const JointParts& parts, const Vector& usual, const Factor& factor_of)
      : parts_(parts), rungs_(tested_rungs(parts)), first_(rungs_.size() + 1, 0) {
    const JointRows& rows = parts.rows;
    const Index n = rows.size(), q = parts.scores.cols();
    for (std::size_t m = 0; m < rungs_.size(); ++m) {
      first_[m + 1] = first_[m] + rungs_[m]->basis.columns();
    }
    const auto m_rungs = static_cast<Index>(rungs_.size());
    entry_of_.assign(static_cast<std::size_t>(n) + 1, 0);
    change_.resize(m_rungs + q, n);
    plain0_ = scaled0_ = Vector::Zero(first_.back());
    rest0_ = Vector::Zero(m_rungs + q);
    LocalRow row;
    for (Index i = 0; i < n; ++i) {
      const double factor = factor_of(i), v = rows.weight(i);
      const double residual = rows.p(i) - usual(i), turn = usual(i) > 0.5 ? 1.0 : -1.0;
      const double base = v / factor * residual, change = rows.each(i) * factor * turn;
      for (std::size_t m = 0; m < rungs_.size(); ++m) {
        const JointRung& rung = *rungs_[m];
        rung.basis.row(i, row);
        for (int a = 0; a < row.size; ++a) {
          const Index column = first_[m] + row.column[a];
          plain0_(column) += base * row.value[a];
          scaled0_(column) += base * rung.scale(i) * row.value[a];
          entries_.push_back({static_cast<int>(column), change * row.value[a],
                              change * rung.scale(i) * row.value[a]});
        }
        const double own = rung.scale(i) * rung.leverage(i);
        const auto at = static_cast<Index>(m);
        rest0_(at) += v * own * residual * residual;
        change_(at, i) = rows.each(i) * factor * factor * own *
                         ((residual + turn) * (residual + turn) - residual * residual);
      }
      entry_of_[static_cast<std::size_t>(i) + 1] = entries_.size();
      rest0_.tail(q) += base * parts.scores.row(i).transpose();
      change_.col(i).tail(q) = change * parts.scores.row(i).transpose();
    }
  }

  // A row of `out` for each redraw. unusual(r, task): task(row) for every draw of redraw r with the
  // other outcome.
  template <class Unusual>
  void statistics(Index size, const Unusual& unusual, Eigen::Ref<Matrix> out) const {
    Matrix plain(plain0_.size(), size), scaled(plain0_.size(), size), rest(rest0_.size(), size);
    for (Index r = 0; r < size; ++r) {
      plain.col(r) = plain0_;
      scaled.col(r) = scaled0_;
      rest.col(r) = rest0_;
      double* p = plain.col(r).data();
      double* s = scaled.col(r).data();
      double* others = rest.col(r).data();
      unusual(r, [&](Index i) {
        const auto at = static_cast<std::size_t>(i);
        for (std::size_t e = entry_of_[at]; e < entry_of_[at + 1]; ++e) {
          p[entries_[e].column] += entries_[e].plain;
          s[entries_[e].column] += entries_[e].scaled;
        }
        const double* change = change_.col(i).data();
        for (Index a = 0; a < change_.rows(); ++a) others[a] += change[a];
      });
    }
    const Vector deviation = parts_.information.cwiseSqrt();
    for (Index r = 0; r < size; ++r) {
      const Vector z = rest.col(r).tail(deviation.size()).cwiseQuotient(deviation);
      score_statistics(parts_, z, [&](Index at) -> double& { return out(r, at); });
    }
    for (std::size_t m = 0; m < rungs_.size(); ++m) {
      const Index columns = first_[m + 1] - first_[m];
      const Matrix fitted = rungs_[m]->inverse * scaled.middleRows(first_[m], columns);
      const auto at = static_cast<Index>(m);
      const Vector forms =
          (plain.middleRows(first_[m], columns).cwiseProduct(fitted)).colwise().sum().transpose() -
          rest.row(at).transpose();
      const double unit = parts_.rows.total * std::sqrt(rungs_[m]->null.variance);
      for (Index r = 0; r < size; ++r) out(r, 3 + at) = nine_digits(forms(r) / unit);
    }
  }

 private:
  const JointParts& parts_;
  std::vector<const JointRung*> rungs_;
  std::vector<Index> first_;
  // sums of the usual outcomes, and what another one changes
  std::vector<detail::DrawEntry> entries_;
  std::vector<std::size_t> entry_of_;
  Vector plain0_, scaled0_;
  // own pairs of the rungs, then scores
  Matrix change_;
  Vector rest0_;
};

// Statistics [redraws x parts] under calibration.
inline Matrix redraw_rows(const Engine& engine, const JointParts& parts, Index redraws) {
  const detail::RowDraws draws(parts.rows);
  const auto factor = [&](Index i) { return draws.factor(i); };
  const Vector usual = (parts.rows.p.array() > 0.5).cast<double>();
  const RowRedraws<decltype(factor)> rows(parts, usual, factor);
  Matrix out(redraws, 3 + static_cast<Index>(tested_rungs(parts).size()));
  parallel_for(engine, (redraws + redraw_block - 1) / redraw_block, [&](Index task) {
    const Index begin = task * redraw_block, size = std::min(redraw_block, redraws - begin);
    Matrix block(size, out.cols());
    rows.statistics(
        size,
        [&](Index r, const auto& change) {
          draws.rare(static_cast<std::uint64_t>(begin + r), change);
        },
        block);
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

// The same from the normal distribution of all sums; own pairs are taken at their mean.
inline Matrix redraw_coefficients(const Engine& engine, const JointParts& parts, Index redraws) {
  const JointRows& rows = parts.rows;
  const std::vector<const JointRung*> rungs = tested_rungs(parts);
  const Index n = rows.size(), q = parts.scores.cols();
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
        LocalRow row;
        for (Index i = begin; i < begin + size; ++i) {
          values.clear();
          for (Index j = 0; j < q; ++j) values.emplace_back(j, parts.scores(i, j));
          for (std::size_t m = 0; m < rungs.size(); ++m) {
            const double root = std::sqrt(rungs[m]->scale(i));
            rungs[m]->basis.row(i, row);
            for (int a = 0; a < row.size; ++a) {
              values.emplace_back(first[m] + row.column[a], root * row.value[a]);
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

  Matrix out(redraws, 3 + static_cast<Index>(rungs.size()));
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
            (square - rungs[m]->spread) / (rows.total * std::sqrt(rungs[m]->null.variance)));
      }
    }
  });
  return out;
}

inline Matrix null_statistics(const Engine& engine, const JointParts& parts, Index redraws) {
  return redraws_rows(parts.rows, redraws) ? redraw_rows(engine, parts, redraws)
                                           : redraw_coefficients(engine, parts, redraws);
}

}  // namespace calibrisk

#endif
