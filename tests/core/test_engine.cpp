// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"
#include "threads.h"

#include <calibrisk/joint/redraws.h>
#include <calibrisk/kernels/gram.h>
#include <calibrisk/linalg/pivoted_qr.h>
#include <calibrisk/pairs/pair_sums.h>

#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

using namespace calibrisk;

TEST(parallel_for_runs_every_task_once) {
  ThreadedEngine host(3);
  std::vector<int> times(1000, 0);
  parallel_for(host.engine(), 1000, [&](Index i) { ++times[static_cast<std::size_t>(i)]; });
  for (int t : times) CHECK(t == 1);
}

namespace {

// Counts the tasks that it was given.
struct CountingExecutor : Executor {
  void run(Index n_tasks, const std::function<void(Index)>& task) const override {
    tasks += n_tasks;
    Executor::run(n_tasks, task);
  }
  int threads() const override { return 4; }
  mutable Index tasks = 0;
};

}  // namespace

TEST(short_work_stays_on_the_calling_thread) {
  const Engine serial = serial_engine();
  // whether work on so many rows is left to the engine's threads
  const auto threaded = [&](Index n, const auto& work) {
    const CountingExecutor executor;
    const Engine engine{executor, serial.dense, serial.progress};
    CHECK(work(engine, n) == work(serial, n));
    return executor.tasks > 0;
  };
  const auto pairs = [](const Engine& engine, Index n) {
    const Vector x = Vector::LinSpaced(2 * n, -1.0, 1.0);
    const MatrixView view(x.data(), n, 2);
    return pair_sums(engine, InnerProductSource(view, view)).squares;
  };
  const auto median = [](const Engine& engine, Index n) {
    return median_distance(engine, Metric::squared_euclidean, Vector::LinSpaced(n, 0.0, 1.0));
  };
  const auto redraws = [&](const Engine& engine, Index n) {
    const Vector p = Vector::LinSpaced(n, 0.1, 0.6), none;
    const JointParts parts = joint_parts(serial, joint_rows(p, none, none, none));
    return redraw_rows(engine, parts, nullptr, 1999).sum();
  };
  for (const Index n : {Index{100}, Index{1000}}) {
    CHECK(threaded(n, median) == (n > 100));
    CHECK(threaded(n, redraws) == (n > 100));
    CHECK(threaded(n, pairs) == (n > 100));
  }
}

