// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weft::shm {
namespace {

// If a peer could shrink the file, the next load of every reader would raise SIGBUS.
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Window& Window::operator=(Window&& other) noexcept {
  if (this != &other) {
    Window old(std::move(*this));
    base_ = std::exchange(other.base_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Window::~Window() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<Window> Window::map(int fd, std::uint64_t offset, std::size_t bytes, Access access) {
  const int rights = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* at = ::mmap(nullptr, bytes, rights, MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return fail(Errc::os, "mmap of the node segment", errno);
  return Window(static_cast<std::byte*>(at), bytes);
}

Result<void> Window::make_writable(std::size_t offset, std::size_t bytes) noexcept {
  if (offset > bytes_ || bytes > bytes_ - offset ||
      ::mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) != 0)
    return fail(Errc::os, "mprotect of the node segment", errno);
  return {};
}

void Window::populate(std::size_t offset, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  if (offset < bytes_)
    (void)::madvise(base_ + offset, std::min<std::size_t>(page_aligned(bytes), bytes_ - offset),
                    MADV_POPULATE_WRITE);
#endif
}

bool has_fixed_size(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & size_seals) == size_seals;
}

Result<Segment> Segment::create(std::size_t bytes) {
  // Growing a file past RLIMIT_FSIZE raises a signal that kills the process, so the limit is read first.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    bytes = limit.rlim_cur;
  bytes &= ~(page_bytes - 1);
  Fd fd(::memfd_create("weft-node", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(Errc::os, "memfd_create", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return fail(Errc::os, "ftruncate of the node segment", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, size_seals) != 0)
    return fail(Errc::os, "sealing the node segment", errno);
  auto window = Window::map(fd.get(), 0, bytes, Window::Access::write);
  if (!window) return fail(window.error());
  return Segment(std::move(fd), std::move(*window));
}

Result<std::uint64_t> Segment::allocate(std::size_t bytes) noexcept {
  const std::uint64_t need = page_aligned(bytes);
  if (need < bytes) return fail(Errc::no_space, "the node segment is full");
  for (auto range = free_.begin(); range != free_.end(); ++range)
    if (range->bytes >= need) {
      const auto at = std::exchange(range->offset, range->offset + need);
      range->bytes -= need;
      if (range->bytes == 0) free_.erase(range);
      return at;
    }
  if (need > left()) return fail(Errc::no_space, "the node segment is full");
  return std::exchange(next_, next_ + need);
}

void Segment::release(std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t whole = page_aligned(bytes);
  // If the hole cannot be punched, the next user would see old bytes: then the addresses are given up
  // instead.
  if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(whole)) != 0)
    return;
  // Merges neighbouring ranges, and returns a range that ends at next_ to the unused part: otherwise jobs of
  // many sizes would fragment the segment.
  const auto after =
      std::find_if(free_.begin(), free_.end(), [&](const Range& r) { return r.offset > offset; });
  auto range = free_.insert(after, {offset, whole});
  if (const auto next = range + 1; next != free_.end() && range->offset + range->bytes == next->offset) {
    range->bytes += next->bytes;
    free_.erase(next);
  }
  if (range != free_.begin() && (range - 1)->offset + (range - 1)->bytes == range->offset) {
    (range - 1)->bytes += range->bytes;
    range = free_.erase(range) - 1;
  }
  if (range->offset + range->bytes == next_) {
    next_ = range->offset;
    free_.erase(range);
  }
}

}  // namespace weft::shm
