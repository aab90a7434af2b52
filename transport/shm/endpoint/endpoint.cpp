// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/endpoint/endpoint.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/local_socket.hpp"

namespace weft::shm {
namespace {

constexpr unsigned poll_every =
    32;  // calls of progress() between two polls of the sockets, which cost a system call
constexpr std::size_t max_get = std::size_t{4} << 20;  // copied inside get(): about a millisecond

}  // namespace

bool is_sealed(const Fd& memfd, std::size_t bytes) noexcept {
  struct stat status {};
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(memfd.get(), &status) == 0 &&
         static_cast<std::size_t>(status.st_size) == bytes;
}

Result<std::unique_ptr<Endpoint>> ShmTransport::open(const Opening& opening) {
  if (!opening.options.empty()) return fail(Errc::not_found, "the shm transport has no providers");
  return ShmEndpoint::open();
}

Result<std::unique_ptr<ShmEndpoint>> ShmEndpoint::open() {
  if (auto allowed = can_read_processes(); !allowed) return fail(allowed.error());
  Nonce nonce;
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    return fail(Errc::os, "getrandom", errno);
  auto shared = Memory::create(SharedPages::bytes, Memory::Writers::several);
  if (!shared) return fail(shared.error());
  if (shared->size() != SharedPages::bytes) return fail(Errc::os, "RLIMIT_FSIZE is too low", EFBIG);
  auto listener = base::listen_at(socket_name(nonce));
  if (!listener) return fail(listener.error());
  Fd retry(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!retry) return fail(Errc::os, "timerfd_create", errno);
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(Errc::os, "epoll_create1", errno);
  Fd self_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!self_event) return fail(Errc::os, "eventfd", errno);
  std::unique_ptr<ShmEndpoint> endpoint(new ShmEndpoint(std::move(*shared), std::move(*listener),
                                                        std::move(retry), std::move(epoll),
                                                        std::move(self_event), nonce));
  if (auto watched = endpoint->watch(endpoint->listener_, endpoint->listener_source_); !watched)
    return fail(watched.error());
  if (auto watched = endpoint->watch(endpoint->retry_, endpoint->retry_source_); !watched)
    return fail(watched.error());
  if (auto watched = endpoint->watch(endpoint->self_event_, endpoint->self_source_); !watched)
    return fail(watched.error());
  return endpoint;
}

ShmEndpoint::ShmEndpoint(Memory shared, Fd listener, Fd retry, Fd epoll, Fd self_event, const Nonce& nonce)
    : shared_(std::move(shared)),
      listener_(std::move(listener)),
      retry_(std::move(retry)),
      epoll_(std::move(epoll)),
      self_event_(std::move(self_event)),
      nonce_(nonce),
      regions_(reinterpret_cast<RegionEpoch*>(shared_.base() + SharedPages::epochs_at)),
      message_(ring_capacity / 4) {
  ::new (static_cast<void*>(shared_.base())) EndpointHeader;
  header().nonce = nonce;
  capabilities_ = {.max_inline = message_.size(),
                   .max_message = message_.size(),
                   .max_header = message_.size() / 2,
                   .max_get = max_get,
                   .rma = true,
                   .ordered = true,
                   .wait_fd = true,
                   .detects_loss = true,
                   .guards_reads = true};  // the kernel copies, between processes of the same user
  address_.bytes = base::encode(PackedAddress{.shared_fd = shared_.fd(), .nonce = nonce});
}

ShmEndpoint::~ShmEndpoint() {
  cancel_if([](const transport::Operation&) { return true; });
}

Result<std::unique_ptr<Peer>> ShmEndpoint::reach(const Address& address) {
  const auto packed = base::decode<PackedAddress>(address.bytes);
  if (!packed) return fail(Errc::corrupt, "not the address of a shm endpoint");
  auto peer = std::make_unique<ShmPeer>(*this, *packed);
  if (auto connected = peer->connect(); !connected && connected.error().code == Errc::os)
    return fail(connected.error());
  return peer;
}

Result<std::unique_ptr<MemoryRegion>> ShmEndpoint::expose(std::span<std::byte> memory) {
  if (memory.empty()) return fail(Errc::invalid, "no memory to expose");
  const auto entry = regions_.allocate();
  if (!entry) return fail(entry.error());
  return std::make_unique<ShmRegion>(*this, memory, *entry, nonce_);
}

Result<std::unique_ptr<RemoteKey>> ShmEndpoint::import_key(Peer& peer, Bytes packed) {
  const auto key = base::decode<PackedKey>(packed);
  auto& owner = static_cast<ShmPeer&>(peer);
  if (!key || !owner.belongs_to(key->endpoint))
    return fail(Errc::corrupt, "not the key of a region of that peer");
  return std::make_unique<ShmKey>(owner, *key);
}

void ShmEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

