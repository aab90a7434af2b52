// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/endpoint.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/settings.hpp"
#include "transport/base/folder.hpp"
#include "transport/base/locked_memory.hpp"

namespace weft::ucx {
namespace {

// largest message or direct get: both are copied
constexpr std::size_t max_transfer_bytes = std::size_t{256} << 10;
// A reply of this size fits in one segment of UCX's TCP transport, which saves the copy that reassembly
// costs.
constexpr std::size_t max_reply_bytes = std::size_t{56} << 10;
constexpr std::size_t max_transfers = 4096;
// docs/decisions/0011-tcp.md
constexpr const char* risk_of_tcp =
    "UCX listens at a TCP port, and whoever can connect there can read and write this process's memory";
constexpr const char* risk_of_cards =
    "any process that reaches this card's network can read and write this process's memory, through UCX";
constexpr std::size_t max_bytes_in_flight = std::size_t{64} << 20;

ucs_status_t status_of(ucs_status_ptr_t request) noexcept {
  return static_cast<ucs_status_t>(reinterpret_cast<std::intptr_t>(request));
}

}  // namespace

Result<std::unique_ptr<Endpoint>> UcxTransport::open(const Opening& opening) {
  // the user has chosen devices in UCX's own variable
  const bool is_chosen = ::getenv("UCX_NET_DEVICES") != nullptr;
  auto worker = Worker::open({.transports = std::string(opening.options),
                              .networks = is_chosen ? std::string() : base::read(base::Variable::net).text,
                              .direct_gets = gets_ == Gets::direct},
                             why_not_);
  if (!worker) {
    const auto error = worker.error();
    if (error.what == why_not_.c_str() || transport::names_in("/sys/class/infiniband").empty())
      return fail(error);
    why_not_ = error.what + transport::locked_memory_hint();
    return fail(error.code, why_not_.c_str(), error.sys);
  }
  auto endpoint = UcxEndpoint::make(std::move(*worker));
  if (!endpoint) return fail(endpoint.error());
  return std::move(*endpoint);
}

Result<std::unique_ptr<UcxEndpoint>> UcxEndpoint::make(std::unique_ptr<Worker> worker) {
  std::unique_ptr<UcxEndpoint> self(new UcxEndpoint(std::move(worker)));
  const auto address = self->worker_->address();
  if (!address) return fail(address.error());
  self->address_.bytes = pack_address(*address);
  if (self->address_.bytes.size() > Address::max_bytes)
    return fail(Errc::os, "UCX's address is too large: name fewer devices in UCX_NET_DEVICES", EMSGSIZE);
  for (const auto& [channel, callback] :
       {std::pair<Channel, ucp_am_recv_callback_t>{message_channel, on_active_message},
        {get_channel, on_get_request},
        {reply_channel, on_get_reply}})
    if (const auto done = self->listen(channel, callback); !done) return fail(done.error());
  const Traits& traits = self->worker_->traits();
  self->capabilities_ = {.max_inline = max_transfer_bytes,
                         .max_message = max_transfer_bytes,
                         .max_header = max_transfer_bytes,
                         .max_get = self->worker_->direct_gets() ? max_transfer_bytes : max_reply_bytes,
                         .rma = self->worker_->direct_gets(),
                         .ordered = false,  // UCP documents no order between active messages
                         .wait_fd = self->wait_fd().has_value(),
                         .backs_memory = self->worker_->direct_gets(),  // the card pins mapped memory
                         // over a card not before the peer has answered
                         .detects_loss = traits.network && !traits.reads_memory,
                         .risk = traits.tcp                     ? risk_of_tcp
                                 : self->worker_->direct_gets() ? risk_of_cards
                                                                : ""};
  return self;
}

std::string UcxEndpoint::device() const {
  std::string out;
  for (const auto& device : worker_->traits().devices) out += (out.empty() ? "" : ", ") + device;
  return out;
}

Result<void> UcxEndpoint::listen(Channel channel, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = channel;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  if (channel == message_channel) params.flags |= UCP_AM_FLAG_PERSISTENT_DATA;
  params.cb = callback;
  params.arg = this;
  const auto done = ucp_worker_set_am_recv_handler(worker_->get(), &params);
  if (done != UCS_OK) return fail(error_of(done, "UCX takes no handler of active messages"));
  return {};
}

UcxEndpoint::~UcxEndpoint() {
  await_direct_gets(nullptr, nullptr);
  cancel_if([](const transport::Operation&) { return true; });
  const bool can_close = drain();
  for (const ReceivedMessage& message : received_) ucp_am_data_release(worker_->get(), message.data);
  if (can_close) {
    worker_->close();  // first: destroying the worker runs callbacks that use the members below
  } else {
    worker_->abandon();
    transfers_.abandon();
  }
}

Result<std::unique_ptr<MemoryRegion>> UcxEndpoint::expose(std::span<std::byte> memory) {
  if (memory.empty()) return fail(Errc::invalid, "no memory to expose");
  auto region = UcxRegion::make(*this, memory);
  if (!region) return fail(region.error());
  return std::move(*region);
}

Result<std::unique_ptr<RemoteKey>> UcxEndpoint::import_key(Peer& peer, Bytes packed) {
  const auto key = unpack_key(packed);
  if (!key) return fail(Errc::corrupt, "not the key of a UCX region");
  auto& of = static_cast<UcxPeer&>(peer);
  ucp_rkey_h remote = nullptr;
  if (worker_->direct_gets() && !key->remote_key.empty() && !of.connection().failed &&
      ucp_ep_rkey_unpack(of.connection().ep, key->remote_key.data(), &remote) != UCS_OK)
    return fail(Errc::corrupt, "UCX does not take this key");
  return std::make_unique<UcxKey>(of, *key, remote);
}

void UcxEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

bool UcxEndpoint::is_full(std::size_t more_bytes) const noexcept {
  return transfers_.count() >= max_transfers || operations_.size() >= max_transfers ||
         transfers_.bytes() + more_bytes > max_bytes_in_flight;
}

Result<void> UcxEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  auto& peer = static_cast<UcxPeer&>(to);
  Connection& connection = peer.connection();
  const std::size_t header = message.header.size(), payload = message.payload.size();
  if (header > max_transfer_bytes || payload > max_transfer_bytes - header)
    return fail(Errc::invalid, "the message is larger than max_message");
  if (connection.failed) return fail(Errc::peer_lost);
  const MessagePrefix prefix{id, 0, static_cast<std::uint32_t>(header)};
  const std::size_t length = base::fixed_bytes<MessagePrefix> + header + payload;
  if (is_full(length)) return fail(Errc::again);
  Transfer* transfer = transfers_.make(this, Transfer::Kind::message, &connection, length);
  if (transfer == nullptr) return fail(Errc::again);
  std::byte* const at = base::write_fixed(transfer->bytes(), prefix);
  if (header != 0) std::memcpy(at, message.header.data(), header);
  if (payload != 0) std::memcpy(at + header, message.payload.data(), payload);
  UcxOperation& operation = operations_.open<UcxOperation>(completion, peer, nullptr);
  operation.transfer = transfer;
  transfer->operation = &operation;
  const auto sent = submit(*transfer, connection.ep);
  if (!sent) operations_.forget(operation);
  return sent;
}

