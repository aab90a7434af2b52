// SPDX-License-Identifier: BSD-3-Clause
// Ends the processes that ranks have started and left behind. No process that this one starts outlives it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::node {

/// From its construction on, processes whose parent ends become children of this process, where they can be
/// found.
class OrphanReaper {
 public:
  /// Children that this process has already (of a script that ends in `exec weftrun`, and the guard) are no
  /// orphans. has_other_children: more children that are no orphans will come (agents).
  OrphanReaper(pid_t guard, bool has_other_children);

  /// Of one job.
  struct Whose {
    std::string mark;          ///< a variable that all processes of the job on this node have: "NAME=VALUE"
    std::vector<pid_t> ranks;  ///< of all jobs, that still run; they are no orphans
    bool is_only_job = true;   ///< this process has no other
  };
  /// Kills and reaps orphans until none is left, or one has not ended after some seconds; those of an orphan
  /// are found in turn. Cost: one system call if there is no child; otherwise a file for each
  /// child that is not known; without CONFIG_PROC_CHILDREN, for each process of the machine.
  void reap(const Whose& whose) const;

 private:
  struct Found {
    std::vector<pid_t> orphans;
    bool look_again = false;  // it is not known yet whether some process is an orphan
  };
  Found find(const Whose& whose) const;

  std::vector<pid_t> spared_;
  bool has_other_children_ = false;  // then only a process with the mark is known to be the job's
};

}  // namespace weft::node
