// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/endpoint.hpp"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

namespace weft::tcp {
namespace {

constexpr std::size_t max_get = std::size_t{4} << 20;

}  // namespace

Result<std::unique_ptr<TcpEndpoint>> TcpEndpoint::open(Bytes key, const std::vector<SocketAddress>& listen_at,
                                                       const Ports& ports, RecordsBy records) {
  auto tls = TlsContext::make(key, records);
  if (!tls) return weft::fail(tls.error());
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return weft::fail(Errc::os, "epoll_create1", errno);
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer) return weft::fail(Errc::os, "timerfd_create", errno);
  std::unique_ptr<TcpEndpoint> self(new TcpEndpoint(std::move(*tls), std::move(epoll), std::move(timer)));

  PackedAddress address;
  if (::getrandom(address.id.data(), address.id.size(), 0) != static_cast<ssize_t>(address.id.size()))
    return weft::fail(Errc::os, "getrandom", errno);
  self->id_ = address.id;
  for (const auto& place : listen_at) {
    auto listener = listen_on(place, ports);
    if (!listener) return weft::fail(listener.error());
    address.places.push_back(listener->place);
    self->listening_.push_back(std::make_unique<Listening>(std::move(listener->socket)));
  }
  self->address_.bytes = base::encode(address);
  self->capabilities_.is_reachable = !listen_at.empty();
  self->pause_listening(false);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &self->timer_source_;
  if (::epoll_ctl(self->epoll_.get(), EPOLL_CTL_ADD, self->timer_.get(), &event) != 0)
    return weft::fail(Errc::os, "epoll_ctl", errno);
  return self;
}

TcpEndpoint::TcpEndpoint(std::unique_ptr<TlsContext> tls, Fd epoll, Fd timer)
    : tls_(std::move(tls)), epoll_(std::move(epoll)), timer_(std::move(timer)) {
  capabilities_ = {.max_inline = most_body_bytes,
                   .max_message = most_body_bytes,
                   .max_header = most_body_bytes,
                   .max_get = max_get,
                   .rma = false,
                   .ordered = true,
                   .wait_fd = true,
                   .detects_loss = true,
                   .seals = true};
}

template <class Which>
void TcpEndpoint::cancel_if(Which&& which) noexcept {
  const auto let_go = [this](transport::Operation& o) { free_ticket(static_cast<TcpOperation&>(o)); };
  gets_.end_if(which, {Errc::canceled}, let_go);
  ended_.end_if(which, {Errc::canceled});
}

TcpEndpoint::~TcpEndpoint() {
  const auto every = [](const transport::Operation&) { return true; };
  // A done() may make links and operations anew: they end in the next round.
  while (!links_.empty()) {
    const auto link = links_.begin()->second;
    links_.erase(links_.begin());
    link->messages.end_if(every, {Errc::canceled});
  }
  cancel_if(every);
  for (const auto& connection : connections_) connection->close();
}

Result<std::unique_ptr<Peer>> TcpEndpoint::reach(const Address& address) {
  const auto packed = base::decode<PackedAddress>(address.bytes);
  if (!packed) return weft::fail(Errc::corrupt, "not the address of a tcp endpoint");
  if (!capabilities_.is_reachable && packed->places.empty())
    return weft::fail(Errc::unreachable,
                      "neither that node nor this one listens (WEFT_PORTS=none): of two nodes one has to");
  auto link = link_to(packed->id);
  if (link->places.empty()) link->places = packed->places;
  if (link->out == nullptr && !link->is_trying && packed->id != id_) {
    link->began = std::chrono::steady_clock::now();
    link->is_trying = true;
    trying_.push_back(link);
    try_next(*link);
  }
  return std::make_unique<TcpPeer>(*this, std::move(link));
}

TcpPeer::~TcpPeer() {
  owner_.remove_peer(*this);
}

void TcpEndpoint::remove_peer(const TcpPeer& peer) noexcept {
  const auto of_peer = [&peer](const transport::Operation& o) { return o.peer == &peer; };
  peer.link->messages.end_if(of_peer, {Errc::canceled});
  cancel_if(of_peer);
}

Result<std::unique_ptr<MemoryRegion>> TcpEndpoint::expose(std::span<std::byte> memory) {
  if (memory.empty()) return weft::fail(Errc::invalid, "no memory to expose");
  auto region =
      std::make_unique<TcpRegion>(*this, memory, PackedKey{.endpoint = id_, .region = ++last_region_});
  regions_.emplace(region->number, memory);
  return region;
}

TcpRegion::~TcpRegion() {
  owner_.remove_region(*this);
}

void TcpEndpoint::remove_region(const TcpRegion& region) noexcept {
  regions_.erase(region.number);
  cancel_if([&region](const transport::Operation& o) { return o.region == &region; });
}

Result<std::unique_ptr<RemoteKey>> TcpEndpoint::import_key(Peer& peer, Bytes packed) {
  auto& owner = static_cast<TcpPeer&>(peer);
  const auto key = base::decode<PackedKey>(packed);
  if (!key || key->endpoint != owner.link->id)
    return weft::fail(Errc::corrupt, "not the key of a region of that peer");
  return std::make_unique<TcpKey>(owner, key->region);
}

void TcpEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

