// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/endpoint.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::ucx {
namespace {

constexpr std::size_t most_bytes_at_once = std::size_t{256} << 10;  // of a message or a get: they are copied
// The answer to a get fits in one segment of UCX's TCP then, so that UCP need not put it together: a copy less.
constexpr std::size_t most_bytes_of_an_answer = std::size_t{56} << 10;
constexpr std::size_t most_flights = 4096;
constexpr std::size_t most_flight_bytes = std::size_t{64} << 20;

ucs_status_t status_of(ucs_status_ptr_t request) noexcept {
  return static_cast<ucs_status_t>(reinterpret_cast<std::intptr_t>(request));
}

}  // namespace

Result<std::unique_ptr<Endpoint>> UcxTransport::open(std::string_view options) {
  const char* networks = ::secure_getenv("WEFT_NET");
  const bool is_chosen = ::getenv("UCX_NET_DEVICES") != nullptr;  // the user has said it in UCX's own words
  auto worker = Worker::open({.transports = std::string(options),
                              .networks = networks == nullptr || is_chosen ? "" : networks,
                              .direct_gets = gets_ == Gets::direct},
                             why_not_);
  if (!worker) return fail(worker.error());
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
  self->capabilities_ = {
      .max_inline = most_bytes_at_once,
      .max_message = most_bytes_at_once,
      .max_header = most_bytes_at_once,
      .max_get = self->worker_->direct_gets() ? most_bytes_at_once : most_bytes_of_an_answer,
      .rma = self->worker_->direct_gets(),
      .ordered = false,  // UCP's documentation promises no order of active messages
      .wait_fd = self->wait_fd().has_value(),
      .backs_memory = self->worker_->direct_gets(),  // the card pins what is mapped
      .detects_loss = self->worker_->traits().network};
  return self;
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
  drain();
  for (const Arrived& arrived : arrived_) ucp_am_data_release(worker_->get(), arrived.data);
  worker_->close();  // before what its last callbacks touch
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
  if (worker_->direct_gets() && !key->remote_key.empty() && !of.line().failed &&
      ucp_ep_rkey_unpack(of.line().ep, key->remote_key.data(), &remote) != UCS_OK)
    return fail(Errc::corrupt, "UCX does not take this key");
  return std::make_unique<UcxKey>(of, *key, remote);
}

void UcxEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

bool UcxEndpoint::is_full(std::size_t more_bytes) const noexcept {
  return flights_.count() >= most_flights || operations_.size() >= most_flights ||
         flights_.bytes() + more_bytes > most_flight_bytes;
}

Result<void> UcxEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  auto& peer = static_cast<UcxPeer&>(to);
  Line& line = peer.line();
  const std::size_t header = message.header.size(), payload = message.payload.size();
  if (header > most_bytes_at_once || payload > most_bytes_at_once - header)
    return fail(Errc::invalid, "the message is larger than max_message");
  if (line.failed) return fail(Errc::peer_lost);
  const MessageFront front{id, 0, static_cast<std::uint32_t>(header)};
  const std::size_t length = sizeof front + header + payload;
  if (is_full(length)) return fail(Errc::again);
  Flight* flight = flights_.make(this, Flight::Kind::message, &line, length);
  if (flight == nullptr) return fail(Errc::again);
  std::memcpy(flight->bytes(), &front, sizeof front);
  if (header != 0) std::memcpy(flight->bytes() + sizeof front, message.header.data(), header);
  if (payload != 0) std::memcpy(flight->bytes() + sizeof front + header, message.payload.data(), payload);
  Open& open = operations_.open<Open>(completion, peer, nullptr);
  open.flight = flight;
  flight->open = &open;
  const auto sent = launch(*flight, line.ep);
  if (!sent) operations_.forget(open);
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
  if (key.peer.line().failed) return fail(Errc::peer_lost);
  if (is_full(sizeof(GetRequest))) return fail(Errc::again);
  Open& open = operations_.open<Open>(completion, key.peer, &region);
  open.into = region.memory().data() + into.offset;
  open.length = into.length;
  const auto begun =
      key.remote != nullptr ? read(key, from.offset, region, open) : ask(key, from.offset, open);
  if (!begun) {
    tickets_.take_back(open);
    operations_.forget(open);
  }
  return begun;
}

