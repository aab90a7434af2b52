// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/partial_window.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000  // a kernel that does not know it takes the address for a wish
#endif

namespace weft::shm {
namespace {

using Word = std::atomic<std::uint64_t>;

constexpr std::uint64_t mix(std::uint64_t n) noexcept {
  n = (n ^ n >> 31) * 0x9E3779B97F4A7C15ull;
  return n ^ n >> 29;
}

/// Addresses far below those that the kernel takes for stacks, libraries and large allocations, and far above
/// a program's own. The addresses differ between processes as much as the stacks' do.
std::byte* choose_addresses(std::uint64_t salt) noexcept {
  constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;
  const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#ifdef __SANITIZE_THREAD__  // leaves a program the lowest 512 GiB, and its heap and stacks
  constexpr std::uint64_t first = std::uint64_t{64} << 30, range = 5 * first;
#else
  const std::uint64_t first = stack / 4, range = first;
#endif
  return reinterpret_cast<std::byte*>((first + mix(stack + salt) % range) / huge_page * huge_page);
}

/// Maps a part of a memory where it is to be. False: the kernel does not, or has something there.
bool map_at(std::byte* at, int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  void* const got = ::mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd,
                           static_cast<off_t>(offset));
  if (got == MAP_FAILED) return false;
  if (got != at) {
    ::munmap(got, bytes);
    return false;
  }
  (void)::madvise(at, bytes, MADV_DONTDUMP);  // as Window::map has it
  return true;
}

}  // namespace

struct PartialWindow::Parts {
  Fd fd;
  dev_t device = 0;
  ino_t inode = 0;
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::mutex mutex;  ///< of what maps
  Word* bits = nullptr;
  std::uint64_t end = 0;  ///< of the last part that is mapped; under the mutex
  std::atomic<bool> is_incomplete{false};
  /// The last long range that was found to be mapped, which it stays: its first part, and 2^32 times the one
  /// behind its last. An area of many cards is so looked at once.
  std::atomic<std::uint64_t> long_range{0};

  std::uint64_t count() const noexcept { return (bytes + part_bytes - 1) / part_bytes; }
  std::uint64_t words() const noexcept { return (count() + 63) / 64; }
  bool has(std::uint64_t part) const noexcept {
    return (bits[part / 64].load(std::memory_order_relaxed) >> part % 64 & 1) != 0;  // under the mutex
  }
  bool has_any_of(std::uint64_t word) const noexcept {
    return bits[word].load(std::memory_order_relaxed) != 0;  // as has()
  }
  void set(std::uint64_t first, std::uint64_t last) noexcept {
    end = std::max(end, last + 1);
    for (auto part = first; part <= last; ++part)
      bits[part / 64].fetch_or(std::uint64_t{1} << part % 64, std::memory_order_release);  // PW.M1 -> M2 (P3)
  }
  /// A program may have closed all descriptors that it did not open, and opened others.
  bool has_descriptor() const noexcept {
    struct stat facts {};
    return ::fstat(fd.get(), &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
  }
  /// Parts first .. last, none of which is mapped.
  bool map(std::uint64_t first, std::uint64_t last) noexcept {
    const std::uint64_t offset = first * part_bytes;
    const std::size_t length = std::min<std::uint64_t>(bytes, (last + 1) * part_bytes) - offset;
    if (!map_at(base + offset, fd.get(), offset, length)) return false;
    set(first, last);
    return true;
  }
  bool choose_base() noexcept {
    constexpr int tries = 4;
    for (int i = 0; i < tries; ++i) {
      base = choose_addresses(static_cast<std::uint64_t>(inode) * tries + static_cast<std::uint64_t>(i));
      if (map(0, 0)) return true;
    }
    base = nullptr;
    return false;
  }
};

void PartialWindow::Unmap::operator()(Parts* parts) const noexcept {
  const auto count = parts->bits == nullptr || parts->base == nullptr ? 0 : parts->end;
  for (std::uint64_t part = 0; part < count;) {
    if (part % 64 == 0 && !parts->has_any_of(part / 64)) {
      part += 64;
      continue;
    }
    auto end = part;
    while (end < count && parts->has(end)) ++end;
    const std::uint64_t offset = part * part_bytes;
    if (end != part)
      ::munmap(parts->base + offset, std::min<std::uint64_t>(parts->bytes, end * part_bytes) - offset);
    part = end + 1;
  }
  std::free(static_cast<void*>(parts->bits));
  delete parts;
}

Result<PartialWindow> PartialWindow::map(Fd fd) {
  struct stat facts {};
  if (!has_fixed_size(fd.get()) || ::fstat(fd.get(), &facts) != 0)
    return fail(Errc::denied, "a node segment that could shrink");
  std::unique_ptr<Parts, Unmap> parts(new Parts);
  parts->fd = std::move(fd);
  parts->device = facts.st_dev;
  parts->inode = facts.st_ino;
  parts->bytes = static_cast<std::size_t>(facts.st_size);
  // Zeros that the kernel brings when they are touched: there is a bit for each of many addresses that
  // nothing follows.
  parts->bits = static_cast<Word*>(std::calloc(parts->words(), sizeof(Word)));
  if (parts->bits == nullptr) return fail(Errc::no_memory);
  if (!parts->choose_base()) {
    auto whole = Window::map(parts->fd.get(), 0, parts->bytes, Window::Access::read);
    if (!whole) return fail(whole.error());
    parts->base = whole->release();
    parts->set(0, parts->count() - 1);
  }
  PartialWindow out;
  out.bits_ = parts->bits;
  out.incomplete_ = &parts->is_incomplete;
  out.base_ = parts->base;
  out.bytes_ = parts->bytes;
  out.inode_ = parts->inode;
  out.parts_ = std::move(parts);
  return out;
}

bool PartialWindow::reach_parts(std::uint64_t first, std::uint64_t last) const noexcept {
  const auto range = parts_->long_range.load(std::memory_order_acquire);  // PW.M2 <- M1
  if (first >= (range & 0xffffffff) && last < range >> 32) return true;
  auto part = first;
  while (part <= last && is_mapped(part)) ++part;
  if (part > last) {
    if (last - first >= 64)
      parts_->long_range.store(first | (last + 1) << 32, std::memory_order_release);  // PW.M1 -> M2 (P3)
    return true;
  }
  const std::lock_guard lock(parts_->mutex);
  bool is_good = parts_->has_descriptor();
  for (; part <= last && is_good; ++part) {
    if (parts_->has(part)) continue;
    auto end = part;
    while (end < last && !parts_->has(end + 1)) ++end;
    is_good = parts_->map(part, end);
    part = end;
  }
  if (!is_good) parts_->is_incomplete.store(true, std::memory_order_relaxed);
  return is_good;
}

Result<void> PartialWindow::make_writable(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (offset > bytes_ || bytes > bytes_ - offset)
    return fail(Errc::os, "a part outside of the node segment", EINVAL);
  if (!reach(offset, bytes)) return fail(Errc::os, "mmap of the node segment", ENOMEM);
  if (::mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) != 0)
    return fail(Errc::os, "mprotect of the node segment", errno);
  return {};
}

Result<SegmentWindows> SegmentWindows::map(Fd server_fd, Fd clients_fd) {
  auto server = PartialWindow::map(std::move(server_fd));
  if (!server) return fail(server.error());
  auto clients = PartialWindow::map(std::move(clients_fd));
  if (!clients) return fail(clients.error());
  return SegmentWindows{std::move(*server), std::move(*clients), {}};
}

}  // namespace weft::shm
