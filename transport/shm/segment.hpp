// SPDX-License-Identifier: BSD-3-Clause
// A node's shared memory: sparse memfds without a name in any file system.
//
//   server's    one; only the process that made it ever writes it: the kernel refuses any other writable
//               mapping
//   clients'    one for each job (memories.hpp): what its clients and the server write, each client its own
//               parts, by convention of what it makes writable
//
// Nothing in them depends on the address where they are mapped: all references are offsets. A client maps
// parts of the server's and of its own job's, read-only, and makes writable the few bytes of the latter that
// it owns, so a stray store in a client cannot reach the data of another (partial_window.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/fd.hpp"
#include "transport/shm/address_range.hpp"
#include "transport/shm/memories.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::shm {

using base::Fd;

/// Allocates the pages that hold [at, at + bytes) of a mapping now, in one call instead of a fault a page. A
/// store into a page that there is no memory for would end the process (SIGBUS), so what is stored to first
/// is populated before. Errors: no_space (a limit on memory is reached). Kernels before 5.14 cannot say, and
/// it is a success there.
Result<void> populate(std::byte* at, std::size_t bytes) noexcept;

/// A mapping of part of a file descriptor, unmapped by this object.
class Window {
 public:
  enum class Access { read, write };

  Window() = default;
  Window(Window&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Window& operator=(Window&& other) noexcept;
  ~Window();

  /// offset: a multiple of page_bytes. Errors: os (errno of mmap).
  static Result<Window> map(int fd, std::uint64_t offset, std::size_t bytes, Access access);
  /// The mapping is the caller's from now on.
  std::byte* release() noexcept {
    bytes_ = 0;
    return std::exchange(base_, nullptr);
  }

  /// populate() of bytes [offset, offset + bytes) of it, less what lies behind its end.
  Result<void> populate(std::size_t offset, std::size_t bytes) noexcept;

  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return base_ != nullptr; }

 private:
  Window(std::byte* base, std::size_t bytes) noexcept : base_(base), bytes_(bytes) {}
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The size that a file may have at most: growing one past RLIMIT_FSIZE raises a signal that ends the
/// process. Whole pages.
std::size_t allowed_file_bytes(std::size_t bytes) noexcept;
/// A memory without a name, of zeros. Errors: os.
Result<Fd> make_memfd(const char* name, std::size_t bytes);
/// Seals it: no process can make it shorter or longer, nor take the seals off. further: more seals. Errors:
/// os.
Result<void> seal_size(int fd, int further = 0) noexcept;
/// Whether seal_size() has sealed it.
bool has_fixed_size(int fd) noexcept;
/// The file's number, by which two descriptors are told to be of one memory; 0: there is no such descriptor.
std::uint64_t inode_of(int fd) noexcept;

class PartialWindow;

/// The memories as a process has them mapped.
struct SegmentBytes {
  MutableBytes server;
  MutableBytes clients;  ///< the server: of all jobs; a client: of its own
  /// Where parts are mapped when they are asked for; null: all is mapped.
  const PartialWindow* server_parts = nullptr;
  const PartialWindow* clients_parts = nullptr;
  /// A client: where its own job begins in the server's memory; nothing: it knows none yet.
  std::optional<std::uint64_t> own_job{};
};

/// The creator's side of one memory: the descriptor, a writable mapping of all of it, and an allocator of
/// pages.
class Memory {
 public:
  enum class Writers { creator, several };

  /// bytes: virtual size, reduced to what RLIMIT_FSIZE allows; memory is used only where it is touched.
  /// Writers::creator: from then on no process can map it for writing, write to it or free its pages.
  static Result<Memory> create(std::size_t bytes, Writers writers);

  /// Page-aligned, zeroed. Errors: no_space.
  Result<std::uint64_t> allocate(std::size_t bytes) noexcept { return range_.allocate(bytes); }
  /// Ends an allocation: its bytes read as zero at once, its addresses serve a later allocate(). The pages
  /// stay for that: the seal that keeps others from writing keeps the creator from freeing.
  void release(std::uint64_t offset, std::size_t bytes);

  int fd() const noexcept { return fd_.get(); }
  std::byte* base() const noexcept { return window_.base(); }
  std::size_t size() const noexcept { return window_.size(); }
  MutableBytes bytes() const noexcept { return {base(), size()}; }
  /// Bytes behind the last allocation.
  std::size_t left() const noexcept { return range_.left(); }

 private:
  Memory(Fd fd, Window window) noexcept
      : fd_(std::move(fd)), window_(std::move(window)), range_(window_.size()) {}
  bool clear(std::uint64_t offset, std::uint64_t bytes) noexcept;
  Fd fd_;
  Window window_;
  AddressRange range_;
};

/// The server's side of a node's segment.
struct Segment {
  Memory server;
  Memories clients;

  /// bytes: of addresses in all, half for the server's memory and half for those of clients. Errors: os.
  static Result<Segment> create(std::size_t bytes);
  SegmentBytes bytes() const noexcept { return {server.bytes(), clients.bytes()}; }
};

}  // namespace weft::shm
