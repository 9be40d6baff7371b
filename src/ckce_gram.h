// SPDX-License-Identifier: GPL-3.0-or-later
// The computations of ckce/by_gram.h, compiled apart.
#ifndef CALIBRISK_CKCE_GRAM_H
#define CALIBRISK_CKCE_GRAM_H

#include <calibrisk/ckce/job.h>

calibrisk::CkceResult ckce_of_dual(const calibrisk::Engine& engine,
                                   const calibrisk::ConstMatrixRef& gram,
                                   const calibrisk::CkceJob& job);

calibrisk::CkceResult ckce_of_eigen(const calibrisk::Engine& engine, calibrisk::Matrix gram,
                                    const calibrisk::CkceJob& job);

#endif
