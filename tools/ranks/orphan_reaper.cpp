// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ranks/orphan_reaper.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/process.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/ranks/folders/remove_tree.hpp"

namespace weft::ranks {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

std::string contents(const std::string& path) {
  std::string text;
  const process::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[4096];
  for (;;) {
    const auto length = file ? ::read(file.get(), bytes, sizeof bytes) : 0;
    if (length <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(length));
  }
}

template <class See>
void each_process(See&& see) {
  struct Closer {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Closer> proc(::opendir("/proc"));
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    const long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid > 0) see(static_cast<pid_t>(pid));
  }
}

struct Stat {
  char state = 'Z';
  pid_t parent = 0;
};

/// For a process that has ended meanwhile: a zombie without parent.
Stat stat_of(pid_t pid) {
  const std::string stat = contents(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');  // a program's name may hold spaces and parentheses
  if (name_end == std::string::npos || stat.size() < name_end + 4) return {};
  return {stat[name_end + 2], static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10))};
}

/// unknown: in the middle of an execve the environment of a process cannot be read.
enum class HasMark { no, yes, unknown };

HasMark mark_of(pid_t pid, const std::string& mark) {
  const std::string variables = std::string(1, '\0') + contents(fmt::format("/proc/{}/environ", pid));
  if (variables.size() == 1) return HasMark::unknown;
  return variables.find(std::string(1, '\0') + mark + std::string(1, '\0')) != std::string::npos
             ? HasMark::yes
             : HasMark::no;
}

constexpr std::chrono::seconds orphan_patience{5}, guard_patience{1};

/// Reaps a child. False: it has not ended in time, as one that the kernel cannot kill.
bool wait_for_end(pid_t pid, int options, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience;
  if (const auto process = base::open_process(pid)) {
    pollfd watch{process->get(), POLLIN, 0};
    (void)::poll(&watch, 1, static_cast<int>(patience.count()));
  }
  // The process has ended by now, but a debugger may stand between it and its parent; or there was no
  // descriptor to wait with.
  for (;;) {
    const auto reaped = ::waitpid(pid, nullptr, options | WNOHANG);
    if (reaped == pid || (reaped < 0 && errno != EINTR)) return true;
    if (Clock::now() >= end) return false;
    ::usleep(1000);
  }
}

/// In the guard's process. Repeats until several passes in a row find nothing: a process may have forked
/// while it was being found, or have been in an execve. The bound is for processes that the kernel cannot end
/// (waiting for a dead disk).
void kill_job(const std::string& mark) {
  constexpr int most_passes = 5000, passes_without = 5;
  for (int pass = 0, without = 0; pass < most_passes && without < passes_without; ++pass) {
    ++without;
    each_process([&](pid_t pid) {
      if (pid == ::getpid() || mark_of(pid, mark) != HasMark::yes) return;
      if (::kill(pid, SIGKILL) == 0) without = 0;
    });
    ::usleep(1000);
  }
}

[[noreturn]] void run_guard(int line, const std::string& mark, const std::vector<std::string>& folders,
                            std::chrono::milliseconds silence) {
  const pid_t guarded = ::getppid();
  ::prctl(PR_SET_NAME, "weftrun-guard");
  // Out of reach of the terminal's signals, and without descriptors whose end another process might wait for.
  ::setsid();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::dup2(line, 0);
  ::syscall(SYS_close_range, 1U, ~0U, 0U);
  for (bool has_beat = false;;) {
    pollfd watch{0, POLLIN, 0};
    const int ready = ::poll(&watch, 1, has_beat ? static_cast<int>(silence.count()) : -1);
    if (ready < 0) continue;  // a debugger
    if (ready == 0) {
      has_beat = false;
      if (::getppid() == guarded) ::kill(guarded, SIGKILL);  // its end comes over the line
      continue;
    }
    auto said = Guard::Word::good_bye;
    const auto length = ::read(0, &said, 1);
    if (length == 1 && said != Guard::Word::good_bye) {
      has_beat = said == Guard::Word::beat;
      continue;
    }
    if (length == 0) {
      kill_job(mark);
      for (const auto& folder : folders) remove_tree(folder);
    }
    if (length >= 0) ::_exit(0);
  }
}

}  // namespace

OrphanReaper::OrphanReaper(const std::string& mark, pid_t guard, bool has_other_children)
    : mark_(mark), spared_{guard} {
  siginfo_t info{};
  // The guard is invisible to wait.
  has_other_children_ = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (has_other_children_) {
    each_process([&](pid_t pid) {
      if (stat_of(pid).parent == ::getpid()) spared_.push_back(pid);
    });
  }
  has_other_children_ |= has_other_children;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

OrphanReaper::Found OrphanReaper::find(const std::vector<pid_t>& ranks) const {
  Found found;
  each_process([&](pid_t pid) {
    const auto [state, parent] = stat_of(pid);
    const auto is_one_of = [pid](const std::vector<pid_t>& pids) {
      return std::find(pids.begin(), pids.end(), pid) != pids.end();
    };
    if (parent != ::getpid() || is_one_of(spared_) || is_one_of(ranks)) return;
    const auto ours = has_other_children_ ? mark_of(pid, mark_) : HasMark::yes;
    if (ours == HasMark::yes) found.orphans.push_back(pid);
    if (ours == HasMark::unknown && state != 'Z') found.look_again = true;
  });
  return found;
}

void OrphanReaper::reap(const std::vector<pid_t>& ranks) {
  // Reached only if a child that is not the job's has emptied its environment.
  constexpr int most_looks = 100;
  for (int look = 0; look < most_looks; ++look) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return;  // the usual case: no child at all
    const auto [orphans, look_again] = find(ranks);
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

Guard::Guard(const std::string& mark, const std::vector<std::string>& folders,
             std::chrono::milliseconds silence) {
  process::Pipe pipe = process::make_pipe(true, true);
  // A fork without an exit signal: wait() neither reports nor finds such a child, so that "no child left" is
  // about ranks and what they started.
  pid_ = static_cast<pid_t>(::syscall(SYS_clone, 0UL, nullptr, nullptr, nullptr, 0UL));
  if (pid_ == 0) run_guard(pipe.read.get(), mark, folders, silence);
  if (pid_ < 0) throw Stop(exit_status::own_failure, messages::no_guard(errno));
  line_ = std::move(pipe.write);
  ::fcntl(line_.get(), F_SETFL, O_NONBLOCK);  // a guard that is stopped reads nothing
}

bool Guard::say(Word word) const noexcept {
  return ::write(line_.get(), &word, 1) == 1;
}

Guard::~Guard() {
  // If the guard was killed the write fails; SIGPIPE is ignored.
  if (!say(Word::good_bye) || wait_for_end(pid_, __WCLONE, guard_patience)) return;
  ::kill(pid_, SIGKILL);
  (void)wait_for_end(pid_, __WCLONE, guard_patience);
}

}  // namespace weft::ranks
