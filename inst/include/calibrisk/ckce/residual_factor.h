// SPDX-License-Identifier: GPL-3.0-or-later
// Residuals of predictive distributions in a finite basis: the Gram matrix G of
// l(y_i, .) - E l(Z_i, .), a target h_Y, factored as D D'.
#ifndef CALIBRISK_CKCE_RESIDUAL_FACTOR_H
#define CALIBRISK_CKCE_RESIDUAL_FACTOR_H

#include <calibrisk/pairs/pair_sums.h>
#include <calibrisk/pairs/source_factor.h>

namespace calibrisk {

// A source with something added to its diagonal.
class RaisedSource : public PairSource {
 public:
  RaisedSource(const PairSource& source, const ConstVectorRef& raise)
      : source_(source), raise_(raise) {}
  Index size() const override { return source_.size(); }
  void block(Index i, Index j, MatrixRef out) const override {
    source_.block(i, j, out);
    const Index begin = std::max(i, j), end = std::min(i + out.rows(), j + out.cols());
    for (Index a = begin; a < end; ++a) out(a - i, a - j) += raise_(a);
  }
  double cost() const override { return source_.cost(); }

 private:
  const PairSource& source_;
  ConstVectorRef raise_;
};

struct ResidualFactor {
  Matrix d;       // [n x s]
  Vector missed;  // diagonal of G - D D'; 0 where it is rounding
};

// Pivots one at a time where few are enough, as for smooth target kernels. Others have as many as
// rows: up to `dense_rows` then the plain Cholesky factor of the whole matrix, or, where that is
// singular, as many pivots as it takes; above, at most `max_rank`.
inline ResidualFactor residual_factor(const Engine& engine, const PairSource& source,
                                      Index dense_rows, Index max_rank) {
  constexpr double rounding = 1e-14;
  constexpr Index few = 64;
  const Index n = source.size();
  SourceFactor factor = empty_factor(engine, source);
  const double tolerance = n > 0 ? rounding * factor.residual.mean() : 0.0;
  const bool dense = n <= dense_rows;
  extend_factor(engine, source, tolerance, dense ? std::max(few, n / 4) : max_rank, factor);
  const auto done = [&] {
    return factor.residual.mean() <= tolerance || !(factor.residual.maxCoeff() > factor.noise);
  };
  if (dense && n > 0 && !done()) {
    Matrix gram = pair_matrix(engine, source);
    if (engine.dense.cholesky(gram)) return {std::move(gram), Vector::Zero(n)};
    extend_factor(engine, source, tolerance, n, factor);
  }
  if (n == 0 || done() || factor.rank() == n) factor.residual.setZero();
  return {std::move(factor.l), std::move(factor.residual)};
}

}  // namespace calibrisk

#endif
