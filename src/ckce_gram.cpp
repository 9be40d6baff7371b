// SPDX-License-Identifier: GPL-3.0-or-later
#include "ckce_gram.h"
#include <calibrisk/ckce/by_gram.h>

calibrisk::CkceResult ckce_of_dual(const calibrisk::Engine& engine, const calibrisk::Kernel& kernel,
                                   const calibrisk::ConstMatrixRef& x,
                                   const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_dual(engine, kernel, x, job);
}

calibrisk::CkceResult ckce_of_eigen(const calibrisk::Engine& engine,
                                    const calibrisk::Kernel& kernel,
                                    const calibrisk::ConstMatrixRef& x,
                                    const calibrisk::CkceJob& job) {
  return calibrisk::ckce_by_eigen(engine, kernel, x, job);
}
