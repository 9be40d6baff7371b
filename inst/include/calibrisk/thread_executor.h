// SPDX-License-Identifier: GPL-3.0-or-later
// An executor that needs the standard library only, with threads that live as long as a loop: there
// are none that a forked process would miss. src/r_engine.cpp takes it with
// -DCALIBRISK_STD_THREADS.
#ifndef CALIBRISK_THREAD_EXECUTOR_H
#define CALIBRISK_THREAD_EXECUTOR_H

#include <calibrisk/engine.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace calibrisk {

class ThreadExecutor : public Executor {
 public:
  explicit ThreadExecutor(int threads) : threads_(threads) {}

  void run(Index n_tasks, const std::function<void(Index)>& task) const override {
    if (n_tasks <= 1 || threads_ <= 1) {
      Executor::run(n_tasks, task);
      return;
    }
    std::atomic<Index> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    // the first exception ends the loop, and is thrown where it was called
    const auto work = [&] {
      try {
        for (Index i = next++; i < n_tasks; i = next++) task(i);
      } catch (...) {
        next = n_tasks;
        std::lock_guard<std::mutex> lock(mutex);
        if (!error) error = std::current_exception();
      }
    };
    std::vector<std::thread> others;
    const Index helpers = std::min<Index>(threads_, n_tasks) - 1;
    others.reserve(static_cast<std::size_t>(helpers));
    try {
      for (Index t = 0; t < helpers; ++t) others.emplace_back(work);
    } catch (const std::system_error&) {
      // the system has no more threads: the existing ones do all the work
    }
    work();
    for (std::thread& thread : others) thread.join();
    if (error) std::rethrow_exception(error);
  }

  int threads() const override { return threads_; }

 private:
  int threads_;
};

}  // namespace calibrisk

#endif
