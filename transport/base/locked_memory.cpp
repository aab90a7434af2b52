// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/locked_memory.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

namespace weft::transport {
namespace {

/// CAP_IPC_LOCK, which the kernel looks for in the initial user namespace: root of a container's own has it
/// there only.
bool has_no_limit() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  if ((sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) == 0) return false;
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t first = 1, outside = 1, count = 0;
  return map >> first >> outside >> count && first == 0 && outside == 0 && count == 0xffffffff;
}

}  // namespace

std::string locked_memory_hint() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return "; this user may lock " + std::to_string(limit.rlim_cur >> 10) +
         " KiB (ulimit -l, LimitMEMLOCK): 8 MiB are enough for ofi, and ucx takes 128";
}

bool may_lock(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= bytes || has_no_limit();
}

}  // namespace weft::transport
