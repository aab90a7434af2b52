// SPDX-License-Identifier: BSD-3-Clause
// Endpoints for daemons of one user on one host. A sender copies a message into a ring that it owns and that
// the receiver maps; a get reads the target's memory through the kernel. Neither operation needs the target's
// help to end.
//
// An endpoint listens on an abstract socket with a random name. A sender connects, passes the memfd of its
// ring, and may send at once; the receiver maps the ring when it next makes progress. After that the socket
// carries only nudges to a side that sleeps; when it closes, the other side has ended, kill -9 included.
//
// E1  An endpoint announces that it will sleep in the doorbell of its header and then checks every ring once
//     more (Doorbell I1). A connection that has not been accepted yet needs no bell: the listening socket
//     itself wakes the endpoint.
// E2  An operation has been carried out when it was started; the next progress() calls done(), oldest first.
//     If a get is among them, progress() polls the sockets before: a peer that is still connected then lived
//     during the copy, and no other process can have had its pid.
// E3  progress() first polls sockets, and only marks what has ended; then it calls handlers; then it ends
//     operations. Nothing that a handler or a done() destroys is therefore in use.
// E4  A progress() accepts most_accepts connections at most: processes that connect without end, other users'
//     among them, hold up no caller. Further connections keep the listening socket readable, and are the next
//     call's.
// Crash: no name outlives its endpoint: abstract sockets and memfds disappear with their last process.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/shm/endpoint/memory.hpp"
#include "transport/shm/endpoint/peer.hpp"

namespace weft::shm {

/// True: the memfd has that size and is sealed against shrinking, so that no load from it raises SIGBUS.
bool is_sealed(const Fd& memfd, std::size_t bytes) noexcept;

class ShmEndpoint final : public Endpoint {
 public:
  static constexpr int most_accepts = 16;

  /// Errors: not_found (this host forbids what the endpoint needs; `what` names it), os.
  static Result<std::unique_ptr<ShmEndpoint>> open();
  ~ShmEndpoint() override;

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Address& address() const noexcept override { return address_; }
  Result<std::unique_ptr<Peer>> reach(const Address& address) override;
  Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) override;
  Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) override;
  void on_message(Handler handler, void* self) noexcept override;
  Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) override;
  Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) override;
  std::size_t progress() noexcept override;
  /// Beyond the contract: after a send() that failed with `again`, room in that ring is an event too.
  Result<void> arm() noexcept override;
  std::optional<int> wait_fd() const noexcept override { return epoll_.get(); }

 private:
  friend class ShmPeer;
  friend class ShmRegion;

  struct ShmOperation : transport::Operation {
    std::uint64_t number = 0;  ///< ascending in the order of their start (E2)
    bool failed = false;
    Error why{Errc::os};
  };
  /// The receiver's end of a connection.
  struct Incoming : EventSource {
    explicit Incoming(Fd accepted) noexcept : EventSource(Kind::incoming), socket(std::move(accepted)) {}
    Fd socket;
    Window memory;
    std::optional<RingReader> ring;  ///< set once the offer of the ring was received
    bool ended = false;              ///< the sender has ended; the ring may hold messages still
    bool is_paused = false;          ///< not watched: no descriptor was free for its ring
  };

  ShmEndpoint(Memory shared, Fd listener, Fd retry, Fd epoll, Fd self_event, const Nonce& nonce);
  EndpointHeader& header() noexcept { return *reinterpret_cast<EndpointHeader*>(shared_.base()); }

  Result<void> watch(const Fd& socket, EventSource& as) noexcept;
  void unwatch(const Fd& socket) noexcept;
  void remove_peer(ShmPeer& peer) noexcept;
  void retire_region(std::uint32_t slot) { regions_.retire(slot); }
  void wait_for_room(ShmPeer& peer);
  void wake_self() noexcept;
  ShmOperation& start(Completion& completion, const Peer& peer, const MemoryRegion* region);
  template <class Which>
  void cancel_if(Which&& which) noexcept {
    operations_.end_if(which, {Errc::canceled});
  }

  std::size_t poll_sockets() noexcept;
  std::size_t accept_some() noexcept;
  void pause_accepting() noexcept;
  void go_on_accepting() noexcept;
  void accept_ring(Incoming& incoming) noexcept;
  void on_readable(Incoming& incoming) noexcept;
  void close_incoming(Incoming& incoming) noexcept;
  std::size_t remove_unblocked() noexcept;
  std::size_t receive() noexcept;
  std::size_t end_operations(std::uint64_t last) noexcept;

  Memory shared_;
  Fd listener_;
  /// A timer: the listener was let go for want of descriptors or memory, and is watched again after a pause.
  Fd retry_;
  Fd epoll_;
  Fd self_event_;  ///< an eventfd that wakes this endpoint for operations started between arm() and the sleep
  EventSource listener_source_{EventSource::Kind::listener}, retry_source_{EventSource::Kind::retry},
      self_source_{EventSource::Kind::self};
  Nonce nonce_;
  Capabilities capabilities_;
  Address address_;
  RegionTable regions_;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::uint64_t started_ = 0;  ///< number of the newest operation
  bool has_new_gets_ = false;
  bool armed_ = false;
  unsigned calls_ = 0;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<ShmPeer*> waiting_for_room_;
  std::vector<std::byte> message_;  ///< copy of the message that is handled, which its sender cannot change
};

class ShmTransport final : public Transport {
 public:
  /// options: must be empty.
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override;
};

}  // namespace weft::shm
