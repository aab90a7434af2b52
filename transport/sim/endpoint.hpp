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
  /// progress() that does not advance the time.
  std::size_t progress_if_any() noexcept { return inbox_first_ == Network::none ? 0 : progress(); }

 private:
  friend class Network;
  friend class SimPeer;
  friend class SimRegion;

  struct SimOperation : transport::Operation {
    std::byte* into = nullptr;
    std::uint32_t request_id = 0;
  };
  /// An event names an operation by slot and generation, because the memory of the completion may have been
  /// reused when the event is executed.
  struct RequestSlot {
    SimOperation* operation = nullptr;
    std::uint32_t generation = 0;
  };

  SimOperation& start(Completion& completion, const SimPeer& peer, const SimRegion* region);
  SimOperation* operation_of(const Network::Event& event) const noexcept;
  void end(SimOperation& operation, Result<void> outcome);
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
  std::vector<RequestSlot> request_slots_;
  std::vector<std::uint32_t> free_request_slots_;
  std::vector<SimRegion*> regions_;  ///< by number; NULL after the region was destroyed
  std::uint32_t inbox_first_ = Network::none, inbox_last_ = Network::none;
};

}  // namespace weft::sim
