// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace weft::ofi {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t largest_message = std::size_t{64} << 10;
// Measured over TCP: pieces of 1 MiB, four at a time, beat smaller ones, more of them, and one read of everything.
constexpr std::size_t largest_get = std::size_t{1} << 20;
constexpr std::size_t most_reading = 4 * largest_get;  // bytes that bounce, of one peer
constexpr std::size_t direct_above = 8192;  // below, a copy is cheaper than to wait when it is canceled

constexpr auto probe_every = 500ms;
constexpr auto offer_every = 1ms;   // what the library has refused; nothing of it says when it would take it
constexpr auto check_every = 10ms;  // probes under way

}  // namespace

Result<std::unique_ptr<Endpoint>> OfiEndpoint::make(Provider provider) {
  std::unique_ptr<OfiEndpoint> endpoint(new OfiEndpoint(std::move(provider)));
  if (const auto opened = endpoint->open(); !opened) return fail(opened.error());
  return endpoint;
}

Result<void> OfiEndpoint::open() {
  fi_info& info = *provider_.info;
  // Asked for is what we use, not what the provider could do besides.
  info.tx_attr->msg_order &= FI_ORDER_SAS;
  info.rx_attr->msg_order &= FI_ORDER_SAS;
  info.tx_attr->comp_order = info.rx_attr->comp_order = FI_ORDER_NONE;
  info.tx_attr->op_flags = info.rx_attr->op_flags = 0;

  fid_fabric* fabric = nullptr;
  if (const int code = fi_fabric(info.fabric_attr, &fabric, nullptr); code != 0)
    return failed("fi_fabric", code);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric, &info, &domain, nullptr); code != 0)
    return failed("fi_domain", code);
  domain_.reset(domain);
  fi_av_attr attributes{};
  attributes.type = info.domain_attr->av_type;
  fid_av* addresses = nullptr;
  if (const int code = fi_av_open(domain, &attributes, &addresses, nullptr); code != 0)
    return failed("fi_av_open", code);
  addresses_.reset(addresses);
  auto queue = CompletionQueue::make(*fabric, *domain, info);
  if (!queue) return fail(queue.error());
  queue_ = std::move(*queue);
  fid_ep* endpoint = nullptr;
  if (const int code = fi_endpoint(domain, &info, &endpoint, nullptr); code != 0)
    return failed("fi_endpoint", code);
  endpoint_.reset(endpoint);
  if (const int code = fi_ep_bind(endpoint, &addresses->fid, 0); code != 0) return failed("fi_ep_bind", code);
  if (const int code = fi_ep_bind(endpoint, &queue_.get()->fid, FI_TRANSMIT | FI_RECV); code != 0)
    return failed("fi_ep_bind", code);
  if (const int code = fi_enable(endpoint); code != 0) return failed("fi_enable", code);

  if (const auto found = find_address(); !found) return found;
  set_capabilities();
  registrar_ = Registrar(*domain, *endpoint, info);
  most_posted_ = static_cast<std::uint32_t>(std::max<std::size_t>(1, info.tx_attr->size / 4));
  routes_.begin(*addresses);
  can_probe_ = Probes::fits(info);
  const auto sent = capabilities_.max_message + sizeof(Head);
  pool_.begin(registrar_, sent,
              provider_.rma ? std::min(direct_above, capabilities_.max_get) : capabilities_.max_get);
  return receives_.begin(*endpoint, registrar_, info, sent);
}

Result<void> OfiEndpoint::find_address() {
  char name[Address::max_bytes];
  std::size_t length = sizeof name;
  if (const int code = fi_getname(&endpoint_->fid, name, &length); code != 0)
    return failed("fi_getname", code);
  std::random_device source;
  owner_ = std::uint64_t{source()} << 32 | source();
  kind_ = kind_of(*provider_.info);
  address_ = pack({std::string(name, length), owner_}, kind_);
  if (address_.bytes.size() > Address::max_bytes)
    return fail(Errc::os, "the provider's addresses are too long");
  return {};
}

