// SPDX-License-Identifier: BSD-3-Clause
// Endpoints over TCP, for networks that others can reach: what a peer sends is looked at by OpenSSL alone
// until the peer has proved that it has the key, and everything is sealed after that (tls.hpp).
//
// N1  What strangers can make an endpoint hold is bounded: Strangers::most connections of peers without a
//     right hello, and as many with one (of peers, or recorded), each for handshake_time and with
//     TlsStream::most_before_proof bytes. One more ends another of its kind: peers need a moment only, and
//     try again (link.hpp, L4).
//     The work of strangers at a time is bounded as well: a progress() accepts most_accepts at each
//     listener, and frees what has ended. OpenSSL has nothing of a connection through which no byte has come.
// N2  progress() first looks at sockets and calls handlers, then ends operations, then frees connections:
//     nothing that a handler or a done() closes is in use.
// N3  Each send() goes to the socket at once, as far as that takes it; done() follows when all of it has gone
//     there. send() answers `again` when more than most_backlog bytes lie here.
// N4  A get is a request, and a reply that the target's progress() sends in pieces while the socket takes
//     them.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/tcp/listener.hpp"
#include "transport/tcp/memory.hpp"

namespace weft::tcp {

class TcpEndpoint final : public Endpoint {
 public:
  static constexpr std::size_t most_accepts = 16;
  static constexpr std::chrono::seconds handshake_time{5};
  static constexpr std::size_t most_backlog = std::size_t{512} << 10;
  static constexpr std::size_t most_gets = 1024;     ///< open ones of an endpoint
  static constexpr std::size_t most_served = 65536;  ///< of one peer at a time

  /// Errors: invalid (no key), not_supported, no_memory, os (`what` says what cannot be listened on).
  static Result<std::unique_ptr<TcpEndpoint>> open(Bytes key, const std::vector<SocketAddress>& listen_at,
                                                   const Ports& ports, RecordsBy records = RecordsBy::weft);
  ~TcpEndpoint() override;

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Address& address() const noexcept override { return address_; }
  Result<std::unique_ptr<Peer>> reach(const Address& address) override;
  Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) override;
  Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) override;
  void on_message(Handler handler, void* self) noexcept override;
  Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) override;
  Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) override;
  std::size_t progress() noexcept override;
  Result<void> arm() noexcept override;
  std::optional<int> wait_fd() const noexcept override { return epoll_.get(); }

  RecordsBy records_by() const noexcept { return tls_->records_by(); }
  /// Connections of strangers that are open now.
  std::size_t strangers() const noexcept { return strangers_.size(); }

 private:
  friend class TcpPeer;
  friend class TcpRegion;

  struct IdHash {
    std::size_t operator()(const EndpointId& id) const noexcept {
      std::size_t out;
      std::memcpy(&out, id.data(), sizeof out);
      return out;
    }
  };
  struct Listening : EventSource {
    explicit Listening(Fd fd) noexcept : EventSource(Kind::listener), socket(std::move(fd)) {}
    Fd socket;
    bool is_ready = false;
  };
  struct Slot {
    TcpOperation* operation = nullptr;
    std::uint32_t use = 0;
  };

  TcpEndpoint(std::unique_ptr<TlsContext> tls, Fd epoll, Fd timer);

  // endpoint.cpp: operations
  void remove_peer(const TcpPeer& peer) noexcept;
  void remove_region(const TcpRegion& region) noexcept;
  Result<void> queue_frame(Link& link, const FrameHeader& header, Bytes first, Bytes second);
  std::size_t end_operations() noexcept;
  TcpOperation* find_get(std::uint64_t ticket) noexcept;
  void free_ticket(const TcpOperation& operation) noexcept;
  void finish_get(TcpOperation& operation, Result<void> outcome) noexcept;
  template <class Which>
  void cancel_if(Which&& which) noexcept;

  // traffic.cpp: what goes through open connections
  std::size_t poll_sockets() noexcept;
  std::size_t on_ready(Connection& connection, std::uint32_t events) noexcept;
  std::size_t read_frames(Connection& connection);
  bool handle(Connection& connection, const Frame& frame);
  bool handle_welcome(Connection& connection);
  bool handle_get(Connection& connection, const Frame& frame);
  bool handle_reply(const Connection& connection, const Frame& frame);
  static bool asks(const Connection& connection, const TcpOperation& get) noexcept;
  static MutableBytes landing_of(void* self, const Connection& connection, std::uint64_t ticket);
  void serve(Connection& connection);
  void flush(Connection& connection);
  std::size_t deliver_to_self();

  // links.cpp: how connections come and go
  void watch(Connection& connection, bool for_writing);
  std::shared_ptr<Link> link_to(const EndpointId& id);
  std::size_t accept_some(Listening& listening) noexcept;
  void pause_listening(bool pause) noexcept;
  bool accepts(const Introduction& peer) noexcept;
  void shake_hands(Connection& connection);
  void on_connected(Connection& connection);
  void on_accepted(Connection& connection);
  void on_open(Connection& connection);
  void try_next(Link& link);
  void fail_attempt(Link& link, bool is_refused, const char* why);
  void drop_stranger(Connection& connection) noexcept;
  void fail(Connection& connection, const char* why);
  void lose(Link& link, const char* why) noexcept;
  void close(Connection& connection) noexcept;
  void wake_at(TimePoint when) noexcept;
  void on_timer();

  std::unique_ptr<TlsContext> tls_;
  Fd epoll_, timer_;
  EventSource timer_source_{EventSource::Kind::timer};
  TimePoint timer_at_ = TimePoint::max();
  EndpointId id_{};
  Capabilities capabilities_;
  Address address_;
  std::vector<std::unique_ptr<Listening>> listening_;
  TimePoint listens_again_ = TimePoint::max();

  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  ReadBuffers buffers_;
  std::vector<std::unique_ptr<Connection>> connections_;
  bool some_closed_ = false;
  Strangers strangers_;
  std::unordered_map<EndpointId, std::shared_ptr<Link>, IdHash> links_;
  std::vector<std::shared_ptr<Link>> trying_;
  std::vector<std::byte> to_self_;

  std::unordered_map<std::uint64_t, std::span<std::byte>> regions_;
  std::uint64_t last_region_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  transport::Operations gets_;
  transport::Operations ended_;  ///< until progress() calls done()
};

}  // namespace weft::tcp
