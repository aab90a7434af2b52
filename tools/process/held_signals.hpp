// SPDX-License-Identifier: BSD-3-Clause
// Signals that wait while libraries are loaded: some fabric libraries take SIGINT and SIGTERM over, with
// handlers that call exit() in the middle of what they interrupt, and hang there.
#pragma once

#include <signal.h>

#include <array>

namespace weft::process {

/// Keeps a library of InfiniPath cards, which libfabric loads, from catching SIGSEGV and its like as it is
/// loaded: a process that crashes in that moment would hang in the handler. Before any thread is started.
void keep_crashes_deadly() noexcept;

class HeldSignals {
 public:
  /// SIGINT, SIGTERM and SIGHUP of this thread, and of those that it starts, wait from here on.
  HeldSignals() noexcept;
  /// Signals that wait come now, if release() has not been called.
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;

  /// All signals do again what they did when this object was made.
  void restore_dispositions() noexcept;
  /// Signals that have waited come now.
  void release() noexcept;

 private:
  static constexpr int last = 31;  // the ones with names
  std::array<struct sigaction, last + 1> before_{};
  sigset_t mask_{};
  bool is_held_ = true;
};

}  // namespace weft::process
