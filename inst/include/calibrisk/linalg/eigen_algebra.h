// SPDX-License-Identifier: GPL-3.0-or-later
// Dense algebra with eigendecompositions by Eigen: for hosts without a LAPACK, and for work inside
// a worker. Eigen's decompositions are slow to compile: they are here, in small_algebra.h and in
// pivoted_qr.h.
#ifndef CALIBRISK_LINALG_EIGEN_ALGEBRA_H
#define CALIBRISK_LINALG_EIGEN_ALGEBRA_H

#include <calibrisk/linalg/block_algebra.h>
#include <calibrisk/linalg/small_algebra.h>

namespace calibrisk {

// Products on the calling thread, or in tasks of an executor that lasts as long.
class EigenAlgebra : public BlockAlgebra {
 public:
  EigenAlgebra() : BlockAlgebra(calling_thread()) {}
  explicit EigenAlgebra(const Executor& executor) : BlockAlgebra(executor) {}

  SymEigen sym_eigen(Matrix a) const override {
    SymEigen out;
    if (!small_eigen(a, out)) {
      throw std::runtime_error("The symmetric eigendecomposition did not converge.");
    }
    return out;
  }

 private:
  static const Executor& calling_thread() {
    static const Executor executor;
    return executor;
  }
};

}  // namespace calibrisk

#endif
