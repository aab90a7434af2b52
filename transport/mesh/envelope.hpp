// SPDX-License-Identifier: BSD-3-Clause
// The header in front of each message between nodes. Where the fabric does not seal (Capabilities::seals),
// the rest of the message is encrypted, and a tag authenticates it and its sender: before the tag has been
// verified the receiver uses nothing of a message but the version and the claimed sender, which select the
// key and the peer.
//
//   offset  bytes
//   0       2      protocol_version (version.hpp)
//   2       1      flags (flags.hpp)
//   3       1      id: which handler
//   4       4      from: the sender's node number
//   8       8      incarnation of that node
//   16      8      sequence: from 1, for each pair of sender and receiver
//                  The version and the sender stay where they are in every version.
//   24      16     tag of XChaCha20-Poly1305 under the job key over receiver, bytes 0..23, the caller's
//                  header, the payload; zeros where the fabric seals
//
// The nonce is sender, receiver, the sender's incarnation and the sequence: none comes twice under a key,
// because a node that starts again has a higher incarnation. The tag covers the receiver's number and
// incarnation, which are not in the message: a message for another node, for an earlier incarnation of this
// one, or sent back to its sender does not verify.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/secret.hpp"
#include "base/wire.hpp"
#include "transport/mesh/version.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"
#include "weft/transport.hpp"

namespace weft::mesh {

using NodeNumber = std::uint32_t;

/// A node between one start and its end: the server that is started in its place has a higher incarnation.
struct NodeIncarnation {
  NodeNumber node = 0;
  std::uint64_t incarnation = 0;
};

/// 256 bits that every node of a job has, and no other process. Copies share them.
class JobKey {
 public:
  static constexpr std::size_t bytes = 32;
  /// Errors: invalid (not 32 bytes).
  static Result<JobKey> from(Bytes raw);
  static JobKey random();
  const std::uint8_t* data() const noexcept {
    return reinterpret_cast<const std::uint8_t*>(secret_.bytes().data());
  }
  Bytes raw() const noexcept { return secret_.bytes(); }
  /// A key for one purpose, from which this one cannot be found: BLAKE2b of the purpose's name under this
  /// key.
  std::array<std::uint8_t, bytes> derive(std::string_view purpose) const noexcept;

 private:
  explicit JobKey(base::Secret secret) noexcept : secret_(std::move(secret)) {}
  base::Secret secret_;
};

struct Envelope {
  static constexpr std::size_t bytes = 40;
  static constexpr std::size_t tag_bytes = 16;

  std::uint8_t flags = 0;
  std::uint8_t id = 0;
  NodeIncarnation from;
  std::uint64_t sequence = 0;
};
/// The bytes between the version and the tag.
template <class Archive>
constexpr void fields(Archive& archive, Envelope& m) {
  archive(m.flags, m.id, m.from.node, m.from.incarnation, m.sequence);
}
static_assert(Envelope::bytes == sizeof protocol_version + base::fixed_bytes<Envelope> + Envelope::tag_bytes);

/// Encrypts `text` where it lies: header_bytes of the caller's header, then the payload. Writes the envelope
/// with its tag.
void seal(const JobKey& key, const NodeIncarnation& to, const Envelope& envelope, std::size_t header_bytes,
          MutableBytes text, std::span<std::byte, Envelope::bytes> out) noexcept;
/// Writes the envelope of a message that the fabric seals.
void write_unsealed(const Envelope& envelope, std::span<std::byte, Envelope::bytes> out) noexcept;

/// A message whose sender is proved.
struct VerifiedMessage {
  Envelope envelope;
  Bytes header, payload;  ///< the caller's
};

/// The claim that a message of any version makes about itself, not authenticated: use it for counting only.
struct Claim {
  std::uint16_t version = 0;
  NodeNumber from = 0;
};
/// Errors: corrupt (too short).
Result<Claim> claim_of(Bytes header) noexcept;

/// Decrypts into `text`, where header and payload lie until it changes. Errors: corrupt (too short, another
/// version), denied (the tag is not right), no_memory.
Result<VerifiedMessage> open(const JobKey& key, const NodeIncarnation& me, const Message& message,
                             std::vector<std::byte>& text) noexcept;
/// Opens a message that the fabric has sealed. Errors: corrupt (too short, another version).
Result<VerifiedMessage> open_unsealed(const Message& message) noexcept;

}  // namespace weft::mesh
