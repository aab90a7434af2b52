// SPDX-License-Identifier: BSD-3-Clause
// A process that hangs, and what it leaves.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "tools/node/guard.hpp"
#include "tools/process/fd.hpp"

namespace weft::node {
namespace {

constexpr std::chrono::milliseconds silence{200};

/// A child that runs `life` with a guard, and a process of its job that waits for ever; both have the other
/// end of the line.
struct Guarded {
  template <class Life>
  explicit Guarded(Life life) {
    auto pipe = process::make_pipe(true, true);
    pid = ::fork();
    if (pid == 0) {
      ::alarm(60);
      ::signal(SIGPIPE, SIG_IGN);
      const auto launch = "guard-test-" + std::to_string(::getpid());
      const auto mark = Mark::variable(launch, 7, 3);
      const Guard guard(Mark::of_node(launch, 3), {}, silence);
      if (::fork() == 0) {
        const int line = ::dup(pipe.write.get());  // not closed on exec
        (void)line;
        char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
        char* const envp[] = {const_cast<char*>(mark.c_str()), nullptr};
        ::execve("/bin/sleep", argv, envp);
        ::_exit(1);
      }
      (void)!::write(pipe.write.get(), "x", 1);
      life(guard);
      ::_exit(0);
    }
    line = std::move(pipe.read);
    char byte = 0;
    EXPECT_EQ(::read(line.get(), &byte, 1), 1);
  }
  /// Waits until the child and the process of its job have ended.
  int wait() {
    char byte = 0;
    EXPECT_EQ(::read(line.get(), &byte, 1), 0);
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
  }
  pid_t pid = -1;
  process::Fd line;
};

TEST(Guard, ends_a_process_that_hangs_and_its_job) {
  const auto begin = std::chrono::steady_clock::now();
  Guarded one([](const Guard& guard) {
    guard.beat();
    ::raise(SIGSTOP);
  });
  const int status = one.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, silence);
}

TEST(Guard, leaves_a_process_alone_that_says_that_it_rests_or_never_beat) {
  for (const bool has_beat : {true, false}) {
    Guarded one([has_beat](const Guard& guard) {
      if (has_beat) guard.beat(), guard.rest();
      ::usleep(3 * std::chrono::microseconds(silence).count());  // the silence itself
    });
    EXPECT_EQ(one.wait(), 0);
  }
}

}  // namespace
}  // namespace weft::node