/// Errors: again, peer_lost, no_memory.
Result<void> TcpEndpoint::queue_frame(Link& link, const FrameHeader& header, Bytes first, Bytes second) {
  if (link.is_lost) return weft::fail(Errc::peer_lost, link.why);
  if (link.out != nullptr) {
    if (link.out->backlog() > most_backlog) return weft::fail(Errc::again);
    if (auto written = link.out->write(header, first, second); !written) {
      fail(*link.out, written.error().what);  // half of it may have been sealed
      return weft::fail(Errc::peer_lost, link.why);
    }
    flush(*link.out);
    return {};
  }
  auto& to = link.id == id_ ? to_self_ : link.waiting;
  if (to.size() > most_backlog) return weft::fail(Errc::again);
  const auto fixed = base::encode_fixed(header);
  to.reserve(to.size() + fixed.size() + first.size() + second.size());
  to.insert(to.end(), fixed.begin(), fixed.end());
  to.insert(to.end(), first.begin(), first.end());
  to.insert(to.end(), second.begin(), second.end());
  return {};
}

Result<void> TcpEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  const auto& peer = static_cast<TcpPeer&>(to);
  const auto bytes = message.header.size() + message.payload.size();
  if (message.header.size() > most_body_bytes || bytes > most_body_bytes)
    return weft::fail(Errc::invalid, "the message is larger than max_message, or its header than max_header");
  const std::shared_ptr<Link> link = peer.link;
  const FrameHeader header{.body_bytes = static_cast<std::uint32_t>(bytes),
                           .kind = FrameKind::message,
                           .id = id,
                           .number = message.header.size()};
  if (auto queued = queue_frame(*link, header, message.header, message.payload); !queued) return queued;
  if (link->id == id_ || (link->out != nullptr && link->out->backlog() == 0)) {
    ended_.open<TcpOperation>(completion, peer, nullptr);
    return {};
  }
  auto& operation = link->messages.open<TcpOperation>(completion, peer, nullptr);
  operation.ends_at = link->out == nullptr ? ~std::uint64_t{0} : link->out->sealed_bytes();
  return {};
}

Result<void> TcpEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const TcpKey&>(from.key);
  const auto& region = static_cast<const TcpRegion&>(into.region);
  const auto room = region.memory.size();
  if (into.length > max_get || into.offset > room || into.length > room - into.offset)
    return weft::fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (gets_.size() >= most_gets) return weft::fail(Errc::again);
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const auto at = free_slots_.back();
  const std::uint64_t ticket = (std::uint64_t{slots_[at].use} << 32) | at;
  const GetRequest request{
      .region = key.region, .offset = from.offset, .length = static_cast<std::uint32_t>(into.length)};
  const FrameHeader header{.body_bytes = static_cast<std::uint32_t>(base::fixed_bytes<GetRequest>),
                           .kind = FrameKind::get,
                           .number = ticket};
  if (auto queued = queue_frame(*key.peer.link, header, base::encode_fixed(request), {}); !queued)
    return queued;
  free_slots_.pop_back();
  auto& operation = gets_.open<TcpOperation>(completion, key.peer, &region);
  operation.ticket = ticket;
  operation.into = region.memory.data() + into.offset;
  operation.missing = into.length;
  slots_[at].operation = &operation;
  return {};
}

TcpOperation* TcpEndpoint::find_get(std::uint64_t ticket) noexcept {
  const auto at = static_cast<std::uint32_t>(ticket);
  if (at >= slots_.size() || slots_[at].use != ticket >> 32) return nullptr;
  return slots_[at].operation;
}

void TcpEndpoint::free_ticket(const TcpOperation& operation) noexcept {
  const auto at = static_cast<std::uint32_t>(operation.ticket);
  slots_[at].operation = nullptr;
  ++slots_[at].use;
  free_slots_.push_back(at);  // its memory was there before
}

void TcpEndpoint::finish_get(TcpOperation& operation, Result<void> outcome) noexcept {
  free_ticket(operation);
  operation.has_failed = !outcome;
  if (!outcome) operation.why = outcome.error();
  gets_.move(operation, ended_);
}

std::size_t TcpEndpoint::progress() noexcept {
  std::size_t handled = poll_sockets();
  if (!to_self_.empty()) handled += deliver_to_self();
  handled += end_operations();
  if (std::exchange(some_closed_, false))
    std::erase_if(connections_, [](const auto& one) { return one->state() == Connection::State::closed; });
  return handled;
}

std::size_t TcpEndpoint::poll_sockets() noexcept {
  std::array<epoll_event, 64> events;
  std::size_t handled = 0;
  bool is_due = false;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    auto& source = *static_cast<EventSource*>(event.data.ptr);
    switch (source.kind) {
      case EventSource::Kind::listener:
        static_cast<Listening&>(source).is_ready = true;
        break;
      case EventSource::Kind::connection:
        handled += on_ready(static_cast<Connection&>(source), event.events);
        break;
      case EventSource::Kind::timer:
        is_due = true;
        break;
    }
  }
  // Afterwards: what has come through a connection is read before it is too late, or another one takes its
  // place.
  if (is_due) on_timer();
  for (const auto& listening : listening_)
    if (std::exchange(listening->is_ready, false)) handled += accept_some(*listening);
  return handled;
}

/// Ends the operations that are over now; operations that a done() starts belong to the next call.
std::size_t TcpEndpoint::end_operations() noexcept {
  std::size_t ended = 0;
  for (auto left = ended_.size(); left != 0 && ended_.first() != nullptr; --left, ++ended) {
    auto& operation = static_cast<TcpOperation&>(*ended_.first());
    const auto why = operation.why;
    ended_.end(operation, operation.has_failed ? Result<void>(weft::fail(why)) : Result<void>());
  }
  return ended;
}

Result<void> TcpEndpoint::arm() noexcept {
  // Bytes in sockets keep the descriptor readable by themselves.
  if (ended_.size() != 0 || !to_self_.empty()) return weft::fail(Errc::again);
  return {};
}

}  // namespace weft::tcp
