// SPDX-License-Identifier: GPL-3.0-or-later
#include "shape_rung.h"

calibrisk::Rung ladder_rung(const calibrisk::Engine& engine, const calibrisk::DenseAlgebra& worker,
                            const calibrisk::BasisShape& shape, const calibrisk::ConstMatrixRef& x,
                            const calibrisk::ConstMatrixRef& columns,
                            const calibrisk::ConstMatrixRef& e, const calibrisk::RowWeights& v,
                            const calibrisk::RowClusters& clusters, bool moments) {
  return calibrisk::shape_rung(engine, worker, shape, x, columns, e, v, clusters, moments);
}
