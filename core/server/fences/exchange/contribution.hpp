// SPDX-License-Identifier: BSD-3-Clause
// What one node gives to a full fence, as bytes between servers.
//
//   contribution = u8 form, rest
//     plain      rest = body
//     compressed rest = one zstd frame of a body, which says how long that is
//   body         = u32 bytes of the place, the place, cards (core/store/cards/card.hpp)
//
// Cards of one node are alike: the same keys, addresses of the same networks. Small ones, and those of random
// bytes, travel plain. From where on it pays is measured: docs/design/fence.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace weft::server {

struct Contribution {
  Bytes place;  ///< where the node's cards lie; only in the first fence of a whole job
  Bytes cards;
};

/// Packs and unpacks. The result depends on the arguments alone; the object keeps the compressor's
/// working memory, which costs more to set up (10 us each way) than a contribution to pack. The
/// compressor and the expander are made when first needed.
class Packer {
 public:
  /// Bytes of a body. Below, compressing takes longer than what it saves between two nodes; between more,
  /// little is at stake.
  static constexpr std::size_t least_compressed = 1024;
  /// Bytes of a body. A larger body travels plain, and a frame that claims more is refused before anything
  /// is set aside for it.
  static constexpr std::size_t most_compressed = std::size_t{64} << 20;

  /// The contributions of this node, in bytes.
  struct Counters {
    std::uint64_t plain = 0;   ///< as they would be without compression
    std::uint64_t packed = 0;  ///< as they were sent
  };

  /// Compressed where that makes it smaller by an eighth, else plain. Cost: about 1 us + 0.5 ns a byte,
  /// beside a copy.
  std::vector<std::byte> pack(const Contribution& parts);

  struct Unpacked {
    Contribution parts;                   ///< borrows from the bytes that were unpacked, or from `memory`
    std::unique_ptr<std::byte[]> memory;  ///< what was compressed
  };
  /// Trusts no byte; the cards themselves are checked by their reader. Errors: corrupt, no_memory.
  Result<Unpacked> unpack(Bytes bytes);

  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  bool compress(Bytes body, std::vector<std::byte>& out);
  Result<std::unique_ptr<std::byte[]>> expand(Bytes frame, std::size_t& length);

  std::unique_ptr<ZSTD_CCtx_s, Free> compressor_;
  std::unique_ptr<ZSTD_DCtx_s, Free> expander_;
  Counters counters_;
};

}  // namespace weft::server