Result<void> UcxEndpoint::ask(const UcxKey& key, std::uint64_t offset, Open& open) {
  Line& line = key.peer.line();
  Flight* flight = flights_.make(this, Flight::Kind::get_request, &line, sizeof(GetRequest));
  if (flight == nullptr) return fail(Errc::again);
  if (!tickets_.give(open)) {
    flights_.release(*flight);
    return fail(Errc::again);
  }
  const GetRequest request{key.region, offset, open.length, tickets_.of(open)};
  std::memcpy(flight->bytes(), &request, sizeof request);
  open.flight = flight;
  flight->open = &open;
  return launch(*flight, line.ep);
}

Result<void> UcxEndpoint::read(const UcxKey& key, std::uint64_t offset, const UcxRegion& region, Open& open) {
  Line& line = key.peer.line();
  Flight* flight = flights_.make(this, Flight::Kind::direct_get, &line, 0);
  if (flight == nullptr) return fail(Errc::again);
  flight->into = &region;
  open.flight = flight;
  flight->open = &open;
  if (open.length == 0) {
    flights_.ended(*flight, UCS_OK);
    return {};
  }
  line.has_sent = true;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = on_flight_over;
  params.user_data = flight;
  return take_off(*flight,
                  ucp_get_nbx(line.ep, open.into, open.length, key.base + offset, key.remote, &params));
}

Result<void> UcxEndpoint::launch(Flight& flight, ucp_ep_h ep) {
  constexpr unsigned channels[] = {message_channel, get_channel, reply_channel};
  if (flight.line != nullptr) flight.line->has_sent = true;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                        UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.cb.send = on_flight_over;
  params.user_data = &flight;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  if (flight.kind == Flight::Kind::get_request) params.flags |= UCP_AM_SEND_FLAG_REPLY;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  return take_off(flight, ucp_am_send_nbx(ep, channels[static_cast<unsigned>(flight.kind)], nullptr, 0,
                                          flight.bytes(), flight.length, &params));
}

/// An error: the flight is gone. What is over at once is told by the next progress() like all else.
Result<void> UcxEndpoint::take_off(Flight& flight, ucs_status_ptr_t request) {
  if (request == nullptr) {
    flights_.ended(flight, UCS_OK);
  } else if (UCS_PTR_IS_ERR(request)) {
    const auto status = status_of(request);
    if (flight.line != nullptr && is_loss(status)) {
      flight.line->failed = true;
      has_failures_ = true;
    }
    flights_.release(flight);
    return fail(error_of(status, "UCX did not begin the operation"));
  }
  return {};
}

std::size_t UcxEndpoint::progress() noexcept {
  const std::size_t moved = ucp_worker_progress(worker_->get()) != 0 ? 1 : 0;
  const std::size_t handled = end_flights() + end_answered() + hand_on_messages();
  if (has_failures_) tell_lost();
  if (lines_to_tidy_ != 0) tidy();
  return std::max(moved, handled);
}

std::size_t UcxEndpoint::end_flights() noexcept {
  std::size_t handled = 0;
  for (Flight* at = flights_.take_ended(); at != nullptr;) {
    Flight& flight = *at;
    at = flight.next_ended;
    Open* open = flight.open;
    const auto status = flight.status;
    const bool is_answered_later = flight.kind == Flight::Kind::get_request;
    if (status != UCS_OK && flight.line != nullptr && is_loss(status)) {
      flight.line->failed = true;
      has_failures_ = true;
    }
    if (open != nullptr) open->flight = nullptr;
    flights_.release(flight);
    ++handled;
    if (open == nullptr || (status == UCS_OK && is_answered_later)) continue;
    end(*open, status == UCS_OK ? Result<void>() : fail(error_of(status, "UCX ended the operation")));
  }
  return handled;
}

std::size_t UcxEndpoint::end_answered() noexcept {
  ending_.swap(answers_);
  for (const Answer& answer : ending_)
    if (Open* open = tickets_.holder(answer.ticket))
      end(*open, answer.failed ? fail(Errc::invalid, "outside of what the peer exposes") : Result<void>());
  const auto handled = ending_.size();
  ending_.clear();
  return handled;
}

