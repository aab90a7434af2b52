// SPDX-License-Identifier: BSD-3-Clause
// The way to one other endpoint, shared by all that reach it and by what it sends by itself.
//
// L1  A link has an attempt at a connection, or an open one to send on, or neither while it waits. Where both
//     endpoints connect at the same time, the attempt of the lower id is let through (TcpEndpoint::accepts).
// L2  A link sends on the connection that was open first, as long as that lives: order is kept. A link may
//     receive on two.
// L3  When an open connection ends the link is lost with all of its operations, for good. reach() makes
//     another one.
// L4  A connection is open for the side that accepted it when that has seen the other's proof, and for the
//     other when the first frame says so: welcome. A connection that ends before was an attempt, and the next
//     one follows; no frame has been sent through it, so no message was reported that the peer can have lost.
//     An attempt whose proof has been sent is not given up for another connection: for the peer it may be
//     open.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/connection.hpp"

namespace weft::tcp {

/// A get is with its endpoint until its reply is there, a message with its link until the socket has it.
struct TcpOperation : transport::Operation {
  std::uint64_t ends_at = 0;  ///< of a message: Connection::sealed_bytes() behind it
  std::uint64_t ticket = 0;   ///< of a get
  std::byte* into = nullptr;  ///< where its next byte goes
  std::size_t missing = 0;
  bool has_failed = false;
  Error why{Errc::peer_lost};
};

struct Link {
  explicit Link(const EndpointId& to) noexcept : id(to) {}

  const EndpointId id;
  std::vector<SocketAddress> places;
  Connection* out = nullptr;      ///< open, to send on
  Connection* attempt = nullptr;  ///< neither open nor given up
  std::size_t next_place = 0;
  std::size_t refused = 0;        ///< places that refused, one after the other
  TimePoint began{}, next_try{};  ///< of the attempts
  std::chrono::milliseconds pause{};
  bool is_trying = false;  ///< the endpoint has it in its list of those

  bool is_lost = false;
  const char* why = "";
  std::vector<std::byte> waiting;  ///< frames for the connection that is not open yet
  transport::Operations messages;  ///< whose bytes the socket has not got yet, oldest first
};

class TcpEndpoint;

class TcpPeer final : public Peer {
 public:
  TcpPeer(TcpEndpoint& owner, std::shared_ptr<Link> to) noexcept : link(std::move(to)), owner_(owner) {}
  ~TcpPeer() override;
  const std::shared_ptr<Link> link;

 private:
  TcpEndpoint& owner_;
};

}  // namespace weft::tcp
