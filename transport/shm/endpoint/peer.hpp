// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a connection: its own ring, and the socket that reports when the receiver has ended.
#pragma once

#include <optional>
#include <string>

#include "transport/shm/endpoint/memory.hpp"
#include "transport/shm/endpoint/message_ring.hpp"
#include "transport/shm/socket.hpp"

namespace weft::shm {

inline constexpr std::uint64_t ring_capacity = std::uint64_t{256} << 10;
inline constexpr std::size_t ring_bytes = page_aligned(RingHeader::footprint(ring_capacity));

/// The first and only packet on a connection; carries the memfd of the sender's ring.
struct RingOffer {
  static constexpr std::uint64_t this_layout = 0x3152'4d48'5354'4657;  // "WFTSHMR1"
  std::uint64_t layout = this_layout;
  std::uint64_t capacity = ring_capacity;
};
template <class Archive>
constexpr void fields(Archive& archive, RingOffer& m) {
  archive(m.layout, m.capacity);
}
inline bool is_valid(const RingOffer& m) {
  return m.layout == RingOffer::this_layout && m.capacity == ring_capacity;
}

std::string socket_name(const Nonce& nonce);

/// The owner of the descriptor of an epoll event.
struct EventSource {
  enum class Kind { listener, retry, incoming, peer, self };
  explicit EventSource(Kind what) noexcept : kind(what) {}
  Kind kind;
};

class ShmPeer final : public Peer, public EventSource {
 public:
  ShmPeer(ShmEndpoint& owner, const PackedAddress& address)
      : EventSource(Kind::peer), owner_(owner), address_(address) {}
  ~ShmPeer() override;

  /// Does nothing if connected already; never waits for the receiver. Errors: again, peer_lost, os.
  Result<void> connect();
  /// Requires connect(). Errors: again (full), peer_lost.
  Result<void> push(std::uint16_t id, const Message& message) noexcept;
  /// Requires connect(). Errors: as read_region().
  Result<void> read(const PackedKey& key, std::uint64_t offset, MutableBytes into) noexcept;
  /// The socket is readable. True: the receiver has ended.
  bool on_readable() noexcept;

  bool is_lost() const noexcept { return state_ == State::lost; }
  bool belongs_to(const Nonce& nonce) const noexcept { return address_.nonce == nonce; }
  RingWriter& ring() noexcept { return *writer_; }
  bool waits_for_room = false;  ///< a send found the ring full, and the caller has not been woken since

 private:
  enum class State { unconnected, connected, lost };
  Result<void> try_connect();
  void lose() noexcept;

  ShmEndpoint& owner_;
  PackedAddress address_;
  State state_ = State::unconnected;
  Fd socket_;
  pid_t process_ = -1;
  Window header_page_, epoch_pages_;  ///< of the receiver: the page of its header, the pages of its epochs
  Window memory_;                     ///< of the ring
  std::optional<RingWriter> writer_;
};

}  // namespace weft::shm
