// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/listener.hpp"

#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>

namespace weft::tcp {
namespace {

constexpr int backlog = 1024;

Result<Fd> make_socket(int family) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Errc::os, "socket", errno);
  return socket;
}

void prepare(const Fd& connection) noexcept {
  const int on = 1;
  ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A host that is switched off says nothing; the mesh notices long before this does.
  ::setsockopt(connection.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

}  // namespace

Result<Listener> listen_on(const SocketAddress& address, const Ports& ports) {
  const unsigned count = ports.last - ports.first + 1u;
  unsigned start = 0;
  if (::getrandom(&start, sizeof start, 0) != static_cast<ssize_t>(sizeof start)) start = 0;
  int why = 0;
  for (unsigned i = 0; i < count; ++i) {
    auto socket = make_socket(address.family());
    if (!socket) return fail(socket.error());
    const int on = 1;
    // Ports of a range are few, and an earlier job's connections may be in TIME_WAIT.
    if (ports.first != 0) ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) ::setsockopt(socket->get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    SocketAddress place = address;
    place.port = static_cast<std::uint16_t>(ports.first + (start + i) % count);
    sockaddr_storage storage{};
    socklen_t bytes = place.to(storage);
    if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0 ||
        ::listen(socket->get(), backlog) != 0) {
      why = errno;
      if (why == EADDRINUSE || why == EACCES) continue;
      return fail(Errc::os, "an address of this node cannot be listened on", why);
    }
    bytes = sizeof storage;
    if (::getsockname(socket->get(), reinterpret_cast<sockaddr*>(&storage), &bytes) != 0)
      return fail(Errc::os, "getsockname", errno);
    const auto bound = SocketAddress::from(storage);
    if (!bound) return fail(Errc::os, "getsockname", EAFNOSUPPORT);
    return Listener{std::move(*socket), *bound};
  }
  return fail(Errc::os, "every port of WEFT_PORTS is taken or not allowed", why);
}

Result<Fd> accept_from(const Fd& listener) {
  for (;;) {
    Fd connection(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
      prepare(connection);
      return connection;
    }
    switch (errno) {
      case EINTR:
        continue;
      case EAGAIN:
        return fail(Errc::again);
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        return fail(Errc::no_space, "no descriptor is left for a connection", errno);
      default:
        // Errors of the network that accept() hands on are the connection's, not the listener's.
        return fail(Errc::again);
    }
  }
}

Result<Fd> connect_to(const SocketAddress& place) {
  auto socket = make_socket(place.family());
  if (!socket) return fail(socket.error());
  prepare(*socket);
  sockaddr_storage storage{};
  const socklen_t bytes = place.to(storage);
  if (::connect(socket->get(), reinterpret_cast<const sockaddr*>(&storage), bytes) == 0 ||
      errno == EINPROGRESS || errno == EINTR)
    return socket;
  return fail(Errc::unreachable, "connect", errno);
}

}  // namespace weft::tcp
