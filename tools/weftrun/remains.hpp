// SPDX-License-Identifier: BSD-3-Clause
// Finds and ends what ranks have started and left behind. Everything weftrun starts dies with it.
#pragma once

#include <sys/types.h>

#include <string>

#include "tools/weftrun/fd.hpp"

namespace weft::weftrun {

/// Processes whose parent died become weftrun's children from now on, so that end_orphans() can find them.
void adopt_orphans() noexcept;

/// Kills and reaps every child of this process but `spared` (the guard), with all that they in turn leave, until
/// there is none. Call when no rank runs. Cost: one system call when there is none; otherwise it reads /proc.
void end_orphans(pid_t spared);

/// A small process that waits for weftrun's end. When weftrun did not say good-bye (kill -9, a crash), it kills every
/// process that has this job in its environment; the ranks themselves are killed by the kernel at the same moment.
/// What it cannot find: processes that changed both their environment and their parent.
class Guard {
 public:
  /// Call while the process has one thread. Throws Stop (own_failure).
  explicit Guard(const std::string& nspace);
  ~Guard();  ///< the good-bye
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  pid_t pid() const noexcept { return pid_; }

 private:
  Fd line_;
  pid_t pid_ = -1;
};

}  // namespace weft::weftrun
