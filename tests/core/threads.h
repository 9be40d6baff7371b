// SPDX-License-Identifier: GPL-3.0-or-later
// An executor on std::thread, and an engine with it: what a host without R would write.
#ifndef CALIBRISK_TESTS_CORE_THREADS_H
#define CALIBRISK_TESTS_CORE_THREADS_H

#include <calibrisk/serial_engine.h>

#include <atomic>
#include <thread>
#include <vector>

class ThreadExecutor : public calibrisk::Executor {
 public:
  explicit ThreadExecutor(int threads) : threads_(threads) {}
  void run(calibrisk::Index n_tasks,
           const std::function<void(calibrisk::Index)>& task) const override {
    std::atomic<calibrisk::Index> next{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads_; ++t) {
      pool.emplace_back([&] {
        for (calibrisk::Index i = next++; i < n_tasks; i = next++) task(i);
      });
    }
    for (std::thread& thread : pool) thread.join();
  }
  int threads() const override { return threads_; }

 private:
  int threads_;
};

// Owns its parts; use engine() while it lives.
struct ThreadedEngine {
  explicit ThreadedEngine(int threads) : executor(threads) {}
  calibrisk::Engine engine() { return {executor, dense, progress}; }
  ThreadExecutor executor;
  calibrisk::EigenAlgebra dense;
  calibrisk::Progress progress;
};

#endif