void OfiEndpoint::set_capabilities() {
  const fi_info& info = *provider_.info;
  const std::size_t most = info.ep_attr->max_msg_size;
  capabilities_.max_message = std::min(largest_message, most - sizeof(Head));
  capabilities_.max_inline = capabilities_.max_message;
  capabilities_.max_header = capabilities_.max_message;
  capabilities_.max_get = std::min(largest_get, most);
  capabilities_.rma = provider_.rma;
  capabilities_.ordered = (info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAS) != 0;
  capabilities_.wait_fd = queue_.wait_fd().has_value();
  capabilities_.backs_memory = (info.domain_attr->mr_mode & FI_MR_ALLOCATED) != 0;
  capabilities_.detects_loss = provider_.detects_loss;
}

OfiEndpoint::~OfiEndpoint() {
  end_if([](const transport::Operation&) { return true; }, {Errc::canceled});
  // What is still on its way is discarded with it; from here on nobody touches the carriers and buffers.
  endpoint_.reset();
}

Result<std::unique_ptr<Peer>> OfiEndpoint::reach(const Address& address) {
  const auto unpacked = unpack(address, kind_);
  if (!unpacked) return fail(unpacked.error());
  const auto route = routes_.enter(*unpacked);
  if (!route) return fail(route.error());
  return std::make_unique<OfiPeer>(*this, **route, unpacked->owner);
}

Result<std::unique_ptr<MemoryRegion>> OfiEndpoint::expose(std::span<std::byte> memory) {
  return OfiRegion::make(*this, registrar_, memory);
}

Result<std::unique_ptr<RemoteKey>> OfiEndpoint::import_key(Peer& peer, Bytes packed) {
  return OfiKey::make(registrar_, static_cast<OfiPeer&>(peer), packed);
}

void OfiEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

Result<void> OfiEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  const std::size_t bytes = message.header.size() + message.payload.size();
  if (bytes > capabilities_.max_message || message.header.size() > capabilities_.max_header)
    return fail(Errc::invalid, "the message is larger than max_message");
  const auto& peer = static_cast<const OfiPeer&>(to);
  if (peer.is_lost()) return fail(Errc::peer_lost);
  Carrier* carrier = pool_.take(sizeof(Head) + bytes);
  if (carrier == nullptr) return fail(Errc::again);
  const Head head{
      .id = id, .header_bytes = static_cast<std::uint32_t>(message.header.size()), .to = peer.owner()};
  std::byte* at = carrier->bytes;
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  if (!message.header.empty()) std::memcpy(at, message.header.data(), message.header.size());
  at += message.header.size();
  if (!message.payload.empty()) std::memcpy(at, message.payload.data(), message.payload.size());
  carrier->kind = Context::Kind::send;
  carrier->length = static_cast<std::uint32_t>(sizeof head + bytes);
  if (const auto launched = launch(*carrier, peer.route()); !launched) return launched;
  open_on(*carrier, peer, nullptr, completion);
  return {};
}

Result<void> OfiEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const OfiKey&>(from.key);
  const auto& region = static_cast<const OfiRegion&>(into.region);
  const auto room = region.memory().size();
  if (into.length > capabilities_.max_get || into.offset > room || into.length > room - into.offset)
    return fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (!key.holds(from.offset, into.length)) return fail(Errc::invalid, "outside of the exposed region");
  if (key.peer().is_lost()) return fail(Errc::peer_lost);
  std::byte* const to = region.memory().data() + into.offset;
  const bool direct = provider_.rma && into.length > direct_above;
  Route& route = key.peer().route();
  // One peer that does not answer is not to keep all there is for reads.
  if (!direct && route.reading + into.length > most_reading) return fail(Errc::again);
  Carrier* carrier = pool_.take(direct ? 0 : into.length);
  if (carrier == nullptr) return fail(Errc::again);
  carrier->kind = Context::Kind::read;
  carrier->direct = direct;
  carrier->length = static_cast<std::uint32_t>(into.length);
  carrier->into = to;
  carrier->into_descriptor = region.descriptor();
  carrier->remote_address = key.address(from.offset);
  carrier->remote_key = key.key();
  carrier->mapped = key.mapped();
  if (open_reads_ == 0) last_probe_ = std::chrono::steady_clock::now();
  if (const auto launched = launch(*carrier, route); !launched) return launched;
  open_on(*carrier, key.peer(), &region, completion);
  ++open_reads_;
  return {};
}