Result<void> ShmEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  auto& peer = static_cast<ShmPeer&>(to);
  const auto most = capabilities_.max_message;
  if (message.header.size() > capabilities_.max_header ||
      message.payload.size() > most - message.header.size())
    return fail(Errc::invalid, "the message is larger than max_message, or its header than max_header");
  if (auto connected = peer.connect(); !connected) return connected;
  if (auto pushed = peer.push(id, message); !pushed) {
    if (pushed.error().code == Errc::again) wait_for_room(peer);
    return pushed;
  }
  start(completion, peer, nullptr);
  return {};
}

Result<void> ShmEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const ShmKey&>(from.key);
  const auto& region = static_cast<const ShmRegion&>(into.region);
  const auto room = region.memory().size();
  if (into.length > capabilities_.max_get || into.offset > room || into.length > room - into.offset)
    return fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (auto connected = key.peer.connect(); !connected) return connected;
  ShmOperation& operation = start(completion, key.peer, &region);
  has_new_gets_ = true;
  if (into.length == 0) return {};
  const auto read = key.peer.read(key.packed, from.offset, region.memory().subspan(into.offset, into.length));
  if (!read) {
    operation.failed = true;
    operation.why = read.error();
  }
  return {};
}

std::size_t ShmEndpoint::progress() noexcept {
  std::size_t handled = 0;
  const auto last = started_;  // operations that handlers and done() start belong to the next call
  bool poll = std::exchange(has_new_gets_, false);  // E2
  if (std::exchange(armed_, false)) {
    header().bell.awake();
    poll = true;
  }
  if (poll || ++calls_ >= poll_every) {
    calls_ = 0;
    handled += poll_sockets();
  }
  if (!waiting_for_room_.empty()) handled += remove_unblocked();
  handled += receive();
  handled += end_operations(last);
  return handled;
}

Result<void> ShmEndpoint::arm() noexcept {
  if (operations_.size() != 0) return fail(Errc::again);
  header().bell.asleep();  // E1
  for (auto* peer : waiting_for_room_) peer->ring().want_room();
  const auto has_message = [](const std::unique_ptr<Incoming>& from) {
    return from->ended || (from->ring && !from->ring->is_empty());
  };
  const auto has_room = [](ShmPeer* peer) { return peer->is_lost() || peer->ring().has_room_now(); };
  const bool waits = (handler_ != nullptr && std::any_of(incoming_.begin(), incoming_.end(), has_message)) ||
                     std::any_of(waiting_for_room_.begin(), waiting_for_room_.end(), has_room);
  if (waits) {
    header().bell.awake();
    return fail(Errc::again);
  }
  armed_ = true;
  return {};
}

Result<void> ShmEndpoint::watch(const Fd& socket, EventSource& as) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.ptr = &as;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0)
    return fail(Errc::os, "epoll_ctl", errno);
  return {};
}

/// Called before the socket is closed: a child between fork and exec holds a copy, which would keep it in the
/// epoll set.
void ShmEndpoint::unwatch(const Fd& socket) noexcept {
  if (socket) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
}

void ShmEndpoint::remove_peer(ShmPeer& peer) noexcept {
  std::erase(waiting_for_room_, &peer);
  cancel_if([&peer](const transport::Operation& o) { return o.peer == &peer; });
}

void ShmEndpoint::wait_for_room(ShmPeer& peer) {
  if (!std::exchange(peer.waits_for_room, true)) waiting_for_room_.push_back(&peer);
  if (!armed_) return;
  peer.ring().want_room();
  if (peer.ring().has_room_now()) wake_self();
}

void ShmEndpoint::wake_self() noexcept {
  ::eventfd_write(self_event_.get(), 1);
}

ShmEndpoint::ShmOperation& ShmEndpoint::start(Completion& completion, const Peer& peer,
                                              const MemoryRegion* region) {
  ShmOperation& operation = operations_.open<ShmOperation>(completion, peer, region);
  operation.number = ++started_;
  if (armed_) wake_self();  // progress() must call its done()
  return operation;
}

std::size_t ShmEndpoint::poll_sockets() noexcept {
  std::array<epoll_event, 64> events;
  std::size_t handled = 0;
  bool is_called = false;  // at its listening socket
  for (int pass = 0; pass < 64; ++pass) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      auto& watched = *static_cast<EventSource*>(events[static_cast<std::size_t>(i)].data.ptr);
      switch (watched.kind) {
        case EventSource::Kind::listener:
          is_called = true;
          break;
        case EventSource::Kind::retry:
          std::uint64_t expirations;
          (void)!::read(retry_.get(), &expirations, sizeof expirations);
          go_on_accepting();
          break;
        case EventSource::Kind::incoming:
          on_readable(static_cast<Incoming&>(watched));
          break;
        case EventSource::Kind::peer:
          handled += static_cast<ShmPeer&>(watched).on_readable();
          break;
        case EventSource::Kind::self:
          eventfd_t times;
          ::eventfd_read(self_event_.get(), &times);
          break;
      }
    }
    if (count < static_cast<int>(events.size())) break;  // a full batch: there may be more, and E2 needs all
  }
  if (is_called) handled += accept_some();
  return handled;
}

