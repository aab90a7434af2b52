// SPDX-License-Identifier: BSD-3-Clause
// Endpoints on the loopback interface, and sockets of processes that do not have their key.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <string>

#include "transport/tcp/endpoint.hpp"

namespace weft::tcp {

using namespace std::chrono_literals;

inline SocketAddress loopback(std::uint16_t port = 0) {
  SocketAddress out;
  out.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  out.port = port;
  return out;
}

struct Sent : Completion {
  bool ended = false, failed = false;
  Errc code{};
  Sent() {
    done = [](Completion& self, Result<void> outcome) noexcept {
      auto& sent = static_cast<Sent&>(self);
      sent.ended = true;
      sent.failed = !outcome;
      if (!outcome) sent.code = outcome.error().code;
    };
  }
};

struct Station {
  std::unique_ptr<TcpEndpoint> endpoint;
  std::vector<std::string> heard;

  explicit Station(bool listens = true, unsigned key_seed = 7, RecordsBy records = RecordsBy::weft) {
    const std::vector<std::byte> key(32, static_cast<std::byte>(key_seed));
    std::vector<SocketAddress> places;
    if (listens) places.push_back(loopback());
    auto opened = TcpEndpoint::open(key, places, {}, records);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().what);
    if (!opened) return;
    endpoint = std::move(*opened);
    endpoint->on_message(
        [](void* self, std::uint16_t, const Message& message) noexcept {
          static_cast<Station*>(self)->heard.emplace_back(as_text(message.payload));
        },
        this);
  }
  PackedAddress address() const { return *base::decode<PackedAddress>(endpoint->address().bytes); }
  std::uint16_t port() const { return address().places.at(0).port; }
  std::unique_ptr<Peer> reach(const Station& other) {
    return std::move(*endpoint->reach(other.endpoint->address()));
  }
  Result<void> say(Peer& to, std::string_view text, Sent& sent) {
    return endpoint->send(to, 1, {{}, as_bytes(text)}, sent);
  }
};

/// Lets the stations progress until `done`; false: not within the watchdog's time.
inline bool until(std::initializer_list<Station*> stations, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!done()) {
    for (auto* station : stations) station->endpoint->progress();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

/// A socket that is connected to a port, without a key.
inline Fd stranger_at(std::uint16_t port) {
  auto socket = connect_to(loopback(port));
  EXPECT_TRUE(socket);
  if (!socket) return Fd();
  pollfd waits{socket->get(), POLLOUT, 0};
  ::poll(&waits, 1, 10'000);
  return std::move(*socket);
}
inline void throw_bytes(const Fd& socket, Bytes bytes) {
  (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}
/// Whether the other side has closed the socket.
inline bool is_closed(const Fd& socket) {
  char bytes[4096];
  for (;;) {
    const auto count = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0) return count == 0 || (errno != EAGAIN && errno != EINTR);
  }
}

/// Carries the bytes of connections to a place, and keeps them.
class Carrier {
 public:
  explicit Carrier(std::uint16_t to) : to_(to), listener_(std::move(*listen_on(loopback(), {}))) {}
  std::uint16_t port() const { return listener_.place.port; }
  std::string seen;
  std::size_t connections = 0;  ///< so far
  bool is_cut = false;
  bool holds_proof = false;  ///< what the connecting side says after it was answered waits

  /// The peer `to` of `from`, through this.
  std::unique_ptr<Peer> reach(const Station& to, const Station& from) {
    auto address = to.address();
    address.places = {loopback(port())};
    return std::move(*from.endpoint->reach(Address{base::encode(address)}));
  }
  void turn() {
    if (auto accepted = accept_from(listener_.socket)) {
      ++connections;
      pairs_.push_back({std::move(*accepted), stranger_at(to_)});
    }
    std::erase_if(pairs_, [this](Pair& pair) {
      return (!(holds_proof && pair.is_answered) && !carry(pair.one, pair.other)) ||
             !carry(pair.other, pair.one, &pair.is_answered);
    });
    if (is_cut) pairs_.clear();
  }
  /// Something waits that is not carried on.
  bool holds_some() const {
    char byte;
    return std::any_of(pairs_.begin(), pairs_.end(), [&byte](const Pair& pair) {
      return pair.is_answered && ::recv(pair.one.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
    });
  }

 private:
  struct Pair {
    Fd one, other;
    bool is_answered = false;
  };
  /// False: one of them has ended.
  bool carry(const Fd& from, const Fd& to, bool* has_come = nullptr) {
    char bytes[65536];
    const auto count = ::recv(from.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0) return count < 0 && (errno == EAGAIN || errno == EINTR);
    if (has_come != nullptr) *has_come = true;
    seen.append(bytes, static_cast<std::size_t>(count));
    for (ssize_t at = 0; at < count;) {
      const auto sent =
          ::send(to.get(), bytes + at, static_cast<std::size_t>(count - at), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (sent > 0) at += sent;
    }
    return true;
  }
  std::uint16_t to_;
  Listener listener_;
  std::vector<Pair> pairs_;
};

}  // namespace weft::tcp
