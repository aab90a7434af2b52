// SPDX-License-Identifier: BSD-3-Clause
// What goes through open connections.
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "transport/tcp/endpoint.hpp"

namespace weft::tcp {
namespace {

// So that one peer's stream does not keep the others waiting.
constexpr int reads_a_turn = 8;
// What is kept ready for a socket that takes no more; messages find room beyond it.
constexpr std::size_t served_ahead = TcpEndpoint::most_backlog / 2;

}  // namespace

std::size_t TcpEndpoint::on_ready(Connection& connection, std::uint32_t events) noexcept {
  try {
    if (connection.state() == Connection::State::closed) return 0;
    if (connection.state() == Connection::State::connecting) {
      on_connected(connection);
      return 0;
    }
    std::size_t handled = 0;
    if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) handled += read_frames(connection);
    if (connection.state() != Connection::State::closed) flush(connection);
    return handled + ((events & EPOLLOUT) != 0 ? 1 : 0);
  } catch (const std::bad_alloc&) {
    fail(connection, "no memory for what a peer sent");
    return 0;
  }
}

std::size_t TcpEndpoint::read_frames(Connection& connection) {
  std::size_t handled = 0;
  for (int i = 0; i < reads_a_turn; ++i) {
    const auto received = connection.receive(buffers_);
    if (!received) {
      if (received.error().code != Errc::again) fail(connection, received.error().what);
      return handled;
    }
    if (!connection.has_tls())  // N1
      connection.begin_tls(std::make_unique<TlsStream>(
          *tls_, id_, [this](const Introduction& peer) { return accepts(peer); }));
    connection.tls().feed(*received);
    if (connection.state() == Connection::State::handshaking) shake_hands(connection);
    if (connection.has_frames()) {
      connection.begin(buffers_);
      for (;;) {
        const auto frame = connection.next(buffers_, &landing_of, this);
        if (!frame) {
          fail(connection, frame.error().what);
          return handled;
        }
        if (!*frame) break;
        ++handled;
        const bool is_right = handle(connection, **frame);
        if (connection.state() == Connection::State::closed) return handled;
        if (!is_right) {
          fail(connection, "it broke the protocol");
          return handled;
        }
      }
    }
    if (connection.state() == Connection::State::closed) return handled;
    if (received->size() < buffers_.wire.size()) return handled;
  }
  return handled;
}

/// False: no endpoint of ours sends this.
bool TcpEndpoint::handle(Connection& connection, const Frame& frame) {
  if (frame.header.kind == FrameKind::welcome) return handle_welcome(connection);
  if (!connection.is_open()) return false;
  switch (frame.header.kind) {
    case FrameKind::message: {
      const auto header_bytes = static_cast<std::size_t>(frame.header.number);
      if (handler_ != nullptr)
        handler_(handler_self_, frame.header.id,
                 {frame.body.first(header_bytes), frame.body.subspan(header_bytes)});
      return true;
    }
    case FrameKind::get:
      return handle_get(connection, frame);
    case FrameKind::reply:
      return handle_reply(connection, frame);
    case FrameKind::welcome:
      break;
  }
  return false;
}

bool TcpEndpoint::handle_welcome(Connection& connection) {
  if (connection.state() != Connection::State::proved) return false;
  connection.open();
  on_open(connection);
  return true;
}

bool TcpEndpoint::handle_get(Connection& connection, const Frame& frame) {
  if (connection.serving.size() >= most_served) return false;
  GetRequest request;
  base::Reader in(frame.body);
  in(request);
  connection.serving.push_back({frame.header.number, request});
  serve(connection);
  return true;
}

