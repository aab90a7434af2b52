// SPDX-License-Identifier: BSD-3-Clause
// What stands before each message between nodes, and the MAC that proves who sent it. Nothing of a message is looked at
// before its MAC is right, but the version and the sender's number that say which key and which peer to try.
//
//   offset  bytes
//   0       1      version
//   1       1      flags (mesh.hpp)
//   2       2      id: which handler
//   4       4      from: the sender's node number
//   8       8      incarnation: which life of that node
//   16      8      sequence: from 1, for each pair of sender and receiver
//   24      16     MAC: BLAKE2b under the job key over receiver, bytes 0..23, the caller's header, the payload
//
// Numbers are little-endian. The receiver - its number and which life of it - is under the MAC and not in the message:
// one that was meant for somebody else, or for an earlier life, or is sent back to its sender, does not verify.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"
#include "weft/transport.hpp"

namespace weft::mesh {

using NodeNumber = std::uint32_t;

/// One life of one node: whoever is started again in its place has a higher incarnation.
struct Life {
  NodeNumber node = 0;
  std::uint64_t incarnation = 0;
};

/// 256 bits; every node of a job has it, nobody else has. Wiped when it ends.
class JobKey {
 public:
  static constexpr std::size_t bytes = 32;
  /// Errors: invalid (not 32 bytes).
  static Result<JobKey> from(Bytes raw);
  static JobKey random();
  JobKey(const JobKey&) = default;
  JobKey& operator=(const JobKey&) = default;
  ~JobKey();
  const std::uint8_t* data() const noexcept { return raw_.data(); }

 private:
  JobKey() = default;
  std::array<std::uint8_t, bytes> raw_{};
};

struct Envelope {
  static constexpr std::uint8_t wire_version = 2;  ///< raised too when a header behind an envelope changes
  static constexpr std::size_t bytes = 40;
  static constexpr std::size_t mac_bytes = 16;

  std::uint8_t flags = 0;
  std::uint16_t id = 0;
  Life from;
  std::uint64_t sequence = 0;
};
/// What stands before the MAC, behind the version.
template <class Archive>
constexpr void fields(Archive& archive, Envelope& m) {
  archive(m.flags, m.id, m.from.node, m.from.incarnation, m.sequence);
}
static_assert(Envelope::bytes ==
              sizeof Envelope::wire_version + base::fixed_bytes<Envelope> + Envelope::mac_bytes);

/// Writes the envelope and its MAC to the first Envelope::bytes of `out`.
void seal(const JobKey& key, const Life& to, const Envelope& envelope, Bytes header, Bytes payload,
          std::span<std::byte, Envelope::bytes> out) noexcept;

/// What a sealed message holds.
struct Opened {
  Envelope envelope;
  Bytes header;  ///< the caller's, without the envelope
};

/// Who a message claims to come from; believe it for counting only. Errors: corrupt (too short, another version).
Result<NodeNumber> claimed_sender(Bytes header) noexcept;

/// Errors: corrupt (too short, another version), denied (the MAC is not right).
Result<Opened> open(const JobKey& key, const Life& me, const Message& message) noexcept;

}  // namespace weft::mesh
