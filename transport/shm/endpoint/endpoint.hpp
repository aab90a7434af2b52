// SPDX-License-Identifier: BSD-3-Clause
// Daemons of one user on one host. A message is copied into a ring that its sender owns and its receiver maps; a get
// reads the target's memory through the kernel. Neither asks anything of the target before it is done.
//
// An endpoint listens on an abstract socket with a random name. Whoever reaches it connects, hands over the memfd of
// its ring, and may send at once; the receiver finds the ring when it next makes progress. From then on the socket is
// silent but for nudges to a side that sleeps, and its end is the other side's end, kill -9 included.
//
// E1  A sleeper says so in its header's doorbell and then looks at every ring once more (Doorbell I1). A connection
//     that nobody accepted yet needs no bell: the listening socket itself wakes.
// E2  Operations are over when they are started; done() is owed, oldest first, by the next progress(). Where a get is
//     among them, the sockets are looked at in between: a peer that is still there then was there during the copy,
//     and no other process can have had its pid.
// E3  progress() first looks at sockets, and only marks; then it calls handlers; then it ends operations. So nothing
//     that a handler or a done() destroys is in use.
// Crash: no name outlives its endpoint: abstract sockets and memfds go with their last process.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/shm/endpoint/memory.hpp"
#include "transport/shm/endpoint/peer.hpp"

namespace weft::shm {

/// Sealed against shrinking, so that no load in it is answered by SIGBUS, and of that size.
bool is_sealed(const Fd& memfd, std::size_t bytes) noexcept;

class ShmEndpoint final : public Endpoint {
 public:
  /// Errors: not_found (this host forbids what it needs; `what` says so), os.
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
  /// Beside what the contract says: after a send() that answered `again`, room in that ring is an event too.
  Result<void> arm() noexcept override;
  std::optional<int> wait_fd() const noexcept override { return epoll_.get(); }

 private:
  friend class ShmPeer;
  friend class ShmRegion;

  struct Open : transport::Operation {
    std::uint64_t number = 0;  ///< counts operations (E2)
    bool failed = false;
    Error why{Errc::os};
  };
  /// The receiver's end of a connection.
  struct Incoming : Watched {
    explicit Incoming(Fd accepted) noexcept : Watched(Kind::incoming), socket(std::move(accepted)) {}
    Fd socket;
    Window memory;
    std::optional<RingReader> ring;  ///< once it was greeted
    bool ended = false;              ///< nothing more will be written
  };

  ShmEndpoint(Segment exhibit, Fd listener, Fd epoll, Fd reminder, const Nonce& nonce);
  EndpointHeader& header() noexcept { return *reinterpret_cast<EndpointHeader*>(exhibit_.base()); }

  Result<void> watch(const Fd& socket, Watched& as) noexcept;
  void unwatch(const Fd& socket) noexcept;
  void leave(ShmPeer& peer) noexcept;
  void forget(std::uint32_t slot) { regions_.drop(slot); }
  void starve(ShmPeer& peer);
  void remind() noexcept;
  Open& start(Completion& completion, const Peer& peer, const MemoryRegion* region);
  template <class Which>
  void cancel_if(Which&& which) noexcept {
    operations_.end_if(which, {Errc::canceled});
  }

  std::size_t look_at_sockets() noexcept;
  std::size_t accept_all() noexcept;
  void greet(Incoming& incoming) noexcept;
  void hear(Incoming& incoming) noexcept;
  void end(Incoming& incoming) noexcept;
  std::size_t feed_starved() noexcept;
  std::size_t receive() noexcept;
  std::size_t complete(std::uint64_t last) noexcept;

  Segment exhibit_;
  Fd listener_, epoll_;
  Fd reminder_;  ///< an eventfd to oneself, for what is started between arm() and sleeping
  Watched listening_{Watched::Kind::listener}, reminding_{Watched::Kind::self};
  Nonce nonce_;
  Capabilities capabilities_;
  Address address_;
  RegionTable regions_;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::uint64_t started_ = 0;  ///< the newest operation's number
  bool gets_are_open_ = false;
  bool armed_ = false;
  unsigned calls_ = 0;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<ShmPeer*> starved_;
  std::vector<std::byte> message_;  ///< the one that is handled, out of its sender's reach
};

class ShmTransport final : public Transport {
 public:
  /// options: none.
  Result<std::unique_ptr<Endpoint>> open(std::string_view options) override;
};

}  // namespace weft::shm