/// Replies as far as there is room for them.
void TcpEndpoint::serve(Connection& connection) {
  while (!connection.serving.empty() && connection.backlog() < served_ahead) {
    auto& [ticket, rest] = connection.serving.front();
    const auto region = regions_.find(rest.region);
    const bool is_there = region != regions_.end() && rest.offset <= region->second.size() &&
                          rest.length <= region->second.size() - rest.offset;
    const auto bytes =
        is_there ? std::min<std::uint32_t>(rest.length, static_cast<std::uint32_t>(most_reply_bytes)) : 0;
    const FrameHeader header{.body_bytes = bytes,
                             .kind = FrameKind::reply,
                             .failed = static_cast<std::uint8_t>(is_there ? 0 : 1),
                             .number = ticket};
    const Bytes piece = is_there ? Bytes(region->second).subspan(rest.offset, bytes) : Bytes();
    if (const auto written = connection.write(header, piece, {}); !written)
      return fail(connection, written.error().what);
    rest.offset += bytes;
    rest.length -= bytes;
    if (!is_there || rest.length == 0) connection.serving.pop_front();
  }
}

/// The get is one of the connection's peer: a ticket that another peer has guessed is none.
bool TcpEndpoint::asks(const Connection& connection, const TcpOperation& get) noexcept {
  return static_cast<const TcpPeer*>(get.peer)->link == connection.link;
}

MutableBytes TcpEndpoint::landing_of(void* self, const Connection& connection, std::uint64_t ticket) {
  TcpOperation* const operation = static_cast<TcpEndpoint*>(self)->find_get(ticket);
  if (operation == nullptr || !asks(connection, *operation)) return {};
  return MutableBytes(operation->into, operation->missing);
}

bool TcpEndpoint::handle_reply(const Connection& connection, const Frame& frame) {
  TcpOperation* const operation = find_get(frame.header.number);
  if (operation == nullptr) return true;  // it was canceled
  if (!asks(connection, *operation)) return false;
  if (frame.header.failed != 0) {
    finish_get(*operation, weft::fail(Errc::invalid, "outside of the peer's region, or that is gone"));
    return true;
  }
  if (frame.body.size() > operation->missing) return false;
  const bool has_landed = frame.body.data() == operation->into;
  if (!has_landed && !frame.body.empty()) std::memcpy(operation->into, frame.body.data(), frame.body.size());
  operation->into += frame.body.size();
  operation->missing -= frame.body.size();
  if (operation->missing == 0) finish_get(*operation, {});
  return true;
}

/// To the socket, and on with what waited for that.
void TcpEndpoint::flush(Connection& connection) {
  for (;;) {
    connection.flush();
    if (connection.serving.empty() || connection.backlog() >= served_ahead || !connection.is_open()) break;
    serve(connection);
    if (connection.state() == Connection::State::closed) return;
  }
  watch(connection, connection.backlog() != 0);
  Link* const link = connection.link.get();
  if (link == nullptr || link->out != &connection) return;
  while (auto* const first = static_cast<TcpOperation*>(link->messages.first())) {
    if (first->ends_at > connection.flushed_bytes()) return;
    link->messages.move(*first, ended_);
  }
}

std::size_t TcpEndpoint::deliver_to_self() {
  const auto frames = std::exchange(to_self_, {});
  std::size_t handled = 0;
  for (base::Reader in(frames); in.left() != 0; ++handled) {
    Frame frame;
    in(frame.header);
    frame.body = in.raw(frame.header.body_bytes);
    if (frame.header.kind == FrameKind::message) {
      const auto header_bytes = static_cast<std::size_t>(frame.header.number);
      if (handler_ != nullptr)
        handler_(handler_self_, frame.header.id,
                 {frame.body.first(header_bytes), frame.body.subspan(header_bytes)});
      continue;
    }
    TcpOperation* const operation = find_get(frame.header.number);
    if (operation == nullptr) continue;
    GetRequest request;
    base::Reader body(frame.body);
    body(request);
    const auto region = regions_.find(request.region);
    if (region == regions_.end() || request.offset > region->second.size() ||
        request.length > region->second.size() - request.offset) {
      finish_get(*operation, weft::fail(Errc::invalid, "outside of the region, or that is gone"));
      continue;
    }
    std::memmove(operation->into, region->second.data() + request.offset, operation->missing);
    finish_get(*operation, {});
  }
  return handled;
}

}  // namespace weft::tcp
