// SPDX-License-Identifier: GPL-3.0-or-later
// An engine on std::thread: what a host without R would write.
#ifndef CALIBRISK_TESTS_CORE_THREADS_H
#define CALIBRISK_TESTS_CORE_THREADS_H

#include <calibrisk/serial_engine.h>
#include <calibrisk/thread_executor.h>

// Owns its parts; use engine() while it lives.
struct ThreadedEngine {
  explicit ThreadedEngine(int threads) : executor(threads) {}
  calibrisk::Engine engine() { return {executor, dense, progress}; }
  calibrisk::ThreadExecutor executor;
  calibrisk::EigenAlgebra dense{executor};
  calibrisk::Progress progress;
};

#endif