Result<void> UcxEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const UcxKey&>(from.key);
  const auto& region = static_cast<const UcxRegion&>(into.region);
  const auto room = region.memory().size();
  if (into.length > capabilities_.max_get || into.offset > room || into.length > room - into.offset)
    return fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (from.offset > key.length || into.length > key.length - from.offset)
    return fail(Errc::invalid, "outside of the exposed region");
  if (key.peer.connection().failed) return fail(Errc::peer_lost);
  if (is_full(base::fixed_bytes<GetRequest>)) return fail(Errc::again);
  UcxOperation& operation = operations_.open<UcxOperation>(completion, key.peer, &region);
  operation.into = region.memory().data() + into.offset;
  operation.length = into.length;
  const auto begun = key.remote != nullptr ? get_directly(key, from.offset, region, operation)
                                           : request_get(key, from.offset, operation);
  if (!begun) {
    request_ids_.release(operation);
    operations_.forget(operation);
  }
  return begun;
}

Result<void> UcxEndpoint::request_get(const UcxKey& key, std::uint64_t offset, UcxOperation& operation) {
  Connection& connection = key.peer.connection();
  Transfer* transfer =
      transfers_.make(this, Transfer::Kind::get_request, &connection, base::fixed_bytes<GetRequest>);
  if (transfer == nullptr) return fail(Errc::again);
  if (!request_ids_.assign(operation)) {
    transfers_.release(*transfer);
    return fail(Errc::again);
  }
  const GetRequest request{key.region, offset, operation.length, request_ids_.of(operation)};
  base::write_fixed(transfer->bytes(), request);
  operation.transfer = transfer;
  transfer->operation = &operation;
  return submit(*transfer, connection.ep);
}

