// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/sim/network.hpp"

namespace weft::sim {

class SimPeer final : public Peer {
 public:
  SimPeer(SimEndpoint& owner, Node node) : owner_(owner), node_(node) {}
  ~SimPeer() override;
  Node node() const noexcept { return node_; }

 private:
  SimEndpoint& owner_;
  Node node_;
};

class SimKey final : public RemoteKey {
 public:
  SimKey(SimPeer& of, std::uint32_t number) : peer(of), region(number) {}
  SimPeer& peer;
  std::uint32_t region;
};

class SimRegion final : public MemoryRegion {
 public:
  SimRegion(SimEndpoint& owner, std::span<std::byte> memory);
  ~SimRegion() override;
  Bytes packed_key() const noexcept override { return std::as_bytes(std::span(&number_, 1)); }
  std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  SimEndpoint& owner_;
  std::span<std::byte> memory_;
  std::uint32_t number_;
};

class SimEndpoint final : public Endpoint {
 public:
  explicit SimEndpoint(Network& network);
  ~SimEndpoint() override;

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Address& address() const noexcept override { return address_; }
  Result<std::unique_ptr<Peer>> reach(const Address& address) override;
  Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) override;
  Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) override;
  void on_message(Handler handler, void* self) noexcept override;
  Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) override;
  Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) override;
  std::size_t progress() noexcept override;
  Result<void> arm() noexcept override {
    return fail(Errc::not_supported, "a simulated network has no descriptor");
  }
  std::optional<int> wait_fd() const noexcept override { return std::nullopt; }

  Node node() const noexcept { return node_; }
  /// progress() that does not let time pass.
  std::size_t progress_if_any() noexcept { return inbox_first_ == Network::none ? 0 : progress(); }

 private:
  friend class Network;
  friend class SimPeer;
  friend class SimRegion;

  struct Open : transport::Operation {
    std::byte* into = nullptr;
    std::uint32_t ticket = 0;
  };
  /// What an event knows an operation by: the completion's memory may be somebody else's when it happens.
  struct Ticket {
    Open* open = nullptr;
    std::uint32_t generation = 0;
  };

  Open& start(Completion& completion, const SimPeer& peer, const SimRegion* region);
  Open* holder_of(const Network::Event& event) const noexcept;
  void end(Open& open, Result<void> outcome);
  template <class Which>
  void cancel_if(Which&& which) noexcept;
  void receive(std::uint32_t event);
  void handle(const Network::Event& event);
  bool is_full() const noexcept;

  Network& network_;
  Capabilities capabilities_;
  Node node_;
  Address address_;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::vector<Ticket> tickets_;
  std::vector<std::uint32_t> free_tickets_;
  std::vector<SimRegion*> regions_;  ///< by number; NULL: gone
  std::uint32_t inbox_first_ = Network::none, inbox_last_ = Network::none;
};

}  // namespace weft::sim
