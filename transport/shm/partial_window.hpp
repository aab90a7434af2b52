// SPDX-License-Identifier: BSD-3-Clause
// A client's mapping of a memory that another process made: the parts of it that the client follows offsets
// to, and no more.
//
// A memory has far more addresses than bytes. A process that locks its memory (mlockall) locks, and so
// allocates, all that it has mapped, and the kernel holds the sum of its mappings against its limit. A
// part is therefore mapped only when it is first asked for.
//
// P1  Byte n of the memory is mapped at base() + n, or not at all: what points into a part stays good while
//     others come.
// P2  The addresses are chosen and not reserved, since a reservation would count as a mapping. The addresses
//     lie where the kernel places nothing of its own accord, and a part whose place is taken is not mapped:
//     the caller has to do without it.
// P3  A part is mapped for as long as its window lives. The part's bit is stored after it is mapped.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "transport/shm/segment.hpp"

namespace weft::shm {

class PartialWindow {
 public:
  /// The unit of mapping: what the kernel maps around a fault.
  static constexpr std::size_t part_bytes = 16 * page_bytes;

  PartialWindow() = default;
  /// The descriptor stays open, and is closed at exec. Where no addresses can be chosen all of the memory is
  /// mapped at once.
  /// Errors: denied (the memory could shrink, which kills its readers), os.
  static Result<PartialWindow> map(Fd fd);

  /// [offset, offset + bytes), less what lies behind the end of the memory, can be read. False: the kernel
  /// does not map it. No system call where it is mapped already. Any thread.
  bool reach(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    const auto end = std::min<std::uint64_t>(bytes_, offset + std::min(bytes, bytes_));
    if (offset >= end) return true;
    const auto first = offset / part_bytes, last = (end - 1) / part_bytes;
    return (first == last && is_mapped(first)) || reach_parts(first, last);
  }
  /// A part could not be mapped: what is read here may be less than there is.
  bool is_incomplete() const noexcept {
    return incomplete_ != nullptr && incomplete_->load(std::memory_order_relaxed);
  }
  /// reach(), and lets whole pages be written too, if the descriptor allows it. Errors: os.
  Result<void> make_writable(std::uint64_t offset, std::uint64_t bytes) noexcept;

  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return bytes_; }
  /// inode_of() of its descriptor.
  std::uint64_t inode() const noexcept { return inode_; }
  explicit operator bool() const noexcept { return parts_ != nullptr; }

 private:
  struct Parts;
  struct Unmap {
    void operator()(Parts* parts) const noexcept;
  };

  bool is_mapped(std::uint64_t part) const noexcept {
    return (bits_[part / 64].load(std::memory_order_acquire) >> part % 64 & 1) != 0;  // PW.M2 <- M1
  }
  bool reach_parts(std::uint64_t first, std::uint64_t last) const noexcept;

  std::unique_ptr<Parts, Unmap> parts_;
  const std::atomic<std::uint64_t>* bits_ = nullptr;  ///< a bit a part, in parts_
  const std::atomic<bool>* incomplete_ = nullptr;     ///< in parts_
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t inode_ = 0;
};

/// A client's side of a segment: the server's memory and that of its own job's clients, for reading until a
/// part is made writable.
struct SegmentWindows {
  PartialWindow server, clients;
  std::optional<std::uint64_t> own_job{};  ///< as SegmentBytes

  /// Errors: as PartialWindow::map().
  static Result<SegmentWindows> map(Fd server, Fd clients);
  /// Good for as long as this object stays in its place.
  SegmentBytes bytes() const noexcept {
    return {{server.base(), server.size()}, {clients.base(), clients.size()}, &server, &clients, own_job};
  }
  bool is_incomplete() const noexcept { return server.is_incomplete() || clients.is_incomplete(); }
  explicit operator bool() const noexcept { return bool(server); }
};

}  // namespace weft::shm
