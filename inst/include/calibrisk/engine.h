// SPDX-License-Identifier: GPL-3.0-or-later
// The tools that the core computes with: an executor for parallel loops, dense linear
// algebra, and a progress sink that may interrupt. A host injects its own (src/r_engine.h for
// R); serial_engine.h has one that needs nothing but Eigen.
#ifndef CALIBRISK_ENGINE_H
#define CALIBRISK_ENGINE_H

#include <calibrisk/linalg/dense_algebra.h>
#include <calibrisk/types.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace calibrisk {

// Runs task(0), ..., task(n_tasks - 1), in any order and on any number of threads.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void run(Index n_tasks, const std::function<void(Index)>& task) const {
    for (Index i = 0; i < n_tasks; ++i) task(i);
  }
  virtual int threads() const { return 1; }
};

// Told the fraction done from the main thread only; may throw to stop the work.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void advance(double /*fraction*/) {}
};

struct Engine {
  const Executor& executor;
  const DenseAlgebra& dense;
  Progress& progress;
};

// A stretch of the overall progress, so that nested loops report one fraction.
struct ProgressSpan {
  double from = 0.0;
  double to = 1.0;
  ProgressSpan part(Index i, Index n) const {
    const double step = (to - from) / static_cast<double>(std::max<Index>(n, 1));
    return {from + step * static_cast<double>(i), from + step * static_cast<double>(i + 1)};
  }
};

// Tasks are handed out in batches so that the progress sink is consulted (and the user's interrupt
// seen) between batches: larger ones where tasks are quick, since threads meet after each.
class Batches {
 public:
  Batches(const Executor& executor, Index n_tasks)
      : n_tasks_(n_tasks), size_(std::max<Index>(16 * executor.threads(), 1)), most_(16 * size_) {}

  // Size of the next batch; 0 after the last.
  Index next() {
    begin_ += last_;
    const auto now = std::chrono::steady_clock::now();
    if (last_ > 0 && now - start_ < std::chrono::milliseconds(2)) {
      size_ = std::min(2 * size_, most_);
    }
    start_ = now;
    return last_ = std::min(size_, n_tasks_ - begin_);
  }
  Index begin() const { return begin_; }

 private:
  Index n_tasks_, size_, most_, begin_ = 0, last_ = 0;
  std::chrono::steady_clock::time_point start_;
};

// task(i) for i in [0, n_tasks).
template <class Task>
void parallel_for(const Engine& engine, Index n_tasks, const Task& task, ProgressSpan span = {}) {
  Batches batches(engine.executor, n_tasks);
  while (const Index size = batches.next()) {
    const Index begin = batches.begin();
    engine.executor.run(size, [&](Index i) { task(begin + i); });
    engine.progress.advance(span.from + (span.to - span.from) * static_cast<double>(begin + size) /
                                            static_cast<double>(n_tasks));
  }
}

// Rows are reduced in fixed blocks, merged in order: the same digits for any
// number of threads. map(begin, size) returns a block's partial, merge(total, partial)
// adds it. Partials of one batch at a time are held in memory.
template <class Partial, class Map, class Merge>
Partial parallel_reduce(const Engine& engine, Index n_rows, Index block, Partial total,
                        const Map& map, const Merge& merge, ProgressSpan span = {}) {
  const Index n_blocks = (n_rows + block - 1) / block;
  Batches batches(engine.executor, n_blocks);
  std::vector<Partial> partials;
  while (const Index size = batches.next()) {
    const Index first = batches.begin();
    partials.assign(static_cast<std::size_t>(size), Partial());
    engine.executor.run(size, [&](Index i) {
      const Index begin = (first + i) * block;
      partials[static_cast<std::size_t>(i)] = map(begin, std::min(block, n_rows - begin));
    });
    for (const Partial& partial : partials) merge(total, partial);
    engine.progress.advance(span.from + (span.to - span.from) * static_cast<double>(first + size) /
                                            static_cast<double>(n_blocks));
  }
  return total;
}

// task(engine within, column): columns side by side, or the rows of a single one, which then is on
// the main thread.
template <class Task>
void for_columns(const Engine& engine, Index n_columns, const Task& task) {
  if (n_columns == 1) return task(engine, Index{0});
  const Executor one_thread;
  Progress quiet;
  const Engine within{one_thread, engine.dense, quiet};
  parallel_for(engine, n_columns, [&](Index j) { task(within, j); });
}

}  // namespace calibrisk

#endif
