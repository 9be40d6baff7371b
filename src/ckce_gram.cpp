// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_CKCE_GRAM  // for all units: linalg/eigen_products.h
#include "ckce_gram.h"
#include <calibrisk/ckce/by_gram.h>

calibrisk::CkceResult ckce_of_dual(const calibrisk::Engine& engine,
                                   const calibrisk::ConstMatrixRef& gram,
                                   const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_dual(engine, gram, job);
}

calibrisk::CkceResult ckce_of_eigen(const calibrisk::Engine& engine, calibrisk::Matrix gram,
                                    const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_eigen(engine, std::move(gram), job);
}
