// SPDX-License-Identifier: BSD-3-Clause
// For a process that must go on although nothing reads its standard error (a pager, a stopped terminal):
// base::log() of this process writes on a thread of its own while there is such an object.
#pragma once

#include <chrono>
#include <cstddef>

namespace weft::base {

class LogThread {
 public:
  /// Bytes of lines that wait. Beyond, lines are dropped, and the next line that is written says how many.
  static constexpr std::size_t most_waiting = 256u << 10;

  LogThread();
  /// Lines that wait are written, if that takes no longer than this.
  ~LogThread();
  static constexpr std::chrono::seconds patience{1};
  /// Lines that wait are written when this returns, if that takes no longer than `patience`. For a last line
  /// of a thread that stays.
  void flush();
  LogThread(const LogThread&) = delete;
};

}  // namespace weft::base
