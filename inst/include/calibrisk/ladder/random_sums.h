// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over pairs of rows by random vectors, for rows and columns that are too many for all pairs.
// With f_ij what row i counts in coordinate j, a_ij its scale and b_ij its values in the
// orthonormal basis of j,
//   A_il = sum_j f_ij f_lj (a_ij + a_lj) / 2 <b_ij, b_lj>
// is never formed: its product with a vector takes time linear in rows and coordinates. Its
// diagonal D is known. With N = A - D, Q an orthonormal basis of N times 64 vectors of signs, and
// G what Q leaves of 64 others,
//   |N|^2 = |N Q|^2 + E |N g|^2, g a column of G
// and the same for each row of N and for tr N^3 (Meyer, Musco, Musco and Woodruff 2021, Hutch++).
// The signs depend on the values of a row only, so that the order of rows and of coordinates
// changes nothing. The standard error of |N|^2 was below 1% for up to 1,000 classes. Most f_ij are
// tiny then: those whose squares sum to a thousandth of all are left out of N, which makes |N|^2
// too small by at most .2% in simulations.
#ifndef CALIBRISK_LADDER_RANDOM_SUMS_H
#define CALIBRISK_LADDER_RANDOM_SUMS_H

#include <calibrisk/ladder/local_basis.h>
#include <calibrisk/ladder/row_tiles.h>
#include <calibrisk/ladder/rung.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/value_bits.h>

#include <array>
#include <cstring>
#include <numeric>
#include <unordered_map>

namespace calibrisk {

namespace detail {

// The share of all squares of f that may be left out.
constexpr double small_squares = 1e-3;

// The result of one coordinate: its smooth without the row, and the input of pairs of coordinates.
struct LocalCoordinate {
  Matrix whitener;  // [kept x columns]
  Vector scale;     // [n] a
  Vector weights;   // of its columns, for gaps of new rows
  Vector own;       // [n] e^2 |b|^2, of the orthonormal basis, where it is asked for
};

// N times 64 vectors; these and the product have a column for each row.
class RowProducts {
 public:
  RowProducts(const Engine& engine, const std::vector<LocalBasis>& bases,
              const std::vector<LocalCoordinate>& parts, const ConstMatrixRef& residuals,
              const RowWeights& weights, double left_out)
      : engine_(engine),
        bases_(bases),
        parts_(parts),
        residuals_(residuals),
        root_(residuals.rows()),
        diagonal_(Vector::Zero(residuals.rows())),
        inverses_(bases.size()),
        tables_(bases.size()) {
    for (Index i = 0; i < root_.size(); ++i) root_(i) = weights.root(i);
    parallel_for(engine, residuals.cols(), [&](Index j) {
      const auto at = static_cast<std::size_t>(j);
      inverses_[at].noalias() = parts[at].whitener.transpose() * parts[at].whitener;
    });
    least_ = least_square(left_out);
    kept_ = diagonal_;
    for (Index j = 0; j < residuals.cols(); ++j) {
      const LocalCoordinate& part = parts[static_cast<std::size_t>(j)];
      for (Index i = 0; i < root_.size(); ++i) {
        const double f = root_(i) * residuals(i, j);
        const double own = root_(i) * root_(i) * part.scale(i) * part.own(i);
        diagonal_(i) += own;
        if (f * f > least_) kept_(i) += own;
      }
    }
  }

  const Vector& diagonal() const { return diagonal_; }

  Matrix times(const Matrix& x) {
    const Index n = x.cols(), d = static_cast<Index>(bases_.size());
    parallel_for(engine_, (d + together - 1) / together, [&](Index task) {
      const Index end = std::min(d, (task + 1) * together);
      SparseRows rows;
      for (Index j = task * together; j < end; ++j) {
        table(j).setZero(row_tile, 2 * basis(j).columns());
      }
      for (Index begin = 0; begin < n; begin += block) {
        const Index size = std::min(block, n - begin);
        for (Index j = task * together; j < end; ++j) {
          read(j, begin, size, rows);
          add_column_tile({x.data(), &rows, count_of(rows), table(j).data()});
        }
      }
      for (Index j = task * together; j < end; ++j) project(j);
    });
    Matrix out = -x * kept_.asDiagonal();
    parallel_for(engine_, (n + block - 1) / block, [&](Index task) {
      const Index begin = task * block, size = std::min(block, n - begin);
      SparseRows rows;
      for (Index j = 0; j < d; ++j) {
        read(j, begin, size, rows);
        add_row_tile({table(j).data(), &rows, count_of(rows), out.data()});
      }
    });
    return out;
  }

