// SPDX-License-Identifier: BSD-3-Clause
#include "bench/pair/side_channel.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include "bench/pair/die.hpp"

namespace weft::bench {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& at) {
  const auto colon = at.rfind(':');
  if (colon == std::string::npos || colon == 0) die(at.c_str(), "not HOST:PORT");
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(at.substr(0, colon).c_str(), at.substr(colon + 1).c_str(), &hints, &found);
  if (failed != 0) die(at.c_str(), ::gai_strerror(failed));
  return {found, &::freeaddrinfo};
}

}  // namespace

SideChannel SideChannel::accept(const std::string& at) {
  const auto addresses = resolve(at);
  const int listener = ::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (listener < 0 || ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener, addresses->ai_addr, addresses->ai_addrlen) != 0 || ::listen(listener, 1) != 0)
    die_of_errno(at.c_str());
  const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) die_of_errno("accept");
  ::close(listener);
  return SideChannel(client);
}

SideChannel SideChannel::connect(const std::string& at) {
  const auto addresses = resolve(at);
  for (;;) {  // the server may start later; the watchdog limits the wait
    const int client = ::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0) die_of_errno("socket");
    if (::connect(client, addresses->ai_addr, addresses->ai_addrlen) == 0) return SideChannel(client);
    if (errno != ECONNREFUSED) die_of_errno(at.c_str());
    ::close(client);
    ::usleep(2000);
  }
}

SideChannel::~SideChannel() {
  if (socket_ >= 0) ::close(socket_);
}

void SideChannel::send(std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  if (::send(socket_, &length, sizeof length, MSG_NOSIGNAL) != sizeof length ||
      ::send(socket_, bytes.data(), length, MSG_NOSIGNAL) != static_cast<ssize_t>(length))
    die_of_errno("sending to the other side");
}

std::vector<std::byte> SideChannel::receive() {
  std::uint32_t length = 0;
  constexpr std::uint32_t most = 64 << 10;
  if (::recv(socket_, &length, sizeof length, MSG_WAITALL) != sizeof length || length > most)
    die("the other side", "ended before it sent its address");
  std::vector<std::byte> out(length);
  if (::recv(socket_, out.data(), length, MSG_WAITALL) != static_cast<ssize_t>(length))
    die("the other side", "ended before it sent its address");
  return out;
}

bool SideChannel::is_closed() const noexcept {
  pollfd waits{socket_, POLLIN, 0};
  return ::poll(&waits, 1, 0) != 0;
}

}  // namespace weft::bench
