// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_SHORT_WORK_H
#define CALIBRISK_SHORT_WORK_H

#include <calibrisk/engine.h>

namespace calibrisk {

constexpr double short_operations = 5e5;

// The engine; loops of so few operations (of about a nanosecond) run on the calling thread. Other
// threads would cost as much processor time, since they wait for more work before they sleep again.
inline Engine engine_for(const Engine& engine, double operations) {
  static const Executor calling_thread;
  if (operations > short_operations) return engine;
  return {calling_thread, engine.dense, engine.progress};
}

}  // namespace calibrisk

#endif