 private:
  static constexpr Index block = 512, together = 16;  // rows, and coordinates, of a task

  const LocalBasis& basis(Index j) const { return bases_[static_cast<std::size_t>(j)]; }
  static Index count_of(const SparseRows& rows) { return static_cast<Index>(rows.row.size()); }
  Matrix& table(Index j) { return tables_[static_cast<std::size_t>(j)]; }

  // The smallest squares of f up to this one sum to at most `left_out` of all of them: those of
  // most probabilities of many classes. Squares are counted by their ratio to the largest one, in
  // four classes an octave.
  double least_square(double left_out) const {
    constexpr std::size_t classes = 256;
    using Sums = std::array<double, classes>;
    const auto square = [&](Index i, Index j) {
      const double f = root_(i) * residuals_(i, j);
      return f * f;
    };
    const auto of_columns = [&](const auto& zero, const auto& add, const auto& merge) {
      return parallel_reduce(
          engine_, residuals_.cols(), together, zero,
          [&](Index begin, Index size) {
            auto part = zero;
            for (Index j = begin; j < begin + size; ++j) {
              for (Index i = 0; i < residuals_.rows(); ++i) add(part, square(i, j));
            }
            return part;
          },
          merge);
    };
    const auto larger = [](double& most, double value) { most = std::max(most, value); };
    const double largest = of_columns(0.0, larger, larger);
    if (!(largest > 0.0)) return 0.0;
    constexpr int shift = 50;  // two bits of the fraction are left
    const std::uint64_t one = bits_of(1.0);
    const double of_largest = (1.0 - 1e-15) / largest;  // no ratio is rounded above 1
    const Sums sums = of_columns(
        Sums{},
        [&](Sums& part, double value) {
          part[std::min<std::uint64_t>((one - bits_of(value * of_largest)) >> shift,
                                       classes - 1)] += value;
        },
        [](Sums& total, const Sums& part) {
          for (std::size_t c = 0; c < classes; ++c) total[c] += part[c];
        });
    double left = left_out * std::accumulate(sums.begin(), sums.end(), 0.0);
    std::size_t c = classes;
    while (c > 1 && left >= sums[c - 1]) left -= sums[--c];
    if (c == classes) return 0.0;
    const std::uint64_t bits = one - (static_cast<std::uint64_t>(c) << shift);
    double ratio;
    std::memcpy(&ratio, &bits, sizeof ratio);
    return largest * ratio;
  }

  // f b and, for as many further columns, f a b.
  void read(Index j, Index begin, Index size, SparseRows& rows) const {
    const LocalBasis& of = basis(j);
    const auto k = static_cast<std::int32_t>(of.columns());
    const double* scale = parts_[static_cast<std::size_t>(j)].scale.data();
    const auto most = static_cast<std::size_t>(2 * of.values() * size);
    rows.column.resize(most);
    rows.value.resize(most);
    rows.row.clear();
    rows.begin.assign(1, 0);
    std::size_t to = 0;
    LocalRow row;
    for (Index i = begin; i < begin + size; ++i) {
      const double f = root_(i) * residuals_(i, j);
      if (!(f * f > least_)) continue;
      of.row(i, row);
      rows.row.push_back(static_cast<std::int32_t>(i));
      for (int s = 0; s < row.size; ++s, to += 2) {
        const double value = f * row.value[s];
        const auto column = static_cast<std::int32_t>(row.column[s]);
        rows.column[to] = column;
        rows.value[to] = value;
        rows.column[to + 1] = column + k;
        rows.value[to + 1] = scale[i] * value;
      }
      rows.begin.push_back(to);
    }
  }

  // From the sums of columns to what rows take of them: those of f b for f a b, and the other way
  // round, each by half.
  void project(Index j) {
    const Matrix& inverse = inverses_[static_cast<std::size_t>(j)];
    const Index k = inverse.cols();
    Matrix sums(2 * row_tile, k), of_rows = Matrix::Zero(2 * row_tile, k);
    sums << table(j).rightCols(k), table(j).leftCols(k);
    add_pack_product(pack_product(false, false, 0.5, sums, inverse, of_rows));
    table(j) << of_rows.topRows(row_tile), of_rows.bottomRows(row_tile);
  }

