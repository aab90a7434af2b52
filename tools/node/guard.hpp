// SPDX-License-Identifier: BSD-3-Clause
// A small process that waits for the end of this one. If this process ends without a good-bye (kill -9, a
// crash), the guard kills every process that has the mark in its environment; the kernel kills the ranks
// themselves at the same moment. A process that has changed both its environment and its parent escapes.
// Then the guard removes the folders, those that are there. A process that hangs does not end: once it has
// called beat(), silence for `patience` is its end, and the guard kills it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "tools/node/marks.hpp"
#include "tools/process/fd.hpp"

namespace weft::node {

class Guard {
 public:
  static constexpr std::chrono::seconds patience{30};
  /// Call while the process has one thread, before OrphanReaper. Throws Stop (own_failure).
  Guard(const Mark& mark, const std::vector<std::string>& folders,
        std::chrono::milliseconds silence = patience);
  ~Guard();  ///< the good-bye; a guard that does not hear it, because it is stopped, is killed
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  pid_t pid() const noexcept { return pid_; }
  /// This process gets on.
  void beat() const noexcept { say(Word::beat); }
  /// From here on it may take its time, until the next beat.
  void rest() const noexcept { say(Word::rest); }

  enum class Word : char { good_bye = 1, beat, rest };

 private:
  bool say(Word word) const noexcept;
  process::Fd line_;
  pid_t pid_ = -1;
};

}  // namespace weft::node
