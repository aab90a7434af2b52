// SPDX-License-Identifier: BSD-3-Clause
#include "base/process.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>

namespace weft::base {
namespace {

TEST(open_process, tells_of_the_end_of_a_process) {
  ::alarm(60);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto process = open_process(child);
  ASSERT_TRUE(process);
  pollfd watch{process->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&watch, 1, 0), 0);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::poll(&watch, 1, -1), 1);
  ::waitpid(child, nullptr, 0);
  const auto gone = open_process(child);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().sys, ESRCH);
  ::alarm(0);
}

}  // namespace
}  // namespace weft::base
