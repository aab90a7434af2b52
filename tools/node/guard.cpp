// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/folders/remove_tree.hpp"
#include "tools/node/process_table.hpp"

namespace weft::node {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr std::chrono::seconds good_bye_patience{1};

/// In the guard's process. Repeats until several passes in a row find nothing: a process may have forked
/// while it was being found, or have been in an execve. The bound is for processes that the kernel cannot end
/// (waiting for a dead disk).
void kill_jobs(const Mark& mark) {
  constexpr int most_passes = 5000, passes_without = 5;
  for (int pass = 0, without = 0; pass < most_passes && without < passes_without; ++pass) {
    ++without;
    each_process([&](pid_t pid) {
      if (pid == ::getpid() || has_mark(pid, mark) != HasMark::yes) return;
      if (::kill(pid, SIGKILL) == 0) without = 0;
    });
    ::usleep(1000);
  }
}

[[noreturn]] void run_guard(int line, const Mark& mark, const std::vector<std::string>& folders,
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
      kill_jobs(mark);
      for (const auto& folder : folders) remove_tree(folder);
    }
    if (length >= 0) ::_exit(0);
  }
}

}  // namespace

Guard::Guard(const Mark& mark, const std::vector<std::string>& folders, std::chrono::milliseconds silence) {
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
  if (!say(Word::good_bye) || wait_for_end(pid_, __WCLONE, good_bye_patience)) return;
  ::kill(pid_, SIGKILL);
  (void)wait_for_end(pid_, __WCLONE, good_bye_patience);
}

}  // namespace weft::node