/// The listener stays readable, and would have this process turn for nothing.
void ShmEndpoint::pause_accepting() noexcept {
  unwatch(listener_);
  itimerspec after{};
  after.it_value.tv_nsec = std::chrono::nanoseconds(base::shortage_pause).count();
  ::timerfd_settime(retry_.get(), 0, &after, nullptr);
}

void ShmEndpoint::go_on_accepting() noexcept {
  for (const auto& incoming : incoming_)
    if (std::exchange(incoming->is_paused, false) && !watch(incoming->socket, *incoming))
      close_incoming(*incoming);
  if (!watch(listener_, listener_source_)) pause_accepting();
}

/// E4.
std::size_t ShmEndpoint::accept_some() noexcept {
  std::size_t accepted = 0;
  for (int i = 0; i < most_accepts; ++i) {
    auto socket = accept_from(listener_);
    if (!socket) {
      if (base::is_shortage(socket.error().sys)) pause_accepting();
      break;
    }
    if (!same_user_at(*socket)) continue;  // a process of another user: closed here
    try {
      incoming_.push_back(std::make_unique<Incoming>(std::move(*socket)));
    } catch (const std::bad_alloc&) {
      continue;  // out of memory: the sender loses its peer
    }
    Incoming& incoming = *incoming_.back();
    if (watch(incoming.socket, incoming))
      accept_ring(incoming);
    else
      close_incoming(incoming);
    ++accepted;
  }
  return accepted;
}

/// Maps the ring that the sender offers. Trusts only what the kernel reports about the descriptor.
void ShmEndpoint::accept_ring(Incoming& incoming) noexcept {
  std::array<std::byte, base::fixed_bytes<RingOffer>> offer;
  auto memfd = receive_descriptor(incoming.socket, offer);
  if (!memfd && memfd.error().code == Errc::again) return;
  if (!memfd && memfd.error().code == Errc::no_space) {
    unwatch(incoming.socket);
    incoming.is_paused = true;
    return pause_accepting();
  }
  if (!memfd || !base::decode<RingOffer>(offer) || !is_sealed(*memfd, ring_bytes))
    return close_incoming(incoming);
  auto memory = Window::map(memfd->get(), 0, ring_bytes, Window::Access::write);
  if (!memory) return close_incoming(incoming);
  incoming.memory = std::move(*memory);
  incoming.ring.emplace(*reinterpret_cast<RingHeader*>(incoming.memory.base()), ring_capacity);
}

void ShmEndpoint::on_readable(Incoming& incoming) noexcept {
  if (!incoming.ring && !incoming.ended) return accept_ring(incoming);
  if (!take_nudges(incoming.socket)) close_incoming(incoming);
}

/// receive() still reads what is in the ring, and drops the connection when the ring is empty.
void ShmEndpoint::close_incoming(Incoming& incoming) noexcept {
  incoming.ended = true;
  unwatch(incoming.socket);
  incoming.socket.reset();
}

std::size_t ShmEndpoint::remove_unblocked() noexcept {
  return std::erase_if(waiting_for_room_, [](ShmPeer* peer) {
    if (!peer->is_lost() && !peer->ring().has_room_now()) return false;
    peer->ring().have_room();
    peer->waits_for_room = false;
    return true;
  });
}

std::size_t ShmEndpoint::receive() noexcept {
  if (handler_ == nullptr) return 0;  // messages wait in their rings
  std::size_t handled = 0;
  bool some_ended = false;
  // Handlers cannot change the list: only poll_sockets() does.
  for (const auto& incoming : incoming_) {
    some_ended = some_ended || incoming->ended;
    if (!incoming->ring || incoming->ring->is_empty()) continue;
    const auto count = incoming->ring->drain(
        message_, [this](std::uint16_t id, const Message& message) { handler_(handler_self_, id, message); });
    if (!count) {
      incoming->ring.reset();
      close_incoming(*incoming);
      some_ended = true;
      continue;
    }
    handled += *count;
    if (incoming->ring->ring()) nudge(incoming->socket);
  }
  if (some_ended)
    std::erase_if(incoming_,
                  [](const auto& from) { return from->ended && (!from->ring || from->ring->is_empty()); });
  return handled;
}

std::size_t ShmEndpoint::end_operations(std::uint64_t last) noexcept {
  std::size_t ended = 0;
  for (auto* first = operations_.first(); first != nullptr; first = operations_.first()) {
    const auto& operation = static_cast<const ShmOperation&>(*first);
    if (operation.number > last) break;
    Result<void> outcome;
    if (static_cast<const ShmPeer*>(operation.peer)->is_lost())
      outcome = fail(Errc::peer_lost);
    else if (operation.failed)
      outcome = fail(operation.why);
    operations_.end(*first, outcome);
    ++ended;
  }
  return ended;
}

}  // namespace weft::shm
