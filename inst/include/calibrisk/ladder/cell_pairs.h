// SPDX-License-Identifier: GPL-3.0-or-later
// Squared norms of the blocks of pairs of coordinates whose bases are hats. With f_ij what row i
// counts in coordinate j and b_ij its hats in the orthonormal basis of j,
//   S_jl = sum_i f_ij f_il b_ij b_il'
// A row has two hats of a coordinate, so that it adds 2 x 2 values to the pair of its cells. Rows
// are taken by their cell of j. The Gram matrix of hats has two diagonals, and its Cholesky factor
// whitens a block in few passes.
#ifndef CALIBRISK_LADDER_CELL_PAIRS_H
#define CALIBRISK_LADDER_CELL_PAIRS_H

#include <calibrisk/engine.h>
#include <calibrisk/ladder/knots.h>
#include <calibrisk/linalg/pack_product.h>

#include <memory>

namespace calibrisk {

struct CellCoordinate {
  const HatPositions* hats;
  Index knots;
  const Matrix* whitener;  // for a basis of which columns are dropped
};

namespace detail {

constexpr Index cell_width = 8;  // coordinates at a time against one

// sums[at[8 i + l] + (0, 1, 2, 3)] += (u_0 x_0, u_0 x_1, u_1 x_0, u_1 x_1), u the values of row i
// in the one coordinate and x those of coordinate l, for these rows i and l = 0, ..., 7.
struct CellSweep {
  const std::int32_t* rows;
  const double* own;  // [count][2]
  Index count;
  const double* values;    // [n][8][2]
  const std::int32_t* at;  // [n][8]
  double* sums;
};

#ifdef CALIBRISK_PACKS

template <class T>
CALIBRISK_INLINE void prefetch(const T* x) {
  __builtin_prefetch(x);
}

template <int pack_size>
CALIBRISK_INLINE void cell_sweep_loop(const CellSweep& sweep) {
  using Pack = typename Packs<pack_size>::Pack;
  constexpr int parts = 4 / pack_size;
  constexpr Index ahead = 12, line = 8;  // rows are not side by side
  const std::int32_t *rows = sweep.rows, *at = sweep.at;
  const double *own = sweep.own, *values = sweep.values;
  double* sums = sweep.sums;
  for (Index t = 0, count = sweep.count; t < count; ++t) {
    const Index next = rows[t + ahead < count ? t + ahead : t];
    prefetch(values + 2 * cell_width * next);
    prefetch(values + 2 * cell_width * next + line);
    prefetch(at + cell_width * next);
    const double u0 = own[2 * t], u1 = own[2 * t + 1];
    Pack u[parts];
    if constexpr (parts == 1) {
      u[0] = Pack{u0, u0, u1, u1};
    } else {
      u[0] = Pack{u0, u0};
      u[1] = Pack{u1, u1};
    }
    const Index first = cell_width * rows[t];
    for (Index k = first; k < first + cell_width; ++k) {
      const double* x = values + 2 * k;
      for (int part = 0; part < parts; ++part) {
        double* to = sums + at[k] + part * pack_size;
        Pack sum, product;
        if constexpr (parts == 1) {
          product = u[0] * Pack{x[0], x[1], x[0], x[1]};
        } else {
          product = u[part] * Pack{x[0], x[1]};
        }
        keep_rounded(product);
        load_pack<pack_size>(to, sum);
        sum += product;
        store_pack<pack_size>(to, sum);
      }
    }
  }
}

inline void cell_sweep_baseline(const CellSweep& sweep) { cell_sweep_loop<2>(sweep); }
#ifdef CALIBRISK_DISPATCH
__attribute__((target("avx2"))) inline void cell_sweep_avx2(const CellSweep& sweep) {
  cell_sweep_loop<4>(sweep);
}
__attribute__((target("avx2"))) inline void cell_sweep_avx512(const CellSweep& sweep) {
  cell_sweep_loop<4>(sweep);
}
#endif

#else  // no vector extension: plain loops

inline void cell_sweep_baseline(const CellSweep& sweep) {
  for (Index t = 0; t < sweep.count; ++t) {
    for (Index l = 0; l < cell_width; ++l) {
      const Index k = cell_width * sweep.rows[t] + l;
      for (int c = 0; c < 4; ++c) {
        sweep.sums[sweep.at[k] + c] += sweep.own[2 * t + c / 2] * sweep.values[2 * k + c % 2];
      }
    }
  }
}

#endif

inline void sweep_cells(const CellSweep& sweep) {
  static void (*const loop)(const CellSweep&) = CALIBRISK_WIDEST(cell_sweep);
  loop(sweep);
}

// Adds the sums of these cells to the hats on either side of them, and leaves zeros.
inline void move_cells(double* sums, Index cells, double* left, double* right) {
  double from_left = 0.0, from_right = 0.0;
  for (Index c = 0; c < cells; ++c, sums += 4) {
    left[c] += from_left + sums[0];
    right[c] += from_right + sums[2];
    from_left = sums[1];
    from_right = sums[3];
    std::fill_n(sums, 4, 0.0);
  }
  left[cells] += from_left;
  right[cells] += from_right;
}

// The rows of one coordinate by their cell.
struct CellRows {
  std::vector<std::int32_t> rows;
  std::vector<double> own;   // [n][2], in this order
  std::vector<Index> begin;  // of each cell, and the end

