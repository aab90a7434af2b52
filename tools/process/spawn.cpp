// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/spawn.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>

namespace weft::process {
namespace {

/// On the parent's stack, and shared with the child until its execve: no pipe is needed to report a failure.
struct Handover {
  const SpawnRequest* request;
  std::span<const int> kept;  ///< descriptors beside the streams, ascending
  sigset_t mask;              ///< the parent's, to be restored in the child
  pid_t parent;
  int error = 0;
  const char* step = nullptr;
};

/// Signals that the tools catch or ignore; programs start with the system's default. Signals that were
/// ignored when weftrun was started (nohup) stay so: weftrun has not changed them.
constexpr std::array caught = {SIGINT,  SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2, SIGURG, SIGTSTP,
                               SIGCONT, SIGCHLD, SIGPIPE, SIGQUIT, SIGTTIN, SIGTTOU};

void restore_signals(const sigset_t& mask) noexcept {
  struct sigaction action {};
  for (const int signal : caught) {
    // A handler must not run here: it would do so in the parent's memory.
    if (::sigaction(signal, nullptr, &action) != 0) continue;
    const bool ours = action.sa_handler != SIG_DFL && (action.sa_handler != SIG_IGN || signal == SIGPIPE);
    if (!ours) continue;
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(signal, &standard, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
}

/// 0 on success. Afterwards 0, 1, 2 are the requested streams and stay open over execve.
int place_streams(const int (&streams)[3]) noexcept {
  int from[3];
  for (int i = 0; i < 3; ++i) {
    from[i] = streams[i];
    // A source below 3 that is not in its place would be overwritten by an earlier dup2.
    if (from[i] < 3 && from[i] != i) from[i] = ::fcntl(streams[i], F_DUPFD_CLOEXEC, 3);
    if (from[i] < 0) return -1;
  }
  for (int i = 0; i < 3; ++i) {
    if (from[i] == i) {
      if (::fcntl(i, F_SETFD, 0) != 0) return -1;
    } else if (::dup2(from[i], i) < 0) {
      return -1;
    }
  }
  return 0;
}

/// Closes descriptors of this process only: the child shares its parent's memory, not its table of
/// descriptors.
void close_all_in(unsigned first, unsigned last) noexcept {
  if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
  struct rlimit limit {};  // Linux before 5.9
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  for (rlim_t fd = first; fd <= last && fd < limit.rlim_cur; ++fd) ::close(static_cast<int>(fd));
}

/// Afterwards only the streams and `kept` are open. A socket or pipe of ours that a rank held would never be
/// seen closed by its peer.
void close_others(std::span<const int> kept) noexcept {
  unsigned first = 3;
  for (const int fd : kept) {
    close_all_in(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_all_in(first, ~0U);
}

int limit_descriptors(unsigned long soft) noexcept {
  struct rlimit limit {};
  if (soft == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = soft;
  return ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// In the child, with the parent suspended and its memory shared: system calls only, nothing that allocates
/// or locks.
int run_child(void* argument) noexcept {
  auto& handover = *static_cast<Handover*>(argument);
  const SpawnRequest& request = *handover.request;
  const auto fails = [&handover](const char* step) {
    handover.error = errno;
    handover.step = step;
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != handover.parent) ::_exit(127);  // it died before that took effect
  if (place_streams(request.streams) != 0) fails("its standard streams cannot be set up");
  close_others(handover.kept);
  if (request.directory != nullptr && ::chdir(request.directory) != 0)
    fails("its directory cannot be entered");
  if (request.affinity != nullptr &&
      ::syscall(SYS_sched_setaffinity, 0, request.affinity_bytes, request.affinity) != 0) {
    fails("it cannot be bound to its processors");
  }
  if (limit_descriptors(request.descriptor_limit) != 0) fails("its limit of open files cannot be set");
  restore_signals(handover.mask);
  if (request.stops && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
    fails("it cannot be stopped for a debugger (the system forbids ptrace)");
  ::execve(request.path, request.argv, request.envp);
  fails("its program cannot be executed");
  return 127;
}

/// A child that has been told to stop does so a moment later. False: it has ended, and been reaped. One
/// that gets SIGCONT meanwhile is not waited for long.
bool await_stop(pid_t pid) noexcept {
  constexpr timespec between_looks{0, 50'000};
  for (int looks = 0; looks < 20'000; ++looks) {
    int status = 0;
    const pid_t changed = ::waitpid(pid, &status, WUNTRACED | WNOHANG);
    if (changed == pid) return WIFSTOPPED(status);
    if (changed < 0 && errno != EINTR) return false;
    ::nanosleep(&between_looks, nullptr);
  }
  return true;
}

/// A traced child has executed its program, and the kernel has stopped it there. It stays stopped, for
/// whatever debugger comes, and is no longer traced. False: it has ended, and been reaped.
bool leave_stopped(pid_t pid) noexcept {
  for (;;) {
    int status = 0;
    const pid_t changed = ::waitpid(pid, &status, 0);
    if (changed < 0 && errno == EINTR) continue;
    if (changed != pid || !WIFSTOPPED(status)) return false;
    // With another signal, which came before, it has not got there yet.
    if (WSTOPSIG(status) == SIGTRAP)
      return ::ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP) == 0 && await_stop(pid);
    ::ptrace(PTRACE_CONT, pid, nullptr, static_cast<long>(WSTOPSIG(status)));
  }
}

/// The child's stack for the time it shares our memory.
constexpr std::size_t stack_bytes = 64 * 1024;

void* child_stack() noexcept {
  static void* const stack =
      ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  return stack;
}

}  // namespace

Spawner::Spawner() {
  struct Closer {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Closer> directory(::opendir("/proc/self/fd"));
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const int fd = std::atoi(entry->d_name);  // 0 for "." and ".."
    const int flags = fd > 2 ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) inherited_.push_back(fd);
  }
  std::sort(inherited_.begin(), inherited_.end());
}

SpawnResult Spawner::spawn(const SpawnRequest& request) const noexcept {
  void* const stack = child_stack();
  if (stack == MAP_FAILED) return {-1, ENOMEM, "there is no memory for it"};
  Handover handover{&request, inherited_, {}, ::getpid()};
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &handover.mask);
  const pid_t pid = ::clone(&run_child, static_cast<char*>(stack) + stack_bytes,
                            CLONE_VM | CLONE_VFORK | SIGCHLD, &handover);
  const int clone_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &handover.mask, nullptr);
  if (pid < 0) return {-1, clone_error, "the system cannot start another process"};
  if (handover.step != nullptr) {
    ::waitpid(pid, nullptr, 0);
    return {-1, handover.error, handover.step};
  }
  if (request.stops && !leave_stopped(pid)) return {-1, ECHILD, "it has ended before its first instruction"};
  return {pid, 0, nullptr};
}

}  // namespace weft::process
