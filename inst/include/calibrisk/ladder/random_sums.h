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
// changes nothing. The standard error of |N|^2 was below 1% for up to 1,000 classes.
#ifndef CALIBRISK_LADDER_RANDOM_SUMS_H
#define CALIBRISK_LADDER_RANDOM_SUMS_H

#include <calibrisk/ladder/local_basis.h>
#include <calibrisk/ladder/row_tiles.h>
#include <calibrisk/ladder/rung.h>
#include <calibrisk/math/counter_uniform.h>
#include <calibrisk/math/value_bits.h>

#include <unordered_map>

namespace calibrisk {

namespace detail {

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
              const RowWeights& weights)
      : engine_(engine),
        bases_(bases),
        parts_(parts),
        residuals_(residuals),
        root_(residuals.rows()),
        diagonal_(Vector::Zero(residuals.rows())),
        tables_(bases.size()) {
    for (Index i = 0; i < root_.size(); ++i) root_(i) = weights.root(i);
    for (const LocalCoordinate& part : parts) diagonal_ += part.scale.cwiseProduct(part.own);
    diagonal_.array() *= root_.array().square();
    const double squares =
        (residuals.rowwise().squaredNorm().array() * root_.array().square()).sum();
    least_ = 1e-5 * squares / static_cast<double>(residuals.size());
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
          add_column_tile({x.data() + row_tile * begin, &rows, size, table(j).data()});
        }
      }
      for (Index j = task * together; j < end; ++j) project(j);
    });
    Matrix out = -x * diagonal_.asDiagonal();
    parallel_for(engine_, (n + block - 1) / block, [&](Index task) {
      const Index begin = task * block, size = std::min(block, n - begin);
      SparseRows rows;
      for (Index j = 0; j < d; ++j) {
        read(j, begin, size, rows);
        add_row_tile({table(j).data(), &rows, size, out.data() + row_tile * begin});
      }
    });
    return out;
  }

 private:
  static constexpr Index block = 512, together = 16;  // rows, and coordinates, of a task

  const LocalBasis& basis(Index j) const { return bases_[static_cast<std::size_t>(j)]; }
  Matrix& table(Index j) { return tables_[static_cast<std::size_t>(j)]; }

  // f b and, for as many further columns, f a b. Most probabilities of many classes are tiny.
  void read(Index j, Index begin, Index size, SparseRows& rows) const {
    const LocalBasis& of = basis(j);
    const auto k = static_cast<std::int32_t>(of.columns());
    const double* scale = parts_[static_cast<std::size_t>(j)].scale.data();
    const auto most = static_cast<std::size_t>(2 * of.values() * size);
    rows.column.resize(most);
    rows.value.resize(most);
    rows.begin.assign(1, 0);
    std::size_t to = 0;
    LocalRow row;
    for (Index i = begin; i < begin + size; ++i) {
      const double f = root_(i) * residuals_(i, j);
      row.size = 0;
      if (f * f >= least_) of.row(i, row);
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
    const Matrix& whitener = parts_[static_cast<std::size_t>(j)].whitener;
    const Index k = whitener.cols();
    Matrix sums(2 * row_tile, k), kept = Matrix::Zero(2 * row_tile, whitener.rows());
    sums << table(j).rightCols(k), table(j).leftCols(k);
    add_pack_product(pack_product(false, true, 0.5, sums, whitener, kept));
    sums.setZero();
    add_pack_product(pack_product(false, false, 1.0, kept, whitener, sums));
    table(j) << sums.topRows(row_tile), sums.bottomRows(row_tile);
  }

  const Engine& engine_;
  const std::vector<LocalBasis>& bases_;
  const std::vector<LocalCoordinate>& parts_;
  const ConstMatrixRef residuals_;
  Vector root_, diagonal_;
  double least_;  // squares of f below it, which together are 1e-5 of all at most, are left out
  std::vector<Matrix> tables_;  // 64 x twice the columns of each coordinate
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
                                   RungSums& sums) {
  const DenseAlgebra& dense = engine.dense;
  RowProducts products(engine, bases, parts, residuals, weights);
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