  template <class Factor>
  CellRows(const CellCoordinate& of, Index n, const Factor& factor)
      : rows(static_cast<std::size_t>(n)),
        own(2 * static_cast<std::size_t>(n)),
        begin(static_cast<std::size_t>(std::max<Index>(of.knots, 2)) + 1) {
    for (Index i = 0; i < n; ++i) ++begin[of.hats->cell[static_cast<std::size_t>(i)] + 2u];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (Index i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const auto to = static_cast<std::size_t>(begin[of.hats->cell[row] + 1u]++);
      const double f = factor(i), t = of.hats->t[row];
      rows[to] = static_cast<std::int32_t>(i);
      own[2 * to] = f * (1.0 - t);
      own[2 * to + 1] = f * t;
    }
  }
};

// From the hats of a coordinate to its orthonormal basis.
class CellWhitening {
 public:
  CellWhitening(const CellCoordinate& of, Index n, const RowWeights& weights)
      : whitener_(*of.whitener), diagonal_(Vector::Zero(of.knots)), below_(Vector::Zero(of.knots)) {
    if (whitener_.rows() < of.knots) return;
    for (Index i = 0; i < n; ++i) {
      const Index c = of.hats->cell[static_cast<std::size_t>(i)];
      const double t = of.hats->t[static_cast<std::size_t>(i)], v = weights(i);
      diagonal_(c) += v * (1.0 - t) * (1.0 - t);
      if (t == 0.0) continue;
      diagonal_(c + 1) += v * t * t;
      below_(c + 1) += v * (1.0 - t) * t;
    }
    for (Index c = 0; c < of.knots; ++c) {
      if (c > 0) below_(c) /= diagonal_(c - 1);
      diagonal_(c) = std::sqrt(diagonal_(c) - below_(c) * below_(c));
    }
  }

  // X has a column for each hat.
  void columns(Matrix& x) const {
    if (whitener_.rows() < whitener_.cols()) {
      x = Matrix(x * whitener_.transpose());
      return;
    }
    for (Index c = 0; c < x.cols(); ++c) {
      if (c > 0) x.col(c) -= below_(c) * x.col(c - 1);
      x.col(c) /= diagonal_(c);
    }
  }

 private:
  const Matrix& whitener_;
  Vector diagonal_, below_;
};

}  // namespace detail

// |S_jl|^2 of every two coordinates; factor(i, j) = f_ij. Rows are ordered for some coordinates at
// a time.
template <class Factor>
Matrix cell_pair_squares(const Engine& engine, const std::vector<CellCoordinate>& coordinates,
                         const RowWeights& weights, Index n, const Factor& factor) {
  constexpr Index width = detail::cell_width, held = 64;
  const auto d = static_cast<Index>(coordinates.size());
  const auto of = [&](Index j) -> const CellCoordinate& {
    return coordinates[static_cast<std::size_t>(j)];
  };
  Index stride = 1;  // cells of a coordinate
  std::vector<detail::CellWhitening> whitenings;
  for (const CellCoordinate& one : coordinates) {
    stride = std::max(stride, one.knots - 1);
    whitenings.emplace_back(one, n, weights);
  }
  Matrix out(d, d);
  std::vector<std::unique_ptr<detail::CellRows>> ordered(held);
  for (Index from = 0; from < d; from += held) {
    const Index size = std::min(held, d - from);
    parallel_for(engine, size, [&](Index j) {
      ordered[static_cast<std::size_t>(j)] = std::make_unique<detail::CellRows>(
          of(from + j), n, [&](Index i) { return factor(i, from + j); });
    });
    const Index block = from / width;
    parallel_for(engine, (d + width - 1) / width - block, [&](Index task) {
      const Index begin = (block + task) * width, count = std::min(width, d - begin);
      std::vector<double> values(static_cast<std::size_t>(2 * width * n));
      std::vector<std::int32_t> at(static_cast<std::size_t>(width * n));
      for (Index l = 0; l < count; ++l) {
        const HatPositions& hats = *of(begin + l).hats;
        for (Index i = 0; i < n; ++i) {
          const auto row = static_cast<std::size_t>(i),
                     to = static_cast<std::size_t>(width * i + l);
          const double f = factor(i, begin + l), t = hats.t[row];
          values[2 * to] = f * (1.0 - t);
          values[2 * to + 1] = f * t;
          at[to] = static_cast<std::int32_t>(4 * (stride * l + hats.cell[row]));
        }
      }
      Matrix sums = Matrix::Zero(4, stride * width);
      std::vector<Matrix> blocks(static_cast<std::size_t>(count));
      for (Index j = from; j < std::min(from + size, begin + count); ++j) {
        const detail::CellRows& rows = *ordered[static_cast<std::size_t>(j - from)];
        for (Index l = 0; l < count; ++l) {
          blocks[static_cast<std::size_t>(l)].setZero(stride + 1, std::max<Index>(of(j).knots, 2));
        }
        for (Index c = 0; c + 1 < std::max<Index>(of(j).knots, 2); ++c) {
          const auto first = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(c)]);
          const auto last = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(c) + 1]);
          if (first == last) continue;
          detail::sweep_cells({rows.rows.data() + first, rows.own.data() + 2 * first,
                               static_cast<Index>(last - first), values.data(), at.data(),
                               sums.data()});
          for (Index l = 0; l < count; ++l) {
            Matrix& to = blocks[static_cast<std::size_t>(l)];
            detail::move_cells(sums.col(stride * l).data(), stride, to.col(c).data(),
                               to.col(c + 1).data());
          }
        }
        for (Index l = 0; l < count; ++l) {
          Matrix of_j =
              blocks[static_cast<std::size_t>(l)].topLeftCorner(of(begin + l).knots, of(j).knots);
          whitenings[static_cast<std::size_t>(j)].columns(of_j);
          Matrix both = of_j.transpose();
          whitenings[static_cast<std::size_t>(begin + l)].columns(both);
          out(j, begin + l) = both.squaredNorm();
        }
      }
    });
  }
  out.triangularView<Eigen::StrictlyLower>() = out.transpose();
  return out;
}

}  // namespace calibrisk

#endif
