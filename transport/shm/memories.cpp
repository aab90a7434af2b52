// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/memories.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "transport/shm/segment.hpp"

namespace weft::shm {
namespace {

/// Addresses without memory. rights: PROT_NONE, or PROT_READ: they read as zeros.
void* map_nothing(std::byte* at, std::size_t bytes, int rights) noexcept {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  void* const got = ::mmap(at, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  // Left out of core files, which read all that they dump (Window::map).
  if (got != MAP_FAILED) (void)::madvise(got, bytes, MADV_DONTDUMP);
  return got;
}

}  // namespace

Result<Memories> Memories::create(std::size_t bytes) {
  bytes = allowed_file_bytes(bytes);
  void* const base = map_nothing(nullptr, bytes, PROT_NONE);
  if (base == MAP_FAILED) return fail(Errc::os, "addresses for the node segment", errno);
  return Memories(static_cast<std::byte*>(base), bytes);
}

Memories::Memories(Memories&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      range_(std::move(other.range_)),
      live_(std::move(other.live_)),
      prepare_(std::move(other.prepare_)) {}

Memories& Memories::operator=(Memories&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(range_, other.range_);
  std::swap(live_, other.live_);
  std::swap(prepare_, other.prepare_);
  return *this;
}

Memories::~Memories() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<std::uint64_t> Memories::make(std::size_t bytes) {
  bytes = page_aligned(bytes);
  if (allowed_file_bytes(bytes) < bytes) return fail(Errc::no_space, "a limit on the size of files");
  auto fd = make_memfd("weft-shared", bytes);
  if (!fd) return fail(fd.error());
  if (auto ok = seal_size(fd->get()); !ok) return fail(ok.error());
  const auto at = range_.allocate(bytes);
  if (!at) return at;
  auto* const place = base_ + *at;
  if (::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd->get(), 0) ==
      MAP_FAILED) {
    const int why = errno;
    range_.release(*at, bytes);
    return fail(Errc::os, "mmap of the node segment", why);
  }
  (void)::madvise(place, bytes, MADV_DONTDUMP);
  if (prepare_) prepare_({place, bytes});
  live_.emplace(*at, Live{std::move(*fd), bytes});
  return at;
}

void Memories::release(std::uint64_t at) {
  const auto gone = live_.extract(at);
  const auto bytes = gone.mapped().bytes;
  if (map_nothing(base_ + at, bytes, PROT_READ) == MAP_FAILED)
    return;  // the old bytes stay, and the addresses are given up
  range_.release(at, bytes);
}

}  // namespace weft::shm
