// SPDX-License-Identifier: BSD-3-Clause
#include "base/host_name.hpp"

#include <gtest/gtest.h>
#include <limits.h>
#include <sched.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace weft::base {
namespace {

TEST(host_name, is_the_kernels_node_name) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  const std::string node = system.nodename;
  EXPECT_EQ(host_name(), node.empty() ? "localhost" : node);
}

/// In a process of its own, so that the machine keeps its name.
int in_another_system(const std::string& name) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(name.data(), name.size()) != 0) ::_exit(77);
    ::_exit(host_name() == name ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(host_name, of_the_greatest_length_is_whole) {
  const int outcome = in_another_system(std::string(HOST_NAME_MAX, 'h'));
  if (outcome == 77) GTEST_SKIP() << "a namespace of host names needs root";
  EXPECT_EQ(outcome, 0);
}

}  // namespace
}  // namespace weft::base
