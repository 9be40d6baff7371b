// SPDX-License-Identifier: GPL-3.0-or-later
// ckce_factor() of ckce/low_rank.h, compiled once for CKCE and for sums over pairs.
#ifndef CALIBRISK_CERTIFIED_FACTOR_H
#define CALIBRISK_CERTIFIED_FACTOR_H

#include <calibrisk/ckce/low_rank.h>

calibrisk::CertifiedFactor<calibrisk::KernelFactor> certified_factor(
    const calibrisk::Engine& engine, const calibrisk::Kernel& kernel,
    const calibrisk::ConstMatrixRef& x, const calibrisk::ConstMatrixRef& residuals, double ridge,
    const calibrisk::LowRankOptions& options);

calibrisk::CertifiedFactor<calibrisk::SourceFactor> certified_factor(
    const calibrisk::Engine& engine, const calibrisk::PairSource& source,
    const calibrisk::ConstMatrixRef& residuals, double ridge,
    const calibrisk::LowRankOptions& options);

#endif
