// SPDX-License-Identifier: GPL-3.0-or-later
// shape_rung() of ladder/recipes.h, compiled apart.
#ifndef CALIBRISK_SHAPE_RUNG_H
#define CALIBRISK_SHAPE_RUNG_H

#include <calibrisk/ladder/recipes.h>

calibrisk::Rung ladder_rung(const calibrisk::Engine& engine, const calibrisk::DenseAlgebra& worker,
                            const calibrisk::BasisShape& shape, const calibrisk::ConstMatrixRef& x,
                            const calibrisk::ConstMatrixRef& columns,
                            const calibrisk::ConstMatrixRef& e, const calibrisk::RowWeights& v,
                            const calibrisk::RowClusters& clusters, bool moments);

#endif
