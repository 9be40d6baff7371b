// SPDX-License-Identifier: GPL-3.0-or-later
// The computations of ckce/by_factor.h, compiled apart.
#ifndef CALIBRISK_CKCE_FACTOR_H
#define CALIBRISK_CKCE_FACTOR_H

#include <calibrisk/ckce/fourier_features.h>
#include <calibrisk/ckce/job.h>
#include <calibrisk/ckce/low_rank.h>

calibrisk::CkceResult ckce_of_low_rank(
    const calibrisk::Engine& engine,
    const calibrisk::CertifiedFactor<calibrisk::KernelFactor>& certified,
    const calibrisk::CkceJob& job);

calibrisk::CkceResult ckce_of_low_rank(
    const calibrisk::Engine& engine,
    const calibrisk::CertifiedFactor<calibrisk::SourceFactor>& certified,
    const calibrisk::CkceJob& job);

calibrisk::CkceResult ckce_of_features(const calibrisk::Engine& engine,
                                       const calibrisk::FeatureMap& map,
                                       const calibrisk::ConstMatrixRef& x,
                                       const calibrisk::CkceJob& job);

#endif
