// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <vector>

#include "transport/ofi/completion.hpp"
#include "transport/ofi/memory.hpp"
#include "transport/ofi/peer.hpp"
#include "transport/ofi/probe.hpp"
#include "transport/ofi/providers/provider.hpp"
#include "transport/ofi/receive.hpp"
#include "transport/ofi/wire.hpp"

namespace weft::ofi {

class OfiEndpoint final : public Endpoint {
 public:
  /// Errors: os, no_memory.
  static Result<std::unique_ptr<Endpoint>> make(Provider provider);
  ~OfiEndpoint() override;

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Address& address() const noexcept override { return address_; }
  std::string device() const override;
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

  // Sending. A transfer that submit() rejects is back in the pool.
  Result<void> submit(Transfer& transfer, Connection& connection);
  void begin_operation(Transfer& transfer, const OfiPeer& peer, const MemoryRegion* region,
                       Completion& completion) noexcept;
  ssize_t post(Transfer& transfer) noexcept;
  void post_backlogs() noexcept;
  void handle(const Event& event) noexcept;
  void handle_message(const Event& event) noexcept;
  void release(Transfer& transfer) noexcept;
  void detach(const OfiOperation& operation) noexcept;
  /// Appends the completions that are ready to events_.
  void read_queue() noexcept;
  /// ofi_rxm of libfabric before 2.7 closes a card's connection first and then handles what had come over it:
  /// the process ends there (its issue 11828). An endpoint that closes therefore waits until nothing comes.
  void drain() noexcept;

  // Ends of operations.
  bool may_wait_for_dead_peer() const noexcept {
    return can_probe_ && (open_reads_ != 0 || !backlogged_.empty());
  }
  void probe_silent() noexcept;
  void end_probes() noexcept;
  void lose(Connection& connection) noexcept;
  void end_lost() noexcept;
  void cancel_operations(OfiPeer& peer) noexcept;
  void cancel_operations(const OfiRegion& region) noexcept;
  template <class Which>
  void end_if(Which&& which, const Error& why) noexcept;

  Provider provider_;
  // In the order in which libfabric wants them opened. The endpoint itself closes first, see the destructor.
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> addresses_;
  CompletionQueue queue_;
  Registrar registrar_;
  TransferPool pool_;
  ReceiveBuffers receive_buffers_;
  Connections connections_;
  Handle<fid_ep> endpoint_;

  Capabilities capabilities_;
  Address address_;
  std::uint64_t incarnation_ = 0;  ///< see EndpointAddress
  std::uint64_t kind_ = 0;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::vector<Event> events_;  ///< read from the queue and not handled yet
  std::vector<Connection*> backlogged_;
  std::size_t open_reads_ = 0;
  Probes probes_;
  bool can_probe_ = false;
  /// Limit of transfers to one connection, so that it cannot fill the queue that all share.
  std::uint32_t max_posted_ = 1;
  std::chrono::steady_clock::time_point last_probe_;
  bool armed_ = false;       ///< the owner may have slept since the last progress()
  bool has_losses_ = false;  ///< there is a lost connection whose operations progress() has to end
};

}  // namespace weft::ofi
