// SPDX-License-Identifier: BSD-3-Clause
// One worker of UCP as an Endpoint.
//
// Messages  One contiguous active message each: MessageFront, header, payload. UCP keeps the data of an active message
//           until we give it back, but not its header, and our handlers run when ucp_worker_progress() has returned:
//           what they may do (destroy a peer) is more than UCP allows in its callbacks.
// Gets      By asking: a request, and a reply with the bytes. The target looks the region up, so that nothing is read
//           outside of it or after its end; it costs the target's progress(). With hardware for it: ucp_get_nbx().
// Eager     All that we send is told to be eager: it ends when the bytes left, whatever the receiver does.
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

  /// Kept by UCP until it is given back.
  struct Arrived {
    void* data;
    std::size_t length;
  };
  struct Answer {
    Ticket ticket;
    bool failed;
  };

  explicit UcxEndpoint(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
  Result<void> listen(Channel channel, ucp_am_recv_callback_t callback);

  // What UCP calls, from inside of ucp_worker_progress().
  static ucs_status_t on_active_message(void* self, const void* header, std::size_t header_length, void* data,
                                        std::size_t length, const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t on_get_request(void* self, const void* header, std::size_t header_length, void* data,
                                     std::size_t length, const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t on_get_reply(void* self, const void* header, std::size_t header_length, void* data,
                                   std::size_t length, const ucp_am_recv_param_t* param) noexcept;
  static void on_flight_over(void* request, ucs_status_t status, void* flight) noexcept;
  static void on_failure(void* line, ucp_ep_h ep, ucs_status_t status) noexcept;

  Result<void> launch(Flight& flight, ucp_ep_h ep);
  Result<void> take_off(Flight& flight, ucs_status_ptr_t request);
  Result<void> ask(const UcxKey& key, std::uint64_t offset, Open& open);
  Result<void> read(const UcxKey& key, std::uint64_t offset, const UcxRegion& region, Open& open);
  void serve(const GetRequest& request, ucp_ep_h reader) noexcept;
  bool is_full(std::size_t more_bytes) const noexcept;

  std::size_t end_flights() noexcept;
  std::size_t end_answered() noexcept;
  std::size_t hand_on_messages() noexcept;
  void end(Open& open, Result<void> outcome) noexcept;
  void sever(Open& open) noexcept;
  template <class Which>
  void end_if(Which&& which, Errc why) noexcept;
  template <class Which>
  void cancel_if(Which&& which) noexcept {
    end_if(which, Errc::canceled);
  }
  /// Until UCP writes nothing more for these (NULL: for any); no handler runs meanwhile.
  void await_direct_gets(const Line* of, const MemoryRegion* into) noexcept;
  void tell_lost() noexcept;
  void retire(Line& line) noexcept;
  void close(Line& line) noexcept;
  void tidy() noexcept;
  void let_go(Line& line) noexcept;
  void drain() noexcept;

  std::unique_ptr<Worker> worker_;
  Capabilities capabilities_;
  Address address_;
  Handler handler_ = nullptr;
  void* handler_self_ = nullptr;
  transport::Operations operations_;
  std::vector<std::unique_ptr<Line>> lines_;
  Flights flights_;  // after the lines: the last of them count down there
  Tickets tickets_;
  std::uint32_t lines_to_tidy_ = 0;  ///< retiring and closing
  bool has_failures_ = false;        ///< a line failed and its peer's operations do not know
  std::unordered_map<std::uint64_t, std::span<std::byte>> regions_;
  std::vector<Arrived> arrived_, handling_;
  std::vector<Answer> answers_, ending_;
};

/// options: a list as UCX_TLS takes it; UCX_TLS and UCX_NET_DEVICES are read too.
class UcxTransport final : public Transport {
 public:
  enum class Gets { best, direct };  ///< direct: by ucp_get_nbx() over TCP too, where UCP emulates it
  explicit UcxTransport(Gets gets = Gets::best) : gets_(gets) {}
  /// An error's `what` holds until the next call, or the end of this.
  Result<std::unique_ptr<Endpoint>> open(std::string_view options) override;

 private:
  Gets gets_;
  std::string why_not_;
};

template <class Which>
void UcxEndpoint::end_if(Which&& which, Errc why) noexcept {
  operations_.end_if(which, {why},
                     [this](transport::Operation& operation) { sever(static_cast<Open&>(operation)); });
}

}  // namespace weft::ucx
