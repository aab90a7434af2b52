// SPDX-License-Identifier: BSD-3-Clause
// An Endpoint over one UCP worker.
//
// Messages  Each is one contiguous active message: MessagePrefix, header, payload. UCP keeps the data of an
//           active message until it is released, but not its header. Handlers run after ucp_worker_progress()
//           has returned, because they may do what UCP does not allow in its callbacks, such as destroying a
//           peer.
// Gets      Emulated: a get request, and a reply with the bytes. The target looks up the region, so nothing
//           outside of it and nothing after its end is read; the reply depends on the target's progress().
//           Direct, with hardware for it: ucp_get_nbx().
// Eager     Every send is forced to be eager: it completes when the bytes have left, whatever the receiver
//           does.
#pragma once

#include <unordered_map>

#include "transport/ucx/completion.hpp"
#include "transport/ucx/memory.hpp"
#include "transport/ucx/worker.hpp"

namespace weft::ucx {

class UcxEndpoint final : public Endpoint {
 public:
  /// Errors: os.
  static Result<std::unique_ptr<UcxEndpoint>> make(std::unique_ptr<Worker> worker);
  ~UcxEndpoint() override;

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  std::string device() const override;
  const Address& address() const noexcept override { return address_; }
  Result<std::unique_ptr<Peer>> reach(const Address& address) override;
  Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) override;
  Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) override;
  void on_message(Handler handler, void* self) noexcept override;
  Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) override;
  Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) override;
  std::size_t progress() noexcept override;
  Result<void> arm() noexcept override;
  std::optional<int> wait_fd() const noexcept override { return worker_->wait_fd(); }

 private:
  friend class UcxPeer;
  friend class UcxRegion;

  /// Data of an active message that UCP keeps until it is released.
  struct ReceivedMessage {
    void* data;
    std::size_t length;
  };
  /// A get whose reply has arrived and whose done() has not run yet.
  struct CompletedGet {
    RequestId request_id;
    bool failed;
  };

  explicit UcxEndpoint(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
  Result<void> listen(Channel channel, ucp_am_recv_callback_t callback);

  // Callbacks: UCP calls them inside ucp_worker_progress().
  static ucs_status_t on_active_message(void* self, const void* header, std::size_t header_length, void* data,
                                        std::size_t length, const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t on_get_request(void* self, const void* header, std::size_t header_length, void* data,
                                     std::size_t length, const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t on_get_reply(void* self, const void* header, std::size_t header_length, void* data,
                                   std::size_t length, const ucp_am_recv_param_t* param) noexcept;
  static void on_transfer_complete(void* request, ucs_status_t status, void* transfer) noexcept;
  static void on_failure(void* connection, ucp_ep_h ep, ucs_status_t status) noexcept;

  Result<void> submit(Transfer& transfer, ucp_ep_h ep);
  Result<void> check_started(Transfer& transfer, ucs_status_ptr_t request);
  Result<void> request_get(const UcxKey& key, std::uint64_t offset, UcxOperation& operation);
  Result<void> get_directly(const UcxKey& key, std::uint64_t offset, const UcxRegion& region,
                            UcxOperation& operation);
  void reply_to_get(const GetRequest& request, ucp_ep_h reader) noexcept;
  bool is_full(std::size_t more_bytes) const noexcept;

  std::size_t end_transfers() noexcept;
  std::size_t end_replied_gets() noexcept;
  std::size_t deliver_messages() noexcept;
  void end(UcxOperation& operation, Result<void> outcome) noexcept;
  void detach(UcxOperation& operation) noexcept;
  template <class Which>
  void end_if(Which&& which, Errc why) noexcept;
  template <class Which>
  void cancel_if(Which&& which) noexcept {
    end_if(which, Errc::canceled);
  }
  /// Progresses until UCP has completed all direct gets of that connection or into that region (NULL: any);
  /// no handler runs.
  void await_direct_gets(const Connection* of, const MemoryRegion* into) noexcept;
  void end_lost() noexcept;
  void retire(Connection& connection) noexcept;
  /// Over a card UCX 1.13 aborts when a connection is closed before its peer has answered
  /// ("Assertion `(req->send.wireup.type == ...", ucp_request.c): such a one stays.
  bool may_close(const Connection& connection) const noexcept {
    return connection.is_set_up || connection.failed || !worker_->traits().reads_memory;
  }
  /// A transfer of nothing, complete when the peer has answered.
  void await_set_up(Connection& connection) noexcept;
  void close(Connection& connection) noexcept;
  void reap_connections() noexcept;
  void finish_close(Connection& connection) noexcept;
  /// False: UCX must not be asked to close what is left.
  bool drain() noexcept;

  std::unique_ptr<Worker> worker_;
  Capabilities capabilities_;
  Address address_;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::vector<std::unique_ptr<Connection>> connections_;
  // Declared after the connections: releasing a transfer decrements a counter in its connection.
  Transfers transfers_;
  RequestIds request_ids_;
  std::uint32_t unused_connections_ = 0;  ///< in the states retiring and closing
  bool has_failures_ = false;  ///< a connection has failed and its peer's operations have not been ended yet
  std::unordered_map<std::uint64_t, std::span<std::byte>> regions_;
  std::vector<ReceivedMessage> received_, delivering_;
  std::vector<CompletedGet> replied_gets_, ending_gets_;
};

/// options: a list as UCX_TLS takes it. UCX_TLS and UCX_NET_DEVICES in the environment are honoured too.
class UcxTransport final : public Transport {
 public:
  enum class Gets { best, direct };  ///< direct: uses ucp_get_nbx() over TCP too, where UCP emulates it
  explicit UcxTransport(Gets gets = Gets::best) : gets_(gets) {}
  /// `what` of an error stays valid until the next call or the end of this object.
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override;

 private:
  Gets gets_;
  std::string why_not_;
};

template <class Which>
void UcxEndpoint::end_if(Which&& which, Errc why) noexcept {
  operations_.end_if(which, {why}, [this](transport::Operation& operation) {
    detach(static_cast<UcxOperation&>(operation));
  });
}

}  // namespace weft::ucx
