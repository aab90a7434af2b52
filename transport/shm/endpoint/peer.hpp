// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a connection: a ring that is its own, and the socket that says when the other end is gone.
#pragma once

#include <optional>
#include <string>

#include "transport/shm/endpoint/memory.hpp"
#include "transport/shm/endpoint/message_ring.hpp"
#include "transport/shm/socket.hpp"

namespace weft::shm {

inline constexpr std::uint64_t ring_capacity = std::uint64_t{256} << 10;
inline constexpr std::size_t ring_bytes = page_aligned(RingHeader::footprint(ring_capacity));

/// The first and only packet on a connection, with the ring's memfd beside it.
struct Greeting {
  static constexpr std::uint64_t this_layout = 0x3152'4d48'5354'4657;  // "WFTSHMR1"
  std::uint64_t layout = this_layout;
  std::uint64_t capacity = ring_capacity;
};

std::string socket_name(const Nonce& nonce);

/// What epoll says an event is for.
struct Watched {
  enum class Kind { listener, incoming, peer, self };
  explicit Watched(Kind what) noexcept : kind(what) {}
  Kind kind;
};

class ShmPeer final : public Peer, public Watched {
 public:
  ShmPeer(ShmEndpoint& owner, const PackedAddress& address)
      : Watched(Kind::peer), owner_(owner), address_(address) {}
  ~ShmPeer() override;

  /// Once is enough; it does not wait for the other end. Errors: again, peer_lost, os.
  Result<void> connect();
  /// Connected. Errors: again (full), peer_lost.
  Result<void> push(std::uint16_t id, const Message& message) noexcept;
  /// Connected. Errors: as read_region().
  Result<void> read(const PackedKey& key, std::uint64_t offset, MutableBytes into) noexcept;
  /// The socket has something to say; true if that is the other end's end.
  bool hear() noexcept;

  bool is_lost() const noexcept { return state_ == State::lost; }
  bool is_of(const Nonce& nonce) const noexcept { return address_.nonce == nonce; }
  RingWriter& ring() noexcept { return *writer_; }
  bool starved = false;  ///< the ring was full; nobody was told yet that it no longer is

 private:
  enum class State { unconnected, connected, lost };
  Result<void> try_connect();
  void lose() noexcept;

  ShmEndpoint& owner_;
  PackedAddress address_;
  State state_ = State::unconnected;
  Fd socket_;
  pid_t process_ = -1;
  Window front_, live_;  ///< of the other end's exhibit: its header, its table of regions
  Window memory_;        ///< the ring's
  std::optional<RingWriter> writer_;
};

}  // namespace weft::shm
