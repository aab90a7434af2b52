// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/kernel_state.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "tools/node/process_table.hpp"

namespace weft::node {
namespace {

struct Name {
  long number;
  const char* name;
};
/// In which a process waits as a rule; others are told by their numbers.
constexpr Name names[] = {
    {SYS_futex, "futex"},
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_openat, "open"},
    {SYS_fsync, "fsync"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_ioctl, "ioctl"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "sleep"},
    {SYS_wait4, "wait"},
    {SYS_waitid, "wait"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recv"},
    {SYS_sendto, "send"},
    {SYS_sendmsg, "send"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept"},
    {SYS_connect, "connect"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_rt_sigtimedwait, "sigwait"},
    {SYS_sched_yield, "sched_yield"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_open, "open"},
#endif
};

/// Empty: the file has no call, or may not be read.
std::string call_in(std::string_view syscall) {
  long number = -1;
  if (std::from_chars(syscall.data(), syscall.data() + syscall.size(), number).ec != std::errc() ||
      number < 0)
    return {};
  const auto* at = std::find_if(std::begin(names), std::end(names),
                                [&](const Name& each) { return each.number == number; });
  return at == std::end(names) ? fmt::format("system call {}", number) : at->name;
}

}  // namespace

std::string kernel_text(char state, std::string_view syscall, std::string_view wchan) {
  const auto call = call_in(syscall);
  const bool has_function = !wchan.empty() && wchan != "0";
  const std::string function(has_function ? wchan : "");
  const auto where = !call.empty() ? " in " + call : has_function ? " in " + function : std::string();
  switch (state) {
    case 'R':
      return "runs";
    case 'S':
      return "sleeps" + where;
    case 'D':
      return "waits for a device or a file system" + where +
             (call.empty() || !has_function ? "" : " (" + function + ")");
    case 'T':
      return "is stopped";
    case 't':
      return "is held by a debugger";
    case 'Z':
    case 'X':
      return "has ended";
    default:
      return "is in state " + std::string(1, state) + where;
  }
}

std::string kernel_state(pid_t pid) {
  const auto folder = fmt::format("/proc/{}/", pid);
  if (contents_of(folder + "stat").empty()) return {};
  return kernel_text(state_of(pid).letter, contents_of(folder + "syscall"), contents_of(folder + "wchan"));
}

bool is_stopped(pid_t pid) {
  return state_of(pid).letter == 'T';
}

}  // namespace weft::node
