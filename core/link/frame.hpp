// SPDX-License-Identifier: BSD-3-Clause
// One message on the stream between a client and its server: header, then payload.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/wire.hpp"
#include "transport/shm/segment.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::link {

/// Raised when a message changes shape. A server refuses a client whose version it does not speak, by both
/// names.
inline constexpr std::uint16_t wire_version = 8;
/// A payload above this is taken for a broken stream.
inline constexpr std::uint32_t max_payload = 1u << 30;
/// The longest payload of a request that carries names and directives, and no data of the program's.
inline constexpr std::uint32_t max_request = 64u << 20;

enum class MessageType : std::uint16_t {
  hello = 1,    ///< client: its namespace, rank and token
  welcome,      ///< server: segment and place, descriptors attached; answers hello
  refused,      ///< server: status and reason; answers hello
  get,          ///< client: a value that the segment does not hold
  value,        ///< server: answers get
  store,        ///< client without a segment: a commit
  fence,        ///< client: arrival at a fence whose board it does not know; answered by done or board_offer
  withdraw,     ///< client: its deadline at a board passed
  done,         ///< server: a status; answers everything but hello and get
  board_moved,  ///< server: a generation of a board ended
  abort,        ///< client
  finalize,     ///< client
  subscribe,    ///< client: event codes that it wants
  notify,       ///< client: an event it raises
  event,        ///< server: an event for this client
  log,          ///< client
  nudge,        ///< client: look at the rings; says nothing itself
  hello_tool,   ///< tool: wants to connect; answered by welcome, without a segment, or refused
  query,        ///< keys to be answered
  results,      ///< server: answers query
  board_offer,  ///< server: answers fence, as done does, and offers the set's board for the next ones
  // Requests to the server's host (requests.hpp); answered by done or answer.
  publish,
  lookup,
  unpublish,
  spawn,
  connect,
  disconnect,
  allocate,
  job_control,
  monitor,
  get_credential,
  validate_credential,
  pull_output,
  stop_output,
  push_input,
  fabric,
  answer,  ///< server: a status and what was asked for
  output,  ///< server: bytes of a process whose output the client pulls
  // Of a fence at a board, where the server's host carries it.
  fence_directives,  ///< client: for the host, beside its arrival
  turned_away,       ///< client: it could not arrive, because the board is broken
  unsubscribe,       ///< client: event codes that it wants no more; no reply
  // Of groups (requests.hpp); answered by answer, or by done with an error.
  group_construct,
  group_destruct,
  group_invite,
  group_join,
  group_leave,
  group_fence,
  group_question,  ///< server: what do the client's handlers say of this
  group_verdict,   ///< client: they have said it; no reply
  group_change,    ///< server: other members than before
  // Of names that two runs share (requests.hpp).
  guest_request,  ///< server of another run, as a tool: about names; answered by guest_reply
  guest_reply,    ///< server: how that has ended, or done
  guest_taken,    ///< server: a name of that run has gone with its first read
};

std::string_view to_text(MessageType type) noexcept;
/// The longest payload of such a message. The sender refuses a longer one, the receiver takes it for a broken
/// stream.
std::uint32_t most_payload(MessageType type) noexcept;

/// tag: chosen by the requester, returned in the reply.
struct FrameHeader {
  std::uint32_t bytes;
  MessageType type;
  std::uint16_t reserved;
  std::uint64_t tag;
};
template <class Archive>
constexpr void fields(Archive& archive, FrameHeader& m) {
  archive(m.bytes, m.type, m.reserved, m.tag);
}
inline constexpr std::size_t frame_header_bytes = base::fixed_bytes<FrameHeader>;

/// Errors: corrupt (a payload of more than `most`, or than its type has).
Result<FrameHeader> read_header(Bytes front, std::uint32_t most = max_payload);
/// Room for the next part of a payload that was announced with `all` bytes, behind the `have` that have come:
/// never more than what has come once again, and 64 KiB. An announcement alone takes no memory.
MutableBytes next_room(std::vector<std::byte>& payload, std::size_t have, std::size_t all);

struct Frame {
  MessageType type;
  std::uint64_t tag;
  std::vector<std::byte> payload;
};

inline constexpr std::size_t welcome_fds = 2;  ///< the server's memory, and that of the job's clients

/// Header and payload as one buffer.
std::vector<std::byte> make_frame(MessageType type, std::uint64_t tag, Bytes payload);

/// Blocking. fds: descriptors to attach. Errors: unreachable (the peer is gone), os.
Result<void> send_frame(int socket, MessageType type, std::uint64_t tag, Bytes payload,
                        const std::vector<int>& fds = {});

/// Blocking. Descriptors that come along are stored in `fds` in order. Errors: unreachable, corrupt, os.
Result<Frame> receive_frame(int socket, std::array<shm::Fd, welcome_fds>* fds = nullptr);

}  // namespace weft::link
