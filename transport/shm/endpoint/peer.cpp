// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/endpoint/peer.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/local_socket.hpp"
#include "transport/shm/endpoint/endpoint.hpp"

namespace weft::shm {

std::string socket_name(const Nonce& nonce) {
  std::string name = "weft-shm-";
  constexpr std::string_view digits = "0123456789abcdef";
  for (const auto byte : nonce) {
    name += digits[std::to_integer<unsigned>(byte) >> 4];
    name += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return name;
}

ShmPeer::~ShmPeer() {
  owner_.remove_peer(*this);
  if (socket_) owner_.unwatch(socket_);
}

Result<void> ShmPeer::connect() {
  if (state_ == State::connected) return {};
  if (state_ == State::lost) return fail(Errc::peer_lost);
  auto connected = try_connect();
  if (connected) {
    state_ = State::connected;
  } else {
    if (connected.error().code == Errc::peer_lost) state_ = State::lost;
    socket_.reset();
  }
  return connected;
}

Result<void> ShmPeer::try_connect() {
  auto socket = base::connect_to(socket_name(address_.nonce), base::Blocking::no);
  if (!socket && socket.error().code == Errc::unreachable)
    return fail(Errc::peer_lost, "no process listens there");
  if (!socket) return fail(socket.error());
  const auto process = same_user_at(*socket);
  if (!process) return fail(Errc::os, process.error().what, process.error().sys);

  // Opened through /proc, so the receiver need not take part.
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(*process), address_.shared_fd);
  Fd shared(::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!shared) {
    if (errno == ENOENT || errno == ESRCH)
      return fail(Errc::peer_lost, "the peer ended while this process connected");
    return fail(Errc::os, "opening a peer's memfd in /proc", errno);
  }
  if (!is_sealed(shared, SharedPages::bytes))
    return fail(Errc::peer_lost, "the process at this address is not an endpoint");
  auto header_page = Window::map(shared.get(), 0, SharedPages::epochs_at, Window::Access::write);
  auto epoch_pages = Window::map(shared.get(), SharedPages::epochs_at,
                                 SharedPages::bytes - SharedPages::epochs_at, Window::Access::read);
  if (!header_page) return fail(header_page.error());
  if (!epoch_pages) return fail(epoch_pages.error());
  const auto& header = *reinterpret_cast<const EndpointHeader*>(header_page->base());
  if (header.layout != EndpointHeader::this_layout || header.nonce != address_.nonce)
    return fail(Errc::peer_lost, "the address belongs to another endpoint");

  auto ring = Memory::create(ring_bytes, Memory::Writers::several);
  if (!ring) return fail(ring.error());
  if (ring->size() != ring_bytes) return fail(Errc::os, "RLIMIT_FSIZE is below the size of a ring", EFBIG);
  auto memory = Window::map(ring->fd(), 0, ring_bytes, Window::Access::write);
  if (!memory) return fail(memory.error());
  auto& words = *::new (static_cast<void*>(memory->base())) RingHeader;
  if (auto sent = send_descriptor(*socket, base::encode_fixed(RingOffer{}), ring->fd()); !sent)
    return fail(sent.error());
  if (auto watched = owner_.watch(*socket, *this); !watched) return watched;

  socket_ = std::move(*socket);
  process_ = *process;
  header_page_ = std::move(*header_page);
  epoch_pages_ = std::move(*epoch_pages);
  memory_ = std::move(*memory);
  writer_.emplace(words, ring_capacity);
  return {};
}

Result<void> ShmPeer::push(std::uint16_t id, const Message& message) noexcept {
  if (auto pushed = writer_->push(id, message); !pushed) {
    if (pushed.error().code == Errc::again) return pushed;
    lose();  // the receiver has damaged the ring
    return fail(Errc::peer_lost);
  }
  if (reinterpret_cast<EndpointHeader*>(header_page_.base())->bell.ring()) nudge(socket_);
  return {};
}

Result<void> ShmPeer::read(const PackedKey& key, std::uint64_t offset, MutableBytes into) noexcept {
  return read_region(process_, reinterpret_cast<const RegionEpoch*>(epoch_pages_.base()), key, offset, into);
}

bool ShmPeer::on_readable() noexcept {
  if (state_ != State::connected || take_nudges(socket_)) return false;
  lose();
  return true;
}

void ShmPeer::lose() noexcept {
  state_ = State::lost;
  owner_.unwatch(socket_);
  socket_.reset();
}

}  // namespace weft::shm