TEST(an_exception_of_a_task_is_thrown_where_the_loop_was_called) {
  ThreadedEngine host(3);
  for (Index thrower : {Index(0), Index(7), Index(999)}) {
    std::atomic<int> ran{0};
    bool caught = false;
    try {
      parallel_for(host.engine(), 1000, [&](Index i) {
        if (i == thrower) throw std::range_error("a task");
        ++ran;
      });
    } catch (const std::range_error&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(ran < 1000);
    // and the next loop is as ever
    std::atomic<int> after{0};
    parallel_for(host.engine(), 100, [&](Index) { ++after; });
    CHECK(after == 100);
  }
}

double sum_of(const Vector& x, const Engine& engine) {
  return parallel_reduce(
      engine, x.size(), 64, 0.0,
      [&](Index begin, Index size) { return x.segment(begin, size).sum(); },
      [](double& total, double part) { total += part; });
}

TEST(parallel_reduce_has_the_same_digits_on_any_number_of_threads) {
  const Vector x = Vector::Random(10007);
  ThreadedEngine two(2), five(5);
  const double serial = sum_of(x, serial_engine());
  CHECK(sum_of(x, two.engine()) == serial);
  CHECK(sum_of(x, five.engine()) == serial);
  CHECK(is_near(serial, x.sum()));
}

// Whether a forked process that computes on so many threads of its own has these digits.
bool a_fork_agrees(const Vector& x, double expected, int threads) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);  // a child that waits for ever has failed
    ThreadedEngine host(threads);
    _exit(sum_of(x, host.engine()) == expected ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST(a_fork_after_a_loop_has_the_digits_of_its_parent) {
  const Vector x = Vector::Random(10007);
  ThreadedEngine host(3);
  const double expected = sum_of(x, host.engine());
  CHECK(a_fork_agrees(x, expected, 3));
  CHECK(sum_of(x, host.engine()) == expected);
}

// The sanitizer of addresses does not unlock its allocator in such a fork.
#ifndef __SANITIZE_ADDRESS__
TEST(a_fork_while_workers_live_has_the_digits_of_its_parent) {
#ifdef __SANITIZE_THREAD__
  const int threads = 1;  // the sanitizer lets no such fork start threads
#else
  const int threads = 3;
#endif
  const Vector x = Vector::Random(10007);
  const double expected = sum_of(x, serial_engine());
  std::atomic<bool> done{false};
  std::atomic<int> loops{0}, different{0};
  std::thread busy([&] {
    ThreadedEngine host(3);
    while (!done) {
      if (sum_of(x, host.engine()) != expected) ++different;
      ++loops;
    }
  });
  while (loops == 0) std::this_thread::yield();
  for (int i = 0; i < 8; ++i) CHECK(a_fork_agrees(x, expected, threads));
  done = true;
  busy.join();
  CHECK(different == 0);
}
#endif

TEST(gemm_does_not_read_what_it_overwrites) {
  const EigenAlgebra dense;
  for (Index inner : {Index(0), Index(3)}) {
    const Matrix a = Matrix::Ones(2, inner), b = Matrix::Ones(inner, 2);
    Matrix c = Matrix::Constant(2, 2, std::numeric_limits<double>::quiet_NaN());
    dense.gemm(false, false, 1.0, a, b, 0.0, c);
    CHECK((c.array() == static_cast<double>(inner)).all());
    dense.gemm(false, false, 1.0, a, b, 2.0, c);
    CHECK((c.array() == 3.0 * static_cast<double>(inner)).all());
  }
}

TEST(dense_algebra_agrees_with_plain_products) {
  const EigenAlgebra dense;
  const Matrix a = Matrix::Random(7, 4), b = Matrix::Random(4, 5);
  CHECK((dense.multiply(a, b) - a * b).norm() < 1e-14);
  CHECK((dense.multiply_a_bt(a, b.transpose()) - a * b).norm() < 1e-14);
  CHECK((dense.multiply_at_b(a.transpose(), b) - a * b).norm() < 1e-14);
  CHECK((dense.crossprod(a) - a.transpose() * a).norm() < 1e-14);
  const Matrix s = a.transpose() * a + Matrix::Identity(4, 4);
  const SymEigen eigen = dense.sym_eigen(s);
  CHECK((eigen.vectors * eigen.values.asDiagonal() * eigen.vectors.transpose() - s).norm() < 1e-13);
  Matrix l = s;
  CHECK(dense.cholesky(l));
  CHECK((l * l.transpose() - s).norm() < 1e-13);
  Matrix solved = b;
  dense.solve_lower(l, false, solved);
  dense.solve_lower(l, true, solved);
  CHECK((s * solved - b).norm() < 1e-12);
  Matrix indefinite = -s;
  CHECK(!dense.cholesky(indefinite));
}

// The loops of other instruction sets are chosen by the processor that runs the test.
TEST(products_by_packs_have_the_digits_of_a_loop) {
  for (Index m : {1, 5, 16, 33}) {
    for (Index n : {1, 4, 99}) {
      for (Index depth : {1, 130, 300}) {
        const Matrix a = Matrix::Random(m, depth), b = Matrix::Random(n, depth);
        const Matrix start = Matrix::Random(m, n), at = a.transpose(), bt = b.transpose();
        Matrix expected(m, n);
        for (Index i = 0; i < m; ++i) {
          for (Index j = 0; j < n; ++j) {
            volatile double sum = start(i, j);  // without fused products
            for (Index k = 0; k < depth; ++k) {
              const volatile double product = -a(i, k) * b(j, k);
              sum = sum + product;
            }
            expected(i, j) = sum;
          }
        }
        for (int t = 0; t < 4; ++t) {
          Matrix plain = start, chosen = start;
          const ConstMatrixRef left = t % 2 == 0 ? a : at, right = t / 2 == 0 ? bt : b;
          detail::matrix_product_baseline(
              pack_product(t % 2 != 0, t / 2 != 0, -1.0, left, right, plain));
          add_pack_product(pack_product(t % 2 != 0, t / 2 != 0, -1.0, left, right, chosen));
          CHECK(plain == expected && chosen == expected);
        }
      }
    }
  }
}

TEST(blocked_solves_and_factors_are_those_of_eigen) {
  const EigenAlgebra dense;
  for (Index n : {1, 2, 8, 9, 17, 40, 100}) {
    const Matrix root = Matrix::Random(n, n), b = Matrix::Random(n, 21);
    const Matrix a = root * root.transpose() + Matrix::Identity(n, n);
    const double size = a.norm();
    Matrix l = a;
    l.triangularView<Eigen::StrictlyUpper>().setConstant(7.0);  // is not read
    CHECK(dense.cholesky(l));
    CHECK(l.isLowerTriangular(0.0));
    CHECK((l * l.transpose() - a).norm() < 1e-14 * size);
    for (bool transpose : {false, true}) {
      const Matrix op = transpose ? Matrix(l.transpose()) : l;
      Matrix x = b;
      dense.solve_lower(l, transpose, x);
      CHECK((op * x - b).norm() < 1e-14 * size * x.norm());
    }
    Matrix right = b.transpose();
    solve_from_right(l, right, add_pack_product);
    CHECK((right * l.transpose() - b.transpose()).norm() < 1e-14 * size * right.norm());
    for (double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
      Matrix wrong = a;
      wrong(n - 1, n - 1) = bad;
      CHECK(!dense.cholesky(wrong));
    }
  }
}

// Fowler, Noll and Vo's hash of the digits.
std::uint64_t digits(const Matrix& x) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (Index i = 0; i < x.size(); ++i) {
    std::uint64_t bits;
    std::memcpy(&bits, x.data() + i, sizeof bits);
    hash = (hash ^ bits) * 1099511628211ULL;
  }
  return hash;
}

