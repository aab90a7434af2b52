// SPDX-License-Identifier: BSD-3-Clause
// Work that may block for any time, off the threads that must not: one task after the other on a thread of
// its own, which is started with the first.
//
// A task that does not end is left behind with its thread when the worker goes: it may refer only to what it
// owns.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace weft::base {

class Worker {
 public:
  /// A task that takes long counts its steps.
  using Steps = std::atomic<std::uint64_t>;
  using Task = std::function<void(Steps&)>;

  /// name: of the thread; static text of at most 15 bytes.
  explicit Worker(const char* name);
  /// Drops what has not begun.
  ~Worker();
  Worker(const Worker&) = delete;

  /// False: no thread can be started; the task is dropped.
  bool add(Task task);
  /// Waits until all tasks have ended. False: for `patience` no step was made, or `most` is over.
  bool wait(std::chrono::milliseconds patience, std::chrono::milliseconds most);

 private:
  struct State;
  const char* name_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace weft::base
