// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_CKCE_FACTOR  // for all units: linalg/eigen_products.h
#include "ckce_factor.h"
#include <calibrisk/ckce/by_factor.h>

calibrisk::CkceResult ckce_of_low_rank(
    const calibrisk::Engine& engine,
    const calibrisk::CertifiedFactor<calibrisk::KernelFactor>& certified,
    const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_low_rank(engine, certified, job);
}

calibrisk::CkceResult ckce_of_low_rank(
    const calibrisk::Engine& engine,
    const calibrisk::CertifiedFactor<calibrisk::SourceFactor>& certified,
    const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_low_rank(engine, certified, job);
}

calibrisk::CkceResult ckce_of_features(const calibrisk::Engine& engine,
                                       const calibrisk::FeatureMap& map,
                                       const calibrisk::ConstMatrixRef& x,
                                       const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_features(engine, map, x, job);
}
