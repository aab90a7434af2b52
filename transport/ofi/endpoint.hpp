// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "transport/ofi/completion.hpp"
#include "transport/ofi/memory.hpp"
#include "transport/ofi/peer.hpp"
#include "transport/ofi/provider.hpp"
#include "transport/ofi/receive.hpp"

namespace weft::ofi {

class OfiEndpoint final : public Endpoint {
 public:
  /// Errors: os, no_memory.
  static Result<std::unique_ptr<Endpoint>> make(Provider provider);
  ~OfiEndpoint() override;

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
  std::optional<int> wait_fd() const noexcept override { return queue_.wait_fd(); }

 private:
  friend class OfiPeer;
  friend class OfiRegion;

  explicit OfiEndpoint(Provider provider) : provider_(std::move(provider)) {}
  Result<void> open();
  Result<void> find_address();
  void set_capabilities();

  Result<void> start(Carrier& carrier, const OfiPeer& peer, const MemoryRegion* region, Completion& completion);
  ssize_t post(Carrier& carrier) noexcept;
  void post_backlogs() noexcept;
  void handle(const Event& event) noexcept;
  void handle_message(const Event& event) noexcept;
  void release(Carrier& carrier) noexcept;
  void lose(Route& route) noexcept;
  void end_lost() noexcept;
  void forget(OfiPeer& peer) noexcept;
  void forget(const OfiRegion& region) noexcept;
  template <class Which>
  void end_if(Which&& which, const Error& why) noexcept;

  Provider provider_;
  // In the order in which the library wants them opened; the endpoint itself closes first, see the destructor.
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> addresses_;
  CompletionQueue queue_;
  Registrar registrar_;
  CarrierPool pool_;
  Receives receives_;
  Routes routes_;
  Handle<fid_ep> endpoint_;

  Capabilities capabilities_;
  Address address_;
  std::uint64_t owner_ = 0;  ///< see OwnedAddress
  std::uint64_t kind_ = 0;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::vector<Event> events_;         ///< read from the queue, not handled yet
  std::vector<Route*> with_backlog_;
  bool some_lost_ = false;            ///< a route whose operations progress() has to end
};

}  // namespace weft::ofi