std::size_t UcxEndpoint::hand_on_messages() noexcept {
  handling_.swap(arrived_);
  for (const Arrived& arrived : handling_) {
    Bytes bytes(static_cast<const std::byte*>(arrived.data), arrived.length);
    MessageFront front{};
    if (take(bytes, front) && front.header_bytes <= bytes.size() && handler_ != nullptr)
      handler_(handler_self_, front.id, {bytes.first(front.header_bytes), bytes.subspan(front.header_bytes)});
    ucp_am_data_release(worker_->get(), arrived.data);
  }
  const auto handled = handling_.size();
  handling_.clear();
  return handled;
}

Result<void> UcxEndpoint::arm() noexcept {
  if (!capabilities_.wait_fd) return fail(Errc::not_supported, "these transports wake nobody");
  if (flights_.has_ended() || !answers_.empty() || !arrived_.empty() || has_failures_)
    return fail(Errc::again);
  const auto armed = ucp_worker_arm(worker_->get());
  if (armed == UCS_ERR_BUSY) return fail(Errc::again);
  if (armed != UCS_OK) return fail(error_of(armed, "UCX does not arm its descriptor"));
  return {};
}

ucs_status_t UcxEndpoint::on_active_message(void* self, const void*, std::size_t, void* data,
                                            std::size_t length, const ucp_am_recv_param_t* param) noexcept {
  // A peer of ours sends nothing by rendezvous; the one that does so gets this for its status.
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_ERR_REJECTED;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) == 0)
    return UCS_OK;  // was to be kept (listen): cannot be
  static_cast<UcxEndpoint*>(self)->arrived_.push_back({data, length});
  return UCS_INPROGRESS;
}

ucs_status_t UcxEndpoint::on_get_request(void* self, const void*, std::size_t, void* data, std::size_t length,
                                         const ucp_am_recv_param_t* param) noexcept {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_ERR_REJECTED;
  Bytes bytes(static_cast<const std::byte*>(data), length);
  GetRequest request{};
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0 && take(bytes, request))
    static_cast<UcxEndpoint*>(self)->serve(request, param->reply_ep);
  return UCS_OK;
}

/// Here and not after ucp_worker_progress(): until then UCP may take the way back to the reader away again.
void UcxEndpoint::serve(const GetRequest& request, ucp_ep_h reader) noexcept {
  const auto found = regions_.find(request.region);
  const std::size_t room = found == regions_.end() ? 0 : found->second.size();
  const bool failed = found == regions_.end() || request.length > most_bytes_at_once ||
                      request.offset > room || request.length > room - request.offset;
  const GetReply reply{request.ticket, failed ? 1u : 0u, 0};
  const std::size_t length = failed ? 0 : request.length;
  Flight* flight = flights_.make(this, Flight::Kind::get_reply, nullptr, sizeof reply + length);
  if (flight == nullptr) return;
  std::memcpy(flight->bytes(), &reply, sizeof reply);
  if (length != 0) std::memcpy(flight->bytes() + sizeof reply, found->second.data() + request.offset, length);
  (void)launch(*flight, reader);  // whoever asked and cannot be answered is lost, and knows
}

ucs_status_t UcxEndpoint::on_get_reply(void* self, const void*, std::size_t, void* data, std::size_t length,
                                       const ucp_am_recv_param_t* param) noexcept {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_ERR_REJECTED;
  Bytes bytes(static_cast<const std::byte*>(data), length);
  GetReply reply{};
  if (!take(bytes, reply)) return UCS_OK;
  auto& endpoint = *static_cast<UcxEndpoint*>(self);
  const Open* open = endpoint.tickets_.holder(reply.ticket);
  if (open == nullptr) return UCS_OK;  // canceled meanwhile
  const bool failed = reply.failed != 0 || bytes.size() != open->length;
  if (!failed && !bytes.empty()) std::memcpy(open->into, bytes.data(), bytes.size());
  endpoint.answers_.push_back({reply.ticket, failed});
  return UCS_OK;
}

void UcxEndpoint::on_flight_over(void* request, ucs_status_t status, void* over) noexcept {
  auto& flight = *static_cast<Flight*>(over);
  flight.owner->flights_.ended(flight, status);
  ucp_request_free(request);
}

void UcxEndpoint::sever(Open& open) noexcept {
  if (open.flight != nullptr) open.flight->open = nullptr;
  open.flight = nullptr;
  tickets_.take_back(open);
}

void UcxEndpoint::end(Open& open, Result<void> outcome) noexcept {
  sever(open);
  operations_.end(open, outcome);
}

}  // namespace weft::ucx
