// SPDX-License-Identifier: BSD-3-Clause
// A node's shared memory: one sparse memfd without a name in any file system.
//
// Nothing in it depends on the address where it is mapped: all references are offsets. The server maps all of
// it for writing. A client maps all of it read-only and opens a writable Window on the few bytes that it
// owns, so a stray store in a client cannot reach the data of another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::shm {

inline constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t page_aligned(std::uint64_t n) {
  return (n + page_bytes - 1) & ~std::uint64_t{page_bytes - 1};
}

using base::Fd;

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

  /// Lets [offset, offset + bytes), whole pages, of a window for reading be written too, if the descriptor that it was mapped
  /// from allows it. Errors: os.
  Result<void> make_writable(std::size_t offset, std::size_t bytes) noexcept;

  /// Allocates the pages of [offset, offset + bytes) now, in one call instead of a fault a page; only a hint.
  void populate(std::size_t offset, std::size_t bytes) noexcept;

  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return base_ != nullptr; }

 private:
  Window(std::byte* base, std::size_t bytes) noexcept : base_(base), bytes_(bytes) {}
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The file is sealed: no process can make it shorter or longer, nor take the seals off.
bool has_fixed_size(int fd) noexcept;

/// The creator's side: the descriptor, a writable mapping of all of it, and an allocator of pages.
class Segment {
 public:
  /// bytes: virtual size, reduced to what RLIMIT_FSIZE allows; memory is used only where it is touched.
  static Result<Segment> create(std::size_t bytes);

  /// Page-aligned, zeroed. Errors: no_space.
  Result<std::uint64_t> allocate(std::size_t bytes) noexcept;
  /// Frees an allocation: its bytes read as zero at once, its addresses serve a later allocate().
  void release(std::uint64_t offset, std::size_t bytes);

  int fd() const noexcept { return fd_.get(); }
  std::byte* base() const noexcept { return window_.base(); }
  std::size_t size() const noexcept { return window_.size(); }
  /// Bytes behind the last allocation.
  std::size_t left() const noexcept { return window_.size() - next_; }

 private:
  Segment(Fd fd, Window window) noexcept : fd_(std::move(fd)), window_(std::move(window)) {}
  struct Range {
    std::uint64_t offset, bytes;
  };
  Fd fd_;
  Window window_;
  std::uint64_t next_ = 0;
  std::vector<Range> free_;  // by offset, none touching another or next_
};

}  // namespace weft::shm
