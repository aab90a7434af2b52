// SPDX-License-Identifier: BSD-3-Clause
// Ends the processes that ranks have started and left behind. No process that this one starts outlives it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "tools/process/fd.hpp"

namespace weft::ranks {

/// From its construction on, processes whose parent ends become children of this process, where they can be
/// found.
class OrphanReaper {
 public:
  /// mark: a variable that all processes of the job on this node have in their environment, "NAME=VALUE".
  /// Children that this process has already (of a script that ends in `exec weftrun`, and the guard) are no
  /// orphans. has_other_children: more children that are no orphans will come (agents).
  OrphanReaper(const std::string& mark, pid_t guard, bool has_other_children);

  /// Kills and reaps orphans until none is left, or one has not ended after some seconds; those of an orphan
  /// are found in turn.
  /// ranks: that still run; they are no orphans. Cost: one system call if there is no child; otherwise it
  /// reads /proc.
  void reap(const std::vector<pid_t>& ranks);

 private:
  struct Found {
    std::vector<pid_t> orphans;
    bool look_again = false;  // it is not known yet whether some process is an orphan
  };
  Found find(const std::vector<pid_t>& ranks) const;

  std::string mark_;
  std::vector<pid_t> spared_;
  bool has_other_children_ = false;  // then only a process with the mark is known to be the job's
};

/// A small process that waits for the end of this one. If this process ends without a good-bye (kill -9, a
/// crash), the guard kills every process that has the mark in its environment; the kernel kills the ranks
/// themselves at the same moment. A process that has changed both its environment and its parent escapes.
/// Then the guard removes the folders, those that are there. A process that hangs does not end: once it has
/// called beat(), silence for `patience` is its end, and the guard kills it.
class Guard {
 public:
  static constexpr std::chrono::seconds patience{30};
  /// Call while the process has one thread, before OrphanReaper. Throws Stop (own_failure).
  Guard(const std::string& mark, const std::vector<std::string>& folders,
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

}  // namespace weft::ranks
