// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/faulty/faulty.hpp"

namespace weft::faulty {

class FaultyEndpoint;
class FaultyKey;

class FaultyPeer final : public Peer {
 public:
  FaultyPeer(FaultyEndpoint& endpoint, std::unique_ptr<Peer> wrapped)
      : owner(endpoint), inner(std::move(wrapped)) {}
  ~FaultyPeer() override;
  FaultyEndpoint& owner;
  std::unique_ptr<Peer> inner;  ///< NULL: lost
  std::uint64_t operations = 0;
  bool lost = false;
  std::vector<FaultyKey*> keys;
};

class FaultyKey final : public RemoteKey {
 public:
  FaultyKey(FaultyPeer& through, std::unique_ptr<RemoteKey> wrapped)
      : peer(through), inner(std::move(wrapped)) {
    peer.keys.push_back(this);
  }
  ~FaultyKey() override { std::erase(peer.keys, this); }
  FaultyPeer& peer;
  std::unique_ptr<RemoteKey> inner;
};

class FaultyRegion final : public MemoryRegion {
 public:
  FaultyRegion(FaultyEndpoint& endpoint, std::unique_ptr<MemoryRegion> wrapped)
      : owner(endpoint), inner(std::move(wrapped)) {}
  ~FaultyRegion() override;
  Bytes packed_key() const noexcept override { return inner->packed_key(); }
  FaultyEndpoint& owner;
  std::unique_ptr<MemoryRegion> inner;
};

class FaultyEndpoint final : public Endpoint {
 public:
  FaultyEndpoint(std::unique_ptr<Endpoint> inner, const Plan& plan);
  ~FaultyEndpoint() override;

  const Capabilities& capabilities() const noexcept override { return inner_->capabilities(); }
  const Address& address() const noexcept override { return inner_->address(); }
  Result<std::unique_ptr<Peer>> reach(const Address& address) override;
  Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) override;
  Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) override;
  void on_message(Handler handler, void* self) noexcept override;
  Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) override;
  Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) override;
  std::size_t progress() noexcept override;
  Result<void> arm() noexcept override;
  std::optional<int> wait_fd() const noexcept override { return inner_->wait_fd(); }

  /// Ends the delayed operations that `which` picks, now.
  template <class Which>
  void release_if(Which&& which) noexcept;
  void cancel_loss(const FaultyPeer& peer) { std::erase(to_lose_, &peer); }

 private:
  /// The inner operation, which points to the caller's scratch bytes, as they point to it.
  struct Held : Completion {
    FaultyEndpoint* owner = nullptr;
    transport::Operation* operation = nullptr;
    FaultyPeer* peer = nullptr;
  };
  struct Late {
    Held* held;
    Result<void> outcome;
    std::uint64_t round;
  };
  struct LateMessage {
    std::uint16_t id;
    std::vector<std::byte> header, payload;
    std::uint64_t round;
  };

  Result<void> may_start(FaultyPeer& peer);
  template <class Start>
  Result<void> start(FaultyPeer& peer, const FaultyRegion* region, Completion& completion,
                     Start&& inner_start);
  void on_inner_done(Held& held, Result<void> outcome) noexcept;
  void end_held(Held& held, Result<void> outcome) noexcept;
  void receive(std::uint16_t id, const Message& message) noexcept;
  void lose(FaultyPeer& peer) noexcept;
  bool chance(unsigned percent) { return random_() % 100 < percent; }
  std::uint64_t later() { return round_ + 1 + random_() % plan_.delay_rounds; }

  Plan plan_;
  unsigned reaches_ = 0;  ///< calls of reach() that have failed
  std::mt19937_64 random_;
  std::unique_ptr<Endpoint> inner_;
  transport::Operations operations_;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  unsigned burst_left_ = 0;  ///< the last one of a burst succeeds
  std::uint64_t round_ = 0;
  bool closing_ = false;
  std::deque<FaultyPeer*> to_lose_;
  std::deque<Late> late_;
  std::deque<LateMessage> late_messages_;
  /// The last round in which this wrapper rejected an operation.
  std::uint64_t rejected_in_ = ~std::uint64_t{0};
};

template <class Which>
void FaultyEndpoint::release_if(Which&& which) noexcept {
  // Searches anew each time: a done() may end others of them by destroying a peer.
  const auto picked = [&](const Late& late) { return which(*late.held->operation); };
  const auto next = [&] { return std::find_if(late_.begin(), late_.end(), picked); };
  for (auto at = next(); at != late_.end(); at = next()) {
    const Late late = *at;
    late_.erase(at);
    end_held(*late.held, late.held->peer->lost ? fail(Errc::peer_lost) : late.outcome);
  }
}

}  // namespace weft::faulty
