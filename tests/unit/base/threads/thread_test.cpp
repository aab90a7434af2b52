// SPDX-License-Identifier: BSD-3-Clause
#include "base/threads/thread.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <system_error>

namespace weft::base {
namespace {

int blocked_signals() {
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  int count = 0;
  for (int signal = 1; signal < SIGRTMIN; ++signal) count += ::sigismember(&now, signal) == 1 ? 1 : 0;
  return count;
}

TEST(Thread, gets_no_signals_and_leaves_the_callers_mask) {
  const int before = blocked_signals();
  std::promise<int> inside;
  start_thread("weft-test", [&] { inside.set_value(blocked_signals()); }).join();
  EXPECT_GT(inside.get_future().get(), 25);  // of 31, two of which cannot be blocked
  EXPECT_EQ(blocked_signals(), before);
}

/// In a process of a user that may have no process more; root's processes are not counted.
TEST(Thread, that_cannot_be_started_leaves_the_callers_mask) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && ::setresuid(54321, 54321, 54321) != 0) ::_exit(1);
    const rlimit none{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(2);
    const int before = blocked_signals();
    try {
      start_thread("weft-test", [] {}).join();
    } catch (const std::system_error&) {
      ::_exit(blocked_signals() == before ? 0 : 3);
    }
    ::_exit(4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weft::base
