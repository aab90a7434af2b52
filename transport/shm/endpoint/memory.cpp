// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/endpoint/memory.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "transport/shm/endpoint/endpoint.hpp"

namespace weft::shm {

Result<RegionTable::Entry> RegionTable::allocate() {
  std::uint32_t slot;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else if (used_ < SharedPages::regions) {
    free_.reserve(
        std::max<std::size_t>(free_.capacity(), std::bit_ceil(used_ + 1)));  // so that drop() cannot fail
    slot = used_++;
  } else {
    return fail(Errc::no_memory, "too many exposed regions");
  }
  // Relaxed: only the owner stores it (V1)
  const auto epoch = epochs_[slot].load(std::memory_order_relaxed) + 1;
  epochs_[slot].store(epoch, std::memory_order_release);  // RE.E1 -> E2
  return Entry{slot, epoch};
}

void RegionTable::retire(std::uint32_t slot) noexcept {
  epochs_[slot].store(epochs_[slot].load(std::memory_order_relaxed) + 1,
                      std::memory_order_relaxed);  // with RE.L1
  std::atomic_thread_fence(
      std::memory_order_release);  // RE.L1 -> L2: before anything the owner does to the memory now
  free_.push_back(slot);
}

Result<void> read_region(pid_t process, const RegionEpoch* epochs, const PackedKey& key, std::uint64_t offset,
                         MutableBytes into) noexcept {
  if (offset > key.length || into.size() > key.length - offset)
    return fail(Errc::invalid, "outside of the exposed region");
  if (epochs[key.slot].load(std::memory_order_acquire) != key.epoch)  // RE.E2 <- E1
    return fail(Errc::invalid, "the exposed region no longer exists");
  const iovec to{into.data(), into.size()};
  const iovec from{reinterpret_cast<void*>(key.base + offset), into.size()};
  const auto got = ::process_vm_readv(process, &to, 1, &from, 1, 0);
  const int error = errno;
  std::atomic_thread_fence(std::memory_order_acquire);                // RE.L2 <- L1
  if (epochs[key.slot].load(std::memory_order_relaxed) != key.epoch)  // with RE.L2
    return fail(Errc::invalid, "the exposed region was withdrawn during the read");
  if (got == static_cast<ssize_t>(into.size())) return {};
  if (got < 0 && error == ESRCH) return fail(Errc::peer_lost);
  return fail(Errc::os, "process_vm_readv", got < 0 ? error : EFAULT);
}

Result<void> can_read_processes() noexcept {
  const std::uint32_t source = 0x5eed;
  std::uint32_t target = 0;
  const iovec to{&target, sizeof target};
  const iovec from{const_cast<std::uint32_t*>(&source), sizeof source};
  if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) != sizeof target || target != source)
    return fail(Errc::not_found, "process_vm_readv is not allowed here (a seccomp filter?)", errno);
  // Where the Yama module restricts reads to descendants, a process may still name the processes that may
  // read it: those of its own user.
  Fd scope(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char level = '0';
  if (!scope || ::read(scope.get(), &level, 1) != 1 || level == '0') return {};
  if (level == '1') {
    if (::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) == 0) return {};
    return fail(Errc::not_found, "PR_SET_PTRACER", errno);
  }
  if (level == '2' && ::geteuid() == 0) return {};
  return fail(Errc::not_found, "kernel.yama.ptrace_scope forbids reading the memory of other processes");
}

ShmRegion::ShmRegion(ShmEndpoint& owner, std::span<std::byte> memory, RegionTable::Entry entry,
                     const Nonce& endpoint)
    : owner_(owner), memory_(memory) {
  key_.slot = entry.slot;
  key_.epoch = entry.epoch;
  key_.base = reinterpret_cast<std::uintptr_t>(memory.data());
  key_.length = memory.size();
  key_.endpoint = endpoint;
}

ShmRegion::~ShmRegion() {
  owner_.retire_region(key_.slot);
  owner_.cancel_if([this](const transport::Operation& o) { return o.region == this; });
}

}  // namespace weft::shm
