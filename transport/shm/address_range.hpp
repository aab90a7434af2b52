// SPDX-License-Identifier: BSD-3-Clause
// Which pages of a range are in use: an allocator that touches none of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/result.hpp"

namespace weft::shm {

inline constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t page_aligned(std::uint64_t n) {
  return (n + page_bytes - 1) & ~std::uint64_t{page_bytes - 1};
}

class AddressRange {
 public:
  AddressRange() = default;
  explicit AddressRange(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  /// Whole pages; returns where they begin. Errors: no_space.
  Result<std::uint64_t> allocate(std::size_t bytes) noexcept;
  /// Ends an allocation.
  void release(std::uint64_t offset, std::size_t bytes);
  /// Bytes behind the last allocation.
  std::uint64_t left() const noexcept { return bytes_ - next_; }

 private:
  struct Piece {
    std::uint64_t offset, bytes;
  };
  std::uint64_t bytes_ = 0, next_ = 0;
  std::vector<Piece> free_;  // by offset, none touching another or next_
};

}  // namespace weft::shm