Result<void> OfiEndpoint::launch(Carrier& carrier, Route& route) {
  carrier.route = &route;
  ++route.carriers;
  route.reading += carrier.bounces();
  carrier.next = nullptr;
  if (carrier.kind == Context::Kind::read && carrier.length == 0) {
    events_.push_back({.context = &carrier});
  } else if (route.first != nullptr) {
    route.last = route.last->next = &carrier;
  } else if (const auto code = post(carrier); code == -FI_EAGAIN) {
    // Among others while the library connects: nobody who sends has to know about that.
    route.first = route.last = &carrier;
    if (with_backlog_.empty()) last_probe_ = std::chrono::steady_clock::now();
    with_backlog_.push_back(&route);
  } else if (code != 0) {
    const auto error = to_error(static_cast<int>(-code), 0);
    if (error.code == Errc::peer_lost) lose(route);
    release(carrier);
    return fail(error);
  }
  return {};
}

void OfiEndpoint::open_on(Carrier& carrier, const OfiPeer& peer, const MemoryRegion* region,
                          Completion& completion) noexcept {
  Open& open = operations_.open<Open>(completion, peer, region);
  open.carrier = &carrier;
  carrier.open = &open;
}

ssize_t OfiEndpoint::post(Carrier& carrier) noexcept {
  // One that does not answer is not to fill the queue that all share.
  if (carrier.route->posted >= most_posted_) return -FI_EAGAIN;
  Context* context = &carrier;
  ssize_t code;
  if (carrier.kind == Context::Kind::send)
    code = fi_send(endpoint_.get(), carrier.bytes, carrier.length, carrier.descriptor, carrier.route->to,
                   context);
  else
    code = fi_read(endpoint_.get(), carrier.direct ? carrier.into : carrier.bytes, carrier.length,
                   carrier.direct ? carrier.into_descriptor : carrier.descriptor, carrier.route->to,
                   carrier.remote_address, carrier.remote_key, context);
  carrier.posted = code == 0;
  if (carrier.posted) ++carrier.route->posted;
  return code;
}

void OfiEndpoint::post_backlogs() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < with_backlog_.size(); ++i) {
    Route& route = *with_backlog_[i];
    while (route.first != nullptr) {
      Carrier& carrier = *route.first;
      const auto code = route.lost || carrier.open == nullptr ? -FI_ECANCELED : post(carrier);
      if (code == -FI_EAGAIN) break;
      route.first = carrier.next;
      carrier.next = nullptr;
      if (code != 0) events_.push_back({.context = &carrier, .error = static_cast<int>(-code)});
    }
    if (route.first != nullptr) with_backlog_[kept++] = &route;
  }
  with_backlog_.resize(kept);
}

void OfiEndpoint::read_queue() noexcept {
  auto at = events_.size();
  for (queue_.read(events_); at < events_.size(); ++at)
    if (Context* context = events_[at].context; context != nullptr && context->kind == Context::Kind::read)
      static_cast<Carrier*>(context)->landed = true;
}

std::size_t OfiEndpoint::progress() noexcept {
  if (std::exchange(armed_, false)) queue_.after_sleep();
  read_queue();
  // What a handler or done() adds waits for the next call; what it takes away leaves its event behind.
  const std::size_t count = events_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Event event = events_[i];
    handle(event);
  }
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count));
  if (!receives_.all_posted()) static_cast<void>(receives_.post());
  if (!with_backlog_.empty()) post_backlogs();
  if (may_wait_in_vain()) probe_silent();
  if (!probes_.is_idle()) end_probes();
  if (!some_lost_) return count;
  end_lost();
  return count + 1;
}

