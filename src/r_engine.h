// SPDX-License-Identifier: GPL-3.0-or-later
// R's side of the core's engine: RcppParallel (TBB; std::thread with -DCALIBRISK_STD_THREADS) for
// loops, R's LAPACK for eigendecompositions, R's interrupt and a callback for progress.
#ifndef CALIBRISK_R_ENGINE_H
#define CALIBRISK_R_ENGINE_H

#include "r_values.h"
#include <calibrisk/engine.h>

#include <memory>

class RcppExecutor : public calibrisk::Executor {
 public:
  explicit RcppExecutor(int threads) : threads_(threads) {}
  void run(calibrisk::Index n_tasks,
           const std::function<void(calibrisk::Index)>& task) const override;
  int threads() const override { return threads_; }

 private:
  int threads_;
};

// For tasks that run in a worker, where R's LAPACK must not be called.
const calibrisk::DenseAlgebra& worker_algebra();

// Checks R's interrupt at every call; hands the fraction to R at most ten times a second.
class RProgress : public calibrisk::Progress {
 public:
  explicit RProgress(SEXP callback);
  void advance(double fraction) override;

 private:
  std::unique_ptr<Rcpp::Function> callback_;
  double last_ = 0.0;
};

// Owns one of each; converts to the engine that the core takes.
class REngine {
 public:
  explicit REngine(int threads, SEXP progress = R_NilValue);
  ~REngine();
  operator calibrisk::Engine() &;  // a view: of an engine that lasts

 private:
  RcppExecutor executor_;
  std::unique_ptr<calibrisk::DenseAlgebra> dense_;
  RProgress progress_;
};

#endif
