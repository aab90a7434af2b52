// SPDX-License-Identifier: BSD-3-Clause
// The messages of one node that came in pieces and are not whole yet. Pieces come in any order, each once
// (the replay window sees to that); the memory for them is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "base/wire.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::mesh {

/// Follows the envelope of each piece.
struct Piece {
  std::uint64_t message = 0;  ///< the sender's number for all pieces of one message
  std::uint64_t total = 0;    ///< bytes of the whole payload
  std::uint64_t offset = 0;   ///< of this piece in it
};
template <class Archive>
constexpr void fields(Archive& archive, Piece& m) {
  archive(m.message, m.total, m.offset);
}

class Assemblies {
 public:
  struct Limits {
    std::size_t most_open = 8;                        ///< messages that are not whole yet
    std::size_t most_bytes = std::size_t{512} << 20;  ///< set aside for all of them
  };

  /// The whole payload if this was its last piece, else nothing. Errors: corrupt (outside of its message, or
  /// the pieces do not agree on it), no_space (more at once than a sender of ours begins).
  Result<std::vector<std::byte>> add(const Piece& piece, Bytes payload, const Limits& limits);
  bool empty() const noexcept { return open_.empty(); }

 private:
  struct Open {
    std::uint64_t message;
    std::uint64_t missing;
    std::vector<std::byte> payload;
  };
  std::vector<Open> open_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::mesh
