// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/frame.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/local_socket.hpp"
#include "base/wire.hpp"

namespace weft::link {
namespace {

/// The channel's own words for what a socket says. Descriptors wait: `again` is a time limit that has passed.
Error failed(const Error& error) {
  if (error.code == Errc::peer_lost) return {Errc::unreachable, error.sys, error.what};
  if (error.code == Errc::again) return {Errc::os, EAGAIN, "a time limit of the socket has passed"};
  return error;
}

Result<void> send_all(int socket, Bytes bytes, std::span<const int> fds) {
  while (!bytes.empty()) {
    const auto sent = base::send_some(socket, bytes, fds, base::Blocking::yes);
    if (!sent) return fail(failed(sent.error()));
    fds = {};  // they have gone with the first bytes
    bytes = bytes.subspan(*sent);
  }
  return {};
}

/// fds: where descriptors that come along are stored; what is more is closed.
Result<void> receive_all(int socket, MutableBytes into, std::array<shm::Fd, welcome_fds>* fds) {
  while (!into.empty()) {
    std::vector<base::Fd> came;
    const auto got = base::receive_some(socket, into, fds != nullptr ? &came : nullptr, base::Blocking::yes);
    if (!got) return fail(failed(got.error()));
    if (fds != nullptr)
      std::move(came.begin(), came.begin() + std::min(came.size(), fds->size()), fds->begin());
    into = into.subspan(*got);
  }
  return {};
}

}  // namespace

std::string_view to_text(MessageType type) noexcept {
  // In the order of the types.
  constexpr std::string_view names[] = {"nothing",
                                        "hello",
                                        "welcome",
                                        "refused",
                                        "get",
                                        "value",
                                        "store",
                                        "fence",
                                        "withdraw",
                                        "done",
                                        "board_moved",
                                        "abort",
                                        "finalize",
                                        "subscribe",
                                        "notify",
                                        "event",
                                        "log",
                                        "nudge",
                                        "hello_tool",
                                        "query",
                                        "results",
                                        "board_offer",
                                        "publish",
                                        "lookup",
                                        "unpublish",
                                        "spawn",
                                        "connect",
                                        "disconnect",
                                        "allocate",
                                        "job_control",
                                        "monitor",
                                        "get_credential",
                                        "validate_credential",
                                        "pull_output",
                                        "stop_output",
                                        "push_input",
                                        "fabric",
                                        "answer",
                                        "output",
                                        "fence_directives",
                                        "turned_away",
                                        "unsubscribe",
                                        "group_construct",
                                        "group_destruct",
                                        "group_invite",
                                        "group_join",
                                        "group_leave",
                                        "group_fence",
                                        "group_question",
                                        "group_verdict",
                                        "group_change",
                                        "guest_request",
                                        "guest_reply",
                                        "guest_taken"};
  static_assert(std::size(names) == static_cast<std::size_t>(MessageType::guest_taken) + 1);
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(names) ? names[number] : "unknown";
}

std::uint32_t most_payload(MessageType type) noexcept {
  switch (type) {
    case MessageType::nudge:
    case MessageType::finalize:
    case MessageType::withdraw:
    case MessageType::turned_away:
      return 64;
    case MessageType::get:
    case MessageType::fence:
    case MessageType::abort:
    case MessageType::subscribe:
    case MessageType::unsubscribe:
    case MessageType::notify:
    case MessageType::log:
    case MessageType::query:
    case MessageType::lookup:
    case MessageType::unpublish:
    case MessageType::spawn:
    case MessageType::connect:
    case MessageType::disconnect:
    case MessageType::allocate:
    case MessageType::monitor:
    case MessageType::get_credential:
    case MessageType::validate_credential:
    case MessageType::pull_output:
    case MessageType::stop_output:
    case MessageType::push_input:
    case MessageType::fabric:
    case MessageType::fence_directives:
    case MessageType::group_construct:
    case MessageType::group_destruct:
    case MessageType::group_invite:
    case MessageType::group_join:
    case MessageType::group_leave:
    case MessageType::group_fence:
    case MessageType::group_verdict:
    case MessageType::guest_taken:
      return max_request;
    case MessageType::hello:
    case MessageType::hello_tool:
    case MessageType::store:
    case MessageType::publish:
    case MessageType::job_control:
    case MessageType::welcome:
    case MessageType::refused:
    case MessageType::value:
    case MessageType::done:
    case MessageType::board_moved:
    case MessageType::event:
    case MessageType::results:
    case MessageType::board_offer:
    case MessageType::answer:
    case MessageType::output:
    case MessageType::group_question:
    case MessageType::group_change:
    case MessageType::guest_request:
    case MessageType::guest_reply:
      return max_payload;
  }
  return 0;  // of no type that there is
}

Result<FrameHeader> read_header(Bytes front, std::uint32_t most) {
  const auto header = base::decode<FrameHeader>(front);
  if (!header) return fail(header.error());
  if (header->bytes > std::min(most, most_payload(header->type))) return fail(Errc::corrupt, "frame length");
  return *header;
}

MutableBytes next_room(std::vector<std::byte>& payload, std::size_t have, std::size_t all) {
  constexpr std::size_t first = std::size_t{64} << 10;
  payload.resize(std::min(all, have + std::max(have, first)));
  return MutableBytes(payload).subspan(have);
}

std::vector<std::byte> make_frame(MessageType type, std::uint64_t tag, Bytes payload) {
  base::Writer out;
  out.reserve(frame_header_bytes + payload.size());
  out(FrameHeader{static_cast<std::uint32_t>(payload.size()), type, 0, tag});
  out.raw(payload);
  return std::move(out).take();
}

Result<void> send_frame(int socket, MessageType type, std::uint64_t tag, Bytes payload,
                        const std::vector<int>& fds) {
  if (payload.size() > most_payload(type)) return fail(Errc::no_space, "a message is too long");
  const auto frame = make_frame(type, tag, payload);
  return send_all(socket, frame, fds);
}

Result<Frame> receive_frame(int socket, std::array<shm::Fd, welcome_fds>* fds) {
  std::array<std::byte, frame_header_bytes> front;
  if (auto ok = receive_all(socket, front, fds); !ok) return fail(ok.error());
  const auto header = read_header(front);
  if (!header) return fail(header.error());
  Frame frame{header->type, header->tag, {}};
  while (frame.payload.size() < header->bytes) {
    const auto room = next_room(frame.payload, frame.payload.size(), header->bytes);
    if (auto ok = receive_all(socket, room, fds); !ok) return fail(ok.error());
  }
  return frame;
}

}  // namespace weft::link
