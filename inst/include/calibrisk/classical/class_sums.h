// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of class probabilities among the rows of each class and among all rows.
#ifndef CALIBRISK_CLASSICAL_CLASS_SUMS_H
#define CALIBRISK_CLASSICAL_CLASS_SUMS_H

#include <calibrisk/types.h>

namespace calibrisk {

// Sums of every column of probs [n x K] over the rows labelled by it (1..K) and over all rows: K x
// 2.
inline Matrix class_sums(const ConstMatrixRef& probs, const int* labels) {
  Matrix out = Matrix::Zero(probs.cols(), 2);
  out.col(1) = probs.colwise().sum().transpose();
  for (Index i = 0; i < probs.rows(); ++i) {
    require(labels[i] >= 1 && labels[i] <= probs.cols(), "class_sums: a label is of no class.");
    out(labels[i] - 1, 0) += probs(i, labels[i] - 1);
  }
  return out;
}

}  // namespace calibrisk

#endif