Result<void> UcxEndpoint::get_directly(const UcxKey& key, std::uint64_t offset, const UcxRegion& region,
                                       UcxOperation& operation) {
  Connection& connection = key.peer.connection();
  // While its connection is being set up a get cannot be ended: it reads into the transfer, so that nothing
  // of the caller's is lent.
  const bool is_lent = connection.is_set_up || !worker_->traits().reads_memory;
  const std::size_t own = is_lent ? 0 : operation.length;
  if (is_full(own)) return fail(Errc::again);
  Transfer* transfer = transfers_.make(this, Transfer::Kind::direct_get, &connection, own);
  if (transfer == nullptr) return fail(Errc::again);
  if (is_lent) transfer->into = &region;
  operation.transfer = transfer;
  transfer->operation = &operation;
  if (operation.length == 0) {
    transfers_.complete(*transfer, UCS_OK);
    return {};
  }
  connection.has_sent = true;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = on_transfer_complete;
  params.user_data = transfer;
  return check_started(*transfer, ucp_get_nbx(connection.ep, is_lent ? operation.into : transfer->bytes(),
                                              operation.length, key.base + offset, key.remote, &params));
}

Result<void> UcxEndpoint::submit(Transfer& transfer, ucp_ep_h ep) {
  constexpr unsigned channels[] = {message_channel, get_channel, reply_channel};
  if (transfer.connection != nullptr) transfer.connection->has_sent = true;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.cb.send = on_transfer_complete;
  params.user_data = &transfer;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  if (transfer.kind == Transfer::Kind::get_request) params.flags |= UCP_AM_SEND_FLAG_REPLY;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  return check_started(transfer, ucp_am_send_nbx(ep, channels[static_cast<unsigned>(transfer.kind)], nullptr,
                                                 0, transfer.bytes(), transfer.length, &params));
}

/// Error: the transfer was released. A transfer that completed at once is reported by the next progress(),
/// like all others.
Result<void> UcxEndpoint::check_started(Transfer& transfer, ucs_status_ptr_t request) {
  if (request == nullptr) {
    if (transfer.connection != nullptr) transfer.connection->is_set_up = true;
    transfers_.complete(transfer, UCS_OK);
  } else if (UCS_PTR_IS_ERR(request)) {
    const auto status = status_of(request);
    if (transfer.connection != nullptr && is_loss(status)) {
      transfer.connection->failed = true;
      has_failures_ = true;
    }
    transfers_.release(transfer);
    return fail(error_of(status, "UCX did not begin the operation"));
  }
  return {};
}

std::size_t UcxEndpoint::progress() noexcept {
  const std::size_t moved = ucp_worker_progress(worker_->get()) != 0 ? 1 : 0;
  const std::size_t handled = end_transfers() + end_replied_gets() + deliver_messages();
  if (has_failures_) end_lost();
  if (unused_connections_ != 0) reap_connections();
  return std::max(moved, handled);
}

std::size_t UcxEndpoint::end_transfers() noexcept {
  std::size_t handled = 0;
  for (Transfer* at = transfers_.take_completed(); at != nullptr;) {
    Transfer& transfer = *at;
    at = transfer.next_complete;
    UcxOperation* operation = transfer.operation;
    const auto status = transfer.status;
    const bool awaits_reply = transfer.kind == Transfer::Kind::get_request;
    if (status != UCS_OK && transfer.connection != nullptr && is_loss(status)) {
      transfer.connection->failed = true;
      has_failures_ = true;
    }
    if (operation != nullptr) {
      operation->transfer = nullptr;
      if (transfer.kind == Transfer::Kind::direct_get && transfer.length != 0 && status == UCS_OK)
        std::memcpy(operation->into, transfer.bytes(), transfer.length);
    }
    transfers_.release(transfer);
    ++handled;
    if (operation == nullptr || (status == UCS_OK && awaits_reply)) continue;
    end(*operation, status == UCS_OK ? Result<void>() : fail(error_of(status, "UCX ended the operation")));
  }
  return handled;
}

std::size_t UcxEndpoint::end_replied_gets() noexcept {
  ending_gets_.swap(replied_gets_);
  for (const CompletedGet& get : ending_gets_)
    if (UcxOperation* operation = request_ids_.find(get.request_id))
      end(*operation, get.failed
                          ? fail(Errc::invalid, "outside of the exposed region, or that region is gone")
                          : Result<void>());
  const auto handled = ending_gets_.size();
  ending_gets_.clear();
  return handled;
}

std::size_t UcxEndpoint::deliver_messages() noexcept {
  delivering_.swap(received_);
  for (const ReceivedMessage& message : delivering_) {
    base::Reader in({static_cast<const std::byte*>(message.data), message.length});
    MessagePrefix prefix{};
    in(prefix);
    const Bytes header = in.raw(prefix.header_bytes), payload = in.rest();
    if (in.ok() && handler_ != nullptr) handler_(handler_self_, prefix.id, {header, payload});
    ucp_am_data_release(worker_->get(), message.data);
  }
  const auto handled = delivering_.size();
  delivering_.clear();
  return handled;
}

