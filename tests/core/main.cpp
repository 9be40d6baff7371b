// SPDX-License-Identifier: GPL-3.0-or-later
// Runs every registered test of the core; the exit code says whether one failed.
#include "check.h"

#include <exception>

int main() {
  Suite& suite = Suite::instance();
  int passed = 0, failed = 0;
  for (const auto& [name, body] : suite.tests) {
    suite.failing = false;
    try {
      body();
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", name, error.what());
      suite.failing = true;
    }
    if (suite.failing) std::printf("FAILED %s\n", name);
    ++(suite.failing ? failed : passed);
  }
  std::printf("core: %d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
