// SPDX-License-Identifier: GPL-3.0-or-later
#define CALIBRISK_COMPILE_ALGEBRA  // for all units: linalg/eigen_products.h
#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <Rconfig.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif

// Rcpp and TBB after R's Fortran headers, which must see USE_FC_LEN_T first.
#include "r_engine.h"

#include "interrupt.h"
#include <calibrisk/linalg/block_algebra.h>
#ifdef CALIBRISK_STD_THREADS
#include <calibrisk/thread_executor.h>
#else
// Not RcppParallel.h, whose RMatrix.h uses what C++17 deprecates: R CMD check warns of it.
#include <RcppParallel/TBB.h>
#endif

#include <chrono>
#include <exception>
#include <limits>
#include <mutex>

using calibrisk::ConstMatrixRef;
using calibrisk::Index;
using calibrisk::Matrix;
using calibrisk::MatrixRef;
using calibrisk::SymEigen;
using calibrisk::Vector;

namespace {

#ifndef CALIBRISK_STD_THREADS
// A worker must not let an exception escape into TBB: keep the first, rethrow on the main thread.
struct TaskWorker : public RcppParallel::Worker {
  explicit TaskWorker(const std::function<void(Index)>& task) : task(task) {}
  void operator()(std::size_t begin, std::size_t end) override {
    for (std::size_t i = begin; i < end; ++i) {
      try {
        task(static_cast<Index>(i));
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  }
  const std::function<void(Index)>& task;
  std::mutex mutex;
  std::exception_ptr error;
};
#endif

class RDenseAlgebra : public calibrisk::BlockAlgebra {
 public:
  using BlockAlgebra::BlockAlgebra;
  SymEigen sym_eigen(Matrix a) const override;
};

int blas_int(Index n) {
  if (n > std::numeric_limits<int>::max()) {
    throw std::invalid_argument("A matrix dimension exceeds the range of R's LAPACK (2^31 - 1).");
  }
  return static_cast<int>(n);
}

double seconds() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

}  // namespace

// Not Rcpp's check, which raises at the top level: a time limit would be printed there and arrive
// as an interrupt, and R's stack of promises would be gone. R compares the time with its limits in
// one of six checks only.
// [[Rcpp::export(rng = false, name = "check_interrupt")]]
void check_interrupt() {
  Rcpp::unwindProtect([] {
    for (int check = 0; check < 6; ++check) R_CheckUserInterrupt();
    return R_NilValue;
  });
}

namespace {

void run_tasks(int threads, Index n_tasks, const std::function<void(Index)>& task) {
  if (n_tasks <= 1 || threads <= 1) {
    calibrisk::Executor().run(n_tasks, task);
    return;
  }
#ifdef CALIBRISK_STD_THREADS
  calibrisk::ThreadExecutor(threads).run(n_tasks, task);
#else
  TaskWorker worker(task);
  RcppParallel::tbbParallelFor(0, static_cast<std::size_t>(n_tasks), worker, 1, threads);
  if (worker.error) std::rethrow_exception(worker.error);
#endif
}

}  // namespace

// Checks for an interrupt between tasks, where these take long.
void RcppExecutor::run(Index n_tasks, const std::function<void(Index)>& task) const {
  constexpr double pause = 0.1;
  Index size = std::max(threads_, 1);  // at first
  for (Index begin = 0; begin < n_tasks;) {
    const Index part = std::min(size, n_tasks - begin);
    const double start = seconds();
    run_tasks(threads_, part, [&](Index i) { task(begin + i); });
    begin += part;
    const double took = seconds() - start;
    if (took > pause) check_interrupt();
    // as many as a pause takes
    const double next = static_cast<double>(part) * pause / std::max(took, 1e-9);
    size = static_cast<Index>(std::max<double>(threads_, std::min(next, 1e9)));
  }
}

SymEigen RDenseAlgebra::sym_eigen(Matrix a) const {
  const int n = blas_int(a.rows());
  SymEigen out{Vector(n), Matrix()};
  if (n == 0) return out;
  int info = 0, lwork = -1, liwork = -1, iwork_size = 0;
  double work_size = 0.0;
  F77_CALL(dsyevd)
  ("V", "L", &n, a.data(), &n, out.values.data(), &work_size, &lwork, &iwork_size, &liwork,
   &info FCONE FCONE);
  lwork = static_cast<int>(work_size);
  liwork = iwork_size;
  std::vector<double> work(static_cast<std::size_t>(std::max(lwork, 1)));
  std::vector<int> iwork(static_cast<std::size_t>(std::max(liwork, 1)));
  F77_CALL(dsyevd)
  ("V", "L", &n, a.data(), &n, out.values.data(), work.data(), &lwork, iwork.data(), &liwork,
   &info FCONE FCONE);
  if (info != 0) throw std::runtime_error("The symmetric eigendecomposition did not converge.");
  out.vectors = std::move(a);
  return out;
}

RProgress::RProgress(SEXP callback) : last_(seconds()) {
  if (!Rf_isNull(callback)) callback_ = std::make_unique<Rcpp::Function>(callback);
}

void RProgress::advance(double fraction) {
  check_interrupt();
  if (callback_ == nullptr) return;
  const double now = seconds();
  if (now - last_ < 0.1 && fraction < 1.0) return;
  last_ = now;
  (*callback_)(fraction);
}

REngine::REngine(int threads, SEXP progress)
    : executor_(threads), dense_(std::make_unique<RDenseAlgebra>(executor_)), progress_(progress) {
  check_interrupt();
}

REngine::~REngine() = default;

REngine::operator calibrisk::Engine() & { return {executor_, *dense_, progress_}; }
