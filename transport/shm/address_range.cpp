// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/address_range.hpp"

#include <algorithm>
#include <utility>

namespace weft::shm {

Result<std::uint64_t> AddressRange::allocate(std::size_t bytes) noexcept {
  const std::uint64_t need = page_aligned(bytes);
  if (need < bytes) return fail(Errc::no_space, "the node segment is full");
  for (auto piece = free_.begin(); piece != free_.end(); ++piece)
    if (piece->bytes >= need) {
      const auto at = std::exchange(piece->offset, piece->offset + need);
      piece->bytes -= need;
      if (piece->bytes == 0) free_.erase(piece);
      return at;
    }
  if (need > left()) return fail(Errc::no_space, "the node segment is full");
  return std::exchange(next_, next_ + need);
}

/// Merges neighbours, and returns a piece that ends at next_ to the unused part: otherwise jobs of many sizes
/// would fragment the range.
void AddressRange::release(std::uint64_t offset, std::size_t bytes) {
  const auto after =
      std::find_if(free_.begin(), free_.end(), [&](const Piece& p) { return p.offset > offset; });
  auto piece = free_.insert(after, {offset, page_aligned(bytes)});
  if (const auto next = piece + 1; next != free_.end() && piece->offset + piece->bytes == next->offset) {
    piece->bytes += next->bytes;
    free_.erase(next);
  }
  if (piece != free_.begin() && (piece - 1)->offset + (piece - 1)->bytes == piece->offset) {
    (piece - 1)->bytes += piece->bytes;
    piece = free_.erase(piece) - 1;
  }
  if (piece->offset + piece->bytes == next_) {
    next_ = piece->offset;
    free_.erase(piece);
  }
}

}  // namespace weft::shm
