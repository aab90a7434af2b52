// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/orphan_reaper.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tools/node/marks.hpp"
#include "tools/node/process_table.hpp"

namespace weft::node {
namespace {

constexpr std::chrono::seconds orphan_patience{5};

}  // namespace

OrphanReaper::OrphanReaper(pid_t guard, bool has_other_children) : spared_{guard} {
  siginfo_t info{};
  // The guard is invisible to wait.
  has_other_children_ = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (has_other_children_) {
    each_process([&](pid_t pid) {
      if (state_of(pid).parent == ::getpid()) spared_.push_back(pid);
    });
  }
  has_other_children_ |= has_other_children;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

OrphanReaper::Found OrphanReaper::find(const Whose& whose) const {
  const bool is_known_by_mark = has_other_children_ || !whose.is_only_job;
  Found found;
  const auto look_at = [&](pid_t pid) {
    const auto is_one_of = [pid](const std::vector<pid_t>& pids) {
      return std::find(pids.begin(), pids.end(), pid) != pids.end();
    };
    if (is_one_of(spared_) || is_one_of(whose.ranks)) return;
    const auto [letter, parent] = state_of(pid);
    if (parent != ::getpid()) return;
    const auto ours = is_known_by_mark ? has_variable(pid, whose.mark) : HasMark::yes;
    if (ours == HasMark::yes) found.orphans.push_back(pid);
    if (ours == HasMark::unknown && letter != 'Z') found.look_again = true;
  };
  if (const auto children = own_children())
    std::for_each(children->begin(), children->end(), look_at);
  else
    each_process(look_at);
  return found;
}

void OrphanReaper::reap(const Whose& whose) const {
  // Reached only if a child that is not the job's has emptied its environment.
  constexpr int most_looks = 100;
  for (int look = 0; look < most_looks; ++look) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return;  // the usual case: no child at all
    const auto [orphans, look_again] = find(whose);
    if (orphans.empty() && !look_again) return;
    for (const pid_t pid : orphans) ::kill(pid, SIGKILL);
    for (const pid_t pid : orphans)  // then their children are children of this process
      if (!wait_for_end(pid, 0, orphan_patience)) return;
    if (!orphans.empty())
      look = 0;
    else
      ::usleep(1000);
  }
}

}  // namespace weft::node