Result<void> UcxEndpoint::arm() noexcept {
  if (!capabilities_.wait_fd)
    return fail(Errc::not_supported, "these UCX transports have no descriptor to sleep on");
  if (transfers_.has_completed() || !replied_gets_.empty() || !received_.empty() || has_failures_)
    return fail(Errc::again);
  const auto armed = ucp_worker_arm(worker_->get());
  if (armed == UCS_ERR_BUSY) return fail(Errc::again);
  if (armed != UCS_OK) return fail(error_of(armed, "UCX does not arm its descriptor"));
  // What arrived between the last progress() and the arming may wake nothing: rdma_rxe notifies of what comes
  // after it was asked, and UCX does not look again.
  if (ucp_worker_progress(worker_->get()) != 0) return fail(Errc::again);
  return {};
}

ucs_status_t UcxEndpoint::on_active_message(void* self, const void*, std::size_t, void* data,
                                            std::size_t length, const ucp_am_recv_param_t* param) noexcept {
  // Weft's endpoints never send by rendezvous; a sender that does gets this as its status.
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_ERR_REJECTED;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) == 0)
    return UCS_OK;  // cannot happen: the handler was registered for persistent data
  static_cast<UcxEndpoint*>(self)->received_.push_back({data, length});
  return UCS_INPROGRESS;
}

ucs_status_t UcxEndpoint::on_get_request(void* self, const void*, std::size_t, void* data, std::size_t length,
                                         const ucp_am_recv_param_t* param) noexcept {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_ERR_REJECTED;
  base::Reader in({static_cast<const std::byte*>(data), length});
  GetRequest request{};
  in(request);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 && in.ok())
    static_cast<UcxEndpoint*>(self)->reply_to_get(request, param->reply_ep);
  return UCS_OK;
}

/// Replies inside the callback, because UCP may drop the reply endpoint once ucp_worker_progress() has
/// returned.
void UcxEndpoint::reply_to_get(const GetRequest& request, ucp_ep_h reader) noexcept {
  const auto found = regions_.find(request.region);
  const std::size_t room = found == regions_.end() ? 0 : found->second.size();
  const bool failed = found == regions_.end() || request.length > max_transfer_bytes ||
                      request.offset > room || request.length > room - request.offset;
  const GetReply reply{request.request_id, failed ? 1u : 0u, 0};
  const std::size_t length = failed ? 0 : request.length;
  Transfer* transfer =
      transfers_.make(this, Transfer::Kind::get_reply, nullptr, base::fixed_bytes<GetReply> + length);
  if (transfer == nullptr) return;
  std::byte* const at = base::write_fixed(transfer->bytes(), reply);
  if (length != 0) std::memcpy(at, found->second.data() + request.offset, length);
  // on failure the connection is lost, and UCP reports that to the requester
  (void)submit(*transfer, reader);
}

ucs_status_t UcxEndpoint::on_get_reply(void* self, const void*, std::size_t, void* data, std::size_t length,
                                       const ucp_am_recv_param_t* param) noexcept {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_ERR_REJECTED;
  base::Reader in({static_cast<const std::byte*>(data), length});
  GetReply reply{};
  in(reply);
  const Bytes bytes = in.rest();
  if (!in.ok()) return UCS_OK;
  auto& endpoint = *static_cast<UcxEndpoint*>(self);
  const UcxOperation* operation = endpoint.request_ids_.find(reply.request_id);
  if (operation == nullptr) return UCS_OK;  // the operation was canceled
  const bool failed = reply.failed != 0 || bytes.size() != operation->length;
  if (!failed && !bytes.empty()) std::memcpy(operation->into, bytes.data(), bytes.size());
  endpoint.replied_gets_.push_back({reply.request_id, failed});
  return UCS_OK;
}

void UcxEndpoint::on_transfer_complete(void* request, ucs_status_t status, void* over) noexcept {
  auto& transfer = *static_cast<Transfer*>(over);
  if (transfer.connection != nullptr && status == UCS_OK) transfer.connection->is_set_up = true;
  transfer.owner->transfers_.complete(transfer, status);
  ucp_request_free(request);
}

void UcxEndpoint::detach(UcxOperation& operation) noexcept {
  if (operation.transfer != nullptr) operation.transfer->operation = nullptr;
  operation.transfer = nullptr;
  request_ids_.release(operation);
}

void UcxEndpoint::end(UcxOperation& operation, Result<void> outcome) noexcept {
  detach(operation);
  operations_.end(operation, outcome);
}

}  // namespace weft::ucx
