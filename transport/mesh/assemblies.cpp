// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/assemblies.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::mesh {

Result<std::vector<std::byte>> Assemblies::add(const Piece& piece, Bytes payload, const Limits& limits) {
  if (payload.empty() || piece.offset > piece.total || payload.size() > piece.total - piece.offset)
    return fail(Errc::corrupt, "a piece outside of its message");
  auto open =
      std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.message == piece.message; });
  if (open == open_.end()) {
    if (open_.size() >= limits.most_open || piece.total > limits.most_bytes - bytes_)
      return fail(Errc::no_space, "more unfinished messages than a node may have");
    try {
      // Zeroes, so that pieces that overlap cannot uncover what this memory held before.
      open_.push_back({piece.message, piece.total, std::vector<std::byte>(piece.total)});
    } catch (const std::bad_alloc&) {
      return fail(Errc::no_memory);
    }
    open = open_.end() - 1;
    bytes_ += piece.total;
  }
  if (open->payload.size() != piece.total || payload.size() > open->missing)
    return fail(Errc::corrupt, "pieces that do not agree on their message");
  std::memcpy(open->payload.data() + piece.offset, payload.data(), payload.size());
  open->missing -= payload.size();
  if (open->missing != 0) return std::vector<std::byte>{};
  auto whole = std::move(open->payload);
  bytes_ -= whole.size();
  open_.erase(open);
  return whole;
}

}  // namespace weft::mesh
