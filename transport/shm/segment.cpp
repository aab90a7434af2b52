// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

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
  // A core file reads, and so allocates, each page of a mapping: a process that crashes would fill the
  // machine's memory with zeros.
  (void)::madvise(at, bytes, MADV_DONTDUMP);
  return Window(static_cast<std::byte*>(at), bytes);
}

std::size_t allowed_file_bytes(std::size_t bytes) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    bytes = limit.rlim_cur;
  return bytes & ~(page_bytes - 1);
}

Result<Fd> make_memfd(const char* name, std::size_t bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(Errc::os, "memfd_create", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    return fail(Errc::os, "ftruncate of the node segment", errno);
  return fd;
}

Result<void> seal_size(int fd, int further) noexcept {
  if (::fcntl(fd, F_ADD_SEALS, size_seals | further) != 0)
    return fail(Errc::os, "sealing the node segment", errno);
  return {};
}

bool has_fixed_size(int fd) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & size_seals) == size_seals;
}

std::uint64_t inode_of(int fd) noexcept {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

Result<void> populate(std::byte* at, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto before = reinterpret_cast<std::uintptr_t>(at) % page_bytes;
  if (bytes != 0 && ::madvise(at - before, page_aligned(before + bytes), MADV_POPULATE_WRITE) != 0 &&
      (errno == EFAULT || errno == ENOMEM))
    return fail(Errc::no_space, "no memory for the node segment", errno);
#endif
  return {};
}

Result<void> Window::populate(std::size_t offset, std::size_t bytes) noexcept {
  return offset < bytes_ ? shm::populate(base_ + offset, std::min(bytes, bytes_ - offset)) : Result<void>();
}

Result<Memory> Memory::create(std::size_t bytes, Writers writers) {
  const bool is_sealed = writers == Writers::creator;
  bytes = allowed_file_bytes(bytes);
  auto fd = make_memfd(is_sealed ? "weft-node" : "weft-shared", bytes);
  if (!fd) return fail(fd.error());
  auto window = Window::map(fd->get(), 0, bytes, Window::Access::write);
  if (!window) return fail(window.error());
  // The creator's own mapping, made before the seal, stays writable.
  if (auto ok = seal_size(fd->get(), is_sealed ? F_SEAL_FUTURE_WRITE : 0); !ok) return fail(ok.error());
  return Memory(std::move(*fd), std::move(*window));
}

/// False: the next user would see old bytes.
bool Memory::clear(std::uint64_t offset, std::uint64_t bytes) noexcept {
  // The seal that keeps others from writing keeps the creator from punching holes: zeros go where pages are.
  const auto end = static_cast<off_t>(offset + bytes);
  for (auto at = static_cast<off_t>(offset); at < end;) {
    const auto data = ::lseek(fd_.get(), at, SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // nothing but holes up to the end of the memory
    if (data >= end) return true;
    const auto hole = ::lseek(fd_.get(), data, SEEK_HOLE);
    if (hole < 0) return false;
    at = std::min(hole, end);
    std::memset(base() + data, 0, static_cast<std::size_t>(at - data));
  }
  return true;
}

void Memory::release(std::uint64_t offset, std::size_t bytes) {
  // Addresses with old bytes are given up.
  if (clear(offset, page_aligned(bytes))) range_.release(offset, bytes);
}

Result<Segment> Segment::create(std::size_t bytes) {
  auto server = Memory::create(bytes / 2, Memory::Writers::creator);
  if (!server) return fail(server.error());
  auto clients = Memories::create(bytes / 2);
  if (!clients) return fail(clients.error());
  return Segment{std::move(*server), std::move(*clients)};
}

}  // namespace weft::shm