Result<void> OfiEndpoint::arm() noexcept {
  if (!events_.empty() || some_lost_) return fail(Errc::again);
  auto at_most = 0ms;
  if (!with_backlog_.empty() || !receives_.all_posted())
    at_most = offer_every;
  else if (!probes_.is_idle())
    at_most = check_every;
  else if (may_wait_in_vain())
    at_most = probe_every;
  const auto armed = queue_.arm(at_most);
  armed_ = armed.has_value();
  return armed;
}

void OfiEndpoint::handle(const Event& event) noexcept {
  if (event.context == nullptr) return;
  if (event.context->kind == Context::Kind::receive) {
    if (event.error == 0) handle_message(event);
    return receives_.done_with(event);
  }
  auto& carrier = *static_cast<Carrier*>(event.context);
  Open* open = carrier.open;
  Result<void> outcome;
  if (event.error != 0) {
    const auto error = to_error(event.error, event.provider_error);
    if (error.code == Errc::peer_lost && open != nullptr) lose(*carrier.route);
    outcome = fail(error);
  } else if (open != nullptr && carrier.bounces() != 0) {
    std::memcpy(carrier.into, carrier.bytes, carrier.length);
  }
  if (open != nullptr) detach(*open);
  release(carrier);
  if (open != nullptr) operations_.end(*open, outcome);
}

void OfiEndpoint::handle_message(const Event& event) noexcept {
  const Bytes all = receives_.message_of(event);
  Head head;
  if (all.size() < sizeof head) return;
  std::memcpy(&head, all.data(), sizeof head);
  const Bytes rest = all.subspan(sizeof head);
  if (head.magic != Head::ours || head.to != owner_) return;
  if (handler_ == nullptr || head.header_bytes > rest.size()) return;
  handler_(handler_self_, head.id, {rest.first(head.header_bytes), rest.subspan(head.header_bytes)});
}

void OfiEndpoint::release(Carrier& carrier) noexcept {
  Route& route = *carrier.route;
  route.reading -= carrier.bounces();
  if (carrier.posted) --route.posted;
  pool_.put(carrier);
  --route.carriers;
  routes_.release_if_unused(route);
}

/// The carrier that comes later finds nobody.
void OfiEndpoint::detach(const Open& open) noexcept {
  Carrier& carrier = *open.carrier;
  while (carrier.direct && carrier.posted && !carrier.landed) read_queue();
  carrier.open = nullptr;
  if (carrier.kind == Context::Kind::read) --open_reads_;
}

/// Asks after those that we wait for: who has to answer a read, and whom the library sends nothing.
void OfiEndpoint::probe_silent() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_probe_ < probe_every) return;
  last_probe_ = now;
  operations_.each([this](const transport::Operation& operation) {
    if (operation.region != nullptr) probes_.start(static_cast<const OfiPeer*>(operation.peer)->route());
  });
  for (Route* route : with_backlog_) probes_.start(*route);
}

void OfiEndpoint::end_probes() noexcept {
  for (auto verdict = probes_.check(); verdict.route != nullptr; verdict = probes_.check()) {
    if (verdict.error != 0) lose(*verdict.route);
    --verdict.route->carriers;
    routes_.release_if_unused(*verdict.route);
  }
}

void OfiEndpoint::lose(Route& route) noexcept {
  route.lost = true;
  some_lost_ = true;
}

void OfiEndpoint::end_lost() noexcept {
  some_lost_ = false;
  end_if([](const transport::Operation& o) { return static_cast<const OfiPeer*>(o.peer)->is_lost(); },
         {Errc::peer_lost});
}

template <class Which>
void OfiEndpoint::end_if(Which&& which, const Error& why) noexcept {
  operations_.end_if(which, why,
                     [this](transport::Operation& operation) { detach(static_cast<Open&>(operation)); });
}

void OfiEndpoint::forget(OfiPeer& peer) noexcept {
  end_if([&](const transport::Operation& o) { return o.peer == &peer; }, {Errc::canceled});
  --peer.route().peers;
  // Its part of the backlog leaves with the next progress(), and the route with that.
  routes_.release_if_unused(peer.route());
}

void OfiEndpoint::forget(const OfiRegion& region) noexcept {
  end_if([&](const transport::Operation& o) { return o.region == &region; }, {Errc::canceled});
}

}  // namespace weft::ofi
