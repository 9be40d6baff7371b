// SPDX-License-Identifier: GPL-3.0-or-later
#include "certified_factor.h"

calibrisk::CertifiedFactor<calibrisk::KernelFactor> certified_factor(
    const calibrisk::Engine& engine, const calibrisk::Kernel& kernel,
    const calibrisk::ConstMatrixRef& x, const calibrisk::ConstMatrixRef& residuals, double ridge,
    const calibrisk::LowRankOptions& options) {
  return calibrisk::ckce_factor(engine, kernel, x, residuals, ridge, options);
}

calibrisk::CertifiedFactor<calibrisk::SourceFactor> certified_factor(
    const calibrisk::Engine& engine, const calibrisk::PairSource& source,
    const calibrisk::ConstMatrixRef& residuals, double ridge,
    const calibrisk::LowRankOptions& options) {
  return calibrisk::ckce_factor(engine, source, residuals, ridge, options);
}
