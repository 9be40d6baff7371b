// SPDX-License-Identifier: GPL-3.0-or-later
// The symmetric gram() of kernels/gram.h, compiled apart.
#ifndef CALIBRISK_KERNEL_GRAM_H
#define CALIBRISK_KERNEL_GRAM_H

#include <calibrisk/engine.h>
#include <calibrisk/kernels/kernel.h>

calibrisk::Matrix kernel_gram(const calibrisk::Engine& engine, const calibrisk::Kernel& kernel,
                              const calibrisk::ConstMatrixRef& x);

#endif