  const Engine& engine_;
  const std::vector<LocalBasis>& bases_;
  const std::vector<LocalCoordinate>& parts_;
  const ConstMatrixRef residuals_;
  Vector root_, diagonal_, kept_;  // D, and what the products have of it
  double least_;                   // squares of f up to it are left out
  std::vector<Matrix> inverses_;   // of the Gram matrices
  std::vector<Matrix> tables_;     // 64 x twice the columns of each coordinate
};

// Vectors of signs, from the values of each row; rows with the same values are counted.
class RowSigns {
 public:
  RowSigns(const Engine& engine, const ConstMatrixRef& values)
      : keys_(static_cast<std::size_t>(values.rows())) {
    constexpr Index block = 512;
    const Index n = values.rows();
    parallel_for(engine, (n + block - 1) / block, [&](Index task) {
      for (Index j = 0; j < values.cols(); ++j) {
        for (Index i = task * block; i < std::min(n, (task + 1) * block); ++i) {
          keys_[static_cast<std::size_t>(i)] += mix_bits(bits_of(values(i, j)));
        }
      }
    });
    std::unordered_map<std::uint64_t, std::uint64_t> seen;
    for (std::uint64_t& key : keys_) key = counter_key(key, seen[key]++);
  }

  Matrix draw(std::uint64_t number) const {
    Matrix out(row_tile, static_cast<Index>(keys_.size()));
    for (Index i = 0; i < out.cols(); ++i) {
      const std::uint64_t bits = counter_key(keys_[static_cast<std::size_t>(i)], number);
      for (Index r = 0; r < row_tile; ++r) out(r, i) = (bits >> r & 1) == 1 ? 1.0 : -1.0;
    }
    return out;
  }

 private:
  std::vector<std::uint64_t> keys_;
};

// An orthonormal basis of the rows, with rows of zeros for those that depend on others.
inline Matrix orthonormal_rows(const Engine& engine, Matrix x) {
  const Index size = x.rows();
  for (int pass = 0; pass < 2; ++pass) {
    x = engine.dense.multiply(whitening(engine.dense.multiply_a_bt(x, x)), x);
  }
  const Index kept = x.rows();
  x.conservativeResize(size, Eigen::NoChange);
  x.bottomRows(size - kept).setZero();
  return x;
}

// |A|^2 and tr A^3 for `s2` and `s3`: half of a variance that is exact but for the random vectors.
inline void sums_of_random_vectors(const Engine& engine, const std::vector<LocalBasis>& bases,
                                   const std::vector<LocalCoordinate>& parts,
                                   const ConstMatrixRef& residuals, const RowWeights& weights,
                                   RungSums& sums, double left_out = small_squares) {
  const DenseAlgebra& dense = engine.dense;
  RowProducts products(engine, bases, parts, residuals, weights, left_out);
  const RowSigns signs(engine, residuals);
  const Matrix q = orthonormal_rows(engine, products.times(signs.draw(0)));
  Matrix g = signs.draw(1);
  g -= dense.multiply(dense.multiply_a_bt(g, q), q);
  const Matrix y = products.times(q), z = products.times(g);
  const auto m = static_cast<double>(row_tile);
  // of the rows of N
  const Vector squares = y.colwise().squaredNorm() + z.colwise().squaredNorm() / m;
  const auto product = [&](const Matrix& a, const Matrix& b) { return dense.multiply_a_bt(a, b); };
  const Matrix of_pairs = product(z, z).cwiseProduct(product(g, z));  // of two different vectors g
  const double cube = product(y, y).cwiseProduct(product(q, y)).sum() +
                      2.0 / m * product(y, z).cwiseProduct(product(q, z)).sum() +
                      (of_pairs.sum() - of_pairs.trace()) / (m * (m - 1.0));
  const Vector& diagonal = products.diagonal();
  sums.s2 = squares.sum() + diagonal.squaredNorm();
  sums.s3 = cube + 3.0 * diagonal.dot(squares) + diagonal.array().cube().sum();
  sums.exact = false;
}

}  // namespace detail

}  // namespace calibrisk

#endif
