// SPDX-License-Identifier: BSD-3-Clause
// What goes through a connection once both sides have proved that they have the key.
#pragma once

#include <cstdint>
#include <optional>

#include "base/wire.hpp"
#include "transport/tcp/tls/tls.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::tcp {

enum class FrameKind : std::uint8_t {
  message = 1,  ///< number: bytes of the caller's header, which stands before the payload
  get,          ///< number: the reader's ticket; the body is a GetRequest
  reply,        ///< number: the ticket; the body is the next piece of what was asked for
  /// The first frame of the accepting side, and of no other: it has seen the connecting side's proof. Without
  /// a body.
  welcome
};

/// In front of each.
struct FrameHeader {
  std::uint32_t body_bytes = 0;
  FrameKind kind = FrameKind::message;
  std::uint8_t failed = 0;  ///< of a reply: there is no such memory
  std::uint16_t id = 0;     ///< of a message
  std::uint64_t number = 0;
};
template <class Archive>
constexpr void fields(Archive& archive, FrameHeader& m) {
  archive(m.body_bytes, m.kind, m.failed, m.id, m.number);
}
inline constexpr std::size_t frame_header_bytes = base::fixed_bytes<FrameHeader>;
inline constexpr std::size_t most_body_bytes = std::size_t{64} << 10;
/// Several records behind that of the header: sealed where the memory lies, and opened where the reader wants
/// it.
inline constexpr std::size_t most_reply_bytes = std::size_t{128} << 10;

struct GetRequest {
  std::uint64_t region = 0, offset = 0;
  std::uint32_t length = 0;
};
template <class Archive>
constexpr void fields(Archive& archive, GetRequest& m) {
  archive(m.region, m.offset, m.length);
}

/// The body is borrowed.
struct Frame {
  FrameHeader header;
  Bytes body;
};
/// The frame with which `bytes` begin, of a reply as much as is there; nothing: more is to come. Errors:
/// corrupt (no endpoint of ours sends that).
Result<std::optional<Frame>> first_frame(Bytes bytes) noexcept;

}  // namespace weft::tcp
