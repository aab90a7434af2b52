// SPDX-License-Identifier: BSD-3-Clause
// Finds and ends what ranks have started and left behind. Everything weftrun starts dies with it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tools/process/fd.hpp"

namespace weft::ranks {

/// From its construction on, processes whose parent died become weftrun's children, so that they can be
/// found.
class Orphans {
 public:
  /// mark: what all processes of the job on this node have in their environment, "NAME=VALUE".
  /// Children that this process has already (a script that ends in `exec weftrun`, and the guard) are nobody's
  /// orphans; with `has_other_children` more that are none will come (agents).
  Orphans(const std::string& mark, pid_t guard, bool has_other_children);

  /// Kills and reaps what the ranks have left, with all that this leaves in turn, until there is none. Call
  /// when no rank runs. Cost: one system call when there is none; otherwise it reads /proc.
  void end();

 private:
  struct Found {
    std::vector<pid_t> orphans;
    bool look_again = false;  // one of them cannot be told yet
  };
  Found find() const;

  std::string mark_;
  std::vector<pid_t> spared_;
  bool are_others_ = false;  // then only what has this job in its environment is known to be the job's
};

/// A small process that waits for weftrun's end. When weftrun did not say good-bye (kill -9, a crash), it
/// kills every process that has the mark in its environment; the ranks themselves are killed by the kernel at
/// the same moment. What it cannot find: processes that changed both their environment and their parent. Then it
/// removes the folder of shared files, if there is one.
class Guard {
 public:
  /// Call while the process has one thread, before Orphans. Throws Stop (own_failure).
  Guard(const std::string& mark, const std::string& shared_files);
  ~Guard();  ///< the good-bye
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  pid_t pid() const noexcept { return pid_; }

 private:
  process::Fd line_;
  pid_t pid_ = -1;
};

}  // namespace weft::ranks