Matrix counted_numbers(Index rows, Index cols, std::uint64_t seed) {
  Matrix out(rows, cols);
  for (Index i = 0; i < out.size(); ++i) {
    out.data()[i] = counter_uniform(seed, 1, static_cast<std::uint64_t>(i)) - 0.3;
  }
  return out;
}

// Stored ones: no instruction set and no compiler may fuse steps.
TEST(products_and_solves_have_the_digits_of_any_machine) {
  const Matrix a = counted_numbers(90, 70, 1);
  Matrix gram = Matrix::Zero(70, 70);
  add_pack_product(pack_product(true, false, 1.0, a, a, gram));
  CHECK(digits(gram) == 0x8685d0e4d7230c71ULL);
  gram.diagonal().array() += 5.0;
  CHECK(pack_cholesky(gram, add_pack_product));
  const Matrix l = gram.triangularView<Eigen::Lower>();
  CHECK(digits(l) == 0x3153387bc7cade37ULL);
  Matrix right = counted_numbers(31, 70, 2), left = counted_numbers(70, 33, 3),
         transposed = counted_numbers(70, 33, 4);
  solve_from_right(l, right, add_pack_product);
  CHECK(digits(right) == 0x14784af4f6633223ULL);
  solve_from_left(l, false, left, add_pack_product);
  CHECK(digits(left) == 0x0b1f67f02fd48873ULL);
  solve_from_left(l, true, transposed, add_pack_product);
  CHECK(digits(transposed) == 0x39372abd2b6f213fULL);
}

// More than one block each way.
TEST(blocks_of_products_have_the_digits_of_one_thread) {
  const ThreadedEngine host(3);
  const EigenAlgebra serial;
  const Matrix a = Matrix::Random(30, 800), b = Matrix::Random(30, 500);
  Matrix c = Matrix::Random(800, 500), expected = c;
  add_pack_product(pack_product(true, false, 0.5, a, b, expected));
  host.dense.gemm(true, false, 0.5, a, b, 1.0, c);
  CHECK(c == expected);
  const Matrix square = host.dense.crossprod(a), whole = a.transpose() * a;
  CHECK(square == square.transpose());
  CHECK((square - whole).norm() < 1e-14 * whole.norm());
  Matrix l = square + 100.0 * Matrix::Identity(800, 800), on_one = l;
  CHECK(host.dense.cholesky(l) && serial.cholesky(on_one));
  CHECK(l == on_one);
  Matrix x = c, y = c;
  host.dense.solve_lower(l, true, x);
  serial.solve_lower(l, true, y);
  CHECK(x == y);
}

TEST(pivoted_qr_gives_back_the_columns_in_its_order) {
  for (Index m : {7, 3}) {
    Matrix a = Matrix::Random(m, 5);
    a.col(3) = 100.0 * a.col(1);
    const PivotedQr qr = pivoted_qr(a);
    const Index k = std::min<Index>(m, 5);
    CHECK((qr.basis.transpose() * qr.basis - Matrix::Identity(k, k)).norm() < 1e-13);
    CHECK(qr.order.front() == 3);
    const Matrix product = qr.basis * qr.triangle;
    for (std::size_t j = 0; j < qr.order.size(); ++j) {
      CHECK((product.col(static_cast<Index>(j)) - a.col(qr.order[j])).norm() < 1e-12);
    }
    for (Index i = 1; i < k; ++i) {
      CHECK(std::abs(qr.triangle(i, i)) <= std::abs(qr.triangle(i - 1, i - 1)));
      CHECK(qr.triangle.row(i).head(i).isZero(0.0));
    }
  }
  CHECK(pivoted_qr(Matrix(0, 2)).order.size() == 2);
}
