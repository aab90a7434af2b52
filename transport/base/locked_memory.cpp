// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/locked_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace weft::transport {

std::string locked_memory_hint() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return "; this user may lock " + std::to_string(limit.rlim_cur >> 10) +
         " KiB (ulimit -l, LimitMEMLOCK): 8 MiB are enough for ofi, and ucx takes 128";
}

bool may_lock(std::size_t bytes) {
  rlimit limit{};
  return ::geteuid() == 0 || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= bytes;
}

}  // namespace weft::transport
