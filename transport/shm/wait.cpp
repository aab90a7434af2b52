// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/wait.hpp"

#include <sched.h>

namespace weft::shm {
namespace {

// The kernel's struct sched_attr, first version; glibc 2.36 has no name for it.
struct SchedAttributes {
  std::uint32_t size = sizeof(SchedAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // nanoseconds; for SCHED_OTHER the slice, 0 = the default
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(SchedAttributes) == 48);

/// The slice before; 0: unchanged.
std::uint64_t set_slice(std::uint64_t nanoseconds) noexcept {
  SchedAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return 0;
  // A kernel that reports no slice does not know the request; other policies mean something else by it.
  if (attributes.policy != SCHED_OTHER || attributes.runtime == 0) return 0;
  const auto before = attributes.runtime;
  attributes.size = sizeof attributes;
  attributes.runtime = nanoseconds;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? before : 0;
}

}  // namespace

ShortSlices::ShortSlices() noexcept : before_ns_(set_slice(100'000)) {}
ShortSlices::~ShortSlices() {
  if (before_ns_ != 0) set_slice(before_ns_);
}

unsigned usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::thread::hardware_concurrency();  // more than 1024 cores: the fixed-size set is too small
}

WaitPolicy WaitPolicy::for_waiters(unsigned waiters, unsigned cores) noexcept {
  WaitPolicy policy;
  // Spinning while somebody else needs this core delays the very arrival that is waited for.
  if (waiters <= cores) policy.spin = std::chrono::microseconds{50};
  return policy;
}

}  // namespace weft::shm
