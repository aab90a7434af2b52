// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/locked_memory.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace weft::transport {
namespace {

constexpr std::size_t limit = 64 << 10;

/// In a process of its own, which may lock `limit` bytes and has not the capability.
template <class Condition>
bool holds_under_the_limit(const Condition& condition) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit low{limit, limit};
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    bool is_set = ::setrlimit(RLIMIT_MEMLOCK, &low) == 0 && ::syscall(SYS_capget, &header, sets.data()) == 0;
    sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
    is_set = is_set && ::syscall(SYS_capset, &header, sets.data()) == 0;
    ::_exit(is_set && condition() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST(LockedMemory, the_limit_counts_for_root_too_without_the_capability) {
  EXPECT_TRUE(holds_under_the_limit([] { return may_lock(limit); }));
  EXPECT_TRUE(holds_under_the_limit([] { return !may_lock(limit + 1); }));
}

TEST(LockedMemory, the_hint_names_the_limit) {
  EXPECT_TRUE(holds_under_the_limit(
      [] { return locked_memory_hint().starts_with("; this user may lock 64 KiB (ulimit -l"); }));
}

}  // namespace
}  // namespace weft::transport
