// SPDX-License-Identifier: GPL-3.0-or-later
// A test framework of one macro: CHECK(condition) counts and reports, TEST(name) registers.
#ifndef CALIBRISK_TESTS_CORE_CHECK_H
#define CALIBRISK_TESTS_CORE_CHECK_H

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

struct Suite {
  using Body = void (*)();
  std::vector<std::pair<const char*, Body>> tests;
  bool failing = false;  // the test that runs
  static Suite& instance() {
    static Suite suite;
    return suite;
  }
};

struct Registration {
  Registration(const char* name, Suite::Body body) {
    Suite::instance().tests.emplace_back(name, body);
  }
};

#define TEST(name)                                        \
  static void name();                                     \
  static const Registration register_##name(#name, name); \
  static void name()

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      Suite::instance().failing = true;                                         \
    }                                                                           \
  } while (false)

inline bool is_near(double a, double b, double tolerance = 1e-12) {
  return std::abs(a - b) <= tolerance * (1.0 + std::abs(b));
}

#endif
